//! Steps of the run, and the reports between them.

use std::{rc::Rc, time::Duration};

use web_time::Instant;

use super::{pace::YIELD_EVERY, state::Agent};
use crate::{
    engine::{Engine, Task},
    rng::{EntropyError, SystemRng},
    train::{
        error::SessionError,
        report::Report,
        session::{Session, TracedStep},
    },
    worker::{
        host::Host,
        look::StepInspection,
        protocol::{Audited, Event},
        snapshot::StepSnapshot,
    },
};

/// Least time between reports of a playing run.
const REPORT_EVERY: Duration = Duration::from_millis(50);
/// Least time between reports of an auditor's findings.
const AUDIT_EVERY: Duration = Duration::from_millis(400);
/// The last of the first steps after which the model is evaluated, and how long that may take.
const LAST_MARKED: u64 = 64;
const MARKED_WITHIN: Duration = Duration::from_millis(500);
/// Training examples whose features are computed between checks of the clock.
const PREPARED_AT_A_TIME: usize = 16;

impl<H: Host> Agent<H> {
    /// Computes a part of the features that the first step waits for; `false` once none are left.
    pub(super) async fn preparing(&mut self) -> bool {
        let start = Instant::now();
        while let Some(session) = &mut self.run.session {
            match session.prepare(PREPARED_AT_A_TIME).await {
                Ok(0) => {
                    self.announce_threads();
                    return false;
                }
                Ok(left) if start.elapsed() >= YIELD_EVERY => {
                    let total = session.plan().train_examples;
                    self.host.send(Event::Features { done: total.saturating_sub(left as u32), total });
                    return true;
                }
                Ok(_) => {}
                Err(error) => {
                    self.fail(error).await;
                    return true;
                }
            }
        }
        false
    }

    /// Takes steps until the inbox must be checked, or the next release is not written yet.
    pub(super) async fn play_on(&mut self) {
        if self.run.slow > Duration::ZERO {
            if self.may_release() {
                self.step(true).await;
                self.run.wake = Some(Instant::now() + self.run.slow);
            }
        } else {
            let start = Instant::now();
            while self.run.playing && self.may_release() && start.elapsed() < YIELD_EVERY {
                // The last step stays visible beside the final numbers.
                let traced = std::mem::take(&mut self.run.look) || self.run.lots && self.is_before_its_last();
                self.step(traced).await;
                if self.is_marked() {
                    self.evaluate_now();
                    break;
                }
            }
        }
        self.after_steps().await;
    }

    /// True after an early step (1, 2, 4, 8, …) that is evaluated to begin the curve, if quick.
    fn is_marked(&self) -> bool {
        let step = self.run.session.as_ref().map_or(0, Session::step_count);
        let quick = self.run.evaluation.lasted.is_some_and(|lasted| lasted <= MARKED_WITHIN);
        step.is_power_of_two() && step <= LAST_MARKED && quick && self.run.evaluation.next.is_none()
    }

    /// True if the next step is the last that is planned.
    fn is_before_its_last(&self) -> bool {
        self.run.session.as_ref().is_some_and(|session| session.plan().config.steps == Some(session.step_count() + 1))
    }

    /// Takes one traced step, and starts an evaluation.
    pub(super) async fn step_once(&mut self) {
        if self.run.session.as_ref().is_some_and(|session| !session.complete()) {
            self.write_one_ahead().await;
        }
        self.step(true).await;
        self.evaluate_now();
    }

    /// Takes one step, if its release is written; `traced`: sends it to the page.
    pub(super) async fn step(&mut self, traced: bool) {
        if self.run.session.as_ref().is_some_and(Session::complete) {
            return self.rest().await;
        }
        // No step runs before its release is written.
        let may = self.may_release();
        let Some(session) = self.run.session.as_mut().filter(|_| may) else { return };
        let done = if traced { self.looked_step().await } else { session.step().await };
        if let Err(error) = done {
            return self.fail(error).await;
        }
        if self.run.session.as_ref().is_some_and(Session::complete) {
            self.rest().await;
            self.put_down().await;
            self.evaluate_now();
        }
    }

