//! Tight accounting: privacy loss distributions, composed by FFT, always from above.
//!
//! A release has a *dominating pair* (P, Q): no test between neighbouring datasets does better than the best test between P and
//! Q (Zhu, Dong & Wang 2022). The privacy loss l = ln dP/dQ under P adds up over releases, and δ(ε) = E[(1 − e^{ε−l})₊].
//!
//! - *Gaussian noise*: P = N(μ, 1), Q = N(0, 1) with μ = sensitivity/σ; an envelope counts by its largest norm.
//! - *Any noise, an envelope*: P = Z + ψ, Q = Z, coordinate by coordinate (`coordinates.rs`).
//! - *Poisson sampling at rate q*: ((1−q)Q + qP, Q) if the neighbour lacks the example and (Q, (1−q)Q + qP) if it has one more; the
//!   answer is the larger (see there on sampling).
//! - *Fixed size without replacement*: for e^ε ≥ 1 the first, for e^ε < 1 (P, (1−q)P + qQ), as one curve (the same,
//!   replace-one).
//! - *Shuffled partition*: one unsampled release an epoch.

mod compose;
mod coordinates;
mod gaussian;
mod lattice;
mod sampled;
mod solve;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use serde::Serialize;

use self::{coordinates::Unsampled, sampled::Source, solve::Question};
use super::{
    error::{PrivacyError, require},
    ledger::{Ledger, Release, Sensitivity},
    normal,
    rdp::{Accountant, RdpCurve},
    sampling::{Neighbours, Sampling},
};

/// Relative accuracy that the grid is chosen for, unless said otherwise.
pub const TOLERANCE: f64 = 5e-5;

/// How a bound was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The exact curve of the Gaussian mechanism.
    ClosedForm,
    /// Privacy loss distributions, by FFT.
    Convolution,
    /// Rényi divergences: where the convolution has no better answer.
    Renyi,
}

/// How far the bound can be trusted to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rigor {
    /// Above the true value by construction; rounding and truncation are bounded and added.
    Proven,
    /// Computed on the safe side, but one step is an approximation without a proven error: which one.
    Numerical(&'static str),
}

/// An upper bound on ε at some δ, or on δ at some ε.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tight {
    pub value: f64,
    pub method: Method,
    pub rigor: Rigor,
}

/// Which neighbour the release is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// The neighbour lacks the example: the sampled mixture against the noise alone.
    Remove,
    /// The neighbour has one more: the noise alone against the sampled mixture.
    Add,
}

/// Which curve is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbour {
    One(Direction),
    /// Another in its place: one curve made of both.
    Another,
}

/// A release with its dominating pair.
#[derive(Debug)]
struct Priced {
    release: Release,
    unsampled: Unsampled,
    rigor: Rigor,
    renyi: OnceLock<RdpCurve>,
}

impl Priced {
    fn renyi(&self) -> Result<RdpCurve, PrivacyError> {
        if let Some(curve) = self.renyi.get() {
            return Ok(curve.clone());
        }
        let curve = RdpCurve::of(&self.release)?;
        Ok(self.renyi.get_or_init(|| curve).clone())
    }
}

/// Consecutive steps of one release, the whole repeated.
#[derive(Clone, Debug)]
struct Run {
    priced: Arc<Priced>,
    steps: u64,
    repeats: u64,
}

/// The releases of a training, in order. Composing is cheap and exact; the work is done when ε or δ is asked for.
#[derive(Clone, Debug)]
pub struct Pld {
    runs: Vec<Run>,
    tolerance: f64,
}

impl Pld {
    /// One step of `release`.
    ///
    /// # Errors
    /// [`PrivacyError::NoNoise`], [`PrivacyError::NoBound`]: no guarantee. [`PrivacyError::Unpriced`]: noise that is not Gaussian with an L2
    /// bound, or with an envelope in which an example is exchanged: the worst case is not known; Rényi accounting has a bound. What [`Release::validate`] refuses.
    pub fn for_release(release: &Release) -> Result<Self, PrivacyError> {
        release.validate()?;
        let spec = release.noise.as_ref().ok_or(PrivacyError::NoNoise)?;
        let noise = spec.build()?;
        let doubling = release.doubling();
        let norm = match &release.sensitivity {
            Sensitivity::Unbounded => return Err(PrivacyError::NoBound),
            Sensitivity::L2 { norm } => *norm,
            Sensitivity::Envelope { profile } => profile.norm(),
        };
        let (unsampled, rigor) = match (noise.gaussian_sigma(), &release.sensitivity) {
            (Some(sigma), _) => (Unsampled::gaussian(norm * doubling / sigma), Rigor::Proven),
            // Two vectors inside the envelope may have their large entries in different places: no multiple of ψ bounds their
            // difference coordinate by coordinate. (For Gaussian noise its norm is enough.)
            (None, Sensitivity::Envelope { .. }) if doubling > 1.0 => {
                return Err(PrivacyError::Unpriced(
                    "an example exchanged inside an envelope, with noise that is not Gaussian: use Rényi accounting",
                ));
            }
            (None, Sensitivity::Envelope { profile }) => Unsampled::envelope(noise.as_ref(), profile)?,
            (None, _) => {
                return Err(PrivacyError::Unpriced(
                    "an L2 bound with noise that is not Gaussian: only an envelope says which coordinates can move",
                ));
            }
        };
        let priced = Arc::new(Priced { release: release.clone(), unsampled, rigor, renyi: OnceLock::new() });
        Ok(Self { runs: vec![Run { priced, steps: 1, repeats: 1 }], tolerance: TOLERANCE })
    }

