//! A run that is audited: records of an auditor, *canaries*, stand among those that it samples from, each in or out by a coin of its own, and the auditor sees each step.
//!
//! What is audited is the run itself: its sampler draws a canary as it draws an example, its engine encodes and adds it, and its noise hides it. The auditor knows all examples
//! and every lot but for the canaries of it, so what is left along a canary's coordinates is noise, and the canary where it is in and was drawn. A canary is public, and counts
//! among those that the books sample from. Coins are drawn by the run's own source of randomness and are in no file: a run that is continued has no canary in, and its audit has ended.

mod mutation;
mod witnessed;

pub(super) use mutation::Broken;
pub use mutation::Mutation;
pub(super) use witnessed::Seen;
use witnessed::{Scores, Witnessed};

pub use super::auditable::most_canaries;
use super::{error::ConfigError, plan::Plan};
use crate::{
    accounting::audit::{Evidence, scores::Scorer},
    mechanism::{MechanismError, canaries::DrawnCanary},
    rng::RandomSource,
};

/// Coins and scores of a run's canaries. They are the auditor's, and private as long as the audit goes on.
pub(super) struct Audit {
    /// Whether each canary is in.
    coins: Vec<bool>,
    scores: Scores,
    /// How each phase is looked at.
    phases: Vec<Witnessed>,
    steps: u64,
}

impl Audit {
    /// The audit of a run that begins; `None` where it has no canaries.
    ///
    /// # Errors
    /// Where its steps are not scored.
    pub(super) fn begin(plan: &Plan, rng: &mut dyn RandomSource) -> Result<Option<Self>, ConfigError> {
        let Some(canaries) = &plan.task.canaries else { return Ok(None) };
        let scores = Scores::new(canaries);
        let phases = (0..=plan.later.len()).map(|phase| Witnessed::new(plan.phase(phase))).collect::<Result<_, _>>()?;
        let coins = (0..canaries.len()).map(|_| rng.next_u32() >> 31 == 1).collect();
        Ok(Some(Self { coins, scores, phases, steps: 0 }))
    }

    /// Of the drawn canaries those that the engine adds: that are in, or stand turned round for a record in their place.
    pub(super) fn enter(&self, drawn: &mut Vec<DrawnCanary>, phase: usize) {
        let replaced = self.phases[phase].replaces();
        drawn.retain_mut(|each| {
            let is_in = self.coins[each.canary as usize];
            each.turned = !is_in;
            is_in || replaced
        });
    }

    /// Takes in a step: what was seen of it, and what a run that breaks its promise told beside.
    ///
    /// # Errors
    /// A clip that no encoder has.
    pub(super) fn take(&mut self, phase: usize, seen: Seen<'_>, broken: Option<&Broken>) -> Result<(), MechanismError> {
        self.phases[phase].take(&mut self.scores, Seen { step: self.steps, ..seen }, broken)?;
        self.steps += 1;
        Ok(())
    }

    /// What was found so far; `place` says which release of the ledger each phase's is.
    pub(super) fn evidence(&self, place: impl Fn(usize) -> Option<usize>) -> Evidence {
        // All phases draw alike, but for their rates; what is open of an epoch is so in all.
        let scorer: Scorer = self.phases[0].scorer();
        let Scores { all, factors, canaries } = &self.scores;
        let mut scores = all.iter().zip(factors).map(|(score, factor)| scorer.value(score) + factor.ln());
        let of_canaries = scores.by_ref().take(*canaries).zip(self.coins.iter().copied()).collect();
        let steps = self.phases.iter().enumerate();
        Evidence {
            scores: of_canaries,
            silent: scores.collect(),
            steps: steps.filter_map(|(phase, seen)| Some((place(phase)?, seen.errors()?))).collect(),
        }
    }

    /// Steps that were audited.
    pub(super) const fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests;
