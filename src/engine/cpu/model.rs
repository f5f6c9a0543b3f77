use super::attention::Sizes;
use super::capture::{capture_attention, capture_profile};
use super::embed::embed;
use super::layer::{Heads, finish, norm};
use super::nll::{logits_of, nll};
use super::parallel::{ROWS, map, pieces};
use super::parameters::{self, Panels, Parameters};
use super::tables::TablesF32;
use crate::encoding::{Encoding, Window};
use crate::engine::{Batch, Captures, EngineError, Output, Profile, RASTER_SIDE_MAX, Raster, Thumbnails};
use crate::model::{Config, Weights};

/// A model that runs on the CPU.
#[derive(Debug)]
pub struct Model {
    config: Config,
    weights: Weights,
    panels: Panels,
    /// The tables of the last length, as windows of one length mostly follow each other.
    tables: Option<(usize, TablesF32)>,
}

impl Model {
    /// # Errors
    /// A configuration that describes no model, or a tensor that is missing or has another shape than the
    /// configuration says.
    pub fn new(config: &Config, weights: &Weights) -> Result<Self, EngineError> {
        parameters::check(config, weights)?;
        Ok(Self {
            config: config.clone(),
            weights: weights.clone(),
            panels: Panels::new(config, &Parameters::new(config, weights)?),
            tables: None,
        })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Replaces the encoding (by one with other settings) and the window; the weights stay.
    pub fn set_positions(&mut self, encoding: Encoding, window: Option<Window>) {
        (self.config.encoding, self.config.window) = (encoding, window);
        self.tables = None;
    }

    /// Runs the batch: one loss a target (0 for one that is not [wanted](Batch::scoring); none at all with
    /// [`no_losses`](Captures::no_losses)), and what was asked to be captured of the first window.
    ///
    /// # Errors
    /// A token outside the vocabulary, a head that does not exist, or a length that the encoding cannot
    /// serve.
    pub fn forward(&mut self, batch: &Batch, captures: &Captures) -> Result<Output, EngineError> {
        self.prepare(batch, captures)?;
        let parameters = self.parameters()?;
        let mut output = Output::default();
        let x = self.residual(&parameters, batch, captures, &mut output);
        if captures.no_losses {
            return Ok(output);
        }
        let d = self.config.d_model;
        let targets: Vec<u32> = (0..batch.windows())
            .flat_map(|w| batch.targets(w))
            .copied()
            .collect();
        output.nll = vec![0.0; targets.len()];
        each_window(
            &mut output.nll,
            (batch.length(), 1),
            batch.first_scored(),
            |from, losses| {
                pieces(losses, ROWS, |index, losses| {
                    let from = from + index * ROWS;
                    let x = &x[from * d..][..losses.len() * d];
                    let mut hidden = vec![0.0; x.len()];
                    norm(&self.config, x, parameters.final_norm, &mut hidden);
                    nll(&hidden, parameters.output, &targets[from..], losses, d);
                });
            },
        );
        Ok(output)
    }

    /// The logits of every source token, `[windows][T][V]`; for tests and small batches.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn logits(&mut self, batch: &Batch) -> Result<Vec<f32>, EngineError> {
        let captures = Captures::default();
        self.prepare(batch, &captures)?;
        let parameters = self.parameters()?;
        let x = self.residual(&parameters, batch, &captures, &mut Output::default());
        let mut hidden = vec![0.0; x.len()];
        norm(&self.config, &x, parameters.final_norm, &mut hidden);
        let mut logits = vec![0.0; batch.windows() * batch.length() * self.config.vocabulary];
        logits_of(
            &hidden,
            parameters.output.weight,
            &mut logits,
            self.config.d_model,
        );
        Ok(logits)
    }

