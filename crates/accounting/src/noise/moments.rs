//! ln I_k by quadrature for all orders at once, with the quadrature's error added: the rule, its
//! sums, and smooth densities (`kinked.rs`: those with a kink).
//!
//! With r = z(x−τ)/z(x), the integrand of I_k − 1 is e_k = r^k − 1 − k(r−1) ≥ 0 (as ∫ z·(r−1) = 0),
//! and e_{k+1} = r·e_k + k·(r−1)², e_1 = 0: all terms are positive, nothing cancels, and one
//! logarithm per node serves every k. Where z·r^k would overflow, ln I_k is a log-sum-exp.

use super::legendre::Point;
use crate::numeric::max_or_infinite;

/// A density that is analytic on the whole line: the trapezoidal rule under x = τ + width·sinh(u)
/// converges geometrically (Trefethen & Weideman 2014).
pub(super) trait SmoothDensity: super::Noise {
    /// Distance to the nearest complex singularity, or the natural length if there is none.
    fn width(&self) -> f64;
    /// |x|/width beyond which the integrand of I_k − 1 is below 1e-17 of the integral.
    fn reach(&self, k: f64, tau: f64) -> f64;
}

/// A quadrature node: ln r, ln(weight·z), and both exponentiated.
#[derive(Clone, Copy)]
pub(super) struct Node {
    log_ratio: f64,
    log_weight: f64,
    weight: f64,
    /// r − 1.
    difference: f64,
}

impl Node {
    #[inline(never)]
    pub fn new(log_ratio: f64, log_weight: f64) -> Self {
        Self { log_ratio, log_weight, weight: log_weight.exp(), difference: log_ratio.exp_m1() }
    }

    /// The node with ln r = −`rise` ≤ 0, and one with ln r = `rise` and r times its weight.
    pub fn pair(rise: f64, log_weight: f64, weight: f64) -> [Self; 2] {
        let growth = rise.exp_m1();
        let ratio = (1.0 + growth).recip();
        // Beyond the largest number, r rounds to 0.
        let less = if growth.is_finite() { -growth * ratio } else { -1.0 };
        [
            Self { log_ratio: -rise, log_weight, weight, difference: less },
            Self { log_ratio: rise, log_weight: log_weight - rise, weight: weight * ratio, difference: growth },
        ]
    }

    /// This node moved to a point of a rule, where ln r and ln z are larger by the given amounts.
    pub fn moved(&self, log_ratio: f64, log_density: f64, point: &Point) -> Self {
        Self {
            log_ratio: self.log_ratio + log_ratio,
            log_weight: self.log_weight + (log_density + point.log_weight),
            weight: self.weight * point.weight * (1.0 + exp_m1(log_density)),
            difference: self.difference + (1.0 + self.difference) * exp_m1(log_ratio),
        }
    }

    pub fn log_ratio(&self) -> f64 {
        self.log_ratio
    }

    /// weight·z·r.
    fn shifted_weight(&self) -> f64 {
        if self.log_weight > LATE { self.weight * (1.0 + self.difference) } else { self.log_term(1.0).exp() }
    }

    /// k·ln r + ln(weight·z).
    pub fn log_term(&self, k: f64) -> f64 {
        k * self.log_ratio + self.log_weight
    }
}

/// e^x − 1, by its series near 0.
fn exp_m1(x: f64) -> f64 {
    /// 1/10!, …, 1/1!.
    const TERMS: [f64; 10] = {
        let (mut terms, mut n) = ([1.0; 10], 2);
        while n <= 10 {
            terms[10 - n] = terms[11 - n] / n as f64;
            n += 1;
        }
        terms
    };
    if x.abs() < 0.1 { TERMS.iter().fold(0.0, |sum, term| (sum + term) * x) } else { x.exp_m1() }
}

/// True if a shift is so recognisable that quadrature is pointless: z and its shift overlap by
/// 2·P(Z > τ/2), and D_α ≥ D_{1/2} ≥ −ln(4·P(Z > τ/2)) for α ≥ 1/2 (∫√(z·z′) ≤ √(∫min·∫max)).
pub(super) fn is_hopeless(density: &dyn super::Noise, tau: f64) -> bool {
    tau > 100.0 * density.scale() && density.survival(0.5 * tau) < 1e-300
}

