//! ROC curves of scores, and what privacy forbids of them.

use hushgrad_message::word;
use serde::{Deserialize, Serialize};

use super::{error::AttackError, estimate::Estimate};
use crate::{accounting::risk::AttackBound, projection::Point};

/// The exact empirical ROC of an attack that says "in" if a score is at least some threshold.
///
/// It has a point for each distinct score; ties lie on a line between two points and never help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Roc {
    members: u32,
    others: u32,
    /// (false, true) positives as the threshold falls: from (0, 0) to (others, members).
    counts: Vec<(u32, u32)>,
    auc: Estimate,
}

impl Roc {
    /// Computes the ROC of scores of candidates in (`members`) and out; higher means surer of "in".
    ///
    /// # Errors
    /// [`AttackError::NoScores`] if either has none, [`AttackError::NotFinite`].
    pub fn new(members: &[f64], others: &[f64]) -> Result<Self, AttackError> {
        let mut sorted = Vec::with_capacity(members.len() + others.len());
        for (scores, is_in, of) in
            [(members, true, word!("candidates that were in")), (others, false, word!("candidates that were out"))]
        {
            if scores.is_empty() {
                return Err(AttackError::NoScores { missing: of });
            }
            if let Some(place) = scores.iter().position(|score| !score.is_finite()) {
                return Err(AttackError::NotFinite { of, place, value: scores[place] });
            }
            sorted.extend(scores.iter().map(|&score| (score, is_in)));
        }
        sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
        let [m, n] = [members.len(), others.len()].map(|count| count as f64);
        let (mut counts, mut at) = (vec![(0_u32, 0_u32)], (0_u32, 0_u32));
        // A score's placement: the share of the other kind below it, with half of the ties.
        let (mut below, mut above) = (Moments::default(), Moments::default());
        // Not `total_cmp`: −0 and 0 are one score.
        for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
            let (outs, ins) = at;
            let hits = tied.iter().filter(|(_, is_in)| *is_in).count() as u32;
            let misses = tied.len() as u32 - hits;
            below.add(1.0 - (f64::from(outs) + 0.5 * f64::from(misses)) / n, hits.into());
            above.add((f64::from(ins) + 0.5 * f64::from(hits)) / m, misses.into());
            at = (outs + misses, ins + hits);
            counts.push(at);
        }
        let auc =
            Estimate { value: below.mean(), standard_error: (below.variance() / m + above.variance() / n).sqrt() };
        Ok(Self { members: members.len() as u32, others: others.len() as u32, counts, auc })
    }

    /// Returns the numbers of candidates in, and of those out.
    #[must_use]
    pub const fn candidates(&self) -> (u32, u32) {
        (self.members, self.others)
    }

    /// Returns the area under the curve: the probability that a candidate in scores higher than one
    /// out, ties counting half. Its standard error is that of DeLong, DeLong & Clarke-Pearson 1988
    /// for independent scores; infinite if either kind has only one.
    #[must_use]
    pub const fn auc(&self) -> Estimate {
        self.auc
    }

    /// Returns all points (false-positive rate, true-positive rate), from (0, 0) to (1, 1).
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.counts.iter().map(|&counts| self.rates(counts))
    }

    fn rates(&self, (wrong, right): (u32, u32)) -> Point {
        (f64::from(wrong) / f64::from(self.others), f64::from(right) / f64::from(self.members))
    }

    /// Returns the best true-positive rate at this false-positive rate or below; NaN counts as 0.
    #[must_use]
    pub fn true_positive_rate(&self, false_positive_rate: f64) -> f64 {
        // At k/n the product is k again, up to rounding.
        let most = (false_positive_rate.max(0.0) * f64::from(self.others) * (1.0 + 1e-12)).floor();
        let after = self.counts.partition_point(|(wrong, _)| f64::from(*wrong) <= most);
        self.rates(self.counts[after - 1]).1
    }

    /// Returns points for a chart with logarithmic axes: those above both zeros, thinned to about
    /// `most`, evenly spaced on the chart. If there are true positives without any false one, the
    /// first point is at half of the smallest measurable rate.
    #[must_use]
    pub fn chart(&self, most: u32) -> Vec<Point> {
        let (first, nothing) = (0.5 / f64::from(self.others), self.true_positive_rate(0.0));
        let width = -first.ln() / f64::from(most.max(2));
        let mut kept: Vec<Point> = Vec::new();
        let mut cell = f64::NEG_INFINITY;
        if nothing > 0.0 {
            kept.push((first, nothing));
        }
        for (x, y) in self.points().filter(|&(x, y)| x > 0.0 && y > 0.0) {
            let own = ((x / first).ln() / width).floor();
            match kept.last_mut() {
                // The last of a cell is the highest.
                Some(last) if own == cell && last.0 > first => *last = (x, y),
                _ => kept.push((x, y)),
            }
            cell = own;
        }
        kept
    }

    /// Returns the clearest point refuting `bound` at this significance, for independent scores.
    ///
    /// With probability 1 − α, both empirical distributions are within √(ln(2/α)/2n) of the true
    /// ones on the relevant side, at all thresholds at once (Dvoretzky, Kiefer & Wolfowitz 1956;
    /// Massart 1990), so no threshold has to be fixed beforehand.
    pub fn refutes(&self, bound: &impl AttackBound, significance: f64) -> Result<Option<Point>, AttackError> {
        if !(significance > 0.0 && significance < 1.0) {
            return Err(crate::accounting::audit::AuditError::Significance(significance).into());
        }
        let slack = |count: u32| ((2.0 / significance).ln() / (2.0 * f64::from(count))).sqrt();
        let (more, less) = (slack(self.others), slack(self.members));
        let excess = |&(x, y): &Point| (y - less) - bound.best_true_positive_rate((x + more).min(1.0));
        let clearest = self.points().max_by(|a, b| excess(a).total_cmp(&excess(b)));
        Ok(clearest.filter(|point| excess(point) > 0.0))
    }
}

