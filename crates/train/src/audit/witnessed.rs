//! Scores what each step of a phase shows of each canary.

use std::sync::Arc;

use super::{
    super::error::ConfigError,
    mutation::{Broken, InjectedBug},
};
use crate::{
    accounting::{
        audit::{
            Errors,
            scores::{Score, Scorer},
        },
        noise::{Noise, NoiseSpec},
        sampling::Sampling,
    },
    engine::{Task, cpu::evidence},
    mechanism::{
        EncoderSpec, MechanismError,
        canaries::{Canaries, DrawnCanary, Witness},
    },
};
use hushgrad_message::word;

/// What a step released, as an auditor sees it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub witness: &'a Witness,
    /// Canaries that were added.
    pub drawn: &'a [DrawnCanary],
    /// The step's clipping norm, if adaptive; and the released count of norms within it.
    pub clip: Option<f64>,
    pub within: Option<f64>,
    /// The step's number, and the number of examples that it drew.
    pub step: u64,
    pub lot: usize,
}

/// Scores of all canaries, and of coordinates without one.
pub(super) struct Scores {
    /// The canaries', then those of the coordinates without one.
    pub all: Vec<Score>,
    /// Likelihood ratios whose logarithm is not taken yet ([`Scorer::take_gaussian`]).
    pub factors: Vec<f64>,
    /// m.
    pub canaries: usize,
}

/// Scores the steps of a phase as what they claim to be.
pub(super) struct Witnessed {
    task: Task,
    canaries: Arc<Canaries>,
    noise: Option<Box<dyn Noise>>,
    /// σ of Gaussian noise, if a canary has one coordinate: all are then scored at once.
    sigma: Option<f64>,
    sampling: Sampling,
    scorer: Scorer,
    /// What a canary adds along its coordinates; without a canary, what the first one would add.
    encoded: Vec<f32>,
    /// The current step's release along them, less the examples' sum.
    beyond: Vec<f32>,
    /// Wrong guesses, and all, about single steps: of canaries not added, and of those added.
    wrong: [u64; 2],
    all: [u64; 2],
}

impl Scores {
    pub(super) fn new(canaries: &Canaries) -> Self {
        let all = canaries.len() + canaries.silent();
        Self { all: vec![Score::default(); all], factors: vec![1.0; all], canaries: canaries.len() }
    }
}

impl Witnessed {
    /// Prepares to score a phase with this task and sampling.
    pub(super) fn new((task, sampling): (&Task, Sampling)) -> Result<Self, ConfigError> {
        let Some(canaries) = task.canaries.clone() else {
            return Err(MechanismError::Canaries { count: 0, most: task.model.parameters() as u32 }.into());
        };
        let scorer = Scorer::new(sampling).map_err(|_| ConfigError::Contradiction {
            field: "canaries",
            sentence: word!(
                "this audit cannot score lots drawn from groups in turn; choose another sampling, or no canaries"
            ),
        })?;
        let (noise, sigma, encoded) = prepared(task, &canaries)?;
        let (task, beyond) = (task.clone(), Vec::new());
        Ok(Self { task, canaries, noise, sigma, sampling, scorer, encoded, beyond, wrong: [0; 2], all: [0; 2] })
    }

    /// True if a canary that is out is added with the opposite sign.
    pub(super) const fn replaces(&self) -> bool {
        matches!(self.sampling, Sampling::FixedSize { .. })
    }

    pub(super) const fn scorer(&self) -> Scorer {
        self.scorer
    }

    /// Returns the error counts of guesses about single steps, if there are guesses of both kinds.
    pub(super) fn errors(&self) -> Option<Errors> {
        // Scales both counts down alike to 32 bits.
        let most = self.all[0].max(self.all[1]);
        let cut = |count: u64| (count / (most / u64::from(u32::MAX) + 1)) as u32;
        Errors::new((cut(self.wrong[0]), cut(self.all[0])), (cut(self.wrong[1]), cut(self.all[1]))).ok()
    }

    /// Scores a step.
    ///
    /// # Errors
    /// A clipping norm that no encoder has.
    pub(super) fn take(
        &mut self,
        scores: &mut Scores,
        seen: Seen<'_>,
        broken: Option<&Broken>,
    ) -> Result<(), MechanismError> {
        if let Some(clip) = seen.clip.filter(|&clip| self.task.encoder != EncoderSpec::Clip { norm: clip }) {
            self.task = self.task.with_clip(clip);
            (self.noise, self.sigma, self.encoded) = prepared(&self.task, &self.canaries)?;
        }
        let Seen { witness, drawn, step, lot, .. } = seen;
        let told = broken.filter(|broken| broken.mutation == InjectedBug::DrawnLot);
        let told = told.map(|broken| self.divisor(witness, broken.divisor, lot));
        let factor = told.map_or(1.0, |(factor, _)| factor);
        self.beyond.clear();
        let both = witness.released.iter().zip(&witness.examples);
        self.beyond.extend(both.map(|(r, e)| (f64::from(*r) * factor - e) as f32));
        // Log-odds of a canary having been drawn, given how many were.
        let prior = told.map_or(0.0, |(_, more)| prior(more, scores.canaries, self.rate()));
        let batches = broken.and_then(|broken| broken.batches.as_ref());
        let at_once = self.sigma.filter(|_| told.is_none() && batches.is_none()).is_some_and(|sigma| {
            let Scores { all, factors, .. } = scores;
            evidence::take_gaussian(self.scorer, (all, factors), &self.beyond, &self.encoded, sigma)
        });
        if !at_once {
            self.take_each(scores, prior, batches, step);
        }
        if let (Some(within), Some(noise)) = (seen.within, self.task.counting.within) {
            self.judge_with_count(seen, within - witness.within, noise, scores.canaries);
        } else {
            self.judge_each(drawn, told.map(|(_, more)| (more, prior)), scores.canaries);
        }
        Ok(())
    }

