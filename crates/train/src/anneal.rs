//! Noise scales for a run's phases at equal ε: the optimum of a quadratic model, and annealing.
//!
//! Both use public data alone: learning rates, an assumed curvature, digits that the program draws.
//! Accepting proposals by a private loss would be one more query, which would have to be paid for.

use super::{config::RunConfig, phased::configurations, projection::Point};
use crate::{accounting::noise::NoiseSpec, rng::RandomSource};

/// Standard deviation of a proposal, in the logarithm of a phase's factor.
const SPREAD: f64 = 0.15;
/// Factor on the temperature after each proposal.
const COOLING: f64 = 0.97;
/// Bound on the logarithm of a factor; phases take factors up to 1000.
const FARTHEST: f64 = 6.0;

/// Simulated annealing (Kirkpatrick, Gelatt & Vecchi 1983) over K factors on a noise scale that the
/// caller sets. Cheng, Yao & Liu 2020 anneal the noise of differentially private training; the open
/// part of their paper has no algorithm, so moves and cooling are this project's own.
#[derive(Clone, Debug)]
pub struct Annealing {
    /// Logarithms of the factors, which sum to 0.
    state: Vec<f64>,
    energy: f64,
    best: Vec<f64>,
    best_energy: f64,
    temperature: f64,
}

impl Annealing {
    /// Starts from `phases` equal factors; a rise by `temperature` is accepted once in e times.
    #[must_use]
    pub fn new(phases: usize, energy: f64, temperature: f64) -> Self {
        let state = vec![0.0; phases];
        Self { best: state.clone(), state, energy, best_energy: energy, temperature }
    }

    /// Proposes the current factors with one of them changed, scaled to a geometric mean of 1.
    pub fn propose(&self, rng: &mut dyn RandomSource) -> Vec<f64> {
        let mut proposal = self.state.clone();
        let place = (u64::from(rng.next_u32()) * proposal.len() as u64) >> 32;
        let step = NoiseSpec::Gaussian { sigma: SPREAD }.build().map_or(0.0, |noise| noise.draw(words(rng)));
        proposal[place as usize] += step;
        let mean = proposal.iter().sum::<f64>() / proposal.len() as f64;
        proposal.iter().map(|ln| (ln - mean).clamp(-FARTHEST, FARTHEST).exp()).collect()
    }

