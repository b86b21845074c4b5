//! Concentrated differential privacy: ε(α) ≤ ρα.

use serde::{Deserialize, Serialize};

use super::{
    accountant::RdpAccountant,
    conversion::{Bound, improved},
};
use crate::{
    decimal::{lower, upper},
    error::PrivacyError,
    numeric::max_or_infinite,
};

/// Where fractional orders are known: the smallest α − 1 at which ε(α) is computed, and the ratio of
/// neighbouring ones.
const LEAST: f64 = 0.01;
const RATIO: f64 = 1.1;
/// Covers the rounding of a few operations.
const ROUNDING: f64 = 1.0 + 16.0 * f64::EPSILON;

/// A bound ε(α) ≤ ρα on the Rényi divergence of neighbours.
///
/// At all orders α > 1 it is *zero-concentrated* differential privacy, ρ-zCDP (Bun & Steinke 2016,
/// Definition 1.1); up to an order ω, *truncated* CDP, (ρ, ω)-tCDP (Bun, Dwork, Rothblum & Steinke
/// 2018, Definition 1). Sampling amplifies small orders only: at large ones a sampled release costs
/// as much as an unsampled one, so ρ of a sampled run is useful only up to an order.
///
/// ```
/// use hushgrad_accounting::{dp_sgd, rdp::{RdpAccountant, RdpCurve}};
///
/// // 100 unsampled Gaussian releases with noise multiplier 20: ρ = 100/(2·20²).
/// let whole = RdpCurve::of(&dp_sgd::step(20.0, 1.0))?;
/// let all = RdpAccountant::of_steps(&whole, 100).concentrated(1e-5)?.unwrap();
/// assert_eq!((format!("{:.4}", all.rho), all.order), ("0.1250".into(), None));
///
/// // DP-SGD: up to the order that gives the smallest ε.
/// let sampled = RdpCurve::of(&dp_sgd::step(1.1, 256.0 / 60_000.0))?;
/// let run = RdpAccountant::of_steps(&sampled, 3515).concentrated(1e-5)?.unwrap();
/// assert_eq!(format!("{:.3} to {:.1}", run.rho, run.order.unwrap()), "0.045 to 11.9");
/// # Ok::<(), hushgrad_accounting::PrivacyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Concentrated {
    /// ρ, in nats, rounded up.
    pub rho: f64,
    /// ω, the largest order at which it holds; `None`: at all.
    pub order: Option<f64>,
}

impl Concentrated {
    /// ε at `delta` in (0, 1), by the improved conversion at the best order: an upper bound. At most
    /// the ρ + 2√(ρ·ln(1/δ)) of Bun & Steinke 2016, Proposition 1.3, where that order is at most ω.
    #[must_use]
    pub fn epsilon(&self, delta: f64) -> Bound {
        let at = |order: f64| Bound { epsilon: improved(self.rho * order * ROUNDING, order, delta), order };
        let most = self.order.unwrap_or(f64::INFINITY);
        // The best order of the classic conversion; every order gives a bound.
        let near = 1.0 + (-delta.ln() / self.rho).sqrt().clamp(1e-6, 1e12);
        let tries = (-40..=40).map(|i| 1.0 + (near - 1.0) * 1.02f64.powi(i)).chain([most]);
        tries.filter(|order| *order <= most && order.is_finite()).map(at).fold(
            Bound { epsilon: f64::INFINITY, order: near.min(most) },
            |best, bound| {
                if bound.epsilon < best.epsilon { bound } else { best }
            },
        )
    }

    /// States ρ, rounded up, and the orders for which it holds, the last one rounded down.
    #[must_use]
    pub fn in_words(&self) -> String {
        let rho = upper(self.rho, 6);
        match self.order {
            None => format!("ρ ≤ {rho} at all Rényi orders (zero-concentrated, zCDP)"),
            Some(order) => format!("ρ ≤ {rho} up to Rényi order {} (truncated CDP)", lower(order, 4)),
        }
    }
}

