use super::buffer::Buffer;
use super::layout::vectors;
use super::recorder::{Recorder, grid};
use super::scores::Inputs;
use super::source::{SHADERS, Source, attention_queries, linear_tile};
use crate::engine::cpu::attention::Sizes;
use serde::Serialize;
use std::sync::{Arc, OnceLock};

/// What follows a linear layer, in the same dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Store = 0,
    /// Added to what stands in the output.
    Residual = 1,
    Gelu = 2,
    GeluTanh = 3,
    /// The outputs are logits; a part of their softmax is kept instead of them.
    Loss = 4,
}

/// How a kernel that exists twice goes about its work; which is faster depends on the adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Each thread reads what it needs and keeps much of it in registers.
    #[default]
    Registers,
    /// A workgroup's threads load tiles into memory that they share.
    Tiles,
}

/// The variants in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Variants {
    pub linear: Variant,
    pub attention: Variant,
}

/// The compute pipelines, each compiled when it is first recorded. Each method records a kernel's dispatch;
/// names and arguments are those of the CPU twins.
#[derive(Clone)]
pub struct Kernels {
    device: wgpu::Device,
    /// Vectors of four in a head.
    vectors: usize,
    variants: Variants,
    /// In the order of [`SHADERS`].
    pipelines: Vec<Arc<OnceLock<wgpu::ComputePipeline>>>,
}

/// Compiles a kernel from its template.
fn compile(device: &wgpu::Device, source: &Source, template: &str, vectors: usize) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(source.name),
        source: wgpu::ShaderSource::Wgsl(source.expand(template, vectors).into()),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(source.name),
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    })
}

impl Kernels {
    /// Kernels for heads of width `d_head`.
    pub(super) fn new(device: &wgpu::Device, d_head: usize) -> Self {
        Self {
            device: device.clone(),
            vectors: vectors(d_head),
            variants: Variants::default(),
            pipelines: SHADERS.iter().map(|_| Arc::default()).collect(),
        }
    }

    /// These for heads of another width; all that do not depend on it are shared.
    pub fn for_heads(&self, d_head: usize) -> Self {
        let mut kernels = self.clone();
        if kernels.vectors != vectors(d_head) {
            kernels.vectors = vectors(d_head);
            for (pipeline, source) in kernels.pipelines.iter_mut().zip(SHADERS) {
                if source.depends_on_heads() {
                    *pipeline = Arc::default();
                }
            }
        }
        kernels
    }

    /// These with other variants in use.
    pub fn with_variants(&self, variants: Variants) -> Self {
        Self {
            variants,
            ..self.clone()
        }
    }

    /// The variants in use.
    pub fn variants(&self) -> Variants {
        self.variants
    }

    /// These, with one made of another template: for tests that break a kernel.
    pub fn altered(&self, name: &str, alter: impl FnOnce(String) -> String) -> Self {
        let mut kernels = self.clone();
        let mut places = SHADERS.iter().zip(&mut kernels.pipelines);
        if let Some((source, place)) = places.find(|(source, _)| source.name == name) {
            let template = alter(source.template());
            let pipeline = compile(&self.device, source, &template, self.vectors);
            *place = Arc::new(OnceLock::from(pipeline));
        }
        kernels
    }

    fn pipeline(&self, name: &str) -> &wgpu::ComputePipeline {
        let index = SHADERS.iter().position(|source| source.name == name).unwrap_or(0);
        let source = &SHADERS[index];
        self.pipelines[index].get_or_init(|| compile(&self.device, source, &source.template(), self.vectors))
    }

    /// Records the dispatch of a kernel.
    pub(super) fn add<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        name: &str,
        parameters: &[u32],
        buffers: &[&'a Buffer],
        groups: [u32; 3],
    ) {
        to.add(name, self.pipeline(name), parameters, buffers, groups);
    }

