//! Pairs on the real line whose loss increases, put on a grid cell by cell.

use super::{
    gaussian::{MARGIN, one_minus_exp, quadrature},
    lattice::{Builder, Lattice},
};

/// A pair (P, Q) with densities on the line, of normal components between N(0, 1) and N(`reach`, 1).
pub(super) trait OnLine {
    /// ln dP/dQ at x, increasing in x.
    fn loss(&self, x: f64) -> f64;
    /// The x of a loss, ±∞ beyond all losses.
    fn place(&self, loss: f64) -> f64;
    /// √(2π) times P's density.
    fn density(&self, x: f64) -> f64;
    /// Mean of the farthest component.
    fn reach(&self) -> f64;
    /// Bounds what rounding may have lowered losses by, between two x.
    fn displaced(&self, from: f64, to: f64) -> f64;
}

/// P-mass of a cell, and ∫(1 − e^{edge−loss}) dP over it: the excess of P over e^edge·Q.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    mass: f64,
    above: f64,
}

/// An upper bound on a grid of `step` for losses from `low` to `high`.
pub(super) fn lattice(pair: &impl OnLine, (low, high): (f64, f64), step: f64) -> Lattice {
    let mut builder = Builder::spanning(low, high, step);
    let cells = builder.cells();
    let mut from = f64::NEG_INFINITY;
    for index in 0..=cells {
        let to = pair.place(builder.edge(index));
        // Mass below the grid joins the first point, mass above the last and infinity.
        if index == 0 {
            builder.at(0, cell(pair, from, to, f64::NEG_INFINITY).mass);
        } else {
            let edge = builder.edge(index - 1);
            let Cell { mass, above } = cell(pair, from, to, edge);
            builder.split(index - 1, mass, (above + mass * pair.displaced(from, to)) / builder.gap());
        }
        from = to;
    }
    let Cell { mass, above } = cell(pair, from, f64::INFINITY, builder.edge(cells));
    let escaped = above.min(mass);
    builder.at(cells, mass - escaped);
    builder.at_infinity(escaped);
    let mut lattice = builder.finish(MARGIN);
    // For masses below the smallest f64.
    lattice.infinity += 1e-320;
    lattice
}

/// Integrates over x between `from` and `to`, where the loss is at least `edge`.
fn cell(pair: &impl OnLine, from: f64, to: f64, edge: f64) -> Cell {
    let reach = pair.reach();
    // Beyond 39 standard deviations the mass is below the smallest f64.
    let within = |x: f64| x.clamp(-39.5, reach + 39.5);
    let mut cell = Cell::default();
    // The integrand is analytic up to π/reach beside the real line.
    quadrature(within(from), within(to), reach, 1.5, &mut |x, weight| {
        let mass = weight * pair.density(x);
        cell.mass += mass;
        cell.above += mass * one_minus_exp((edge - pair.loss(x)).min(0.0));
    });
    cell
}