    /// Takes one step and sends its trace.
    async fn looked_step(&mut self) -> Result<(), SessionError> {
        let Some(session) = &mut self.run.session else { return Ok(()) };
        let before = session.engine().state().await?.parameters;
        let mut trace = session.traced_step().await?;
        // The output of a filter over the steps, for this sum and earlier ones.
        let filter = session.task().filter();
        if filter.is_average() {
            let size = f64::from(session.task().expected_lot) * filter.correction(session.step_count() - 1);
            let remembered = session.engine().state().await?.momentum;
            trace.denoised = remembered.iter().map(|m| (size * f64::from(*m)) as f32).collect();
        }
        let (step, task) = (session.step_count(), session.task());
        let noise = task.noise_of(&trace.noisy, &trace.encoded).and_then(|noise| noise.build().ok());
        if let Some(snapshot) = StepSnapshot::new(&trace, task, noise.as_deref()) {
            self.host.send(Event::Snapshot { step, snapshot });
        }
        let (lot, shifts) = session.drawn();
        let seen = TracedStep { parameters: before, lot: lot.to_vec(), shifts: shifts.to_vec(), trace };
        let task = task.clone();
        Ok(self.show_lot(step, &task, seen)?)
    }

    /// Shows what a first step of the run would be, if that is known; nothing of it is released.
    pub(super) async fn preview(&mut self) {
        let Some(session) = &mut self.run.session else { return };
        // If the device is lost, so is the first step, which tells the visitor.
        let Ok(mut rng) = SystemRng::new() else { return };
        if let Ok(Some(seen)) = session.rehearse(&mut rng).await {
            let task = session.plan().task.clone();
            let _ = self.show_lot(0, &task, seen);
        }
    }

    /// Sends a step's lot, with one of its digits ringed, if the page shows lots.
    fn show_lot(&mut self, step: u64, task: &Task, seen: TracedStep) -> Result<(), EntropyError> {
        let Some(train) = self.run.data.as_ref().filter(|_| self.run.lots) else { return Ok(()) };
        let units = StepInspection::units(self.run.looked_at.as_deref(), task, train);
        let look = StepInspection::new(step, task, (train, units), seen, &mut SystemRng::new()?);
        self.host.send(Event::Lot { step, lot: look.lot(), person: look.person(None).map(Box::new) });
        self.run.looked_at = Some(Rc::new(look));
        Ok(())
    }

    /// Sends the contribution of another digit of the step that was traced last.
    pub(super) fn ring(&self, place: usize) {
        let look = self.run.looked_at.as_ref();
        if let Some((step, person)) = look.and_then(|look| Some((look.step, look.person(Some(place))?))) {
            self.host.send(Event::Contribution { step, person: Box::new(person) });
        }
    }

    /// Sends how a digit of that step passes through the network.
    pub(super) fn follow(&self, place: usize) {
        if let Some(followed) = self.run.looked_at.as_ref().and_then(|look| look.followed(place)) {
            self.host.send(Event::Followed(Box::new(followed)));
        }
    }

    /// Reports, saves, and starts an evaluation, each when it is due.
    async fn after_steps(&mut self) {
        let now = Instant::now();
        if self.run.playing && self.run.last_report.is_none_or(|last| now.duration_since(last) >= REPORT_EVERY) {
            let due = self.run.evaluation.is_due(now);
            self.report(None).await;
            self.save_now_and_then().await;
            if due {
                self.evaluate_now();
            }
        }
    }

    /// Tells the page an auditor's findings, at intervals while the run plays.
    fn tell_audit(&mut self) {
        let now = Instant::now();
        let due = !self.run.playing || self.run.last_audit.is_none_or(|last| now.duration_since(last) >= AUDIT_EVERY);
        let Some(session) = self.run.session.as_ref().filter(|_| due) else { return };
        if let Some((evidence, steps)) = session.evidence().filter(|(_, steps)| *steps > 0) {
            self.host.send(Event::Audited(Box::new(Audited { steps, evidence })));
            self.run.last_audit = Some(now);
        }
    }

    /// Stops playing. The last step is reported first, because the page takes a resting run's
    /// numbers for final. If the engine fails meanwhile, the evaluation that follows says so.
    pub(super) async fn rest(&mut self) {
        if self.run.playing {
            let _ = self.tell(None).await;
            self.set_playing(false);
        }
    }

    /// Reports the run's status to the page, after the ledger's events.
    pub(super) async fn report(&mut self, accuracy: Option<f64>) {
        if let Err(error) = self.tell(accuracy).await {
            self.fail(error).await;
        }
    }

    async fn tell(&mut self, accuracy: Option<f64>) -> Result<(), SessionError> {
        let Some(session) = &mut self.run.session else { return Ok(()) };
        let report = session.report(accuracy).await?;
        // A run is complete once its final accuracy is known.
        let complete = report.complete && (accuracy.is_some() || self.run.slices.is_empty());
        let report = Report { test_set: self.run.test_set, complete, ..report };
        self.keeper.saving.note(&report);
        if let Some(ledger) = session.ledger() {
            self.host.send(Event::Released(ledger.events().to_vec()));
        }
        self.host.send(Event::Report(report, session.teaching()));
        self.tell_audit();
        self.run.last_report = Some(Instant::now());
        Ok(())
    }
}
