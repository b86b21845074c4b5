//! The agent's response to each request of the page.

use std::time::Duration;

use super::{ahead::Place, runs::BROKEN, state::Agent};
use crate::{
    engine::Engine,
    train::session::Session,
    worker::{
        host::Host,
        protocol::{Event, Request},
    },
};
use hushgrad_message::{message, word};

impl<H: Host> Agent<H> {
    pub(super) async fn answer(&mut self, request: Request) {
        match request {
            Request::Open { backend, cores, keep, lots } => {
                (self.keeper.keeps, self.run.lots, self.devices.cores) = (keep, lots, cores);
                if keep {
                    self.list();
                }
                self.open(backend).await;
            }
            Request::Cores(cores) => self.set_cores(cores),
            Request::Load { load, from } => self.load(load, from).await,
            Request::Orient { mirror } => self.orient(mirror).await,
            Request::Piece { load, bytes } => self.take_piece(load, bytes),
            Request::Start { config, broken } => {
                let config = *config;
                self.start(config, broken).await;
            }
            Request::Reset => {
                match self.run.session.as_ref().map(|session| (session.plan().config.clone(), session.broken())) {
                    Some((config, broken)) => self.start(config, broken).await,
                    None => self.problem(None, &word!("there is no run to reset yet; wait for the digits to load")),
                }
            }
            Request::Play => match &self.run.session {
                Some(session) if session.complete() => {
                    self.host.send(Event::Notice(
                        word!("The run has finished all its steps. Reset it, or plan more steps.").into(),
                    ));
                }
                Some(_) if self.keeper.ahead.as_ref().is_some_and(|ahead| ahead.place == Place::Gone) => {
                    self.problem(None, &message!("the run's books are no longer here; {}", self.books_lost()));
                }
                Some(_) => {
                    self.run.step_awaits_digits = false;
                    self.set_playing(true);
                }
                None => self.problem(None, &word!("there is no run to play yet; wait for the digits to load")),
            },
            Request::Pause => {
                self.run.step_awaits_digits = false;
                if self.run.playing {
                    self.rest().await;
                    self.put_down().await;
                    self.evaluate_now();
                }
            }
            Request::StepOnce => {
                self.rest().await;
                self.run.step_awaits_digits = self.awaits_digits();
                if !self.run.step_awaits_digits {
                    self.step_once().await;
                }
            }
            Request::Look => self.run.look = true,
            Request::Inspect { place } => self.ring(place as usize),
            Request::Follow { place } => self.follow(place as usize),
            Request::SlowMotion { milliseconds } => {
                self.run.slow = Duration::from_millis(milliseconds.min(60_000).into());
                self.run.wake = None;
            }
            Request::Predict { pixels } => self.predict(&pixels).await,
            Request::Count => self.count().await,
            Request::TrainBaseline => self.train_baseline().await,
            Request::PayOnce(wanted) => self.begin_release(wanted),
            Request::TrainOn => self.train_on(),
            Request::StartJob(request) => self.start_job(request),
            Request::StopJob(kind) => self.stop_job(kind),
            Request::ExportLedger if self.is_broken() => self.aside(&BROKEN),
            Request::ExportLedger => match self.run.session.as_ref().map(Session::ledger) {
                Some(Some(ledger)) => self.host.send(Event::Ledger(ledger.to_json())),
                Some(None) => self.aside(&word!("this run has no guarantee, so it has no ledger to export")),
                None => self.aside(&word!("there is no run to export yet; wait for the digits to load")),
            },
            Request::ExportParameters => {
                if let Some(session) = &mut self.run.session {
                    match session.engine().state().await {
                        Ok(state) => self.host.send(Event::Parameters(state.read_with().to_vec())),
                        Err(error) => self.fail(error.into()).await,
                    }
                }
            }
            Request::Ping => self.host.send(Event::Pong),
            Request::Save => self.save().await,
            Request::Label { key, label } => self.label(key, label),
            Request::Delete { key } => self.delete(key).await,
            Request::Restore { key } => self.restore(&key).await,
            Request::Forget => self.forget().await,
            Request::KeepFile { card, bytes } => self.keep_file(*card, bytes).await,
            Request::ExportRun { key } => self.export_run(&key).await,
            Request::Continue { key } => self.continue_run(&key).await,
            Request::Requests => self.host.send(Event::Requests(self.host.requests())),
        }
    }
}
