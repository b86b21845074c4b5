//! How far an upper bound by convolution may be above the truth.
//!
//! Putting a loss L on a grid of step s by the safe split ([`super::lattice`]) gives L + D, where D
//! lies in an interval of length s and E(e^{−D} | L) = 1, as P- and Q-mass are kept. By Hoeffding's
//! lemma, E(e^{θD} | L) ≤ e^{θv/2 + θ²v/2} for θ ≥ 0, with v = s²/4; such v add up in composition.
//! With f_ε(l) = (1 − e^{ε−l})₊ and any t, λ, θ > 0,
//!
//! f_ε(L + D) − f_{ε−t}(L) ≤ (D − t)₊·e^{λ(L+D−ε)} ≤ e^{θ(D−t)}/(eθ)·e^{λ(L+D−ε)}:
//!
//! the left side is positive only if D > t and L + D > ε, and then at most D − t. So the bound's
//! δ′(ε) and the true δ satisfy
//!
//! δ′(ε) ≤ δ(ε − t) + e^{K(λ) − λε}·e^{−θt + (λ+θ)v/2 + (λ+θ)²v/2}/(eθ),
//!
//! where K is the bound's ln E(e^{λL}), which is not below that of L. What else raises the bound (mass
//! that wraps, margins of rounding, tails that are moved) is taken off δ′ first.

use std::ops::{Add, AddAssign, Mul};

/// By how much a lattice or a sum may be above the losses that it stands for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Raised {
    /// v, above.
    pub variance: f64,
    /// Tilted mass that was added.
    pub excess: f64,
    /// ln of the factor by which masses may have grown.
    pub relative: f64,
    /// Added to losses.
    pub shift: f64,
    /// P-mass that may have moved by any amount.
    pub moved: f64,
}

/// Largest P-mass that a release's lattice moves up to its start.
const LOW_TAIL: f64 = 1e-20;
/// Margin of a release's masses.
const MARGIN: f64 = 1e-11;
/// Margin of a release's losses, relative to a step.
const DISPLACED: f64 = 1e-6;

impl Raised {
    /// Nothing is known of it.
    pub const UNKNOWN: Self = Self { variance: f64::INFINITY, excess: 0.0, relative: 0.0, shift: 0.0, moved: 0.0 };

    /// Losses of one release on a grid of `step`.
    pub fn by_split(step: f64) -> Self {
        Self { variance: 0.25 * step * step, excess: 0.0, relative: MARGIN, shift: DISPLACED * step, moved: LOW_TAIL }
    }

    /// A lower bound on the true ε at e^`log_delta`, at least 0. `upper` is the bound's ε at a given
    /// ln δ, without infinite losses; `log_moment` its K at λ = `tilt`.
    pub fn least_epsilon(&self, log_delta: f64, tilt: f64, log_moment: f64, upper: impl Fn(f64) -> f64) -> f64 {
        if !self.variance.is_finite() {
            return 0.0;
        }
        // δ′ is read where it is larger than δ by this factor, to make room for the last term.
        let at = |growth: f64| {
            let epsilon = upper(log_delta + growth);
            let room = (growth - 2.0 * self.relative).exp_m1() - self.moved / log_delta.exp();
            let room = room * (log_delta - log_moment + tilt * epsilon).exp() - self.excess;
            if room > 0.0 { epsilon - self.reach(tilt, room.ln()) - self.shift } else { 0.0 }
        };
        [0.001, 0.003, 0.01, 0.03, 0.1].into_iter().map(at).filter(|least| least.is_finite()).fold(0.0, f64::max)
    }

    /// The least t whose last term is at most e^{K − λε}·e^`log_room`.
    fn reach(&self, tilt: f64, log_room: f64) -> f64 {
        let of = |theta: f64| {
            let both = tilt + theta;
            (0.5 * self.variance * (both + both * both) - 1.0 - theta.ln() - log_room) / theta
        };
        let deviation = self.variance.sqrt().max(1e-300);
        (0..48).map(|i| of(0.05 * 1.2_f64.powi(i) / deviation)).fold(f64::INFINITY, f64::min).max(0.0)
    }
}

impl Add for Raised {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            variance: self.variance + other.variance,
            excess: self.excess + other.excess,
            relative: self.relative + other.relative,
            shift: self.shift + other.shift,
            moved: self.moved + other.moved,
        }
    }
}

impl AddAssign for Raised {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<f64> for Raised {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        Self {
            variance: self.variance * times,
            excess: self.excess * times,
            relative: self.relative * times,
            shift: self.shift * times,
            moved: self.moved * times,
        }
    }
}
