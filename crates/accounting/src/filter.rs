//! A privacy filter: a budget that holds whatever is chosen on the way.
//!
//! If releases decide when a run stops, or what noise the next step has, the (ε, δ) of the releases
//! that happened is no guarantee. A filter fixes ε, δ and a Rényi order α before the first release,
//! and refuses each release that would exceed the budget.
//!
//! **Theorem** (Feldman & Zrnic 2021, Theorem 4.3; Lécuyer 2021, Theorem 1). Let releases be chosen
//! by earlier results, release t with Rényi divergence at most ε_t(α) at a fixed order α, whatever
//! came before. If Σ ε_t(α) ≤ B in every course of events, the whole has divergence at most B at
//! that order. So its ε follows from B by the conversion at α, at any stopping time.
//!
//! The order is fixed beforehand: the best of several orders afterwards would depend on releases.

use serde::{Deserialize, Serialize};

use super::{
    books::Books,
    decimal::upper,
    error::{PrivacyError, require},
    ledger::{Release, ReleaseId},
    rdp::{LAST_ORDER, RdpAccountant, improved},
    sampling::Sampling,
};
use hushgrad_message::{Message, message, word};

/// A budget ε at δ, kept by refusing releases. See the [module](self).
///
/// ```
/// use hushgrad_accounting::{books::Books, dp_sgd, filter::PrivacyFilter};
///
/// let filter = PrivacyFilter::new(2.0, 1e-5)?;
/// let mut books = Books::default();
/// let mut sigma = 20.0;
/// // The noise of each step may depend on what the steps before released.
/// loop {
///     let step = books.register_priced(dp_sgd::step(sigma, 1.0))?;
///     if filter.admits(&books, step, 1)? == 0 {
///         break;
///     }
///     books.record(step, 1);
///     sigma = if sigma > 10.0 { sigma * 0.98 } else { 20.0 };
/// }
/// assert!(filter.spent(&books)? > 0.9 && books.renyi(1e-5)?.improved.epsilon <= 2.0);
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrivacyFilter {
    epsilon: f64,
    delta: f64,
    order: f64,
}

impl PrivacyFilter {
    /// A filter of ε at δ, at the order that suits releases of Gaussian noise best.
    ///
    /// # Errors
    /// `epsilon` not positive and finite, or too small for any order; `delta` outside (0, 1).
    pub fn new(epsilon: f64, delta: f64) -> Result<Self, PrivacyError> {
        // Gaussian releases cost ρα: the order that leaves the most ρ.
        let rho = |order: u32| budget_at(epsilon, f64::from(order), delta) / f64::from(order);
        let best = (2..=LAST_ORDER).max_by(|a, b| rho(*a).total_cmp(&rho(*b))).unwrap_or(LAST_ORDER);
        Self::at_order(epsilon, delta, f64::from(best))
    }

    /// A filter at the order that admits the most releases like those of `plan`.
    ///
    /// # Errors
    /// As [`PrivacyFilter::new`]; a plan that a filter does not cover ([`PrivacyFilter::admits`]).
    pub fn for_plan(epsilon: f64, delta: f64, plan: &Books) -> Result<Self, PrivacyError> {
        let mut best = (0.0, Self::new(epsilon, delta)?);
        for order in 2..=LAST_ORDER {
            let filter = Self { order: f64::from(order), ..best.1 };
            let share = budget_at(epsilon, filter.order, delta) / filter.divergence(plan)?;
            if share > best.0 {
                best = (share, filter);
            }
        }
        Ok(best.1)
    }

    /// A filter at a given order.
    ///
    /// # Errors
    /// As [`PrivacyFilter::new`]; an order that is no integer from 2 to 256.
    pub fn at_order(epsilon: f64, delta: f64, order: f64) -> Result<Self, PrivacyError> {
        require(epsilon > 0.0 && epsilon.is_finite(), "epsilon", epsilon, word!("finite and above 0"))?;
        require(delta > 0.0 && delta < 1.0, "delta", delta, word!("strictly between 0 and 1"))?;
        let whole = order == order.floor() && (2.0..=f64::from(LAST_ORDER)).contains(&order);
        require(whole, "order", order, word!("an integer from 2 to 256"))?;
        let possible = budget_at(epsilon, order, delta) > 0.0;
        require(possible, "epsilon", epsilon, word!("larger: at this δ and order nothing could be released"))?;
        Ok(Self { epsilon, delta, order })
    }

    /// ε, which holds at [`delta`](Self::delta) at any stopping time.
    #[must_use]
    pub const fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// δ.
    #[must_use]
    pub const fn delta(&self) -> f64 {
        self.delta
    }

    /// α.
    #[must_use]
    pub const fn order(&self) -> f64 {
        self.order
    }

