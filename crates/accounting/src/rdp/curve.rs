//! ε(α) of one release.

use std::sync::{Arc, OnceLock};

use super::{allocation, fixed_size, orders::LAST_ORDER, poisson};
use crate::{
    envelope::l2_log_moments,
    error::PrivacyError,
    ledger::{Protected, Release, Sensitivity},
    noise::{Noise, NoiseSpec},
    numeric::max_or_infinite,
    rounding::OnGrid,
    sampling::{NeighbouringRelation, Sampling},
};

/// Largest order of families without a closed form.
const LAST_EXTENDED: u32 = 1024;
/// Orders are computed to the first of these that is enough: small orders cost least, and mostly hold the best.
pub(super) const LEVELS: [u32; 6] = [16, 32, 64, 128, LAST_ORDER, LAST_EXTENDED];
/// Where [`LAST_ORDER`] and [`LAST_EXTENDED`] are among them.
pub(super) const INTEGERS: usize = 4;
const EXTENDED: usize = 5;
/// Largest order of the Gaussian.
const LAST_GAUSSIAN: u32 = 1 << 17;
/// With more vectors than this in contention for the maximum, ln I_k is maximised for each k before it is summed (never lower).
const CONTENDERS: usize = 8;

/// Rényi divergence bound ε(α) of one release, for neighbours as its sampling says, and noise as of real numbers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RdpCurve(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sampling: Sampling,
    protected: Protected,
    shifts: Arc<Shifts>,
    /// Where noise is rounded to a grid, and its inexactness counted: by the accountant, as it is no matter of orders.
    on_grid: Option<Arc<OnGrid>>,
    /// ε(α) for α from 2 to each of [`LEVELS`].
    integers: [OnceLock<Vec<f64>>; LEVELS.len()],
}

/// What the rate does not enter: curves of several rates share it.
#[derive(Debug)]
struct Shifts {
    /// [`Release::sensitivity_factor`]: neighbouring sums may be this many times further apart than one vector is from zero.
    sensitivity_factor: f64,
    source: Mechanism,
    /// [`contenders`] of each of [`LEVELS`], and of a single vector up to twice its order.
    full: [OnceLock<Vec<Vec<f64>>>; LEVELS.len()],
    single: [OnceLock<Vec<Vec<f64>>>; LEVELS.len()],
    /// ln I_k of the largest entry of Ψ up to each of [`LEVELS`].
    largest: [OnceLock<Vec<f64>>; LEVELS.len()],
}

#[derive(Debug)]
enum Mechanism {
    /// Gaussian noise of this standard deviation over the L2 bound of one vector.
    Gaussian { noise_multiplier: f64 },
    /// Any other.
    Other { noise: Box<dyn Noise>, sensitivity: Sensitivity },
}

impl RdpCurve {
    /// Lemma 4 and 5 for one release. Orders are computed when they are asked for.
    ///
    /// # Errors
    /// [`PrivacyError::NoNoise`] and [`PrivacyError::NoBound`] where there is no guarantee; [`PrivacyError::Unpriced`] for noise on a grid whose sampler
    /// has no known error; anything [`Release::validate`] refuses.
    pub fn of(release: &Release) -> Result<Self, PrivacyError> {
        release.validate()?;
        let spec = &release.priced_noise()?;
        let noise = spec.build()?;
        let source = match (noise.gaussian_sigma(), &release.sensitivity) {
            (_, Sensitivity::Unbounded) => return Err(PrivacyError::NoBound),
            (Some(sigma), Sensitivity::L2 { norm }) => Mechanism::Gaussian { noise_multiplier: sigma / norm },
            // Σ k(k−1)ψ²/(2σ²) depends on ψ's norm alone.
            (Some(sigma), Sensitivity::Envelope { profile }) => {
                Mechanism::Gaussian { noise_multiplier: sigma / profile.norm() }
            }
            (None, sensitivity) => Mechanism::Other { noise, sensitivity: sensitivity.clone() },
        };
        let (sampling, protected, sensitivity_factor) =
            (release.sampling, release.protected(), release.sensitivity_factor());
        let on_grid = release.grid.map(|grid| OnGrid::new(grid, spec)).transpose()?.map(Arc::new);
        let (full, single, largest) = Default::default();
        let shifts = Arc::new(Shifts { sensitivity_factor, source, full, single, largest });
        Ok(Self(Arc::new(Inner { sampling, protected, shifts, on_grid, integers: Default::default() })))
    }

