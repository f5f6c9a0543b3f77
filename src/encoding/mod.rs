//! Position encodings, each as at most three [`Tables`] computed in f64.
//!
//! An encoding reaches a transformer in only three places: added to the token embeddings
//! ([`Tables::input`]), rotating queries and keys ([`Tables::rotation`]), or added to the attention
//! scores ([`Tables::bias`]). The model, the kernels and the charts know tables, never encodings.
//!
//! To add an encoding: write one file that implements [`Positional`], and one line in the list below.

mod alibi;
mod error;
#[cfg(test)]
mod example;
mod far_keys;
mod kerple;
mod learned;
mod none;
mod randomized;
mod rope_scaling;
mod rotary;
mod sandwich;
mod sinusoidal;
mod t5_bias;
mod tables;
mod window;
mod xpos;

pub use alibi::{Alibi, slopes as alibi_slopes};
pub use error::EncodingError;
pub use far_keys::FarKeys;
pub use kerple::Kerple;
pub use learned::{Learned, PastEnd};
pub use none::None;
pub use randomized::Randomized;
pub use rope_scaling::{Ramp, Scaling, ScalingMethod};
pub use rotary::Rotary;
pub use sandwich::Sandwich;
pub use sinusoidal::{Layout, Sinusoidal};
pub use t5_bias::T5Bias;
pub use tables::{Bias, Far, Pairing, Rotation, Shape, Table, Tables};
pub use window::Window;
pub use xpos::Xpos;

use crate::model::{Parameter, Weights};
use serde::{Deserialize, Serialize};

/// What every encoding can do.
pub trait Positional {
    /// The trained tensors that the encoding owns; `trained` has the trained length.
    fn parameters(&self, trained: &Shape) -> Vec<Parameter> {
        let _ = trained;
        Vec::new()
    }

    /// The tables for sequences of `shape.length` tokens.
    ///
    /// # Errors
    /// A size that the encoding cannot serve (an odd dimension to rotate, a position that was never
    /// trained), or a trained tensor that `weights` lacks.
    fn tables(&self, shape: &Shape, weights: &Weights) -> Result<Tables, EncodingError>;

    /// The tables for one step of training, where they differ from step to step; `draw(n)` gives a uniform
    /// random number below n.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    fn training_tables(
        &self,
        shape: &Shape,
        weights: &Weights,
        draw: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Tables, EncodingError> {
        let _ = draw;
        self.tables(shape, weights)
    }

    /// The gradients of this encoding's own [`parameters`](Self::parameters), by name and in their
    /// order, from the gradients of its tables. `gradient` has the shape of what
    /// [`tables`](Self::tables) returned for the same arguments.
    ///
    /// # Errors
    /// A trained tensor that `weights` lacks.
    fn backward(
        &self,
        shape: &Shape,
        weights: &Weights,
        gradient: &Tables,
    ) -> Result<Vec<(&'static str, Vec<f64>)>, EncodingError> {
        let _ = (shape, weights, gradient);
        Ok(Vec::new())
    }
}

macro_rules! encodings {
    ($($variant:ident = $name:literal, $title:literal;)*) => {
        /// One of the known encodings with its settings; in JSON `{"kind": "t5_bias", "buckets": 32, …}`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(remote = "Self")]
        pub enum Encoding {
            $(
                #[doc = $title]
                #[serde(rename = $name)]
                $variant($variant),
            )*
        }

        /// The names of all encodings, as they stand in URLs, files and commands.
        pub const NAMES: &[&str] = &[$($name),*];

        impl Encoding {
            /// The encoding of that name with its usual settings; `None` for an unknown name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant($variant::default())),)*
                    _ => Option::None,
                }
            }

            /// The name in URLs, files and commands.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The name as written for readers, in English.
            pub fn title(&self) -> &'static str {
                match self { $(Self::$variant(_) => $title,)* }
            }

            fn positional(&self) -> &dyn Positional {
                match self { $(Self::$variant(encoding) => encoding,)* }
            }
        }
    };
}

encodings! {
    None = "none", "No position (NoPE)";
    Learned = "learned", "Learned";
    Sinusoidal = "sinusoidal", "Sinusoidal";
    Rotary = "rotary", "Rotary";
    T5Bias = "t5_bias", "T5 bias";
    Alibi = "alibi", "ALiBi";
    Kerple = "kerple", "KERPLE";
    Sandwich = "sandwich", "Sandwich";
    Xpos = "xpos", "xPos";
    Randomized = "randomized", "Randomized";
}

crate::json::tagged!(Encoding, "kind");

impl Positional for Encoding {
    fn parameters(&self, trained: &Shape) -> Vec<Parameter> {
        self.positional().parameters(trained)
    }

    fn tables(&self, shape: &Shape, weights: &Weights) -> Result<Tables, EncodingError> {
        self.positional().tables(shape, weights)
    }

    fn training_tables(
        &self,
        shape: &Shape,
        weights: &Weights,
        draw: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Tables, EncodingError> {
        self.positional().training_tables(shape, weights, draw)
    }

    fn backward(
        &self,
        shape: &Shape,
        weights: &Weights,
        gradient: &Tables,
    ) -> Result<Vec<(&'static str, Vec<f64>)>, EncodingError> {
        self.positional().backward(shape, weights, gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `mod example` of a newcomer would stand in the list.
    #[test]
    fn the_example_for_newcomers_is_an_encoding() {
        let contributing = include_str!("../../CONTRIBUTING.md").replace('\r', "");
        let example = include_str!("example.rs").replace('\r', "");
        assert!(
            contributing.contains(&format!("```rust\n{example}```")),
            "the example in CONTRIBUTING.md is not src/encoding/example.rs: copy it there"
        );
        let shape = Shape {
            length: 10,
            d_model: 8,
            heads: 2,
            d_head: 4,
        };
        let tables = example::Root::default().tables(&shape, &Weights::new()).unwrap();
        assert_eq!(tables.bias.unwrap().behind.at(1, 9), -3.0);
    }
}