    /// One step of the Poisson-sampled Gaussian mechanism.
    ///
    /// # Errors
    /// A multiplier or a rate out of range.
    pub fn sampled_gaussian(noise_multiplier: f64, rate: f64) -> Result<Self, PrivacyError> {
        Self::for_release(&Release::new(
            Sampling::Poisson { rate },
            Sensitivity::L2 { norm: 1.0 },
            Some(super::noise::NoiseSpec::Gaussian { sigma: noise_multiplier }),
        ))
    }

    /// Everything that a ledger records. An empty ledger costs nothing.
    ///
    /// # Errors
    /// As [`Pld::for_release`] for each release that happened; [`PrivacyError::MixedNeighbours`]; what [`Ledger::validate`] refuses.
    pub fn of(ledger: &Ledger) -> Result<Self, PrivacyError> {
        ledger.validate()?;
        let mut steps: Vec<Option<Self>> = vec![None; ledger.releases().len()];
        let mut whole = Self { runs: Vec::new(), tolerance: TOLERANCE };
        for event in ledger.events() {
            let index = event.release as usize;
            let step = match &steps[index] {
                Some(step) => step.clone(),
                None => steps[index].insert(Self::for_release(&ledger.releases()[index])?).clone(),
            };
            whole = whole.and(&step.compose(event.count))?;
        }
        Ok(whole)
    }

    /// The same, `times` times over, one after the other.
    #[must_use]
    pub fn compose(&self, times: u64) -> Self {
        let mut runs = self.runs.clone();
        match runs.as_mut_slice() {
            _ if times == 0 => runs.clear(),
            [run] if run.repeats == 1 => run.steps = run.steps.saturating_mul(times),
            _ => runs.iter_mut().for_each(|run| run.repeats = run.repeats.saturating_mul(times)),
        }
        Self { runs, tolerance: self.tolerance }
    }

    /// This, then `next`.
    ///
    /// # Errors
    /// [`PrivacyError::MixedNeighbours`] where one is priced for add/remove-one and the other for replace-one.
    pub fn and(&self, next: &Self) -> Result<Self, PrivacyError> {
        let mut both = self.clone();
        both.tolerance = self.tolerance.min(next.tolerance);
        for run in &next.runs {
            match both.runs.last_mut() {
                Some(last)
                    if last.repeats == 1
                        && run.repeats == 1
                        && (Arc::ptr_eq(&last.priced, &run.priced) || last.priced.release == run.priced.release) =>
                {
                    last.steps = last.steps.saturating_add(run.steps);
                }
                _ => both.runs.push(run.clone()),
            }
        }
        let mut relations = both.runs.iter().map(|run| run.priced.release.sampling.neighbours());
        match relations.next() {
            Some(first) if relations.any(|other| other != first) => Err(PrivacyError::MixedNeighbours),
            _ => Ok(both),
        }
    }

