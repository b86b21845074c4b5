//! The cost of choosing the best of several runs and releasing only that one.
//!
//! Papernot & Steinke 2022 (*Hyperparameter tuning with Rényi differential privacy*). Q is one run
//! with settings drawn at random from candidates; K runs are made, K drawn beforehand from a
//! distribution ([`Draw`]), and only the best, by anything released with it, is seen. Let Q have
//! Rényi divergences of at most ε(α), for both orders of neighbours, and δ(ε).
//!
//! - *Theorem 2*, truncated negative binomial with shape η > −1 and γ: at order λ > 1 at most
//!   ε(λ) + (1+η)·(1 − 1/λ̂)·ε(λ̂) + (1+η)·ln(1/γ)/λ̂ + ln(E K)/(λ−1), for every λ̂ ≥ 1. η = 0 is
//!   the logarithmic, η = 1 the geometric distribution.
//! - *Theorem 6*, Poisson: ε(λ) + E K·δ(ln(1 + 1/(λ−1))) + ln(E K)/(λ−1). K = 0 gives no model.
//!
//! Q's divergence is at most its candidates' largest: the draw of settings does not depend on data.
//!
//! If K is fixed, or runs continue until one is good enough, all count ([`super::composition`]).

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

use super::{
    books::Books,
    error::{PrivacyError, require},
    ledger::Ledger,
    normal::delta_gaussian,
    numeric::max_or_infinite,
    pld::{CUT_OFF, Profile},
    rdp::{FIRST_ORDER, LAST_ORDER, improved},
};

/// Distribution of the number of runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// η = 0.
    Logarithmic,
    /// η = 1: another run with probability 1 − γ.
    Geometric,
    /// Poisson; may be 0.
    Poisson,
}

impl Draw {
    /// All distributions.
    pub const ALL: [Self; 3] = [Self::Logarithmic, Self::Geometric, Self::Poisson];

    /// The distribution's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Logarithmic => "logarithmic",
            Self::Geometric => "geometric",
            Self::Poisson => "Poisson",
        }
    }

    /// ln(1/γ) of the truncated negative binomial with this mean, rounded up.
    fn log_gamma(self, mean: f64) -> f64 {
        if self != Self::Logarithmic {
            return mean.ln() * (1.0 + f64::EPSILON);
        }
        // The mean is (1/γ − 1)/ln(1/γ).
        let (mut low, mut high) = (0.0, 709.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if f64::exp_m1(middle) > mean * (1.0 + 4.0 * f64::EPSILON) * middle { high = middle } else { low = middle }
        }
        high
    }
}

/// Privacy bounds of one run.
pub trait Run {
    /// Bounds its Rényi divergence at an order of [`FIRST_ORDER`]..=[`LAST_ORDER`], both ways.
    fn divergence(&self, order: u32) -> f64;

    /// A bound on δ at `epsilon` > 0.
    fn delta(&self, epsilon: f64) -> f64;
}

/// Rényi divergences at [`FIRST_ORDER`]..=[`LAST_ORDER`] of the best of K runs, E K = `mean` ≥ 1.
///
/// # Errors
/// A mean below 1 or not finite.
pub fn divergences(run: &impl Run, draw: Draw, mean: f64) -> Result<Vec<f64>, PrivacyError> {
    require(mean.is_finite() && mean >= 1.0, word!("mean number of runs"), mean, word!("at least 1"))?;
    let one: Vec<f64> = (FIRST_ORDER..=LAST_ORDER).map(|order| run.divergence(order)).collect();
    let shape = if draw == Draw::Geometric { 1.0 } else { 0.0 };
    // λ̂ = 1 leaves ln(1/γ) alone.
    let log_gamma = draw.log_gamma(mean);
    let other = one.iter().zip(FIRST_ORDER..).map(|(divergence, order)| {
        let order = f64::from(order);
        (1.0 - 1.0 / order) * divergence + log_gamma / order
    });
    let second = (1.0 + shape) * other.fold(log_gamma, f64::min);
    let chosen = one.iter().zip(FIRST_ORDER..).map(|(divergence, order)| {
        let less = f64::from(order) - 1.0;
        let second = match draw {
            // Argument rounded down, since δ falls with ε.
            Draw::Poisson => mean * run.delta((1.0 / less).ln_1p() * (1.0 - 4.0 * f64::EPSILON)),
            Draw::Logarithmic | Draw::Geometric => second,
        };
        max_or_infinite((divergence + second + mean.ln() / less) * (1.0 + 16.0 * f64::EPSILON), 0.0)
    });
    Ok(chosen.collect())
}

/// The cost of releasing the best run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Upper bound at the requested δ.
    pub epsilon: f64,
    /// The cheapest distribution.
    pub draw: Draw,
    /// Its mean.
    pub mean: f64,
}

