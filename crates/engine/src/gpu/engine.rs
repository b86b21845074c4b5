//! The engine: what a run keeps on the device, and how steps, evaluations and predictions are
//! recorded and submitted.

use std::collections::VecDeque;

use hushgrad_message::word;
use web_time::Instant;

use super::{
    buffers::{BINS_CLEARED, Buffers, Sizes},
    canaries::Planted,
    denoising::Denoising,
    device::Gpu,
    dispatch::Dispatch,
    examples::{ExampleSet, Examples, bind},
    features::{self, SLICE, Scattering},
    layout::{COUNTERS, COUNTS, COUNTS_AT, Encoding, OnDevice as _, score_bytes},
    lowered::{Lowered, Release, Run},
    memory::{OFFSET_ALIGNMENT, storage},
    passes::Passes,
    programs::{KernelNames, Programs},
    sharing::Shared,
    wait::{self, Fence},
    words::{floats, probability, signed, whole_steps, word},
};
use crate::{
    Backend, Engine, EngineError, EngineInfo, Metrics, Performance, Probabilities, Scores, StepInput, StepTrace, Task,
    Unsupported, check_canaries, check_length, check_state, check_training, cpu,
    data::{Dataset, Shift},
    mechanism::{
        State,
        canaries::Witness,
        correlated::follows,
        counts::{Counting, Counts, ReleasedCounts},
        denoise::soft,
        exact_sum::SumGrid,
    },
    model::{Architecture, cnn::CONV1},
    scores::softmax,
};

/// Most steps in flight: enough to keep the device busy, few enough to answer Pause at once.
const IN_FLIGHT: usize = 4;

/// The WebGPU engine.
#[derive(Debug)]
pub struct GpuEngine {
    gpu: Gpu,
    info: EngineInfo,
    task: Task,
    /// P.
    dimension: usize,
    encoding: Encoding,
    /// Grid of the encoded coordinates; their sums are exact.
    grid: Option<SumGrid>,
    denoising: Denoising,
    run: Run,
    release: Release,
    /// Steps of the current sequence of correlated noise.
    position: u64,
    buffers: Buffers,
    training: ExampleSet,
    evaluation: Option<ExampleSet>,
    /// Binds the training examples, for predictions by the parameters that images are read with.
    prediction_group: wgpu::BindGroup,
    /// If the model takes features.
    features: Option<Known>,
    /// If examples share vectors.
    shared: Option<Shared>,
    /// If the run is audited.
    planted: Option<Planted>,
    /// Whether the auditor has not yet seen the last step.
    unseen: bool,
    programs: Programs,
    release_group: wgpu::BindGroup,
    /// Byte offset of a prediction's pixels in `work`.
    pixels_at: u64,
    /// Whether pixels are written to a field with a border of zeros.
    padded: bool,
    logits_at: u64,
    in_flight: VecDeque<Fence>,
    stepped: bool,
    /// What the last step counted, and the key of its noise.
    counted: Option<(Counting, [u32; 8])>,
}

/// Features of the training set, as far as computed.
#[derive(Debug)]
struct Known {
    scattering: Scattering,
    /// Binds the training examples as the features' output.
    group: wgpu::BindGroup,
    train: Dataset,
    known: usize,
}

/// Allocates the training set: its images, or its features with the kernels that compute them.
async fn place(gpu: &Gpu, model: Architecture, train: &Dataset) -> Result<(Examples, Option<Known>), EngineError> {
    if model != Architecture::Scattering {
        return Ok((Examples::upload(gpu, train, model).await?, None));
    }
    let scattering = Scattering::new(gpu).await?;
    let examples = Examples::room(gpu, train, train.len(), model).await?;
    let group = scattering.group(gpu, &examples.words);
    Ok((examples, Some(Known { group, scattering, train: train.clone(), known: 0 })))
}

