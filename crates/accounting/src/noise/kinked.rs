//! ln I_k of a density with a kink at 0, by quadrature on three pieces cut at 0 and τ (in scales).
//!
//! Nodes outside [0, τ] are the same for all shifts, so their powers, and z there, are computed
//! once per density. A node and its mirror image about τ/2, where z and its shift change places,
//! share their logarithms: the image has 1/r for r, and z·r for z.

use std::{f64::consts::FRAC_PI_2, sync::OnceLock};

use super::{
    Noise,
    moments::{Node, Rule, is_hopeless, trapezoid},
};

/// A density analytic on either side of a kink at 0: piecewise quadrature converges geometrically.
pub(super) trait KinkedDensity: Noise {
    /// The quadrature nodes. Orders that reach further are useless, and count as infinite.
    fn nodes(&self) -> &Nodes;
    /// ln(z(0)/z(y)), y ≥ 0.
    fn fall(&self, y: f64) -> f64;
    /// The factor on every fall when all lengths are scaled by t, if it is a single number.
    fn fold(&self, _t: f64) -> Option<f64> {
        None
    }
    /// fall(y + t) − fall(y) without cancellation, where `fall` = fall(y) and `fold` = fold(t).
    fn rise(&self, y: f64, fall: f64, t: f64, fold: Option<f64>) -> f64;
    /// Distance from 0 and from t within which ln r contributes nothing to I_k, whatever k.
    fn flat(&self, _t: f64) -> f64 {
        0.0
    }
    /// Distance from 0 and t beyond which the contribution to I_2..I_k is negligible.
    fn reach(&self, k: f64, t: f64) -> f64;
    /// The peak of z·r^k beyond t as (distance from t, width), if [`FAR`] enough to be narrow.
    fn peak(&self, _k: f64, _t: f64) -> Option<(f64, f64)> {
        None
    }

    /// ln r at x for a shift by τ.
    fn kinked_log_ratio(&self, x: f64, tau: f64) -> f64 {
        let (a, b) = (x.abs() / self.scale(), (x - tau).abs() / self.scale());
        // Not as a − b, which loses digits where both are large and close.
        let difference = (x.abs() - (x - tau).abs()) / self.scale();
        if difference > 0.0 {
            self.rise(b, self.fall(b), difference, None)
        } else {
            -self.rise(a, self.fall(a), -difference, None)
        }
    }
}

/// A peak nearer than this is as wide as its distance.
pub(super) const FAR: f64 = 0.3;
/// Where the nodes left of 0 and right of τ begin: at a distance of e^−3.7−e^3.7 = 2e-18.
const NEAR: f64 = 3.7;
/// Where the nodes between 0 and τ end: 1e-20·τ from 0.
const BETWEEN: f64 = 3.4;
/// Minimum number of halvings available, …
const HALVED: usize = 2;
/// … down to this step at least, further for a narrow peak, …
const FINE: f64 = 0.0075;
/// … by at most this many more halvings.
const FINER: usize = 4;
/// Number of levels, from a density's coarsest step to the finest.
const LEVELS: usize = 11;

/// Nodes of all levels, each computed on first use. Between 0 and τ the rules are
/// double-exponential (Takahasi & Mori 1974), towards infinity single-exponential.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    flat: f64,
    reach: f64,
    step: f64,
    levels: Vec<Level>,
}

/// The nodes that a level adds to the coarser ones.
#[derive(Clone, Debug, Default)]
struct Level {
    outside: OnceLock<Vec<Outside>>,
    between: OnceLock<Vec<Between>>,
}

/// A node at −y and its mirror image at τ + y.
#[derive(Clone, Copy, Debug)]
struct Outside {
    y: f64,
    fall: f64,
    /// ln of step·z/z(0).
    log_weight: f64,
    weight: f64,
}

/// A node at share·τ, below the middle, and its mirror image.
#[derive(Clone, Copy, Debug)]
struct Between {
    share: f64,
    /// 1 − 2·share.
    gap: f64,
    /// For τ = 1, for densities where [`KinkedDensity::fold`] gives the rest.
    fall: f64,
    rise: f64,
    /// ln of the step, over τ.
    log_step: f64,
}

impl Nodes {
    /// Nodes from `flat` out to `reach`, `step` apart on the first level.
    pub fn new(flat: f64, reach: f64, step: f64) -> Self {
        Self { flat, reach, step, levels: vec![Level::default(); LEVELS] }
    }

    fn outside(&self, level: usize, density: &dyn KinkedDensity) -> &[Outside] {
        self.levels[level].outside.get_or_init(|| {
            // Here u − e^−u is above ln(reach), as reach is above 1.
            let last = self.reach.min(1e290).ln().max(0.0) + 0.6;
            let (places, step) = places(first_place(self.flat), last, self.step, level);
            places.into_iter().map(|u| Outside::new(u, step, density)).collect()
        })
    }