    /// Scores canaries and coordinates without one, one after the other.
    fn take_each(&self, scores: &mut Scores, prior: f64, batches: Option<&(Vec<u32>, u32)>, step: u64) {
        let count = scores.canaries;
        for (place, score) in scores.all.iter_mut().enumerate() {
            let prior = if place < count { prior } else { 0.0 };
            let ratio = |side: f64| self.ratio(place, side) + prior;
            match batches.filter(|_| place < count) {
                // The auditor knows the batches: other steps are no evidence.
                Some((batch_of, batches)) => {
                    let units = batch_of.len() - count;
                    if u64::from(batch_of[units + place]) == step % u64::from(*batches) {
                        let always = Scorer::new(Sampling::Poisson { rate: 1.0 });
                        always.into_iter().for_each(|always| always.take(score, ratio));
                    }
                }
                None => self.scorer.take(score, ratio),
            }
        }
    }

    /// Guesses for each canary whether the step added it, and counts the errors. `told`: the number
    /// of canaries, if the divisor reveals it, and its log-likelihood ratio for one canary.
    fn judge_each(&mut self, drawn: &[DrawnCanary], told: Option<(u32, f64)>, canaries: usize) {
        let guess = |canary: usize| match told {
            Some((0, _)) => false,
            Some((more, prior)) => {
                self.ratio(canary, 1.0) + prior + odds(self.rate()) > 0.0 || more as usize == canaries
            }
            None if self.canaries.each() == 1 => above_half(self.beyond[canary], self.encoded[canary]),
            None => halfway(self.seen(canary), self.added(canary)),
        };
        let mut added = match (told, self.canaries.each()) {
            (None, 1) => {
                let both = self.beyond.iter().zip(&self.encoded).take(canaries);
                both.map(|(&x, &e)| u64::from(above_half(x, e))).sum()
            }
            _ => (0..canaries).map(|canary| u64::from(guess(canary))).sum::<u64>(),
        };
        let mut others = canaries as u64;
        let (mut right, mut all) = (0, 0);
        for &DrawnCanary { canary, turned } in drawn {
            let guessed = u64::from(guess(canary as usize));
            (others, added) = (others - 1, added - guessed);
            // An added canary of opposite sign counts as neither.
            if !turned {
                (right, all) = (right + guessed, all + 1);
            }
        }
        self.wrong[0] += added;
        self.all[0] += others;
        self.wrong[1] += all - right;
        self.all[1] += all;
    }

    /// The same where a count of norms is released. Each added canary contributes −½ to it, so what
    /// is left of the count, less the other canaries, is evidence besides the coordinate. Both are
    /// weighed as if the gradient alone had the noise claimed for the whole release: an auditor may
    /// fix any rule beforehand, and this one tests whether the count is paid for. Guesses of one
    /// step share the count's noise, so only one added canary and one other are guessed.
    fn judge_with_count(&mut self, seen: Seen<'_>, left: f64, noise: f64, canaries: usize) {
        let Seen { drawn, step, .. } = seen;
        let whole = match (&self.task.encoder, &self.task.noise) {
            (EncoderSpec::Clip { norm }, Some(own)) => norm * self.task.counting.of_release(own.scale() / norm),
            _ => return,
        };
        let guess = |canary: usize, others: usize| {
            let own = left + 0.5 * others as f64;
            // ln of N(−½, σ²) over N(0, σ²).
            let count = -(0.5 * own + 0.125) / noise.powi(2);
            let each = self.seen(canary).iter().zip(self.added(canary));
            let along: f64 = each.map(|(&x, &e)| f64::from(e) * (f64::from(x) - 0.5 * f64::from(e))).sum();
            along / whole.powi(2) + count > 0.0
        };
        let added: Vec<usize> = drawn.iter().filter(|d| !d.turned).map(|d| d.canary as usize).collect();
        let one = added.get(step as usize % added.len().max(1)).map(|&canary| guess(canary, drawn.len() - 1));
        let is_drawn = |canary: usize| drawn.iter().any(|drawn| drawn.canary as usize == canary);
        let first = (step % canaries as u64) as usize;
        let other = (first..canaries).chain(0..first).find(|&canary| !is_drawn(canary));
        let other = other.map(|canary| guess(canary, drawn.len()));
        if let Some(guessed) = one {
            self.all[1] += 1;
            self.wrong[1] += u64::from(!guessed);
        }
        if let Some(guessed) = other {
            self.all[0] += 1;
            self.wrong[0] += u64::from(guessed);
        }
    }

