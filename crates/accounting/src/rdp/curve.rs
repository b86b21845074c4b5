//! ε(α) of one release.

use std::sync::{Arc, OnceLock};

use super::{allocation, fixed_size, orders::LAST_ORDER, poisson};
use crate::{
    envelope::l2_log_moments,
    error::PrivacyError,
    ledger::{Protected, Release, Sensitivity},
    noise::{Noise, NoiseSpec},
    numeric::max_or_infinite,
    pair::Pair,
    rounding::OnGrid,
    sampling::{NeighbouringRelation, Sampling},
};

/// Largest order without a closed form.
const LAST_EXTENDED: u32 = 1024;
/// Orders are computed to the first sufficient level: small orders are cheap and mostly the best.
pub(super) const LEVELS: [u32; 6] = [16, 32, 64, 128, LAST_ORDER, LAST_EXTENDED];
/// Positions of [`LAST_ORDER`] and [`LAST_EXTENDED`] in [`LEVELS`].
pub(super) const INTEGERS: usize = 4;
const EXTENDED: usize = 5;
/// Largest order of Gaussian noise.
const LAST_GAUSSIAN: u32 = 1 << 17;
/// With more candidate vectors than this, ln I_k is maximised for each k first (never lower).
const CONTENDERS: usize = 8;

/// Bound ε(α) on the Rényi divergence of one release, for the neighbours of its sampling and
/// real-valued noise. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RdpCurve(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    sampling: Sampling,
    protected: Protected,
    shifts: Arc<Shifts>,
    /// The grid, if noise is rounded; the accountant adds its cost, which has no order.
    on_grid: Option<Arc<OnGrid>>,
    /// ε(α) for α from 2 to each of [`LEVELS`].
    integers: [OnceLock<Vec<f64>>; LEVELS.len()],
}

/// The part that does not depend on the sampling rate, shared by curves of several rates.
#[derive(Debug)]
struct Shifts {
    sensitivity_factor: f64,
    source: Mechanism,
    /// [`contenders`] up to each of [`LEVELS`]; `single`: for one vector, up to twice the order.
    full: [OnceLock<Vec<Vec<f64>>>; LEVELS.len()],
    single: [OnceLock<Vec<Vec<f64>>>; LEVELS.len()],
    /// ln I_k of the largest entry of Ψ, up to each of [`LEVELS`].
    largest: [OnceLock<Vec<f64>>; LEVELS.len()],
}

#[derive(Debug)]
enum Mechanism {
    /// Standard deviation over the L2 bound of one vector.
    Gaussian {
        noise_multiplier: f64,
    },
    Other {
        noise: Box<dyn Noise>,
        sensitivity: Sensitivity,
    },
    Pair(Pair),
}

impl RdpCurve {
    /// Lemmas 4 and 5 for one release. Orders are computed on demand.
    ///
    /// # Errors
    /// [`PrivacyError::NoNoise`] or [`PrivacyError::NoBound`]; as [`Release::validate`];
    /// [`PrivacyError::Unpriced`] for noise on a grid whose sampler has no known error.
    pub fn of(release: &Release) -> Result<Self, PrivacyError> {
        release.validate()?;
        if let Sensitivity::Pair(pair) = &release.sensitivity {
            return Ok(Self::from(release, Mechanism::Pair(pair.clone()), None));
        }
        let spec = &release.priced_noise()?;
        let noise = spec.build()?;
        let source = match (noise.gaussian_sigma(), release.sensitivity.norm()) {
            (_, None) => return Err(PrivacyError::NoBound),
            // Σ k(k−1)ψ²/(2σ²) depends on ψ's norm only.
            (Some(sigma), Some(norm)) => Mechanism::Gaussian { noise_multiplier: sigma / norm },
            (None, _) => Mechanism::Other { noise, sensitivity: release.sensitivity.clone() },
        };
        let on_grid = release.grid.map(|grid| OnGrid::new(grid, spec)).transpose()?.map(Arc::new);
        Ok(Self::from(release, source, on_grid))
    }

    fn from(release: &Release, source: Mechanism, on_grid: Option<Arc<OnGrid>>) -> Self {
        let (sampling, protected, sensitivity_factor) =
            (release.sampling, release.protected(), release.sensitivity_factor());
        let (full, single, largest) = Default::default();
        let shifts = Arc::new(Shifts { sensitivity_factor, source, full, single, largest });
        Self(Arc::new(Inner { sampling, protected, shifts, on_grid, integers: Default::default() }))
    }

