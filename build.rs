//! Writes the tokenizer's table of letters and numbers: as ranges it is a tenth of the full table of
//! Unicode's categories, which would be an eighth of the wasm module. And the shaders without what only readers
//! of the source need, which is a quarter of them.

use std::fmt::Write as _;
use std::path::Path;
use unicode_general_category::{GeneralCategory, get_general_category};

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var_os("OUT_DIR").ok_or(std::io::ErrorKind::NotFound)?;
    let mut text = String::new();
    for (name, belongs) in [("LETTERS", is_letter as fn(char) -> bool), ("NUMBERS", is_number)] {
        let ranges = ranges(belongs);
        let _ = writeln!(
            text,
            "pub const {name}: [(u32, u32); {}] = {ranges:?};",
            ranges.len()
        );
    }
    let folder = Path::new(&folder);
    std::fs::write(folder.join("categories.rs"), text)?;
    shaders(&folder.join("shaders"))
}

/// Copies the shaders without comments, indentation and empty lines.
fn shaders(folder: &Path) -> std::io::Result<()> {
    const SHADERS: &str = "src/engine/gpu/shaders";
    println!("cargo::rerun-if-changed={SHADERS}");
    std::fs::create_dir_all(folder)?;
    for entry in std::fs::read_dir(SHADERS)? {
        let entry = entry?;
        let text = std::fs::read_to_string(entry.path())?;
        let lines = text.lines().map(str::trim);
        let kept = lines.filter(|line| !line.is_empty() && !line.starts_with("//"));
        let short = kept.fold(String::new(), |text, line| text + line + "\n");
        std::fs::write(folder.join(entry.file_name()), short)?;
    }
    Ok(())
}

/// The characters past ASCII that belong, as ranges of code points with both ends.
fn ranges(belongs: fn(char) -> bool) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for character in ('\u{80}'..=char::MAX).filter(|&character| belongs(character)) {
        let point = character as u32;
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == point => *last = point,
            _ => ranges.push((point, point)),
        }
    }
    ranges
}

fn is_letter(character: char) -> bool {
    use GeneralCategory::*;
    matches!(
        get_general_category(character),
        UppercaseLetter | LowercaseLetter | TitlecaseLetter | ModifierLetter | OtherLetter
    )
}

fn is_number(character: char) -> bool {
    use GeneralCategory::*;
    matches!(
        get_general_category(character),
        DecimalNumber | LetterNumber | OtherNumber
    )
}
