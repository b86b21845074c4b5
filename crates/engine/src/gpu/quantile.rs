//! The quantile function of a noise as `by_quantile` of families.wgsl takes it: cubics in f32, whose density is the noise's.
//!
//! What is drawn has the density 1/(dQ̃/dE)·e^−E/2, Q̃ being what the table makes of the quantile function Q: values that are right to a
//! millionth say little about it. So each piece is a cubic that has Q's values *and slopes* at its ends, a kink of the density is an end
//! of pieces, and the slope inside is compared with Q's: a piece that does not follow it is halved. What is left is below what f32 rounds
//! ([`SLOPE_ERROR`]); a noise for which that takes pieces too narrow for f32 has no table.

use crate::accounting::noise::Noise;

/// Shift that leaves exponent and leading 6 bits of the significand of an f32: cells of E = −ln P(|Z| > |z|), 64 to an octave. `CELL_SHIFT`
/// of families.wgsl.
const CELL_SHIFT: u32 = 23 - 6;
/// `to_bits() >> CELL_SHIFT` of 2^−20, where the second cell begins; the first begins at 0. `FIRST` of families.wgsl.
const FIRST: u32 = (127 - 20) << (23 - CELL_SHIFT);
/// Cells up to E = 2^6, more than words make: u ≥ 2^−65. `CELLS` of families.wgsl.
const CELLS: u32 = (26 << (23 - CELL_SHIFT)) + 1;
/// Numbers of a piece: where it begins, 1/width, and the coefficients of the cubic by the position inside. `PIECE` of families.wgsl.
const PIECE: usize = 6;

/// Largest relative difference of dQ̃/dE from dQ/dE at the same E, with coefficients as f32 holds them: four of its units.
pub const SLOPE_ERROR: f64 = 2.5e-7;
/// The same of Q̃ and Q.
const VALUE_ERROR: f64 = 1.25e-7;
/// Least width of a half, relative to E: 128 numbers of f32. Next to 0 these are no end: halves of halves are not taken further than this.
const NARROWEST: f32 = 1.0 / 65_536.0;
const HALVINGS: u32 = 12;
/// Most pieces: 768 KiB.
const MOST_PIECES: usize = 1 << 15;

/// Q and its slope at an E that f32 holds.
#[derive(Clone, Copy)]
struct Node {
    e: f32,
    value: f64,
    slope: f64,
}

impl Node {
    fn new(noise: &dyn Noise, e: f32) -> Self {
        let (value, slope) = exact(noise, e.into());
        Self { e, value, slope }
    }
}

/// Q(E) and dQ/dE = P(|Z| > z)/2z(z).
fn exact(noise: &dyn Noise, e: f64) -> (f64, f64) {
    let slope = |value: f64| 0.5 * (-e - noise.log_density(value)).exp();
    let mut value = if e == 0.0 { 0.0 } else { noise.survival_quantile(0.5 * (-e).exp()) };
    // Tails have all digits everywhere, quantiles not where hardly anything is left of them: Newton's method on ln P.
    if e > 1.0 {
        for _ in 0..20 {
            let tail = noise.survival(value);
            let step = tail / noise.density(value) * (e + (2.0 * tail).ln());
            value += step;
            if step.abs() <= 1e-13 * value {
                break;
            }
        }
    }
    (value, slope(value))
}

/// The E at which a cell begins.
fn edge(cell: u32) -> f32 {
    if cell == 0 { 0.0 } else { f32::from_bits((FIRST + cell - 1) << CELL_SHIFT) }
}

/// The number of the first piece of each cell, and that of all pieces; then the pieces. `None` where f32 cannot follow the noise.
#[must_use]
pub fn table(noise: &dyn Noise) -> Option<Vec<f32>> {
    // Zero is an edge already.
    let mut kinks = noise
        .kinks()
        .iter()
        .map(|&x| -(2.0 * noise.survival(x)).ln())
        .filter(|e| *e > 0.0)
        .map(|e| e as f32)
        .peekable();
    let (mut starts, mut pieces) = (vec![], vec![]);
    let mut left = Node::new(noise, 0.0);
    for cell in 0..CELLS {
        starts.push((pieces.len() / PIECE) as f32);
        let end = edge(cell + 1);
        while left.e < end {
            let next = kinks.next_if(|&kink| kink < end).unwrap_or(end);
            // Two kinks at one number of f32.
            if next > left.e {
                let right = Node::new(noise, next);
                add_pieces(noise, left, right, HALVINGS, &mut pieces)?;
                left = right;
            }
        }
    }
    starts.push((pieces.len() / PIECE) as f32);
    starts.extend(pieces);
    Some(starts)
}

