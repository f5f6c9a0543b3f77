//! The page as one file that needs no network: everything it loads stands inside.

use crate::scripts::{bundle_script, is_usual, model_names};
use crate::workspace::root;
use crate::{licences, package};
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Nothing may be fetched at all, and no script or style but the file's own may run, by their hashes; the worker
/// starts from a copy that the page makes, which has the page's policy.
fn policy(script: &str, style: &str) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; script-src 'sha256-{}' 'wasm-unsafe-eval'; worker-src blob:; style-src 'sha256-{}'; img-src data: blob:; base-uri 'none'; form-action 'none'",
        hash(script),
        hash(style)
    )
}

#[derive(clap::Args)]
pub struct Arguments {
    /// The file to write
    #[arg(long, value_name = "FILE", default_value = "out/longview.html")]
    out: PathBuf,
    /// Models to carry: usual (one an encoding), all, none, or names such as alibi,rotary-l64
    #[arg(long, value_name = "NAMES", default_value = "usual")]
    models: String,
    /// Skip wasm-opt, to see a change sooner
    #[arg(long)]
    fast: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let models = choose(&arguments.models, &model_names()?)?;
    package::build(&package::Arguments { fast: arguments.fast })?;
    let bytes = write(&root().join(&arguments.out), &models)?;
    println!(
        "{}: {:.1} MB, with {}",
        arguments.out.display(),
        bytes as f64 / 1e6,
        if models.is_empty() {
            "no model".to_owned()
        } else {
            models.join(", ")
        }
    );
    Ok(())
}

/// The models that were asked for.
pub fn choose(wish: &str, known: &[String]) -> Result<Vec<String>> {
    match wish {
        "all" => return Ok(known.to_vec()),
        "usual" => return Ok(known.iter().filter(|name| is_usual(name)).cloned().collect()),
        "none" => return Ok(Vec::new()),
        _ => {}
    }
    let wished: Vec<&str> = wish.split(',').map(str::trim).collect();
    if let Some(odd) = wished
        .iter()
        .find(|name| !known.iter().any(|other| other == *name))
    {
        bail!(
            "there is no model `{odd}`: --models takes usual, all, none, or some of {}",
            known.join(",")
        );
    }
    let is_wished = |name: &&String| wished.contains(&name.as_str());
    Ok(known.iter().filter(is_wished).cloned().collect())
}

/// Writes the file with these models; gives its size in bytes.
pub fn write(file: &Path, models: &[String]) -> Result<usize> {
    let html = assemble(models)?;
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    fs::write(file, &html).with_context(|| format!("{} cannot be written", file.display()))?;
    Ok(html.len())
}

