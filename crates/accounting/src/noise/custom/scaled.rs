//! A density at a scale, and the moments I_k of its likelihood ratios.

use super::{
    super::{
        NoiseError, check_scale,
        legendre::gauss_legendre,
        moments::{Node, Sums},
    },
    density::CustomDensity,
    table::{Piece, Table},
};
use crate::numeric::log_sum_exp;

/// Part of I_k − 1 that negligible pieces may hold together.
const LEFT_OUT: f64 = 1e-14;

/// A user-supplied density at a scale: `scale`·X, where X has the table of a [`CustomDensity`].
///
/// ```
/// use hushgrad_accounting::noise::{Custom, CustomDensity, Noise};
///
/// let logistic = CustomDensity::from_formula("exp(-x) / (1 + exp(-x))^2")?;
/// let noise = Custom::new(logistic, 2.0)?;
/// // The variance of the logistic distribution is s²·π²/3; the table comes near.
/// let exact = 2.0 * std::f64::consts::PI / 3.0f64.sqrt();
/// assert!((noise.standard_deviation() / exact - 1.0).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Custom {
    pub(super) density: CustomDensity,
    pub(super) scale: f64,
    /// The knots at this scale.
    pub(super) kinks: Vec<f64>,
}

impl Custom {
    /// The distribution of `scale`·X, where X has the table's density.
    ///
    /// # Errors
    /// Unless 1e-100 ≤ scale ≤ 1e100.
    pub fn new(density: CustomDensity, scale: f64) -> Result<Self, NoiseError> {
        check_scale("custom", "scale", scale)?;
        let kinks = density.0.knots.iter().map(|knot| scale * knot).collect();
        Ok(Self { density, scale, kinks })
    }

    pub(super) fn table(&self) -> &Table {
        &self.density.0
    }

    /// ln I_k of a shift by `t` scales. ln r and ln z are linear on each piece: Gauss–Legendre of
    /// I_k − 1 where r^k is moderate, else exact integrals of z·r^k. Exact beyond the last knots.
    pub(super) fn moments(&self, t: f64, out: &mut [f64]) {
        let table = self.table();
        if t == 0.0 || out.is_empty() {
            out.fill(0.0);
            return;
        }
        if !t.is_finite() {
            out.fill(f64::INFINITY);
            return;
        }
        let last = table.knots.len() - 1;
        let steep = -table.slopes[last];
        // Beyond far + τ, r = e^{steep·τ}; below −far, its inverse.
        let ends =
            [Node::new(steep * t, table.tails[last].ln() - steep * t), Node::new(-steep * t, table.tails[last].ln())];
        let pieces = table.pieces(t);
        let linear = linear_orders(&pieces, &ends).min(out.len());
        if linear > 0 {
            let mut nodes = Vec::with_capacity(4 * pieces.len() + 2);
            let least = negligible(&pieces);
            for piece in &pieces {
                if piece.log_excess((linear + 1) as f64) > least {
                    piece_nodes(piece, linear, &mut nodes);
                }
            }
            nodes.extend(ends);
            let mut sums = Sums::linear(linear);
            sums.add(&nodes);
            sums.log_moments(1.0, &mut out[..linear]);
        }
        let mut integrals = Integrals::new(&pieces);
        for (j, value) in out.iter_mut().enumerate().skip(linear) {
            let k = (j + 2) as f64;
            // Rounding of a logarithm is an absolute error.
            *value = integrals.log_moment(k, &ends) + 1e-14;
        }
        for value in out {
            *value *= 1.0 + 1e-12;
        }
    }
}

/// How many orders, from 2 on, sum linearly without overflow or subnormal weights that r^k lifts:
/// `limit` is the largest k with moderate (or negligible) ln z·r^k at the ends of all pieces.
fn linear_orders(pieces: &[Piece], ends: &[Node]) -> usize {
    let (mut limit, mut steepest) = (1e6f64, 0.0f64);
    let mut look = |points: &[(f64, f64)]| {
        let most = if points.iter().any(|(_, log_weight)| *log_weight < -700.0) { -100.0 } else { 400.0 };
        for &(log_ratio, log_weight) in points {
            if log_ratio > 0.0 {
                limit = limit.min((most - log_weight) / log_ratio);
                steepest = steepest.max(log_ratio);
            }
        }
    };
    pieces.iter().for_each(|piece| look(&piece.ends()));
    ends.iter().for_each(|node| look(&[(node.log_ratio(), node.log_term(0.0))]));
    // r^k is moderate everywhere for k up to 400/ln r.
    (limit.max(400.0 / steepest).min(1e6) as usize).saturating_sub(1)
}