/// Fills `out[j]` = ln I_{j+2}(τ) for a smooth density.
pub(super) fn smooth_log_moments(density: &dyn SmoothDensity, tau: f64, out: &mut [f64]) {
    let tau = tau.abs();
    if is_hopeless(density, tau) {
        return out.fill(f64::INFINITY);
    }
    let width = density.width();
    let u_max = density.reach((out.len() + 1) as f64, tau).asinh();
    if tau == 0.0 {
        return out.fill(0.0);
    }
    let step = |level: usize| 2.0 * u_max / (COARSEST << level) as f64;
    let fill = |level: usize, nodes: &mut Vec<Node>| {
        let (start, by) = if level == 0 { (0, 1) } else { (1, 2) };
        nodes.extend((start..=COARSEST << level).step_by(by).map(|j| {
            let u = j as f64 * step(level) - u_max;
            let x = tau + width * u.sinh();
            Node::new(density.log_ratio(x, tau), density.log_density(x) + (width * u.cosh()).ln())
        }));
    };
    trapezoid(
        &Rule { finest: SMOOTH_LEVELS, step: &step, fill: &fill, height: &|_| f64::NEG_INFINITY, left_out: 0.0 },
        out,
    );
}

/// Steps of the coarsest rule for smooth densities, and the number of halvings.
const COARSEST: usize = 32;
const SMOOTH_LEVELS: usize = 8;

/// A trapezoidal rule whose steps are halved level by level.
pub(super) struct Rule<'a> {
    pub finest: usize,
    pub step: &'a dyn Fn(usize) -> f64,
    /// Pushes the nodes that a level adds to the coarser ones.
    pub fill: &'a dyn Fn(usize, &mut Vec<Node>),
    /// Rough ln of I_k's largest integrand where the first level may miss it, non-decreasing in k.
    pub height: &'a dyn Fn(f64) -> f64,
    /// Upper bound on what the nodes leave out of ∫z and of ∫z·r.
    pub left_out: f64,
}

/// Accepted error of ∫z = ∫z·r = 1 beyond `left_out`, over I_k: settles ln I_k to 1e-6 at worst.
const MISSED: f64 = 1e-7;
/// Accepted relative deviation of ln I_k from convexity in k, beyond the last halving's change.
const UNEVEN: f64 = 1e-9;

/// Halves the step until every order agrees to 1e-11 (and I_k itself to 1e-10), and adds the last
/// halving's change. An order that does not settle is infinite. Two levels may agree because both
/// miss something, so the nodes must also give ∫z = ∫z·r = 1, and ln I_k must be convex in k from
/// I_1 = 1 on (Hölder's inequality); orders that fail are infinite too.
pub(super) fn trapezoid(rule: &Rule<'_>, out: &mut [f64]) {
    if out.is_empty() {
        return;
    }
    let &Rule { finest, step, fill, height, left_out } = rule;
    let mut nodes = Vec::new();
    fill(0, &mut nodes);
    let mut sums = Sums::new(out.len(), &nodes, height);
    let mut masses = [0.0; 2];
    let mut add = |nodes: &[Node], sums: &mut Sums| {
        sums.add(nodes);
        for node in nodes {
            masses[0] += node.weight;
            masses[1] += node.shifted_weight();
        }
        masses
    };
    add(&nodes, &mut sums);
    let mut before = vec![0.0; out.len()];
    sums.log_moments(step(0), &mut before);
    for level in 1.. {
        nodes.clear();
        fill(level, &mut nodes);
        let masses = add(&nodes, &mut sums);
        sums.log_moments(step(level), out);
        let missed = masses.iter().fold(0.0f64, |most, mass| max_or_infinite(most, (step(level) * mass - 1.0).abs()));
        // Where I_k is large, the mass of z elsewhere is negligible.
        let whole = |moment: f64| missed <= (MISSED + left_out) * moment.clamp(0.0, 100.0).exp();
        let agree = out.iter().zip(&before).all(|(new, old)| (new - old).abs() <= (1e-11 * new.abs()).min(1e-10))
            && whole(out[0]);
        if agree || level >= finest {
            let linear = sums.linear.len();
            let uneven = uneven(out, &before);
            for (j, (new, old)) in out.iter_mut().zip(&before).enumerate() {
                let change = (*new - *old).abs();
                // An unresolved narrow peak changes ln I_k by about 1, whatever its size.
                let settled = whole(*new) && !uneven[j] && change <= (1e-6 * new.abs()).min(1e-3);
                // Rounding of the sums, and of logarithms of numbers near 1.
                let (relative, absolute) = if j < linear { (5e-14, 0.0) } else { (1e-12, 1e-14) };
                *new = if settled { *new * (1.0 + relative) + absolute + change } else { f64::INFINITY };
            }
            return;
        }
        before.copy_from_slice(out);
    }
}

