//! Releases that are not noisy sums: each as the pair of distributions that it comes down to.
//!
//! A randomised response, a noisy quantile, a histogram, another library's run: whatever is known of
//! it is a [`Pair`]. [`Release::of_pair`] puts it into a ledger, where tight accounting composes it
//! with noisy sums.
//!
//! ```
//! use hushgrad_accounting::{Accountant, dp_sgd, ledger::Release, pair::Pair, sampling::Sampling};
//!
//! // A training, and the median of the same examples by a mechanism that is (0.1, 0)-DP.
//! let median = Release::of_pair(Sampling::Poisson { rate: 1.0 }, Pair::guarantee(0.1, 0.0)?);
//! let both = Accountant::new().compose(dp_sgd::step(1.1, 256.0 / 60_000.0), 3515)?.compose(median, 1)?;
//! assert_eq!(format!("{:.3}", both.epsilon(1e-5)?.epsilon), "1.187");
//! # Ok::<(), hushgrad_accounting::PrivacyError>(())
//! ```

use serde::{Deserialize, Serialize};

use crate::{
    error::{PrivacyError, require},
    numeric::{log_sum_exp, max_or_infinite, six_digits},
    pld::LARGEST_SHIFT,
};
use hushgrad_message::{Message, ToMessage, message, word};

/// Most outcomes of a mass function, and most components of a mixture.
pub const MOST_OUTCOMES: usize = 4096;
/// How far probabilities may sum from 1, as of rounding; bounds grow by as much.
pub(super) const SUM: f64 = 1e-12;

/// Two distributions of an answer: P with one example, Q without it (or, where one example replaces
/// another, P with the one and Q with the other). The pair must *dominate* the mechanism: no test
/// between neighbouring data sets may beat the best test between P and Q, in either order (Zhu, Dong
/// & Wang 2022, Definition 7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Kind", into = "Kind")]
pub struct Pair(Kind);

/// The kinds of pair, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Kind {
    Masses { p: Vec<f64>, q: Vec<f64> },
    Mixture { sigma: f64, shifts: Vec<f64>, probabilities: Vec<f64> },
}

impl Pair {
    /// A mechanism with finitely many outcomes: outcome i has probability `p[i]` with the example,
    /// `q[i]` without it.
    ///
    /// # Errors
    /// Lists of different lengths, of none or more than [`MOST_OUTCOMES`] entries; an entry outside
    /// [0, 1]; a sum that is not 1 to twelve digits.
    pub fn masses(p: &[f64], q: &[f64]) -> Result<Self, PrivacyError> {
        Kind::Masses { p: p.to_vec(), q: q.to_vec() }.try_into()
    }

    /// Any mechanism that is (`epsilon`, `delta`)-DP: the worst there is (Kairouz, Oh & Viswanath
    /// 2015, Theorem 3.3).
    ///
    /// # Errors
    /// `epsilon` outside [0, 700], `delta` outside [0, 1].
    pub fn guarantee(epsilon: f64, delta: f64) -> Result<Self, PrivacyError> {
        require((0.0..=700.0).contains(&epsilon), "pair.epsilon", epsilon, word!("from 0 to 700"))?;
        require((0.0..=1.0).contains(&delta), "pair.delta", delta, word!("from 0 to 1"))?;
        let small = (1.0 - delta) / (1.0 + epsilon.exp());
        let large = (1.0 - delta) / (1.0 + (-epsilon).exp());
        Self::masses(&[delta, 0.0, large, small], &[0.0, delta, small, large])
    }

    /// Randomised response over `answers` answers: the truth, or with probability `noise` one of all
    /// answers by chance. Neighbours differ in one example's answer; see [`Release::of_pair`].
    ///
    /// # Errors
    /// `noise` outside [0, 1]; fewer than two answers.
    pub fn randomized_response(noise: f64, answers: u64) -> Result<Self, PrivacyError> {
        require((0.0..=1.0).contains(&noise), "pair.noise", noise, word!("from 0 to 1"))?;
        require(answers >= 2, "pair.answers", answers as f64, word!("at least 2"))?;
        let other = noise / answers as f64;
        // The remaining answers are as likely with either truth.
        let rest = noise * ((answers - 2) as f64 / answers as f64);
        let truth = 1.0 - noise + other;
        Self::masses(&[truth, other, rest], &[other, truth, rest])
    }

    /// A count that one example changes by at most `sensitivity`, with discrete Laplace noise: k has
    /// a probability proportional to e^(−`parameter`·|k|) (Ghosh, Roughgarden & Sundararajan 2012).
    ///
    /// # Errors
    /// `parameter` outside 1e-6 to 700; `sensitivity` outside 1 to 1000.
    pub fn discrete_laplace(parameter: f64, sensitivity: u64) -> Result<Self, PrivacyError> {
        require((1e-6..=700.0).contains(&parameter), "pair.parameter", parameter, word!("from 1e-6 to 700"))?;
        require((1..=1000).contains(&sensitivity), "pair.sensitivity", sensitivity as f64, word!("from 1 to 1000"))?;
        // Below 0 and above the sensitivity the ratio no longer changes: each end is one outcome.
        let end = 1.0 / (1.0 + (-parameter).exp());
        let inside = -(-parameter).exp_m1() / (1.0 + (-parameter).exp());
        let mut q: Vec<f64> = (1..sensitivity).map(|k| inside * (-parameter * k as f64).exp()).collect();
        q.insert(0, end);
        q.push(end * (-parameter * sensitivity as f64).exp());
        let p: Vec<f64> = q.iter().rev().copied().collect();
        Self::masses(&p, &q)
    }

