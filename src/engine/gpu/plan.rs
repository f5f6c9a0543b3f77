use super::buffer::Buffer;
use super::buffers::{Captured, Streams};
use super::device::Device;
use super::kernels::{Kernels, Then};
use super::layout::padded_sizes;
use super::picture::Picture;
use super::profile::Timings;
use super::recorder::{Recorded, Recorder};
use super::tables::UploadedTables;
use super::uploaded::{Uploaded, UploadedLayer};
use crate::engine::cpu::TablesF32;
use crate::engine::cpu::attention::Sizes;
use crate::engine::cpu::model::sizes;
use crate::engine::{Batch, Captures, EngineError};
use crate::model::{Activation, Config};

/// A forward for one shape of batch: its buffers, and its dispatches ready to run.
pub struct Plan {
    windows: usize,
    length: usize,
    captures: Captures,
    recorded: Recorded,
    tokens: Buffer,
    targets: Buffer,
    /// What is read back, where it was asked for: losses `[rows][3]`, raster, thumbnails and profile.
    results: Vec<(Buffer, u64)>,
    /// What stays on the GPU: raster and thumbnails that are painted.
    kept: Vec<Buffer>,
    /// Their pictures, in that order.
    pictures: Vec<Picture>,
    staging: Buffer,
    streams: Streams,
    tables: UploadedTables,
}

/// What all layers of a forward have in common.
#[derive(Clone, Copy)]
struct Forward<'a> {
    kernels: &'a Kernels,
    config: &'a Config,
    sizes: &'a Sizes,
    tables: &'a UploadedTables,
    streams: &'a Streams,
    captures: Captures,
    captured: &'a Captured,
}

impl<'a> Forward<'a> {
    /// From the residual stream through attention and MLP and back to it.
    fn layer(self, to: &mut Recorder<'a>, index: usize, layer: &'a UploadedLayer) {
        let Self { kernels, config, .. } = self;
        let Streams { x, narrow, wide, .. } = self.streams;
        let (rows, d, d_ff) = (self.sizes.rows(), config.d_model, config.d_ff);
        let epsilon = config.norm_epsilon;
        let heads = self.sizes.d_model();
        kernels.layer_norm(to, (rows, d), epsilon, x, &layer.attention_norm, narrow);
        kernels.linear(to, (rows, d, 3 * heads), Then::Store, narrow, &layer.qkv, wide);
        self.attention(to, index, layer);
        if self.captures.no_losses && index + 1 == config.layers {
            // What comes after the last attention leads to losses only.
            return;
        }
        kernels.linear(to, (rows, heads, d), Then::Residual, narrow, &layer.out, x);
        kernels.layer_norm(to, (rows, d), epsilon, x, &layer.mlp_norm, narrow);
        let activation = match config.activation {
            Activation::Gelu => Then::Gelu,
            Activation::GeluTanh => Then::GeluTanh,
        };
        kernels.linear(to, (rows, d, d_ff), activation, narrow, &layer.up, wide);
        kernels.linear(to, (rows, d_ff, d), Then::Residual, wide, &layer.down, x);
    }

    /// From queries, keys and values to what was attended to, and what is captured of it.
    fn attention(self, to: &mut Recorder<'a>, index: usize, layer: &'a UploadedLayer) {
        let Self {
            kernels,
            sizes,
            tables,
            captures,
            ..
        } = self;
        let Streams {
            narrow,
            wide: qkv,
            qk,
            softmax,
            ..
        } = self.streams;
        let d_model = sizes.d_model();
        if let Some(share) = &layer.smear {
            kernels.copy_qk(to, sizes, qkv, qk);
            kernels.smear(to, qk, share, sizes, qkv);
        }
        if let Some(rotation) = tables.far_rotation() {
            kernels.copy_qk(to, sizes, qkv, qk);
            rotation.rotate(kernels, to, sizes, qk, 2 * d_model);
        }
        if let Some(rotation) = &tables.rotation {
            rotation.rotate(kernels, to, sizes, qkv, 3 * d_model);
        }
        let inputs = tables.inputs(qkv, qk);
        kernels.attention(to, inputs, sizes, narrow, softmax);
        let chosen = captures.attention.filter(|of| of.layer == index);
        if let (Some((side, raster)), Some(chosen)) = (&self.captured.raster, chosen) {
            let cells = (chosen.head..chosen.head + 1, *side, 0);
            kernels.capture_attention(to, inputs, sizes, cells, softmax, raster);
        }
        if let Some((side, out)) = &self.captured.thumbnails {
            let cells = (0..sizes.heads, *side, index * sizes.heads * side * side);
            kernels.capture_attention(to, inputs, sizes, cells, softmax, out);
        }
        if let Some((count, profile)) = &self.captured.profile {
            let start = index * sizes.heads * sizes.length;
            kernels.capture_profile(to, inputs, sizes, (start, count + start), softmax, profile);
        }
    }
}