    fn between(&self, level: usize, density: &dyn KinkedDensity) -> &[Between] {
        self.levels[level].between.get_or_init(|| {
            let (places, step) = places(0.0, BETWEEN, self.step, level);
            places.into_iter().map(|u| Between::new(u, step, density)).collect()
        })
    }
}

impl Outside {
    #[inline(never)]
    fn new(u: f64, step: f64, density: &dyn KinkedDensity) -> Self {
        let back = (-u).exp();
        let y = (u - back).exp();
        let fall = density.fall(y);
        let log_weight = (step * y * (1.0 + back)).ln() - fall;
        Self { y, fall, log_weight, weight: log_weight.exp() }
    }
}

impl Between {
    #[inline(never)]
    fn new(u: f64, step: f64, density: &dyn KinkedDensity) -> Self {
        let w = FRAC_PI_2 * u.sinh();
        let (share, rest) = ((1.0 + (2.0 * w).exp()).recip(), (1.0 + (-2.0 * w).exp()).recip());
        let (gap, fall) = (w.tanh(), density.fall(share));
        // dx = τ·(π/4)·cosh u/cosh² w du. The middle is its own mirror image.
        let once = if u == 0.0 { 0.5 } else { 1.0 };
        let log_step = (once * step * 2.0 * FRAC_PI_2 * u.cosh() * share * rest).ln();
        Self { share, gap, fall, rise: density.rise(share, fall, gap, None), log_step }
    }
}

/// The first node's u at distances from `flat`: u − e^−u = ln(flat), by Newton's method from below.
fn first_place(flat: f64) -> f64 {
    (0..20).fold(-NEAR, |u: f64, _| {
        let back = (-u).exp();
        u + ((flat.ln() - u + back) / (1.0 + back)).max(0.0)
    })
}

/// The points that a level adds to a grid on [low, high], and the first level's spacing (≈ `step`).
#[inline(never)]
fn places(low: f64, high: f64, step: f64, level: usize) -> (Vec<f64>, f64) {
    let first = ((high - low) / step).ceil();
    let count = (first as usize) << level;
    // Both ends belong to the first level; later levels add the odd points.
    let new = (0..=count).filter(|j| level == 0 || j % 2 == 1);
    (new.map(|j| low + j as f64 * ((high - low) / count as f64)).collect(), (high - low) / first)
}

