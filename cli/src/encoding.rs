//! An encoding and its sizes from the command line.

use crate::figure::parse_name;
use anyhow::{Result, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use longview::encoding::{Encoding, FarKeys, Layout, NAMES, Pairing, Ramp, Rotary, Scaling, ScalingMethod};

/// An encoding with its settings.
#[derive(Args)]
pub struct EncodingArguments {
    /// The encoding
    #[arg(value_name = "ENCODING", value_parser = PossibleValuesParser::new(NAMES))]
    pub name: String,
    /// Sinusoidal: where sines and cosines stand: interleaved (the paper's), halves, or fairseq (halves with the
    /// frequencies of tensor2tensor and fairseq) [default: interleaved]
    #[arg(long, value_parser = parse_name::<Layout>)]
    layout: Option<Layout>,
    /// Rotary, xPos and randomized: which dimensions turn together: halves (c and c + d/2, GPT-NeoX) or
    /// interleaved (2c and 2c + 1, RoFormer) [default: halves]
    #[arg(long, value_parser = parse_name::<Pairing>)]
    pairing: Option<Pairing>,
    /// Sinusoidal, rotary, xPos and randomized: the base of the wavelengths [default: 10000]
    #[arg(long)]
    base: Option<f64>,
    /// Rotary: the share of a head's dimensions that turns [default: 1]
    #[arg(long)]
    fraction: Option<f64>,
    #[command(flatten)]
    rotary: RotaryArguments,
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

/// What is changed of a rotary encoding at inference.
#[derive(Args)]
struct RotaryArguments {
    /// Rotary: scale its frequencies for sequences past the trained length: pi, ntk, dynamic_ntk, by_parts, yarn
    /// or llama3
    #[arg(long, value_parser = parse_name::<ScalingMethod>)]
    scaling: Option<ScalingMethod>,
    /// Rotary: the factor of the scaling [default: length / original length]
    #[arg(long, requires = "scaling")]
    factor: Option<f64>,
    /// Rotary: the length of training, for --scaling and --log-n [default: 128]
    #[arg(long, value_parser = count::<1_048_576>)]
    original_length: Option<usize>,
    /// Rotary, by parts and YaRN: pairs that turn more often stay as they are [default: 8]
    #[arg(long, requires = "scaling")]
    beta_fast: Option<f64>,
    /// Rotary, by parts and YaRN: pairs that turn less often are interpolated [default: 0.5]
    #[arg(long, requires = "scaling")]
    beta_slow: Option<f64>,
    /// Rotary, by parts and YaRN: how the pairs between are blended: linear in their turns (turns, the paper's), or in
    /// their number, between whole ones (whole_pairs, as in transformers) or not (pairs) [default: turns]
    #[arg(long, value_parser = parse_name::<Ramp>, requires = "scaling")]
    ramp: Option<Ramp>,
    /// Rotary: queries grow with the logarithm of their position
    #[arg(long)]
    log_n: bool,
    /// Rotary: distances of this and more count as this (ReRoPE)
    #[arg(long, value_parser = count::<1_048_576>, conflicts_with = "self_extend")]
    rerope: Option<usize>,
    /// Rotary: beyond the window, groups of tokens share a position (Self-Extend)
    #[arg(long, value_names = ["WINDOW", "GROUP"], num_args = 2, value_parser = count::<1_048_576>)]
    self_extend: Option<Vec<usize>>,
}

impl RotaryArguments {
    fn given(&self) -> [(&'static str, bool); 9] {
        [
            ("--scaling", self.scaling.is_some()),
            ("--factor", self.factor.is_some()),
            ("--original-length", self.original_length.is_some()),
            ("--beta-fast", self.beta_fast.is_some()),
            ("--beta-slow", self.beta_slow.is_some()),
            ("--ramp", self.ramp.is_some()),
            ("--log-n", self.log_n),
            ("--rerope", self.rerope.is_some()),
            ("--self-extend", self.self_extend.is_some()),
        ]
    }

    /// # Errors
    /// A length of training that nothing needs.
    fn apply(&self, rotary: &mut Rotary) -> Result<()> {
        if self.original_length.is_some() && self.scaling.is_none() && !self.log_n {
            bail!("--original-length means nothing without --scaling or --log-n; leave it out");
        }
        let usual = Scaling::default();
        let original_length = self.original_length.unwrap_or(usual.original_length);
        rotary.log_n = self.log_n.then_some(original_length);
        rotary.far = match (self.rerope, self.self_extend.as_deref()) {
            (Some(window), _) => Some(FarKeys::ReRope { window }),
            (None, Some(&[window, group])) => Some(FarKeys::SelfExtend { window, group }),
            (None, Some(_)) => bail!("--self-extend is given twice; give it once"),
            (None, None) => None,
        };
        rotary.scaling = self.scaling.map(|method| Scaling {
            method,
            original_length,
            factor: self.factor,
            beta_fast: self.beta_fast.unwrap_or(usual.beta_fast),
            beta_slow: self.beta_slow.unwrap_or(usual.beta_slow),
            ramp: self.ramp.unwrap_or_default(),
            ..usual
        });
        Ok(())
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
                sinusoidal.layout = self.layout.unwrap_or(sinusoidal.layout);
            }
            Encoding::Rotary(rotary) => {
                take(&["--pairing", "--base", "--fraction"]);
                take(&self.rotary.given().map(|(name, _)| name));
                self.rotary.apply(rotary)?;
                rotary.base = self.base.unwrap_or(rotary.base);
                rotary.fraction = self.fraction.unwrap_or(rotary.fraction);
                rotary.pairing = self.pairing.unwrap_or(rotary.pairing);
            }
            Encoding::Xpos(xpos) => {
                take(&["--pairing", "--base", "--scale-base"]);
                xpos.base = self.base.unwrap_or(xpos.base);
                xpos.scale_base = self.scale_base.unwrap_or(xpos.scale_base);
                xpos.pairing = self.pairing.unwrap_or(xpos.pairing);
            }
            Encoding::Randomized(randomized) => {
                take(&["--pairing", "--base", "--range"]);
                randomized.base = self.base.unwrap_or(randomized.base);
                randomized.range = self.range.unwrap_or(randomized.range);
                randomized.pairing = self.pairing.unwrap_or(randomized.pairing);
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
            // Without options of its own.
            _ => {}
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
        .chain(self.rotary.given())
        .filter_map(|(name, given)| given.then_some(name))
        .collect()
    }
}