impl Plan {
    /// # Errors
    /// A length whose buffers this GPU does not allow.
    pub fn new(
        device: &Device,
        kernels: &Kernels,
        config: &Config,
        uploaded: &Uploaded,
        tables: &TablesF32,
        batch: &Batch,
        captures: Captures,
    ) -> Result<Self, EngineError> {
        let sizes = padded_sizes(&sizes(config, batch));
        let (rows, d, length) = (sizes.rows(), config.d_model, sizes.length);
        let captured = Captured::new(device, config, length, captures)?;
        let tables = UploadedTables::new(device, tables, d);
        let needs_copy = config.smeared_keys || tables.far_rotation().is_some();
        let streams = Streams::new(device, kernels, config, &sizes, needs_copy)?;
        let [tokens, targets] = ["tokens", "targets"].map(|label| device.buffer(label, rows as u64 * 4));
        let losses = device.buffer("losses", rows as u64 * 12);

        let mut to = Recorder::new(device);
        let Streams { x, narrow, wide, .. } = &streams;
        kernels.embed(
            &mut to,
            (rows, length, d),
            config.embedding_scale,
            &tokens,
            &uploaded.embedding,
            tables.input.as_ref(),
            x,
        );
        let forward = Forward {
            kernels,
            config,
            sizes: &sizes,
            tables: &tables,
            streams: &streams,
            captures,
            captured: &captured,
        };
        for (index, layer) in uploaded.layers.iter().enumerate() {
            forward.layer(&mut to, index, layer);
        }
        if !captures.no_losses {
            kernels.layer_norm(
                &mut to,
                (rows, d),
                config.norm_epsilon,
                x,
                &uploaded.final_norm,
                narrow,
            );
            let (output, shape) = (&uploaded.output, (rows, d, config.vocabulary));
            kernels.loss(&mut to, shape, narrow, output, &targets, wide, &losses);
        }
        let pictures = match captures.painted {
            Some(painted) => captured.pictures(device, config, painted)?,
            None => Vec::new(),
        };
        for (picture, raster) in pictures.iter().zip(captured.rasters()) {
            kernels.paint(&mut to, picture.canvas, raster, device.scale(), &picture.buffer);
        }
        let recorded = to.finish();

        let losses_bytes = if captures.no_losses { 0 } else { rows as u64 * 12 };
        let mut results = vec![(losses, losses_bytes)];
        let mut kept = Vec::new();
        captured.sort(
            config.layers * config.heads,
            captures.painted.is_some(),
            &mut results,
            &mut kept,
        );
        let staging = device.buffer_for(
            "staging",
            // Nothing may be read back at all, but a buffer has a size.
            results.iter().map(|(_, size)| size).sum::<u64>().max(4),
            wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        );
        Ok(Self {
            windows: sizes.windows,
            length,
            captures,
            recorded,
            tokens,
            targets,
            results,
            kept,
            pictures,
            staging,
            streams,
            tables,
        })
    }

    /// Its own buffers, without the tables' and the uniforms'.
    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let results = self.results.iter().map(|(buffer, _)| buffer);
        let streams = self.streams.buffers().into_iter();
        streams
            .chain(results)
            .chain(&self.kept)
            .chain(self.pictures.iter().map(|picture| &picture.buffer))
            .chain([&self.tokens, &self.targets, &self.staging])
    }

    /// What the plan holds on the GPU, in bytes.
    pub fn bytes(&self) -> u64 {
        let own: u64 = self.buffers().map(|buffer| buffer.size()).sum();
        own + self.tables.buffers().map(|buffer| buffer.size()).sum::<u64>() + self.recorded.bytes()
    }

    /// Runs the last batch again, kernel by kernel, and tells what each took.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn profile(&self, device: &Device) -> Result<Timings, EngineError> {
        self.recorded.profile(device).await
    }

    /// The pictures of what the last run captured: of the one head, then of all.
    pub fn pictures(&self) -> &[Picture] {
        &self.pictures
    }

    /// Whether the plan runs batches of this shape with these captures.
    pub fn fits(&self, batch: &Batch, captures: &Captures) -> bool {
        self.windows == batch.windows() && self.length == batch.length() && self.captures == *captures
    }

    /// Runs the batch, one submit, and reads the results back, in the order of `results`.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn run(&self, device: &Device, batch: &Batch) -> Result<Vec<Vec<f32>>, EngineError> {
        let gather =
            |part: &dyn Fn(usize) -> Vec<u32>| -> Vec<u32> { (0..self.windows).flat_map(part).collect() };
        let sources = gather(&|window| batch.sources(window).to_vec());
        let targets = gather(&|window| batch.targets(window).to_vec());
        device
            .queue
            .write_buffer(&self.tokens, 0, bytemuck::cast_slice(&sources));
        device
            .queue
            .write_buffer(&self.targets, 0, bytemuck::cast_slice(&targets));
        let mut encoder = device.device.create_command_encoder(&Default::default());
        self.recorded.encode(&mut encoder);
        let mut offset = 0;
        for (buffer, size) in self.results.iter().filter(|(_, size)| *size > 0) {
            encoder.copy_buffer_to_buffer(buffer, 0, &self.staging, offset, *size);
            offset += size;
        }
        device.queue.submit([encoder.finish()]);
        if offset == 0 {
            // Nothing comes back to wait for, and a forward that returned at once would let others pile up.
            device.idle().await?;
            return Ok(vec![Vec::new(); self.results.len()]);
        }
        let all = device.read(&self.staging, f32::from_le_bytes).await?;
        let mut rest = &all[..];
        let mut parts = Vec::with_capacity(self.results.len());
        for (_, size) in &self.results {
            let (part, after) = rest.split_at((size / 4) as usize);
            parts.push(part.to_vec());
            rest = after;
        }
        Ok(parts)
    }
}
