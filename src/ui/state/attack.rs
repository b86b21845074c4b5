//! An attack on the current run: the auditor's evidence, and what it implies for ε.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    appearance::{ATTACK_VERDICT, Panel},
    page::Page,
    run::Run,
    spending::LiveEpsilon,
};
use crate::{
    accounting::audit::LowerBounds,
    ui::{
        browser,
        settings::Encoder,
        threads::accountant::{AccountantClient, Topic},
    },
    worker::{
        accounts::{Answer, Question},
        protocol::Audited,
    },
};

/// Canaries of an attack that is started from the page.
const CANARIES: u32 = 1000;
/// Canaries under an envelope, where each takes several coordinates.
const DENSE: u32 = 20;

impl Page {
    /// Begins the attack on a new run with canaries, or ends it.
    pub fn turn_attack(self) {
        self.change(|settings| {
            settings.canaries = match settings.canaries {
                0 if settings.encoder == Encoder::Envelope => DENSE,
                0 => CANARIES,
                _ => 0,
            };
        });
    }

    /// Attacks the run: trains it again with canaries, and shows the verdict as it forms.
    pub fn attack_now(self) {
        self.turn_attack();
        self.play();
        self.appearance.show_panel(Panel::Results);
        browser::focus_soon(ATTACK_VERDICT, Some(".attack"));
    }
}

#[derive(Clone, Copy)]
pub struct Attack {
    run: Run,
    spending: LiveEpsilon,
    accountant: AccountantClient,
    /// The latest evidence.
    pub found: RwSignal<Option<Arc<Audited>>>,
    /// Bounds from the evidence: after this many steps, and whether all bounds are computed.
    pub bounds: RwSignal<Option<(u64, bool, LowerBounds)>>,
}

impl Attack {
    #[must_use]
    pub fn new(run: Run, spending: LiveEpsilon, accountant: AccountantClient) -> Self {
        Self { run, spending, accountant, found: RwSignal::new(None), bounds: RwSignal::new(None) }
    }

    /// Forgets the attack: the run is new.
    pub(super) fn forget(self) {
        self.found.set(None);
        self.bounds.set(None);
    }

    /// Takes the auditor's evidence, and asks for its bounds.
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

    /// Asks for all bounds, if the run is paused and they are not known.
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
