//! From a novel as it was digitised to the text that the models read.

/// Joins hard-wrapped paragraphs into one line each, separates them by one newline, writes quotes and
/// dashes in ASCII and drops `_` and whatever else is not ASCII. What remains of the corpus has 79
/// different characters.
pub fn clean(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    for paragraph in paragraphs(raw) {
        for character in paragraph.chars() {
            match character {
                '“' | '”' => text.push('"'),
                '‘' | '’' => text.push('\''),
                '—' => text.push_str("--"),
                '_' => {}
                ascii if ascii.is_ascii() => text.push(ascii),
                _ => {}
            }
        }
        text.push('\n');
    }
    text
}

/// The paragraphs: runs of lines that are not blank, with their white space made single spaces.
fn paragraphs(raw: &str) -> Vec<String> {
    let mut paragraphs = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for line in raw.lines().chain([""]) {
        if line.trim().is_empty() {
            if !words.is_empty() {
                paragraphs.push(words.join(" "));
                words.clear();
            }
        } else {
            words.extend(line.split_whitespace());
        }
    }
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn unwraps_and_writes_ascii() {
        let raw = "\n\n  It is a truth\r\nuniversally _acknowledged_,\n   \nthat “a £5\tman”—he’s\n";
        assert_eq!(
            clean(raw),
            "It is a truth universally acknowledged,\nthat \"a 5 man\"--he's\n"
        );
        assert_eq!(clean(" \n \n"), "");
    }
}
