//! ln I_k by quadrature, for all orders at once, with the quadrature's error added.
//!
//! With r = z(x−τ)/z(x) the integrand of I_k − 1 is e_k = r^k − 1 − k(r−1) ≥ 0 (∫ z·(r−1) = 0, so subtracting it is free), and
//! e_{k+1} = r·e_k + k·(r−1)², e_1 = 0: every term is positive, nothing cancels, and one logarithm a node serves every k.
//! Where r^k would overflow, ln I_k is a log-sum-exp over the same nodes.

/// A density that is analytic on the whole line: the trapezoidal rule under x = τ + width·sinh(u) converges geometrically
/// (Trefethen & Weideman 2014).
pub(super) trait SmoothDensity: super::Noise {
    /// Distance to the nearest complex singularity, or the natural length if there is none.
    fn width(&self) -> f64;
    /// |x|/width beyond which the integrand of I_k − 1 is below 1e-17 of the integral.
    fn reach(&self, k: f64, tau: f64) -> f64;
}

/// One quadrature node: ln r and ln(weight·z).
pub(super) struct Node {
    pub log_ratio: f64,
    pub log_weight: f64,
}

/// A density with a kink at 0 (and analytic on either side): the line is cut at 0 and τ, so that each piece converges geometrically.
pub(super) trait KinkedDensity: super::Noise {
    /// ln r and ln z where |x| = a, |x − τ| = b, with `difference` = a − b given without cancellation.
    fn logs_of(&self, a: f64, b: f64, difference: f64) -> (f64, f64);
    /// Distance from 0 and τ, in scales, beyond which nothing of I_2..I_k is left.
    fn reach(&self, k: f64, tau: f64) -> f64;
    /// Where z·r^k peaks beyond τ, as (distance from τ, width of the peak), if it can be narrow.
    fn peak(&self, _k: f64, _tau: f64) -> Option<(f64, f64)> {
        None
    }
}

/// Whether a shift tells all, so that no quadrature is worth its time: what z and its shift have in common is 2·P(Z > τ/2), and D_α ≥ D_{1/2} ≥ −ln(4·P(Z > τ/2))
/// for every α ≥ 1/2 (by Cauchy and Schwarz, ∫√(z·z′) ≤ √(∫min·∫max)).
fn is_hopeless<D: super::Noise + ?Sized>(density: &D, tau: f64) -> bool {
    tau > 100.0 * density.scale() && density.tail(0.5 * tau) < 1e-300
}

/// Fills `out[j]` = ln I_{j+2}(τ) for a smooth density.
pub(super) fn smooth_log_moments<D: SmoothDensity + ?Sized>(density: &D, tau: f64, out: &mut [f64]) {
    let tau = tau.abs();
    if is_hopeless(density, tau) {
        return out.fill(f64::INFINITY);
    }
    let width = density.width();
    let u_max = density.reach((out.len() + 1) as f64, tau).asinh();
    let push = |u: f64, nodes: &mut Vec<Node>| {
        let x = tau + width * u.sinh();
        nodes.push(Node {
            log_ratio: density.log_ratio(x, tau),
            log_weight: density.log_density(x) + (width * u.cosh()).ln(),
        });
    };
    trapezoid(Range { left: u_max, right: u_max, finest: 1 << 13 }, tau, out, push, |_, _| true);
}

