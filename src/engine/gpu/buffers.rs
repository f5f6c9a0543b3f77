//! The buffers of a forward: what flows through its layers, and what it leaves to be read or painted.

use super::buffer::Buffer;
use super::device::Device;
use super::kernels::Kernels;
use super::layout::padded;
use super::picture::Picture;
use crate::engine::cpu::attention::Sizes;
use crate::engine::cpu::paint::Canvas;
use crate::engine::{Captures, EngineError, Painted, RASTER_SIDE_MAX};
use crate::model::Config;

/// What flows through the layers. Each buffer holds several things, one after the other, so that long windows
/// take little memory.
pub struct Streams {
    /// The residual stream, `[rows][d_model]`.
    pub x: Buffer,
    /// Normed, or attended.
    pub narrow: Buffer,
    /// Queries, keys and values, or the MLP's inner values, or the parts of the loss.
    pub wide: Buffer,
    /// Queries and keys, where they are needed twice.
    pub qk: Buffer,
    /// Of each query, `[rows][H][2]`.
    pub softmax: Buffer,
}

/// What is captured: the buffers, and how many cells a side or values they have.
pub struct Captured {
    pub raster: Option<(usize, Buffer)>,
    pub thumbnails: Option<(usize, Buffer)>,
    /// `[layers][H][T]` weights, and as many entropies.
    pub profile: Option<(usize, Buffer)>,
}

impl Streams {
    /// The buffers for so many rows.
    ///
    /// # Errors
    /// A length whose buffers this GPU does not allow.
    pub fn new(
        device: &Device,
        kernels: &Kernels,
        config: &Config,
        sizes: &Sizes,
        needs_copy: bool,
    ) -> Result<Self, EngineError> {
        let rows = sizes.rows();
        let (d, heads) = (padded(config.d_model), sizes.d_model());
        let widest = (3 * heads).max(padded(config.d_ff));
        let widest = widest.max(4 * kernels.loss_parts(config.vocabulary));
        check_bytes(device, sizes.length, rows * widest)?;
        let floats = |label: &str, count: usize| device.buffer(label, count as u64 * 4);
        Ok(Self {
            x: floats("residual stream", rows * d),
            narrow: floats("narrow", rows * d.max(heads)),
            wide: floats("wide", rows * widest),
            qk: floats("queries and keys", if needs_copy { rows * 2 * heads } else { 1 }),
            softmax: floats("softmax", rows * sizes.heads * 2),
        })
    }

    /// All of them.
    pub fn buffers(&self) -> [&Buffer; 5] {
        [&self.x, &self.narrow, &self.wide, &self.qk, &self.softmax]
    }
}

/// Whether so many floats fit into one buffer.
///
/// # Errors
/// More floats in one buffer than this GPU allows.
fn check_bytes(device: &Device, length: usize, floats: usize) -> Result<(), EngineError> {
    let need_bytes = floats as u64 * 4;
    let limit_bytes = device.binding_bytes_max();
    if need_bytes > limit_bytes {
        return Err(EngineError::TooLong {
            length,
            need_bytes,
            limit_bytes,
        });
    }
    Ok(())
}

impl Captured {
    /// The buffers for what is asked for.
    ///
    /// # Errors
    /// A length whose buffers this GPU does not allow.
    pub fn new(
        device: &Device,
        config: &Config,
        length: usize,
        captures: Captures,
    ) -> Result<Self, EngineError> {
        let heads = config.layers * config.heads;
        let thumbnail = captures.thumbnail_side(length);
        let most = thumbnail.map_or(0, |side| heads * side * side);
        check_bytes(device, length, most.max(2 * heads * length))?;
        let floats = |label: &str, count: usize| device.buffer(label, count as u64 * 4);
        let side = length.min(RASTER_SIDE_MAX);
        Ok(Self {
            raster: captures.attention.map(|_| (side, floats("raster", side * side))),
            thumbnails: thumbnail.map(|side| (side, floats("thumbnails", heads * side * side))),
            profile: captures
                .profile
                .then(|| (heads * length, floats("profile", 2 * heads * length))),
        })
    }

    /// The buffers of raster and thumbnails.
    pub fn rasters(&self) -> impl Iterator<Item = &Buffer> {
        let captured = self.raster.iter().chain(&self.thumbnails);
        captured.map(|(_, buffer)| buffer)
    }

    /// Where raster and thumbnails are painted.
    ///
    /// # Errors
    /// Pictures that are larger than this GPU allows.
    pub fn pictures(
        &self,
        device: &Device,
        config: &Config,
        painted: Painted,
    ) -> Result<Vec<Picture>, EngineError> {
        let raster = self.raster.iter().map(|(side, _)| Canvas {
            rasters: 1,
            across: 1,
            side: *side,
            px: painted.attention_px,
        });
        let thumbnails = self.thumbnails.iter().map(|(side, _)| Canvas {
            rasters: config.layers * config.heads,
            across: config.heads,
            side: *side,
            px: painted.thumbnail_px,
        });
        raster
            .chain(thumbnails)
            .map(|canvas| Picture::new(device, canvas))
            .collect()
    }

    /// Gives the buffers away: those that are read back with the bytes that are, and those that are kept.
    pub fn sort(self, heads: usize, is_painted: bool, read: &mut Vec<(Buffer, u64)>, kept: &mut Vec<Buffer>) {
        let raster = self.raster.map(|(side, buffer)| (buffer, side * side));
        let thumbnails = self
            .thumbnails
            .map(|(side, buffer)| (buffer, heads * side * side));
        let rasters = [raster, thumbnails].into_iter().flatten();
        if is_painted {
            kept.extend(rasters.map(|(buffer, _)| buffer));
        } else {
            read.extend(rasters.map(|(buffer, count)| (buffer, count as u64 * 4)));
        }
        let profile = self.profile.map(|(count, buffer)| (buffer, 8 * count as u64));
        read.extend(profile);
    }
}
