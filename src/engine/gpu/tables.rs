use super::buffer::Buffer;
use super::device::Device;
use super::kernels::Kernels;
use super::layout::widened;
use super::recorder::Recorder;
use super::scores::{FarInputs, Inputs};
use crate::encoding::Pairing;
use crate::engine::cpu::attention::Sizes;
use crate::engine::cpu::{RotationF32, TablesF32};

/// A model's tables on the GPU; as [`TablesF32`].
pub struct UploadedTables {
    pub input: Option<Buffer>,
    pub rotation: Option<UploadedRotation>,
    bias: Option<Buffer>,
    far: Option<UploadedFar>,
    /// Stands where a kernel's binding must be there and there is no table.
    nothing: Buffer,
}

pub struct UploadedRotation {
    pairing: Pairing,
    pairs: usize,
    /// Cosines and sines of queries.
    queries: [Buffer; 2],
    /// Those of keys, where they differ.
    keys: Option<[Buffer; 2]>,
}

struct UploadedFar {
    from: usize,
    keys: usize,
    last: usize,
    rotation: Option<UploadedRotation>,
}

impl UploadedTables {
    pub fn new(device: &Device, tables: &TablesF32, d_model: usize) -> Self {
        let upload = |table: &Vec<f32>| device.upload("table", table);
        let rotation = |rotation: &RotationF32| UploadedRotation {
            pairing: rotation.pairing,
            pairs: rotation.pairs,
            queries: [&rotation.cos, &rotation.sin].map(upload),
            keys: rotation.keys.as_ref().map(|keys| keys.each_ref().map(upload)),
        };
        Self {
            input: tables
                .input
                .as_ref()
                .map(|table| device.upload("table", &widened(table, d_model))),
            rotation: tables.rotation.as_ref().map(rotation),
            bias: tables.bias.as_ref().map(upload),
            far: tables.far.as_ref().map(|far| UploadedFar {
                from: far.from,
                keys: far.keys,
                last: far.last,
                rotation: far.rotation.as_ref().map(rotation),
            }),
            nothing: device.upload("no table", &[0.0_f32; 4]),
        }
    }

    /// What turns far queries and keys.
    pub fn far_rotation(&self) -> Option<&UploadedRotation> {
        self.far.as_ref()?.rotation.as_ref()
    }

    /// What scores are made from; `far_qk` is what [`far_rotation`](Self::far_rotation) turns.
    pub fn inputs<'a>(&'a self, qkv: &'a Buffer, far_qk: &'a Buffer) -> Inputs<'a> {
        Inputs {
            qkv,
            bias: self.bias.as_ref(),
            far: self.far.as_ref().map(|far| FarInputs {
                from: far.from,
                keys: far.keys,
                last: far.last,
                qk: far.rotation.is_some().then_some(far_qk),
            }),
            nothing: &self.nothing,
        }
    }

    /// All of them.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let rotations = self.rotation.iter().chain(self.far_rotation());
        let tables = self.input.iter().chain(&self.bias).chain([&self.nothing]);
        tables.chain(
            rotations.flat_map(|rotation| rotation.queries.iter().chain(rotation.keys.iter().flatten())),
        )
    }
}

impl UploadedRotation {
    /// Turns q and k of `qk[rows][width]`.
    pub fn rotate<'a>(
        &'a self,
        kernels: &'a Kernels,
        to: &mut Recorder<'a>,
        sizes: &Sizes,
        qk: &'a Buffer,
        width: usize,
    ) {
        let keys = self.keys.as_ref().unwrap_or(&self.queries);
        kernels.rotate(
            to,
            sizes,
            (self.pairing, self.pairs),
            [&self.queries, keys],
            qk,
            width,
        );
    }
}
