//! Composition: convolution of lattices by FFT under an exponential tilt, rounding errors added.
//!
//! *Tilting.* With weights p·e^{λl − K(λ)}, which sum to 1, n-fold convolution commutes with the
//! tilt: δ(ε) = e^{K − λε}·Σ g(l)·e^{−λ(l−ε)}(1 − e^{−(l−ε)}) over l > ε, g the tilted convolution.
//! With λ near the saddle point K′(λ) = ε, the mass that makes up δ(ε) is in the middle of g, so
//! FFT rounding errors are relative to δ(ε) itself, be it 1e-5 or 1e-300.
//!
//! Three errors are added:
//! - *Aliasing*: the window [first, first + N) wraps. Mass that wraps in can only add. Mass above
//!   the top is bounded by Chernoff, P(L > top) ≤ e^{K(λ′) − λ′·top}, and counted as δ.
//! - *Rounding*: each coefficient of a Cooley–Tukey FFT of x is off by at most c·u·log₂N·Σ|x|
//!   (every term passes through log₂N twiddles and sums; Higham 2002, §24.1, has c < 7). The n-th
//!   power multiplies this by n/|φ|; the inverse transform averages. The bound, by frequency, is
//!   added to every element.
//! - *Weights*: the relative error of exp in the tilt and of its sums, raised to the n-th power
//!   ([`Lattice::rounding`]), and of Chernoff's exponents.
//!
//! Added is e^{n·error}, with no error assumed small: a huge n makes the bound useless, not wrong.

use num_complex::Complex;

use super::{
    gap::Raised,
    lattice::{Builder, Lattice, UNIT, sum_rounding},
    transform::{RealTransform, length},
    work::{CUMULANT_POINT, MOMENT_POINT, Work, power, transform},
};

/// Error of an FFT coefficient over u·log₂N·Σ|x|. For N/2 pairs of real numbers (`transform.rs`),
/// their error e becomes ½(|1 − iw| + |1 + iw|)·e ≤ √2·e where two are joined, |w| = 1;
/// 7√2·log₂(N/2) leaves 9.9 for the rounding of that stage.
const FFT_ERROR: f64 = 10.0;
/// ln of the size below which spectrum is dropped (and added to the error).
const NEGLIGIBLE: f64 = -85.0;

/// The tilted sum of independent losses: upper bounds of g on a window, and the mass outside it.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    first: i64,
    step: f64,
    tilt: f64,
    log_moment: f64,
    mass: Vec<f64>,
    /// ln of the factor that covers relative errors.
    log_relative: f64,
    /// P-mass outside the window, counted as infinite loss.
    escaped: f64,
    raised: Raised,
}

/// Range of the sum, from tail bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub low: f64,
    pub high: f64,
    pub mean: f64,
    pub deviation: f64,
    /// ln of a bound on the P-mass above `high`.
    pub log_above: f64,
}

/// Lower bound on the share of δ left after subtracting `escaped`; not positive if none is left.
pub(super) fn left_of(escaped: f64, log_delta: f64) -> f64 {
    -(escaped.ln() - log_delta).exp_m1() - 1e-12
}

/// Upper bound on K of a sum of independent losses.
pub(super) fn log_moment(parts: &[(Lattice, u64)], lambda: f64) -> f64 {
    let each = |(lattice, count): &(Lattice, u64)| {
        let value = lattice.log_moment(lambda);
        *count as f64 * (value + rounding(lattice, lambda, value))
    };
    parts.iter().map(each).sum()
}

/// Rounding error of one loss's K, computed as `value`.
fn rounding(lattice: &Lattice, lambda: f64, value: f64) -> f64 {
    lattice.rounding(lambda) + 8.0 * UNIT * value.abs()
}

/// Rounding error of Chernoff's exponent at λ; `parts`: the sum of its terms' sizes.
pub(super) fn chernoff_rounding(parts: f64, lambda: f64) -> f64 {
    4.0 * UNIT * (parts + (1.0 + lambda) * (lambda.ln_1p() + lambda.ln().abs()))
}

/// ln of λ^λ/(1+λ)^{1+λ}, the factor by which δ(ε) is below e^{K(λ) − λε}.
pub(super) fn chernoff_slack(lambda: f64) -> f64 {
    if lambda == 0.0 { 0.0 } else { lambda * lambda.ln() - (1.0 + lambda) * lambda.ln_1p() }
}