    /// The same under Poisson sampling at another rate, for the price of Lemma 4 alone: no ln I_k is computed twice. `None` where it is sampled otherwise.
    pub(crate) fn at_rate(&self, rate: f64) -> Option<Self> {
        let poisson = matches!(self.0.sampling, Sampling::Poisson { .. }) && (0.0..=1.0).contains(&rate);
        poisson.then(|| self.sampled(Sampling::Poisson { rate }))
    }

    /// The same, sampled otherwise.
    fn sampled(&self, sampling: Sampling) -> Self {
        let Inner { protected, shifts, on_grid, .. } = self.0.as_ref();
        let (shifts, on_grid) = (shifts.clone(), on_grid.clone());
        Self(Arc::new(Inner { sampling, protected: *protected, shifts, on_grid, integers: Default::default() }))
    }

    /// Curves of which one epoch may hold any. An epoch of a random allocation costs what its least noise does where all are Gaussian, as the others are functions
    /// of that one; else what it would cost in a shuffled partition.
    pub(super) fn of_one_epoch(curves: Vec<Self>) -> Vec<Self> {
        let ordered = |curve: &Self| {
            matches!(curve.0.shifts.source, Mechanism::Gaussian { .. }) && curve.0.hidden_among().is_some()
        };
        if curves.len() == 1 || curves.iter().all(ordered) {
            return curves;
        }
        let shuffled = |curve: &Self| match curve.sampling() {
            Sampling::RandomAllocation { batches } => curve.sampled(Sampling::Shuffled { batches }),
            _ => curve.clone(),
        };
        curves.iter().map(shuffled).collect()
    }

    /// The Poisson-sampled Gaussian mechanism (DP-SGD): noise multiplier σ, rate q.
    ///
    /// # Errors
    /// A multiplier or rate out of range.
    pub fn sampled_gaussian(noise_multiplier: f64, rate: f64) -> Result<Self, PrivacyError> {
        Self::of(&Release::new(
            Sampling::Poisson { rate },
            Sensitivity::L2 { norm: 1.0 },
            Some(NoiseSpec::Gaussian { sigma: noise_multiplier }),
        ))
    }

    /// ε(α) at α = 2, 3, …, 256.
    #[must_use]
    pub fn integer_orders(&self) -> &[f64] {
        self.level(INTEGERS)
    }

    /// About what ε(α)/α is while it is small, for as little work as it takes: noise as wide as Gaussian noise that shows as much of a small shift. Tells where
    /// to look, never what is charged.
    pub(super) fn slope(&self) -> f64 {
        let Inner { sampling, shifts, .. } = self.0.as_ref();
        let information = match &shifts.source {
            Mechanism::Gaussian { noise_multiplier } => noise_multiplier.powi(-2),
            Mechanism::Other { noise, sensitivity } => {
                let norm = sensitivity.norm().unwrap_or(f64::INFINITY);
                noise.fisher_information() * norm * norm
            }
        };
        let rate = sampling.rate();
        // Of a mean of t, a t-th of the variance.
        let square = self.0.hidden_among().map_or(rate * rate, |batches| 1.0 / batches as f64);
        0.5 * square * (shifts.sensitivity_factor * shifts.sensitivity_factor * information).exp_m1()
    }

    /// At most ε(α) for α from 2 to that of [`LEVELS`]: Lemma 4's last term for the largest entry of Ψ alone. Flat densities' ln I_k soon grow faster than k². Empty where
    /// [`RdpCurve::slope`] tells all.
    pub(super) fn at_least(&self, level: usize) -> Vec<f64> {
        let Inner { sampling, shifts, .. } = self.0.as_ref();
        let Mechanism::Other { noise, sensitivity: Sensitivity::Envelope { profile } } = &shifts.source else {
            return Vec::new();
        };
        let moments = shifts.largest[level].get_or_init(|| {
            let mut moments = vec![0.0; LEVELS[level] as usize - 1];
            noise.log_moments(shifts.sensitivity_factor * profile.largest(), &mut moments);
            moments
        });
        let log_rate = sampling.rate().ln();
        moments.iter().zip(2u32..).map(|(moment, k)| (f64::from(k) * log_rate + moment) / f64::from(k - 1)).collect()
    }