/// Whether each order or a neighbour breaks convexity in k by more than the last halving explains.
fn uneven(moments: &[f64], before: &[f64]) -> Vec<bool> {
    let mut uneven = vec![false; moments.len()];
    // ln I_1 = 0.
    let at = |j: usize| if j == 0 { (0.0, 0.0) } else { (moments[j - 1], (moments[j - 1] - before[j - 1]).abs()) };
    for j in 1..moments.len() {
        let [below, here, above] = [at(j - 1), at(j), at(j + 1)];
        let explained = UNEVEN * above.0.abs() + 2.0 * (below.1 + here.1 + above.1);
        if above.0 - 2.0 * here.0 + below.0 < -explained {
            uneven[j.saturating_sub(2)..=j].fill(true);
        }
    }
    uneven
}

/// Running sums for all orders: linear where r^k cannot overflow, logarithmic above.
pub(super) struct Sums {
    /// For nodes where k·|r−1| is small at every linear order.
    small: [Powers; 2],
    /// Σ weight·e_k, k = 2.., over the other nodes, in two parts.
    linear: Vec<[f64; 2]>,
    /// ln Σ weight·r^k for the orders above the linear ones.
    logarithmic: Vec<f64>,
}

/// Eight partial sums, so that inner loops need no horizontal sum.
type Lanes = [f64; 8];

/// Σ weight·(r−1)^j, j = 2.., over some nodes: e_k = Σ_j C(k, j)·(r−1)^j.
struct Powers {
    /// The largest k·(1−r) and k·(r−1) that count as small.
    limits: [f64; 2],
    sums: Vec<Lanes>,
}

impl Powers {
    /// Remainder below e_k's last digit (2²⁵/25! = 2e-18); magnitudes sum to at most 4·e_k.
    fn few() -> Self {
        Self { limits: [2.0; 2], sums: vec![[0.0; 8]; 23] }
    }

    /// 8⁴⁹/49! = 3e-19; magnitudes sum to at most 17·e_k, and all terms are positive for r ≥ 1.
    fn many() -> Self {
        Self { limits: [4.0, 8.0], sums: vec![[0.0; 8]; 47] }
    }

    /// True if a node is small at every order and the orders are enough for powers to save work.
    fn takes(&self, node: &Node, orders: usize) -> bool {
        let [below, above] = self.limits;
        let size = node.difference * (orders + 1) as f64;
        -below < size && size < above && orders > self.sums.len()
    }

    /// Takes at most eight nodes.
    fn add(&mut self, nodes: &[&Node]) {
        let (mut difference, mut power) = ([0.0; 8], [0.0; 8]);
        for (lane, node) in nodes.iter().enumerate() {
            difference[lane] = node.difference;
            power[lane] = node.weight * node.difference * node.difference;
        }
        for sum in &mut self.sums {
            for lane in 0..8 {
                sum[lane] += power[lane];
                power[lane] *= difference[lane];
            }
        }
    }

    /// Coefficients m_j/j! of Horner's rule in falling factorials, as Σ C(k, j)·m_j =
    /// k(k−1)·(m_2/2! + (k−2)·(m_3/3! + (k−3)·…)). Empty without nodes.
    fn terms(&self) -> Vec<f64> {
        if self.sums[0] == [0.0; 8] {
            return Vec::new();
        }
        let mut factorial = 1.0;
        (2u32..)
            .zip(&self.sums)
            .map(|(j, sum)| {
                factorial *= f64::from(j);
                sum.iter().sum::<f64>() / factorial
            })
            .collect()
    }
}

/// ln of the largest z·r^k that is summed linearly.
const HIGHEST: f64 = 400.0;
/// A node of ln(weight·z) up to this counts once ln(z·r^k) reaches [`SEEN`], where r^k > e^400.
const LATE: f64 = -600.0;
const SEEN: f64 = -200.0;

impl Sums {
    /// All orders linear: the caller ensures that r^k stays below e^400.
    pub(super) fn linear(orders: usize) -> Self {
        Self { small: [Powers::few(), Powers::many()], linear: vec![[0.0; 2]; orders], logarithmic: Vec::new() }
    }