impl RdpAccountant {
    /// ρ of the releases: at all orders if they are Gaussian and sampling does not amplify them,
    /// else up to the order that gives the smallest ε at `delta`. `None` with releases on a grid.
    ///
    /// # Errors
    /// As [`RdpAccountant::epsilon`].
    pub fn concentrated(&self, delta: f64) -> Result<Option<Concentrated>, PrivacyError> {
        let last = self.epsilon(delta)?.improved.order;
        if self.terms_off_grid().is_some_and(|terms| self.is_free(&terms)) {
            return Ok(Some(Concentrated { rho: 0.0, order: None }));
        }
        let Some(truncated) = self.concentrated_up_to(last) else { return Ok(None) };
        // Where both agree, the one that holds everywhere says more.
        let everywhere = self.unsampled_slope().filter(|rho| *rho <= truncated.rho * (1.0 + 1e-6));
        Ok(Some(everywhere.map_or(truncated, |rho| Concentrated { rho, order: None })))
    }

    /// ρ at the orders up to `last`; `None` if `last` is not a known order, or with releases on a grid.
    ///
    /// ψ(α) = (α − 1)·ε(α) is convex, with ψ(1) = 0 (as are maxima and sums of such functions), so
    /// between two orders it is at most the chord.
    #[must_use]
    pub fn concentrated_up_to(&self, last: f64) -> Option<Concentrated> {
        let points = if self.rdp(1.0 + LEAST).is_some() {
            let orders = std::iter::successors(Some(1.0 + LEAST), |order| Some(1.0 + (order - 1.0) * RATIO));
            let orders = orders.take_while(|order| *order < last).chain([last]);
            orders.filter_map(|order| Some((order, self.rdp(order)?))).collect()
        } else {
            self.at_integers(last)?
        };
        let &(order, at_last) = points.last().filter(|(order, _)| *order == last)?;
        let first = points.first().map_or(0.0, |(_, value)| *value);
        let between = points.windows(2).map(|pair| steepest(pair[0], pair[1]));
        let rho = between.chain([first, at_last / order]).fold(0.0, max_or_infinite) * ROUNDING;
        Some(Concentrated { rho, order: Some(order) })
    }
}

