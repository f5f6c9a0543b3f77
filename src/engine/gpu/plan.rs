use super::device::Device;
use super::kernels::{Kernels, Then};
use super::model::Uploaded;
use super::recorder::{Recorded, Recorder};
use super::tables::UploadedTables;
use crate::engine::cpu::TablesF32;
use crate::engine::cpu::model::sizes;
use crate::engine::{Batch, Captures, EngineError, RASTER_SIDE_MAX};
use crate::model::{Activation, Config};
use wgpu::Buffer;

/// A forward for one shape of batch: its buffers, and its dispatches ready to run.
pub struct Plan {
    windows: usize,
    length: usize,
    captures: Captures,
    recorded: Recorded,
    tokens: Buffer,
    targets: Buffer,
    /// What is read back: losses `[rows][3]`, then raster, thumbnails and profile where they were asked for.
    results: Vec<(Buffer, u64)>,
    staging: Buffer,
    /// All other buffers, to be destroyed with the plan.
    others: Vec<Buffer>,
    tables: UploadedTables,
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
        let sizes = sizes(config, batch);
        let (rows, d, length) = (sizes.rows(), config.d_model, sizes.length);
        let widest = config.d_ff.max(3 * d).max(config.vocabulary);
        let heads = config.layers * config.heads;
        let thumbnails = captures
            .thumbnail_side(length)
            .map(|side| (side, heads * side * side));
        // Twice: weights and entropies.
        let profile_count = captures.profile.then_some(heads * length);
        let captured = thumbnails
            .map_or(0, |(_, count)| count)
            .max(2 * profile_count.unwrap_or(0));
        let need_bytes = (rows * widest).max(captured) as u64 * 4;
        let limit_bytes = device.binding_bytes_max();
        if need_bytes > limit_bytes {
            return Err(EngineError::TooLong {
                length,
                need_bytes,
                limit_bytes,
            });
        }
        let floats = |label: &str, count: usize| device.buffer(label, count as u64 * 4);
        let tokens = floats("tokens", rows);
        let targets = floats("targets", rows);
        let x = floats("residual stream", rows * d);
        let normed = floats("normed", rows * d);
        let qkv = floats("qkv", rows * 3 * d);
        let attended = floats("attended", rows * d);
        let softmax = floats("softmax", rows * config.heads * 2);
        let active = floats("mlp", rows * config.d_ff);
        let logits = floats("logits", rows * config.vocabulary);
        let losses = floats("losses", rows * 3);
        let tables = UploadedTables::new(device, tables);
        let needs_copy = config.smeared_keys || tables.far_rotation().is_some();
        let qk = floats("queries and keys", if needs_copy { rows * 2 * d } else { 1 });
        let side = length.min(RASTER_SIDE_MAX);
        let raster = captures.attention.map(|_| floats("raster", side * side));
        let thumbnails = thumbnails.map(|(side, count)| (side, count, floats("thumbnails", count)));
        let profile = profile_count.map(|count| (count, floats("profile", 2 * count)));

