//! A density table: ln z is linear between knots, and every integral is a sum over intervals.

use super::DensityError;

#[derive(Debug, PartialEq)]
pub struct Table {
    pub source: String,
    pub knots: Vec<f64>,
    /// ln z − ln z(0). The rest is computed from it, so that a table read back is bitwise the same.
    pub given: Vec<f64>,
    /// Normalised.
    pub log_densities: Vec<f64>,
    /// (ln z)′ on each interval and beyond the last knot; at most 0, the last below 0.
    pub slopes: Vec<f64>,
    /// P(X > knot).
    pub tails: Vec<f64>,
}

/// (∫, ∫u, ∫u²) of e^{−λu} over [0, w], λ ≥ 0; w may be infinite if λ > 0.
fn exponential_moments(lambda: f64, w: f64) -> [f64; 3] {
    if lambda * w < 0.3 {
        return std::array::from_fn(|j| {
            let (mut term, mut sum) = (w.powi(j as i32 + 1), 0.0);
            for n in 0..18 {
                sum += term / (n + j + 1) as f64;
                term *= -lambda * w / (n + 1) as f64;
            }
            sum
        });
    }
    let end = (-lambda * w).exp();
    let edge = |power: i32| if end == 0.0 { 0.0 } else { w.powi(power) * end };
    let zeroth = -(-lambda * w).exp_m1() / lambda;
    let first = (zeroth - edge(1)) / lambda;
    [zeroth, first, (2.0 * first - edge(2)) / lambda]
}

impl Table {
    /// From ln z, up to a constant, at knots in ascending order.
    pub fn new(source: String, knots: Vec<f64>, logs: &[f64]) -> Result<Self, DensityError> {
        let mut given: Vec<f64> = logs.iter().map(|v| v - logs[0]).collect();
        // Removes rises by rounding errors.
        for i in 1..given.len() {
            given[i] = given[i].min(given[i - 1]);
        }
        let mut slopes: Vec<f64> =
            knots.windows(2).zip(given.windows(2)).map(|(x, v)| (v[1] - v[0]) / (x[1] - x[0])).collect();
        let last = slopes[slopes.len() - 1];
        let far = knots[knots.len() - 1];
        if !(last < 0.0 && last.is_finite() && last * far < -1e-6) {
            return Err(DensityError::NotIntegrable { x: far });
        }
        slopes.push(last);
        // Masses from the outside in, relative to the peak.
        let mut tails = vec![0.0; knots.len()];
        let mut beyond = 0.0;
        for i in (0..knots.len()).rev() {
            let width = if i + 1 < knots.len() { knots[i + 1] - knots[i] } else { f64::INFINITY };
            beyond += given[i].exp() * exponential_moments(-slopes[i], width)[0];
            tails[i] = beyond;
        }
        let half = tails[0];
        if !(half > 1e-200 && half.is_finite()) {
            return Err(DensityError::NotIntegrable { x: far });
        }
        for tail in &mut tails {
            *tail *= 0.5 / half;
        }
        let norm = (2.0 * half).ln();
        let log_densities = given.iter().map(|v| v - norm).collect();
        Ok(Self { source, knots, given, log_densities, slopes, tails })
    }

    /// The interval that holds x ≥ 0.
    fn interval(&self, x: f64) -> usize {
        self.knots.partition_point(|&k| k <= x).saturating_sub(1)
    }

    pub fn log_density(&self, x: f64) -> f64 {
        let i = self.interval(x);
        self.log_densities[i] + self.slopes[i] * (x - self.knots[i])
    }

    /// (ln z)′ just right of x ≥ 0.
    pub fn slope(&self, x: f64) -> f64 {
        self.slopes[self.interval(x)]
    }

    /// ln z(y − t) − ln z(y), as a sum of parts of one sign, which do not cancel.
    pub fn log_ratio(&self, y: f64, t: f64) -> f64 {
        let (shifted, own) = ((y - t).abs(), y.abs());
        let (near, far) = (shifted.min(own), shifted.max(own));
        let (first, last) = (self.interval(near), self.interval(far));
        let fall = if first == last {
            // |y| − |y − t| by the signs, as both may be large.
            let across = (y >= t) != (y >= 0.0);
            self.slopes[first] * if across { far - near } else { t.abs() }
        } else {
            let between = self.given[last] - self.given[first + 1];
            self.slopes[first] * (self.knots[first + 1] - near) + between + self.slopes[last] * (far - self.knots[last])
        };
        if own > shifted { -fall } else { fall }
    }

