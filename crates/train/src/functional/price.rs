//! The noise for an ε, and its entry in a ledger.

use serde::{Deserialize, Serialize};

use super::{error::FunctionalError, features::Ball};
use crate::{
    accounting::{
        envelope::EnvelopeProfile,
        groups::{Clipping, Group, Groups, NoiseStrategy},
        ledger::{Release, Sensitivity},
        noise::NoiseSpec,
        normal::delta_gaussian,
        sampling::Sampling,
    },
    model::CLASSES,
};

/// How far one image moves A: half of a loss's curvature at 0, ⅛, times ‖φ‖².
const MOVES_A: f64 = 0.125;

/// λ in halves of the noise's own largest eigenvalue. Chosen on drawn digits (`docs/methods.md`).
const HOLD: f64 = 2.0;
const HOLD_LAPLACE: f64 = 2.5;

/// What the release may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// (ε, δ), by Gaussian noise.
    Approximate {
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
    },
    /// ε with δ = 0, by Laplace noise.
    Pure {
        /// ε.
        epsilon: f64,
    },
}

/// The noise mechanism of the release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mechanism {
    /// Gaussian, for (ε, δ).
    #[default]
    Gaussian,
    /// Gaussian, with less noise on features of more relevance ([`super::relevance`]).
    Relevance,
    /// Laplace, for δ = 0.
    Laplace,
    /// Gaussian, in each step of a training of which only the last model is released
    /// ([`super::hidden`]).
    Hidden,
}

impl Mechanism {
    /// All mechanisms, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Gaussian, Self::Relevance, Self::Laplace, Self::Hidden];

    /// Returns the name used in links.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gaussian => "gaussian",
            Self::Relevance => "relevance",
            Self::Laplace => "laplace",
            Self::Hidden => "hidden",
        }
    }

    /// Returns the mechanism with this [`key`](Self::key).
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.key() == key)
    }

    /// Returns the budget of one release of sums; δ applies to Gaussian noise only. `None` if no sums
    /// are released.
    #[must_use]
    pub const fn budget(self, epsilon: f64, delta: f64) -> Option<Budget> {
        match self {
            Self::Gaussian | Self::Relevance => Some(Budget::Approximate { epsilon, delta }),
            Self::Laplace => Some(Budget::Pure { epsilon }),
            Self::Hidden => None,
        }
    }
}

/// The noise of one joint release of A and B.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    dimension: usize,
    /// The noise on each entry of A's upper triangle, and on each entry of B.
    pub noise: [NoiseSpec; 2],
    /// The ledger's entry: one query that costs as much as both together, or more.
    pub release: Release,
}

impl Budget {
    /// Returns the ball that the features must be in.
    #[must_use]
    pub const fn ball(self) -> Ball {
        match self {
            Self::Approximate { .. } => Ball::L2,
            Self::Pure { .. } => Ball::L1,
        }
    }

    /// Returns ε.
    #[must_use]
    pub const fn epsilon(self) -> f64 {
        match self {
            Self::Approximate { epsilon, .. } | Self::Pure { epsilon } => epsilon,
        }
    }

