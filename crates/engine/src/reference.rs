//! The reference engine: `mechanism` and `model` combined, slow and plain, to test other engines.

use super::{
    Backend, Engine, EngineError, EngineInfo, Metrics, Probabilities, Scores, StepInput, StepTrace, Task,
    check_canaries, check_state, cpu, scores::best,
};
use crate::{
    data::{Dataset, Shift, sharing::Units},
    mechanism::{
        Algorithm, MechanismError, State,
        canaries::Witness,
        correlated::CorrelatedNoise,
        counts::{Counts, ReleasedCounts},
    },
    model::{self, Architecture, initial_parameters, reference},
};

/// Runs [`Algorithm`] on [`reference::gradient`], one example after another.
pub struct ReferenceEngine {
    info: EngineInfo,
    task: Task,
    algorithm: Algorithm,
    correlated: Option<CorrelatedNoise>,
    train: Dataset,
    units: Option<Units>,
    state: State,
    metrics: Metrics,
    told: ReleasedCounts,
    witness: Witness,
}

impl ReferenceEngine {
    /// Returns an engine at the initial parameters of `seed`, with zero momentum.
    ///
    /// # Errors
    /// If the task's encoder, noise or denoiser is refused.
    pub fn new(task: &Task, train: Dataset, seed: u64) -> Result<Self, MechanismError> {
        let parameters = initial_parameters(task.model, seed);
        let algorithm = task.algorithm(parameters.len())?;
        let correlated = task.correlated_noise(parameters.len())?;
        let info = EngineInfo { backend: Backend::Cpu, device: "plain reference, 1 thread".to_owned() };
        let metrics = Metrics { non_finite: 0, denoise_factor: 1.0 };
        let state = State::start(parameters, task.reads_apart());
        let units = Units::of(task.sharing, &train);
        let told = ReleasedCounts::default();
        let witness = Witness::default();
        Ok(Self { info, task: task.clone(), algorithm, correlated, train, units, state, metrics, told, witness })
    }

    /// Performs one step synchronously.
    ///
    /// # Errors
    /// [`MechanismError::Sequence`].
    ///
    /// # Panics
    /// If a canary is not one of the task's.
    pub fn step_now(&mut self, input: &StepInput<'_>) -> Result<StepTrace, MechanismError> {
        let (task, train, units) = (&self.task, &self.train, &self.units);
        let mut counts = Counts::default();
        let gradient = |drawn: u32, parameters: &[f32], out: &mut [f32]| {
            match units {
                None => mean_gradient(task.model, parameters, train, drawn as usize, input.shifts, out),
                Some(units) => shared_vector(task, parameters, train, units.members(drawn), input.shifts, out),
            }
            if !task.counting.is_none() && units.as_ref().is_none_or(|units| !units.members(drawn).is_empty()) {
                count(task, parameters, train, drawn as usize, input.shifts, out, &mut counts);
            }
        };
        let &StepInput { lot, canaries: canaries_drawn, noise_key, position, learning_rate, average_keeps, .. } = input;
        let mut correlated = self.correlated.as_mut();
        if let Some(correlated) = &mut correlated {
            correlated.go_to(position)?;
        }
        let mut sum = self.algorithm.sum(&self.state.parameters, lot, gradient);
        let coordinates = task.canaries.as_ref().map_or(&[][..], |canaries| canaries.coordinates());
        let (examples, within) = (sum.encoded_at(coordinates), counts.within());
        if let Some(canaries) = &task.canaries {
            let mut gradient = vec![0.0; self.state.parameters.len()];
            for &drawn in canaries_drawn {
                canaries.gradient(drawn, &mut gradient);
                self.algorithm.add(&mut sum, &gradient);
            }
            counts.add_canaries(canaries_drawn.len());
        }
        self.told = counts.release(task.counting, &noise_key)?;
        let state = &mut self.state;
        let trace = self.algorithm.release(&sum, state, correlated, &noise_key, learning_rate, average_keeps);
        let released = coordinates.iter().map(|&at| trace.noisy[at as usize]).collect();
        self.witness = Witness { released, examples, within };
        self.metrics.non_finite += trace.non_finite;
        self.metrics.denoise_factor = trace.denoise_factor as f32;
        Ok(StepTrace { raw: trace.raw, encoded: trace.encoded, noisy: trace.noisy, denoised: trace.denoised })
    }
}

/// Counts an example with this gradient, read at the first of its copies. Tasks with units of
/// several examples count norms only.
fn count(
    task: &Task,
    parameters: &[f32],
    train: &Dataset,
    drawn: usize,
    shifts: &[Shift],
    gradient: &[f32],
    counts: &mut Counts,
) {
    let norm = gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
    if !norm.is_finite() {
        return;
    }
    let (right, digit) = if task.counting.answers.is_some() {
        let input = inputs(task.model, &shifts[0].of(train.picture, train.image(drawn)));
        let logits: Vec<f32> =
            reference::logits(task.model, parameters, &input).into_iter().map(|z| z as f32).collect();
        (best(&logits) == train.labels[drawn], train.labels[drawn])
    } else {
        (false, 0)
    };
    counts.add(task.is_within(norm), right, digit);
}

