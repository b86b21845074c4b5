//! The quantile function of a noise as `by_quantile` of families.wgsl takes it: cubics in f32,
//! whose density is the noise's.
//!
//! Draws have the density 1/(dQ̃/dE)·e^−E/2, where Q̃ is the table's version of the quantile
//! function Q: values that are right to a millionth say little about it. So each cubic has Q's
//! values *and slopes* at its ends, a kink of the density is an end of pieces, and the slope inside
//! is compared with Q's: a piece that does not follow it is halved. The remaining error is below
//! f32 rounding ([`SLOPE_ERROR`]); a noise that needs pieces too narrow for f32 has no table.

use crate::accounting::noise::Noise;

/// Shift that leaves exponent and leading 6 bits of an f32's significand: 64 cells per octave of E
/// = −ln P(|Z| > |z|). `CELL_SHIFT` of families.wgsl.
const CELL_SHIFT: u32 = 23 - 6;
/// `to_bits() >> CELL_SHIFT` of 2^−20, where the second cell begins; the first begins at 0. `FIRST`
/// of families.wgsl.
const FIRST: u32 = (127 - 20) << (23 - CELL_SHIFT);
/// Cells up to E = 2^6, beyond what random words yield: u ≥ 2^−65. `CELLS` of families.wgsl.
const CELLS: u32 = (26 << (23 - CELL_SHIFT)) + 1;
/// Numbers of a piece: its start, 1/width, and the cubic's coefficients by the position inside.
/// `PIECE` of families.wgsl.
const PIECE: usize = 6;

/// Largest relative difference of dQ̃/dE from dQ/dE, with f32 coefficients: four units of f32.
pub const SLOPE_ERROR: f64 = 2.5e-7;
/// Largest relative difference of Q̃ from Q.
const VALUE_ERROR: f64 = 1.25e-7;
/// Least width of a half, relative to E: 128 f32 numbers. Near 0, [`HALVINGS`] is the limit.
const NARROWEST: f32 = 1.0 / 65_536.0;
const HALVINGS: u32 = 12;
/// Most pieces: 768 KiB.
const MOST_PIECES: usize = 1 << 15;

/// Q and its slope at an f32 value of E.
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
    // Tails are precise everywhere, quantiles not far out: Newton's method on ln P.
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

/// Returns the number of the first piece of each cell and the number of all pieces, then the
/// pieces. `None` if f32 cannot follow the noise.
#[must_use]
pub fn table(noise: &dyn Noise) -> Option<Vec<f32>> {
    // Zero is already an edge.
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
            // False for two kinks at one f32 number.
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

/// Adds the cubic between two nodes, or halves the piece.
fn add_pieces(noise: &dyn Noise, left: Node, right: Node, halvings: u32, pieces: &mut Vec<f32>) -> Option<()> {
    let width = f64::from(right.e) - f64::from(left.e);
    let (a, b) = (left.slope * width, right.slope * width);
    let inverse_width = width.recip() as f32;
    // From Q's values or, if too close for a difference with digits, from the slopes alone.
    for rise in [right.value - left.value, 0.5 * (a + b)] {
        let cubic = [left.value, a, 3.0 * rise - 2.0 * a - b, a + b - 2.0 * rise].map(|v| v as f32);
        let follows = [0.0, 0.07, 0.21, 0.35, 0.5, 0.65, 0.79, 0.93, 1.0].into_iter().all(|t| {
            let (value, slope) = exact(noise, f64::from(left.e) + t * width);
            let (drawn, drawn_slope) = cubic_at(inverse_width, cubic, t);
            // Also false for numbers beyond f32.
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

/// Value of a cubic and its slope in E.
fn cubic_at(inverse_width: f32, cubic: [f32; 4], t: f64) -> (f64, f64) {
    let [a, b, c, d] = cubic.map(f64::from);
    (a + t * (b + t * (c + t * d)), (b + t * (2.0 * c + t * 3.0 * d)) * f64::from(inverse_width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::noise::{CustomDensity, NoiseSpec};

    /// Finds a piece as `by_quantile` does.
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

    /// Computes Q̃ as `by_quantile` does.
    fn drawn(table: &[f32], e: f32) -> f32 {
        let piece = piece(table, e);
        let t = (e - piece[0]) * piece[1];
        piece[2] + t * (piece[3] + t * (piece[4] + t * piece[5]))
    }

    /// Value and slope by the coefficients, without f32 rounding of the position.
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

    /// Compares densities, not values, also between the points at which pieces are checked.
    #[test]
    fn drawn_density_matches_the_noise() {
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

    /// I_2 − 1 of the drawn law, which steps in its density would multiply at a small shift.
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
            // Both on the same points: a sum over kinks is no integral.
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
    fn noise_too_steep_for_f32_has_no_table() {
        // Rounding E also moves a bend.
        let fall = |end| {
            let points = [(0.0, 1.0), (1.0, 0.8), (end, 0.1), (3.0, 0.02)];
            NoiseSpec::Custom { density: CustomDensity::from_points("steep", &points).unwrap(), scale: 1.5 }
        };
        for noise in [fall(1.05), fall(1.0 + 1e-7), NoiseSpec::GeneralizedGaussian { exponent: 3.0, scale: 1e60 }] {
            assert!(table(&*noise.build().unwrap()).is_none(), "{noise:?}");
        }
    }
}