    /// P(X > x) for x ≥ 0, as the mass up to the next knot plus that beyond.
    pub fn survival(&self, x: f64) -> f64 {
        let i = self.interval(x);
        let here = (self.log_densities[i] + self.slopes[i] * (x - self.knots[i])).exp();
        match self.knots.get(i + 1) {
            Some(next) => here * exponential_moments(-self.slopes[i], next - x)[0] + self.tails[i + 1],
            None => here / -self.slopes[i],
        }
    }

    /// x ≥ 0 with P(X > x) = q.
    pub fn survival_quantile(&self, q: f64) -> f64 {
        // The last knot whose tail is at least q; tails decrease.
        let i = self.tails.partition_point(|&t| t >= q).saturating_sub(1);
        let Some(&end) = self.knots.get(i + 1) else {
            return self.knots[i] + ((q / self.tails[i]).ln() / self.slopes[i]).max(0.0);
        };
        let (slope, width) = (self.slopes[i], end - self.knots[i]);
        let peak = self.log_densities[i].exp();
        // From the knot to x: peak·(e^{slope·u} − 1)/slope.
        let mass = (self.tails[i] - q).max(0.0);
        let ratio = slope * mass / peak;
        let u = if ratio.abs() < 1e-8 {
            mass / peak * (1.0 - 0.5 * ratio)
        } else if ratio > -0.5 {
            ratio.ln_1p() / slope
        } else {
            // Most of the interval's mass is passed; what is left has the digits, as 1 + ratio ≈ 0.
            let left = (q - self.tails[i + 1]).max(0.0);
            ((slope * width).exp() - slope * left / peak).ln() / slope
        };
        (self.knots[i] + u.max(0.0)).min(end)
    }

    /// 2·Σ over intervals of ∫ x^j z, j = `power` (1 or 2).
    pub fn moment(&self, power: usize) -> f64 {
        let mut sum = 0.0;
        for (i, &a) in self.knots.iter().enumerate() {
            let width = self.knots.get(i + 1).map_or(f64::INFINITY, |b| b - a);
            let [m0, m1, m2] = exponential_moments(-self.slopes[i], width);
            let of_power = if power == 1 { a * m0 + m1 } else { a * a * m0 + 2.0 * a * m1 + m2 };
            sum += self.log_densities[i].exp() * of_power;
        }
        2.0 * sum
    }

    /// E[(ln z)′²]. On an interval s²·∫z = |s|·(z at its start − z at its end), from the fall of ln
    /// z, as differences of masses lose digits on narrow intervals.
    pub fn information(&self) -> f64 {
        let of = |(i, slope): (usize, &f64)| {
            let width = self.knots.get(i + 1).map_or(f64::INFINITY, |next| next - self.knots[i]);
            if *slope == 0.0 { 0.0 } else { self.log_densities[i].exp() * slope * (slope * width).exp_m1() }
        };
        2.0 * self.slopes.iter().enumerate().map(of).sum::<f64>()
    }