    /// The share of the budget that the releases of `books` have spent; above 1 if they exceed it.
    ///
    /// # Errors
    /// Releases that a filter does not cover ([`PrivacyFilter::admits`]).
    pub fn spent(&self, books: &Books) -> Result<f64, PrivacyError> {
        Ok(self.divergence(books)? / budget_at(self.epsilon, self.order, self.delta))
    }

    /// True if the releases of `books` are within the budget.
    ///
    /// # Errors
    /// As [`PrivacyFilter::admits`].
    pub fn covers(&self, books: &Books) -> Result<bool, PrivacyError> {
        Ok(self.keeps(self.divergence(books)?))
    }

    /// How many of `count` further releases of a kind fit into the budget.
    ///
    /// # Errors
    /// [`PrivacyError::Unpriced`] for kinds of release whose price assumes that all of an epoch is
    /// chosen beforehand (random allocation, correlated noise) or that have no divergence at an
    /// order (on a grid); as [`Books::renyi`].
    pub fn admits(&self, books: &Books, release: ReleaseId, count: u64) -> Result<u64, PrivacyError> {
        books.ledger().releases().iter().try_for_each(covered)?;
        let (accountant, curve) = books.accountant_for(release)?;
        let fits = |count: u64| -> Result<bool, PrivacyError> {
            let mut after = accountant.clone();
            after.compose(curve, count);
            Ok(self.keeps(self.divergence_of(&after)?))
        };
        if fits(count)? {
            return Ok(count);
        }
        let (mut low, mut high) = (0, count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(middle)? { low = middle } else { high = middle }
        }
        Ok(low)
    }

    fn divergence(&self, books: &Books) -> Result<f64, PrivacyError> {
        books.ledger().releases().iter().try_for_each(covered)?;
        self.divergence_of(books.accountant()?)
    }

    fn divergence_of(&self, accountant: &RdpAccountant) -> Result<f64, PrivacyError> {
        accountant.rdp(self.order).ok_or(PrivacyError::Unpriced(word!("a privacy filter at this Rényi order")))
    }

    fn keeps(&self, divergence: f64) -> bool {
        improved(divergence, self.order, self.delta) <= self.epsilon
    }

    /// States the guarantee in a phrase.
    #[must_use]
    pub fn in_words(&self) -> Message {
        message!(
            "ε ≤ {} at any stopping time, whatever was chosen on the way (Rényi filter of order {})",
            upper(self.epsilon, 6),
            self.order
        )
    }
}

/// The largest divergence at `order` whose conversion is at most `epsilon`; negative if none is.
fn budget_at(epsilon: f64, order: f64, delta: f64) -> f64 {
    epsilon - (-1.0 / order).ln_1p() + (delta.ln() + order.ln()) / (order - 1.0)
}