impl GpuEngine {
    /// Uploads the training set, compiles the kernels that the task needs and allocates everything.
    ///
    /// # Errors
    /// If the device cannot hold the run, refuses a kernel, or is lost; if parameters or envelope
    /// do not fit the model.
    pub async fn new(
        gpu: &Gpu,
        task: &Task,
        train: &Dataset,
        initial_parameters: &[f32],
        performance: Performance,
    ) -> Result<Self, EngineError> {
        gpu.check()?;
        check_training(task, train)?;
        let lowered = Lowered::new(task)?;
        let Lowered { dimension, encoding, grid, denoising, .. } = lowered;
        check_length(word!("initial parameters"), initial_parameters.len(), dimension)?;
        let (examples, features) = place(gpu, task.model, train).await?;
        let passes = Passes::new(gpu, task, encoding, grid.is_some());
        let members = train.len() as f32 / task.sharing.units(train.len() as u32).max(1) as f32;
        let sizes = Sizes {
            model: task.model,
            encoding,
            envelope: lowered.envelope,
            slices: passes.slices,
            canaries: task.canaries.is_some(),
            vectors: passes.vectors.map(|vectors| (vectors, members)),
            examples: examples.len,
            features: features.as_ref().map_or(0, |_| features::BYTES),
            expected_lot: task.expected_lot,
            chunk: performance.chunk,
            apart: task.reads_apart(),
            denoising,
            bands: task.bands,
            tails: lowered.family.tails.len(),
            quantiles: lowered.family.quantiles.len(),
        };
        let buffers = Buffers::new(gpu, &sizes).await?;
        write_parameters(gpu, &buffers, initial_parameters, initial_parameters);
        lowered.write(gpu, &buffers);
        // In dense models a prediction's pixels follow the last example.
        let pixels_at = passes.inputs_at().unwrap_or(buffers.chunk as usize * passes.slices.stride);
        let (programs, release_group, training, prediction_group, shared, planted) = gpu
            .guarded(word!("the kernels"), || {
                let training = ExampleSet::of_training(gpu, examples, &buffers);
                let ExampleSet { examples, starts, .. } = &training;
                let prediction = bind(gpu, examples, starts, &buffers, buffers.average_at, &buffers.run);
                let programs = Programs::new(gpu, &passes, &lowered, pixels_at);
                let shared = Shared::new(gpu, task, train, examples, &buffers);
                let planted = task.canaries.as_ref();
                let planted = planted.and_then(|all| Planted::new(gpu, all, &passes, examples, &buffers));
                (programs, buffers.release_group(gpu), training, prediction, shared, planted)
            })
            .await?;
        Ok(Self {
            gpu: gpu.clone(),
            info: EngineInfo { backend: Backend::Gpu, device: gpu.report().to_string() },
            task: task.clone(),
            dimension,
            encoding,
            grid,
            denoising,
            run: lowered.run(&buffers),
            release: lowered.release(&buffers),
            position: 0,
            training,
            evaluation: None,
            prediction_group,
            features,
            shared,
            planted,
            unseen: false,
            programs,
            release_group,
            pixels_at: 4 * pixels_at as u64,
            padded: task.model.is_convolutional(),
            logits_at: 4 * passes.slices.logits as u64,
            in_flight: VecDeque::new(),
            stepped: false,
            counted: None,
            buffers,
        })
    }

    /// The device that the engine runs on.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Names of its kernels, by what they compute.
    #[must_use]
    pub fn kernel_names(&self) -> KernelNames {
        let canaries = self.planted.as_ref().map_or_else(Vec::new, |planted| planted.programs().names());
        KernelNames { canaries, ..self.programs.names() }
    }

    /// Examples whose gradients are in memory at a time.
    #[must_use]
    pub fn chunk(&self) -> u32 {
        self.buffers.chunk
    }