    fn new(orders: usize, nodes: &[Node], height: &dyn Fn(f64) -> f64) -> Self {
        // Nodes of finer levels lie between these; the margin (e^400 of e^709) covers them.
        let mut limit = orders as f64 + 1.0;
        for node in nodes.iter().filter(|node| node.log_ratio > 0.0) {
            limit = limit.min((HIGHEST - node.log_weight) / node.log_ratio);
        }
        let linear = if limit < 2.0 { 0 } else { (limit as usize - 1).min(orders) };
        let orders_below: Vec<f64> = (2..linear + 2).map(|k| k as f64).collect();
        let linear = orders_below.partition_point(|k| height(*k) < HIGHEST);
        Self { logarithmic: vec![f64::NEG_INFINITY; orders - linear], ..Self::linear(linear) }
    }

    pub(super) fn add(&mut self, nodes: &[Node]) {
        if !self.linear.is_empty() {
            let orders = self.linear.len();
            let (mut rest, late): (Vec<&Node>, Vec<&Node>) = nodes.iter().partition(|node| node.log_weight > LATE);
            for powers in &mut self.small {
                let (small, large): (Vec<&Node>, Vec<&Node>) = rest.iter().partition(|node| powers.takes(node, orders));
                // Evaluating the powers costs about as much as this many nodes.
                if small.len() >= powers.sums.len() {
                    small.chunks(8).for_each(|chunk| powers.add(chunk));
                    rest = large;
                }
            }
            rest.chunks(8).for_each(|chunk| self.add_orders(chunk));
            late.into_iter().for_each(|node| self.add_late(node));
        }
        let first = self.linear.len() + 2;
        for (j, sum) in self.logarithmic.iter_mut().enumerate() {
            let k = (first + j) as f64;
            let top = nodes.iter().map(|n| n.log_term(k)).fold(*sum, f64::max);
            if top > f64::NEG_INFINITY {
                // All nodes below e^−50 of the largest are together beyond the last digit.
                let rest: f64 = nodes.iter().map(|n| n.log_term(k) - top).filter(|e| *e > -50.0).map(f64::exp).sum();
                *sum = top + ((*sum - top).exp() + rest).ln();
            }
        }
    }

    /// Takes at most eight nodes.
    fn add_orders(&mut self, nodes: &[&Node]) {
        let (mut ratio, mut square, mut excess) = ([0.0; 8], [0.0; 8], [0.0; 8]);
        for (lane, node) in nodes.iter().enumerate() {
            ratio[lane] = 1.0 + node.difference;
            square[lane] = node.weight * node.difference * node.difference;
            excess[lane] = square[lane];
        }
        for (j, sum) in self.linear.iter_mut().enumerate() {
            let k = (j + 2) as f64;
            let mut parts = [0.0; 2];
            for lane in 0..8 {
                parts[lane % 2] += excess[lane];
                excess[lane] = ratio[lane] * excess[lane] + k * square[lane];
            }
            sum[0] += parts[0];
            sum[1] += parts[1];
        }
    }

    /// Adds a node from the order on at which it matters, where e_k rounds to r^k.
    fn add_late(&mut self, node: &Node) {
        if node.log_ratio <= 0.0 {
            return;
        }
        // At every order, if it matters at the first.
        let first = ((SEEN - node.log_weight) / node.log_ratio).ceil().max(2.0);
        if first < (self.linear.len() + 2) as f64 {
            let ratio = node.log_ratio.exp();
            let mut term = node.log_term(first).exp();
            for sum in &mut self.linear[first as usize - 2..] {
                sum[0] += term;
                term *= ratio;
            }
        }
    }

