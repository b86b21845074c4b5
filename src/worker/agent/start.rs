//! Planning and building a run, and putting it in place of the current one.

use super::{
    ahead::{Place, ReservedReleases},
    continued::Continued,
    engines::Prepared,
    evaluation::{Evaluation, cut},
    run_key::new_key,
    saving::Saving,
    state::Agent,
};
use crate::{
    data::Dataset,
    engine::{AnyEngine, Engine},
    mechanism::State,
    train::{
        audit::InjectedBug,
        config::{Minority, RunConfig},
        error::{ConfigError, SessionError},
        plan::Plan,
        session::Session,
    },
    worker::{
        host::Host,
        protocol::{Event, Fallback, RunInfo},
    },
};
use hushgrad_message::{message, word};

impl<H: Host> Agent<H> {
    /// Starts a run on the digits loaded last. If it is refused, the current run stays.
    pub(super) async fn start(&mut self, config: RunConfig, broken: Option<InjectedBug>) {
        match self.prepare(config, None).await {
            Ok(Prepared { plan, engine, fallback }) => {
                let session = Session::new(plan, engine).and_then(|mut session| {
                    broken.map_or(Ok(()), |mutation| session.inject_bug(mutation))?;
                    Ok(session)
                });
                self.install_run(session, fallback, None).await;
            }
            Err(error) => self.refuse(&error),
        }
    }

    /// True if the current run breaks a promise.
    pub(super) fn is_broken(&self) -> bool {
        self.run.session.as_ref().is_some_and(|session| session.broken().is_some())
    }

    /// Tells the page why a run cannot start, and which setting is at fault.
    pub(super) fn refuse(&self, error: &SessionError) {
        let field = if let SessionError::Config(error) = error { Some(error.field()) } else { None };
        self.problem(field, error);
    }

    /// Returns a plan and its engine on the digits loaded last, in `state` or at the plan's start.
    pub(super) async fn prepare(&mut self, config: RunConfig, state: Option<&State>) -> Result<Prepared, SessionError> {
        let Some(train) = self.training_set(config.minority) else {
            return Err(
                ConfigError::Contradiction { field: "dataset", sentence: word!("no digits are loaded yet") }.into()
            );
        };
        let plan = Plan::new(config.on(&train)?, train.len() as u32)?;
        self.build(plan, &train, state).await
    }

    /// Returns the training images with this minority, cached so that features are computed once.
    fn training_set(&mut self, minority: Minority) -> Option<Dataset> {
        let train = &self.data.digits.as_ref()?.train;
        if minority == Minority::None {
            self.data.turned = None;
            return Some(train.clone());
        }
        Some(self.data.turned.get_or_insert_with(|| minority.among(train)).clone())
    }

    /// Puts a run, paused, in place of the current one, which is saved first.
    pub(super) async fn install_run(
        &mut self,
        session: Result<Session<AnyEngine>, SessionError>,
        fallback: Option<Fallback>,
        continued: Option<Continued<H::Lock>>,
    ) {
        let mut session = match session {
            Ok(session) => session,
            Err(error) => return self.refuse(&error),
        };
        self.set_playing(false);
        self.put_away().await;
        let engine = session.engine().info().clone();
        self.announce(engine.clone(), fallback.clone().or_else(|| self.devices.fallback.clone()));
        self.announce_time(&session.plan().task);
        if let Some(Fallback { reason, .. }) = fallback {
            self.host.send(Event::Notice(message!("This run is trained on the CPU. Reason: {reason}.")));
        }
        self.run.slices = self.data.digits.as_ref().map(|digits| cut(&digits.test)).unwrap_or_default();
        self.run.data = self.training_set(session.plan().config.minority);
        (self.run.look, self.run.looked_at) = (false, None);
        self.run.test_set = self.data.digits.as_ref().map(|digits| digits.test_set);
        self.run.wake = None;
        self.run.evaluation = Evaluation::default();
        self.jobs.background.clear();
        (self.run.last_report, self.run.last_audit) = (None, None);
        self.run.number += 1;
        let continues = continued.as_ref().map(|continued| continued.from.clone());
        let goes_on = continues.is_some();
        let (ahead, saving) = match continued {
            Some(Continued { ahead, saving, state, .. }) => {
                self.run.checkpoint = Some((session.step_count(), state));
                (ahead, saving)
            }
            None => {
                self.run.checkpoint = None;
                let mut ahead = ReservedReleases::open(new_key(self.run.number), &session, self.data.opening.clone());
                if !self.keeper.keeps || session.broken().is_some() {
                    ahead.place = Place::Nowhere;
                }
                (ahead, Saving::default())
            }
        };
        let plan = session.plan();
        self.host.send(Event::Started(RunInfo {
            run: self.run.number,
            key: ahead.key.clone(),
            continues,
            beyond: session.ledger().map_or(0, |ledger| ledger.steps().saturating_sub(session.step_count())),
            config: plan.config.clone(),
            broken: session.broken(),
            engine,
            parameters: plan.config.model.parameters() as u32,
            train: plan.train_examples,
            test: self.run.slices.iter().map(Dataset::len).sum::<usize>() as u32,
            data: self.data.digits.as_ref().map(|digits| digits.train.name.clone()).unwrap_or_default(),
        }));
        if let (Some(ledger), Some(planned)) = (session.ledger(), session.planned()) {
            let (ledger, step) = (ledger.to_json(), session.step_count());
            self.host.send(Event::LedgerOpened { run: self.run.number, ledger, step, planned });
        }
        (self.run.session, self.keeper.ahead, self.keeper.saving) = (Some(session), Some(ahead), saving);
        if goes_on {
            // Its status and cost are known; its accuracy is measured next.
            self.report(None).await;
        }
        self.run.preview = self.run.lots;
        self.evaluate_now();
        self.add_up();
    }
}