/// The cubic between two nodes, or those between each and the middle.
fn add_pieces(noise: &dyn Noise, left: Node, right: Node, halvings: u32, pieces: &mut Vec<f32>) -> Option<()> {
    let width = f64::from(right.e) - f64::from(left.e);
    let (a, b) = (left.slope * width, right.slope * width);
    let inverse_width = width.recip() as f32;
    // By Q's values, or where these are so close that their difference has no digits, by the slopes alone.
    for rise in [right.value - left.value, 0.5 * (a + b)] {
        let cubic = [left.value, a, 3.0 * rise - 2.0 * a - b, a + b - 2.0 * rise].map(|v| v as f32);
        let follows = [0.0, 0.07, 0.21, 0.35, 0.5, 0.65, 0.79, 0.93, 1.0].into_iter().all(|t| {
            let (value, slope) = exact(noise, f64::from(left.e) + t * width);
            let (drawn, drawn_slope) = cubic_at(inverse_width, cubic, t);
            // Also false for numbers that f32 does not hold.
            (drawn - value).abs() <= VALUE_ERROR * value && (drawn_slope - slope).abs() <= SLOPE_ERROR * slope
        });
        if follows {
            pieces.extend([left.e, inverse_width]);
            pieces.extend(cubic);
            return (pieces.len() <= MOST_PIECES * PIECE).then_some(());
        }
    }
    let middle = f32::midpoint(left.e, right.e);
    if halvings == 0 || middle - left.e < NARROWEST * middle {
        return None;
    }
    let middle = Node::new(noise, middle);
    add_pieces(noise, left, middle, halvings - 1, pieces)?;
    add_pieces(noise, middle, right, halvings - 1, pieces)
}

