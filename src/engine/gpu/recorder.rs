use super::buffer::Buffer;
use super::device::Device;

/// Bytes between two uniform slots: the alignment that every adapter allows.
const SLOT_BYTES: u64 = 256;
/// The most workgroups in one dimension that every adapter allows.
const GROUPS_MAX: u32 = 65_535;

/// Collects dispatches, then makes their bind groups and the one uniform buffer of them all.
pub struct Recorder<'a> {
    device: &'a Device,
    uniforms: Vec<u8>,
    dispatches: Vec<Dispatch<'a>>,
}

struct Dispatch<'a> {
    label: String,
    pipeline: &'a wgpu::ComputePipeline,
    buffers: Vec<&'a Buffer>,
    groups: [u32; 3],
}

/// Dispatches that are ready to run, as often as needed.
pub struct Recorded {
    uniforms: Buffer,
    dispatches: Vec<Ready>,
}

struct Ready {
    label: String,
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    groups: [u32; 3],
}

impl<'a> Recorder<'a> {
    /// A recorder without dispatches.
    pub fn new(device: &'a Device) -> Self {
        Self {
            device,
            uniforms: Vec::new(),
            dispatches: Vec::new(),
        }
    }

    /// Adds a dispatch: `label` names it in a profile, `parameters` are the uniform's words (f32 by their bits), `buffers` the storage
    /// buffers from binding 1 on.
    pub fn add(
        &mut self,
        label: &str,
        pipeline: &'a wgpu::ComputePipeline,
        parameters: &[u32],
        buffers: &[&'a Buffer],
        groups: [u32; 3],
    ) {
        self.uniforms
            .resize(self.dispatches.len() * SLOT_BYTES as usize, 0);
        self.uniforms.extend(bytemuck::cast_slice::<u32, u8>(parameters));
        self.dispatches.push(Dispatch {
            label: label.into(),
            pipeline,
            buffers: buffers.to_vec(),
            groups,
        });
    }

    /// Makes the bind groups.
    pub fn finish(mut self) -> Recorded {
        self.uniforms
            .resize(self.dispatches.len().max(1) * SLOT_BYTES as usize, 0);
        let device = &self.device.device;
        let uniforms = self.device.buffer_for(
            "uniforms",
            self.uniforms.len() as u64,
            wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        );
        self.device.queue.write_buffer(&uniforms, 0, &self.uniforms);
        let dispatches = self
            .dispatches
            .into_iter()
            .enumerate()
            .map(|(slot, dispatch)| {
                let uniform = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &uniforms,
                    offset: slot as u64 * SLOT_BYTES,
                    size: wgpu::BufferSize::new(SLOT_BYTES),
                });
                let storage = dispatch.buffers.iter().map(|buffer| buffer.as_entire_binding());
                let entries: Vec<_> = std::iter::once(uniform)
                    .chain(storage)
                    .zip(0..)
                    .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource })
                    .collect();
                let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: None,
                    layout: &dispatch.pipeline.get_bind_group_layout(0),
                    entries: &entries,
                });
                Ready {
                    label: dispatch.label,
                    pipeline: dispatch.pipeline.clone(),
                    bind_group,
                    groups: dispatch.groups,
                }
            })
            .collect();
        Recorded { uniforms, dispatches }
    }
}

impl Recorded {
    /// Encodes all dispatches as one pass.
    pub fn encode(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for dispatch in &self.dispatches {
            dispatch.encode(&mut pass);
        }
    }

    /// Encodes one dispatch as a pass of its own, between two timestamps if they are asked for.
    pub(super) fn encode_one(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        index: usize,
        timestamps: Option<&wgpu::QuerySet>,
    ) {
        let first = 2 * index as u32;
        let timestamp_writes = timestamps.map(|query_set| wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes,
        });
        self.dispatches[index].encode(&mut pass);
    }

    /// Every dispatch's label, in order.
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.dispatches.iter().map(|dispatch| &dispatch.label[..])
    }

    /// Bytes of the uniform buffer.
    pub(super) fn bytes(&self) -> u64 {
        self.uniforms.size()
    }
}

impl Ready {
    fn encode(&self, pass: &mut wgpu::ComputePass) {
        let [x, y, z] = self.groups;
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}

/// Workgroups in x and y for `count` of them; kernels compute `x + y · num_workgroups.x`.
pub fn grid(count: usize) -> [u32; 3] {
    let count = count as u32;
    let y = count.div_ceil(GROUPS_MAX).max(1);
    [count.div_ceil(y), y, 1]
}