    /// Bytes that an example of a chunk occupies on the device during a step.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        self.buffers.kept
    }

    /// Measures the seconds that each kernel of a step takes alone, over the first chunk of `lot`,
    /// in order: for benchmarks. Corrupts the state.
    ///
    /// # Errors
    /// As [`Engine::step`].
    #[doc(hidden)]
    pub async fn kernel_seconds(&mut self, input: StepInput<'_>) -> Result<Vec<(&'static str, f64)>, EngineError> {
        /// Repetitions of each kernel.
        const TIMES: u32 = 100;
        self.step(input.clone()).await?;
        self.metrics().await?;
        let in_chunk = (input.lot.len() as u32).min(self.buffers.chunk);
        let mut found = Vec::new();
        let chunk = self.programs.step.iter().map(|kernel| (&self.training.group, &[0][..], kernel));
        for (group, offsets, kernel) in
            chunk.chain(self.programs.finish.iter().map(|k| (&self.release_group, &[][..], k)))
        {
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = Instant::now();
                let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_bind_group(0, group, offsets);
                (0..TIMES).for_each(|_| kernel.record(&mut pass, in_chunk));
                drop(pass);
                let submission = self.gpu.queue().submit([encoder.finish()]);
                Fence::new(&self.gpu, submission).wait(&self.gpu).await?;
                best = best.min(start.elapsed().as_secs_f64() / f64::from(TIMES));
            }
            found.push((kernel.name, best));
        }
        Ok(found)
    }

    /// Returns the encoded sum of the last step in whole steps of its grid, if any: exact, unlike
    /// the f32 of a trace for a large lot.
    ///
    /// # Errors
    /// As [`Engine::step`].
    pub async fn encoded_steps(&mut self) -> Result<Option<Vec<i64>>, EngineError> {
        if self.grid.is_none() {
            return Ok(None);
        }
        let sums = self.buffers.sums.clone();
        let [words] = self.read([(&sums, 0, 8 * self.dimension as u64)]).await?;
        Ok(Some(whole_steps(&words).collect()))
    }

    /// Returns the exact counts of the last step. They are derived from private data and leave the
    /// engine only through [`Engine::told`]; a check's examples are synthetic.
    ///
    /// # Errors
    /// As [`Engine::step`].
    pub(crate) async fn counts(&mut self) -> Result<Counts, EngineError> {
        let tallies = self.buffers.tallies.clone();
        let [words] = self.read([(&tallies, 4 * COUNTS_AT as u64, 4 * COUNTS as u64)]).await?;
        Ok(counts_of(&words))
    }

    /// As [`Engine::scores`], for models that take features: a chunk at a time, as features of all
    /// training and all test images together exceed many devices.
    async fn scores_of_features(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
        let chunk = self.buffers.chunk as usize;
        if self.evaluation.is_none() {
            let rows = Examples::room(&self.gpu, data, chunk, self.task.model).await?;
            self.evaluation = Some(ExampleSet::of_evaluation(&self.gpu, rows, &self.buffers));
        }
        let (Some(Known { scattering, .. }), Some(set)) = (&self.features, &self.evaluation) else {
            return Ok(Scores::new(self.task.model.classes(), Vec::new()));
        };
        let words = &set.examples.words;
        let group = scattering.group(&self.gpu, words);
        // Chunks whose scores are read together.
        let together = (self.buffers.staging.size() / (score_bytes(self.task.model) * chunk as u64)).max(1) as usize;
        let classes = self.task.model.classes();
        let mut scores: Vec<f32> = Vec::with_capacity(data.len() * classes);
        self.in_flight.clear();
        while scores.len() < data.len() * classes {
            let mut total = 0;
            for first in (scores.len() / classes..data.len()).step_by(chunk).take(together) {
                let end = data.len().min(first + chunk);
                for start in (first..end).step_by(SLICE) {
                    let slice = start..end.min(start + SLICE);
                    scattering.submit(&self.gpu, &group, words, start - first, data, slice);
                }
                let count = (end - first) as u32;
                let run = Run { count, ..self.run };
                self.gpu.queue().write_buffer(&self.buffers.evaluation_run, 0, bytemuck::bytes_of(&run));
                let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                total += self.record_scores(&mut encoder, set, 0, count, total);
                self.gpu.queue().submit([encoder.finish()]);
            }
            let bytes = wait::read(&self.gpu, &self.buffers.staging, total).await?;
            scores.extend_from_slice(&floats(&bytes));
        }
        Ok(Scores::new(self.task.model.classes(), scores))
    }

    /// Records one chunk of an evaluation, whose scores go to byte `at` of the staging buffer.
    /// Returns their number of bytes.
    fn record_scores(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        set: &ExampleSet,
        chunk: usize,
        count: u32,
        at: u64,
    ) -> u64 {
        record_chunk(encoder, &set.group, &self.programs.evaluate, chunk, count);
        let bytes = score_bytes(self.task.model) * u64::from(count);
        let Buffers { tallies, staging, .. } = &self.buffers;
        encoder.copy_buffer_to_buffer(tallies, 4 * COUNTERS as u64, staging, at, bytes);
        bytes
    }

    /// Records and submits one step without waiting.
    fn submit_step(&mut self, input: &StepInput<'_>, traced: bool) -> Result<wgpu::SubmissionIndex, EngineError> {
        self.gpu.check()?;
        check_canaries(self.task.canaries.as_deref(), input.canaries)?;
        let count = input.lot.len() as u32;
        let there = self.shared.as_ref().map_or(self.training.examples.len as usize, Shared::len);
        if input.lot.len() > there || input.lot.last().is_some_and(|&last| last as usize >= there) {
            let index = input.lot.last().copied().unwrap_or(0);
            return Err(Unsupported::Example { index, examples: there }.into());
        }
        if input.shifts != Shift::ALONE {
            return Err(Unsupported::AugmentationOnGpu.into());
        }
        if self.task.bands > 1 {
            self.position = follows(self.position, input.position)?;
        }
        let queue = self.gpu.queue();
        let drawn = match &self.shared {
            Some(shared) => {
                let held = (&self.training.examples, &self.buffers);
                Some((shared, shared.draw(&self.gpu, held, self.run, input.lot)))
            }
            None => {
                if count > 0 {
                    queue.write_buffer(&self.training.examples.indices, 0, bytemuck::cast_slice(input.lot));
                }
                queue.write_buffer(&self.buffers.run, 0, bytemuck::bytes_of(&Run { count, ..self.run }));
                None
            }
        };
        if let Some(planted) = &self.planted {
            planted.draw(&self.gpu, &self.buffers, self.run, input.canaries);
        }
        let &StepInput { noise_key, learning_rate, average_keeps, .. } = input;
        // The position for the kernel, bounded by 2·`rows`.
        let rows = u64::from(self.task.bands.max(2) - 1);
        let position = if self.position < rows { self.position } else { rows + self.position % rows } as u32;
        let release = Release { key: noise_key, position, learning_rate, average_keeps, ..self.release };
        queue.write_buffer(&self.buffers.release, 0, bytemuck::bytes_of(&release));

        let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let sum_bytes = 4 * self.dimension as u64 * if traced { 3 } else { 2 };
        encoder.clear_buffer(&self.buffers.sums, 0, Some(sum_bytes));
        if !self.task.counting.is_none() {
            encoder.clear_buffer(&self.buffers.tallies, 4 * COUNTS_AT as u64, Some(4 * COUNTS as u64));
        }
        if self.denoising == Denoising::Distance {
            encoder.clear_buffer(&self.buffers.bins, 0, Some(BINS_CLEARED));
        }
        let passes = if traced { &self.programs.traced } else { &self.programs.step };
        let histograms = self.encoding == Encoding::Envelope;
        match (&drawn, &self.programs.shared) {
            (Some((shared, drawn)), Some(programs)) => {
                shared.record(&mut encoder, (drawn, &self.buffers), programs, passes, histograms);
            }
            _ => self.record_chunks(&mut encoder, &self.training.group, passes, count, histograms),
        }
        if let Some(planted) = &self.planted {
            planted.record(&mut encoder, &self.buffers, input.canaries.len() as u32, traced, histograms);
        }
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_bind_group(0, &self.release_group, &[]);
        for dispatch in &self.programs.finish {
            dispatch.record(&mut pass, 1);
        }
        drop(pass);
        let submission = queue.submit([encoder.finish()]);
        self.stepped = true;
        self.unseen = self.planted.is_some();
        self.counted = (!self.task.counting.is_none()).then_some((self.task.counting, noise_key));
        self.position += 1;
        Ok(submission)
    }

    /// Records `passes` over every chunk of `count` examples.
    fn record_chunks(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        group: &wgpu::BindGroup,
        passes: &[Dispatch],
        count: u32,
        histograms: bool,
    ) {
        for (index, first) in (0..count).step_by(self.buffers.chunk as usize).enumerate() {
            let in_chunk = (count - first).min(self.buffers.chunk);
            if histograms {
                self.buffers.clear_histograms(encoder, in_chunk);
            }
            record_chunk(encoder, group, passes, index, in_chunk);
        }
    }

    /// Reads slices of buffers: (buffer, first byte, number of bytes).
    async fn read<const N: usize>(
        &mut self,
        slices: [(&wgpu::Buffer, u64, u64); N],
    ) -> Result<[Vec<u8>; N], EngineError> {
        self.in_flight.clear();
        let gpu = self.gpu.clone();
        gpu.check()?;
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut total = 0;
        for (buffer, start, bytes) in slices {
            encoder.copy_buffer_to_buffer(buffer, start, &self.buffers.staging, total, bytes);
            total += bytes;
        }
        gpu.queue().submit([encoder.finish()]);
        let data = wait::read(&gpu, &self.buffers.staging, total).await?;
        let mut rest = data.as_slice();
        Ok(slices.map(|(_, _, bytes)| {
            let (slice, after) = rest.split_at(bytes as usize);
            rest = after;
            slice.to_vec()
        }))
    }
}

