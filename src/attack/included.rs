//! An engine that leaves some of its examples out of every lot: candidates whose coin said so.
//!
//! A candidate that is out has a place among those that are drawn from, and adds nothing where it is drawn. So rates, lots and what sums are divided by are the same whatever the coins say, as add-or-remove-one
//! neighbours have them; were the training set as long as those that are in, its very length would tell of each coin.

use crate::{
    data::Dataset,
    engine::{Engine, EngineError, EngineInfo, Metrics, Probabilities, Scores, StepInput, StepTrace, Task},
    mechanism::{State, counts::Told},
};

/// The examples of an engine that are in.
pub(super) struct Included<E> {
    engine: E,
    /// By index into the training set.
    is_in: Vec<bool>,
    lot: Vec<u32>,
}

impl<E> Included<E> {
    /// `is_in` has one entry for each example of the engine's training set.
    pub const fn new(engine: E, is_in: Vec<bool>) -> Self {
        Self { engine, is_in, lot: Vec::new() }
    }

    /// What is left of a lot.
    fn keep(&mut self, lot: &[u32]) {
        let Self { is_in, lot: kept, .. } = self;
        kept.clear();
        // What lies beyond is the engine's to refuse.
        kept.extend(lot.iter().copied().filter(|&index| is_in.get(index as usize).is_none_or(|is_in| *is_in)));
    }
}

impl<E: Engine> Engine for Included<E> {
    fn info(&self) -> &EngineInfo {
        self.engine.info()
    }
    async fn prepare(&mut self, most: usize) -> Result<usize, EngineError> {
        self.engine.prepare(most).await
    }
    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError> {
        self.keep(input.lot);
        self.engine.step(StepInput { lot: &self.lot, ..input }).await
    }
    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError> {
        self.keep(input.lot);
        self.engine.traced_step(StepInput { lot: &self.lot, ..input }).await
    }
    async fn told(&mut self) -> Result<Told, EngineError> {
        self.engine.told().await
    }
    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        self.engine.metrics().await
    }
    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError> {
        self.engine.set_task(task).await
    }
    async fn scores(&mut self, data: &Dataset) -> Result<Vec<Scores>, EngineError> {
        self.engine.scores(data).await
    }
    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        self.engine.predict(image).await
    }
    async fn state(&mut self) -> Result<State, EngineError> {
        self.engine.state().await
    }
    async fn set_state(&mut self, state: &State) -> Result<(), EngineError> {
        self.engine.set_state(state).await
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::{
        data::synthetic,
        engine::{Performance, cpu::CpuEngine},
        train::{config::RunConfig, plan::Plan},
    };

    /// A step without them is the step of a lot that never had them, and the training set's length is what it was.
    #[test]
    fn those_that_are_out_add_nothing() {
        let plan = Plan::new(RunConfig { lot: 8, ..RunConfig::default() }, 20).unwrap();
        let train = synthetic::digits(1, 20, 1).train;
        let start = plan.initial_parameters();
        let engine = || CpuEngine::new(plan.task.clone(), train.clone(), &start, Performance::default()).unwrap();
        let is_in: Vec<bool> = (0..20).map(|k| k % 3 != 0).collect();
        let (mut included, mut plain) = (Included::new(engine(), is_in), engine());
        for (drawn, left) in [(&[0, 1, 3, 4, 19][..], &[1, 4, 19][..]), (&[0, 3, 6], &[]), (&[2], &[2])] {
            block_on(included.step(StepInput::alone(drawn, [7; 8], 0.5))).unwrap();
            block_on(plain.step(StepInput::alone(left, [7; 8], 0.5))).unwrap();
            assert_eq!(block_on(included.state()).unwrap(), block_on(plain.state()).unwrap());
        }
        assert!(block_on(included.step(StepInput::alone(&[20], [7; 8], 0.5))).is_err());
    }
}