    /// Accepts or rejects a proposal of this energy, and cools. A lower energy is always accepted,
    /// a higher one with probability e^{−ΔE/τ}, NaN and ∞ never. Returns whether it was accepted.
    pub fn judge(&mut self, factors: &[f64], energy: f64, rng: &mut dyn RandomSource) -> bool {
        let rise = energy - self.energy;
        let uniform = (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
        let taken = rise <= 0.0 || uniform < (-rise / self.temperature).exp();
        self.temperature *= COOLING;
        if taken {
            self.state = factors.iter().map(|factor| factor.ln()).collect();
            self.energy = energy;
            if energy < self.best_energy {
                (self.best, self.best_energy) = (self.state.clone(), energy);
            }
        }
        taken
    }

    /// Returns the temperature and the energy.
    #[must_use]
    pub const fn now(&self) -> (f64, f64) {
        (self.temperature, self.energy)
    }

    /// Returns the factors of least energy so far, and that energy.
    #[must_use]
    pub fn best(&self) -> (Vec<f64>, f64) {
        (self.best.iter().map(|ln| ln.exp()).collect(), self.best_energy)
    }
}

fn words(rng: &mut dyn RandomSource) -> [u32; 4] {
    std::array::from_fn(|_| rng.next_u32())
}

/// Returns the weight of each step's noise in the final error of gradient descent with rates η_t on
/// a quadratic of curvature λ: w_t = η_t²·∏_{s>t}(1 − η_s λ)².
#[must_use]
pub fn weights(rates: &[f64], curvature: f64) -> Vec<f64> {
    let mut kept = 1.0;
    let mut weights: Vec<f64> = rates
        .iter()
        .rev()
        .map(|rate| {
            let weight = rate * rate * kept;
            kept *= (1.0 - rate * curvature).powi(2);
            weight
        })
        .collect();
    weights.reverse();
    weights
}

/// Returns the σ_k that minimize Σ T_k w_k σ_k² where Σ T_k (e^{1/σ_k²} − 1) = `budget`; `phases`
/// are pairs (w_k, T_k) of a phase's mean weight and its steps. The budget is the cost of the steps
/// in the small-rate limit of Gaussian noise under Poisson sampling, without the q². For large σ,
/// σ_k is proportional to w_k^{−1/4}. A phase of weight 0 gets the largest σ searched.
///
/// Stationary points satisfy w_k·u_k^{−2}·e^{−u_k} = c for all k, where u = 1/σ². The left side
/// falls in u, so each c has one u_k, and the budget one c.
#[must_use]
pub fn optimum(phases: &[(f64, u64)], budget: f64) -> Vec<f64> {
    // Solves ln w − 2 ln u − u = ln c for u, by bisection in ln u.
    let precision = |weight: f64, log_c: f64| {
        let (mut low, mut high) = (-700.0_f64, 7.0_f64);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if weight.ln() - 2.0 * middle - middle.exp() > log_c { low = middle } else { high = middle }
        }
        (0.5 * (low + high)).exp()
    };
    let cost = |log_c: f64| {
        phases.iter().map(|(weight, steps)| *steps as f64 * precision(*weight, log_c).exp_m1()).sum::<f64>()
    };
    let (mut low, mut high) = (-1400.0_f64, 1400.0_f64);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if cost(middle) > budget { low = middle } else { high = middle }
    }
    phases.iter().map(|(weight, _)| precision(*weight, 0.5 * (low + high)).sqrt().recip()).collect()
}

/// The noise of a run's phases, to be compared with the best by [`optimum`].
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Steps and noise multiplier σ of each phase.
    pub phases: Vec<(u64, f64)>,
    rates: Vec<f64>,
}

/// A curvature at which later steps undo earlier ones in some hundred steps at rate 1.
const CURVATURE: f64 = 0.01;
/// Longest run that is weighed step by step.
const MOST_STEPS: u64 = 1_000_000;

impl Planned {
    /// Returns the noise of a run. `None` if it has no end, if its phases are refused, or if they
    /// differ in more than Gaussian noise and rate: each then has its own small-rate limit.
    #[must_use]
    pub fn of(config: &RunConfig) -> Option<Self> {
        let steps = config.steps.filter(|steps| *steps <= MOST_STEPS)?;
        let all = configurations(config).ok()?;
        let is_alike = |one: &RunConfig| {
            matches!(one.noise, Some(NoiseSpec::Gaussian { .. }))
                && (one.lot, &one.encoder) == (config.lot, &config.encoder)
        };
        if !all.iter().all(|(_, one)| is_alike(one)) {
            return None;
        }
        let rates = all.iter().flat_map(|(steps, one)| std::iter::repeat_n(one.learning_rate, *steps as usize));
        let rates = rates.zip(0..).map(|(rate, step)| rate * config.schedule.factor(step, Some(steps))).collect();
        let sigma = |one: &RunConfig| one.noise.as_ref().map_or(0.0, NoiseSpec::scale);
        Some(Self { phases: all.iter().map(|(steps, one)| (*steps, sigma(one))).collect(), rates })
    }

    /// Returns noise multipliers over steps, two points per phase: the best where later steps undo
    /// earlier ones, the best where each step stays, and the run's own.
    #[must_use]
    pub fn stairs(&self) -> [Vec<Point>; 3] {
        let own = self.phases.iter().map(|(_, sigma)| *sigma).collect();
        [self.best(CURVATURE), self.best(0.0), own].map(|sigmas| {
            let mut first = 0;
            let mut points = vec![];
            for ((steps, _), sigma) in self.phases.iter().zip(sigmas) {
                points.extend([first, first + steps].map(|step| (step as f64, sigma)));
                first += steps;
            }
            points
        })
    }

