use super::{Bias, EncodingError, Positional, Shape, Table, Tables};
use crate::model::{Init, Parameter, Tensor, Weights};
use serde::{Deserialize, Serialize};

const NAMES: [&str; 2] = ["log_r1", "log_r2"];

/// KERPLE's logarithmic kernel: the bias −r1·ln(1 + r2·n) at the distance n, with r1 and r2 trained, one of
/// each a head (Chi et al. 2022, arXiv 2205.09921). Their logarithms stand in the weights, which keeps both
/// positive; all layers share them. The paper draws the first values; here r1 begins spread evenly over the
/// same range, 0 to 2, and r2 at the middle of its range, 1/2, so that equal recipes begin alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kerple {}

impl Kerple {
    /// r1 and r2, `[heads]` each.
    fn trained(shape: &Shape, weights: &Weights) -> Result<[Vec<f64>; 2], EncodingError> {
        let values = |name: &'static str| {
            let tensor: &Tensor = weights.get(name).ok_or(EncodingError::MissingWeights {
                encoding: "kerple",
                name,
            })?;
            if tensor.shape != [shape.heads] {
                return Err(EncodingError::WeightShape {
                    encoding: "kerple",
                    name,
                    found: tensor.shape.clone(),
                    need: vec![shape.heads],
                });
            }
            Ok(tensor.data.iter().map(|&log| f64::from(log).exp()).collect())
        };
        Ok([values(NAMES[0])?, values(NAMES[1])?])
    }
}

impl Positional for Kerple {
    fn parameters(&self, trained: &Shape) -> Vec<Parameter> {
        let heads = trained.heads;
        let parameter = |name: &str, values: Vec<f64>| Parameter {
            name: name.into(),
            shape: vec![heads],
            init: Init::Values(values),
        };
        let spread = |head: usize| (2.0 * (head as f64 + 0.5) / heads as f64).ln();
        vec![
            parameter(NAMES[0], (0..heads).map(spread).collect()),
            parameter(NAMES[1], vec![0.5_f64.ln(); heads]),
        ]
    }

    fn tables(&self, shape: &Shape, weights: &Weights) -> Result<Tables, EncodingError> {
        let [r1, r2] = Self::trained(shape, weights)?;
        Ok(Tables {
            bias: Some(Bias {
                behind: Table::from_fn(shape.heads, shape.length, |head, n| {
                    -r1[head] * (r2[head] * n as f64).ln_1p()
                }),
                ahead: None,
            }),
            ..Tables::default()
        })
    }

    fn backward(
        &self,
        shape: &Shape,
        weights: &Weights,
        gradient: &Tables,
    ) -> Result<Vec<(&'static str, Vec<f64>)>, EncodingError> {
        let Some(bias) = &gradient.bias else {
            return Ok(Vec::new());
        };
        let [r1, r2] = Self::trained(shape, weights)?;
        // With r = exp(ρ): ∂bias/∂ρ1 = −r1·ln(1 + r2·n), and ∂bias/∂ρ2 = −r1·r2·n / (1 + r2·n).
        let sum = |head: usize, slope: &dyn Fn(f64) -> f64| -> f64 {
            let row = bias.behind.row(head).iter().enumerate();
            row.map(|(n, g)| -r1[head] * slope(r2[head] * n as f64) * g).sum()
        };
        let sums = |slope: &dyn Fn(f64) -> f64| (0..shape.heads).map(|head| sum(head, slope)).collect();
        Ok(vec![
            (NAMES[0], sums(&f64::ln_1p)),
            (NAMES[1], sums(&|x| x / (1.0 + x))),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_equal_finite_differences() {
        let shape = Shape {
            length: 20,
            d_model: 12,
            heads: 3,
            d_head: 4,
        };
        let tensor = |data: [f32; 3]| Tensor {
            shape: vec![3],
            data: data.to_vec(),
        };
        let weights = |log_r1: [f32; 3], log_r2: [f32; 3]| {
            Weights::from([
                (NAMES[0].to_string(), tensor(log_r1)),
                (NAMES[1].to_string(), tensor(log_r2)),
            ])
        };
        let (log_r1, log_r2) = ([-1.0, 0.25, 0.5], [0.0, -0.5, 0.75]);
        // A loss that is linear in the biases; its gradient is the weighing itself.
        let weighing = Table::from_fn(3, 20, |head, n| ((head * 20 + n) as f64).sin());
        let loss = |weights: &Weights| -> f64 {
            let bias = Kerple {}.tables(&shape, weights).unwrap().bias.unwrap().behind;
            bias.data.iter().zip(&weighing.data).map(|(b, w)| b * w).sum()
        };
        let gradient = Tables {
            bias: Some(Bias {
                behind: weighing.clone(),
                ahead: None,
            }),
            ..Tables::default()
        };
        let here = weights(log_r1, log_r2);
        let got = Kerple {}.backward(&shape, &here, &gradient).unwrap();
        for (which, name) in NAMES.iter().enumerate() {
            assert_eq!(got[which].0, *name);
            for head in 0..3 {
                // A power of two, so that the steps are exact in f32.
                let step = 1.0 / 1024.0;
                let moved = |by: f32| {
                    let mut logs = [log_r1, log_r2];
                    logs[which][head] += by;
                    loss(&weights(logs[0], logs[1]))
                };
                let expected = (moved(step) - moved(-step)) / f64::from(2.0 * step);
                let got = got[which].1[head];
                assert!((got - expected).abs() < 1e-4, "{name}[{head}]: {got}, {expected}");
            }
        }
    }

    #[test]
    fn equals_the_formula_and_begins_positive_and_falling() {
        let shape = Shape {
            length: 9,
            d_model: 16,
            heads: 4,
            d_head: 4,
        };
        let weights = Kerple {}
            .parameters(&shape)
            .into_iter()
            .map(|parameter| {
                let Init::Values(values) = parameter.init else {
                    panic!("{} begins with values", parameter.name)
                };
                let data = values.iter().map(|&value| value as f32).collect();
                let shape = parameter.shape;
                (parameter.name, Tensor { shape, data })
            })
            .collect();
        let bias = Kerple {}.tables(&shape, &weights).unwrap().bias.unwrap().behind;
        for (head, r1) in [0.25, 0.75, 1.25, 1.75].into_iter().enumerate() {
            assert_eq!(bias.at(head, 0), 0.0);
            // ln(1 + 8/2) = ln 5
            assert!((bias.at(head, 8) + r1 * 5.0_f64.ln()).abs() < 1e-6);
            assert!(bias.row(head).windows(2).all(|pair| pair[1] < pair[0]));
        }
    }
}
