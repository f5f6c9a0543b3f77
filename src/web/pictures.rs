//! Attention as pictures that go from the GPU to the page without being read back.

use crate::engine::{Batch, Captures, Engine, EngineError, Model, Output};
#[cfg(feature = "gpu")]
use crate::engine::{
    cpu::paint::Canvas,
    gpu::{Device, Picture, Screen, check},
};
use wasm_bindgen::prelude::*;
use web_sys::ImageBitmap;

/// What pictures go through, one for each of those that a forward paints: their sizes stay the same for long.
#[derive(Default)]
pub struct Pictures {
    #[cfg(feature = "gpu")]
    screens: Vec<Screen>,
}

/// Cells along a side of its rasters, and the picture.
pub type Bitmap = (usize, ImageBitmap);

/// A picture, and what it should look like.
#[wasm_bindgen]
pub struct Sample {
    bitmap: ImageBitmap,
    expected: Vec<u32>,
}

#[wasm_bindgen]
impl Sample {
    /// The picture as the GPU painted it.
    #[wasm_bindgen(getter)]
    pub fn bitmap(&self) -> ImageBitmap {
        self.bitmap.clone()
    }

    /// What it should look like: red, green, blue and alpha of each pixel, row by row.
    pub fn expected(&self) -> Vec<u8> {
        self.expected
            .iter()
            .flat_map(|pixel| pixel.to_le_bytes())
            .collect()
    }
}

impl Pictures {
    /// Runs a forward that paints what it captures.
    ///
    /// # Errors
    /// An engine that failed, or a browser that cannot show pictures.
    pub async fn paint(
        &mut self,
        engine: &Engine,
        model: &mut Model,
        batch: &Batch,
        captures: &Captures,
        scale: &[u32],
    ) -> Result<(Output, Vec<Bitmap>), EngineError> {
        #[cfg(feature = "gpu")]
        if let Engine::Gpu(device) = engine {
            device.set_scale(scale)?;
            let output = model.forward(batch, captures).await?;
            let Model::Gpu(model) = model else {
                return Ok((output, Vec::new()));
            };
            let show = || {
                let pictures = model.pictures().iter().enumerate();
                let bitmaps = pictures.map(|(index, picture)| {
                    let side = picture.canvas().side;
                    Ok((side, self.show(device, index, picture)?))
                });
                bitmaps.collect()
            };
            return Ok((output, device.attempt(show, EngineError::Shown).await?));
        }
        // The CPU gives numbers.
        let _ = (engine, scale);
        Ok((model.forward(batch, captures).await?, Vec::new()))
    }

    /// A picture that is known, painted and shown as others are.
    ///
    /// # Errors
    /// No GPU, or a browser that cannot show pictures.
    pub async fn sample(&mut self, engine: &Engine) -> Result<Sample, EngineError> {
        #[cfg(feature = "gpu")]
        if let Engine::Gpu(device) = engine {
            let canvas = Canvas {
                rasters: 4,
                across: 2,
                side: 40,
                px: 32,
            };
            // A trial: what the GPU has against it leads to numbers, and the device stays in use.
            let show = || {
                let (picture, expected) = check::sample(device, &device.kernels(8), canvas)?;
                let bitmap = self.show(device, 0, &picture)?;
                Ok(Sample { bitmap, expected })
            };
            // What the GPU has against a trial leads to numbers, and must not end the device.
            let sample = device.attempt(show, EngineError::Shown).await?;
            device.idle().await?;
            return Ok(sample);
        }
        let _ = engine;
        Err(EngineError::Shown("there is no GPU".into()))
    }

    #[cfg(feature = "gpu")]
    fn show(&mut self, device: &Device, index: usize, picture: &Picture) -> Result<ImageBitmap, EngineError> {
        while self.screens.len() <= index {
            self.screens.push(Screen::new(device)?);
        }
        self.screens[index].show(device, picture)
    }
}
