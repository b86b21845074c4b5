//! A vector's sums at every order from those at a few.
//!
//! ln I_k/(k(k−1)) is smooth in k (½J·τ² for small τ), so a polynomial through a few orders gives
//! the rest. Its error is known for each row at every order; its largest effect on a sum is added.

use super::{
    rows::{Row, combine},
    series::TERMS,
};

/// Number of orders summed.
const FEW: usize = 10;
/// Accepted relative error of interpolation.
const MISSED: f64 = 1e-11;

/// Interpolates sums at all orders from those at a few.
pub(super) struct Interpolation {
    orders: usize,
    /// The rows at the few orders.
    few: Vec<Vec<f64>>,
    /// Weights of the sums at the few orders in those at all orders.
    shares: Vec<Vec<f64>>,
    /// Error of the rows' polynomials, for vectors of the largest norm.
    missed: Vec<f64>,
}

impl Interpolation {
    /// `None` if not less work, or too inaccurate. `squared_norm` is the largest Σψ².
    pub fn new(rows: &[Row], orders: usize, squared_norm: f64) -> Option<Self> {
        if orders < 2 * FEW || rows.len() * orders <= FEW * (rows.len() + orders) {
            return None;
        }
        let last = (orders - 1) as f64;
        // Chebyshev points of the second kind, which include both ends.
        let angle = |i: usize| std::f64::consts::PI * i as f64 / (FEW - 1) as f64;
        let places: [usize; FEW] = std::array::from_fn(|i| (0.5 * last * (1.0 - angle(i).cos())).round() as usize);
        // k(k−1), order j being k = j + 2.
        let pairs = |order: usize| ((order + 1) * (order + 2)) as f64;
        let share = |i: usize, order: usize| {
            let others = places.iter().filter(|place| **place != places[i]);
            let ratio = |place: &usize| (order as f64 - *place as f64) / (places[i] as f64 - *place as f64);
            others.map(ratio).product::<f64>() * pairs(order) / pairs(places[i])
        };
        let shares: Vec<Vec<f64>> = (0..FEW).map(|i| (0..orders).map(|order| share(i, order)).collect()).collect();
        let few: Vec<Vec<f64>> =
            rows.iter().map(|row| places.iter().map(|place| row.values[*place]).collect()).collect();
        // |Σψ²T_j| ≤ Σψ² on each panel, and these add up to the square sum.
        let mut missed = vec![0.0; orders];
        let panels = rows.chunk_by(|a, b| a.place / TERMS == b.place / TERMS);
        let mut few_rows = few.iter();
        for panel in panels {
            let mut of_panel = vec![0.0; orders];
            for (row, few) in panel.iter().zip(few_rows.by_ref()) {
                let guesses = combine(few, &shares, orders);
                for ((sum, value), guess) in of_panel.iter_mut().zip(&row.values).zip(guesses) {
                    *sum += (value - guess).abs();
                }
            }
            // NaN counts as too inaccurate.
            if !of_panel.iter().zip(&panel[0].values).all(|(sum, first)| *sum <= MISSED * first) {
                return None;
            }
            missed.iter_mut().zip(of_panel).for_each(|(missed, sum)| *missed = sum.max(*missed));
        }
        missed.iter_mut().for_each(|missed| *missed *= squared_norm);
        Some(Self { orders, few, shares, missed })
    }

    /// As [`combine`] with all rows, or slightly more.
    pub fn combine(&self, sums: &[f64]) -> Vec<f64> {
        let mut all = combine(&combine(sums, &self.few, FEW), &self.shares, self.orders);
        all.iter_mut().zip(&self.missed).for_each(|(sum, missed)| *sum += missed);
        all
    }
}