/// The cost, at `delta`, of the best of `mean` runs on average, with settings drawn from
/// `candidates`, given by their ledgers. Uses the cheapest [`Draw`], which depends on no data.
///
/// # Errors
/// No candidate, or a mean below 1; as [`Books::renyi`]; different neighbours or units; releases on
/// a grid, whose rounding is no Rényi divergence; [`PrivacyError::Infinite`] without a finite ε.
pub fn best_of(candidates: &[Ledger], mean: f64, delta: f64) -> Result<Choice, PrivacyError> {
    require(!candidates.is_empty(), "candidates", 0.0, word!("at least 1"))?;
    let books = candidates.iter().map(|ledger| Books::of(ledger.clone())).collect::<Result<Vec<_>, _>>()?;
    let run = Candidates::of(&books, candidates)?;
    let mut best: Option<Choice> = None;
    for draw in Draw::ALL {
        let orders = divergences(&run, draw, mean)?;
        let epsilon = orders
            .iter()
            .zip(FIRST_ORDER..)
            .map(|(divergence, order)| improved(*divergence, f64::from(order), delta))
            .fold(f64::INFINITY, f64::min);
        if best.is_none_or(|best| epsilon < best.epsilon) {
            best = Some(Choice { epsilon, draw, mean });
        }
    }
    best.filter(|best| best.epsilon.is_finite()).ok_or(PrivacyError::Infinite)
}

/// The largest bounds of several ledgers, at each order and ε.
struct Candidates {
    orders: Vec<f64>,
    /// (ε, δ(ε)) of each, by ε.
    curves: Vec<Vec<(f64, f64)>>,
}

impl Candidates {
    fn of(books: &[Books], ledgers: &[Ledger]) -> Result<Self, PrivacyError> {
        // Composing them fails if they protect different units or neighbours.
        let mut all = Ledger::new();
        for ledger in ledgers {
            all = all.compose(ledger)?;
        }
        Books::of(all)?;
        let mut orders = vec![0.0; (FIRST_ORDER..=LAST_ORDER).count()];
        let mut curves = Vec::new();
        for books in books {
            for (worst, order) in orders.iter_mut().zip(FIRST_ORDER..) {
                let own = books.accountant()?.rdp(f64::from(order)).ok_or(PrivacyError::Inexact)?;
                *worst = max_or_infinite(*worst, own);
            }
            curves.push(curve(books)?);
        }
        Ok(Self { orders, curves })
    }
}

/// (ε, δ(ε)) by ε; empty if tight accounting has no price.
fn curve(books: &Books) -> Result<Vec<(f64, f64)>, PrivacyError> {
    match books.losses() {
        Ok(losses) => Ok(match losses.profile(CUT_OFF) {
            Profile::Curve(points) => points,
            Profile::Gaussian(mu) => (1..LAST_ORDER)
                .rev()
                .map(|less| (1.0 / f64::from(less)).ln_1p() * (1.0 - 8.0 * f64::EPSILON))
                .map(|epsilon| (epsilon, delta_gaussian(mu, epsilon)))
                .collect(),
        }),
        Err(PrivacyError::Unpriced(_) | PrivacyError::TooManyKinds { .. } | PrivacyError::TooMuchWork { .. }) => {
            Ok(Vec::new())
        }
        Err(other) => Err(other),
    }
}

impl Run for Candidates {
    fn divergence(&self, order: u32) -> f64 {
        self.orders[(order - FIRST_ORDER) as usize]
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let of = |curve: &Vec<(f64, f64)>| {
            let known = curve.partition_point(|(at, _)| *at <= epsilon);
            known.checked_sub(1).map_or(1.0, |last| curve[last].1)
        };
        self.curves.iter().map(of).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        ledger::{Release, Sensitivity},
        noise::NoiseSpec,
        sampling::Sampling,
    };

    /// Distributions of one run's outcome for two neighbours, from worst to best.
    #[derive(Clone, Debug)]
    struct Discrete {
        p: Vec<f64>,
        q: Vec<f64>,
    }

    fn divergence(p: &[f64], q: &[f64], order: f64) -> f64 {
        let terms: Vec<f64> =
            p.iter().zip(q).filter(|(p, _)| **p > 0.0).map(|(p, q)| order * p.ln() - (order - 1.0) * q.ln()).collect();
        let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (top + terms.iter().map(|term| (term - top).exp()).sum::<f64>().ln()) / (order - 1.0)
    }

    impl Run for Discrete {
        fn divergence(&self, order: u32) -> f64 {
            let order = f64::from(order);
            divergence(&self.p, &self.q, order).max(divergence(&self.q, &self.p, order))
        }

        fn delta(&self, epsilon: f64) -> f64 {
            let of = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum::<f64>();
            of(&self.p, &self.q).max(of(&self.q, &self.p))
        }
    }

    /// E xᴷ.
    fn generating(draw: Draw, mean: f64, x: f64) -> f64 {
        let gamma = (-draw.log_gamma(mean)).exp();
        match draw {
            Draw::Logarithmic => (1.0 - (1.0 - gamma) * x).ln() / gamma.ln(),
            Draw::Geometric => gamma * x / (1.0 - (1.0 - gamma) * x),
            Draw::Poisson => (mean * (x - 1.0)).exp(),
        }
    }