/// Fills `out[j]` = ln I_{j+2}(τ) for a density with a kink at 0: double-exponential rules (Takahasi & Mori 1974) on (0, τ), and with
/// a single exponential towards infinity on either side.
pub(super) fn kinked_log_moments<D: KinkedDensity + ?Sized>(density: &D, tau: f64, out: &mut [f64]) {
    const LEFT: f64 = 3.8;
    let (tau, scale) = (tau.abs(), density.scale());
    if is_hopeless(density, tau) {
        return out.fill(f64::INFINITY);
    }
    let reach = density.reach((out.len() + 1) as f64, tau).min(1e290).ln();
    let right = reach.max(LEFT);
    // Here u − e^{−u} is ln(reach). Where nothing is left of z, ln r may be so large that all orders would be summed in logarithms.
    let last = (reach.max(0.0) + 0.6).min(right);
    let push = |u: f64, nodes: &mut Vec<Node>| {
        if u <= last {
            let y = scale * (u - (-u).exp()).exp();
            let log_step = y.ln() + (-u).exp().ln_1p();
            let (log_ratio, log_density) = density.logs_of(y, y + tau, -tau);
            nodes.push(Node { log_ratio, log_weight: log_density + log_step });
            // Its mirror image about τ/2, where z and its shift change places.
            nodes.push(Node { log_ratio: -log_ratio, log_weight: log_density + log_ratio + log_step });
        }
        if u.abs() <= LEFT {
            let w = std::f64::consts::FRAC_PI_2 * u.sinh();
            let (a, b) = (tau / (1.0 + (-2.0 * w).exp()), tau / (1.0 + (2.0 * w).exp()));
            // dx = τ·(π/4)·cosh u/cosh² w du = (π/2)·cosh u·2ab/τ du.
            let log_step = (std::f64::consts::PI * u.cosh() / tau).ln() + a.ln() + b.ln();
            let (log_ratio, log_density) = density.logs_of(a, b, tau * w.tanh());
            nodes.push(Node { log_ratio, log_weight: log_density + log_step });
        }
    };
    // A peak of width w at distance y is seen by steps up to about w/y in ln y; one that is not makes its order infinite, which is safe.
    let resolved = |k: f64, step: f64| density.peak(k, tau).is_none_or(|(y, w)| y < 0.3 * scale || w > 1.2 * step * y);
    // Narrow peaks (exponents above 2) get finer steps, up to order 32; what is not resolved even then is of no use to anyone.
    let typical = (out.len() + 1).min(32) as f64;
    let fine = |finest: &usize| resolved(typical, (LEFT + right) / *finest as f64);
    let finest = (10..=13).map(|bits| 1usize << bits).find(fine).unwrap_or(1 << 10);
    trapezoid(Range { left: LEFT, right, finest }, tau, out, push, resolved);
}

/// Interval of the trapezoidal rule in u, and the most nodes it may take.
struct Range {
    left: f64,
    right: f64,
    finest: usize,
}

/// Trapezoidal rule on [−left, right] in u, the step halved until every order agrees to 1e-11 (and I_k itself to 1e-10); what the last halving changed
/// is added to the result. An order that does not settle is infinite. `push` gives the nodes at u (one for each piece of the line).
fn trapezoid(
    range: Range,
    tau: f64,
    out: &mut [f64],
    push: impl Fn(f64, &mut Vec<Node>),
    resolved: impl Fn(f64, f64) -> bool,
) {
    if tau == 0.0 || out.is_empty() {
        out.fill(0.0);
        return;
    }
    let Range { left, right, finest } = range;
    let mut count = 32;
    let mut nodes = Vec::with_capacity(3 * finest / 8);
    let step_of = |count: usize| (left + right) / count as f64;
    for j in 0..=count {
        push(-left + j as f64 * step_of(count), &mut nodes);
    }
    let mut sums = Sums::new(out.len(), &nodes);
    sums.add(&nodes);
    let wanted: Vec<bool> = (0..out.len()).map(|j| resolved((j + 2) as f64, step_of(finest))).collect();
    let mut before = vec![0.0; out.len()];
    sums.log_moments(step_of(count), &mut before);
    loop {
        count *= 2;
        nodes.clear();
        for j in (1..count).step_by(2) {
            push(-left + j as f64 * step_of(count), &mut nodes);
        }
        sums.add(&nodes);
        sums.log_moments(step_of(count), out);
        let agree = out
            .iter()
            .zip(&before)
            .zip(&wanted)
            .all(|((new, old), wanted)| !wanted || (new - old).abs() <= (1e-11 * new.abs()).min(1e-10));
        if agree || count >= finest {
            let linear = sums.linear.len();
            for (j, ((new, old), wanted)) in out.iter_mut().zip(&before).zip(&wanted).enumerate() {
                let change = (*new - *old).abs();
                // A narrow peak that is not yet resolved moves ln I_k by about 1, whatever its size.
                let settled = *wanted && change <= (1e-6 * new.abs()).min(1e-3);
                // Rounding of the sums, and of logarithms of numbers next to 1.
                let (relative, absolute) = if j < linear { (1e-14, 0.0) } else { (1e-12, 1e-14) };
                *new = if settled { *new * (1.0 + relative) + absolute + change } else { f64::INFINITY };
            }
            return;
        }
        before.copy_from_slice(out);
    }
}