/// Returns the edge of what `bound` forbids, for a chart with logarithmic axes: the best
/// true-positive rate at `points` (at least two) false-positive rates from `least` to 1. No attack
/// has a point above it, but by chance. The bound is one (ε, δ)
/// ([`EpsilonDelta`](crate::accounting::risk::EpsilonDelta)) or a whole curve
/// ([`PrivacyCurve`](crate::accounting::risk::PrivacyCurve)).
#[must_use]
pub fn forbidden_above(bound: &impl AttackBound, least: f64, points: u32) -> Vec<Point> {
    let (least, points) = (least.clamp(1e-300, 1.0), points.max(2));
    let rate = |k: u32| (least.ln() * (1.0 - f64::from(k) / f64::from(points - 1))).exp();
    (0..points).map(rate).map(|rate| (rate, bound.best_true_positive_rate(rate))).collect()
}

/// Weighted sums about ½, where placements lie.
#[derive(Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64, times: f64) {
        let centred = value - 0.5;
        self.count += times;
        self.sum += times * centred;
        self.squares += times * centred * centred;
    }

    fn mean(&self) -> f64 {
        0.5 + self.sum / self.count
    }

    fn variance(&self) -> f64 {
        if self.count < 2.0 {
            return f64::INFINITY;
        }
        ((self.squares - self.sum * self.sum / self.count) / (self.count - 1.0)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        accounting::{
            noise::NoiseSpec,
            risk::{EpsilonDelta, GaussianPrivacy, PrivacyCurve},
        },
        rng::NotPrivateReplay,
    };

    #[test]
    fn ties_are_told_together() {
        let roc = Roc::new(&[3.0, 1.0, 1.0], &[1.0, 0.0, -0.0, 2.0]).unwrap();
        let counts: Vec<Point> = vec![(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 3.0), (4.0, 3.0)];
        assert_eq!(roc.points().map(|(x, y)| (4.0 * x, 3.0 * y)).collect::<Vec<_>>(), counts);
        // 3 beats all four; each 1 beats two and ties with one.
        assert!((roc.auc().value - (4.0 + 2.5 + 2.5) / 12.0).abs() < 1e-15);
        assert_eq!(roc.candidates(), (3, 4));
        for (at_most, expected) in
            [(0.0, 1.0), (0.2, 1.0), (0.25, 1.0), (0.49, 1.0), (0.5, 3.0), (1.0, 3.0), (7.0, 3.0), (-1.0, 1.0)]
        {
            assert!((roc.true_positive_rate(at_most) - expected / 3.0).abs() < 1e-15, "{at_most}");
        }
        assert!((roc.true_positive_rate(f64::NAN) - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn what_is_no_score_is_named() {
        assert!(matches!(Roc::new(&[], &[1.0]), Err(AttackError::NoScores { missing: "candidates that were in" })));
        assert!(matches!(Roc::new(&[1.0], &[]), Err(AttackError::NoScores { missing: "candidates that were out" })));
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Roc::new(&[0.0, 1.0], &[1.0, value]).unwrap_err();
            assert!(matches!(error, AttackError::NotFinite { place: 1, .. }), "{error}");
        }
        // One of each: a point, and no spread.
        let one = Roc::new(&[1.0], &[0.0]).unwrap();
        assert_eq!((one.auc().value, one.auc().standard_error), (1.0, f64::INFINITY));
        assert_eq!(one.chart(50), [(0.5, 1.0), (1.0, 1.0)]);
    }

    /// Normal scores one apart: the area is Φ(1/√2), within its standard error.
    #[test]
    fn the_standard_error_is_that_of_the_area() {
        let noise = NoiseSpec::Gaussian { sigma: 1.0 }.build().unwrap();
        let mut rng = NotPrivateReplay::new(5);
        let mut draw =
            |count: usize, shift: f64| -> Vec<f64> { (0..count).map(|_| noise.sample(&mut rng) + shift).collect() };
        let truth = crate::accounting::normal::cdf(0.5_f64.sqrt());
        let off: Vec<f64> = (0..300)
            .map(|_| {
                let auc = Roc::new(&draw(70, 1.0), &draw(110, 0.0)).unwrap().auc();
                (auc.value - truth) / auc.standard_error
            })
            .collect();
        let mean = Estimate::mean(&off);
        let spread = mean.standard_error * (off.len() as f64).sqrt();
        assert!(mean.value.abs() < 4.0 * mean.standard_error && (0.85..1.15).contains(&spread), "{mean:?} {spread}");
    }

    /// An honest ROC keeps its bound at all thresholds in 95 % of cases; half the bound is refuted.
    #[test]
    fn an_honest_attack_keeps_its_bound_and_half_of_it_is_refuted() {
        let noise = NoiseSpec::Gaussian { sigma: 1.0 }.build().unwrap();
        let mut rng = NotPrivateReplay::new(6);
        let (truth, claim) = (GaussianPrivacy::new(1.0).unwrap(), GaussianPrivacy::new(0.5).unwrap());
        let curve = PrivacyCurve::new((0..60).map(|k| 0.1 * f64::from(k)).map(|e| (e, truth.delta(e)))).unwrap();
        let (mut honest, mut caught) = (0, 0);
        for _ in 0..100 {
            let mut draw = |shift: f64| -> Vec<f64> { (0..1000).map(|_| noise.sample(&mut rng) + shift).collect() };
            let roc = Roc::new(&draw(1.0), &draw(0.0)).unwrap();
            honest += usize::from(roc.refutes(&curve, 0.05).unwrap().is_some());
            caught += usize::from(roc.refutes(&claim, 0.05).unwrap().is_some());
        }
        assert!(honest <= 5 && caught == 100, "{honest} {caught}");
        let roc = Roc::new(&[1.0], &[0.0]).unwrap();
        for significance in [0.0, 1.0, f64::NAN] {
            assert!(roc.refutes(&claim, significance).is_err());
        }
    }

    #[test]
    fn the_edge_is_the_bound_on_logarithmic_places() {
        let bound = EpsilonDelta::new(1.0, 1e-5).unwrap();
        let edge = forbidden_above(&bound, 1e-4, 41);
        assert_eq!((edge.len(), edge[40]), (41, (1.0, 1.0)));
        assert!((edge[0].0 / 1e-4 - 1.0).abs() < 1e-14 && (edge[10].0 / 1e-3 - 1.0).abs() < 1e-14);
        assert!(edge.iter().all(|&(x, y)| y == bound.best_true_positive_rate(x)));
        assert_eq!(forbidden_above(&bound, f64::NAN, 0).len(), 2);
    }

    proptest! {
        /// By brute force over all pairs and all thresholds.
        #[test]
        fn the_roc_matches_brute_force(
            members in prop::collection::vec(-3_i32..4, 1..30), others in prop::collection::vec(-3_i32..4, 1..30), rate in 0.0..1.0_f64,
        ) {
            let [ins, outs] = [&members, &others].map(|all| all.iter().map(|&x| f64::from(x)).collect::<Vec<f64>>());
            let roc = Roc::new(&ins, &outs).unwrap();
            let won = |a: &f64| outs.iter().map(|b| if a > b { 1.0 } else if a == b { 0.5 } else { 0.0 }).sum::<f64>();
            let area = ins.iter().map(won).sum::<f64>() / (ins.len() * outs.len()) as f64;
            prop_assert!((roc.auc().value - area).abs() < 1e-12);
            let share = |all: &[f64], least: f64| all.iter().filter(|&&x| x >= least).count() as f64 / all.len() as f64;
            let best = (-3..=5).map(f64::from).filter(|&t| share(&outs, t) <= rate).map(|t| share(&ins, t)).fold(0.0, f64::max);
            prop_assert!((roc.true_positive_rate(rate) - best).abs() < 1e-12);
            let chart = roc.chart(20);
            prop_assert!(chart.len() <= 23 && chart.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
            prop_assert_eq!(chart.last().copied(), Some((1.0, 1.0)));
        }
    }
}