    /// The distribution of the best of K: P(best ≤ y) = E F(y)ᴷ. K = 0 is an outcome, too.
    fn best(draw: Draw, mean: f64, one: &[f64]) -> Vec<f64> {
        let mut below = generating(draw, mean, 0.0);
        let mut all = vec![below];
        let mut sum = 0.0;
        for mass in one {
            sum += mass;
            let up = generating(draw, mean, sum.min(1.0));
            all.push(up - below);
            below = up;
        }
        all
    }

    fn distribution() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.02..1.0_f64, 4).prop_map(|weights| {
            let sum: f64 = weights.iter().sum();
            weights.iter().map(|weight| weight / sum).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_best_of_discrete_runs_keeps_the_bound(p in distribution(), q in distribution(), mean in 1.0..30.0_f64) {
            let run = Discrete { p, q };
            for draw in Draw::ALL {
                let bounds = divergences(&run, draw, mean).unwrap();
                let [with, without] = [&run.p, &run.q].map(|one| best(draw, mean, one));
                prop_assert!((with.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                for order in [2, 3, 5, 17, 64] {
                    let bound = bounds[order as usize - 2];
                    let true_one = divergence(&with, &without, f64::from(order))
                        .max(divergence(&without, &with, f64::from(order)));
                    prop_assert!(true_one <= bound * (1.0 + 1e-9) + 1e-9, "{draw:?} {order}: {true_one} {bound}");
                }
            }
        }

        #[test]
        fn more_runs_never_cost_less(p in distribution(), q in distribution(), mean in 1.0..30.0_f64, more in 1.0..2.0_f64) {
            let run = Discrete { p, q };
            for draw in Draw::ALL {
                let [few, many] = [mean, more * mean].map(|mean| divergences(&run, draw, mean).unwrap());
                for (few, many) in few.iter().zip(&many) {
                    prop_assert!(*few <= many * (1.0 + 1e-12), "{draw:?} {few} {many}");
                }
            }
        }
    }

    #[test]
    fn each_draw_has_the_requested_mean() {
        for mean in [1.000_1, 1.5, 4.0, 100.0, 1e4] {
            for draw in Draw::ALL {
                let step = 1e-6;
                let slope = (generating(draw, mean, 1.0) - generating(draw, mean, 1.0 - step)) / step;
                assert!((slope - mean).abs() < 1e-6 * mean * mean.max(10.0) * 10.0, "{draw:?} {mean}: {slope}");
            }
        }
    }

    fn ledger(sigma: f64) -> Ledger {
        let sensitivity = Sensitivity::L2 { norm: 1.0 };
        let release = Release::new(Sampling::Poisson { rate: 0.01 }, sensitivity, Some(NoiseSpec::Gaussian { sigma }));
        Ledger::of([(release, 500)]).unwrap()
    }

    /// Exactly one run costs as much as that run.
    #[test]
    fn one_certain_run_costs_as_much_as_that_run() {
        let run = Candidates::of(&[Books::of(ledger(1.1)).unwrap()], &[ledger(1.1)]).unwrap();
        for draw in [Draw::Logarithmic, Draw::Geometric] {
            for (found, order) in divergences(&run, draw, 1.0).unwrap().iter().zip(FIRST_ORDER..) {
                let one = run.divergence(order);
                assert!(*found >= one && *found <= one + 1e-9, "{draw:?} {order}: {found} {one}");
            }
        }
        let plain = Books::of(ledger(1.1)).unwrap().renyi(1e-5).unwrap().improved.epsilon;
        let one = best_of(&[ledger(1.1)], 1.0, 1e-5).unwrap();
        assert!(one.epsilon >= plain && one.epsilon < plain * 1.02, "{one:?} {plain}");
    }

    #[test]
    fn each_run_counts_as_the_costliest_candidate() {
        let of = |sigmas: &[f64], mean| {
            best_of(&sigmas.iter().map(|sigma| ledger(*sigma)).collect::<Vec<_>>(), mean, 1e-5).unwrap().epsilon
        };
        let both = of(&[1.1, 2.0], 4.0);
        assert!(both >= of(&[1.1], 4.0) && both > of(&[2.0], 4.0));
        assert!(of(&[1.1], 4.0) > of(&[1.1], 1.0) && of(&[1.1], 100.0) > of(&[1.1], 4.0));
        // A hundred runs that are all seen cost far more.
        let runs: Vec<Ledger> = (0..100).map(|_| ledger(1.1)).collect();
        let all = crate::composition::total(&runs.iter().collect::<Vec<_>>(), 1e-5).unwrap().epsilon;
        assert!(of(&[1.1], 100.0) < all, "{all}");
        assert!(best_of(&[], 4.0, 1e-5).is_err() && best_of(&[ledger(1.1)], 0.5, 1e-5).is_err());
    }
}
