//! What a step of a phase tells of each canary.

use std::sync::Arc;

use super::{
    super::error::ConfigError,
    mutation::{Broken, Mutation},
};
use crate::{
    accounting::{
        audit::{
            Errors,
            scores::{Score, Scorer},
        },
        noise::Noise,
        sampling::Sampling,
    },
    engine::Task,
    mechanism::{
        MechanismError,
        canaries::{Canaries, DrawnCanary, Witness},
    },
};
/// How the steps of a phase are looked at: by what they claim to be.
pub(super) struct Witnessed {
    canaries: Arc<Canaries>,
    noise: Option<Box<dyn Noise>>,
    sampling: Sampling,
    scorer: Scorer,
    /// What a canary adds along its coordinates.
    encoded: Vec<f32>,
    /// Errors about single steps, by whether the canary was added; and how many there are.
    wrong: [u64; 2],
    all: [u64; 2],
}

impl Witnessed {
    /// For a phase's task and lots.
    pub(super) fn new((task, sampling): (&Task, Sampling)) -> Result<Self, ConfigError> {
        let Some(canaries) = task.canaries.clone() else {
            return Err(MechanismError::Canaries { count: 0, most: task.model.parameters() as u32 }.into());
        };
        let encoder = task.prepared_encoder(task.model.parameters())?;
        let encoded = canaries.encoded(&encoder, task.sum_grid(), &task.model.lengths());
        let noise = task.noise.as_ref().map(|noise| noise.build()).transpose().map_err(MechanismError::from)?;
        let scorer = Scorer::new(sampling).map_err(|_| ConfigError::Contradiction {
            field: "canaries",
            sentence: "lots that are drawn from groups in turn are not scored; choose another sampling, or no canaries",
        })?;
        Ok(Self { canaries, noise, sampling, scorer, encoded, wrong: [0; 2], all: [0; 2] })
    }

    /// Whether a canary that is out stands turned round.
    pub(super) const fn replaces(&self) -> bool {
        matches!(self.sampling, Sampling::FixedSize { .. })
    }

    pub(super) const fn scorer(&self) -> Scorer {
        self.scorer
    }

    /// Errors about single steps, where there are any of both kinds.
    pub(super) fn errors(&self) -> Option<Errors> {
        // Counts beyond 32 bits are of no use to anybody; both are cut down alike.
        let most = self.all[0].max(self.all[1]);
        let cut = |count: u64| (count / (most / u64::from(u32::MAX) + 1)) as u32;
        Errors::new((cut(self.wrong[0]), cut(self.all[0])), (cut(self.wrong[1]), cut(self.all[1]))).ok()
    }

    /// Scores a step.
    pub(super) fn take(
        &mut self,
        scores: &mut [Score],
        silent: &mut [Score],
        drawn: &[DrawnCanary],
        witness: &Witness,
        broken: Option<&Broken>,
        (step, lot): (u64, usize),
    ) {
        let (each, canaries) = (self.canaries.each(), scores.len());
        let told = broken.filter(|broken| broken.mutation == Mutation::DrawnLot);
        let told = told.map(|broken| self.divisor(witness, broken.divisor, lot));
        let beyond: Vec<f32> = match told {
            None => witness.released.iter().zip(&witness.examples).map(|(r, e)| (f64::from(*r) - e) as f32).collect(),
            Some((factor, _)) => {
                let each = witness.released.iter().zip(&witness.examples);
                each.map(|(r, e)| (f64::from(*r) * factor - e) as f32).collect()
            }
        };
        // How much more probable a canary is drawn for how many there are.
        let prior = told.map_or(0.0, |(_, more)| prior(more, canaries, self.rate()));
        let first = canaries * each;
        for (place, score) in silent.iter_mut().enumerate() {
            let seen = &beyond[first + place * each..first + (place + 1) * each];
            self.scorer.take(score, |side| self.ratio(seen, &self.encoded[..each], side));
        }
        let mut drawn = drawn.iter().peekable();
        for (canary, score) in scores.iter_mut().enumerate() {
            let own = canary * each..(canary + 1) * each;
            let (seen, added) = (&beyond[own.clone()], &self.encoded[own]);
            let ratio = |side: f64| self.ratio(seen, added, side) + prior;
            let now = drawn.next_if(|drawn| drawn.canary as usize == canary);
            match broken.and_then(|broken| broken.batches.as_ref()) {
                // The auditor knows the batches: other steps tell nothing of it.
                Some((batch_of, count)) => {
                    let units = batch_of.len() - canaries;
                    if u64::from(batch_of[units + canary]) == step % u64::from(*count) {
                        let always = Scorer::new(Sampling::Poisson { rate: 1.0 });
                        always.into_iter().for_each(|always| always.take(score, ratio));
                    }
                }
                None => self.scorer.take(score, ratio),
            }
            // A canary that stands turned round is neither.
            if now.is_none_or(|now| !now.turned) {
                let was = usize::from(now.is_some());
                let guess = match told {
                    Some((_, 0)) => false,
                    Some((_, more)) => ratio(1.0) + odds(self.rate()) > 0.0 || more as usize == canaries,
                    None => halfway(seen, added),
                };
                self.all[was] += 1;
                self.wrong[was] += u64::from(guess != (was == 1));
            }
        }
    }

    /// q.
    fn rate(&self) -> f64 {
        match self.sampling {
            Sampling::Poisson { rate } | Sampling::CyclicPoisson { rate, .. } => rate,
            Sampling::FixedSize { population, size } => size as f64 / population as f64,
            Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches } => (batches as f64).recip(),
        }
    }

    /// ln of how much more probable what was seen is where the canary was added, on this side, than where it was not.
    fn ratio(&self, seen: &[f32], added: &[f32], side: f64) -> f64 {
        let each = seen.iter().zip(added);
        if let Some(noise) = &self.noise {
            let sum: f64 = each.map(|(&x, &e)| noise.log_ratio(x.into(), side * f64::from(e))).sum();
            // Where neither is possible nothing is told.
            return if sum.is_nan() { 0.0 } else { sum };
        }
        // Nothing hides it.
        let apart = |to: f64| each.clone().map(|(&x, &e)| (f64::from(x) - to * f64::from(e)).powi(2)).sum::<f64>();
        if apart(side) < apart(0.0) { f64::INFINITY } else { f64::NEG_INFINITY }
    }

    /// Where a sum is divided by the lot that was drawn: by what a step's mean is to be multiplied, as the noise at coordinates without a canary tells it, over what the
    /// canaries' own divisor is; and how many more there were than the auditor knows.
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
        // More than these are not drawn together.
        let most = (self.canaries.len() as f64 * self.rate()).mul_add(4.0, 8.0) as u32;
        let counts = 0..=most.min(self.canaries.len() as u32);
        let best = counts
            .map(|more| (more, likelihood(more)))
            .fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
        ((lot as f64 + f64::from(best.0)).max(1.0) / f64::from(divisor), best.0)
    }
}

/// Whether what was seen is nearer to the canary's addition than to none: above half of it.
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

/// ln of how much more probable it is that `more` canaries were added where a certain one was than where it was not; each of `canaries` is in by a fair coin and drawn at this rate.
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