    fn parameters(&self) -> Result<Parameters<'_>, EngineError> {
        Ok(Parameters::new(&self.config, &self.weights)?.with_panels(&self.panels))
    }

    /// Checks what is asked for, and makes the tables of the batch's length.
    fn prepare(&mut self, batch: &Batch, captures: &Captures) -> Result<(), EngineError> {
        let config = &self.config;
        batch.check_vocabulary(config.vocabulary)?;
        captures.check(config)?;
        let length = batch.length();
        if self.tables.as_ref().is_none_or(|(of, _)| *of != length) {
            self.tables = Some((length, TablesF32::new(config, length, &self.weights)?));
        }
        Ok(())
    }

    /// The residual stream before the last norm, `[rows][d_model]`, of a batch that was [prepared](Self::prepare);
    /// captures go to `output`.
    fn residual(
        &self,
        parameters: &Parameters,
        batch: &Batch,
        captures: &Captures,
        output: &mut Output,
    ) -> Vec<f32> {
        let (config, length) = (&self.config, batch.length());
        let default = TablesF32::default();
        let tables = self.tables.as_ref().map_or(&default, |(_, tables)| tables);
        let sizes = sizes(config, batch);
        let (d, rows) = (config.d_model, sizes.rows());
        let tokens: Vec<u32> = (0..batch.windows())
            .flat_map(|w| batch.sources(w))
            .copied()
            .collect();

        let mut x = vec![0.0; rows * d];
        embed(
            &tokens,
            parameters.token_embedding,
            config.embedding_scale,
            tables.input.as_deref(),
            &mut x,
            d,
        );
        let mut heads = Heads::new(config, tables, &sizes);
        let thumbnail_side = captures.thumbnail_side(length);
        let (mut weight, mut entropy, mut thumbnails) = (Vec::new(), Vec::new(), Vec::new());
        for (index, layer) in parameters.layers.iter().enumerate() {
            // What is wanted of the last layer is its losses; before it every position is a key of others.
            let first = match index + 1 == config.layers && *captures == Captures::default() {
                true => batch.first_scored(),
                false => 0,
            };
            heads.project_and_attend(config, layer, tables, &sizes, &x, first);
            let (inputs, log_sum_exp) = (heads.inputs(tables), &heads.log_sum_exp);
            if captures.profile {
                let layer = capture_profile(&inputs, log_sum_exp, &sizes);
                weight.extend(layer.weight);
                entropy.extend(layer.entropy);
            }
            if let Some(side) = thumbnail_side {
                let one = |head| capture_attention(&inputs, log_sum_exp, &sizes, head, side);
                thumbnails.extend(map(config.heads, one).concat());
            }
            if let Some(chosen) = captures.attention.filter(|chosen| chosen.layer == index) {
                let side = length.min(RASTER_SIDE_MAX);
                let data = capture_attention(&inputs, log_sum_exp, &sizes, chosen.head, side);
                output.attention = Some(Raster { side, data });
            }
            if captures.no_losses && index + 1 == config.layers {
                // What comes after the last attention leads to losses only.
                break;
            }
            each_window(&mut x, (length, d), first, |from, x| {
                finish(config, layer, &heads.attended[from * d..], x);
            });
        }
        if captures.profile {
            let shape = (config.layers, config.heads, length);
            output.profile = Some(Profile::new(shape, weight, &entropy));
        }
        output.thumbnails = thumbnail_side.map(|side| Thumbnails {
            layers: config.layers,
            heads: config.heads,
            side,
            data: thumbnails,
        });
        x
    }
}

/// Calls `work(row, values)` with the rows of every window from position `first` on, of which `row` is the first:
/// all at once where that is all. A window has `length` rows of `width` values.
fn each_window(
    values: &mut [f32],
    (length, width): (usize, usize),
    first: usize,
    work: impl Fn(usize, &mut [f32]) + Sync + Send,
) {
    if first == 0 {
        return work(0, values);
    }
    pieces(values, length * width, |window, values| {
        work(window * length + first, &mut values[first * width..]);
    });
}

/// The sizes of every attention layer of a forward.
pub fn sizes(config: &Config, batch: &Batch) -> Sizes {
    Sizes {
        windows: batch.windows(),
        length: batch.length(),
        heads: config.heads,
        d_head: config.d_head(),
        score_scale: config.score_scale,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::HeadId;
    use crate::engine::pool::tests::weights;

    #[test]
    fn what_is_not_scored_changes_nothing_of_the_rest() {
        let window = Window { keys: 20, sinks: 2 };
        for (name, window, smeared_keys) in [
            ("alibi", None, false),
            ("rotary", Some(window), false),
            ("t5_bias", Some(window), true),
        ] {
            let encoding = Encoding::from_name(name).unwrap();
            let config = Config {
                window,
                smeared_keys,
                ..Config::base(encoding, 4)
            };
            let mut model = Model::new(&config, &weights(&config)).unwrap();
            let tokens = (0..3 * 131).map(|i| i * 37 % 512).collect();
            let batch = Batch::new(tokens, 3, 130).unwrap();
            let attention = Captures {
                attention: Some(HeadId { layer: 2, head: 0 }),
                ..Captures::default()
            };
            let all = model.forward(&batch, &attention).unwrap();
            for (count, captures) in [
                (1, Captures::default()),
                (66, Captures::default()),
                (5, attention),
            ] {
                let some = model.forward(&batch.clone().scoring(count), &captures).unwrap();
                let rows = all.nll.chunks(130).zip(some.nll.chunks(130));
                for (all, some) in rows.flat_map(|(all, some)| all.iter().zip(some).skip(130 - count)) {
                    assert!((all - some).abs() < 1e-5, "{name}, {count}: {all} {some}");
                }
                assert!(some.nll[0] == 0.0 && all.nll[0] > 0.0);
                assert!(some.attention.is_none() || some.attention == all.attention);
            }
            let captured = Captures {
                profile: true,
                thumbnails: Some(20),
                ..attention
            };
            let all = model.forward(&batch, &captured).unwrap();
            let no_losses = Captures {
                no_losses: true,
                ..captured
            };
            let without = model.forward(&batch, &no_losses).unwrap();
            let all = Output {
                nll: Vec::new(),
                ..all
            };
            assert_eq!(without, all, "{name}");
        }
    }
}