    /// Returns the noise that costs the budget, for `dimension` features.
    ///
    /// # Errors
    /// ε or δ out of range.
    pub fn price(self, dimension: usize) -> Result<Price, FunctionalError> {
        check_epsilon(self.epsilon())?;
        // Everyone is in it: a release without sampling.
        let sampling = Sampling::Poisson { rate: 1.0 };
        match self {
            Self::Approximate { epsilon, delta } => {
                check_delta(delta)?;
                let entries = (dimension * (dimension + 1) / 2) as u64;
                let moves_b = (CLASSES as f64).sqrt() / 2.0;
                let parts = vec![
                    Group::new("A", entries, MOVES_A),
                    Group::new("B", (CLASSES * dimension) as u64, moves_b * (1.0 + f64::EPSILON)),
                ];
                let multiplier = least_multiplier(epsilon, delta);
                let groups =
                    Groups::with_multiplier(parts, multiplier, NoiseStrategy::Proportional, Clipping::Separate)?;
                let noise = |part: usize| NoiseSpec::Gaussian { sigma: groups.groups()[part].noise };
                Ok(Price { dimension, noise: [noise(0), noise(1)], release: groups.release(sampling) })
            }
            Self::Pure { epsilon } => {
                // Half of ε for each. In units of its noise, an image moves the whole by at most ε
                // in L1. Of all moves m of that length, one in a single coordinate reveals most:
                // δ(ε) = 1 − ∫ min(p(x − m), e^ε·p(x)) dx, whose integrand is log-concave in x and
                // m together, so its integral is in m (Prékopa), hence least at a corner of the
                // ball. So the ledger's query, one coordinate moved by 1, costs no less.
                let of = |moves: f64| NoiseSpec::Laplace { scale: moves / (0.5 * epsilon) };
                let one = EnvelopeProfile::from_vectors_f64([[1.0].as_slice()])?;
                let noise = NoiseSpec::Laplace { scale: epsilon.recip() };
                let release = Release::new(sampling, Sensitivity::Envelope { profile: one }, Some(noise));
                let moves_b = CLASSES as f64 / 2.0;
                Ok(Price { dimension, noise: [of(MOVES_A), of(moves_b)], release })
            }
        }
    }
}

impl Price {
    /// Returns d.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns λ, which keeps A + λI above 0: `HOLD` times √d times the standard deviation of the
    /// noise on an entry; √d times it is half of the noise's largest eigenvalue. Reads no data.
    #[must_use]
    pub fn lambda(&self) -> f64 {
        let (hold, deviation) = match self.noise[0] {
            NoiseSpec::Laplace { scale } => (HOLD_LAPLACE, scale * std::f64::consts::SQRT_2),
            ref noise => (HOLD, noise.scale()),
        };
        hold * (self.dimension as f64).sqrt() * deviation
    }
}

/// # Errors
/// ε out of range.
pub(super) fn check_epsilon(epsilon: f64) -> Result<(), FunctionalError> {
    if (1e-3..=100.0).contains(&epsilon) { Ok(()) } else { Err(FunctionalError::Epsilon(epsilon)) }
}

/// # Errors
/// δ out of range.
pub(super) fn check_delta(delta: f64) -> Result<(), FunctionalError> {
    if delta > 1e-15 && delta < 0.1 { Ok(()) } else { Err(FunctionalError::Delta(delta)) }
}

