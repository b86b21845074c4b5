//! A perceptron of any width, for one image's gradient: narrower ones reveal more of the image.

use crate::model::{
    Activation, CLASSES, Layer, PIXELS, glorot,
    reference::{Stage, gradient_through},
};

/// 784 → `hidden` → 10 with tanh; [`Architecture::Mlp`](crate::model::Architecture::Mlp) at 128.
pub(super) struct Perceptron {
    layers: [Layer; 2],
}

impl Perceptron {
    pub fn new(hidden: usize) -> Self {
        let first =
            Layer { name: "dense1", offset: 0, outputs: hidden, fan_in: PIXELS, fan_out: hidden, scales: false };
        let offset = first.biases().end;
        Self {
            layers: [
                first,
                Layer { name: "dense2", offset, outputs: CLASSES, fan_in: hidden, fan_out: CLASSES, scales: false },
            ],
        }
    }

    pub const fn first(&self) -> &Layer {
        &self.layers[0]
    }

    pub fn initial(&self, seed: u64) -> Vec<f32> {
        glorot(&self.layers, seed)
    }

    /// Returns the gradient of one image's loss, in flat order.
    pub fn gradient(&self, parameters: &[f32], image: &[f32], label: u8) -> Vec<f32> {
        let [first, second] = self.layers;
        let stages = vec![Stage::Dense(first), Stage::Activation(Activation::Tanh), Stage::Dense(second)];
        let mut gradient = vec![0.0; parameters.len()];
        gradient_through(stages, parameters, image, label, &mut gradient);
        gradient
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Architecture, initial_parameters, reference};

    #[test]
    fn a_perceptron_of_128_units_is_the_mlp() {
        let perceptron = Perceptron::new(128);
        assert_eq!(perceptron.layers.to_vec(), Architecture::Mlp.layers());
        let parameters = perceptron.initial(4);
        assert_eq!(parameters, initial_parameters(Architecture::Mlp, 4));
        let image: Vec<f32> = (0..PIXELS).map(|k| (k % 7) as f32 / 7.0).collect();
        let mut expected = vec![0.0; parameters.len()];
        reference::gradient(Architecture::Mlp, &parameters, &image, 3, &mut expected);
        assert_eq!(perceptron.gradient(&parameters, &image, 3), expected);
    }
}