    /// ε(α) for α from 2 to that of [`LEVELS`].
    pub(super) fn level(&self, level: usize) -> &[f64] {
        self.0.integers[level].get_or_init(|| self.0.compute(level))
    }

    /// How its examples are chosen.
    #[must_use]
    pub fn sampling(&self) -> Sampling {
        self.0.sampling
    }

    pub(super) fn protected(&self) -> Protected {
        self.0.protected
    }

    pub(super) fn on_grid(&self) -> Option<&OnGrid> {
        self.0.on_grid.as_deref()
    }

    /// ε(α), in nats, at `order` α > 1; `None` where no bound is known. Known are integers from 2 to 1024 (Gaussian noise: to 2^17, or half
    /// that where sampling exchanges vectors), and for Gaussian noise fractions, too; of a random allocation integers to 256.
    #[must_use]
    pub fn at(&self, order: f64) -> Option<f64> {
        let whole = order == order.floor() && (2.0..=f64::from(LAST_GAUSSIAN)).contains(&order);
        if whole && order <= f64::from(LAST_ORDER) {
            let level = LEVELS.partition_point(|last| f64::from(*last) < order);
            return Some(self.level(level)[order as usize - 2]);
        }
        let Inner { sampling, shifts, .. } = self.0.as_ref();
        let Shifts { sensitivity_factor, source, .. } = shifts.as_ref();
        if self.0.hidden_among().is_some() {
            return None;
        }
        match (source, *sampling) {
            (
                Mechanism::Gaussian { noise_multiplier },
                Sampling::Shuffled { .. } | Sampling::RandomAllocation { .. },
            ) if order > 1.0 && order < 1e9 => {
                Some(0.5 * order * (sensitivity_factor / noise_multiplier).powi(2) * (1.0 + 4.0 * f64::EPSILON))
            }
            (
                Mechanism::Gaussian { noise_multiplier },
                Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. },
            ) => {
                let sampled = |order: f64| sampled_gaussian_at(*noise_multiplier, rate, order);
                if self.0.exchanges() {
                    let unsampled =
                        0.5 * order * (sensitivity_factor / noise_multiplier).powi(2) * (1.0 + 4.0 * f64::EPSILON);
                    return Some(unsampled.min(poisson::replace_one(
                        order,
                        sampled(2.0 * order - 1.0)?,
                        sampled(2.0 * order)?,
                    )));
                }
                sampled_gaussian_at(noise_multiplier / sensitivity_factor, rate, order)
            }
            // Few of them are asked for, and each has as many terms.
            (_, Sampling::Poisson { rate }) if whole && order <= f64::from(LAST_EXTENDED) && !self.0.exchanges() => {
                let price = |moments: &Vec<f64>| poisson::at_integer(rate, order as u32, moments);
                let mut maximum = [shifts.full(EXTENDED).iter().map(price).fold(0.0, max_or_infinite)];
                close(&mut maximum);
                Some(maximum[0])
            }
            _ if whole && order <= f64::from(LAST_EXTENDED) => self.level(EXTENDED).get(order as usize - 2).copied(),
            _ => None,
        }
    }

    /// Whether ε(α) is a Rényi divergence (or a maximum of some) and so does not fall as α grows; a bound may.
    pub(super) fn is_divergence(&self) -> bool {
        self.0.sampling.neighbours() == NeighbouringRelation::AddOrRemoveOne
            && !self.0.exchanges()
            && (self.0.hidden_among().is_none() || self.is_quick())
    }

    /// Whether fractional orders are known.
    pub(super) fn has_fractions(&self) -> bool {
        self.is_quick() && self.0.hidden_among().is_none()
    }

    /// Whether all orders take some thousandths of a second, and not some tenths.
    pub(super) fn is_quick(&self) -> bool {
        matches!(self.0.shifts.source, Mechanism::Gaussian { .. })
            && self.0.sampling.neighbours() == NeighbouringRelation::AddOrRemoveOne
    }

    /// Terms that [`RdpCurve::at`] adds up for an order beyond [`LAST_ORDER`], or between integers.
    pub(super) fn terms_at(&self, order: f64) -> f64 {
        match (&self.0.shifts.source, self.0.sampling) {
            (Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { .. } | Sampling::CyclicPoisson { .. })
                if order != order.floor() =>
            {
                4.0 * poisson::gaussian_terms(*noise_multiplier, 2.0 * order)
            }
            // All orders of a level at once, and once.
            (_, Sampling::FixedSize { .. }) => 2e5,
            _ => 2.0 * order,
        }
    }

    /// Largest order at which [`RdpCurve::at`] is worth its time.
    pub(super) fn last_order(&self) -> u32 {
        let last = match self.0.shifts.source {
            _ if self.0.hidden_among().is_some() => LAST_ORDER,
            Mechanism::Gaussian { .. } if self.0.sampling.neighbours() == NeighbouringRelation::AddOrRemoveOne => {
                LAST_GAUSSIAN
            }
            _ => LAST_EXTENDED,
        };
        if self.0.exchanges() { last / 2 } else { last }
    }
}

