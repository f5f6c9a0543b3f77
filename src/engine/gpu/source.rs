//! The WGSL of every kernel. What repeats in a kernel, rows of a register tile above all, is written once:
//! a line with `{r}` stands for as many lines as there are rows, with the row's number in its place.

/// A kernel: its name, that of the twin that it is compared with, and the files that it is made of.
pub struct Source {
    pub name: &'static str,
    pub twin: &'static str,
    parts: &'static [&'static str],
}

const fn source(name: &'static str, twin: &'static str, parts: &'static [&'static str]) -> Source {
    Source { name, twin, parts }
}

/// A file of `shaders/`, as build.rs leaves it: without comments.
macro_rules! shader {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/shaders/", $name, ".wgsl"))
    };
}

const LINEAR: &str = shader!("linear");
const ATTENTION: &str = shader!("attention");

/// Every kernel.
pub const SHADERS: &[Source] = &[
    source("embed", "embed", &[shader!("embed")]),
    source("layer_norm", "layer_norm", &[shader!("layer_norm")]),
    source("linear", "linear", &[LINEAR, shader!("linear_registers")]),
    source("linear_tiles", "linear", &[LINEAR, shader!("linear_tiles")]),
    source("copy_qk", "copy_qk", &[shader!("copy_qk")]),
    source("smear", "smear", &[shader!("smear")]),
    source("rotate", "rotate", &[shader!("rotate")]),
    source("attention", "attention", &[ATTENTION]),
    source("attention_far", "attention", &[ATTENTION]),
    source("attention_tiles", "attention", &[shader!("attention_tiles")]),
    source("nll", "nll", &[shader!("nll")]),
    source(
        "capture_attention",
        "capture_attention",
        &[shader!("capture_attention")],
    ),
    source(
        "capture_profile",
        "capture_profile",
        &[shader!("capture_profile")],
    ),
    source("paint", "paint", &[shader!("paint")]),
];

/// Vectors of queries, and as many of sums, that a thread of attention.wgsl keeps in registers, at most.
const ATTENTION_VECTORS: usize = 24;

/// Queries of a thread of attention.wgsl, for heads of `vectors` vectors of four.
pub fn attention_queries(vectors: usize) -> usize {
    (ATTENTION_VECTORS / vectors).clamp(1, 8)
}

/// Rows and panels of four outputs that a thread of a linear kernel computes.
pub fn linear_tile(name: &str) -> (usize, usize) {
    if name == "linear" { (16, 3) } else { (8, 2) }
}

impl Source {
    /// The kernel's WGSL as its files have it, but for comments.
    pub fn template(&self) -> String {
        self.parts.concat()
    }

    /// Whether the text depends on the width of a head.
    pub fn depends_on_heads(&self) -> bool {
        self.twin == "attention"
    }

    /// The WGSL that a template of this kernel stands for, with heads of `vectors` vectors of four.
    pub fn expand(&self, template: &str, vectors: usize) -> String {
        let (rows, panels) = linear_tile(self.name);
        let counts = [
            ('r', rows),
            ('c', panels),
            ('k', 4),
            ('n', attention_queries(vectors)),
            ('v', vectors),
        ];
        let dropped = if self.name == "attention_far" {
            "@near"
        } else {
            "@far"
        };
        let kept = template.lines().filter(|line| !line.starts_with(dropped));
        kept.map(|line| line.strip_prefix("@near").unwrap_or(line))
            .map(|line| line.strip_prefix("@far").unwrap_or(line))
            .flat_map(|line| repeated(line, &counts))
            .fold(String::new(), |text, line| text + &line + "\n")
    }
}

/// The lines that a line stands for: one for each number that takes the place of `{r}`, of several such in
/// every combination. `{R}` is the count itself, `{R-1}` the last number.
fn repeated(line: &str, counts: &[(char, usize)]) -> Vec<String> {
    let mut lines = vec![line.to_string()];
    for (letter, count) in counts {
        let place = format!("{{{letter}}}");
        let upper = letter.to_ascii_uppercase();
        lines = lines
            .into_iter()
            .map(|line| {
                line.replace(&format!("{{{upper}}}"), &count.to_string())
                    .replace(&format!("{{{upper}-1}}"), &(count - 1).to_string())
            })
            .flat_map(|line| {
                let times = if line.contains(&place) { *count } else { 1 };
                let place = &place;
                (0..times).map(move |index| line.replace(place, &index.to_string()))
            })
            .collect();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_repeated_for_every_combination() {
        let counts = [('r', 2), ('c', 3)];
        assert_eq!(repeated("a{r}_{c} of {C}, last {R-1}", &counts).len(), 6);
        assert_eq!(
            repeated("a{r}_{c} of {C}, last {R-1}", &counts)[4],
            "a1_1 of 3, last 1"
        );
        assert_eq!(repeated("if x { y }", &counts), ["if x { y }"]);
    }

    #[test]
    fn far_and_near_are_two_kernels_of_one_text() {
        let text = "@near a\n@far b\nc";
        let expanded = |name: &str| {
            let of_name = |source: &&Source| source.name == name;
            SHADERS.iter().find(of_name).unwrap().expand(text, 6)
        };
        assert_eq!(expanded("attention"), " a\nc\n");
        assert_eq!(expanded("attention_far"), " b\nc\n");
    }
}
