//! Which engine runs: the GPU's, as long as it was asked for and works, else the CPU's.

use super::state::Agent;
use crate::{
    data::Dataset,
    engine::{AnyEngine, Backend, Engine, EngineError, EngineFactory, EngineInfo},
    mechanism::State,
    model::pretrained,
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

/// A plan with the engine that will run it.
pub(super) struct Prepared {
    pub plan: Plan,
    pub engine: AnyEngine,
    /// Why the engine is the CPU's, where the factory builds on the GPU.
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
                    (EngineFactory::cpu(), Some(Fallback { reason: error.to_string(), webgpu }))
                }
            },
        };
        (self.factory, self.fallback, self.opened) = (factory, fallback, None);
        self.announce(self.factory.info(), self.fallback.clone());
    }

    /// Tells the page which engine runs, and why the GPU does not, unless it was told so last.
    pub(super) fn announce(&mut self, engine: EngineInfo, fallback: Option<Fallback>) {
        let now = Some((engine.clone(), fallback.clone()));
        if self.opened != now {
            self.opened = now;
            self.host.send(Event::Opened { engine, fallback });
        }
    }

    /// The sentence on why a run leaves the GPU. After the loss of the device the factory builds all later engines on the CPU.
    pub(super) fn leave_gpu(&mut self, error: &EngineError) -> Fallback {
        let EngineError::DeviceLost(reason) = error else {
            return Fallback { reason: error.to_string(), webgpu: true };
        };
        let why = Fallback { reason: format!("the graphics device was lost ({reason})"), webgpu: true };
        if self.factory.info().backend == Backend::Gpu {
            (self.factory, self.fallback) = (EngineFactory::cpu(), Some(why.clone()));
            self.announce(self.factory.info(), self.fallback.clone());
        }
        why
    }

    /// Fetches the parameters that a run of this configuration begins with, where they are in a file of their own and were not fetched yet. A damaged
    /// copy is fetched once more, past the browser's cache.
    async fn bring_start(&self, config: &RunConfig) -> Result<(), SessionError> {
        if config.start != Start::Pretrained {
            return Ok(());
        }
        let Some(address) = pretrained::address(config.model) else { return Ok(()) };
        let failed = |error| {
            let reason = if let LoadError::Fetch { reason, .. } = error { reason } else { error.to_string() };
            SessionError::Start { reason }
        };
        if pretrained::bring(config.model, self.host.fetch(&address).await.map_err(failed)?)
            || pretrained::bring(config.model, self.host.fetch_anew(&address).await.map_err(failed)?)
        {
            return Ok(());
        }
        Err(SessionError::Start { reason: "the file is damaged, or of another version of this site".to_owned() })
    }

    /// Builds an engine for a plan, in `state` or at the plan's start: on the CPU where the GPU is lost or cannot run the plan.
    pub(super) async fn build(
        &mut self,
        plan: Plan,
        train: &Dataset,
        state: Option<&State>,
    ) -> Result<Prepared, SessionError> {
        self.bring_start(&plan.config).await?;
        let refused = match engine_of(&self.factory, &plan, train, state).await {
            Ok(engine) => return Ok(Prepared { plan, engine, fallback: None }),
            Err(error) if self.factory.info().backend == Backend::Cpu => return Err(error.into()),
            Err(error) => error,
        };
        let why = self.leave_gpu(&refused);
        let engine = engine_of(&EngineFactory::cpu(), &plan, train, state).await?;
        Ok(Prepared { plan, engine, fallback: Some(why) })
    }

    /// Gives the current run an engine on the CPU, in the state of its last checkpoint.
    pub(super) async fn move_to_cpu(&mut self, why: &Fallback) -> Result<(), SessionError> {
        let (Some(session), Some(train)) = (&mut self.session, &self.run_data) else { return Ok(()) };
        let engine = {
            let state = self.checkpoint.as_ref().map(|(_, state)| state);
            engine_of(&EngineFactory::cpu(), session.plan(), train, state).await?
        };
        let info = engine.info().clone();
        session.replace_engine(engine);
        self.announce(info, Some(why.clone()));
        Ok(())
    }
}

/// An engine for a plan, in `state` or at the plan's start.
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