impl Inner {
    /// Whether Poisson sampling draws a vector that may be another, the rest of the mixture being neither.
    fn exchanges(&self) -> bool {
        let poisson = matches!(self.sampling, Sampling::Poisson { .. } | Sampling::CyclicPoisson { .. });
        let rate = self.sampling.rate();
        poisson && rate > 0.0 && rate < 1.0 && self.shifts.sensitivity_factor > 1.0
    }

    /// t of a random allocation whose draw hides something: not where one vector becomes another in the same batch.
    fn hidden_among(&self) -> Option<u64> {
        self.sampling.allocated().filter(|batches| *batches > 1 && self.shifts.sensitivity_factor == 1.0)
    }

    /// ε(α) for α from 2 to that of a level.
    fn compute(&self, level: usize) -> Vec<f64> {
        let Self { sampling, shifts, .. } = self;
        let Shifts { sensitivity_factor, source, .. } = shifts.as_ref();
        let vectors = shifts.full(level);
        let mut epsilon = match *sampling {
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } if self.exchanges() => {
                // Sampling never costs more than taking part for certain.
                let mut orders = maximum(vectors, 1.0);
                let single = maximum(shifts.single(level), rate);
                let pairs = single.iter().zip(&single[1..]).skip(1).step_by(2);
                for ((value, order), (below, above)) in orders.iter_mut().zip(2u32..).zip(pairs) {
                    *value = value.min(poisson::replace_one(order.into(), *below, *above));
                }
                orders
            }
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } => maximum(vectors, rate),
            // Each example meets one release of an epoch, and whoever knew which had the whole of it.
            Sampling::Shuffled { .. } | Sampling::RandomAllocation { .. } => {
                let mut orders = maximum(vectors, 1.0);
                if let Some(batches) = self.hidden_among() {
                    let mu = match source {
                        Mechanism::Gaussian { noise_multiplier } => Some(1.0 / noise_multiplier),
                        Mechanism::Other { .. } => None,
                    };
                    // Each batch may use another vector of the envelope.
                    let epoch = allocation::at_integers(batches, mu, &maxima_by_order(vectors));
                    orders.iter_mut().zip(epoch).for_each(|(whole, epoch)| *whole = whole.min(epoch));
                }
                orders
            }
            Sampling::FixedSize { .. } => {
                let gaussian = match source {
                    Mechanism::Gaussian { noise_multiplier } => Some(noise_multiplier / sensitivity_factor),
                    Mechanism::Other { .. } => None,
                };
                // Two vectors may be exchanged that lie in different ones of the envelope: ln I_k is then a mean of theirs, at each k. A sum of
                // exponentials is convex, so Lemma 4's is costliest at one end; the least of several bounds is not.
                fixed_size::at_integers(sampling.rate(), &maxima_by_order(vectors), gaussian)
            }
        };
        close(&mut epsilon);
        epsilon
    }
}

