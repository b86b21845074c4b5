//! Gaussian differential privacy (Dong, Roth & Su 2022) fitted to a privacy curve: the smallest μ
//! whose trade-off no test beats, and how pessimistic it is. Kulynych, Gomez, Kaissis, Hayes,
//! Balle, Calmon & Raisaro 2024 and Gomez et al. 2025 (*(ε, δ) considered harmful*) report it with
//! ε, since mechanisms of equal (ε, δ) may protect differently.
//!
//! A sampled mechanism has no useful μ for *all* false-positive rates: at q = 0.004 it is an
//! unsampled one with that probability, which far in the tail is what an attacker meets. So μ holds
//! down to a false-positive rate, the *cut-off*, and must be reported with it.

use serde::{Deserialize, Serialize};

use super::{
    decimal::upper,
    error::{PrivacyError, require},
    normal,
    pld::{Pld, Profile},
    risk::PrivacyCurve,
};

pub use super::pld::CUT_OFF;

/// A Gaussian trade-off that bounds a privacy curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GaussianFit {
    /// Upper bound: no test with a false-positive rate ≥ `cut_off` beats N(0, 1) against N(μ, 1).
    pub mu: f64,
    /// The smallest false-positive rate that μ holds for, in (0, 0.5).
    pub cut_off: f64,
    /// The smallest Δ with f(x + Δ) − Δ ≤ f_μ(x) everywhere, for the trade-offs f of the curve and
    /// f_μ of μ: by how much μ makes error rates too small. Near 0, μ describes the whole curve.
    pub regret: f64,
}

impl GaussianFit {
    /// Fits the whole curve of tight accounting. `mu` is infinite if nothing is protected.
    ///
    /// # Errors
    /// A cut-off outside (0, 0.5).
    pub fn of_losses(losses: &Pld, cut_off: f64) -> Result<Self, PrivacyError> {
        in_range(cut_off)?;
        let points = match losses.profile(cut_off) {
            Profile::Gaussian(mu) => return Ok(Self { mu, cut_off, regret: 0.0 }),
            Profile::Curve(points) => points,
        };
        Ok(Self::of_lines(points, cut_off))
    }

    /// Fits a privacy curve that holds for both orders of neighbours, as all curves of this crate
    /// do. Few points give a larger μ and regret.
    ///
    /// # Errors
    /// A cut-off outside (0, 0.5).
    pub fn of(curve: &PrivacyCurve, cut_off: f64) -> Result<Self, PrivacyError> {
        in_range(cut_off)?;
        Ok(Self::of_lines(curve.points().collect(), cut_off))
    }

    /// States what μ holds for, with `decimals` decimals of the regret.
    #[must_use]
    pub fn in_words(&self, decimals: usize) -> String {
        let Self { cut_off, regret, .. } = self;
        let regret = upper(*regret, decimals);
        format!(
            "as one Gaussian release of sensitivity 1 and noise 1/μ, for tests with a share of {cut_off:e} or more of false alarms; regret {regret}"
        )
    }

    fn of_lines(lines: Vec<(f64, f64)>, cut_off: f64) -> Self {
        let hull = Hull::of(lines);
        let mu = hull.least_mu(cut_off);
        Self { mu, cut_off, regret: hull.regret(mu) }
    }
}

/// # Errors
/// A cut-off outside (0, 0.5).
fn in_range(cut_off: f64) -> Result<(), PrivacyError> {
    require(cut_off > 0.0 && cut_off < 0.5, "cut-off", cut_off, "above 0 and below 0.5")
}

/// Largest true-positive rates for α ≤ 1 − TPR: the least of the curve's lines δ + e^ε·α.
struct Hull {
    /// Corners (α, TPR), α falling from the point where α = 1 − TPR.
    corners: Vec<(f64, f64)>,
    /// The steepest line (ε, δ), which holds from the last corner on.
    last: (f64, f64),
}