    /// Returns the best multipliers of equal cost for descent on a quadratic of `curvature`.
    #[must_use]
    pub fn best(&self, curvature: f64) -> Vec<f64> {
        let weights = weights(&self.rates, curvature);
        let mut rest = weights.as_slice();
        let weighed: Vec<(f64, u64)> = self
            .phases
            .iter()
            .map(|(steps, _)| {
                let (own, after) = rest.split_at((*steps as usize).min(rest.len()));
                rest = after;
                (own.iter().sum::<f64>() / *steps as f64, *steps)
            })
            .collect();
        let budget = self.phases.iter().map(|(steps, sigma)| *steps as f64 * (1.0 / (sigma * sigma)).exp_m1()).sum();
        optimum(&weighed, budget)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        phases::{PhaseList, Phases},
        rng::NotPrivateReplay,
    };

    /// On a known minimum: the sum of squared distances from given logarithms, up to their mean.
    #[test]
    fn annealing_comes_near_the_least_energy() {
        let aim = [0.4, -0.2, 0.3, -0.5, 0.1, -0.1];
        let energy = |factors: &[f64]| factors.iter().zip(aim).map(|(f, aim)| (f.ln() - aim).powi(2)).sum::<f64>();
        let mut ends = vec![];
        for seed in 0..20 {
            let mut rng = NotPrivateReplay::new(seed);
            let start = energy(&[1.0; 6]);
            let mut annealing = Annealing::new(6, start, 0.1 * start);
            let mut taken = 0;
            for _ in 0..400 {
                let factors = annealing.propose(&mut rng);
                assert!((factors.iter().map(|f| f.ln()).sum::<f64>()).abs() < 1e-9);
                let proposed = energy(&factors);
                taken += u32::from(annealing.judge(&factors, proposed, &mut rng));
                let (factors, best) = annealing.best();
                assert!(best <= start && (energy(&factors) - best).abs() < 1e-12);
            }
            assert!((40..360).contains(&taken), "{taken}");
            ends.push(annealing.best().1 / start);
        }
        assert!(ends.iter().all(|end| *end < 0.1), "{ends:?}");
        // A proposal without a finite energy is rejected.
        let mut annealing = Annealing::new(6, 1.0, 1.0);
        assert!(!annealing.judge(&[2.0; 6], f64::NAN, &mut NotPrivateReplay::new(1)));
        assert!(!annealing.judge(&[2.0; 6], f64::INFINITY, &mut NotPrivateReplay::new(1)));
    }

    #[test]
    fn a_falling_rate_wants_noise_that_grows() {
        let constant: [f64; 6] = weights(&[0.5; 6], 0.3).try_into().unwrap();
        assert!(constant.windows(2).all(|pair| pair[0] < pair[1]));
        let falling: [f64; 6] = weights(&[1.0, 0.8, 0.6, 0.4, 0.2, 0.1], 0.3).try_into().unwrap();
        assert!(falling.windows(2).skip(1).all(|pair| pair[0] > pair[1]), "{falling:?}");
        let [at_constant, at_falling] =
            [constant, falling].map(|weights| optimum(&weights.map(|weight| (weight, 1)), 0.5));
        assert!(at_constant.windows(2).all(|pair| pair[0] > pair[1]), "{at_constant:?}");
        assert!(at_falling.windows(2).skip(1).all(|pair| pair[0] < pair[1]), "{at_falling:?}");
    }