fn assemble(models: &[String]) -> Result<String> {
    let page = format!("\n{}", inline(&bundle_script("www/page.js")?)?);
    let icon = STANDARD.encode(read("www/icon.svg")?);
    let style = String::from_utf8(read("www/style.css")?).context("www/style.css is not UTF-8")?;
    let style = format!("\n{style}");
    let html = String::from_utf8(read("index.html")?).context("index.html is not UTF-8")?;

    let html = replace(
        &html,
        "<meta http-equiv=\"Content-Security-Policy\"",
        ">",
        &format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">",
            policy(&page, &style)
        ),
    )?;
    let html = replace(
        &html,
        "<link rel=\"icon\"",
        ">",
        &format!("<link rel=\"icon\" href=\"data:image/svg+xml;base64,{icon}\" type=\"image/svg+xml\">"),
    )?;
    let html = replace(
        &html,
        "<link rel=\"stylesheet\"",
        ">",
        &format!("<style>{style}</style>"),
    )?;
    let html = replace(&html, "<link rel=\"preload\"", ">", "")?;
    let html = replace(&html, "<script type=\"module\"", "</script>", "")?;

    let mut inside = String::new();
    let mut carry = |name: &str, bytes: &[u8]| {
        writeln!(
            inside,
            "<script type=\"application/octet-stream\" id=\"longview:{name}\">{}</script>",
            STANDARD.encode(bytes)
        )
    };
    carry("figures.wasm", &read("pkg/figures_bg.wasm")?)?;
    carry("figures-rest.wasm", &read("pkg/figures_rest.wasm")?)?;
    carry("engine.wasm", &read("pkg/engine_bg.wasm")?)?;
    carry("worker.js", &read("pkg/worker.js")?)?;
    // What stands in for the program where a browser refuses it.
    carry("perplexity.svg", &read("docs/perplexity.svg")?)?;
    carry("alibi.svg", &read("www/pictures/alibi.svg")?)?;
    // The others' licences ask that their texts go along.
    for file in [licences::FILE, "LICENSE-MIT", "LICENSE-APACHE"] {
        carry(file, &read(&format!("pkg/{file}"))?)?;
    }
    for model in models {
        carry(
            &format!("{model}.safetensors"),
            &read(&format!("www/checkpoints/{model}.safetensors"))?,
        )?;
    }
    if !models.is_empty() {
        for file in ["tokenizer.json", "manifest.json"] {
            carry(file, &read(&format!("www/checkpoints/{file}"))?)?;
        }
        for text in ["persuasion", "hamlet"] {
            carry(&format!("{text}.txt"), &read(&format!("www/texts/{text}.txt"))?)?;
        }
    }
    replace(
        &html,
        "</body>",
        "",
        &format!("{inside}<script>{page}</script>\n</body>"),
    )
}

fn read(path: &str) -> Result<Vec<u8>> {
    fs::read(root().join(path)).with_context(|| format!("{path} cannot be read"))
}

/// A script that can stand inside a document, or why not: esbuild writes what would end or change the
/// element in other ways, and this must not be forgotten.
fn inline(script: &str) -> Result<String> {
    let small = script.to_ascii_lowercase();
    for ending in ["</script", "<!--"] {
        if small.contains(ending) {
            bail!("the page's script has `{ending}` in it and would end there inside a document");
        }
    }
    Ok(script.to_owned())
}

/// Puts something in the place of the one part that goes from `start` to the next `end`.
fn replace(html: &str, start: &str, end: &str, with: &str) -> Result<String> {
    let (before, rest) = html
        .split_once(start)
        .with_context(|| format!("index.html has no `{start}`"))?;
    if rest.contains(start) {
        bail!("index.html has more than one `{start}`");
    }
    let after = match rest.find(end) {
        Some(at) => &rest[at + end.len()..],
        None => bail!("index.html: `{start}` has no `{end}`"),
    };
    Ok(format!("{before}{with}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_chosen_by_name() {
        let known = ["alibi", "alibi-s2", "none", "rotary"].map(String::from);
        assert_eq!(choose("all", &known).unwrap(), known);
        assert_eq!(choose("usual", &known).unwrap(), ["alibi", "none", "rotary"]);
        assert!(choose("none", &known).unwrap().is_empty());
        assert_eq!(choose("rotary, alibi", &known).unwrap(), ["alibi", "rotary"]);
        let error = choose("alibi,relative", &known).unwrap_err().to_string();
        assert!(
            error.contains("`relative`") && error.contains("alibi,alibi-s2,none,rotary"),
            "{error}"
        );
    }

    #[test]
    fn a_part_is_replaced_once_or_missed() {
        let html = "<a><link rel=x href=y><b>";
        assert_eq!(replace(html, "<link rel=x", ">", "<i>").unwrap(), "<a><i><b>");
        assert!(replace(html, "<link rel=z", ">", "").is_err());
        assert!(replace("<b><b>", "<b", ">", "").is_err());
    }

    #[test]
    fn a_script_that_would_end_early_is_refused() {
        assert!(inline("let a = 1 < 2;").is_ok());
        assert!(inline("let a = '</SCRIPT>';").is_err());
    }
}