impl Hull {
    fn of(mut lines: Vec<(f64, f64)>) -> Self {
        lines.retain(|(epsilon, _)| epsilon.is_finite());
        lines.push((0.0, 1.0));
        lines.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        lines.dedup_by(|b, a| a.0 == b.0);
        let meet = |(e, d): (f64, f64), (f, g): (f64, f64)| (d - g) / (f.exp() - e.exp());
        // Lines in order of slope; one above the intersection of its neighbours is never the least.
        let mut least: Vec<(f64, f64)> = vec![];
        for line in lines {
            while let Some(&top) = least.last() {
                let hidden = match least.len().checked_sub(2) {
                    // A steeper line is lower only for small α.
                    Some(below) => meet(top, line) >= meet(least[below], top),
                    None => line.1 >= top.1 && top.0 == line.0,
                };
                if line.1 >= top.1 || !hidden {
                    break;
                }
                least.pop();
            }
            if least.last().is_none_or(|top| line.1 < top.1) {
                least.push(line);
            }
        }
        let last = least.last().copied().unwrap_or((0.0, 1.0));
        // Where the flattest line has 1 − TPR = α.
        let (epsilon, delta) = least.first().copied().unwrap_or((0.0, 1.0));
        let even = (1.0 - delta) / (epsilon.exp() + 1.0);
        let mut corners = vec![(even, delta + epsilon.exp() * even)];
        for pair in least.windows(2) {
            let at = meet(pair[0], pair[1]);
            if at < even {
                corners.push((at, pair[0].1 + pair[0].0.exp() * at));
            } else {
                let (epsilon, delta) = pair[1];
                let even = (1.0 - delta) / (epsilon.exp() + 1.0);
                corners = vec![(even, delta + epsilon.exp() * even)];
            }
        }
        Self { corners, last }
    }

    /// TPR at α, at most the even point's α.
    fn rate(&self, alpha: f64) -> f64 {
        let after = self.corners.partition_point(|corner| corner.0 > alpha);
        match (after.checked_sub(1).map(|at| self.corners[at]), self.corners.get(after)) {
            (Some((a, t)), Some(&(b, u))) => u + (t - u) * (alpha - b) / (a - b),
            (_, None) => self.last.1 + self.last.0.exp() * alpha,
            (None, Some(&(_, t))) => t,
        }
    }

    /// A line is below a Gaussian's concave rates if its ends are: check corners and the cut-off.
    fn least_mu(&self, cut_off: f64) -> f64 {
        let of = |(alpha, rate): (f64, f64)| {
            if rate >= 1.0 {
                return f64::INFINITY;
            }
            normal::survival_quantile(alpha) - normal::survival_quantile(rate)
        };
        let corners = self.corners.iter().copied().filter(|corner| corner.0 >= cut_off);
        let mu = corners.chain([(cut_off, self.rate(cut_off))]).map(of).fold(0.0, f64::max);
        // Margin for rounding of quantiles and intersections.
        mu * (1.0 + 1e-9)
    }

    /// α + β at α − β = `u` ≤ 0. Moving both by Δ keeps u; the trade-off is convex in u, as in α.
    fn sum(&self, u: f64) -> f64 {
        // α − β grows with α.
        let after = self.corners.partition_point(|&(alpha, rate)| alpha + rate - 1.0 > u);
        match (after.checked_sub(1).map(|at| self.corners[at]), self.corners.get(after)) {
            (Some((a, t)), Some(&(b, r))) => {
                let (high, low) = (a + t - 1.0, b + r - 1.0);
                let share = if high > low { (u - low) / (high - low) } else { 0.0 };
                1.0 + (b - r) + share * ((a - t) - (b - r))
            }
            // On the last line, α = (u + 1 − δ)/(1 + e^ε), or α = 0.
            (_, None) => {
                let alpha = ((u + 1.0 - self.last.1) / (1.0 + self.last.0.exp())).max(0.0);
                2.0 * alpha - u
            }
            (None, Some(&(a, t))) => 1.0 + a - t,
        }
    }