/// # Errors
/// [`PrivacyError::Unpriced`].
fn covered(release: &Release) -> Result<(), PrivacyError> {
    match release.sampling {
        Sampling::RandomAllocation { .. } => {
            Err(PrivacyError::Unpriced(word!("a privacy filter with random allocation")))
        }
        Sampling::CyclicPoisson { .. } => Err(PrivacyError::Unpriced(word!("a privacy filter with correlated noise"))),
        _ if release.grid.is_some() => Err(PrivacyError::Unpriced(word!("a privacy filter with noise on a grid"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dp_sgd, rdp::RdpCurve};

    /// The most that an adversary gets who chooses each release and when to stop by what the
    /// releases show: max E[(1 − e^{ε−L})₊] over all strategies that the filter admits.
    fn adversary(filter: &PrivacyFilter, sigmas: &[f64]) -> f64 {
        const LOW: f64 = -12.0;
        const CELLS: usize = 2401;
        let width = -2.0 * LOW / (CELLS - 1) as f64;
        let losses: Vec<f64> = (0..CELLS).map(|i| LOW + width * i as f64).collect();
        let gain: Vec<f64> = losses.iter().map(|loss| -(filter.epsilon - loss).min(0.0).exp_m1()).collect();
        let mut known = std::collections::BTreeMap::new();
        let mut books = Books::default();
        let steps: Vec<ReleaseId> =
            sigmas.iter().map(|sigma| books.register_priced(dp_sgd::step(*sigma, 1.0)).unwrap()).collect();
        #[expect(clippy::too_many_arguments, reason = "a recursion of one test")]
        fn value(
            counts: &[u64],
            filter: &PrivacyFilter,
            books: &Books,
            sigmas: &[f64],
            steps: &[ReleaseId],
            losses: &[f64],
            gain: &[f64],
            known: &mut std::collections::BTreeMap<Vec<u64>, Vec<f64>>,
        ) -> Vec<f64> {
            if let Some(found) = known.get(counts) {
                return found.clone();
            }
            let mut best = gain.to_vec();
            for (i, sigma) in sigmas.iter().enumerate() {
                if filter.admits(books, steps[i], 1).unwrap() == 0 {
                    continue;
                }
                let (mut after, mut next) = (books.clone(), counts.to_vec());
                after.record(steps[i], 1);
                next[i] += 1;
                let then = value(&next, filter, &after, sigmas, steps, losses, gain, known);
                let (mu, width) = (1.0 / sigma, losses[1] - losses[0]);
                // Nodes and weights of the normal law.
                let nodes: Vec<(f64, f64)> =
                    (-40..=40).map(|j| 0.2 * f64::from(j)).map(|z| (z, (-0.5 * z * z).exp())).collect();
                let mass: f64 = nodes.iter().map(|(_, weight)| weight).sum();
                for (value, loss) in best.iter_mut().zip(losses) {
                    let mean: f64 = nodes
                        .iter()
                        .map(|(z, weight)| {
                            let place = ((loss + 0.5 * mu * mu + mu * z - losses[0]) / width)
                                .clamp(0.0, losses.len() as f64 - 1.001);
                            let (at, share) = (place.floor() as usize, place.fract());
                            weight * (then[at] + share * (then[at + 1] - then[at]))
                        })
                        .sum();
                    *value = value.max(mean / mass);
                }
            }
            known.insert(counts.to_vec(), best.clone());
            best
        }
        let counts = vec![0; sigmas.len()];
        let all = value(&counts, filter, &books, sigmas, &steps, &losses, &gain, &mut known);
        all[CELLS / 2]
    }

    /// Against a brute-force search over all adaptive strategies with two kinds of release.
    #[test]
    fn no_adaptive_strategy_exceeds_the_budget() {
        for (epsilon, delta) in [(1.0, 1e-2), (2.0, 1e-3)] {
            let filter = PrivacyFilter::new(epsilon, delta).unwrap();
            let most = adversary(&filter, &[10.0, 5.0]);
            assert!(most <= delta, "{epsilon}: {most} > {delta}");
            // The search finds strategies worth having.
            assert!(most > 0.02 * delta, "{epsilon}: {most}");
        }
    }

    #[test]
    fn a_filter_admits_what_a_plan_of_that_epsilon_has() {
        let release = dp_sgd::step(1.1, 256.0 / 60_000.0);
        let curve = RdpCurve::of(&release).unwrap();
        let mut books = Books::default();
        let step = books.register(release, &curve).unwrap();
        let plan = crate::rdp::RdpAccountant::of_steps(&curve, 3515)
            .epsilon_at(1e-5, crate::rdp::Orders::Integers)
            .unwrap()
            .improved;
        let filter = PrivacyFilter::at_order(plan.epsilon, 1e-5, plan.order).unwrap();
        assert_eq!(filter.admits(&books, step, 10_000).unwrap(), 3515);
        books.record(step, 3000);
        assert_eq!(filter.admits(&books, step, 10_000).unwrap(), 515);
        books.record(step, 515);
        assert_eq!(filter.admits(&books, step, 1).unwrap(), 0);
        assert!((filter.spent(&books).unwrap() - 1.0).abs() < 1e-3);
        // The best order of a plan is that of its ε; a filter without one admits less of a sampled run.
        assert_eq!(PrivacyFilter::for_plan(plan.epsilon, 1e-5, &books).unwrap(), filter);
        let usual = PrivacyFilter::new(plan.epsilon, 1e-5).unwrap();
        assert!(usual.admits(&books.after(0).unwrap(), step, 10_000).unwrap() < 3515, "{usual:?}");
        let text = serde_json::to_string(&filter).unwrap();
        assert_eq!(serde_json::from_str::<PrivacyFilter>(&text).unwrap(), filter);
    }

    #[test]
    fn what_a_filter_does_not_cover_is_refused() {
        for (epsilon, delta, order) in [
            (0.0, 1e-5, 8.0),
            (f64::NAN, 1e-5, 8.0),
            (1.0, 0.0, 8.0),
            (1.0, 1e-5, 8.5),
            (1.0, 1e-5, 1.0),
            (0.1, 1e-5, 8.0),
        ] {
            assert!(PrivacyFilter::at_order(epsilon, delta, order).is_err(), "{epsilon} {delta} {order}");
        }
        let filter = PrivacyFilter::new(1.0, 1e-5).unwrap();
        for sampling in [Sampling::RandomAllocation { batches: 10 }, Sampling::CyclicPoisson { rate: 0.1, groups: 4 }] {
            let mut books = Books::default();
            let step = books.register_priced(Release { sampling, ..dp_sgd::step(4.0, 1.0) }).unwrap();
            assert!(matches!(filter.admits(&books, step, 1), Err(PrivacyError::Unpriced(_))), "{sampling:?}");
        }
        let mut books = Books::default();
        let shuffled = books
            .register_priced(Release { sampling: Sampling::Shuffled { batches: 10 }, ..dp_sgd::step(8.0, 1.0) })
            .unwrap();
        // An epoch is paid for at its first step.
        let admitted = filter.admits(&books, shuffled, 1000).unwrap();
        assert!(admitted > 0 && admitted.is_multiple_of(10), "{admitted}");
    }
}