/// The λ > 0 with the least ε by Chernoff's bound at this ln δ, and that ε: with λ = α − 1,
/// conversion from Rényi divergences at real order (Canonne, Kamath & Steinke 2020, Proposition
/// 12).
pub(super) fn chernoff(moment: impl Fn(f64) -> f64, log_delta: f64, largest: f64) -> (f64, f64) {
    let epsilon = |lambda: f64| {
        let slack = chernoff_slack(lambda);
        let moment = moment(lambda);
        let rounding = chernoff_rounding(moment.abs() + log_delta.abs(), lambda);
        (moment - log_delta + slack + rounding) / lambda
    };
    // One valley in ln λ: a walk by factors, then golden-section search.
    let (mut best, mut at) = (f64::INFINITY, 1.0_f64.min(largest));
    let mut lambda = at;
    let mut factor = 4.0;
    for _ in 0..2 {
        loop {
            let value = epsilon(lambda);
            if value.is_nan() || value >= best {
                break;
            }
            (best, at) = (value, lambda);
            if lambda * factor > largest || lambda * factor < 1e-9 {
                break;
            }
            lambda *= factor;
        }
        factor = 1.0 / factor;
        lambda = (at * factor).clamp(1e-9, largest);
    }
    let shrink = 0.5 * (5.0_f64.sqrt() - 1.0);
    let (mut low, mut high) = ((at / 4.0).ln(), (at * 4.0).min(largest).ln());
    let (mut left, mut right) = (high - shrink * (high - low), low + shrink * (high - low));
    let (mut at_left, mut at_right) = (epsilon(left.exp()), epsilon(right.exp()));
    for _ in 0..14 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - shrink * (high - low);
            at_left = epsilon(left.exp());
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + shrink * (high - low);
            at_right = epsilon(right.exp());
        }
    }
    for (x, value) in [(left, at_left), (right, at_right)] {
        if value < best {
            (best, at) = (value, x.exp());
        }
    }
    (at, best)
}

/// Tilted mass allowed below a window.
pub(super) const LOW_TAIL: f64 = 1e-13;
/// Tilted mass allowed to wrap from above; raises the answer by a relative amount of this order.
const ALIASED: f64 = 1e-9;

/// Purpose of a sum, which limits the mass below its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// δ(ε) is read above the window's start: mass below (at most [`LOW_TAIL`]) only wraps.
    Final,
    /// Composed further: all P-mass below moves to the window's start (at most [`LOW_TAIL`] there).
    Composed,
}

/// The window of the sum under tilt λ ≥ 0, with P-mass above of at most e^`log_tail`.
pub(super) fn window(parts: &[(Lattice, u64)], lambda: f64, log_tail: f64, reach: Reach) -> Window {
    let (mut mean, mut variance) = (0.0, 0.0);
    // Lower bound on K under the tilt.
    let mut moment = 0.0;
    let (mut least, mut most) = (0.0, 0.0);
    for (lattice, count) in parts {
        let count = *count as f64;
        let cumulants = lattice.cumulants(lambda);
        mean += count * cumulants.mean;
        variance += count * cumulants.variance;
        moment += count * (cumulants.log_moment - rounding(lattice, lambda, cumulants.log_moment));
        least += count * lattice.loss(0);
        most += count * lattice.last_loss();
    }
    let step = parts.first().map_or(1.0, |(lattice, _)| lattice.step);
    let deviation = variance.sqrt().max(step);
    let mut window = Window { low: least, high: most, mean, deviation, log_above: f64::NEG_INFINITY };
    // The tilted mass above this is at most ALIASED.
    let mut tilted_high = most;
    for steps in [1.0, 2.0, 3.5, 5.0, 6.5, 8.0, 11.0, 16.0, 24.0] {
        let shift = steps / deviation;
        for larger in [lambda + shift, lambda * (1.0 + 0.25 * steps)] {
            if larger > lambda && larger.is_finite() {
                let at = log_moment(parts, larger);
                let high = (at - log_tail) / larger;
                if high < window.high {
                    (window.high, window.log_above) = (high, log_tail);
                }
                tilted_high = tilted_high.min((at - moment - ALIASED.ln()) / (larger - lambda));
            }
        }
        if steps < 12.0 {
            // Tilted mass below `low` is at most e^{K(λ″) − K(λ) + (λ − λ″)·low} for λ″ < λ; for
            // λ″ ≤ 0 this also bounds e^{λ·low − K(λ)}·P(L < low).
            let smaller = match reach {
                Reach::Final => lambda - shift,
                Reach::Composed => (lambda - shift).min(0.0),
            };
            let low = (LOW_TAIL.ln() + moment - log_moment(parts, smaller)) / (lambda - smaller);
            window.low = window.low.max(low);
        }
    }
    // Mass above wraps to the window's start; for tightness it must not reach the mean's region.
    let clear = match reach {
        Reach::Final => tilted_high.min(window.low + tilted_high - (mean - 4.0 * deviation)),
        Reach::Composed => tilted_high,
    };
    window.high = window.high.max(clear).max(window.low + 4.0 * step);
    window
}

