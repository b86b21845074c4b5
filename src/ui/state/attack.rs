//! An attack on the run that stands: what the auditor has found, and what that says of ε.

use std::sync::Arc;

use leptos::prelude::*;

use super::{run::Run, spending::Spending};
use crate::{
    accounting::audit::LowerBounds,
    ui::threads::accountant::{AccountantClient, Topic},
    worker::{
        accounts::{Answer, Question},
        protocol::Audited,
    },
};

/// The attack. Copied freely.
#[derive(Clone, Copy)]
pub struct Attack {
    run: Run,
    spending: Spending,
    accountant: AccountantClient,
    /// What was found last.
    pub found: RwSignal<Option<Arc<Audited>>>,
    /// What that says, after so many steps; and whether it is all that it says.
    pub bounds: RwSignal<Option<(u64, bool, LowerBounds)>>,
}

impl Attack {
    /// Nothing is found yet.
    #[must_use]
    pub fn new(run: Run, spending: Spending, accountant: AccountantClient) -> Self {
        Self { run, spending, accountant, found: RwSignal::new(None), bounds: RwSignal::new(None) }
    }

    /// Another run stands.
    pub(super) fn forget(self) {
        self.found.set(None);
        self.bounds.set(None);
    }

    /// Takes what the auditor has found, and asks what it says.
    pub(super) fn take(self, audited: Audited) {
        let changed =
            self.found.with_untracked(|found| found.as_ref().is_none_or(|found| found.steps != audited.steps));
        self.found.set(Some(Arc::new(audited)));
        if changed {
            self.ask(false);
        } else {
            self.ask_whole();
        }
    }

    /// All that it says, where the run stands still.
    pub(super) fn ask_whole(self) {
        let steps = self.found.with_untracked(|found| found.as_ref().map(|found| found.steps));
        let known = self.bounds.with_untracked(|bounds| bounds.map(|(at, whole, _)| (at, whole)));
        if !self.run.playing.get_untracked() && steps > Some(0) && known != steps.map(|steps| (steps, true)) {
            self.ask(true);
        }
    }

    fn ask(self, whole: bool) {
        let run = self.run.info.with_untracked(|info| info.as_ref().map(|info| (info.run, info.config.delta)));
        let (Some((run, delta)), Some(found)) = (run, self.found.get_untracked().filter(|found| found.steps > 0))
        else {
            return;
        };
        let events = self.spending.told_events();
        let steps = found.steps;
        let evidence = Box::new(found.evidence.clone());
        let question = Question::Audit { run, events, delta, evidence, whole };
        self.accountant.ask_latest(Topic::Audit, question, move |answer| {
            let same = self.run.info.with_untracked(|info| info.as_ref().is_some_and(|info| info.run == run));
            if let (Answer::Audit(Ok(bounds)), true) = (answer, same) {
                self.bounds.set(Some((steps, whole, bounds)));
            }
            if same {
                self.ask_whole();
            }
        });
    }
}