    /// Gaussian noise of deviation `sigma` on a value that an example moves by `shifts[i]` with
    /// probability `probabilities[i]`, all in one direction (Choquette-Choo, Ganesh, Steinke &
    /// Thakurta 2024, "mixture of Gaussians").
    ///
    /// # Errors
    /// Lists as for [`Pair::masses`]; `sigma` outside 1e-100 to 1e100; a shift below 0 or above 39
    /// `sigma`.
    pub fn mixture(sigma: f64, shifts: &[f64], probabilities: &[f64]) -> Result<Self, PrivacyError> {
        Kind::Mixture { sigma, shifts: shifts.to_vec(), probabilities: probabilities.to_vec() }.try_into()
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.0
    }

    /// True if P and Q may change places.
    pub(super) fn is_symmetric(&self) -> bool {
        let Kind::Masses { p, q } = &self.0 else { return false };
        let sorted = |first: &[f64], second: &[f64]| {
            let mut all: Vec<(f64, f64)> = first.iter().copied().zip(second.iter().copied()).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            all
        };
        sorted(p, q) == sorted(q, p)
    }

    /// Upper bounds on the Rényi divergence in either order, at α = 2, 3, …, `last`, if the example
    /// takes part with probability `rate`.
    ///
    /// For a mixture: e^{(α−1)·ε(α)} is at most the mean over its components, as e^{(α−1)·D_α} is
    /// jointly convex.
    pub(super) fn renyi(&self, rate: f64, last: u32) -> Vec<f64> {
        let orders = (2..=last).map(f64::from);
        match &self.0 {
            Kind::Masses { p, q } => {
                let mixed = p.iter().zip(q).map(|(p, q)| ((1.0 - rate) * q + rate * p, *q));
                let logs: Vec<(f64, f64)> =
                    mixed.filter(|(p, q)| *p > 0.0 || *q > 0.0).map(|(p, q)| (p.ln(), q.ln())).collect();
                let at = |order: f64| {
                    let one = |swapped: bool| {
                        let term = |&(p, q): &(f64, f64)| {
                            let (p, q) = if swapped { (q, p) } else { (p, q) };
                            // No P-mass adds nothing; no Q-mass makes it infinite. The margin covers rounding.
                            let size = if q.is_finite() { order * (p.abs() + q.abs()) } else { 0.0 };
                            if p == f64::NEG_INFINITY { p } else { order * p + (1.0 - order) * q + 1e-15 * size }
                        };
                        let terms: Vec<f64> = logs.iter().map(term).collect();
                        log_sum_exp(&terms) + 1e-15 * terms.len() as f64
                    };
                    let larger = max_or_infinite(one(false), one(true));
                    (larger.max(0.0) + 2.0 * order * SUM) / (order - 1.0)
                };
                orders.map(at).collect()
            }
            Kind::Mixture { sigma, shifts, probabilities } => {
                let at = |order: f64| {
                    let one = |(shift, probability): (&f64, &f64)| {
                        let half = 0.5 * (shift / sigma).powi(2);
                        (rate * probability).ln() + order * (order - 1.0) * half * (1.0 + 1e-14) + 1e-13
                    };
                    let out = (1.0 - rate).ln();
                    let all: Vec<f64> = shifts.iter().zip(probabilities).map(one).chain([out]).collect();
                    (log_sum_exp(&all).max(0.0) + 2.0 * order * SUM) / (order - 1.0)
                };
                orders.map(at).collect()
            }
        }
    }
}

hushgrad_message::display!(Pair);

impl ToMessage for Pair {
    fn to_message(&self) -> Message {
        match &self.0 {
            Kind::Masses { p, .. } => {
                message!("an answer with {} outcomes, whose chances with and without an example are known", p.len())
            }
            Kind::Mixture { sigma, shifts, .. } => message!(
                "a value with Gaussian noise of σ {}, which an example moves by one of {} shifts, chosen by chance",
                six_digits(*sigma),
                shifts.len()
            ),
        }
    }
}

impl From<Pair> for Kind {
    fn from(pair: Pair) -> Self {
        pair.0
    }
}

impl TryFrom<Kind> for Pair {
    type Error = PrivacyError;

    fn try_from(kind: Kind) -> Result<Self, PrivacyError> {
        let distribution = |field, masses: &[f64]| {
            let range = word!("the length of its counterpart, from 1 to 4096");
            require((1..=MOST_OUTCOMES).contains(&masses.len()), field, masses.len() as f64, range)?;
            for mass in masses {
                require((0.0..=1.0).contains(mass), field, *mass, word!("a probability, from 0 to 1"))?;
            }
            let sum: f64 = masses.iter().sum();
            require((sum - 1.0).abs() <= SUM, field, sum, word!("probabilities that sum to 1, to twelve digits"))
        };
        let same = |field, length: usize, other: usize| {
            require(length == other, field, length as f64, word!("the length of its counterpart, from 1 to 4096"))
        };
        match &kind {
            Kind::Masses { p, q } => {
                same("pair.p", p.len(), q.len())?;
                distribution("pair.p", p)?;
                distribution("pair.q", q)?;
            }
            Kind::Mixture { sigma, shifts, probabilities } => {
                same("pair.shifts", shifts.len(), probabilities.len())?;
                distribution("pair.probabilities", probabilities)?;
                require((1e-100..=1e100).contains(sigma), "pair.sigma", *sigma, word!("finite and above 0"))?;
                for shift in shifts {
                    let range = word!("from 0 to 39 times sigma");
                    require(*shift >= 0.0 && shift / sigma <= LARGEST_SHIFT, "pair.shifts", *shift, range)?;
                }
            }
        }
        Ok(Self(kind))
    }
}
