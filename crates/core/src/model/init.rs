//! Initial parameters.

use rand::rand_core::Rng;

use super::{Architecture, Layer};
use crate::rng::NotPrivateReplay;

/// Returns weights uniform in ±√(6/(fan-in + fan-out)) (Glorot & Bengio 2010, eq. 16), scales of 1
/// and biases of 0, in flat order. A public seed gives the same result on every machine.
#[must_use]
pub fn initial_parameters(architecture: Architecture, seed: u64) -> Vec<f32> {
    glorot(&architecture.layers(), seed)
}

/// Like [`initial_parameters`], for consecutive layers of a flat vector.
#[must_use]
pub fn glorot(layers: &[Layer], seed: u64) -> Vec<f32> {
    let mut rng = NotPrivateReplay::new(seed);
    let mut parameters = vec![0.0; layers.iter().map(|layer| layer.biases().end).max().unwrap_or(0)];
    for layer in layers {
        if layer.scales {
            parameters[layer.weights()].fill(1.0);
            continue;
        }
        let bound = (6.0 / (layer.fan_in + layer.fan_out) as f64).sqrt();
        for weight in &mut parameters[layer.weights()] {
            let uniform = (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
            *weight = ((2.0 * uniform - 1.0) * bound) as f32;
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fill_their_range_and_biases_are_zero() {
        for architecture in Architecture::ALL {
            let parameters = initial_parameters(architecture, 1);
            assert_eq!(parameters.len(), architecture.parameters());
            for layer in architecture.layers() {
                let bound = (6.0 / (layer.fan_in + layer.fan_out) as f64).sqrt() as f32;
                let weights = &parameters[layer.weights()];
                let n = weights.len() as f32;
                let mean = weights.iter().sum::<f32>() / n;
                let variance = weights.iter().map(|w| w * w).sum::<f32>() / n;
                let largest = weights.iter().fold(0.0_f32, |m, w| m.max(w.abs()));
                assert!(largest <= bound && largest > 0.95 * bound, "{architecture:?} {}", layer.name);
                // Five standard deviations of a uniform variable's mean and mean square.
                assert!(mean.abs() < 5.0 * bound / (3.0 * n).sqrt());
                assert!((variance * 3.0 / (bound * bound) - 1.0).abs() < 5.0 * (0.8 / n).sqrt());
                assert!(parameters[layer.biases()].iter().all(|&b| b == 0.0));
            }
        }
    }

    #[test]
    fn parameters_depend_on_the_seed() {
        let draw = |seed| initial_parameters(Architecture::Linear, seed);
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }
}