    /// This curve at another Poisson rate, reusing every ln I_k; `None` for other sampling.
    pub(crate) fn at_rate(&self, rate: f64) -> Option<Self> {
        let poisson = matches!(self.0.sampling, Sampling::Poisson { .. }) && (0.0..=1.0).contains(&rate);
        poisson.then(|| self.sampled(Sampling::Poisson { rate }))
    }

    fn sampled(&self, sampling: Sampling) -> Self {
        let Inner { protected, shifts, on_grid, .. } = self.0.as_ref();
        let (shifts, on_grid) = (shifts.clone(), on_grid.clone());
        Self(Arc::new(Inner { sampling, protected: *protected, shifts, on_grid, integers: Default::default() }))
    }

    /// Adapts curves of one epoch. In random allocation of Gaussian noise only, it costs as much as
    /// with its least noise, of which the others are functions; else as a shuffled epoch.
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

    /// Cheap estimate of ε(α)/α for small ε(α): that of Gaussian noise with the same Fisher
    /// information. Guides the search, and is never charged.
    pub(super) fn slope(&self) -> f64 {
        let Inner { sampling, shifts, .. } = self.0.as_ref();
        let information = match &shifts.source {
            Mechanism::Gaussian { noise_multiplier } => noise_multiplier.powi(-2),
            Mechanism::Other { noise, sensitivity } => {
                let norm = sensitivity.norm().unwrap_or(f64::INFINITY);
                noise.fisher_information() * norm * norm
            }
            Mechanism::Pair(_) => return 0.5 * self.level(0)[0],
        };
        let rate = sampling.rate();
        // The mean of t ratios has a t-th of the variance.
        let square = self.0.hidden_among().map_or(rate * rate, |batches| 1.0 / batches as f64);
        0.5 * square * (shifts.sensitivity_factor * shifts.sensitivity_factor * information).exp_m1()
    }

    /// The largest ε(α)/α over all orders, of Gaussian noise off the grid: that of the unsampled
    /// release, which sampling never exceeds (joint quasi-convexity).
    pub(super) fn unsampled_slope(&self) -> Option<f64> {
        let Inner { sampling, shifts, on_grid: None, .. } = self.0.as_ref() else { return None };
        let Mechanism::Gaussian { noise_multiplier } = shifts.source else { return None };
        let slope = 0.5 * (shifts.sensitivity_factor / noise_multiplier).powi(2) * (1.0 + 4.0 * f64::EPSILON);
        Some(if sampling.rate() == 0.0 { 0.0 } else { slope })
    }

    /// A lower bound on ε(α) for α from 2 to the level's last: Lemma 4's last term for Ψ's largest
    /// entry, as flat densities' ln I_k outgrow k². Empty if [`RdpCurve::slope`] suffices.
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

    /// ε(α) for α from 2 to the level's last.
    pub(super) fn level(&self, level: usize) -> &[f64] {
        self.0.integers[level].get_or_init(|| self.0.compute(level))
    }

    /// The sampling policy.
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

    /// ε(α), in nats, at `order` α > 1; `None` if unknown. Known orders: integers from 2 to 1024
    /// (random allocation: 256). Gaussian noise: also fractions, and integers to 2^17 (half that if
    /// Poisson sampling exchanges vectors).
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
                    if let Some(exact) = poisson::exchanged_gaussian(rate, *noise_multiplier, &[order]) {
                        return Some(exact[0]);
                    }
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
            (Mechanism::Gaussian { noise_multiplier }, Sampling::FixedSize { .. }) => {
                let (rate, multiplier) = (sampling.rate(), noise_multiplier / sensitivity_factor);
                let poisson = sampled_gaussian_at(multiplier, rate, order)?;
                Some(fixed_size::gaussian(rate, multiplier, order, poisson))
            }
            // Few such orders are requested, and each has as many terms.
            (Mechanism::Other { .. }, Sampling::Poisson { rate })
                if whole && order <= f64::from(LAST_EXTENDED) && !self.0.exchanges() =>
            {
                let price = |moments: &Vec<f64>| poisson::at_integer(rate, order as u32, moments);
                let mut maximum = [shifts.full(EXTENDED).iter().map(price).fold(0.0, max_or_infinite)];
                replace_invalid_by_infinity(&mut maximum);
                Some(maximum[0])
            }
            _ if whole && order <= f64::from(LAST_EXTENDED) => self.level(EXTENDED).get(order as usize - 2).copied(),
            _ => None,
        }
    }

    /// True if ε(α) is a Rényi divergence (or a maximum of some), so non-decreasing in α.
    pub(super) fn is_divergence(&self) -> bool {
        self.0.sampling.neighbours() == NeighbouringRelation::AddOrRemoveOne
            && !self.0.exchanges()
            && (self.0.hidden_among().is_none() || self.is_quick())
    }

    /// True if fractional orders are known.
    pub(super) fn has_fractions(&self) -> bool {
        self.is_quick() && self.0.hidden_among().is_none()
    }

    /// True if all orders take milliseconds rather than tenths of a second.
    pub(super) fn is_quick(&self) -> bool {
        matches!(self.0.shifts.source, Mechanism::Gaussian { .. })
    }

    /// Terms that [`RdpCurve::at`] sums for an order above [`LAST_ORDER`] or between integers.
    pub(super) fn terms_at(&self, order: f64) -> f64 {
        match (&self.0.shifts.source, self.0.sampling) {
            (
                Mechanism::Gaussian { noise_multiplier },
                Sampling::Poisson { .. } | Sampling::CyclicPoisson { .. } | Sampling::FixedSize { .. },
            ) if order != order.floor() => 4.0 * poisson::gaussian_terms(*noise_multiplier, 2.0 * order),
            // All orders of a level at once, only once.
            (Mechanism::Other { .. }, Sampling::FixedSize { .. }) => 2e5,
            _ => 2.0 * order,
        }
    }

    /// Largest order at which [`RdpCurve::at`] is worth its time.
    pub(super) fn last_order(&self) -> u32 {
        let last = match self.0.shifts.source {
            _ if self.0.hidden_among().is_some() => LAST_ORDER,
            Mechanism::Gaussian { .. } => LAST_GAUSSIAN,
            _ => LAST_EXTENDED,
        };
        if self.0.exchanges() { last / 2 } else { last }
    }
}

