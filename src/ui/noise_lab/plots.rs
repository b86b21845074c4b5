//! The three charts: densities, tails, orders.

use crate::{
    plot::{
        axis,
        drawing::{Drawing, Line, Range, Shape, Write},
        series::Point,
    },
    ui::text::t,
};

/// Returns chart `kind`: densities, tails or orders.
pub fn drawing(kind: usize, lines: Vec<Line>) -> Drawing {
    let most = |pick: fn(&Point) -> f64| lines.iter().flat_map(|line| &line.points).map(pick).fold(0.0, f64::max);
    let (right, top) = (most(|p| p.0).max(1e-9), most(|p| p.1).max(1e-9));
    let least = lines.iter().flat_map(|line| &line.points).map(|p| p.1).fold(top, f64::min);
    // From the decade below the smallest value, so that curves fill the chart; at most six decades.
    let bottom = 10f64.powf(least.max(top * 1e-6).max(1e-9).log10().floor()).min(0.1 * top);
    let line = |low: f64, high: f64, label| Range { low, high, logarithmic: false, label, write: Write::Number };
    let logarithm = |low: f64, high: f64, label| Range { low, high, logarithmic: true, label, write: Write::Number };
    let names = lines.iter().map(|line| line.name.as_str()).collect::<Vec<_>>().join(", ");
    let (x, y, summary) = match kind {
        0 => (
            line(-right, right, "x"),
            line(0.0, axis::nice_end(top, 4), t!("density")),
            t!("Density of {names}.", names = names),
        ),
        1 => (
            line(0.0, right, "x"),
            logarithm(1e-9, 1.0, t!("chance")),
            t!("Chance that the noise exceeds x in size, on a log scale: {names}.", names = names),
        ),
        _ => {
            let bound = Range { write: Write::Epsilon, ..logarithm(bottom, top, "ε(α)") };
            (line(2.0, 64.0, t!("order α")), bound, t!("Rényi bound for one step, by order: {names}.", names = names))
        }
    };
    Drawing { summary, lines, x, y, shape: Shape::Lines }
}
