//! Feature weights by layer-wise relevance on drawn digits: free, as nothing private is read. A
//! feature that matters more gets a larger share of an image's length, so less of it drowns in
//! noise: AdLM's adaptive noise (Phan, Wu, Hu & Dou 2017), as joint clipping (McMahan et al. 2018).

use super::{
    error::FunctionalError,
    features::{Map, Scratch},
    head::Head,
    release::Released,
    sums::Sums,
};
use crate::data::synthetic;

/// Number of drawn digits, and their seed.
const DIGITS: usize = 2000;
const SEED: u64 = 17;
/// Power of the relevance in a feature's factor. Chosen on other drawn digits (`docs/methods.md`).
const POWER: f32 = 0.5;
/// Smallest factor on a feature.
const LEAST: f32 = 0.1;

impl Map {
    /// Returns the same map with each feature scaled by its relevance on drawn digits.
    ///
    /// # Errors
    /// Never, as drawn digits are digits.
    pub fn by_relevance(mut self) -> Result<Self, FunctionalError> {
        let drawn = synthetic::dataset(SEED, 0, DIGITS);
        let weights = Head::new(Released::exactly(&mut Sums::of(&self, &drawn)?)?).solved();
        let mut relevance = vec![0.0_f32; self.dimension()];
        let (mut phi, mut scratch) = (vec![0; self.dimension()], Scratch::default());
        for i in 0..drawn.len() {
            self.write_image(&drawn, i, &mut scratch, &mut phi)?;
            // For a linear score, a feature's relevance is its own term.
            let class = usize::from(drawn.labels[i]);
            for ((relevance, phi), weights) in relevance.iter_mut().zip(&phi).zip(&weights) {
                *relevance += (weights[class] as f32 * f32::from(*phi)).abs();
            }
        }
        relevance.pop();
        let mean = relevance.iter().sum::<f32>() / relevance.len().max(1) as f32;
        let share = |relevance: &f32| (relevance / mean.max(f32::MIN_POSITIVE)).powf(POWER).max(LEAST);
        self.scales = relevance.iter().map(share).collect();
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functional::features::{Ball, Features};

    #[test]
    fn the_middle_matters_more_than_the_edge_and_it_is_the_same_every_time() {
        let map = Map::new(Features::Pixels14, Ball::L2).by_relevance().unwrap();
        let again = Map::new(Features::Pixels14, Ball::L2).by_relevance().unwrap();
        assert_eq!(map.scales, again.scales);
        let (middle, edge) = (map.scales[7 * 14 + 7], map.scales[0]);
        assert!(middle > 0.5 && edge < 0.2, "{middle} {edge}");
        assert_eq!(map.scales.len() + 1, map.dimension());
    }
}
