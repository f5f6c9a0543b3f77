//! An encoding and its sizes from the command line.

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use longview::encoding::{Encoding, Layout, NAMES, Pairing};

/// An encoding with its settings.
#[derive(Args)]
pub struct EncodingArguments {
    /// The encoding
    #[arg(value_name = "ENCODING", value_parser = PossibleValuesParser::new(NAMES))]
    pub name: String,
    /// Sinusoidal: where sines and cosines stand
    #[arg(long, value_enum)]
    layout: Option<LayoutName>,
    /// Rotary, xPos and randomized: which dimensions turn together
    #[arg(long, value_enum)]
    pairing: Option<PairingName>,
    /// Sinusoidal, rotary, xPos and randomized: the base of the wavelengths [default: 10000]
    #[arg(long)]
    base: Option<f64>,
    /// Rotary: the share of a head's dimensions that turns [default: 1]
    #[arg(long)]
    fraction: Option<f64>,
    /// T5 bias: number of buckets [default: 32]
    #[arg(long, value_parser = count::<4096>)]
    buckets: Option<usize>,
    /// T5 bias: the distance from which on all share the last bucket [default: 128]
    #[arg(long, value_parser = count::<1_048_576>)]
    max_distance: Option<usize>,
    /// T5 bias: also for keys after the query
    #[arg(long)]
    bidirectional: bool,
    /// ALiBi: slopes in place of the paper's, one a head
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    slopes: Option<Vec<f64>>,
    /// Sandwich: how many sines and cosines there are [default: 128]
    #[arg(long, value_parser = count::<65_536>)]
    dimensions: Option<usize>,
    /// xPos: the distance over which a pair fades to its scale [default: 512]
    #[arg(long)]
    scale_base: Option<f64>,
    /// Randomized: positions are spread over this range [default: 1024]
    #[arg(long, value_parser = count::<1_048_576>)]
    range: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum LayoutName {
    /// sin, cos, sin, cos … (the paper)
    Interleaved,
    /// all sines, then all cosines, the paper's frequencies
    Halves,
    /// all sines, then all cosines, the frequencies of tensor2tensor and fairseq
    Fairseq,
}

#[derive(Clone, Copy, ValueEnum)]
enum PairingName {
    /// (c, c + d/2): GPT-NeoX, LLaMA in transformers
    Halves,
    /// (2c, 2c + 1): RoFormer, GPT-J, Meta's LLaMA
    Interleaved,
}

impl From<PairingName> for Pairing {
    fn from(name: PairingName) -> Self {
        match name {
            PairingName::Halves => Self::Halves,
            PairingName::Interleaved => Self::Interleaved,
        }
    }
}

/// A count from 1 to `MOST`.
///
/// # Errors
/// Anything else, in words for the user.
pub fn count<const MOST: usize>(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(value) if (1..=MOST).contains(&value) => Ok(value),
        _ => Err(format!("give a whole number from 1 to {MOST}")),
    }
}

impl EncodingArguments {
    /// The encoding with what was given.
    ///
    /// # Errors
    /// An option that this encoding does not have.
    pub fn encoding(&self) -> Result<Encoding> {
        let Some(mut encoding) = Encoding::from_name(&self.name) else {
            bail!("unknown encoding \"{}\"; one of {}", self.name, NAMES.join(", "));
        };
        let mut rest = self.given();
        let mut take = |names: &[&str]| rest.retain(|given| !names.contains(given));
        match &mut encoding {
            Encoding::Sinusoidal(sinusoidal) => {
                take(&["--layout", "--base"]);
                sinusoidal.base = self.base.unwrap_or(sinusoidal.base);
                sinusoidal.layout = match self.layout {
                    Some(LayoutName::Interleaved) => Layout::Interleaved,
                    Some(LayoutName::Halves) => Layout::Halves,
                    Some(LayoutName::Fairseq) => Layout::Fairseq,
                    None => sinusoidal.layout,
                };
            }
            Encoding::Rotary(rotary) => {
                take(&["--pairing", "--base", "--fraction"]);
                rotary.base = self.base.unwrap_or(rotary.base);
                rotary.fraction = self.fraction.unwrap_or(rotary.fraction);
                rotary.pairing = self.pairing.map_or(rotary.pairing, Pairing::from);
            }
            Encoding::Xpos(xpos) => {
                take(&["--pairing", "--base", "--scale-base"]);
                xpos.base = self.base.unwrap_or(xpos.base);
                xpos.scale_base = self.scale_base.unwrap_or(xpos.scale_base);
                xpos.pairing = self.pairing.map_or(xpos.pairing, Pairing::from);
            }
            Encoding::Randomized(randomized) => {
                take(&["--pairing", "--base", "--range"]);
                randomized.base = self.base.unwrap_or(randomized.base);
                randomized.range = self.range.unwrap_or(randomized.range);
                randomized.pairing = self.pairing.map_or(randomized.pairing, Pairing::from);
            }
            Encoding::Sandwich(sandwich) => {
                take(&["--dimensions"]);
                sandwich.dimensions = self.dimensions.unwrap_or(sandwich.dimensions);
            }
            Encoding::T5Bias(t5) => {
                take(&["--buckets", "--max-distance", "--bidirectional"]);
                t5.buckets = self.buckets.unwrap_or(t5.buckets);
                t5.max_distance = self.max_distance.unwrap_or(t5.max_distance);
                t5.bidirectional = self.bidirectional;
            }
            Encoding::Alibi(alibi) => {
                take(&["--slopes"]);
                alibi.slopes.clone_from(&self.slopes);
            }
            Encoding::None(_) | Encoding::Learned(_) | Encoding::Kerple(_) => {}
        }
        if let Some(option) = rest.first() {
            bail!("{option} means nothing for {}; leave it out", encoding.title());
        }
        Ok(encoding)
    }

    /// The options that were given.
    pub fn given(&self) -> Vec<&'static str> {
        [
            ("--layout", self.layout.is_some()),
            ("--pairing", self.pairing.is_some()),
            ("--base", self.base.is_some()),
            ("--fraction", self.fraction.is_some()),
            ("--buckets", self.buckets.is_some()),
            ("--max-distance", self.max_distance.is_some()),
            ("--bidirectional", self.bidirectional),
            ("--slopes", self.slopes.is_some()),
            ("--dimensions", self.dimensions.is_some()),
            ("--scale-base", self.scale_base.is_some()),
            ("--range", self.range.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
        .collect()
    }
}