impl Inner {
    /// True if Poisson sampling draws one vector or another, neither of them the mixture's rest.
    fn exchanges(&self) -> bool {
        let poisson = matches!(self.sampling, Sampling::Poisson { .. } | Sampling::CyclicPoisson { .. });
        let rate = self.sampling.rate();
        poisson && rate > 0.0 && rate < 1.0 && self.shifts.sensitivity_factor > 1.0
    }

    /// t of a random allocation that amplifies: not if one vector replaces another in a batch.
    fn hidden_among(&self) -> Option<u64> {
        self.sampling.allocated().filter(|batches| *batches > 1 && self.shifts.sensitivity_factor == 1.0)
    }

    /// ε(α) for α from 2 to the level's last.
    fn compute(&self, level: usize) -> Vec<f64> {
        let Self { sampling, shifts, .. } = self;
        let Shifts { sensitivity_factor, source, .. } = shifts.as_ref();
        if let Mechanism::Pair(pair) = source {
            // Where one example replaces another, sampling is not counted.
            let rate = if matches!(sampling, Sampling::Poisson { .. }) { sampling.rate() } else { 1.0 };
            let mut epsilon = pair.renyi(rate, LEVELS[level]);
            replace_invalid_by_infinity(&mut epsilon);
            return epsilon;
        }
        let vectors = shifts.full(level);
        let mut epsilon = match *sampling {
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } if self.exchanges() => {
                let whole: Vec<f64> = (2..=LEVELS[level]).map(f64::from).collect();
                if let Mechanism::Gaussian { noise_multiplier } = source
                    && let Some(exact) = poisson::exchanged_gaussian(rate, *noise_multiplier, &whole)
                {
                    return exact;
                }
                // Sampling never costs more than certain participation.
                let mut orders = maximum(vectors, 1.0);
                let single = maximum(shifts.single(level), rate);
                let pairs = single.iter().zip(&single[1..]).skip(1).step_by(2);
                for ((value, order), (below, above)) in orders.iter_mut().zip(2u32..).zip(pairs) {
                    *value = value.min(poisson::replace_one(order.into(), *below, *above));
                }
                orders
            }
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } => maximum(vectors, rate),
            // Each example joins one release of an epoch; knowing which costs that release in full.
            Sampling::Shuffled { .. } | Sampling::RandomAllocation { .. } => {
                let mut orders = maximum(vectors, 1.0);
                if let Some(batches) = self.hidden_among() {
                    let mu = source.noise_multiplier().map(|multiplier| 1.0 / multiplier);
                    // Each batch may use another vector of the envelope.
                    let epoch = allocation::at_integers(batches, mu, &maxima_by_order(vectors));
                    orders.iter_mut().zip(epoch).for_each(|(whole, epoch)| *whole = whole.min(epoch));
                }
                orders
            }
            Sampling::FixedSize { .. } => {
                if let Some(multiplier) = source.noise_multiplier() {
                    let multiplier = multiplier / sensitivity_factor;
                    let poisson = maximum(vectors, sampling.rate());
                    let at = |(order, poisson): (u32, &f64)| {
                        fixed_size::gaussian(sampling.rate(), multiplier, order.into(), *poisson)
                    };
                    return (2..).zip(&poisson).map(at).collect();
                }
                // The exchanged vectors may lie in different ones of the envelope, so ln I_k is a
                // mean of theirs. Lemma 4's sum is convex, so costliest at an end; a minimum of
                // bounds is not.
                fixed_size::at_integers(sampling.rate(), &maxima_by_order(vectors))
            }
        };
        replace_invalid_by_infinity(&mut epsilon);
        epsilon
    }
}

