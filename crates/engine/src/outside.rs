//! Engines of other crates, behind a pointer.

use std::{future::Future, pin::Pin};

use super::{Engine, EngineError, EngineInfo, Metrics, Probabilities, Scores, StepInput, StepTrace, Task};
use crate::{
    data::Dataset,
    mechanism::{State, canaries::Witness, counts::ReleasedCounts},
};

type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + 'a>>;

/// [`Engine`] with boxed futures, which is dyn-compatible. Arguments live as long as `self` is lent.
trait Boxed {
    fn info(&self) -> &EngineInfo;
    fn prepare(&mut self, most: usize) -> Later<'_, usize>;
    fn step<'a>(&'a mut self, input: StepInput<'a>) -> Later<'a, ()>;
    fn traced_step<'a>(&'a mut self, input: StepInput<'a>) -> Later<'a, StepTrace>;
    fn released_counts(&mut self) -> Later<'_, ReleasedCounts>;
    fn witness(&mut self) -> Later<'_, Witness>;
    fn metrics(&mut self) -> Later<'_, Metrics>;
    fn set_task<'a>(&'a mut self, task: &'a Task) -> Later<'a, ()>;
    fn scores<'a>(&'a mut self, data: &'a Dataset) -> Later<'a, Scores>;
    fn predict<'a>(&'a mut self, image: &'a [f32]) -> Later<'a, Probabilities>;
    fn state(&mut self) -> Later<'_, State>;
    fn set_state<'a>(&'a mut self, state: &'a State) -> Later<'a, ()>;
}

impl<E: Engine> Boxed for E {
    fn info(&self) -> &EngineInfo {
        Engine::info(self)
    }
    fn prepare(&mut self, most: usize) -> Later<'_, usize> {
        Box::pin(Engine::prepare(self, most))
    }
    fn step<'a>(&'a mut self, input: StepInput<'a>) -> Later<'a, ()> {
        Box::pin(Engine::step(self, input))
    }
    fn traced_step<'a>(&'a mut self, input: StepInput<'a>) -> Later<'a, StepTrace> {
        Box::pin(Engine::traced_step(self, input))
    }
    fn released_counts(&mut self) -> Later<'_, ReleasedCounts> {
        Box::pin(Engine::released_counts(self))
    }
    fn witness(&mut self) -> Later<'_, Witness> {
        Box::pin(Engine::witness(self))
    }
    fn metrics(&mut self) -> Later<'_, Metrics> {
        Box::pin(Engine::metrics(self))
    }
    fn set_task<'a>(&'a mut self, task: &'a Task) -> Later<'a, ()> {
        Box::pin(Engine::set_task(self, task))
    }
    fn scores<'a>(&'a mut self, data: &'a Dataset) -> Later<'a, Scores> {
        Box::pin(Engine::scores(self, data))
    }
    fn predict<'a>(&'a mut self, image: &'a [f32]) -> Later<'a, Probabilities> {
        Box::pin(Engine::predict(self, image))
    }
    fn state(&mut self) -> Later<'_, State> {
        Box::pin(Engine::state(self))
    }
    fn set_state<'a>(&'a mut self, state: &'a State) -> Later<'a, ()> {
        Box::pin(Engine::set_state(self, state))
    }
}

/// An engine of another crate.
pub struct Outside(Box<dyn Boxed>);

impl Outside {
    pub fn new(engine: impl Engine + 'static) -> Self {
        Self(Box::new(engine))
    }
}

impl Engine for Outside {
    fn info(&self) -> &EngineInfo {
        self.0.info()
    }
    async fn prepare(&mut self, most: usize) -> Result<usize, EngineError> {
        self.0.prepare(most).await
    }
    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError> {
        self.0.step(input).await
    }
    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError> {
        self.0.traced_step(input).await
    }
    async fn released_counts(&mut self) -> Result<ReleasedCounts, EngineError> {
        self.0.released_counts().await
    }
    async fn witness(&mut self) -> Result<Witness, EngineError> {
        self.0.witness().await
    }
    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        self.0.metrics().await
    }
    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError> {
        self.0.set_task(task).await
    }
    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
        self.0.scores(data).await
    }
    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        self.0.predict(image).await
    }
    async fn state(&mut self) -> Result<State, EngineError> {
        self.0.state().await
    }
    async fn set_state(&mut self, state: &State) -> Result<(), EngineError> {
        self.0.set_state(state).await
    }
}
