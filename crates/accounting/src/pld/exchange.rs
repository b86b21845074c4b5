//! One Poisson-sampled Gaussian release in which one vector replaces another.
//!
//! *Theorem.* Let M = (1−q)·N(0, I) + q·N(v, I) and M′ = (1−q)·N(0, I) + q·N(v′, I) with
//! |v|, |v′| ≤ μ. For every γ ≥ 0, H_γ(M‖M′) is at most that of P = (1−q)·N(0, 1) + q·N(μ, 1) and
//! Q = (1−q)·N(0, 1) + q·N(−μ, 1), which are v and v′ of length μ in opposite directions.
//!
//! *Proof.* First γ ≥ 1. Divide by the density of N(0, I): H_γ(M‖M′) = E[F(e^U, e^V)] with
//! F(u, w) = ((1−q)(1−γ) + q·u − γq·w)₊, U = ⟨x, v⟩ − s²/2, V = ⟨x, v′⟩ − t²/2, x ∼ N(0, I), and
//! s, t the lengths of v, v′. (U, V) is Gaussian with variances s², t² and a covariance c ≥ −st.
//! F is convex, and F_uw ≤ 0: its kink lies along u − γw = const. So
//! - dE/dc = E[F_uw·e^{U+V}] ≤ 0 (Plackett 1954): the smallest covariance, −st, is worst;
//! - along c = −st, dE/ds = s·E[F_uu·e^{2U}] − t·E[F_uw·e^{U+V}] ≥ 0, as the drift −s²/2 cancels
//!   F_u; likewise dE/dt ≥ 0. So the greatest lengths, s = t = μ, are worst.
//!
//! For γ < 1, H_γ(M‖M′) = 1 − γ + γ·H_{1/γ}(M′‖M), and P, Q are each other's mirror image. ∎
//!
//! (P, Q) dominates at every γ, so it composes (Zhu, Dong & Wang 2022, Theorem 10), which a worst
//! case for one γ need not (Lebeda, Regehr, Kamath & Steinke 2024). Other examples' contributions
//! only mix pairs of this form.

use super::{
    gaussian::LOW_TAIL,
    lattice::{Lattice, UNIT},
    line::{self, OnLine},
};
use crate::{normal, numeric::sampled_loss};

/// The pair P, Q of the theorem; 0 < q < 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExchangedGaussian {
    pub mu: f64,
    pub rate: f64,
}

impl ExchangedGaussian {
    /// ln of the two sampled likelihood ratios at x: of N(μ, 1) and of N(−μ, 1) to N(0, 1).
    fn ratios(&self, x: f64) -> (f64, f64) {
        let drift = 0.5 * self.mu * self.mu;
        (sampled_loss(self.rate, self.mu * x - drift), sampled_loss(self.rate, -self.mu * x - drift))
    }