    /// `out[rows][d] = embedding[token] · scale + table[row mod length]`.
    #[allow(clippy::too_many_arguments)]
    pub fn embed<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, length, d): (usize, usize, usize),
        scale: f32,
        tokens: &'a Buffer,
        embedding: &'a Buffer,
        table: Option<&'a Buffer>,
        out: &'a Buffer,
    ) {
        let [rows_word, length, d] = [rows, length, vectors(d)].map(|size| size as u32);
        let parameters = [rows_word, length, d, table.is_some().into(), scale.to_bits()];
        let table = table.unwrap_or(embedding);
        let groups = grid((rows * d as usize).div_ceil(64));
        self.add(to, "embed", &parameters, &[tokens, embedding, table, out], groups);
    }

    /// Normalises rows of `d`; a layer without a bias has zeros for it.
    pub fn layer_norm<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, d): (usize, usize),
        epsilon: f32,
        x: &'a Buffer,
        [weight, bias]: &'a [Buffer; 2],
        out: &'a Buffer,
    ) {
        let parameters = [rows as u32, d as u32, vectors(d) as u32, epsilon.to_bits()];
        let groups = grid(rows.div_ceil(32));
        self.add(to, "layer_norm", &parameters, &[x, weight, bias, out], groups);
    }

    /// `out[rows][outputs] = x[rows][inputs] · weight + bias`, then what `then` says; `weight` is laid out by
    /// [`blocks`](super::layout::blocks).
    pub fn linear<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        sizes: (usize, usize, usize),
        then: Then,
        x: &'a Buffer,
        layer: &'a [Buffer; 2],
        out: &'a Buffer,
    ) {
        // A binding must be there even where nobody looks at the targets.
        self.product(to, sizes, then, x, layer, x, out);
    }

    /// `out[rows][3]`: the largest logit, the sum of exponentials, the target's logit. The logits themselves
    /// are never written; `softmax` is `[rows][loss_parts][4]`.
    #[allow(clippy::too_many_arguments)]
    pub fn loss<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, d, vocabulary): (usize, usize, usize),
        hidden: &'a Buffer,
        layer: &'a [Buffer; 2],
        targets: &'a Buffer,
        softmax: &'a Buffer,
        out: &'a Buffer,
    ) {
        self.product(
            to,
            (rows, d, vocabulary),
            Then::Loss,
            hidden,
            layer,
            targets,
            softmax,
        );
        self.nll(to, (rows, self.loss_parts(vocabulary)), softmax, out);
    }

    /// Parts that the softmax over a vocabulary is computed in.
    pub fn loss_parts(&self, vocabulary: usize) -> usize {
        let panels = vectors(vocabulary);
        match self.variants.linear {
            Variant::Registers => panels.div_ceil(linear_tile("linear").1),
            Variant::Tiles => panels.div_ceil(16) * 8,
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn product<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, inputs, outputs): (usize, usize, usize),
        then: Then,
        x: &'a Buffer,
        [weight, bias]: &'a [Buffer; 2],
        targets: &'a Buffer,
        out: &'a Buffer,
    ) {
        let (name, groups) = match self.variants.linear {
            Variant::Registers => {
                let (of_rows, of_panels) = linear_tile("linear");
                let threads = [vectors(outputs).div_ceil(of_panels), rows.div_ceil(of_rows)];
                ("linear", [threads[0].div_ceil(8), threads[1].div_ceil(4), 1])
            }
            Variant::Tiles => (
                "linear_tiles",
                [vectors(outputs).div_ceil(16), rows.div_ceil(64), 1],
            ),
        };
        let [rows, parts] = [rows, self.loss_parts(outputs)].map(|size| size as u32);
        let [in_vectors, out_vectors] = [inputs, outputs].map(|size| vectors(size) as u32);
        to.add(
            &format!("{name} {inputs} × {outputs}"),
            self.pipeline(name),
            &[rows, in_vectors, out_vectors, then as u32, parts],
            &[x, weight, bias, targets, out],
            groups.map(|count| count as u32),
        );
    }

    /// `out[rows][3]` of `softmax[rows][parts][4]`, as [`loss`](Self::loss) says.
    fn nll<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, parts): (usize, usize),
        softmax: &'a Buffer,
        out: &'a Buffer,
    ) {
        let groups = grid(rows.div_ceil(32));
        self.add(to, "nll", &[rows as u32, parts as u32], &[softmax, out], groups);
    }

    /// `out[rows][d_model]`, and `softmax[rows][H]`: the largest score and the sum of exponentials.
    pub fn attention<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        inputs: Inputs<'a>,
        sizes: &Sizes,
        out: &'a Buffer,
        softmax: &'a Buffer,
    ) {
        let (name, queries) = match (self.variants.attention, inputs.far) {
            (Variant::Registers, None) => ("attention", 32 * attention_queries(self.vectors)),
            (Variant::Registers, Some(_)) => ("attention_far", 32 * attention_queries(self.vectors)),
            (Variant::Tiles, _) => ("attention_tiles", 64),
        };
        let groups = [sizes.length.div_ceil(queries), sizes.windows * sizes.heads, 1];
        let [qkv, bias, far_qk] = inputs.buffers();
        let buffers = [qkv, bias, out, softmax, far_qk];
        let used = if name == "attention" { 4 } else { 5 };
        let groups = groups.map(|count| count as u32);
        self.add(to, name, &inputs.words(sizes), &buffers[..used], groups);
    }
}