    /// Asks for another relative accuracy of ε (1e-7 to 0.1); smaller is slower. The bound stays a bound.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance.clamp(1e-7, 0.1);
        self
    }

    /// Whether every step of the argument is proven.
    #[must_use]
    pub fn rigor(&self) -> Rigor {
        self.runs.iter().map(|run| run.priced.rigor).find(|rigor| *rigor != Rigor::Proven).unwrap_or(Rigor::Proven)
    }

    /// ε at `delta`, from above: the least of the exact curve where it is known, the convolution, and Rényi accounting. Infinite where
    /// none gives a number.
    ///
    /// # Errors
    /// `delta` outside (0, 1].
    pub fn epsilon(&self, delta: f64) -> Result<Tight, PrivacyError> {
        require(delta > 0.0 && delta <= 1.0, "delta", delta, "above 0 and at most 1")?;
        if delta == 1.0 {
            return Ok(Tight { value: 0.0, method: Method::ClosedForm, rigor: Rigor::Proven });
        }
        let found = self.ask(Question::Epsilon { log_delta: delta.ln() }, |mu| normal::epsilon_gaussian(mu, delta));
        if found.method == Method::ClosedForm || found.value == 0.0 {
            return Ok(found);
        }
        // Rényi's bound is the smaller where the convolution ran out of range, or the envelope's vectors are too unlike for few covers.
        let renyi = self.renyi().and_then(|accountant| accountant.epsilon(delta)).map(|found| found.improved.epsilon);
        let gaussian = self.runs.iter().all(|run| run.priced.unsampled.mu().is_some());
        let rigor = if gaussian {
            Rigor::Proven
        } else {
            Rigor::Numerical("what quadrature and series leave out of ln I_k is estimated, and added")
        };
        Ok(match renyi {
            Ok(value) if value < found.value => Tight { value, method: Method::Renyi, rigor },
            _ => found,
        })
    }

    /// δ at `epsilon` ≥ 0, from above.
    ///
    /// # Errors
    /// `epsilon` negative or NaN.
    pub fn delta(&self, epsilon: f64) -> Result<Tight, PrivacyError> {
        require(epsilon >= 0.0, "epsilon", epsilon, "at least 0")?;
        Ok(self.ask(Question::Delta { epsilon }, |mu| normal::ln_delta_gaussian(mu, epsilon).exp()))
    }

    /// (ε, δ(ε)) for each ε: the privacy curve, for [`super::risk::PrivacyCurve`].
    ///
    /// # Errors
    /// As [`Pld::delta`].
    pub fn curve(&self, epsilons: &[f64]) -> Result<Vec<(f64, f64)>, PrivacyError> {
        epsilons.iter().map(|&epsilon| Ok((epsilon, self.delta(epsilon)?.value))).collect()
    }

    fn ask(&self, question: Question, closed: impl Fn(f64) -> f64) -> Tight {
        let mut squared_mu = 0.0;
        let mut sources: Vec<(Source, u64)> = Vec::new();
        for (priced, rate, count) in self.charges() {
            match priced.unsampled.mu() {
                _ if rate == 0.0 || count == 0 => {}
                // Unsampled Gaussian releases are one: μ² adds up.
                Some(mu) if rate == 1.0 => squared_mu += count as f64 * mu * mu,
                _ => sources.push((priced.unsampled.sampled(rate), count)),
            }
        }
        if sources.is_empty() {
            return Tight { value: closed(squared_mu.sqrt()), method: Method::ClosedForm, rigor: Rigor::Proven };
        }
        if squared_mu > 0.0 {
            sources.push((Unsampled::gaussian(squared_mu.sqrt()).sampled(1.0), 1));
        }
        let replace = self.runs.iter().any(|run| run.priced.release.sampling.neighbours() == Neighbours::ReplaceOne);
        let found = solve::answer(&sources, question, self.tolerance, replace);
        let method = if found.convolved { Method::Convolution } else { Method::Renyi };
        Tight { value: found.value, method, rigor: self.rigor() }
    }

    /// Releases with sampling rate and number, in which equal ones are merged; a shuffled epoch counts once for each
    /// release that took part in it.
    fn charges(&self) -> Vec<(&Priced, f64, u64)> {
        let mut charges: Vec<(&Priced, f64, u64)> = Vec::new();
        // Steps since an epoch began, by number of batches; None once repeats have blurred it.
        let mut position: Vec<(u64, Option<u64>)> = Vec::new();
        for run in &self.runs {
            let (rate, count) = match run.priced.release.sampling {
                Sampling::Poisson { rate } => (rate, run.steps.saturating_mul(run.repeats)),
                Sampling::FixedSize { population, size } => {
                    (size as f64 / population as f64, run.steps.saturating_mul(run.repeats))
                }
                Sampling::Shuffled { batches } => {
                    let index = position.iter().position(|(b, _)| *b == batches).unwrap_or_else(|| {
                        position.push((batches, Some(0)));
                        position.len() - 1
                    });
                    let at = if run.repeats == 1 { position[index].1 } else { None };
                    let epochs = match at {
                        Some(at) => (at + run.steps).div_ceil(batches) - at / batches,
                        // Anywhere: a run of m steps touches at most this many epochs.
                        None => (1 + run.steps.saturating_sub(1).div_ceil(batches)).saturating_mul(run.repeats),
                    };
                    position[index].1 = at.map(|at| (at + run.steps) % batches);
                    (1.0, epochs)
                }
            };
            match charges.iter_mut().find(|(priced, r, _)| *r == rate && priced.release == run.priced.release) {
                Some((_, _, total)) => *total = total.saturating_add(count),
                None => charges.push((&run.priced, rate, count)),
            }
        }
        charges
    }

    fn renyi(&self) -> Result<Accountant, PrivacyError> {
        let mut accountant = Accountant::new();
        for run in &self.runs {
            let curve = accountant.add_curve(run.priced.renyi()?)?;
            for _ in 0..run.repeats.min(64) {
                accountant.compose(curve, run.steps);
            }
            if run.repeats > 64 {
                accountant.compose(curve, run.steps.saturating_mul(run.repeats - 64));
            }
        }
        Ok(accountant)
    }
}