/// Longest transform, in points: a quarter of a gigabyte.
const LONGEST_TRANSFORM: f64 = 4e6;
/// Grid points from 0 that f64 tells apart with a margin.
const FARTHEST: f64 = 1e15;

/// Work of [`window`] for these parts.
pub(super) fn window_work(parts: &[(Lattice, u64)]) -> f64 {
    parts.iter().map(|(lattice, _)| (27.0 * MOMENT_POINT + CUMULANT_POINT) * lattice.weight.len() as f64).sum()
}

/// Number of points that [`sum`] would transform.
pub(super) fn points(window: &Window, step: f64) -> f64 {
    (window.high - window.low) / step + 3.0
}

/// The sum of `count` independent losses of each of `parts`, on one grid, under tilt λ; `None` if
/// it needs too many points, or more work than is left.
pub(super) fn sum(parts: &[(Lattice, u64)], lambda: f64, window: &Window, work: &Work) -> Option<Sum> {
    let step = parts.first()?.0.step;
    let farthest = window.low.abs().max(window.high.abs()) / step;
    let few = points(window, step) <= LONGEST_TRANSFORM && farthest <= FARTHEST;
    if !few || parts.iter().any(|(lattice, _)| lattice.is_infinite()) {
        return None;
    }
    let n = length(points(window, step).ceil() as usize);
    let tilting: f64 = parts.iter().map(|(lattice, _)| 2.0 * CUMULANT_POINT * lattice.weight.len() as f64).sum();
    // Forward and back; the rest is spent as it occurs.
    if !work.spend(tilting + 2.0 * transform(n)) {
        return None;
    }
    let first = (window.low / step).floor() as i64 - 1;
    // Rounding up the length raises the true top; Chernoff's bound at `high` stays safe.
    let bits = (n as f64).log2();
    let unit = FFT_ERROR * 0.5 * f64::EPSILON * bits;
    let fourier = RealTransform::of(n);
    let bins = n / 2 + 1;
    let mut product = vec![Complex::new(1.0, 0.0); bins];
    // ln of an upper bound on each |product|, and its relative error.
    let mut log_size = vec![0.0_f64; bins];
    let mut relative = vec![0.0_f64; bins];
    // ln of the possible growth by rounding of powers.
    let mut powered = 0.0;
    let mut offset: i128 = 0;
    let (mut moment, mut log_relative, mut escaped) = (0.0, 0.0, 0.0);
    let mut raised = Raised { excess: ALIASED + LOW_TAIL, ..Raised::default() };
    let mut buffer = vec![0.0; n];
    let mut spectrum = vec![Complex::new(0.0, 0.0); bins];
    // Bins that still count. The widest part comes first: for few bins left, plain sums are faster.
    let mut active: Vec<usize> = (0..bins).collect();
    for (lattice, count) in widest_first(parts, lambda) {
        let (weights, log_moment) = lattice.tilted(lambda);
        // The mean is placed at index 0, so that the spectrum turns slowly.
        let mean = weights.iter().enumerate().map(|(i, w)| i as f64 * w).sum::<f64>().round() as i64;
        // In floating point: the product exceeds 32 bits.
        let direct = active.len() as f64 * weights.len() as f64 * 0.5 < n as f64 * bits;
        let spectral = if direct { active.len() as f64 * weights.len() as f64 } else { transform(n) };
        if !work.spend(spectral + power(active.len(), *count)) {
            return None;
        }
        let unit = if direct {
            for &bin in &active {
                spectrum[bin] = coefficient(&weights, mean, bin, n);
            }
            coefficient_error(weights.len())
        } else {
            buffer.fill(0.0);
            // Subnormal numbers are slow; what is left out is within the error added below.
            for (index, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 1e-200) {
                buffer[(index as i64 - mean).rem_euclid(n as i64) as usize] += weight;
            }
            fourier.forward(&mut buffer, &mut spectrum);
            unit
        };
        let times = *count as f64;
        // The weights sum to 1 up to rounding.
        let whole = 1.0 + sum_rounding(weights.len()) + 4.0 * UNIT;
        powered += times * 8.0 * UNIT;
        active.retain(|&bin| {
            let value = spectrum[bin];
            let size = value.norm();
            log_size[bin] += times * (size + unit).min(whole).ln();
            let counts = log_size[bin] >= NEGLIGIBLE;
            if counts {
                relative[bin] += times * (unit / size.max(f64::MIN_POSITIVE) + 8.0 * UNIT);
                product[bin] *= integer_power(value, *count);
            }
            counts
        });
        log_relative += times * rounding(lattice, lambda, log_moment);
        offset += i128::from(lattice.first + mean) * i128::from(*count);
        moment += times * log_moment;
        escaped += times * lattice.infinity;
        raised += lattice.raised * times;
    }
    let (mut error, mut total) = (0.0, 0.0);
    for bin in 0..bins {
        // Every bin except the first and last stands for two.
        let copies = if bin == 0 || 2 * bin == n { 1.0 } else { 2.0 };
        let bound = log_size[bin].exp();
        if log_size[bin] < NEGLIGIBLE {
            product[bin] = Complex::new(0.0, 0.0);
            error += copies * bound;
        } else {
            error += copies * bound * relative[bin].exp_m1().min(1.0 + powered.exp());
            total += copies * bound;
        }
    }
    product[0].im = 0.0;
    product[bins - 1].im = 0.0;
    fourier.back(&mut product, &mut buffer);
    let error = (error + unit * total * powered.exp()) / n as f64;
    let scale = 1.0 / n as f64;
    let start = (i128::from(first) - offset).rem_euclid(n as i128) as usize;
    raised.excess += 2.0 * error * n as f64;
    let mut mass = Vec::with_capacity(n);
    for value in buffer[start..].iter().chain(&buffer[..start]) {
        mass.push((value * scale + error).max(0.0));
    }
    escaped = (escaped + window.log_above.exp()) * (1.0 + 1e-9);
    // Rounding of sums of n terms, and of exponents λl when they are read.
    let reach = lambda * (first.unsigned_abs() as f64 + n as f64) * step;
    log_relative += UNIT * (8.0 * n as f64 + 8.0 * reach + 8.0 * f64::abs(moment)) + 1e-12;
    raised.relative += log_relative;
    Some(Sum { first, step, tilt: lambda, log_moment: moment, mass, log_relative, escaped, raised })
}