    #[test]
    fn planned_noise_uses_own_rates_at_equal_cost() {
        let list = |text: &str| Phases::List(PhaseList(text.to_owned()));
        let config = |text: &str| RunConfig { phases: list(text), steps: Some(60), ..RunConfig::default() };
        let planned = Planned::of(&config("20; 30 noise 0.5; 10 rate 0.1")).unwrap();
        let sigma = planned.phases[0].1;
        assert_eq!(planned.phases, [(20, sigma), (30, 0.5 * sigma), (10, sigma)]);
        // Without curvature a step weighs its squared rate: the last ten may have more noise.
        let best = planned.best(0.0);
        let stationary = |weight: f64, sigma: f64| weight * sigma.powi(4) * (-1.0 / (sigma * sigma)).exp();
        assert!((best[0] / best[1] - 1.0).abs() < 1e-9 && best[2] > 1.5 * best[0], "{best:?}");
        assert!((stationary(0.01, best[2]) / stationary(1.0, best[0]) - 1.0).abs() < 1e-6, "{best:?}");
        let price = |(steps, sigma): (u64, f64)| steps as f64 * (1.0 / (sigma * sigma)).exp_m1();
        let [own, other]: [f64; 2] = [
            planned.phases.iter().map(|phase| price(*phase)).sum(),
            planned.phases.iter().zip(&best).map(|((steps, _), sigma)| price((*steps, *sigma))).sum(),
        ];
        assert!((own / other - 1.0).abs() < 1e-6);
        // The last stair is the run's own noise; phases that are alike have nothing better.
        let [_, _, own] = planned.stairs();
        assert_eq!(own.iter().map(|point| point.0).collect::<Vec<_>>(), [0.0, 20.0, 20.0, 50.0, 50.0, 60.0]);
        assert_eq!([own[1].1, own[2].1], [planned.phases[0].1, planned.phases[1].1]);
        let even = Planned::of(&config("30; 30")).unwrap();
        assert!(even.best(0.0).iter().all(|best| (best / sigma - 1.0).abs() < 1e-6));
        // Steps whose effect fades may have very large noise, but finite.
        let forgotten = even.best(1.9);
        assert!(forgotten[0] > 10.0 * forgotten[1] && forgotten.iter().all(|best| best.is_finite()), "{forgotten:?}");
        for other in ["30; 30 laplace", "30; 30 lot 3", "30; 30 clip 2", "30; 20"] {
            assert_eq!(Planned::of(&config(other)), None, "{other}");
        }
        assert_eq!(Planned::of(&RunConfig { steps: None, ..RunConfig::default() }), None);
    }

    proptest! {
        /// It costs the budget, and no change of two scales at equal cost lowers Σ w σ².
        #[test]
        fn optimum_keeps_the_budget_and_minimizes_the_loss(weights in prop::collection::vec(1e-3f64..10.0, 2..7), budget in 0.01f64..20.0, a in 0usize..6, b in 0usize..6, by in -0.2f64..0.2) {
            let phases: Vec<_> = weights.iter().zip(1..).map(|(weight, steps)| (*weight, steps)).collect();
            let scales = optimum(&phases, budget);
            let price = |sigma: f64| (1.0 / (sigma * sigma)).exp_m1();
            let spent: f64 = scales.iter().zip(&phases).map(|(s, (_, steps))| *steps as f64 * price(*s)).sum();
            prop_assert!((spent / budget - 1.0).abs() < 1e-6, "{} {}", spent, budget);
            let (a, b) = (a % weights.len(), b % weights.len());
            prop_assume!(a != b);
            let mut other = scales.clone();
            other[a] *= 1.0 + by;
            let [of_a, of_b] = [a, b].map(|place| phases[place].1 as f64);
            let left = (of_a * (price(scales[a]) - price(other[a])) + of_b * price(scales[b])) / of_b;
            prop_assume!(left > 1e-12);
            other[b] = left.ln_1p().sqrt().recip();
            let loss = |scales: &[f64]| scales.iter().zip(&phases).map(|(s, (w, steps))| w * *steps as f64 * s * s).sum::<f64>();
            prop_assert!(loss(&other) >= loss(&scales) * (1.0 - 1e-9));
        }
    }
}
