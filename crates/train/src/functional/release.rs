//! The one release: A and B with noise. Everything later reads only these of the data.

use super::{error::FunctionalError, price::Price, sums::Sums};
use crate::{
    mechanism::noise::noise_at,
    model::CLASSES,
    rng::{NotPrivateReplay, RandomSource, SystemRng},
};

/// A and B with their noise: public.
#[derive(Clone, Debug, PartialEq)]
pub struct Released {
    dimension: usize,
    /// Symmetric, in row-major order.
    a: Vec<f64>,
    /// One row per feature.
    b: Vec<[f64; CLASSES]>,
    lambda: f64,
}

impl Released {
    /// Releases the sums with noise keyed by the system. Record `price` in the books before.
    ///
    /// # Errors
    /// Sums of nothing, or of another number of features; no entropy.
    pub fn new(sums: &mut Sums, price: &Price) -> Result<Self, FunctionalError> {
        Self::with(sums, price, &mut SystemRng::new()?)
    }

    /// The same with reproducible noise: no guarantee.
    ///
    /// # Errors
    /// As [`Released::new`].
    pub fn not_private(sums: &mut Sums, price: &Price, seed: u64) -> Result<Self, FunctionalError> {
        Self::with(sums, price, &mut NotPrivateReplay::new(seed))
    }

    /// Returns the sums without noise: no guarantee, for public digits only.
    ///
    /// # Errors
    /// Sums of nothing.
    pub fn exactly(sums: &mut Sums) -> Result<Self, FunctionalError> {
        let (triangle, b) = sums.exact()?;
        let dimension = sums.dimension();
        Ok(Self { dimension, a: symmetric(dimension, &triangle), b, lambda: 0.0 })
    }

    fn with<R: RandomSource>(sums: &mut Sums, price: &Price, rng: &mut R) -> Result<Self, FunctionalError> {
        let dimension = sums.dimension();
        if dimension != price.dimension() {
            return Err(FunctionalError::Size(dimension));
        }
        let (mut triangle, mut b) = sums.exact()?;
        let mut noises = Vec::with_capacity(2);
        for noise in &price.noise {
            noises.push(noise.build().map_err(crate::accounting::PrivacyError::from)?);
        }
        let mut key = [0; 8];
        key.fill_with(|| rng.next_u32());
        // One stream for both: each entry has a place of its own.
        let mut places = 0..;
        let mut add = |noise: usize, entry: &mut f64| {
            *entry += noise_at(&key, places.next().unwrap_or_default(), &*noises[noise]);
        };
        triangle.iter_mut().for_each(|entry| add(0, entry));
        b.iter_mut().flatten().for_each(|entry| add(1, entry));
        Ok(Self { dimension, a: symmetric(dimension, &triangle), b, lambda: price.lambda() })
    }

    /// Returns d.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns A, symmetric, in row-major order.
    #[must_use]
    pub fn a(&self) -> &[f64] {
        &self.a
    }

    /// Returns B, one row per feature.
    #[must_use]
    pub fn b(&self) -> &[[f64; CLASSES]] {
        &self.b
    }

    /// Returns λ of the price; 0 without noise.
    #[must_use]
    pub const fn lambda(&self) -> f64 {
        self.lambda
    }
}

/// Expands an upper triangle to the symmetric matrix: both halves have the same noise.
fn symmetric(dimension: usize, triangle: &[f64]) -> Vec<f64> {
    let mut whole = vec![0.0; dimension * dimension];
    let mut entries = triangle.iter();
    for i in 0..dimension {
        for (j, entry) in (i..dimension).zip(&mut entries) {
            whole[i * dimension + j] = *entry;
            whole[j * dimension + i] = *entry;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::synthetic,
        functional::{
            features::{Features, Map},
            price::Budget,
        },
    };

    const BUDGET: Budget = Budget::Approximate { epsilon: 1.0, delta: 1e-5 };

    fn sums(budget: Budget) -> Sums {
        Sums::of(&Map::new(Features::Pixels14, budget.ball()), &synthetic::dataset(3, 0, 500)).unwrap()
    }

    #[test]
    fn a_is_symmetric_and_the_noise_is_as_large_as_the_price_says() {
        for budget in [BUDGET, Budget::Pure { epsilon: 1.0 }] {
            let mut sums = sums(budget);
            let price = budget.price(sums.dimension()).unwrap();
            let (exact, released) = (Released::exactly(&mut sums).unwrap(), Released::new(&mut sums, &price).unwrap());
            let d = released.dimension();
            let mut squares = [0.0; 2];
            for i in 0..d {
                for j in 0..d {
                    assert_eq!(released.a()[i * d + j].to_bits(), released.a()[j * d + i].to_bits());
                    if i <= j {
                        squares[0] += (released.a()[i * d + j] - exact.a()[i * d + j]).powi(2);
                    }
                }
                squares[1] += released.b()[i].iter().zip(exact.b()[i]).map(|(b, e)| (b - e).powi(2)).sum::<f64>();
            }
            let counts = [(d * (d + 1) / 2) as f64, (d * CLASSES) as f64];
            for ((noise, sum), count) in price.noise.iter().zip(squares).zip(counts) {
                let wanted = noise.build().unwrap().standard_deviation();
                let found = (sum / count).sqrt();
                assert!((found / wanted - 1.0).abs() < 8.0 / count.sqrt(), "{noise:?} {found} {wanted}");
            }
            // At least the largest eigenvalue of the noise, a random symmetric matrix.
            let least = 2.0 * (d as f64).sqrt() * price.noise[0].build().unwrap().standard_deviation();
            assert!(released.lambda() >= least * (1.0 - 1e-12));
        }
    }

    #[test]
    fn noise_is_new_each_time_and_a_replay_is_not() {
        let mut sums = sums(BUDGET);
        let price = BUDGET.price(sums.dimension()).unwrap();
        assert_ne!(Released::new(&mut sums, &price).unwrap(), Released::new(&mut sums, &price).unwrap());
        let mut again = |seed| Released::not_private(&mut sums, &price, seed).unwrap();
        assert_eq!(again(4), again(4));
        assert_ne!(again(4), again(5));
    }

    #[test]
    fn a_price_of_other_features_and_sums_of_nothing_are_refused() {
        let price = BUDGET.price(12).unwrap();
        assert!(matches!(Released::new(&mut sums(BUDGET), &price), Err(FunctionalError::Size(197))));
        assert!(matches!(Released::new(&mut Sums::new(12), &price), Err(FunctionalError::Empty)));
    }
}