    pub(super) fn log_moments(&self, step: f64, out: &mut [f64]) {
        let (linear, logarithmic) = out.split_at_mut(self.linear.len());
        let terms = self.small.each_ref().map(Powers::terms);
        for (first, (values, sums)) in (0..).step_by(8).zip(linear.chunks_mut(8).zip(self.linear.chunks(8))) {
            let k: Lanes = std::array::from_fn(|lane| (first + lane + 2) as f64);
            let mut small = [0.0; 8];
            for terms in &terms {
                let mut nested = [0.0; 8];
                for (j, term) in (2..terms.len() + 2).zip(terms).rev() {
                    for lane in 0..8 {
                        nested[lane] = term + (k[lane] - j as f64) * nested[lane];
                    }
                }
                for lane in 0..8 {
                    small[lane] += k[lane] * (k[lane] - 1.0) * nested[lane];
                }
            }
            for (lane, (value, [even, odd])) in values.iter_mut().zip(sums).enumerate() {
                *value = (step * (small[lane] + (even + odd))).ln_1p();
            }
        }
        for (value, sum) in logarithmic.iter_mut().zip(&self.logarithmic) {
            *value = sum + step.ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::ratio_excess;

    #[test]
    fn moved_nodes_equal_computed_nodes() {
        let point = Point { at: 0.5, weight: 0.3, log_weight: 0.3f64.ln() };
        for log_ratio in [-30.0, -0.2, -1e-9, 0.0, 1e-5, 0.4, 50.0] {
            for (ratio, density) in [(0.0, 0.0), (1e-12, -1e-9), (-0.0999, 0.0999), (0.1001, -0.1001), (2.9, -3.0)] {
                let moved = Node::new(log_ratio, -2.0).moved(ratio, density, &point);
                let node = Node::new(log_ratio + ratio, -2.0 + density + point.log_weight);
                // To the last digits of the moved quantities.
                let difference = (moved.difference - node.difference).abs();
                let largest = node.difference.abs().max(log_ratio.exp_m1().abs()).max(ratio.exp_m1().abs());
                assert!(difference <= 2e-14 * largest, "{log_ratio} {ratio}: {difference}");
                assert!((moved.weight / node.weight - 1.0).abs() < 1e-14, "{density}");
                assert!((moved.log_term(3.0) - node.log_term(3.0)).abs() < 1e-13);
            }
        }
    }

    /// Nodes of every size, with ln r of either sign, against the definition of e_k.
    #[test]
    fn sums_match_the_definition_over_their_nodes() {
        let mut by_powers = [0; 2];
        for largest in [1e-9, 1e-5, 1e-3, 0.015, 0.03, 0.06, 0.1, 0.3] {
            for (orders, fall) in [3, 23, 24, 47, 48, 63, 255].into_iter().flat_map(|n| [(n, 0.1), (n, 0.005)]) {
                let nodes: Vec<Node> = (0..401u32)
                    .map(|i| {
                        let size = largest * (-fall * f64::from(i)).exp();
                        Node::new(if i % 3 == 0 { size } else { -size }, -0.05 * f64::from(i % 40))
                    })
                    .collect();
                let mut sums = Sums::new(orders, &nodes, &|_| f64::NEG_INFINITY);
                let (early, late) = nodes.split_at(137);
                sums.add(early);
                sums.add(late);
                for (count, powers) in by_powers.iter_mut().zip(&sums.small) {
                    *count += usize::from(!powers.terms().is_empty());
                }
                let mut found = vec![0.0; orders];
                sums.log_moments(0.7, &mut found);
                for (k, found) in (2u32..).map(f64::from).zip(found) {
                    let terms = nodes.iter().map(|node| node.weight * ratio_excess(k, node.log_ratio));
                    let wanted = (0.7 * terms.sum::<f64>()).ln_1p();
                    assert!(
                        (found / wanted - 1.0).abs() < 1e-13,
                        "{orders} orders, up to {largest}, {k}: {found} {wanted}"
                    );
                }
            }
        }
        assert!(by_powers.iter().all(|count| *count > 5), "{by_powers:?}");
    }

    /// Weights that underflow, lifted by their ratios: by late nodes first, by logarithms at last.
    #[test]
    fn underflowing_weights_are_lifted_by_their_ratios() {
        // The number of orders summed linearly.
        for (steep, linear) in [(2.0, 255), (9.0, 190), (40.0, 67)] {
            let nodes: Vec<Node> = (0..200u32)
                .map(|i| f64::from(i) / 200.0)
                .map(|u| Node::new(steep * (u - 0.1), -1.0 - 900.0 * u * u - 30.0 * steep * u))
                .collect();
            let mut sums = Sums::new(255, &nodes, &|_| f64::NEG_INFINITY);
            assert!(sums.linear.len().abs_diff(linear) < 10, "{}", sums.linear.len());
            sums.add(&nodes);
            let mut found = vec![0.0; 255];
            sums.log_moments(0.7, &mut found);
            for (k, found) in (2u32..).map(f64::from).zip(found) {
                let log_excess = |ratio: f64| if k * ratio < 100.0 { ratio_excess(k, ratio).ln() } else { k * ratio };
                let terms: Vec<f64> = nodes.iter().map(|n| n.log_weight + log_excess(n.log_ratio)).collect();
                let sum = crate::numeric::log_sum_exp(&terms) + 0.7f64.ln();
                let wanted = if sum < 500.0 { sum.exp().ln_1p() } else { sum };
                assert!((found / wanted - 1.0).abs() < 1e-11, "steep {steep}, {k}: {found} {wanted}");
            }
        }
    }
}