    /// The line between the outermost knots of ln z(x) and ln z(x − τ), τ > 0, cut where either
    /// bends, from differences of knots: those of positions or densities lose digits for small τ.
    pub fn pieces(&self, tau: f64) -> Vec<Piece> {
        let last = self.knots.len() - 1;
        let bends: Vec<f64> = self.knots[1..].iter().rev().map(|k| -k).chain(self.knots.iter().copied()).collect();
        let logs: Vec<f64> = self.log_densities[1..].iter().rev().chain(&self.log_densities).copied().collect();
        // slopes[i]: left of bend i, right of bend i − 1.
        let slopes: Vec<f64> = self.slopes.iter().rev().map(|s| -s).chain(self.slopes.iter().copied()).collect();
        debug_assert!(slopes.len() == bends.len() + 1 && bends.len() == 2 * last + 1);
        // Number of bends at or left of x and of x − τ; the current x.
        let (mut own, mut shifted) = (1, 0);
        let mut at = Place::Own(0);
        let mut pieces = Vec::with_capacity(2 * bends.len());
        while shifted < bends.len() {
            let apart = bends.get(own).map_or(f64::INFINITY, |bend| bend - bends[shifted]);
            let next = if apart <= tau { Place::Own(own) } else { Place::Shifted(shifted) };
            let width = match (at, next) {
                (Place::Own(a), Place::Own(b)) | (Place::Shifted(a), Place::Shifted(b)) => bends[b] - bends[a],
                (Place::Own(a), Place::Shifted(b)) => (bends[b] - bends[a]) + tau,
                (Place::Shifted(a), Place::Own(b)) => (bends[b] - bends[a]) - tau,
            };
            if width > 0.0 {
                // From the bend before x, and to the bend after x − τ.
                let (passed, ahead) = match at {
                    Place::Own(a) => (bends[a] - bends[own - 1], (bends[shifted] - bends[a]) + tau),
                    Place::Shifted(a) => ((bends[a] - bends[own - 1]) + tau, bends[shifted] - bends[a]),
                };
                let log_ratio = if own == shifted {
                    -slopes[own] * tau
                } else {
                    -(slopes[shifted] * ahead + (logs[own - 1] - logs[shifted]) + slopes[own] * passed)
                };
                pieces.push(Piece {
                    width,
                    log_width: width.ln(),
                    log_density: logs[own - 1] + slopes[own] * passed,
                    density_slope: slopes[own],
                    log_ratio,
                    ratio_slope: slopes[shifted] - slopes[own],
                });
            }
            at = next;
            match next {
                Place::Own(_) => own += 1,
                Place::Shifted(_) => shifted += 1,
            }
        }
        pieces
    }
}

/// A bend of ln z(x), or of ln z(x − τ).
#[derive(Clone, Copy)]
enum Place {
    Own(usize),
    Shifted(usize),
}

/// A piece where ln z and ln r = ln z(x − τ) − ln z(x) are linear: their left values and slopes.
pub struct Piece {
    pub width: f64,
    pub log_width: f64,
    pub log_density: f64,
    pub density_slope: f64,
    pub log_ratio: f64,
    pub ratio_slope: f64,
}

impl Piece {
    /// (ln r, ln z) at both ends.
    pub fn ends(&self) -> [(f64, f64); 2] {
        let Self { width, log_density, density_slope, log_ratio, ratio_slope, .. } = *self;
        [(log_ratio, log_density), (log_ratio + ratio_slope * width, log_density + density_slope * width)]
    }

    /// Rise of ln(z·r^k) from the left end to the right.
    fn rise(&self, k: f64) -> f64 {
        (k * self.ratio_slope + self.density_slope) * self.width
    }

    /// ln of the larger end times the width: an upper bound on the integral.
    pub fn log_bound(&self, k: f64) -> f64 {
        k * self.log_ratio + self.log_density + self.rise(k).max(0.0) + self.log_width
    }

    /// Upper bound on ln(∫ z·e_k/(k²/2)) for k from 2 to `last`: e_k ≤ k²/2·(ln r)²·max(1, r^k).
    pub fn log_excess(&self, last: f64) -> f64 {
        let [(left, _), (right, _)] = self.ends();
        // A logarithm by the exponent alone: at most ln 2 too large, and much faster.
        let exponent = (left.abs().max(right.abs()).to_bits() >> 52) as f64 - 1022.0;
        2.0 * std::f64::consts::LN_2 * exponent + self.log_bound(0.0).max(self.log_bound(last))
    }

    /// ln ∫ z·r^k.
    pub fn log_integral(&self, k: f64) -> f64 {
        // The bound times (1 − e^{−f})/f, where f is the fall from the larger end.
        let f = self.rise(k).abs();
        let share = if f < 0.1 {
            // Without a logarithm; the next term is below 1e-15.
            f * (-0.5 + f * (1.0 / 24.0 + f * f * (-1.0 / 2880.0 + f * f / 181_440.0)))
        } else {
            (-(-f).exp_m1() / f).ln()
        };
        self.log_bound(k) + share
    }
}