/// An order whose quadrature did not settle has an infinite ln I_k, of which differences and products make what is no number;
/// no divergence is negative, either. Both are infinite: an order that is not known must never be the cheapest.
fn close(bounds: &mut [f64]) {
    for bound in bounds {
        *bound = if *bound >= 0.0 { *bound } else { f64::INFINITY };
    }
}

impl Shifts {
    fn full(&self, level: usize) -> &[Vec<f64>] {
        self.full[level].get_or_init(|| contenders(&self.source.log_moments(self.sensitivity_factor, LEVELS[level])))
    }

    fn single(&self, level: usize) -> &[Vec<f64>] {
        let last = (2 * LEVELS[level]).min(LAST_EXTENDED);
        self.single[level].get_or_init(|| contenders(&self.source.log_moments(1.0, last)))
    }
}

impl Mechanism {
    /// For each vector an upper bound on Σ_i ln I_k(v_i), k = 2..=`last`, of shifts up to `sensitivity_factor` vectors long.
    fn log_moments(&self, sensitivity_factor: f64, last: u32) -> Vec<Vec<f64>> {
        let mut vectors = match self {
            Self::Gaussian { noise_multiplier } => {
                vec![gaussian_log_moments(noise_multiplier / sensitivity_factor, last)]
            }
            Self::Other { noise, sensitivity } => {
                log_moments(noise.as_ref(), sensitivity, sensitivity_factor, last as usize - 1)
            }
        };
        vectors.iter_mut().for_each(|moments| close(moments));
        vectors
    }
}

/// ε(α) of the Poisson-sampled Gaussian, where it is known.
fn sampled_gaussian_at(noise_multiplier: f64, rate: f64, order: f64) -> Option<f64> {
    if order == order.floor() && (2.0..=f64::from(LAST_GAUSSIAN)).contains(&order) {
        return Some(poisson::gaussian_at_integer(rate, noise_multiplier, order as u32));
    }
    (order > 1.0).then(|| poisson::gaussian_at(rate, noise_multiplier, order)).flatten()
}

/// k(k−1)/(2σ²) for k = 2..=last.
fn gaussian_log_moments(noise_multiplier: f64, last: u32) -> Vec<f64> {
    let half_square = 0.5 / noise_multiplier / noise_multiplier;
    (2..=last).map(|k| f64::from(k) * f64::from(k - 1) * half_square).collect()
}

/// For each vector of the envelope (one for an L2 ball) an upper bound on Σ_i ln I_k(v_i), k = 2.. .
fn log_moments(noise: &dyn Noise, sensitivity: &Sensitivity, sensitivity_factor: f64, orders: usize) -> Vec<Vec<f64>> {
    match sensitivity {
        Sensitivity::Unbounded => vec![vec![f64::INFINITY; orders]],
        Sensitivity::L2 { norm } => {
            vec![l2_log_moments(noise, sensitivity_factor * norm, sensitivity_factor * norm, orders)]
        }
        Sensitivity::Envelope { profile } if sensitivity_factor == 1.0 => profile.log_moment_sums(noise, 1.0, orders),
        Sensitivity::Envelope { profile } => {
            // NeighbouringRelation differ by v − v′, each in its own arrangement of its own vector: |v_i − v′_i| ≤ a_i + b_i. Where F = ln I_k is convex,
            // F(a+b) ≤ ½F(2a) + ½F(2b), so the sum is at most the doubled envelope's. Where it is not, the L2 ball of twice the norm holds.
            let reach = sensitivity_factor * profile.largest();
            let convex = convex_orders(noise, reach, orders);
            let mut sums = profile.log_moment_sums(noise, sensitivity_factor, orders);
            if convex.contains(&false) {
                let ball = l2_log_moments(noise, sensitivity_factor * profile.norm(), reach, orders);
                for vector in &mut sums {
                    for ((value, bound), convex) in vector.iter_mut().zip(&ball).zip(&convex) {
                        if !convex {
                            *value = *bound;
                        }
                    }
                }
            }
            sums
        }
    }
}