/// A cubic's value and its slope by E.
fn cubic_at(inverse_width: f32, cubic: [f32; 4], t: f64) -> (f64, f64) {
    let [a, b, c, d] = cubic.map(f64::from);
    (a + t * (b + t * (c + t * d)), (b + t * (2.0 * c + t * 3.0 * d)) * f64::from(inverse_width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::noise::{CustomDensity, NoiseSpec};

    /// As `by_quantile` finds it.
    fn piece(table: &[f32], e: f32) -> &[f32] {
        let leading = (e.to_bits() >> CELL_SHIFT).clamp(FIRST - 1, FIRST + CELLS - 2);
        let cell = (leading + 1 - FIRST) as usize;
        let (starts, pieces) = table.split_at(CELLS as usize + 1);
        let (mut low, mut high) = (starts[cell] as usize, starts[cell + 1] as usize);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if e < pieces[PIECE * middle] { high = middle } else { low = middle }
        }
        &pieces[PIECE * low..][..PIECE]
    }

    /// As `by_quantile` computes it.
    fn drawn(table: &[f32], e: f32) -> f32 {
        let piece = piece(table, e);
        let t = (e - piece[0]) * piece[1];
        piece[2] + t * (piece[3] + t * (piece[4] + t * piece[5]))
    }

    /// Value and slope of what the coefficients say, without what f32 rounds of the position.
    fn drawn_with_slope(table: &[f32], e: f64) -> (f64, f64) {
        let &[start, inverse, a, b, c, d] = piece(table, e as f32) else { unreachable!() };
        cubic_at(inverse, [a, b, c, d], (e - f64::from(start)) * f64::from(inverse))
    }

    fn noises() -> Vec<(NoiseSpec, Box<dyn Noise>)> {
        let mut specs: Vec<_> = [1.0, 1.05, 1.5, 2.0, 2.5, 3.0, 6.0, 20.0, 100.0]
            .map(|exponent| NoiseSpec::GeneralizedGaussian { exponent, scale: 0.7 })
            .into();
        let gentle = [(0.0, 1.0), (1.0, 0.8), (2.0, 0.3), (3.0, 0.02)];
        for density in [
            CustomDensity::from_formula("1 / (1 + x^4)"),
            CustomDensity::from_formula("1 / cosh(x)"),
            CustomDensity::from_points("gentle", &gentle),
        ] {
            specs.push(NoiseSpec::Custom { density: density.unwrap(), scale: 0.4 });
        }
        specs.into_iter().map(|spec| (spec.clone(), spec.build().unwrap())).collect()
    }

    /// Density by density, not value by value, between the places where pieces are checked, too.
    #[test]
    fn the_drawn_density_is_the_noises() {
        for (spec, noise) in noises() {
            let table = table(&*noise).unwrap();
            let (mut worst, mut worst_value) = (0.0_f64, 0.0_f64);
            for k in 0..100_000 {
                // In the core, in the tail, and close to 0.
                let share = (f64::from(k) + 0.5) / 100_000.0;
                let e = match k % 3 {
                    0 => -share.ln(),
                    1 => 45.0 * share,
                    _ => (-44.0 * share).exp(),
                };
                let e = f64::from(e as f32);
                let (value, slope) = exact(&*noise, e);
                // 1 − u has no digits left there, and the density is that at 0.
                let value = if e < 1e-8 { e * slope } else { value };
                // z̃ = e^−E/(2 dQ̃/dE) against z.
                worst = worst.max((slope / drawn_with_slope(&table, e).1 - 1.0).abs());
                worst_value = worst_value.max((f64::from(drawn(&table, e as f32)) / value - 1.0).abs());
            }
            let pieces = (table.len() - CELLS as usize - 1) / PIECE;
            println!("{}: {pieces} pieces, density off by {worst:.1e}, values by {worst_value:.1e}", spec.family());
            assert!(worst < 5e-7, "{spec:?}: {worst:e}");
            assert!(worst_value < 5e-7, "{spec:?}: {worst_value:e}");
        }
    }

    /// I_2 − 1 of the drawn law, which steps in its density would multiply where the shift is small.
    #[test]
    fn a_small_shift_shows_what_is_priced() {
        for (spec, noise) in noises() {
            let table = table(&*noise).unwrap();
            let density = |z: f64| {
                let z = z.abs();
                let e = -(2.0 * noise.survival(z)).ln();
                let (value, slope) = drawn_with_slope(&table, e);
                let e = e - (value - z) / slope;
                0.5 * (-e).exp() / drawn_with_slope(&table, e).1
            };
            let (tau, points) = (1e-2 * noise.scale(), 100_000);
            let reach = noise.survival_quantile(1e-8);
            let step = 2.0 * reach / f64::from(points);
            // Both by the same points: a sum is no integral over kinks.
            let moment = |density: &dyn Fn(f64) -> f64| -> f64 {
                let at = |k: i32| {
                    let z = step * (f64::from(k) + 0.5) - reach;
                    let here = density(z);
                    (density(z - tau) - here).powi(2) / here * step
                };
                (0..points).map(at).sum()
            };
            let (drawn, priced) = (moment(&density), moment(&|z| noise.density(z)));
            println!("{}: {drawn:.6e} drawn, {priced:.6e} priced", spec.family());
            assert!((drawn / priced - 1.0).abs() < 1e-4, "{spec:?}: {drawn} {priced}");
        }
    }

    #[test]
    fn what_f32_cannot_follow_has_no_table() {
        // Where E is rounded, a bend is, too.
        let fall = |end| {
            let points = [(0.0, 1.0), (1.0, 0.8), (end, 0.1), (3.0, 0.02)];
            NoiseSpec::Custom { density: CustomDensity::from_points("steep", &points).unwrap(), scale: 1.5 }
        };
        for noise in [fall(1.05), fall(1.0 + 1e-7), NoiseSpec::GeneralizedGaussian { exponent: 3.0, scale: 1e60 }] {
            assert!(table(&*noise.build().unwrap()).is_none(), "{noise:?}");
        }
    }
}
