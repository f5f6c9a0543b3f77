//! Which variant of a kernel is the faster one on this adapter, by a short measurement.

use super::device::Device;
use super::kernels::{Kernels, Then, Variant, Variants};
use super::recorder::{Recorded, Recorder};
use super::scores::Inputs;
use crate::engine::EngineError;
use crate::engine::cpu::attention::Sizes;
use serde::Serialize;

/// Milliseconds of work that a time is taken of, so that the submit itself and a coarse clock count little.
const WORK_MS: f64 = 4.0;
/// Dispatches in a submit, at most.
const DISPATCHES_MAX: usize = 256;
/// Times that every variant is measured; they take turns.
const ROUNDS: usize = 2;

/// The width of the heads of most models here.
const D_HEAD: usize = 24;

/// What the measurement found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Selection {
    pub variants: Variants,
    /// Of the matrix product.
    pub linear_ms: VariantTimes,
    pub attention_ms: VariantTimes,
}

/// Milliseconds that a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VariantTimes {
    pub registers: f64,
    pub tiles: f64,
}

impl VariantTimes {
    /// The faster one.
    pub fn fastest(self) -> Variant {
        if self.tiles < self.registers {
            Variant::Tiles
        } else {
            Variant::Registers
        }
    }
}

impl Device {
    /// Measures the kernels that exist twice, and has [`kernels`](Self::kernels) take the faster ones.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn choose_variants(&self) -> Result<Selection, EngineError> {
        let kernels = self.kernels(D_HEAD);
        let (linear_ms, attention_ms) = (
            self.time_linear(&kernels).await?,
            self.time_attention(&kernels).await?,
        );
        let variants = Variants {
            linear: linear_ms.fastest(),
            attention: attention_ms.fastest(),
        };
        self.set_variants(variants);
        Ok(Selection {
            variants,
            linear_ms,
            attention_ms,
        })
    }

    /// Rows of the matrix product that is measured: enough to fill a GPU; a program on the CPU is full at once.
    fn rows(&self) -> usize {
        if self.is_software() { 256 } else { 2048 }
    }

    async fn time_linear(&self, kernels: &Kernels) -> Result<VariantTimes, EngineError> {
        let (rows, inputs, outputs) = (self.rows(), 96, 384);
        let floats = |count: usize| self.buffer("measured", count as u64 * 4);
        let [x, out] = [floats(rows * inputs), floats(rows * outputs)];
        let layer = [floats(inputs * outputs), floats(outputs)];
        let record = |linear| {
            let kernels = kernels.with_variants(Variants {
                linear,
                ..Variants::default()
            });
            let mut to = Recorder::new(self);
            kernels.linear(&mut to, (rows, inputs, outputs), Then::Store, &x, &layer, &out);
            to.finish()
        };
        self.race([Variant::Registers, Variant::Tiles].map(record)).await
    }

    async fn time_attention(&self, kernels: &Kernels) -> Result<VariantTimes, EngineError> {
        let sizes = Sizes {
            windows: 1,
            length: self.rows() / 2,
            heads: 4,
            d_head: D_HEAD,
            score_scale: 0.2,
        };
        let floats = |count: usize| self.buffer("measured", count as u64 * 4);
        let rows = sizes.rows();
        let [qkv, out] = [3, 1].map(|parts| floats(rows * parts * sizes.d_model()));
        let [bias, softmax] = [1, 2].map(|parts| floats(sizes.heads * rows * parts));
        let inputs = Inputs {
            qkv: &qkv,
            bias: Some(&bias),
            far: None,
            nothing: &qkv,
        };
        let record = |attention| {
            let kernels = kernels.with_variants(Variants {
                attention,
                ..Variants::default()
            });
            let mut to = Recorder::new(self);
            kernels.attention(&mut to, inputs, &sizes, &out, &softmax);
            to.finish()
        };
        self.race([Variant::Registers, Variant::Tiles].map(record)).await
    }

    /// The best time of each, registers first.
    async fn race(&self, variants: [Recorded; 2]) -> Result<VariantTimes, EngineError> {
        let mut best = [f64::INFINITY; 2];
        let mut dispatches = [1; 2];
        for round in 0..=ROUNDS {
            for ((recorded, best), dispatches) in variants.iter().zip(&mut best).zip(&mut dispatches) {
                // The first round compiles, warms up, and finds how many dispatches take long enough.
                if round == 0 {
                    self.time_of(recorded, 1).await?;
                    while self.time_of(recorded, *dispatches).await? < WORK_MS && *dispatches < DISPATCHES_MAX
                    {
                        *dispatches *= 4;
                    }
                } else {
                    let ms = self.time_of(recorded, *dispatches).await? / *dispatches as f64;
                    *best = best.min(ms);
                }
            }
        }
        let [registers, tiles] = best;
        Ok(VariantTimes { registers, tiles })
    }

    async fn time_of(&self, recorded: &Recorded, times: usize) -> Result<f64, EngineError> {
        self.time(|encoder| {
            for _ in 0..times {
                recorded.encode(encoder);
            }
        })
        .await
    }
}