/// Writes the mean loss gradient over the copies `shifts` of one example to `out` (length P).
///
/// # Panics
/// As [`reference::gradient`].
pub fn mean_gradient(
    model: Architecture,
    parameters: &[f32],
    train: &Dataset,
    example: usize,
    shifts: &[Shift],
    out: &mut [f32],
) {
    let share = 1.0 / shifts.len() as f32;
    let mut one = vec![0.0; parameters.len()];
    out.fill(0.0);
    for shift in shifts {
        let input = inputs(model, &shift.of(train.picture, train.image(example)));
        reference::gradient(model, parameters, &input, train.labels[example], &mut one);
        out.iter_mut().zip(&one).for_each(|(out, one)| *out += share * one);
    }
}

/// Writes the vector of a unit with these examples, before clipping
/// ([`LocalSteps`](super::LocalSteps)), to `out`; zero without examples.
///
/// # Panics
/// As [`reference::gradient`].
pub fn shared_vector(
    task: &Task,
    parameters: &[f32],
    train: &Dataset,
    members: &[u32],
    shifts: &[Shift],
    out: &mut [f32],
) {
    out.fill(0.0);
    let mut one = vec![0.0; parameters.len()];
    let share = task.local.rate as f32 / members.len().max(1) as f32;
    for _ in 0..task.local.steps {
        let here: Vec<f32> = parameters.iter().zip(&*out).map(|(theta, gone)| theta - gone).collect();
        for &example in members {
            mean_gradient(task.model, &here, train, example as usize, shifts, &mut one);
            out.iter_mut().zip(&one).for_each(|(out, one)| *out += share * one);
        }
    }
}

/// Converts an image's bytes to inputs of `model`.
#[must_use]
pub fn inputs(model: Architecture, image: &[u8]) -> Vec<f32> {
    taken(model, pixels(image))
}

/// Converts an image of pixels in [0, 1] to inputs of `model`.
fn taken(model: Architecture, image: Vec<f32>) -> Vec<f32> {
    match model.features() {
        Some(map) => cpu::features(map, &image).into_iter().map(model::scattering::value).collect(),
        None => image,
    }
}

/// Converts bytes to grey values in [0, 1].
#[must_use]
pub fn pixels(bytes: &[u8]) -> Vec<f32> {
    bytes.iter().copied().map(model::pixel).collect()
}

impl Engine for ReferenceEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError> {
        check_canaries(self.task.canaries.as_deref(), input.canaries)?;
        self.step_now(&input)?;
        Ok(())
    }

    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError> {
        check_canaries(self.task.canaries.as_deref(), input.canaries)?;
        Ok(self.step_now(&input)?)
    }

    async fn released_counts(&mut self) -> Result<ReleasedCounts, EngineError> {
        Ok(self.told)
    }

    async fn witness(&mut self) -> Result<Witness, EngineError> {
        Ok(std::mem::take(&mut self.witness))
    }

    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        Ok(self.metrics)
    }

    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError> {
        self.task.check_next(task)?;
        self.algorithm = task.algorithm(self.state.parameters.len())?;
        self.task = task.clone();
        Ok(())
    }

    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
        let scores =
            |i| reference::logits(self.task.model, self.state.read_with(), &inputs(self.task.model, data.image(i)));
        let values = (0..data.len()).flat_map(scores).map(|z| z as f32);
        Ok(Scores::new(self.task.model.classes(), values.collect()))
    }

    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        let input = taken(self.task.model, image.to_vec());
        Ok(reference::probabilities(self.task.model, self.state.read_with(), &input)
            .iter()
            .map(|&p| p as f32)
            .collect())
    }

    async fn state(&mut self) -> Result<State, EngineError> {
        Ok(self.state.clone())
    }

    async fn set_state(&mut self, state: &State) -> Result<(), EngineError> {
        check_state(state, self.state.parameters.len())?;
        self.state.go_on_from(state);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic;

    #[test]
    fn pretrained_models_read_digits_that_they_were_not_trained_on() {
        let digits = synthetic::dataset(9, synthetic::TEST_START, 1000);
        for (architecture, least) in [(Architecture::CnnTanh, 950), (Architecture::Scattering, 900)] {
            let parameters = model::pretrained::parameters(architecture).expect("there is a file");
            let right = (0..digits.len())
                .filter(|&i| {
                    let input = inputs(architecture, digits.image(i));
                    model::reference::classify(architecture, &parameters, &input) == digits.labels[i]
                })
                .count();
            assert!(right >= least, "{architecture}: {right} of 1000");
        }
    }
}