/// Running sums for all orders: linear where r^k cannot overflow, logarithmic above.
pub(super) struct Sums {
    /// Σ weight·e_k for k = 2.., eight lanes each, so that the inner loop has no horizontal sum.
    linear: Vec<[f64; 8]>,
    /// ln Σ weight·r^k for the orders above the linear ones.
    logarithmic: Vec<f64>,
}

impl Sums {
    /// All orders linear: the caller knows that r^k stays below e^400.
    pub(super) fn linear(orders: usize) -> Self {
        Self { linear: vec![[0.0; 8]; orders], logarithmic: Vec::new() }
    }

    fn new(orders: usize, nodes: &[Node]) -> Self {
        // The order below which neither r^k overflows nor an underflowing density hides a large r^k. The nodes of finer levels lie
        // between these, so a generous margin (e^400 of e^709) covers them.
        let mut limit = orders as f64 + 1.0;
        for node in nodes {
            if node.log_ratio > 0.0 {
                limit = limit.min(400.0 / node.log_ratio);
                if node.log_weight < -600.0 {
                    limit = limit.min((-200.0 - node.log_weight) / node.log_ratio);
                }
            }
        }
        let linear = if limit < 2.0 { 0 } else { (limit as usize - 1).min(orders) };
        Self { linear: vec![[0.0; 8]; linear], logarithmic: vec![f64::NEG_INFINITY; orders - linear] }
    }

    pub(super) fn add(&mut self, nodes: &[Node]) {
        for chunk in nodes.chunks(8) {
            let (mut ratio, mut square, mut excess) = ([0.0; 8], [0.0; 8], [0.0; 8]);
            for (lane, node) in chunk.iter().enumerate() {
                let weight = node.log_weight.exp();
                if weight > 0.0 {
                    let difference = node.log_ratio.exp_m1();
                    ratio[lane] = 1.0 + difference;
                    square[lane] = weight * difference * difference;
                    excess[lane] = square[lane];
                }
            }
            for (j, sum) in self.linear.iter_mut().enumerate() {
                let k = (j + 2) as f64;
                for lane in 0..8 {
                    sum[lane] += excess[lane];
                    excess[lane] = ratio[lane] * excess[lane] + k * square[lane];
                }
            }
        }
        let first = self.linear.len() + 2;
        for (j, sum) in self.logarithmic.iter_mut().enumerate() {
            let k = (first + j) as f64;
            let exponent = |n: &Node| k * n.log_ratio + n.log_weight;
            let top = nodes.iter().map(exponent).fold(*sum, f64::max);
            if top > f64::NEG_INFINITY {
                // Below e^−50 of the largest, all nodes together are beyond the last digit.
                let rest: f64 = nodes.iter().map(|n| exponent(n) - top).filter(|e| *e > -50.0).map(f64::exp).sum();
                *sum = top + ((*sum - top).exp() + rest).ln();
            }
        }
    }

    pub(super) fn log_moments(&self, step: f64, out: &mut [f64]) {
        let (linear, logarithmic) = out.split_at_mut(self.linear.len());
        for (value, sum) in linear.iter_mut().zip(&self.linear) {
            *value = (step * sum.iter().sum::<f64>()).ln_1p();
        }
        for (value, sum) in logarithmic.iter_mut().zip(&self.logarithmic) {
            *value = sum + step.ln();
        }
    }
}
