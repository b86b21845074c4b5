//! Which engine runs: the GPU's while it is wanted and works, else the CPU's.

use super::{state::Agent, timed::TimedKind};
use crate::{
    data::{Dataset, FeatureKind},
    engine::{
        AnyEngine, Backend, Engine, EngineError, EngineFactory, EngineInfo, Task, Timings, cpu::helpers::Helpers,
    },
    mechanism::State,
    model::{extractor, kept::KeptFile, pretrained},
    train::{
        config::{RunConfig, Start},
        error::SessionError,
        plan::Plan,
    },
    worker::{
        host::Host,
        load_error::LoadError,
        protocol::{BackendChoice, Event, Fallback},
    },
};
use hushgrad_message::{Message, ToMessage, message, word};

/// A plan with its engine.
pub(super) struct Prepared {
    pub plan: Plan,
    pub engine: AnyEngine,
    /// Why the engine is the CPU's although the factory builds on the GPU.
    pub fallback: Option<Fallback>,
}

impl<H: Host> Agent<H> {
    /// Chooses the backend, and tells the page.
    pub(super) async fn open(&mut self, backend: BackendChoice) {
        let (factory, fallback) = match backend {
            BackendChoice::Cpu => (EngineFactory::cpu(), None),
            BackendChoice::Gpu | BackendChoice::Automatic => match EngineFactory::gpu_checked().await {
                Ok(factory) => (factory, None),
                Err(error) => {
                    let webgpu = !matches!(error, EngineError::NoAdapter(_));
                    (EngineFactory::cpu(), Some(Fallback { reason: error.to_message(), webgpu }))
                }
            },
        };
        (self.devices.factory, self.devices.fallback, self.devices.opened) = (factory, fallback, None);
        self.devices.choice = backend;
        self.announce(self.devices.factory.info(), self.devices.fallback.clone());
    }

    /// Tells the page which engine runs, and why the GPU does not, if that has changed.
    pub(super) fn announce(&mut self, engine: EngineInfo, fallback: Option<Fallback>) {
        let now = Some((engine.clone(), fallback.clone()));
        if self.devices.opened != now {
            self.devices.opened = now;
            self.host.send(Event::Opened { engine, fallback });
        }
    }

    /// Returns the helpers, which start when a CPU engine first needs them.
    pub(super) fn helpers(&mut self) -> Option<Helpers> {
        let (host, cores) = (&self.host, self.devices.cores);
        self.devices.helpers.get_or_insert_with(|| host.helpers(cores)).clone()
    }

    /// Sets the number of cores on which the CPU computes.
    pub(super) fn set_cores(&mut self, cores: Option<u32>) {
        if self.devices.cores == cores {
            return;
        }
        (self.devices.cores, self.devices.told_of_helpers) = (cores, false);
        self.devices.timings.clear();
        // Earlier helpers end when no engine uses them.
        let used = self.devices.helpers.take().is_some();
        let helpers = used.then(|| self.helpers()).flatten();
        if let Some(session) = &mut self.run.session {
            give(session.engine(), helpers);
        }
        self.announce_threads();
    }

    /// Tells the page if the engine's number of threads changed, and once if a helper was lost.
    pub(super) fn announce_threads(&mut self) {
        let fallback = self.devices.opened.as_ref().and_then(|(_, fallback)| fallback.clone());
        if let Some(session) = &mut self.run.session {
            let info = session.engine().info().clone();
            self.announce(info, fallback);
        }
        let lost = self.devices.helpers.iter().flatten().any(|helpers| helpers.lost() > 0);
        if lost && !std::mem::replace(&mut self.devices.told_of_helpers, true) {
            let sentence = word!(
                "A thread that computed part of each step has stopped, or answered too late. The others take over its part, so the run is the same; steps may take longer."
            );
            self.host.send(Event::Notice(sentence.into()));
        }
    }

    /// Returns why a run leaves the GPU. After a lost device, the factory builds on the CPU.
    pub(super) fn leave_gpu(&mut self, error: &EngineError) -> Fallback {
        let EngineError::DeviceLost(reason) = error else {
            return Fallback { reason: error.to_message(), webgpu: true };
        };
        let why = Fallback { reason: message!("the graphics device was lost ({reason})"), webgpu: true };
        if self.devices.factory.info().backend == Backend::Gpu {
            (self.devices.factory, self.devices.fallback) = (EngineFactory::cpu(), Some(why.clone()));
            self.announce(self.devices.factory.info(), self.devices.fallback.clone());
        }
        why
    }