/// Replaces NaN (from unsettled quadrature) and negative values by infinity: an unknown order must
/// never be the cheapest.
fn replace_invalid_by_infinity(bounds: &mut [f64]) {
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
    /// That of Gaussian noise.
    fn noise_multiplier(&self) -> Option<f64> {
        match self {
            Self::Gaussian { noise_multiplier } => Some(*noise_multiplier),
            Self::Other { .. } | Self::Pair(_) => None,
        }
    }

    /// For each vector an upper bound on Σ_i ln I_k(`sensitivity_factor`·v_i), k = 2..=`last`.
    fn log_moments(&self, sensitivity_factor: f64, last: u32) -> Vec<Vec<f64>> {
        let mut vectors = match self {
            Self::Gaussian { noise_multiplier } => {
                vec![gaussian_log_moments(noise_multiplier / sensitivity_factor, last)]
            }
            Self::Other { noise, sensitivity } => {
                log_moments(noise.as_ref(), sensitivity, sensitivity_factor, last as usize - 1)
            }
            // It has divergences of its own.
            Self::Pair(_) => vec![vec![f64::INFINITY; last as usize - 1]],
        };
        vectors.iter_mut().for_each(|moments| replace_invalid_by_infinity(moments));
        vectors
    }
}

/// ε(α) of the Poisson-sampled Gaussian, if known.
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

/// For each vector of the envelope (one for a ball) an upper bound on Σ_i ln I_k(v_i) for k ≥ 2.
fn log_moments(noise: &dyn Noise, sensitivity: &Sensitivity, sensitivity_factor: f64, orders: usize) -> Vec<Vec<f64>> {
    match sensitivity {
        Sensitivity::Unbounded | Sensitivity::Pair(_) => vec![vec![f64::INFINITY; orders]],
        Sensitivity::L2 { norm } => {
            vec![l2_log_moments(noise, sensitivity_factor * norm, sensitivity_factor * norm, orders)]
        }
        Sensitivity::Envelope { profile } if sensitivity_factor == 1.0 => profile.log_moment_sums(noise, 1.0, orders),
        Sensitivity::Envelope { profile } => {
            // Neighbours differ by v − v′, each in its own arrangement: |v_i − v′_i| ≤ a_i + b_i.
            // If F = ln I_k is convex, F(a+b) ≤ ½F(2a) + ½F(2b), so the sum is at most the doubled
            // envelope's. Otherwise the L2 ball of twice the norm bounds it.
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

/// For each order, whether ln I_k is convex in τ on [0, reach], judged by a fine grid of secants,
/// some beyond `reach` to show a bend at its end. Tables never count as convex.
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

/// The largest ln I_k over the vectors, for each k.
fn maxima_by_order(vectors: &[Vec<f64>]) -> Vec<f64> {
    let mut top = vectors.first().map_or(Vec::new(), |first| first.clone());
    for vector in vectors.iter().skip(1) {
        for (t, v) in top.iter_mut().zip(vector) {
            *t = max_or_infinite(*t, *v);
        }
    }
    top
}

/// The vectors that may be costliest at some order of Lemma 4, at any rate: those that no other
/// exceeds at every k. If they are many, one vector that exceeds all.
fn contenders(vectors: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let dominates = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| x >= y);
    // A vector that exceeds another everywhere has the larger sum, so it is found first.
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

/// Lemma 4's maximum over vectors, for each order.
fn maximum(vectors: &[Vec<f64>], rate: f64) -> Vec<f64> {
    let prices: Vec<Vec<f64>> = vectors.iter().map(|moments| poisson::at_integers(rate, moments)).collect();
    maxima_by_order(&prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In any order: keeps the needed vectors, drops the dominated ones, and merges many into one.
    #[test]
    fn contenders_are_the_front() {
        let vectors = |n: u32, bend: f64| -> Vec<Vec<f64>> {
            let value = |v: u32, k: u32| (1.0 + f64::from(v)) * (1.0 - bend * f64::from(v * k)) * f64::from(k);
            (0..n).map(|i| i * 7 % n).map(|v| (2..12).map(|k| value(v, k)).collect()).collect()
        };
        // Straight vectors are all below the last; bent ones are each largest at some k.
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