    /// Δ is half of f's largest excess over f_μ along (1, 1); by symmetry one half of the curves
    /// suffices. Between two points of f_μ, f is below its chord and f_μ above its tangents, so the
    /// gap is largest at an end or where the tangents meet.
    fn regret(&self, mu: f64) -> f64 {
        if mu == f64::INFINITY {
            return self.corners[0].0;
        }
        const STEPS: u32 = 2000;
        // Thresholds from the middle to where neither curve has false positives.
        let places = (0..=STEPS).map(|i| 0.5 * mu + 9.0 * f64::from(i) / f64::from(STEPS));
        let place = |threshold: f64| {
            let (alpha, beta) = (normal::survival(threshold), normal::cdf(threshold - mu));
            let u = (alpha - beta).min(0.0);
            // dβ = −e^{μ(t − μ/2)}·dα.
            let slope = -(0.5 * mu * (threshold - 0.5 * mu)).tanh();
            Place { u, above: self.sum(u), below: alpha + beta, slope }
        };
        let places: Vec<Place> = places.map(place).collect();
        let gap = |pair: &[Place]| {
            let [a, b] = [pair[0], pair[1]];
            let ends = (a.above - a.below).max(b.above - b.below);
            let meet = (a.below - b.below + b.slope * b.u - a.slope * a.u) / (b.slope - a.slope);
            if !(meet < a.u && meet > b.u) {
                return ends;
            }
            let chord = a.above + (b.above - a.above) * (a.u - meet) / (a.u - b.u);
            ends.max(chord - (a.below + a.slope * (meet - a.u)))
        };
        0.5 * places.windows(2).map(gap).fold(0.0, f64::max)
    }
}

