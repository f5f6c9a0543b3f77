use super::{Bias, EncodingError, Positional, Shape, Table, Tables};
use crate::model::{Init, Parameter, Weights};
use serde::{Deserialize, Serialize};

const NAME: &str = "relative_bias.weight";

/// T5's relative bias: distances fall into buckets, exact when near and logarithmic when far, and
/// each bucket has one trained scalar a head, shared by all layers (Raffel et al. 2020,
/// arXiv 1910.10683; `_relative_position_bucket` in mesh-tensorflow's `transformer_layers.py`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct T5Bias {
    pub buckets: usize,
    /// Distances from here on are sure to share the last bucket (it may begin earlier).
    pub max_distance: usize,
    /// Also for keys after the query, with half of the buckets for each side.
    pub bidirectional: bool,
}

impl Default for T5Bias {
    fn default() -> Self {
        Self {
            buckets: 32,
            max_distance: 128,
            bidirectional: false,
        }
    }
}

impl T5Bias {
    /// The bucket of a key `distance` tokens before the query.
    pub fn bucket_behind(&self, distance: usize) -> usize {
        let side = self.side();
        let exact = side / 2;
        if distance < exact {
            return distance;
        }
        let ratio = (distance as f64 / exact as f64).ln() / (self.max_distance as f64 / exact as f64).ln();
        (exact + (ratio * (side - exact) as f64) as usize).min(side - 1)
    }

    /// The bucket of a key `distance` tokens after the query; causal attention never looks there,
    /// and T5 puts all of it into bucket 0.
    pub fn bucket_ahead(&self, distance: usize) -> usize {
        match (self.bidirectional, distance) {
            (false, _) | (true, 0) => 0,
            (true, _) => self.side() + self.bucket_behind(distance),
        }
    }

    /// The smallest distance of every bucket that some distance behind the query falls into, in
    /// order: `(bucket, distance)`.
    pub fn first_distances(&self) -> Vec<(usize, usize)> {
        let mut firsts: Vec<(usize, usize)> = Vec::new();
        for distance in 0..=self.max_distance {
            let bucket = self.bucket_behind(distance);
            if firsts.last().is_none_or(|&(last, _)| last != bucket) {
                firsts.push((bucket, distance));
            }
        }
        firsts
    }

    fn side(&self) -> usize {
        if self.bidirectional {
            self.buckets / 2
        } else {
            self.buckets
        }
    }

    /// # Errors
    /// Too few buckets, or a maximum distance inside the exact ones.
    pub fn validate(&self) -> Result<(), EncodingError> {
        let side = self.side();
        if side < 2 || (self.bidirectional && !self.buckets.is_multiple_of(2)) {
            return Err(EncodingError::Size {
                encoding: "t5_bias",
                what: "the number of buckets",
                value: self.buckets,
                need: "at least 2 buckets, or an even number from 4 when bidirectional",
            });
        }
        if self.max_distance <= side / 2 {
            return Err(EncodingError::Size {
                encoding: "t5_bias",
                what: "the maximum distance",
                value: self.max_distance,
                need: "a maximum distance above the exact buckets (half of a side's buckets)",
            });
        }
        Ok(())
    }
}

impl Positional for T5Bias {
    fn parameters(&self, trained: &Shape) -> Vec<Parameter> {
        vec![Parameter {
            name: NAME.into(),
            shape: vec![self.buckets, trained.heads],
            init: Init::Zeros,
        }]
    }

    fn tables(&self, shape: &Shape, weights: &Weights) -> Result<Tables, EncodingError> {
        self.validate()?;
        let tensor = weights.get(NAME).ok_or(EncodingError::MissingWeights {
            encoding: "t5_bias",
            name: NAME,
        })?;
        let need = [self.buckets, shape.heads];
        if tensor.shape != need {
            return Err(EncodingError::WeightShape {
                encoding: "t5_bias",
                name: NAME,
                found: tensor.shape.clone(),
                need: need.to_vec(),
            });
        }
        let bias = |bucket: usize, head: usize| f64::from(tensor.data[bucket * shape.heads + head]);
        let table = |bucket: &dyn Fn(usize) -> usize| {
            let buckets: Vec<usize> = (0..shape.length).map(bucket).collect();
            Table::from_fn(shape.heads, shape.length, |head, n| bias(buckets[n], head))
        };
        Ok(Tables {
            bias: Some(Bias {
                behind: table(&|n| self.bucket_behind(n)),
                ahead: self.bidirectional.then(|| table(&|n| self.bucket_ahead(n))),
            }),
            ..Tables::default()
        })
    }

    fn backward(
        &self,
        shape: &Shape,
        _: &Weights,
        gradient: &Tables,
    ) -> Result<Vec<(&'static str, Vec<f64>)>, EncodingError> {
        let Some(bias) = &gradient.bias else {
            return Ok(Vec::new());
        };
        let mut sums = vec![0.0; self.buckets * shape.heads];
        for head in 0..shape.heads {
            for (distance, value) in bias.behind.row(head).iter().enumerate() {
                sums[self.bucket_behind(distance) * shape.heads + head] += value;
            }
        }
        Ok(vec![(NAME, sums)])
    }
}