/// Fills `out[j]` = ln I_{j+2}(τ).
pub(super) fn kinked_log_moments(density: &dyn KinkedDensity, tau: f64, out: &mut [f64]) {
    let tau = tau.abs();
    if is_hopeless(density, tau) {
        return out.fill(f64::INFINITY);
    }
    let t = tau / density.scale();
    if t == 0.0 {
        return out.fill(0.0);
    }
    let nodes = density.nodes();
    // Steps in ln y up to about w/y see a peak of width w at distance y. Twice the last step must
    // see it to ten digits, so that halving changes little; else the order is infinite.
    let resolved = |k: f64, step: f64| density.peak(k, t).is_none_or(|(y, w)| w > 2.2 * step * y);
    let step = |level: usize| nodes.step * 0.5f64.powi(level as i32);
    // Narrow peaks (exponents above 2) get finer steps, up to order 32; the rest is useless.
    let typical = (out.len() + 1).min(32) as f64;
    let fine = (HALVED..LEVELS - 1 - FINER).find(|level| step(*level) <= FINE).unwrap_or(LEVELS - 1 - FINER);
    let finest = (fine..=fine + FINER).find(|level| resolved(typical, step(*level))).unwrap_or(fine);
    // As k grows, peaks move away and narrow relative to their distance.
    let every: Vec<f64> = (2..out.len() + 2).map(|k| k as f64).collect();
    let orders = every.partition_point(|k| resolved(*k, step(finest)) && density.reach(*k, t) <= nodes.reach);
    let (out, unresolved) = out.split_at_mut(orders);
    unresolved.fill(f64::INFINITY);
    let reach = density.reach((orders + 1) as f64, t);
    let flat = density.flat(t);
    let log_peak = (density.density(0.0) * density.scale()).ln();
    let fold = density.fold(t);
    let (peak, log_t) = (log_peak.exp(), t.ln());
    let fill = |level: usize, found: &mut Vec<Node>| {
        let outside = nodes.outside(level, density);
        let end = |distance: f64| outside.partition_point(|node| node.y < distance);
        for node in &outside[end(flat)..end(reach)] {
            let rise = density.rise(node.y, node.fall, t, fold);
            found.extend(Node::pair(rise, log_peak + node.log_weight, peak * node.weight));
        }
        for node in if flat > 0.0 { &[] } else { nodes.between(level, density) } {
            let (fall, rise) = match fold {
                Some(fold) => (fold * node.fall, fold * node.rise),
                None => {
                    let fall = density.fall(t * node.share);
                    (fall, density.rise(t * node.share, fall, t * node.gap, None))
                }
            };
            let log_weight = log_peak + node.log_step + log_t - fall;
            found.extend(Node::pair(rise, log_weight, log_weight.exp()));
        }
    };
    let height = |k: f64| {
        density.peak(k, t).map_or(f64::NEG_INFINITY, |(y, _)| {
            let fall = density.fall(y);
            log_peak + y.ln() - fall + (k - 1.0) * density.rise(y, fall, t, None)
        })
    };
    // Up to `flat` on either side, and between; doubled for the error of a rule that ends there.
    let left_out = if flat > 0.0 { 2.0 * (2.0 * flat + t) * peak } else { 0.0 };
    // The weights include the first level's step; only the halvings are left.
    let step = |level| 0.5f64.powi(level as i32);
    trapezoid(&Rule { finest, step: &step, fill: &fill, height: &height, left_out }, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{GeneralizedGaussian, VarianceGamma};

    /// Orders that reach beyond the nodes have peaks too high for any useful ε.
    #[test]
    fn orders_beyond_the_nodes_are_of_no_use() {
        let mut beyond = 0;
        for exponent in [1.000_1, 1.01, 1.1, 1.5, 1.9, 2.5, 4.0, 8.0, 20.0, 50.0, 100.0] {
            let noise = GeneralizedGaussian::new(exponent, 1.0).unwrap();
            for t in (0..200).map(|i| 1e-7 * 1.13f64.powi(i)).filter(|t| !is_hopeless(&noise, *t)) {
                for k in [2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1024.0] {
                    if noise.reach(k, t) > noise.nodes().reach {
                        let y = noise.peak(k, t).map_or(0.0, |(y, _)| y);
                        let fall = noise.fall(y);
                        let height = (k - 1.0) * noise.rise(y, fall, t, None) - fall;
                        assert!(!height.is_finite() || height > 1e5, "p = {exponent}, order {k}, shift {t}: {height}");
                        beyond += 1;
                    }
                }
            }
        }
        assert!(beyond > 1000, "{beyond}");
    }

    /// Left of 0 and right of t, e_k ≤ k²/2·(ln r)²·max(1, r^k) is negligible against p·t²·k²/2.
    #[test]
    fn integrand_is_negligible_beyond_the_reach() {
        for exponent in [1.000_1, 1.1, 1.5, 1.9, 2.5, 4.0, 20.0, 100.0] {
            let noise = GeneralizedGaussian::new(exponent, 1.0).unwrap();
            for t in (0..90).map(|i| 1e-9 * 1.3f64.powi(i)).filter(|t| !is_hopeless(&noise, *t)) {
                for k in [2.0, 3.0, 8.0, 32.0, 256.0] {
                    for further in [1.0, 1.001, 1.1, 3.0, 100.0] {
                        let y = further * noise.reach(k, t);
                        let (fall, far) = (noise.fall(y), noise.fall(y + t));
                        let rise = noise.rise(y, fall, t, None);
                        // At −y, and at t + y.
                        let left = -fall;
                        let right = if far.is_finite() { k * rise - far } else { f64::NEG_INFINITY };
                        let log_part = left.max(right) + 2.0 * (rise / t).ln() - exponent.ln() + y.ln();
                        assert!(log_part < -80.0 || fall.is_infinite(), "p {exponent}, t {t}, {k}: {log_part}");
                    }
                }
            }
        }
    }

    /// The first node is at the requested distance, or at the smallest.
    #[test]
    fn nodes_begin_at_the_requested_distance() {
        for flat in [0.0, 1e-300, 1e-17, 1e-3, 0.3, 0.8, 0.99] {
            let first = first_place(flat);
            let y = (first - (-first).exp()).exp();
            assert!(first == -NEAR || (y / flat - 1.0).abs() < 1e-12, "{flat}: {first} {y}");
        }
    }

    /// The losses at x and at its mirror image about τ/2 have opposite signs and equal size.
    #[test]
    fn losses_are_odd_about_the_middle() {
        let noises: [Box<dyn Noise>; 3] = [
            Box::new(GeneralizedGaussian::new(1.5, 0.7).unwrap()),
            Box::new(GeneralizedGaussian::new(40.0, 0.7).unwrap()),
            Box::new(VarianceGamma::new(0.7).unwrap()),
        ];
        for noise in noises {
            for (x, tau) in [(0.3, 1.0), (-0.4, 1.0), (0.5, 1.0), (-0.1, 1e-6), (1e-12, 0.2), (0.6, 1e-2)] {
                let (there, back) = (noise.log_ratio(x, tau), noise.log_ratio(tau - x, tau));
                assert!((there + back).abs() <= 1e-9 * there.abs(), "{noise:?} {x} {tau}: {there} {back}");
                let plain = noise.log_density(x - tau) - noise.log_density(x);
                assert!((there - plain).abs() <= 1e-13 + 1e-12 * plain.abs(), "{noise:?} {x} {tau}: {there} {plain}");
            }
        }
    }
}
