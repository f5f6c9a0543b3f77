//! AdamW (Loshchilov & Hutter 2019, arXiv 1711.05101) with clipping by the global norm.

use crate::recipe::Recipe;
use longview::model::Weights;

/// The moments of the gradients, of the names and shapes of the weights.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    pub first: Weights,
    pub second: Weights,
}

/// Only the linear weights of the layers decay: not biases, norms, embeddings or encodings.
fn decays(name: &str) -> bool {
    [".qkv.weight", ".out.weight", ".up.weight", ".down.weight"]
        .iter()
        .any(|end| name.ends_with(end))
}

impl AdamW {
    /// Moments of zero; `zeros` has the names and shapes of the weights.
    pub fn new(zeros: Weights) -> Self {
        Self {
            first: zeros.clone(),
            second: zeros,
        }
    }

    /// Moves the weights along the gradients of step `step` (counted from 0) at learning rate `rate`,
    /// and gives the norm of the gradients before clipping.
    pub fn step(
        &mut self,
        recipe: &Recipe,
        step: usize,
        rate: f64,
        weights: &mut Weights,
        gradients: &Weights,
    ) -> f64 {
        let square = |values: &[f32]| values.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>();
        let norm = gradients
            .values()
            .map(|tensor| square(&tensor.data))
            .sum::<f64>()
            .sqrt();
        let clip = (recipe.clip / (norm + 1e-6)).min(1.0) as f32;
        let (beta1, beta2) = (recipe.beta1 as f32, recipe.beta2 as f32);
        let correction1 = (1.0 / (1.0 - recipe.beta1.powi(step as i32 + 1))) as f32;
        let correction2 = (1.0 / (1.0 - recipe.beta2.powi(step as i32 + 1))) as f32;
        let (rate, epsilon) = (rate as f32, recipe.epsilon as f32);
        let moments = self.first.values_mut().zip(self.second.values_mut());
        for (((name, weight), gradient), (first, second)) in
            weights.iter_mut().zip(gradients.values()).zip(moments)
        {
            let decay = if decays(name) {
                rate * recipe.weight_decay as f32
            } else {
                0.0
            };
            let moments = first.data.iter_mut().zip(&mut second.data);
            for ((weight, gradient), (first, second)) in
                weight.data.iter_mut().zip(&gradient.data).zip(moments)
            {
                let gradient = gradient * clip;
                *first = beta1 * *first + (1.0 - beta1) * gradient;
                *second = beta2 * *second + (1.0 - beta2) * gradient * gradient;
                let update = *first * correction1 / ((*second * correction2).sqrt() + epsilon);
                *weight -= rate * update + decay * *weight;
            }
        }
        norm
    }
}
