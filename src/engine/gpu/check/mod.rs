//! Every kernel against its CPU twin, on odd sizes: the native tests, the browser tests and the self-check
//! at start run this same code.

mod attention;
mod kernels;
mod keys;
mod paint;

pub use kernels::{kernels, odd_sizes};
pub use paint::sample;

use super::device::Device;
use super::kernels::Kernels;
use crate::encoding::{Encoding, Positional, Window};
use crate::engine::cpu::attention::Sizes;
use crate::engine::{Batch, Captures, EngineError, HeadId, Output, cpu};
use crate::model::{Config, Init, Tensor, Weights};
use serde::Serialize;
use std::sync::Arc;

/// How far a GPU's result was from the twin's.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The kernel, or "forward" for a whole model.
    pub kernel: &'static str,
    /// The sizes of the case.
    pub case: String,
    /// Largest absolute difference of a value; infinite where a value is not a number.
    pub largest: f32,
    /// What it may be.
    pub limit: f32,
}

impl Difference {
    fn new(kernel: &'static str, case: String, got: &[f32], expected: &[f32], limit: f32) -> Self {
        let far = |(a, b): (&f32, &f32)| {
            if (a - b).is_nan() {
                f32::INFINITY
            } else {
                (a - b).abs()
            }
        };
        let same_length = got.len() == expected.len();
        let largest = got
            .iter()
            .zip(expected)
            .map(far)
            .fold(if same_length { 0.0 } else { f32::INFINITY }, f32::max);
        Self {
            kernel,
            case,
            largest,
            limit,
        }
    }

    /// Whether the GPU may be trusted with this.
    pub fn is_within(&self) -> bool {
        self.largest <= self.limit
    }
}

/// Repeatable numbers in −1 … 1.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(747_796_405) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A buffer's words.
pub(super) async fn read_words(device: &Device, buffer: &wgpu::Buffer) -> Result<Vec<u32>, EngineError> {
    let staging = device.buffer_for(
        "staging",
        buffer.size(),
        wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
    );
    let mut encoder = device.device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    device.queue.submit([encoder.finish()]);
    let words = device.read(&staging, u32::from_le_bytes).await;
    device.check()?;
    words
}

fn name(sizes: &Sizes) -> String {
    let Sizes {
        windows,
        length,
        heads,
        d_head,
        ..
    } = sizes;
    format!("B {windows}, T {length}, H {heads}, d_head {d_head}")
}

fn tokens(count: usize, vocabulary: usize, seed: u32) -> Vec<u32> {
    let scale = vocabulary as f32 / 2.0;
    numbers(count, seed)
        .iter()
        .map(|x| ((x + 1.0) * scale) as u32 % vocabulary as u32)
        .collect()
}

/// A small random model: it needs no file, and its losses show a kernel that is wrong.
pub fn random_model(encoding: Encoding, heads: usize, d_head: usize) -> (Config, Weights) {
    let mut config = Config::base(encoding, heads);
    config.d_model = heads * d_head;
    (
        config.vocabulary,
        config.layers,
        config.d_ff,
        config.trained_length,
    ) = (61, 2, 3 * config.d_model + 1, 160);
    config.embedding_scale = (config.d_model as f32).sqrt();
    config.score_scale = 1.0 / (d_head as f32).sqrt();
    let weights = random_weights(&config);
    (config, weights)
}

/// Random weights for that configuration.
pub fn random_weights(config: &Config) -> Weights {
    let mut weights = Weights::new();
    for (seed, parameter) in (1..).zip(config.parameters()) {
        let deviation = match parameter.init {
            Init::Normal { deviation } => deviation as f32,
            Init::Zeros | Init::Ones | Init::Values(_) => 0.3,
        };
        let centre = if parameter.init == Init::Ones { 1.0 } else { 0.0 };
        let count = parameter.shape.iter().product();
        // Uniform numbers of that deviation.
        let data = numbers(count, seed)
            .iter()
            .map(|x| centre + 1.7 * deviation * x)
            .collect();
        weights.insert(
            parameter.name,
            Tensor {
                shape: parameter.shape,
                data,
            },
        );
    }
    weights
}

/// Compares a whole forward with all captures on models that together use every kernel and table.
///
/// # Errors
/// A GPU that failed outright.
pub async fn forward(
    device: &Arc<Device>,
    kernels: impl Fn(usize) -> Arc<Kernels>,
) -> Result<Vec<Difference>, EngineError> {
    let mut found = Vec::new();
    let window = Some(Window { keys: 20, sinks: 3 });
    for (name, length, windows, window) in [
        ("rotary", 70, 2, window),
        ("alibi", 130, 1, None),
        ("alibi", 70, 1, window),
        ("sinusoidal", 33, 3, None),
    ] {
        let Some(encoding) = Encoding::from_name(name) else {
            continue;
        };
        let (mut config, _) = random_model(encoding, 3, 8);
        // With a window or without, with smeared keys or without: as the kernels are few, so are the models.
        config.window = window;
        config.smeared_keys = name == "rotary";
        let weights = random_weights(&config);
        let batch = Batch::new(
            tokens(windows * (length + 1), config.vocabulary, 9),
            windows,
            length,
        )?;
        let captures = Captures {
            attention: Some(HeadId { layer: 1, head: 2 }),
            // Fewer cells than tokens: raster and thumbnails together show pooling and its absence.
            thumbnails: Some(16),
            profile: true,
            ..Captures::default()
        };
        let expected = cpu::Model::new(&config, &weights)?.forward(&batch, &captures)?;
        let mut model = super::Model::with_kernels(device, kernels(config.d_head()), &config, &weights)?;
        let got = model.forward(&batch, &captures).await?;
        let case = format!(
            "{name}, T {length}{}",
            if window.is_some() { ", window" } else { "" }
        );
        let raster = |output: &Output| output.attention.clone().map_or(Vec::new(), |raster| raster.data);
        let thumbnails = |output: &Output| output.thumbnails.clone().map_or(Vec::new(), |all| all.data);
        let profile = |output: &Output| output.profile.clone().map_or(Vec::new(), |profile| profile.data);
        let entropy = |output: &Output| {
            output
                .profile
                .clone()
                .map_or(Vec::new(), |profile| profile.entropy)
        };
        for (part, got, expected, limit) in [
            ("losses", got.nll.clone(), expected.nll.clone(), 5e-5),
            ("attention", raster(&got), raster(&expected), 1e-5),
            ("thumbnails", thumbnails(&got), thumbnails(&expected), 1e-5),
            ("profile", profile(&got), profile(&expected), 1e-5),
            ("entropy", entropy(&got), entropy(&expected), 2e-5),
        ] {
            found.push(Difference::new(
                "forward",
                format!("{case}, {part}"),
                &got,
                &expected,
                limit,
            ));
        }
        // The tables are part of what is compared, so they must not be empty.
        debug_assert_ne!(
            config.encoding.tables(&config.shape(length), &weights)?,
            Default::default()
        );
    }
    Ok(found)
}