/// Decodes counts that were read back.
fn counts_of(words: &[u8]) -> Counts {
    let [within, right, digits @ ..] = signed::<COUNTS>(words);
    Counts::of(within, right, digits)
}

/// Records the kernels of a chunk.
fn record_chunk(
    encoder: &mut wgpu::CommandEncoder,
    group: &wgpu::BindGroup,
    passes: &[Dispatch],
    index: usize,
    in_chunk: u32,
) {
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_bind_group(0, group, &[(index as u64 * OFFSET_ALIGNMENT) as u32]);
    for dispatch in passes {
        dispatch.record(&mut pass, in_chunk);
    }
}

impl Engine for GpuEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    async fn prepare(&mut self, most: usize) -> Result<usize, EngineError> {
        let Some(Known { scattering, group, train, known }) = &mut self.features else { return Ok(0) };
        self.gpu.check()?;
        let end = train.len().min(known.saturating_add(most));
        if *known == end {
            return Ok(train.len() - end);
        }
        while *known < end {
            let slice = *known..end.min(*known + SLICE);
            *known = slice.end;
            scattering.submit(&self.gpu, group, &self.training.examples.words, slice.start, train, slice);
        }
        // Also starts writes that no kernel follows.
        let submission = self.gpu.queue().submit([]);
        Fence::new(&self.gpu, submission).wait(&self.gpu).await?;
        Ok(train.len() - *known)
    }

    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError> {
        self.prepare(usize::MAX).await?;
        if self.in_flight.len() >= IN_FLIGHT
            && let Some(oldest) = self.in_flight.pop_front()
        {
            oldest.wait(&self.gpu).await?;
        }
        let submission = self.submit_step(&input, false)?;
        self.in_flight.push_back(Fence::new(&self.gpu, submission));
        Ok(())
    }

    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError> {
        self.prepare(usize::MAX).await?;
        self.submit_step(&input, true)?;
        let bytes = 4 * self.dimension as u64;
        let (sums, noisy, bins) = (self.buffers.sums.clone(), self.buffers.noisy.clone(), self.buffers.bins.clone());
        let slices = [(&sums, 0, 2 * bytes), (&sums, 2 * bytes, bytes), (&noisy, 0, bytes), (&bins, 0, 4)];
        let [encoded, raw, noisy, distance] = self.read(slices).await?;
        let encoded = match self.grid {
            Some(grid) => whole_steps(&encoded).map(|steps| (steps as f64 * f64::from(grid.step())) as f32).collect(),
            None => floats(&encoded[..bytes as usize]),
        };
        let (raw, noisy) = (floats(&raw), floats(&noisy));
        let denoised = match self.denoising {
            Denoising::None => noisy.clone(),
            Denoising::Distance | Denoising::Shrunk => {
                let factor = probability(word(&distance));
                noisy.iter().map(|v| factor * v).collect()
            }
            Denoising::Soft => noisy.iter().map(|&v| soft(v, self.release.denoise)).collect(),
            Denoising::Smoothed(planes) => {
                let values = self.buffers.values.clone();
                let [smoothed] = self.read([(&values, 0, 4 * planes.range().end as u64)]).await?;
                let mut denoised = floats(&smoothed);
                denoised.extend(&noisy[planes.range().end..]);
                denoised
            }
        };
        Ok(StepTrace { raw, encoded, noisy, denoised })
    }

    async fn released_counts(&mut self) -> Result<ReleasedCounts, EngineError> {
        let Some((counting, key)) = self.counted else { return Ok(ReleasedCounts::default()) };
        Ok(self.counts().await?.release(counting, &key)?)
    }

    async fn witness(&mut self) -> Result<Witness, EngineError> {
        let Some(planted) = self.planted.as_ref().filter(|_| self.unseen) else { return Ok(Witness::default()) };
        let (canaries, sums) = (planted.canaries.clone(), planted.examples.clone());
        let (noisy, bytes) = (self.buffers.noisy.clone(), 4 * self.dimension as u64);
        let slices = [(&sums, 0, 2 * bytes), (&sums, 2 * bytes, 4 * COUNTS as u64), (&noisy, 0, bytes)];
        let [sums, counts, noisy] = self.read(slices).await?;
        let within = if self.task.counting.is_none() { 0.0 } else { counts_of(&counts).within() };
        self.unseen = false;
        let sums: Vec<f64> = match self.grid {
            Some(grid) => whole_steps(&sums).map(|steps| steps as f64 * f64::from(grid.step())).collect(),
            None => floats(&sums[..bytes as usize]).into_iter().map(f64::from).collect(),
        };
        let (noisy, at) = (floats(&noisy), canaries.coordinates());
        let released = at.iter().map(|&at| noisy[at as usize]).collect();
        Ok(Witness { released, examples: at.iter().map(|&at| sums[at as usize]).collect(), within })
    }

    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        let (tallies, bins) = (self.buffers.tallies.clone(), self.buffers.bins.clone());
        let [non_finite, distance] = self.read([(&tallies, 0, 4), (&bins, 0, 4)]).await?;
        let denoise_factor =
            if self.denoising.is_scaled() && self.stepped { probability(word(&distance)) } else { 1.0 };
        Ok(Metrics { non_finite: u64::from(word(&non_finite)), denoise_factor })
    }

    async fn set_task(&mut self, task: &Task) -> Result<(), EngineError> {
        self.gpu.check()?;
        self.task.check_next(task)?;
        let lowered = Lowered::new(task)?;
        // Kernels are the same for every noise; its tables may differ in length.
        let (tails, quantiles) = (4 * lowered.family.tails.len() as u64, 4 * lowered.family.quantiles.len() as u64);
        if (tails, quantiles) != (self.buffers.tails.size(), self.buffers.quantiles.size()) {
            let gpu = self.gpu.clone();
            let make = || (storage(&gpu, "tails", tails), storage(&gpu, "quantiles", quantiles));
            (self.buffers.tails, self.buffers.quantiles) = gpu.guarded(word!("the noise's tables"), make).await?;
            self.release_group = self.buffers.release_group(&gpu);
        }
        lowered.write(&self.gpu, &self.buffers);
        (self.run, self.release) = (lowered.run(&self.buffers), lowered.release(&self.buffers));
        (self.grid, self.denoising) = (lowered.grid, lowered.denoising);
        self.task = task.clone();
        Ok(())
    }

    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
        if data.is_empty() {
            return Ok(Scores::new(self.task.model.classes(), Vec::new()));
        }
        self.gpu.check()?;
        if self.features.is_some() {
            return self.scores_of_features(data).await;
        }
        if self.evaluation.as_ref().is_none_or(|set| !set.examples.hold(data)) {
            // Dropped first, so that the old and the new set need not both fit.
            self.evaluation = None;
            let examples = Examples::upload(&self.gpu, data, self.task.model).await?;
            self.evaluation = Some(ExampleSet::of_evaluation(&self.gpu, examples, &self.buffers));
        }
        let Some(set) = &self.evaluation else { return Ok(Scores::new(self.task.model.classes(), Vec::new())) };
        let (count, chunk) = (set.examples.len, self.buffers.chunk);
        let run = Run { count, ..self.run };
        self.gpu.queue().write_buffer(&self.buffers.evaluation_run, 0, bytemuck::bytes_of(&run));
        // Chunks whose scores are read together.
        let together =
            (self.buffers.staging.size() / (score_bytes(self.task.model) * u64::from(chunk))).max(1) as usize;
        let chunks: Vec<u32> = (0..count).step_by(chunk as usize).map(|first| (count - first).min(chunk)).collect();
        let mut scores: Vec<f32> = Vec::with_capacity(count as usize * self.task.model.classes());
        self.in_flight.clear();
        for (part, chunks) in chunks.chunks(together).enumerate() {
            let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut total = 0;
            for (index, &in_chunk) in (part * together..).zip(chunks) {
                total += self.record_scores(&mut encoder, set, index, in_chunk, total);
            }
            self.gpu.queue().submit([encoder.finish()]);
            let bytes = wait::read(&self.gpu, &self.buffers.staging, total).await?;
            scores.extend_from_slice(&floats(&bytes));
        }
        Ok(Scores::new(self.task.model.classes(), scores))
    }

    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        check_length("pixels", image.len(), self.task.model.picture().pixels())?;
        self.gpu.check()?;
        let queue = self.gpu.queue();
        if self.padded {
            const FIELD: usize = CONV1.padded_side();
            let mut field = [0.0_f32; FIELD * FIELD];
            for (row, pixels) in field.chunks_mut(FIELD).skip(CONV1.padding).zip(image.chunks(CONV1.side)) {
                row[CONV1.padding..][..CONV1.side].copy_from_slice(pixels);
            }
            queue.write_buffer(&self.buffers.work, self.pixels_at, bytemuck::cast_slice(&field));
        } else if self.features.is_some() {
            let bytes = cpu::features(crate::model::features::FeatureMap::DIGITS, image);
            let mut inputs: Vec<f32> = bytes.into_iter().map(crate::model::scattering::value).collect();
            inputs.resize(inputs.len().next_multiple_of(4), 0.0);
            queue.write_buffer(&self.buffers.work, self.pixels_at, bytemuck::cast_slice(&inputs));
        } else {
            queue.write_buffer(&self.buffers.work, self.pixels_at, bytemuck::cast_slice(image));
        }
        queue.write_buffer(&self.buffers.run, 0, bytemuck::bytes_of(&Run { count: 1, ..self.run }));
        let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.record_chunks(&mut encoder, &self.prediction_group, &self.programs.predict, 1, false);
        queue.submit([encoder.finish()]);
        let work = self.buffers.work.clone();
        let [logits] = self.read([(&work, self.logits_at, score_bytes(self.task.model))]).await?;
        Ok(softmax(&floats(&logits)))
    }

    async fn state(&mut self) -> Result<State, EngineError> {
        let bytes = 4 * self.dimension as u64;
        let average_at = 4 * u64::from(self.buffers.average_at);
        let (parameters, momentum) = (self.buffers.parameters.clone(), self.buffers.momentum.clone());
        let slices = [(&parameters, 0, bytes), (&momentum, 0, bytes), (&parameters, average_at, bytes)];
        let [parameters, momentum, average] = self.read(slices).await?.map(|bytes| floats(&bytes));
        Ok(State { parameters, momentum, average: (average_at > 0).then_some(average) })
    }

    async fn set_state(&mut self, state: &State) -> Result<(), EngineError> {
        self.gpu.check()?;
        check_state(state, self.dimension)?;
        write_parameters(&self.gpu, &self.buffers, &state.parameters, state.read_with());
        self.gpu.queue().write_buffer(&self.buffers.momentum, 0, bytemuck::cast_slice(&state.momentum));
        Ok(())
    }
}

/// Writes the parameters, and the mean of the iterates if one is kept.
fn write_parameters(gpu: &Gpu, buffers: &Buffers, parameters: &[f32], average: &[f32]) {
    gpu.queue().write_buffer(&buffers.parameters, 0, bytemuck::cast_slice(parameters));
    if buffers.average_at > 0 {
        let place = 4 * u64::from(buffers.average_at);
        gpu.queue().write_buffer(&buffers.parameters, place, bytemuck::cast_slice(average));
    }
}
