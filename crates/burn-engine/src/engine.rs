//! Algorithm 1 over Burn's tensors. The device computes gradients; encoder, exact sum, noise,
//! denoiser and update are those of [`hushgrad_core::mechanism`], on the host.

use burn::tensor::Device;
use hushgrad_core::{
    data::{Dataset, Shift},
    mechanism::{Algorithm, EncoderSpec, LotSum, State, correlated::CorrelatedNoise},
    model::{Architecture, pixel, scattering},
};
use hushgrad_engine::{
    Backend, Engine, EngineError, EngineInfo, Metrics, Performance, Probabilities, Scores, StepInput, StepTrace, Task,
    check_state, cpu, softmax,
};

use crate::{
    error::{BurnError, check_length},
    model::Model,
    network::{Input, Network},
    per_example::Batch,
};

/// Values on the device per chunk of examples: 64 MiB of f32.
const BUDGET: usize = 1 << 24;

/// Runs Algorithm 1 on a Burn device.
pub struct BurnEngine {
    info: EngineInfo,
    model: Model<f32>,
    task: Task,
    algorithm: Algorithm,
    correlated: Option<CorrelatedNoise>,
    copies: usize,
    /// Number of examples whose gradients are on the device together.
    chunk: usize,
    train: Dataset,
    state: State,
    metrics: Metrics,
}

impl BurnEngine {
    /// Builds an engine for `task` on `train`. Of `performance`, only the chunk is used.
    ///
    /// # Errors
    /// When the arguments do not fit together, an option is unsupported, or the device lacks f32.
    pub fn new(
        task: &Task,
        train: Dataset,
        initial_parameters: &[f32],
        performance: Performance,
        device: &Device,
    ) -> Result<Self, BurnError> {
        Self::with_network(Network::of(task.model)?, task, train, initial_parameters, performance, device)
    }

    /// Like [`Self::new`], for a custom network; an envelope must match its parameters.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_network(
        network: Network,
        task: &Task,
        train: Dataset,
        initial_parameters: &[f32],
        performance: Performance,
        device: &Device,
    ) -> Result<Self, BurnError> {
        let p = network.parameters();
        check_length("initial parameters", initial_parameters.len(), p)?;
        check_dataset(task.model, &train)?;
        // Use exactly the vectors that are accounted for.
        if matches!(task.encoder, EncoderSpec::Envelope { .. }) && task.envelope.is_none() {
            return Err(BurnError::NoEnvelope);
        }
        if task.sharing.is_shared() {
            return Err(BurnError::Sharing);
        }
        if !task.counting.is_none() {
            return Err(BurnError::Counting);
        }
        if task.canaries.is_some() {
            return Err(BurnError::Canaries);
        }
        let (algorithm, correlated) = (task.algorithm(p)?, task.correlated_noise(p)?);
        let copies = task.copies.max(1) as usize;
        // Each gradient is stored twice: per layer, and in one piece.
        let example = network.activations().saturating_add(network.inputs()).saturating_mul(copies);
        let chunk = match performance.chunk {
            Some(chunk) => chunk as usize,
            None => BUDGET / example.saturating_add(p.saturating_mul(2)),
        };
        let model = Model::new(network, device)?;
        Ok(Self {
            info: info(model.device()),
            model,
            task: task.clone(),
            algorithm,
            correlated,
            copies,
            chunk: chunk.max(1),
            train,
            state: State::start(initial_parameters.to_vec(), task.reads_apart()),
            metrics: Metrics { non_finite: 0, denoise_factor: 1.0 },
        })
    }

    #[must_use]
    pub const fn network(&self) -> &Network {
        self.model.network()
    }

    fn check(&self, StepInput { lot, shifts, .. }: &StepInput<'_>) -> Result<(), BurnError> {
        check_length("copies of each example", shifts.len(), self.copies)?;
        match lot.iter().find(|&&i| i as usize >= self.train.len()) {
            Some(&index) => Err(BurnError::Example { index, examples: self.train.len() }),
            None => Ok(()),
        }
    }

    /// Sums the lot's encoded gradients, one chunk at a time.
    async fn sum(&self, lot: &[u32], shifts: &[Shift]) -> Result<LotSum, BurnError> {
        let p = self.state.parameters.len();
        let mut sum = self.algorithm.empty_sum(p);
        let parameters = self.model.load(&self.state.parameters)?;
        for chunk in lot.chunks(self.chunk) {
            let mut inputs = Vec::with_capacity(chunk.len() * shifts.len() * self.network().inputs());
            for &example in chunk {
                for &shift in shifts {
                    self.push_inputs(&self.train, example as usize, shift, &mut inputs);
                }
            }
            let labels: Vec<u8> = chunk.iter().map(|&example| self.train.labels[example as usize]).collect();
            let batch = Batch { inputs: &inputs, labels: &labels, copies: shifts.len() };
            let computed = self.model.gradients(&parameters, batch).await?;
            computed.gradients.chunks_exact(p).for_each(|gradient| self.algorithm.add(&mut sum, gradient));
        }
        Ok(sum)
    }

    /// Appends the network's inputs for a shifted image, reusing known features.
    fn push_inputs(&self, data: &Dataset, example: usize, shift: Shift, inputs: &mut Vec<f32>) {
        if let (Input::Features(map), true) = (self.network().input(), shift == Shift::NONE) {
            let known = data.features();
            let known = known.of(data, map.kind).chunks_exact(map.len()).nth(example);
            if let Some(known) = known {
                return inputs.extend(known.iter().copied().map(scattering::value));
            }
        }
        let image: Vec<f32> = shift.of(data.picture, data.image(example)).into_iter().map(pixel).collect();
        self.push_image(&image, inputs);
    }

    /// Appends the network's inputs for an image's grey values.
    fn push_image(&self, image: &[f32], inputs: &mut Vec<f32>) {
        match self.network().input() {
            Input::Pixels(_) => inputs.extend_from_slice(image),
            Input::Features(map) => inputs.extend(cpu::features(map, image).into_iter().map(scattering::value)),
        }
    }

    /// Returns the number of images per batch of logits.
    fn images_at_a_time(&self) -> usize {
        let image = self.network().activations().saturating_add(self.network().inputs());
        (BUDGET / image.max(1)).max(1)
    }

    async fn scores_of(&self, data: &Dataset) -> Result<Scores, BurnError> {
        check_dataset(self.task.model, data)?;
        let parameters = self.model.load(self.state.read_with())?;
        let classes = self.task.model.classes();
        let mut scores = Vec::with_capacity(data.len() * classes);
        let mut first = 0;
        while first < data.len() {
            let end = data.len().min(first + self.images_at_a_time());
            let mut inputs = Vec::with_capacity((end - first) * self.network().inputs());
            (first..end).for_each(|example| self.push_inputs(data, example, Shift::NONE, &mut inputs));
            let logits = self.model.logits(&parameters, &inputs).await?;
            scores.extend_from_slice(&logits);
            first = end;
        }
        Ok(Scores::new(classes, scores))
    }

    async fn probabilities(&self, image: &[f32]) -> Result<Probabilities, BurnError> {
        check_length("pixels", image.len(), self.task.model.picture().pixels())?;
        let parameters = self.model.load(self.state.read_with())?;
        let mut inputs = Vec::with_capacity(self.network().inputs());
        self.push_image(image, &mut inputs);
        let logits = self.model.logits(&parameters, &inputs).await?;
        check_length("logits", logits.len(), self.task.model.classes())?;
        Ok(softmax(&logits))
    }
}

