//! What an attention was captured as: pictures that the GPU painted, or numbers.

use crate::engine::Output;
use wasm_bindgen::prelude::*;
use web_sys::ImageBitmap;

/// What was captured of one window; each array is handed over once.
#[wasm_bindgen]
pub struct Captured {
    pub(super) output: Output,
    /// Of the one head, then of all; or none, and the numbers in their place.
    pub(super) bitmaps: Vec<ImageBitmap>,
    /// Cells along a side of a raster of each.
    pub(super) sides: Vec<usize>,
}

#[wasm_bindgen]
impl Captured {
    /// Cells along a side of the raster.
    #[wasm_bindgen(getter)]
    pub fn side(&self) -> usize {
        let read = self.output.attention.as_ref().map(|raster| raster.side);
        read.or(self.sides.first().copied()).unwrap_or(0)
    }

    /// The pictures in place of raster and thumbnails, where they were to be painted and could be.
    pub fn bitmaps(&mut self) -> Vec<ImageBitmap> {
        std::mem::take(&mut self.bitmaps)
    }

    /// `[side][side]`: query, key.
    pub fn raster(&mut self) -> Vec<f32> {
        let raster = self.output.attention.as_mut();
        raster.map_or(Vec::new(), |raster| std::mem::take(&mut raster.data))
    }

    /// `[layers][heads][length]`: mean attention by distance.
    pub fn profile(&mut self) -> Vec<f32> {
        let profile = self.output.profile.as_mut();
        profile.map_or(Vec::new(), |profile| std::mem::take(&mut profile.data))
    }

    /// `[layers][heads]`, in nats: the mean entropy of the rows of attention.
    pub fn entropy(&mut self) -> Vec<f32> {
        let profile = self.output.profile.as_mut();
        profile.map_or(Vec::new(), |profile| std::mem::take(&mut profile.entropy))
    }

    /// Cells along a side of a thumbnail; 0 where none were asked for.
    #[wasm_bindgen(getter)]
    pub fn thumbnail_side(&self) -> usize {
        let read = self.output.thumbnails.as_ref().map(|all| all.side);
        read.or(self.sides.get(1).copied()).unwrap_or(0)
    }

    /// `[layers][heads][side][side]`: query, key.
    pub fn thumbnails(&mut self) -> Vec<f32> {
        let thumbnails = self.output.thumbnails.as_mut();
        thumbnails.map_or(Vec::new(), |all| std::mem::take(&mut all.data))
    }
}