    /// Fetches missing files that a run of this configuration needs: its starting parameters, and
    /// the network that computes its features.
    async fn bring_files(&self, config: &RunConfig) -> Result<(), SessionError> {
        let start = pretrained::file(config.model).filter(|_| config.start == Start::Pretrained);
        let learned = config.model.features().is_some_and(|map| map.kind == FeatureKind::Learned);
        let extractor = learned.then_some(&extractor::FILE);
        for (file, failed) in [
            (start, (|reason| SessionError::Start { reason }) as fn(Message) -> SessionError),
            (extractor, |reason| SessionError::Extractor { reason }),
        ] {
            if let Some(file) = file {
                self.bring(file).await.map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Fetches one file. A damaged copy is fetched once more, past the browser's cache.
    async fn bring(&self, file: &KeptFile) -> Result<(), Message> {
        let Some(address) = file.address() else { return Ok(()) };
        let failed = |error| if let LoadError::Fetch { reason, .. } = error { reason } else { error.to_message() };
        if file.bring(self.host.fetch(&address).await.map_err(failed)?)
            || file.bring(self.host.fetch_anew(&address).await.map_err(failed)?)
        {
            return Ok(());
        }
        Err(word!("the file is damaged, or from another version of this site").into())
    }

    /// Builds an engine for a plan: on the CPU if it is faster, or if the GPU cannot run the plan.
    pub(super) async fn build(
        &mut self,
        plan: Plan,
        train: &Dataset,
        state: Option<&State>,
    ) -> Result<Prepared, SessionError> {
        self.bring_files(&plan.config).await?;
        if self.cpu_is_faster(&plan.task).await {
            let mut engine = engine_of(&EngineFactory::cpu(), &plan, train, state).await?;
            give(&mut engine, self.helpers());
            return Ok(Prepared { plan, engine, fallback: None });
        }
        let refused = match engine_of(&self.devices.factory, &plan, train, state).await {
            Ok(mut engine) => {
                if matches!(engine, AnyEngine::Cpu(_)) {
                    give(&mut engine, self.helpers());
                }
                return Ok(Prepared { plan, engine, fallback: None });
            }
            Err(error) if self.devices.factory.info().backend == Backend::Cpu => return Err(error.into()),
            Err(error) => error,
        };
        let why = self.leave_gpu(&refused);
        let mut engine = engine_of(&EngineFactory::cpu(), &plan, train, state).await?;
        give(&mut engine, self.helpers());
        Ok(Prepared { plan, engine, fallback: Some(why) })
    }

    /// True if the CPU's steps are faster than the GPU's. Timed once for each kind of step.
    async fn cpu_is_faster(&mut self, task: &Task) -> bool {
        if !self.decides_by_time() {
            return false;
        }
        if let Some(timed) = self.timed(task) {
            return timed.cpu_is_faster();
        }
        let helpers = self.helpers();
        let timed = self.devices.factory.timings(task, helpers).await;
        self.devices.timings.extend(timed.map(|timed| (TimedKind::of(task), timed)));
        timed.is_some_and(Timings::cpu_is_faster)
    }

    /// True if there are two engines to choose from.
    fn decides_by_time(&self) -> bool {
        self.devices.choice == BackendChoice::Automatic && self.devices.factory.info().backend == Backend::Gpu
    }

    /// Returns the step times of such a task on both engines, if they were measured.
    fn timed(&self, task: &Task) -> Option<Timings> {
        let kind = TimedKind::of(task);
        self.devices.timings.iter().find(|(other, _)| *other == kind).map(|(_, timed)| *timed)
    }

    /// Tells the page the step times of the current run's task, if they decided and have changed.
    pub(super) fn announce_time(&mut self, task: &Task) {
        let timed = if self.decides_by_time() { self.timed(task) } else { None };
        if self.devices.told_time != timed {
            self.devices.told_time = timed;
            self.host.send(Event::Timed(timed));
        }
    }

    /// Moves the current run to a CPU engine, in the state of its last checkpoint.
    pub(super) async fn move_to_cpu(&mut self, why: &Fallback) -> Result<(), SessionError> {
        let helpers = self.helpers();
        let (Some(session), Some(train)) = (&mut self.run.session, &self.run.data) else { return Ok(()) };
        let mut engine = {
            let state = self.run.checkpoint.as_ref().map(|(_, state)| state);
            engine_of(&EngineFactory::cpu(), session.plan(), train, state).await?
        };
        give(&mut engine, helpers);
        let info = engine.info().clone();
        session.replace_engine(engine);
        self.announce(info, Some(why.clone()));
        Ok(())
    }
}

/// Gives a CPU engine its helpers.
fn give(engine: &mut AnyEngine, helpers: Option<Helpers>) {
    if let AnyEngine::Cpu(engine) = engine {
        engine.set_helpers(helpers);
    }
}

/// Builds an engine for a plan, in `state` or at the plan's start.
async fn engine_of(
    factory: &EngineFactory,
    plan: &Plan,
    train: &Dataset,
    state: Option<&State>,
) -> Result<AnyEngine, EngineError> {
    let mut engine = factory.build(&plan.task, train, &plan.initial_parameters()).await?;
    if let Some(state) = state {
        engine.set_state(state).await?;
    }
    Ok(engine)
}