impl Engine for BurnEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError> {
        self.traced_step(input).await.map(drop)
    }

    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError> {
        self.check(&input)?;
        let StepInput { lot, shifts, noise_key, position, learning_rate, average_keeps, .. } = input;
        if let Some(correlated) = &mut self.correlated {
            correlated.go_to(position)?;
        }
        let sum = self.sum(lot, shifts).await?;
        let (state, correlated) = (&mut self.state, self.correlated.as_mut());
        let trace = self.algorithm.release(&sum, state, correlated, &noise_key, learning_rate, average_keeps);
        self.metrics.non_finite += trace.non_finite;
        self.metrics.denoise_factor = trace.denoise_factor as f32;
        Ok(StepTrace { raw: trace.raw, encoded: trace.encoded, noisy: trace.noisy, denoised: trace.denoised })
    }

    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        Ok(self.metrics)
    }

    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
        Ok(self.scores_of(data).await?)
    }

    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        Ok(self.probabilities(image).await?)
    }

    async fn state(&mut self) -> Result<State, EngineError> {
        Ok(self.state.clone())
    }

    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError> {
        self.task.check_next(task)?;
        self.algorithm = task.algorithm(self.state.parameters.len())?;
        self.task = task.clone();
        Ok(())
    }

    async fn set_state(&mut self, state: &State) -> Result<(), EngineError> {
        check_state(state, self.state.parameters.len())?;
        self.state.go_on_from(state);
        Ok(())
    }
}

/// Describes a device.
#[must_use]
pub fn info(device: &Device) -> EngineInfo {
    #[cfg(feature = "flex")]
    if *device == Device::flex() {
        return EngineInfo { backend: Backend::Cpu, device: "Burn's tensors on the processor (flex)".to_owned() };
    }
    let _ = device;
    EngineInfo { backend: Backend::Gpu, device: "Burn's tensors on WebGPU (wgpu)".to_owned() }
}

/// Checks that there is an image for each label, and that labels are classes of the model.
fn check_dataset(model: Architecture, data: &Dataset) -> Result<(), BurnError> {
    let pixels = model.picture().pixels();
    check_length("bytes of images", data.images.len(), data.labels.len() * pixels)?;
    match data.labels.iter().find(|&&label| usize::from(label) >= model.classes()) {
        Some(&label) => Err(BurnError::Label { label, classes: model.classes() }),
        None => Ok(()),
    }
}
