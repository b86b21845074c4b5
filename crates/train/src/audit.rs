//! Audited runs sample *canaries*, too: an auditor's own records, each in or out by a coin.
//!
//! The audit is of the run itself: its engine adds drawn canaries, and its noise hides them. The
//! auditor sees each step and knows all examples and every lot except its canaries; what remains
//! along a canary's coordinates is noise, plus the canary if it is in and was drawn. Canaries are
//! public and count in the population. The run draws their coins and no file holds them: a
//! continued run has no canary in, and its audit has ended.

mod mutation;
mod witnessed;

pub(super) use mutation::Broken;
pub use mutation::InjectedBug;
pub(super) use witnessed::Seen;
use witnessed::{Scores, Witnessed};

pub use super::auditable::most_canaries;
use super::{error::ConfigError, plan::Plan};
use crate::{
    accounting::audit::{Evidence, scores::Scorer},
    mechanism::{MechanismError, canaries::DrawnCanary},
    rng::RandomSource,
};

/// Coins and scores of a run's canaries: the auditor's own, and private during the audit.
pub(super) struct Audit {
    /// Whether each canary is in.
    coins: Vec<bool>,
    scores: Scores,
    /// The scoring of each phase's steps.
    phases: Vec<Witnessed>,
    steps: u64,
}

impl Audit {
    /// Starts the audit of a run; `None` if it has no canaries.
    ///
    /// # Errors
    /// A sampling that is not scored, or a clipping norm that no encoder has.
    pub(super) fn begin(plan: &Plan, rng: &mut dyn RandomSource) -> Result<Option<Self>, ConfigError> {
        let Some(canaries) = &plan.task.canaries else { return Ok(None) };
        let scores = Scores::new(canaries);
        let phases = (0..=plan.later.len()).map(|phase| Witnessed::new(plan.phase(phase))).collect::<Result<_, _>>()?;
        let coins = (0..canaries.len()).map(|_| rng.next_u32() >> 31 == 1).collect();
        Ok(Some(Self { coins, scores, phases, steps: 0 }))
    }

    /// Keeps the drawn canaries that the engine adds: those that are in and, under fixed-size
    /// sampling, those that are out, with the opposite sign, in place of another record.
    pub(super) fn enter(&self, drawn: &mut Vec<DrawnCanary>, phase: usize) {
        let replaced = self.phases[phase].replaces();
        drawn.retain_mut(|each| {
            let is_in = self.coins[each.canary as usize];
            each.turned = !is_in;
            is_in || replaced
        });
    }

    /// Scores a step; `broken` is the promise that the run breaks, if any.
    ///
    /// # Errors
    /// A clipping norm that no encoder has.
    pub(super) fn take(&mut self, phase: usize, seen: Seen<'_>, broken: Option<&Broken>) -> Result<(), MechanismError> {
        self.phases[phase].take(&mut self.scores, Seen { step: self.steps, ..seen }, broken)?;
        self.steps += 1;
        Ok(())
    }

    /// Returns the evidence so far. `place` maps a phase to its release's place in the ledger.
    pub(super) fn evidence(&self, place: impl Fn(usize) -> Option<usize>) -> Evidence {
        // Phases sample alike except for rates, and an epoch is open in all of them or in none.
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

    pub(super) const fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests;