/// For each order whether ln I_k is convex in τ on [0, reach], judged on a fine grid of secants, and of some beyond: a bend at the very end would not show in the last
/// ones before it. What a table does between those, with its steps, no grid tells: it is not taken for convex.
fn convex_orders(noise: &dyn Noise, reach: f64, orders: usize) -> Vec<bool> {
    const POINTS: usize = 48;
    const BEYOND: usize = 3;
    if noise.kinks().iter().any(|kink| *kink != 0.0) {
        return vec![false; orders];
    }
    let mut convex = vec![true; orders];
    let (mut before, mut moments) = (vec![0.0; orders], vec![0.0; orders]);
    let mut slope = vec![0.0; orders];
    for j in 1..=POINTS + BEYOND {
        noise.log_moments(reach * j as f64 / POINTS as f64, &mut moments);
        for k in 0..orders {
            let rise = moments[k] - before[k];
            convex[k] &= rise >= slope[k] * (1.0 - 1e-9);
            slope[k] = rise;
        }
        before.copy_from_slice(&moments);
    }
    convex
}

/// The largest ln I_k over vectors, for each k by itself.
fn maxima_by_order(vectors: &[Vec<f64>]) -> Vec<f64> {
    let mut top = vectors.first().map_or(Vec::new(), |first| first.clone());
    for vector in vectors.iter().skip(1) {
        for (t, v) in top.iter_mut().zip(vector) {
            *t = max_or_infinite(*t, *v);
        }
    }
    top
}

/// The vectors that may be the costliest at some order of Lemma 4, whatever the rate: what no other exceeds at every k. If they are many, one that exceeds all.
fn contenders(vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let dominates = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| x >= y);
    // What exceeds another everywhere has the larger sum, so that it is found first.
    let mut rest: Vec<(f64, &Vec<f64>)> = vectors.iter().map(|vector| (vector.iter().sum(), vector)).collect();
    let mut front: Vec<&Vec<f64>> = Vec::new();
    while let Some((_, next)) = rest.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0)) {
        if front.len() == CONTENDERS {
            return vec![maxima_by_order(vectors)];
        }
        front.push(next);
        rest.retain(|(_, vector)| !dominates(next, vector));
    }
    front.into_iter().cloned().collect()
}

/// Lemma 4's maximum over vectors, order by order.
fn maximum(vectors: &[Vec<f64>], rate: f64) -> Vec<f64> {
    let prices: Vec<Vec<f64>> = vectors.iter().map(|moments| poisson::at_integers(rate, moments)).collect();
    maxima_by_order(&prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever their order: none that is needed is left out, none that another exceeds stays, and many become one.
    #[test]
    fn contenders_are_the_front() {
        let vectors = |n: u32, bend: f64| -> Vec<Vec<f64>> {
            let value = |v: u32, k: u32| (1.0 + f64::from(v)) * (1.0 - bend * f64::from(v * k)) * f64::from(k);
            (0..n).map(|i| i * 7 % n).map(|v| (2..12).map(|k| value(v, k)).collect()).collect()
        };
        // Straight ones are exceeded by the last; bent ones by none, at some k.
        let one = vectors(50, 0.0);
        assert_eq!(contenders(&one), [one.iter().max_by(|a, b| a[0].total_cmp(&b[0])).unwrap().clone()]);
        for n in [3, 8, 50] {
            let all = vectors(n, 0.1 / f64::from(n));
            let front = contenders(&all);
            assert_eq!(front.len() == 1, n == 50, "{n}: {}", front.len());
            assert_eq!(maxima_by_order(&front), maxima_by_order(&all));
            for (i, a) in front.iter().enumerate() {
                assert!(!front.iter().skip(i + 1).any(|b| b.iter().zip(a).all(|(x, y)| x >= y)));
            }
        }
        // Infinite sums tie.
        let infinite = vec![vec![1.0, f64::INFINITY], vec![2.0, f64::INFINITY]];
        assert_eq!(maxima_by_order(&contenders(&infinite)), infinite[1]);
    }
}
