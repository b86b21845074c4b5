//! A run is planned, built, and put in the place of the one before.

use super::{
    ahead::{Ahead, Place},
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
        audit::Mutation,
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

impl<H: Host> Agent<H> {
    /// Starts a run on the digits loaded last. If its configuration is refused the current run stays.
    pub(super) async fn start(&mut self, config: RunConfig, broken: Option<Mutation>) {
        match self.prepare(config, None).await {
            Ok(Prepared { plan, engine, fallback }) => {
                let session = Session::new(plan, engine).and_then(|mut session| {
                    broken.map_or(Ok(()), |mutation| session.break_promise(mutation))?;
                    Ok(session)
                });
                self.stand(session, fallback, None).await;
            }
            Err(error) => self.refuse(&error),
        }
    }

    /// Whether the current run breaks a promise.
    pub(super) fn is_broken(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.broken().is_some())
    }

    /// Tells the page why a run cannot be started, and which setting is at fault.
    pub(super) fn refuse(&self, error: &SessionError) {
        let field = if let SessionError::Config(error) = error { Some(error.field()) } else { None };
        self.problem(field, error);
    }

    /// A plan and its engine on the digits loaded last, in `state` or at the plan's start.
    pub(super) async fn prepare(&mut self, config: RunConfig, state: Option<&State>) -> Result<Prepared, SessionError> {
        let Some(train) = self.training_set(config.minority) else {
            return Err(ConfigError::Contradiction { field: "dataset", sentence: "no digits are loaded yet" }.into());
        };
        let plan = Plan::new(config, train.len() as u32)?;
        self.build(plan, &train, state).await
    }

    /// The training images loaded last, as a run with this minority sees them. They are turned once, so that their features are computed once.
    fn training_set(&mut self, minority: Minority) -> Option<Dataset> {
        let train = &self.digits.as_ref()?.train;
        if minority == Minority::None {
            self.turned = None;
            return Some(train.clone());
        }
        Some(self.turned.get_or_insert_with(|| minority.among(train)).clone())
    }

    /// Puts a run, paused, in the place of the one before, which is saved first.
    pub(super) async fn stand(
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
        self.announce(engine.clone(), fallback.clone().or_else(|| self.fallback.clone()));
        self.announce_time(&session.plan().task);
        if let Some(Fallback { reason, .. }) = fallback {
            self.host.send(Event::Notice(format!("This run is trained on the CPU, because of this: {reason}.")));
        }
        self.slices = self.digits.as_ref().map(|digits| cut(&digits.test)).unwrap_or_default();
        self.run_data = self.training_set(session.plan().config.minority);
        (self.look, self.looked_at) = (false, None);
        self.run_test_set = self.digits.as_ref().map(|digits| digits.test_set);
        self.wake = None;
        self.evaluation = Evaluation::default();
        self.background.clear();
        (self.last_report, self.last_audit) = (None, None);
        self.runs += 1;
        let continues = continued.as_ref().map(|continued| continued.from.clone());
        let goes_on = continues.is_some();
        let (ahead, saving) = match continued {
            Some(Continued { ahead, saving, state, .. }) => {
                self.checkpoint = Some((session.step_count(), state));
                (ahead, saving)
            }
            None => {
                self.checkpoint = None;
                let mut ahead = Ahead::open(new_key(self.runs), &session, self.opening.clone());
                if !self.keeps || session.broken().is_some() {
                    ahead.place = Place::Nowhere;
                }
                (ahead, Saving::default())
            }
        };
        let plan = session.plan();
        self.host.send(Event::Started(RunInfo {
            run: self.runs,
            key: ahead.key.clone(),
            continues,
            beyond: session.ledger().map_or(0, |ledger| ledger.steps().saturating_sub(session.step_count())),
            config: plan.config.clone(),
            broken: session.broken(),
            engine,
            parameters: plan.config.model.parameters() as u32,
            train: plan.train_examples,
            test: self.slices.iter().map(Dataset::len).sum::<usize>() as u32,
            data: self.digits.as_ref().map(|digits| digits.train.name.clone()).unwrap_or_default(),
        }));
        if let (Some(ledger), Some(planned)) = (session.ledger(), session.planned()) {
            let (ledger, step) = (ledger.to_json(), session.step_count());
            self.host.send(Event::LedgerOpened { run: self.runs, ledger, step, planned });
        }
        (self.session, self.ahead, self.saving) = (Some(session), Some(ahead), saving);
        if goes_on {
            // Where it stands and what it has cost is known; what it reads now is measured next.
            self.report(None).await;
        }
        self.evaluate_now();
        self.add_up();
    }
}