/// ln(∫ z·e_k/(k²/2)) of pieces that together are beyond the last digit of I_k − 1, by e_k ≥
/// k(k−1)/2·(ln r)² ≥ k²/4·(ln r)² where r ≥ 1.
fn negligible(pieces: &[Piece]) -> f64 {
    let told = |piece: &Piece| {
        let [(left, left_density), (right, right_density)] = piece.ends();
        let ratio = left.min(right).max(0.0);
        ratio * ratio * (left_density.min(right_density) + piece.log_width).exp()
    };
    (LEFT_OUT * 0.5 * pieces.iter().map(told).sum::<f64>() / pieces.len() as f64).ln()
}

/// Gauss–Legendre nodes of one piece for orders 2 to `linear` + 1.
fn piece_nodes(piece: &Piece, linear: usize, nodes: &mut Vec<Node>) {
    let &Piece { width, log_density, density_slope, log_ratio, ratio_slope, .. } = piece;
    // r is constant where the shift passes no knot.
    if ratio_slope == 0.0 {
        return nodes.push(Node::new(log_ratio, piece.log_integral(0.0)));
    }
    let variation = ((linear + 1) as f64 * ratio_slope.abs() + density_slope.abs()) * width;
    // An n-point rule on e^{±V/2} errs by less than (V/4)^{2n}/(2n)!, or (V/4)^{2n−2}/(2n − 2)!
    // where ln r passes 0, as (r − 1)² has degree 2 there.
    let parts = (variation / 14.0).ceil().clamp(1.0, 1e5);
    let points = match variation {
        v if v < 0.02 => 3,
        v if v < 0.15 => 4,
        v if v < 0.4 => 5,
        v if v < 0.9 => 6,
        v if v < 2.5 => 8,
        v if v < 5.0 => 10,
        _ => 16,
    };
    let (half, log_half) = (0.5 * width / parts, piece.log_width - (2.0 * parts).ln());
    for p in 0..parts as usize {
        let middle = half * (2.0 * p as f64 + 1.0);
        let node = Node::new(log_ratio + ratio_slope * middle, log_density + density_slope * middle + log_half);
        nodes.extend(gauss_legendre(points).iter().map(|point| {
            let u = half * point.at;
            node.moved(ratio_slope * u, density_slope * u, point)
        }));
    }
}

/// ∫ z·r^k by pieces, in logarithms.
struct Integrals<'a> {
    pieces: &'a [Piece],
    bounds: Vec<f64>,
    logs: Vec<f64>,
}

impl<'a> Integrals<'a> {
    fn new(pieces: &'a [Piece]) -> Self {
        Self { pieces, bounds: Vec::with_capacity(pieces.len()), logs: Vec::new() }
    }

    /// ln I_k, given the masses beyond the pieces in `ends`.
    fn log_moment(&mut self, k: f64, ends: &[Node]) -> f64 {
        let Self { pieces, bounds, logs } = self;
        bounds.clear();
        bounds.extend(pieces.iter().map(|piece| piece.log_bound(k)));
        let largest = (0..bounds.len()).max_by(|a, b| bounds[*a].total_cmp(&bounds[*b]));
        // All pieces below e^−60 of one are together beyond the last digit.
        let least = largest.map_or(f64::NEG_INFINITY, |i| pieces[i].log_integral(k) - 60.0);
        logs.clear();
        logs.extend(ends.iter().map(|n| n.log_term(k)));
        logs.extend(pieces.iter().zip(&*bounds).filter(|(_, b)| **b > least).map(|(piece, _)| piece.log_integral(k)));
        log_sum_exp(logs)
    }
}