/// Parts by their effect on the spectrum: count times variance.
fn widest_first(parts: &[(Lattice, u64)], lambda: f64) -> Vec<&(Lattice, u64)> {
    let mut order: Vec<_> =
        parts.iter().map(|part| (part.0.cumulants(lambda).variance * part.1 as f64, part)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    order.into_iter().map(|(_, part)| part).collect()
}

/// Elements between two exact roots of unity in [`coefficient`].
const TURNS: usize = 32;

/// Σ_j w_j·e^{−2πi·bin·(j − mean)/n}.
fn coefficient(weights: &[f64], mean: i64, bin: usize, n: usize) -> Complex<f64> {
    let root = |index: i64| {
        let turns = (bin as i128 * i128::from(index)).rem_euclid(n as i128) as f64 / n as f64;
        let turns = if turns > 0.5 { turns - 1.0 } else { turns };
        let (sin, cos) = (-std::f64::consts::TAU * turns).sin_cos();
        Complex::new(cos, sin)
    };
    let turn = root(1);
    let mut sum = Complex::new(0.0, 0.0);
    for (block, chunk) in weights.chunks(TURNS).enumerate() {
        let mut part = Complex::new(0.0, 0.0);
        for weight in chunk.iter().rev() {
            part = part * turn + weight;
        }
        sum += part * root((block * TURNS) as i64 - mean);
    }
    sum
}

/// Error bound of [`coefficient`] for weights that sum to 1: each passes through up to 32 turns
/// (error 12u each, 9u from the root, whose angle is at most π), then through the sum of blocks.
fn coefficient_error(length: usize) -> f64 {
    UNIT * (16.0 * TURNS as f64 + (length / TURNS) as f64 + 32.0)
}

/// zⁿ by squaring: relative error below 4u·n.
fn integer_power(value: Complex<f64>, mut exponent: u64) -> Complex<f64> {
    let (mut result, mut base) = (Complex::new(1.0, 0.0), value);
    loop {
        if exponent & 1 == 1 {
            result *= base;
        }
        exponent >>= 1;
        if exponent == 0 {
            return result;
        }
        base *= base;
    }
}

impl Sum {
    fn loss(&self, index: usize) -> f64 {
        (self.first + index as i64) as f64 * self.step
    }

    /// Lowers `bounds[k]` to this sum's bound on the P-mass at loss k·step, k ≥ 0, within its
    /// window; points outside all windows stay infinite. Returns the P-mass above the window.
    pub fn bounds(&self, bounds: &mut Vec<f64>) -> f64 {
        let points = (self.first + self.mass.len() as i64).max(1) as usize;
        if bounds.len() < points {
            bounds.resize(points, f64::INFINITY);
        }
        for (index, mass) in self.mass.iter().enumerate() {
            if let Ok(k) = usize::try_from(self.first + index as i64) {
                let log_scale = self.log_moment + self.log_relative - self.tilt * self.loss(index);
                // Far from the mean the factor alone may exceed f64.
                let bound =
                    if *mass > 0.0 { (mass.ln() + log_scale).exp().max(f64::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
                bounds[k] = bounds[k].min(bound);
            }
        }
        self.escaped
    }

    /// Upper bound on δ(ε).
    pub fn delta(&self, epsilon: f64) -> f64 {
        if epsilon < self.loss(0) {
            return 1.0;
        }
        let mut sum = 0.0;
        for index in (0..self.mass.len()).rev() {
            let over = self.loss(index) - epsilon;
            if over <= 0.0 {
                break;
            }
            // Elements far above ε are negligible under the tilt.
            if self.tilt * over < 745.0 {
                sum += self.mass[index] * (-self.tilt * over).exp() * -(-over).exp_m1();
            }
        }
        let log_finite = sum.ln() + self.log_moment - self.tilt * epsilon + self.log_relative;
        // In the subnormal range exp has few digits, or none.
        (log_finite.exp() + self.escaped + f64::MIN_POSITIVE).min(1.0)
    }

    /// Lowers each of `deltas` to the bound on δ at its ε (ascending). Those below the window stay.
    pub fn lower(&self, epsilons: &[f64], deltas: &mut [f64]) {
        let decay = (-self.tilt * self.step).exp();
        let faster = (-(self.tilt + 1.0) * self.step).exp();
        let gap = -(-self.step).exp_m1();
        let mut left = epsilons.len();
        // As in `epsilon`: sums from the point above upwards.
        let (mut c, mut d) = (0.0, 0.0);
        for index in (0..self.mass.len()).rev() {
            let above = self.loss(index + 1);
            while let Some(last) = left.checked_sub(1).filter(|last| epsilons[*last] >= self.loss(index)) {
                left = last;
                let short = (epsilons[left] - above).min(0.0) - 4.0 * f64::EPSILON * above.abs();
                let sum: f64 = d - short.exp_m1() * c;
                let log_finite = sum.ln() + self.log_moment - self.tilt * above + self.log_relative;
                let delta = log_finite.exp() + self.escaped + f64::MIN_POSITIVE;
                deltas[left] = deltas[left].min(delta);
            }
            d = decay * (d + gap * c);
            c = self.mass[index] + faster * c;
        }
    }

    /// The smallest ε (of any sign, within the window) with δ(ε) ≤ e^`log_delta`; else infinite.
    pub fn epsilon(&self, log_delta: f64) -> f64 {
        let left = left_of(self.escaped, log_delta);
        if left.is_nan() || left <= 0.0 {
            return f64::INFINITY;
        }
        self.finite_epsilon(log_delta + left.ln())
    }

    /// A lower bound on ε at e^`log_delta` of the losses before they were put on grids; 0 without one.
    pub fn least_epsilon(&self, log_delta: f64) -> f64 {
        let log_moment = self.log_moment + self.log_relative;
        let upper = |log_delta| {
            let epsilon = self.finite_epsilon(log_delta);
            // At the window's start δ may be smaller.
            if epsilon > self.loss(0) { epsilon * (1.0 - 1e-12) } else { f64::NAN }
        };
        self.raised.least_epsilon(log_delta, self.tilt, log_moment, upper)
    }

    /// The smallest ε at which finite losses have a δ of at most e^`log_delta`.
    fn finite_epsilon(&self, log_delta: f64) -> f64 {
        // In logarithms: δ(l_k) = e^{K − λ l_k}·D_k.
        let goal = log_delta - self.log_moment - self.log_relative;
        let decay = (-self.tilt * self.step).exp();
        let faster = (-(self.tilt + 1.0) * self.step).exp();
        let gap = -(-self.step).exp_m1();
        // C_k = Σ_{j≥k} g_j e^{−(λ+1)(l_j−l_k)}; D_k = Σ_{j≥k} g_j
        // e^{−λ(l_j−l_k)}(1 − e^{−(l_j−l_k)}), all terms positive.
        let (mut c, mut d) = (0.0, 0.0);
        for index in (0..self.mass.len()).rev() {
            let (c_above, d_above) = (c, d);
            d = decay * (d + gap * c);
            c = self.mass[index] + faster * c;
            if d > 0.0 && d.ln() > goal + self.tilt * self.loss(index) {
                // Up to the next point a, δ(ε) = e^{K − λa}·(D + (1 − e^{ε−a})·C), sums from a up.
                let above = self.loss(index + 1);
                let t = (goal + self.tilt * above).exp();
                let back = ((d_above - t) / c_above).clamp(-gap, 0.0).ln_1p();
                return above + back + 4.0 * f64::EPSILON * above.abs();
            }
        }
        self.loss(0)
    }

    /// This sum on a coarser grid, still tilted; `step` is a multiple of its step. For windows made
    /// with [`Reach::Composed`]: P-mass below moves to the start, with weight at most [`LOW_TAIL`].
    pub fn coarsen(&self, step: f64) -> Lattice {
        // The ratio may exceed i64 for sums tiny against `step`.
        let (fine, ratio) = (self.step, (step / self.step).round().max(1.0));
        let whole = ratio.min(2f64.powi(62)) as i64;
        let end = self.first + self.mass.len() as i64 - 1;
        let (first, last) = (self.first.div_euclid(whole), end.div_euclid(whole) + 1);
        // Rounding may misalign the grids: losses are taken that much too large.
        let slack = 4.0 * f64::EPSILON * (self.first.abs().max(end.abs()) as f64).max(ratio) * fine;
        let mut weight = vec![0.0; (last - first) as usize + 1];
        weight[0] = LOW_TAIL * (self.tilt * step).exp();
        let gap = -(-step).exp_m1();
        // Shares of mass `over` a cell's start. A move by d scales tilted weight by e^{λd}.
        let share = |over: f64| {
            let over = over * fine + slack;
            let up = (-(-over).exp_m1() / gap).clamp(0.0, 1.0);
            ((1.0 - up) * (-self.tilt * over).exp(), up * (self.tilt * (step - over)).exp())
        };
        let places = if whole <= self.mass.len() as i64 { whole } else { 0 };
        let shares: Vec<(f64, f64)> = (0..places).map(|place| share(place as f64)).collect();
        for (index, mass) in self.mass.iter().enumerate() {
            let at = self.first + index as i64;
            let (start, place) = (at.div_euclid(whole), at.rem_euclid(whole));
            let (down, up) =
                shares.get(place as usize).copied().unwrap_or_else(|| share(at as f64 - start as f64 * ratio));
            let cell = (start - first) as usize;
            weight[cell] += mass * down;
            weight[cell + 1] += mass * up;
        }
        let mut lattice = Lattice {
            first,
            step,
            tilt: self.tilt,
            log_scale: self.log_moment + self.log_relative + 1e-12 + 4.0 * UNIT * places.max(1) as f64,
            weight,
            infinity: self.escaped,
            raised: self.raised
                + Raised {
                    excess: LOW_TAIL * (self.tilt * step).exp(),
                    relative: 1e-12 + 4.0 * UNIT * places.max(1) as f64,
                    shift: slack,
                    ..Raised::by_split(step)
                },
        };
        lattice.trim();
        lattice
    }
}

/// An untilted lattice on another grid, by the safe split.
pub(super) fn regrid(lattice: &Lattice, step: f64) -> Lattice {
    let first = (lattice.loss(0) / step).floor() as i64;
    let last = (lattice.last_loss() / step).ceil() as i64 + 1;
    let mut builder = Builder::new(first, last, step);
    for (index, weight) in lattice.weight.iter().enumerate() {
        if *weight > 0.0 {
            let loss = lattice.loss(index);
            builder.add(loss, weight * (lattice.log_scale - lattice.tilt * loss).exp());
        }
    }
    builder.at_infinity(lattice.infinity);
    let moved = builder.finish(1e-15);
    Lattice { raised: moved.raised + lattice.raised, ..moved }
}