/// A point of a Gaussian's trade-off.
#[derive(Clone, Copy)]
struct Place {
    /// α − β.
    u: f64,
    /// α + β of the curve at u.
    above: f64,
    /// α + β of the Gaussian at u.
    below: f64,
    /// Derivative of `below` in u.
    slope: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        envelope::EnvelopeProfile,
        ledger::{Release, Sensitivity},
        noise::NoiseSpec,
        risk::GaussianPrivacy,
        sampling::Sampling,
    };

    /// The curve of μ fits that μ at any cut-off, with no regret.
    #[test]
    fn a_gaussian_curve_gives_its_own_mu() {
        for mu in [0.1, 0.5, 1.0, 3.0] {
            let truth = GaussianPrivacy::new(mu).unwrap();
            let top = truth.epsilon(1e-13);
            let points = (0..=2000).map(|i| top * f64::from(i) / 2000.0).map(|e| (e, truth.delta(e)));
            let curve = PrivacyCurve::new(points).unwrap();
            for cut_off in [1e-10, 1e-6, 1e-3] {
                let fit = GaussianFit::of(&curve, cut_off).unwrap();
                assert!(fit.mu >= mu && fit.mu < mu * 1.0005, "{mu}, {cut_off}: {fit:?}");
                assert!(fit.regret < 2e-4, "{mu}: {fit:?}");
            }
        }
    }

    #[test]
    fn curves_without_a_mu_have_none() {
        let none = PrivacyCurve::new([(0.0, 1.0)]).unwrap();
        assert_eq!(GaussianFit::of(&none, 1e-10).unwrap().mu, f64::INFINITY);
        // A failure probability δ needs a larger μ at a cut-off below it.
        let failing = PrivacyCurve::new([(1.0, 1e-5)]).unwrap();
        let [coarse, fine] = [1e-4, 1e-10].map(|cut_off| GaussianFit::of(&failing, cut_off).unwrap().mu);
        assert!(coarse < fine && fine.is_finite(), "{coarse} {fine}");
        for cut_off in [0.0, 0.5, -1.0, f64::NAN] {
            assert!(GaussianFit::of(&failing, cut_off).is_err());
        }
        let perfect = GaussianFit::of(&PrivacyCurve::new([(0.0, 0.0)]).unwrap(), 1e-10).unwrap();
        assert!(perfect.mu < 1e-9 && perfect.regret < 1e-9, "{perfect:?}");
    }

    fn losses(sampling: Sampling, sensitivity: Sensitivity, noise: NoiseSpec, steps: u64) -> Pld {
        Pld::for_release(&Release::new(sampling, sensitivity, Some(noise))).unwrap().compose(steps)
    }

    fn clipped() -> Sensitivity {
        Sensitivity::L2 { norm: 1.0 }
    }

    #[test]
    fn unsampled_releases_have_the_mu_of_their_sum() {
        let sixteen = losses(Sampling::Poisson { rate: 1.0 }, clipped(), NoiseSpec::Gaussian { sigma: 8.0 }, 16);
        let fit = GaussianFit::of_losses(&sixteen, CUT_OFF).unwrap();
        assert!(fit.mu >= 0.5 && fit.mu < 0.5 + 1e-12 && fit.regret == 0.0, "{fit:?}");
    }

    /// The whole curve agrees with single ε: with sampling, where "add" is worse, and in epochs.
    #[test]
    fn the_whole_curve_agrees_with_single_epsilons() {
        let one = EnvelopeProfile::from_vectors_f64([[1.0].as_slice()]).unwrap();
        let gaussian = |sigma| NoiseSpec::Gaussian { sigma };
        let cases = [
            losses(Sampling::Poisson { rate: 0.01 }, clipped(), gaussian(0.8), 2000),
            losses(Sampling::RandomAllocation { batches: 30 }, clipped(), gaussian(1.0), 300),
            losses(
                Sampling::Poisson { rate: 0.1 },
                Sensitivity::Envelope { profile: one },
                NoiseSpec::Laplace { scale: 1.0 },
                100,
            ),
        ];
        for losses in cases {
            let Profile::Curve(points) = losses.profile(CUT_OFF) else { panic!() };
            assert!(points.len() > 1000);
            for (epsilon, delta) in points.iter().step_by(150).filter(|point| point.1 > 1e-13) {
                let single = losses.delta(*epsilon).unwrap().value;
                assert!(*delta < single * 1.01 && single < delta * 1.01, "{epsilon}: {delta} {single}");
            }
            // It reaches the cut-off: δ is small there.
            assert!(points[points.len() - 1].1 < 1e-7, "{:?}", points[points.len() - 1]);
            // A smaller cut-off gives no smaller μ.
            let [fine, coarse] = [1e-10, 1e-6].map(|cut_off| GaussianFit::of_losses(&losses, cut_off).unwrap());
            assert!(fine.mu >= coarse.mu * (1.0 - 1e-4), "{fine:?} {coarse:?}");
            // μ covers ε at a δ above its cut-off.
            let covered = GaussianPrivacy::new(fine.mu).unwrap().epsilon(1e-5);
            assert!(covered >= losses.epsilon(1e-5).unwrap().value * (1.0 - 1e-4), "{covered}");
        }
    }

    #[test]
    fn nothing_protected_has_no_mu() {
        let told = losses(Sampling::Poisson { rate: 0.5 }, clipped(), NoiseSpec::Gaussian { sigma: 1e-3 }, 10);
        let fit = GaussianFit::of_losses(&told, CUT_OFF).unwrap();
        assert!(fit.mu == f64::INFINITY && fit.regret <= 0.5, "{fit:?}");
        let nothing = losses(Sampling::Poisson { rate: 0.01 }, clipped(), NoiseSpec::Gaussian { sigma: 1.0 }, 0);
        let fit = GaussianFit::of_losses(&nothing, CUT_OFF).unwrap();
        assert!(fit.mu == 0.0 && fit.regret == 0.0, "{fit:?}");
    }
}