/// Returns the least Gaussian noise multiplier with δ(ε) ≤ δ, from above (Balle & Wang 2018).
fn least_multiplier(epsilon: f64, delta: f64) -> f64 {
    // Slightly less, so that the accountant, which rounds up, stays within the requested ε.
    let epsilon = epsilon * (1.0 - 1e-8);
    let keeps = |multiplier: f64| delta_gaussian(multiplier.recip(), epsilon) <= delta;
    let (mut low, mut high) = (1e-4, 1.0);
    while !keeps(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 4.0 * f64::EPSILON * high {
        let middle = 0.5 * (low + high);
        if keeps(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{books::account, ledger::Ledger, normal::epsilon_gaussian};

    const DELTA: f64 = 1e-5;

    fn ledger(price: &Price, times: u64) -> Ledger {
        Ledger::of([(price.release.clone(), times)]).unwrap()
    }

    /// The ledger's entry costs the requested ε, by the closed curve and by the accountant.
    #[test]
    fn epsilon_is_that_of_the_closed_curve() {
        for (epsilon, delta) in [(0.3, DELTA), (1.0, DELTA), (3.0, DELTA), (1.0, 1e-9), (20.0, 1e-3)] {
            let price = Budget::Approximate { epsilon, delta }.price(197).unwrap();
            let [NoiseSpec::Gaussian { sigma: a }, NoiseSpec::Gaussian { sigma: b }] = price.noise else { panic!() };
            let mu = ((MOVES_A / a).powi(2) + (2.5 / b.powi(2))).sqrt();
            let closed = epsilon_gaussian(mu, delta);
            assert!((closed / epsilon - 1.0).abs() < 1e-6, "{epsilon} {closed}");
            let account = account(&ledger(&price, 1), delta).unwrap();
            let tight = account.tight.unwrap().value;
            assert!((tight / epsilon - 1.0).abs() < 1e-6 && tight <= epsilon, "{epsilon} {tight}");
            // As the mechanism is defined: √2·σ times how far each moves.
            let multiplier = mu.recip();
            assert!((a / (2.0_f64.sqrt() * multiplier * 0.125) - 1.0).abs() < 1e-12);
            assert!((b / (2.0_f64.sqrt() * multiplier * 10.0_f64.sqrt() / 2.0) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn two_releases_cost_what_their_composition_does() {
        let price = Budget::Approximate { epsilon: 1.0, delta: DELTA }.price(197).unwrap();
        let Some(NoiseSpec::Gaussian { sigma }) = price.release.noise else { panic!() };
        let twice = account(&ledger(&price, 2), DELTA).unwrap().tight.unwrap().value;
        let closed = epsilon_gaussian(2.0_f64.sqrt() / sigma, DELTA);
        assert!((twice / closed - 1.0).abs() < 1e-6 && twice > 1.4, "{twice} {closed}");
    }

    /// With Laplace noise a small δ costs nearly the requested ε; the accountant rounds up.
    #[test]
    fn the_accountant_finds_what_laplace_noise_costs() {
        for epsilon in [0.3, 1.0, 3.0] {
            let price = Budget::Pure { epsilon }.price(197).unwrap();
            let tight = account(&ledger(&price, 1), 1e-10).unwrap().tight.unwrap().value;
            assert!((tight / epsilon - 1.0).abs() < 2e-3, "{epsilon} {tight}");
            let [NoiseSpec::Laplace { scale: a }, NoiseSpec::Laplace { scale: b }] = price.noise else { panic!() };
            assert!((0.125 / a + 5.0 / b - epsilon).abs() < 1e-12);
        }
    }

    /// One coordinate is provably the worst move of its length; tried on spread-out moves.
    #[test]
    fn a_move_in_one_coordinate_tells_most() {
        use crate::rng::NotPrivateReplay;
        let noise = NoiseSpec::Laplace { scale: 1.0 }.build().unwrap();
        let mut rng = NotPrivateReplay::new(3);
        let draws = 200_000;
        // E(1 − e^{ε − loss})₊ of a move: δ at ε.
        let mut delta = |moved: &[f64], epsilon: f64| {
            let loss = |rng: &mut NotPrivateReplay| -> f64 {
                moved
                    .iter()
                    .map(|m| {
                        let z = noise.sample(rng);
                        (z + m).abs() - z.abs()
                    })
                    .sum()
            };
            (0..draws).map(|_| (1.0 - (epsilon - loss(&mut rng)).exp()).max(0.0)).sum::<f64>() / f64::from(draws)
        };
        for epsilon in [0.2, 1.0, 1.6] {
            let one = delta(&[2.0], epsilon);
            for spread in [vec![1.0, 1.0], vec![1.8, 0.2], vec![0.25; 8]] {
                let other = delta(&spread, epsilon);
                assert!(other <= one + 4.0 / f64::from(draws).sqrt(), "{spread:?} at {epsilon}: {other} {one}");
            }
        }
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        for epsilon in [0.0, -1.0, 1e-4, 101.0, f64::NAN, f64::INFINITY] {
            for budget in [Budget::Approximate { epsilon, delta: DELTA }, Budget::Pure { epsilon }] {
                assert!(matches!(budget.price(10), Err(FunctionalError::Epsilon(_))), "{epsilon}");
            }
        }
        for delta in [0.0, -1e-5, 0.1, 1.0, f64::NAN] {
            let refused = Budget::Approximate { epsilon: 1.0, delta }.price(10);
            assert!(matches!(refused, Err(FunctionalError::Delta(_))), "{delta}");
        }
    }
}
