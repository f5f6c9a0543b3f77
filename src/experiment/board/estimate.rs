use super::task::model_of;
use crate::encoding::{Alibi, Encoding, Positional, Tables};
use crate::model::{Config, Operations, Tensor, Weights};

/// How fast the engine is, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Milliseconds by operation of the linear part.
    linear: f64,
    /// Milliseconds by operation of attention.
    attention: f64,
    /// What steps took beyond that so far: measured and expected milliseconds, the older ones fading.
    measured: f64,
    expected: f64,
}

/// After so many steps an old one counts half.
const FADES: f64 = 0.966;

impl Rates {
    /// From two forwards, of many short windows and of a long one, each `(operations, milliseconds)`.
    pub fn new(short: (Operations, f64), long: (Operations, f64)) -> Self {
        let ((a, time), (b, other)) = (short, long);
        // Two equations with two unknowns; where noise makes one of them negative, both parts are as fast.
        let [a_linear, a_attention, b_linear, b_attention] =
            [a.linear, a.attention, b.linear, b.attention].map(|operations| operations as f64);
        let determinant = a_linear * b_attention - b_linear * a_attention;
        let linear = (time * b_attention - other * a_attention) / determinant;
        let attention = (a_linear * other - b_linear * time) / determinant;
        let mean = (time + other) / (a + b).total() as f64;
        let is_sound = linear > 0.0 && attention > 0.0 && linear.is_finite() && attention.is_finite();
        let (linear, attention) = if is_sound {
            (linear, attention)
        } else {
            (mean, mean)
        };
        Self {
            linear,
            attention,
            measured: 0.0,
            expected: 0.0,
        }
    }

    fn expected_ms(&self, operations: Operations) -> f64 {
        self.linear * operations.linear as f64 + self.attention * operations.attention as f64
    }

    /// Learns from a step.
    pub fn note(&mut self, operations: Operations, elapsed_ms: f64) {
        self.measured = self.measured * FADES + elapsed_ms;
        self.expected = self.expected * FADES + self.expected_ms(operations);
    }

    /// The time that so much would take.
    pub fn seconds(&self, operations: Operations) -> f64 {
        let correction = if self.expected > 0.0 {
            self.measured / self.expected
        } else {
            1.0
        };
        self.expected_ms(operations) * correction / 1000.0
    }
}

/// The configuration that a model's name tells, before its file is there: the encoding, and after dashes its
/// heads, trained length and whether its keys are smeared.
pub fn config_by_name(model: &str) -> Option<Config> {
    let mut parts = model.split('-');
    let mut encoding = Encoding::from_name(parts.next()?)?;
    let (mut heads, mut trained_length, mut is_smeared) = (4, 128, false);
    for part in parts {
        let number = |prefix: &str| part.strip_prefix(prefix)?.parse::<usize>().ok();
        if part == "trained" {
            encoding = Encoding::Alibi(Alibi {
                trained: true,
                ..Alibi::default()
            });
        } else if part == "copy" {
            is_smeared = true;
        } else if let Some(count) = number("h") {
            heads = count;
        } else if let Some(length) = number("l") {
            trained_length = length;
        }
    }
    let mut config = Config::base(encoding, heads);
    (config.trained_length, config.smeared_keys) = (trained_length, is_smeared);
    config.validate().is_ok().then_some(config)
}

/// Bytes that a forward needs in these engines: weights, the encoding's tables, and the buffers of a batch.
/// Attention is computed in blocks, so there is no T² in it. `None` where the encoding has no table for the
/// length.
pub fn memory_bytes(config: &Config, windows: usize, length: usize) -> Option<usize> {
    let parameters: usize = config
        .parameters()
        .iter()
        .map(|parameter| parameter.shape.iter().product::<usize>())
        .sum();
    let trained = config.shape(config.trained_length);
    let zeros: Weights = config
        .encoding
        .parameters(&trained)
        .into_iter()
        .map(|parameter| {
            let data = vec![0.0; parameter.shape.iter().product()];
            let shape = parameter.shape;
            (parameter.name, Tensor { shape, data })
        })
        .collect();
    let tables = config.encoding.tables(&config.shape(length), &zeros).ok()?;
    // The residual stream, its norm, what attention gives, q, k and v, and the MLP's hidden layer; of some of these
    // the CPU engine keeps a few rows only.
    let row = 6 * config.d_model + config.d_ff + 1;
    Some(size_of::<f32>() * (parameters + numbers(&tables) + windows * length * row))
}

/// How many numbers tables hold.
fn numbers(tables: &Tables) -> usize {
    let input = tables.input.as_ref().map_or(0, |input| input.data.len());
    let rotation = tables.rotation.as_ref().map_or(0, |rotation| {
        let keys = rotation.keys.as_ref().map_or(0, |[cos, _]| cos.data.len());
        2 * (rotation.cos.data.len() + keys)
    });
    let bias = tables.bias.as_ref().map_or(0, |bias| bias.behind.data.len());
    input + rotation + bias
}

/// The encoding's name of a variant's model, as its name begins.
pub fn encoding_of(variant: &str) -> &str {
    let model = model_of(variant);
    model.split_once('-').map_or(model, |(encoding, _)| encoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_forwards_give_both_rates_and_steps_correct_them() {
        let operations = |linear, attention| Operations { linear, attention };
        let (short, long) = (operations(1000, 10), operations(1000, 1000));
        let time = |of: Operations| of.linear as f64 * 0.01 + of.attention as f64 * 0.05;
        let mut rates = Rates::new((short, time(short)), (long, time(long)));
        let other = operations(500, 4000);
        assert!((rates.seconds(other) - time(other) / 1000.0).abs() < 1e-9);
        // Steps that take twice as long as expected double what is left.
        for _ in 0..10 {
            rates.note(long, 2.0 * time(long));
        }
        assert!((rates.seconds(other) - 2.0 * time(other) / 1000.0).abs() < 1e-9);
        // Noise that would give a negative rate.
        let noisy = Rates::new((short, 10.0), (long, 9.0));
        assert!(noisy.seconds(other) > 0.0);
    }

    #[test]
    fn a_name_tells_a_configuration() {
        let config = config_by_name("rotary-h8").unwrap();
        assert_eq!((config.heads, config.trained_length), (8, 128));
        assert_eq!(config_by_name("t5_bias-l64").unwrap().trained_length, 64);
        assert!(config_by_name("alibi-copy-s2").unwrap().smeared_keys);
        assert_eq!(config_by_name("unheard-of"), None);
        assert_eq!(encoding_of("t5_bias-l64?window=4"), "t5_bias");
    }

    #[test]
    fn memory_grows_with_the_length_and_by_the_tables() {
        let bytes = |name: &str, length| memory_bytes(&config_by_name(name).unwrap(), 1, length);
        let (none, alibi) = (bytes("none", 256).unwrap(), bytes("alibi", 256).unwrap());
        assert_eq!(alibi - none, 4 * 4 * 256);
        // Twelve pairs of a head of 24 turn: cosine and sine.
        assert_eq!(bytes("rotary", 256).unwrap() - none, 4 * 2 * 12 * 256);
        assert_eq!(bytes("learned", 256), None);
    }
}