    /// Returns the release less the examples at the coordinates of a canary or a vacant place.
    fn seen(&self, place: usize) -> &[f32] {
        &self.beyond[place * self.canaries.each()..][..self.canaries.each()]
    }

    fn added(&self, place: usize) -> &[f32] {
        &self.encoded[place * self.canaries.each()..][..self.canaries.each()]
    }

    /// q.
    fn rate(&self) -> f64 {
        match self.sampling {
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } => rate,
            Sampling::FixedSize { population, size } => size as f64 / population as f64,
            Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches } => (batches as f64).recip(),
        }
    }

    /// Returns the log-likelihood ratio of a canary added with sign `side`, against none.
    fn ratio(&self, place: usize, side: f64) -> f64 {
        let each = self.seen(place).iter().zip(self.added(place));
        if let Some(noise) = &self.noise {
            let sum: f64 = each.map(|(&x, &e)| noise.log_ratio(x.into(), side * f64::from(e))).sum();
            // Where neither is possible, there is no evidence.
            return if sum.is_nan() { 0.0 } else { sum };
        }
        // Without noise the nearer one is certain.
        let apart = |to: f64| each.clone().map(|(&x, &e)| (f64::from(x) - to * f64::from(e)).powi(2)).sum::<f64>();
        if apart(side) < apart(0.0) { f64::INFINITY } else { f64::NEG_INFINITY }
    }

    /// Estimates, from the noise at coordinates without a canary, how many canaries were drawn, if
    /// sums are divided by the lot drawn. Returns that lot over the true divisor, and the number.
    fn divisor(&self, witness: &Witness, divisor: f32, lot: usize) -> (f64, u32) {
        let listening = self.canaries.len() * self.canaries.each()..witness.released.len();
        let Some(noise) = &self.noise else { return (1.0, 0) };
        let likelihood = |more: u32| {
            let factor = (lot as f64 + f64::from(more)).max(1.0) / f64::from(divisor);
            let at = |at: usize| {
                let noise_seen = f64::from(witness.released[at]) * factor - witness.examples[at];
                noise.log_density(noise_seen) + factor.ln()
            };
            listening.clone().map(at).sum::<f64>()
        };
        // More are not drawn together in practice.
        let most = (self.canaries.len() as f64 * self.rate()).mul_add(4.0, 8.0) as u32;
        let counts = 0..=most.min(self.canaries.len() as u32);
        let best = counts
            .map(|more| (more, likelihood(more)))
            .fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
        ((lot as f64 + f64::from(best.0)).max(1.0) / f64::from(divisor), best.0)
    }
}

/// The claimed noise, its σ if all canaries can be scored at once, and what each canary adds.
type Prepared = (Option<Box<dyn Noise>>, Option<f64>, Vec<f32>);

fn prepared(task: &Task, canaries: &Canaries) -> Result<Prepared, MechanismError> {
    let encoder = task.prepared_encoder(task.model.parameters())?;
    let mut encoded = canaries.encoded(&encoder, task.sum_grid(), &task.model.lengths());
    let first = encoded[..canaries.each()].to_vec();
    (0..canaries.silent()).for_each(|_| encoded.extend_from_slice(&first));
    let noise = task.noise.as_ref().map(NoiseSpec::build).transpose()?;
    let sigma = match task.noise {
        Some(NoiseSpec::Gaussian { sigma }) if canaries.each() == 1 => Some(sigma),
        _ => None,
    };
    Ok((noise, sigma, encoded))
}

/// As [`halfway`], for one coordinate.
fn above_half(seen: f32, added: f32) -> bool {
    seen * added > 0.5 * added * added
}

/// True if `seen` is nearer to the canary's addition than to none: above half of it.
fn halfway(seen: &[f32], added: &[f32]) -> bool {
    let (mut along, mut whole) = (0.0, 0.0);
    for (&x, &e) in seen.iter().zip(added) {
        along += f64::from(x) * f64::from(e);
        whole += f64::from(e).powi(2);
    }
    along > 0.5 * whole
}

/// ln q/(1 − q).
fn odds(rate: f64) -> f64 {
    (rate / (1.0 - rate)).ln()
}

/// Returns the log-likelihood ratio of `more` canaries added, for a given one added against not.
/// Each of `canaries` is in by a fair coin and drawn at `rate`.
fn prior(more: u32, canaries: usize, rate: f64) -> f64 {
    let (k, m, p) = (f64::from(more), canaries as f64, 0.5 * rate);
    if k == 0.0 {
        f64::NEG_INFINITY
    } else if k >= m {
        f64::INFINITY
    } else {
        (k / (m - k) * (1.0 - p) / p).ln()
    }
}