/// The largest ε(α)/α on [a, b], given ε at both ends.
fn steepest((a, at_a): (f64, f64), (b, at_b): (f64, f64)) -> f64 {
    let (low, high) = ((a - 1.0) * at_a, (b - 1.0) * at_b);
    let slope = (high - low) / (b - a);
    let offset = low - slope * a;
    let ratio = |order: f64| (slope * order + offset) / (order * (order - 1.0));
    // Where the derivative of (m·α + c)/(α² − α) is 0: m·α² + 2c·α − c = 0.
    let root = (offset * offset + slope * offset).sqrt();
    let inside =
        [1.0, -1.0].map(|side| (side * root - offset) / slope).into_iter().filter(|order| a < *order && *order < b);
    inside.map(ratio).chain([at_a / a, at_b / b]).fold(0.0, max_or_infinite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dp_sgd,
        ledger::Release,
        noise::NoiseSpec,
        rdp::{LAST_ORDER, RdpCurve},
        sampling::Sampling,
    };

    fn of(release: &Release, steps: u64) -> RdpAccountant {
        RdpAccountant::of_steps(&RdpCurve::of(release).unwrap(), steps)
    }

    #[test]
    fn the_last_order_is_rounded_down_in_words() {
        let bound = Concentrated { rho: 0.045_000_1, order: Some(11.900_06) };
        assert_eq!(bound.in_words(), "ρ ≤ 0.045001 up to Rényi order 11.9000 (truncated CDP)");
    }

    #[test]
    fn unsampled_gaussian_noise_has_its_own_rho_and_epsilon() {
        for (sigma, steps) in [(1.0, 1), (5.0, 10), (40.0, 1000)] {
            let run = of(&dp_sgd::step(sigma, 1.0), steps);
            let found = run.concentrated(1e-5).unwrap().unwrap();
            let truth = steps as f64 / (2.0 * sigma * sigma);
            assert!(found.order.is_none() && found.rho >= truth && found.rho < truth * (1.0 + 1e-12), "{found:?}");
            let (converted, renyi) = (found.epsilon(1e-5), run.epsilon(1e-5).unwrap().improved.epsilon);
            assert!(converted.epsilon <= truth + 2.0 * (truth * 1e5f64.ln()).sqrt(), "{converted:?}");
            assert!((converted.epsilon / renyi - 1.0).abs() < 1e-3, "{converted:?} {renyi}");
        }
    }

    /// The bound holds at every order that is known, and the smallest ε follows from it.
    #[test]
    fn truncated_rho_holds_up_to_its_order() {
        let laplace = |rate| {
            let noise = Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 });
            let psi: Vec<f64> = (1..=50).map(|i| 0.5 / f64::from(i)).collect();
            let profile = crate::envelope::EnvelopeProfile::from_vectors_f64([psi.as_slice()]).unwrap();
            Release::new(Sampling::Poisson { rate }, crate::ledger::Sensitivity::Envelope { profile }, noise)
        };
        let shuffled = Release { sampling: Sampling::Shuffled { batches: 10 }, ..dp_sgd::step(4.0, 1.0) };
        let fixed = Release { sampling: Sampling::FixedSize { population: 1000, size: 10 }, ..dp_sgd::step(2.0, 1.0) };
        let cases = [
            (dp_sgd::step(1.1, 0.004), 3515),
            (dp_sgd::step(0.6, 0.02), 100),
            (laplace(0.01), 500),
            (laplace(1.0), 3),
            (shuffled, 30),
            (fixed, 200),
        ];
        for (release, steps) in cases {
            let run = of(&release, steps);
            let found = run.concentrated(1e-5).unwrap().unwrap();
            let last = found.order.unwrap_or(f64::from(LAST_ORDER));
            let mut steepest = 0.0f64;
            for order in (0..400).map(|i| 1.0 + 1.02f64.powi(i) * 0.02).chain((2..=256).map(f64::from)).chain([last]) {
                let Some(value) = run.rdp(order).filter(|_| order <= last) else { continue };
                assert!(value <= found.rho * order, "{release:?}: {value} at {order}, {found:?}");
                steepest = steepest.max(value / order);
            }
            // Without fractions, ε(2) stands for all orders below 2.
            let most = if run.rdp(1.5).is_some() { 1.02 } else { 2.001 };
            assert!(found.rho <= most * steepest, "{release:?}: {found:?} {steepest}");
            let (converted, renyi) = (found.epsilon(1e-5), run.epsilon(1e-5).unwrap().improved.epsilon);
            assert!(
                converted.epsilon >= renyi * (1.0 - 1e-3) && converted.epsilon <= most * renyi,
                "{converted:?} {renyi}"
            );
        }
    }

    #[test]
    fn nothing_released_costs_nothing_and_no_noise_has_no_rho() {
        // The moments of this noise, which nobody asks for, would take seconds.
        let heavy = Some(NoiseSpec::StudentT { nu: 3.0, scale: 1e-100 });
        for noise in [dp_sgd::step(1.0, 0.0).noise, heavy] {
            let free = Release { noise, ..dp_sgd::step(1.0, 0.0) };
            let none = of(&free, 10).concentrated(1e-5).unwrap().unwrap();
            assert_eq!((none.rho, none.epsilon(1e-5).epsilon), (0.0, 0.0));
        }
        assert!(of(&dp_sgd::step(1e-9, 1.0), u64::MAX).concentrated(1e-5).is_err());
        assert!(of(&dp_sgd::step(1.0, 0.5), 1).concentrated(1.0).is_err());
    }
}