    /// δ(0).
    pub fn total_variation(&self) -> f64 {
        self.rate * libm::erf(self.mu * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// Smallest and largest loss that need grid points, with P-mass of at most `tail` above.
    pub fn range(&self, tail: f64) -> (f64, f64) {
        let at = |tail: f64| normal::survival_quantile(tail.min(0.5)).min(39.0);
        let high = at(0.5 * tail).max(self.mu + at(0.5 * tail / self.rate));
        (self.loss(-at(LOW_TAIL)).min(0.0), self.loss(high).max(0.0))
    }

    /// An upper bound on a grid of `step`, the same in both directions.
    pub fn lattice(&self, step: f64, tail: f64) -> Lattice {
        line::lattice(self, self.range(tail), step)
    }
}

impl OnLine for ExchangedGaussian {
    /// Odd.
    fn loss(&self, x: f64) -> f64 {
        let (up, down) = self.ratios(x);
        up - down
    }

    /// The x of a loss: with k = e^{μ²/2}·(1−q)/q, μx = loss/2 + asinh(k·sinh(loss/2)).
    fn place(&self, loss: f64) -> f64 {
        let half = 0.5 * loss.abs();
        let ln_k = 0.5 * self.mu * self.mu + (-self.rate).ln_1p() - self.rate.ln();
        let ln = ln_k + half + (-(-2.0 * half).exp_m1()).ln() - std::f64::consts::LN_2;
        // For large values asinh(e^ln) is ln + ln 2, to all digits.
        let turned = if ln > 20.0 { ln + std::f64::consts::LN_2 } else { ln.exp().asinh() };
        ((half + turned) / self.mu).copysign(loss)
    }

    fn density(&self, x: f64) -> f64 {
        let (near, far) = ((-0.5 * x * x).exp(), (-0.5 * (x - self.mu) * (x - self.mu)).exp());
        (1.0 - self.rate) * near + self.rate * far
    }

    fn reach(&self) -> f64 {
        self.mu
    }

    /// Rounding that may have lowered a cell's losses: units in the last place of both logarithms,
    /// and of μx and the parts of `place`, times the largest slope of the loss in μx.
    fn displaced(&self, from: f64, to: f64) -> f64 {
        let drift = 0.5 * self.mu * self.mu;
        let odds = self.rate.ln() - (-self.rate).ln_1p();
        // Share of q·e^l in 1 − q + q·e^l.
        let share = |l: f64| 1.0 / (1.0 + (-odds - l).exp());
        let slope = share(self.mu * to - drift) + share(-self.mu * from - drift);
        let size = |x: f64| {
            let (up, down) = self.ratios(x);
            up.abs() + down.abs()
        };
        8.0 * UNIT * (size(from).max(size(to)) + slope * (self.mu * (self.mu + 40.0) + odds.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: [(f64, f64, f64); 6] = [
        (1.0, 0.05, 1e-3),
        (0.9, 0.004, 1e-4),
        (2.0, 0.3, 3e-3),
        (0.3, 1e-9, 1e-11),
        (6.0, 0.9, 0.02),
        (50.0, 0.1, 5.0),
    ];

    /// H_{e^ε}(P‖Q) by the masses beyond the place of ε; cancels for large ε.
    fn exact(pair: ExchangedGaussian, epsilon: f64) -> f64 {
        let ExchangedGaussian { mu, rate } = pair;
        let x = pair.place(epsilon);
        let p = (1.0 - rate) * normal::survival(x) + rate * normal::survival(x - mu);
        let scaled = |x: f64| (epsilon + normal::ln_survival(x)).exp();
        p - (1.0 - rate) * scaled(x) - rate * scaled(x + mu)
    }

    #[test]
    fn places_and_losses_are_inverse() {
        for (mu, rate, step) in CASES {
            let pair = ExchangedGaussian { mu, rate };
            for loss in [-40.0 * step, -step, 0.0, step, 3.0 * step, 100.0 * step, 1.0, 30.0] {
                let off = (pair.loss(pair.place(loss)) - loss).abs();
                assert!(off <= 1e-11 * loss.abs().max(step), "{mu} {rate} {loss}: {off:e}");
            }
        }
    }

    #[test]
    fn the_lattice_is_above_the_exact_curve_and_meets_it_on_the_grid() {
        for (mu, rate, step) in CASES {
            let pair = ExchangedGaussian { mu, rate };
            let lattice = pair.lattice(step, 1e-30);
            let total: f64 = lattice.weight.iter().sum::<f64>() + lattice.infinity;
            assert!((total - 1.0).abs() < 1e-10, "{mu} {rate}: {total}");
            let first = lattice.weight.len() / 3;
            for index in (first..lattice.weight.len() - 1).step_by(37) {
                let on = lattice.loss(index);
                let (want, got) = (exact(pair, on), lattice.delta(on));
                let noise = 1e-13 * on.exp().min(1e4);
                assert!(got >= want * (1.0 - 1e-9) - noise, "{mu} {rate} at {on:e}: {got:e} < {want:e}");
                assert!(got <= want * (1.0 + 1e-7) + noise + 1e-29, "{mu} {rate} at {on:e}: {got:e} {want:e}");
                let between = on + 0.4 * step;
                assert!(lattice.delta(between) >= exact(pair, between) * (1.0 - 1e-9) - noise);
            }
        }
    }

    /// H_γ of any two vectors in the plane and, with a part of one out of it, in space.
    fn divergence(q: f64, gamma: f64, (s, t, cos): (f64, f64, f64)) -> f64 {
        // (x, y) with v along x; v′ = t·(cos, sin). The density of the third coordinate is common.
        let sin = (1.0_f64 - cos * cos).sqrt();
        let (h, reach) = (0.05, 9.0);
        let steps = (2.0 * reach / h) as i32;
        let at = |i: i32| -reach + h * f64::from(i);
        let sum: f64 = (0..=steps)
            .flat_map(|i| (0..=steps).map(move |j| (at(i), at(j))))
            .map(|(x, y)| {
                let u = (s * x - 0.5 * s * s).exp();
                let w = (t * (cos * x + sin * y) - 0.5 * t * t).exp();
                (-0.5 * (x * x + y * y)).exp() * ((1.0 - q) * (1.0 - gamma) + q * u - gamma * q * w).max(0.0)
            })
            .sum();
        sum * h * h / std::f64::consts::TAU
    }

    #[test]
    fn opposite_vectors_of_full_length_are_the_worst_in_a_ball() {
        for (q, mu, gamma) in [(0.05, 1.0, 1.02), (0.3, 1.5, 1.3), (0.3, 0.7, 1.0), (0.8, 1.2, 4.0), (0.3, 1.5, 0.8)] {
            let worst = divergence(q, gamma, (mu, mu, -1.0));
            let mut last = f64::INFINITY;
            for cos in [-1.0, -0.9, -0.5, 0.0, 0.5, 0.9, 1.0] {
                let found = divergence(q, gamma, (mu, mu, cos));
                assert!(found <= last + 1e-6, "{q} {mu} {gamma}: {found} at {cos}");
                last = found;
                for (s, t) in [(mu, 0.6 * mu), (0.6 * mu, mu), (mu, 0.0), (0.0, mu), (0.5 * mu, 0.5 * mu)] {
                    let found = divergence(q, gamma, (s, t, cos));
                    assert!(found <= worst + 1e-6, "{q} {gamma}: {found} of {s} {t} {cos}, {worst}");
                }
            }
            let lattice = ExchangedGaussian { mu, rate: q }.lattice(1e-3, 1e-20);
            assert!((lattice.delta(gamma.ln()) - worst).abs() < 2e-4, "{q} {mu} {gamma}");
        }
    }
}