        let mut to = Recorder::new(device);
        let inputs = tables.inputs(&qkv, &qk);
        let scale = config.embedding_scale;
        kernels.embed(
            &mut to,
            (rows, length, d),
            scale,
            &tokens,
            &uploaded.embedding,
            tables.input.as_ref().unwrap_or(&tables.nothing),
            tables.input.is_some(),
            &x,
        );
        for (index, layer) in uploaded.layers.iter().enumerate() {
            let [weight, shift] = &layer.attention_norm;
            kernels.layer_norm(
                &mut to,
                (rows, d),
                config.norm_epsilon,
                &x,
                weight,
                shift,
                &normed,
            );
            let [weight, shift] = &layer.qkv;
            kernels.linear(
                &mut to,
                (rows, d, 3 * d),
                Then::Store,
                &normed,
                weight,
                shift,
                &qkv,
            );
            if let Some(share) = &layer.smear {
                kernels.copy_qk(&mut to, &sizes, &qkv, &qk);
                kernels.smear(&mut to, &qk, share, &sizes, &qkv);
            }
            if let Some(rotation) = tables.far_rotation() {
                kernels.copy_qk(&mut to, &sizes, &qkv, &qk);
                rotation.rotate(kernels, &mut to, &sizes, &qk, 2 * d);
            }
            if let Some(rotation) = &tables.rotation {
                rotation.rotate(kernels, &mut to, &sizes, &qkv, 3 * d);
            }
            kernels.attention(&mut to, inputs, &sizes, &attended, &softmax);
            if let (Some(raster), Some(chosen)) = (&raster, captures.attention.filter(|of| of.layer == index))
            {
                let cells = (chosen.head..chosen.head + 1, side, 0);
                kernels.capture_attention(&mut to, inputs, &sizes, cells, &softmax, raster);
            }
            if let Some((side, _, out)) = &thumbnails {
                let cells = (0..config.heads, *side, index * config.heads * side * side);
                kernels.capture_attention(&mut to, inputs, &sizes, cells, &softmax, out);
            }
            if let Some((count, profile)) = &profile {
                let start = index * config.heads * length;
                let starts = (start, count + start);
                kernels.capture_profile(&mut to, inputs, &sizes, starts, &softmax, profile);
            }
            let [weight, shift] = &layer.out;
            kernels.linear(
                &mut to,
                (rows, d, d),
                Then::Residual,
                &attended,
                weight,
                shift,
                &x,
            );
            let [weight, shift] = &layer.mlp_norm;
            kernels.layer_norm(
                &mut to,
                (rows, d),
                config.norm_epsilon,
                &x,
                weight,
                shift,
                &normed,
            );
            let activation = match config.activation {
                Activation::Gelu => Then::Gelu,
                Activation::GeluTanh => Then::GeluTanh,
            };
            let [weight, shift] = &layer.up;
            kernels.linear(
                &mut to,
                (rows, d, config.d_ff),
                activation,
                &normed,
                weight,
                shift,
                &active,
            );
            let [weight, shift] = &layer.down;
            kernels.linear(
                &mut to,
                (rows, config.d_ff, d),
                Then::Residual,
                &active,
                weight,
                shift,
                &x,
            );
        }
        let [weight, shift] = &uploaded.final_norm;
        kernels.layer_norm(
            &mut to,
            (rows, d),
            config.norm_epsilon,
            &x,
            weight,
            shift,
            &normed,
        );
        let [weight, shift] = &uploaded.output;
        let vocabulary = config.vocabulary;
        kernels.linear(
            &mut to,
            (rows, d, vocabulary),
            Then::Store,
            &normed,
            weight,
            shift,
            &logits,
        );
        kernels.nll(&mut to, (rows, vocabulary), &logits, &targets, &losses);
        let recorded = to.finish();

        let mut results = vec![(losses, rows as u64 * 12)];
        results.extend(raster.map(|buffer| (buffer, (side * side) as u64 * 4)));
        results.extend(thumbnails.map(|(_, count, buffer)| (buffer, count as u64 * 4)));
        results.extend(profile.map(|(count, buffer)| (buffer, count as u64 * 8)));
        let staging = device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("staging"),
            size: results.iter().map(|(_, size)| size).sum(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let others = vec![x, normed, qkv, qk, attended, softmax, active, logits];
        Ok(Self {
            windows: sizes.windows,
            length,
            captures,
            recorded,
            tokens,
            targets,
            results,
            staging,
            others,
            tables,
        })
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
        for (buffer, size) in &self.results {
            encoder.copy_buffer_to_buffer(buffer, 0, &self.staging, offset, *size);
            offset += size;
        }
        device.queue.submit([encoder.finish()]);
        let all = device.read(&self.staging).await?;
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

impl Drop for Plan {
    fn drop(&mut self) {
        // In the browser dropping a buffer frees nothing.
        self.recorded.destroy();
        self.tables.destroy();
        for buffer in self
            .others
            .iter()
            .chain(self.results.iter().map(|(buffer, _)| buffer))
        {
            buffer.destroy();
        }
        for buffer in [&self.tokens, &self.targets, &self.staging] {
            buffer.destroy();
        }
    }
}
