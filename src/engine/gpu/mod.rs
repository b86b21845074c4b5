//! Algorithm 1 on WebGPU: hand-written WGSL, buffers allocated once, a step in one command
//! buffer, nothing read back but what is asked for.
//!
//! The way of a step: `passes` says which kernels a model runs over a chunk of the lot; `buffers` holds what they work on;
//! `families` describes the noise; this file records and submits.

mod buffers;
mod device;
mod families;
mod features;
pub mod kernels;
mod passes;
mod quantile;
mod wait;

use std::collections::VecDeque;

use buffers::{BINS_CLEARED, Buffers, CHUNK_STRIDE, Examples, Owned, Sizes, chunk_starts};
use bytemuck::{Pod, Zeroable};
#[cfg(not(target_arch = "wasm32"))]
pub use device::adapters;
pub use device::{AdapterReport, Gpu};
use families::Family;
pub use features::Scattering;
use features::{FEATURE_WORDS, SLICE};
use kernels::{ACCUMULATE_DENSE, ACCUMULATE_STORED, Bindings, CONV1, CONV2, DENSE, NOISE, NORM, UNPACK, UPDATE};
use passes::{BUCKETS, COUNTERS, Dispatch, Encoding, Grid, Passes, SCORE_BYTES};
use wait::Fence;

use super::{
    Backend, Engine, EngineError, EngineInfo, Metrics, Performance, Probabilities, Scores, StepInput, StepTrace, Task,
    check_state, reading::softmax,
};
use crate::{
    data::{Dataset, Shift},
    mechanism::{
        Denoiser, EncoderSpec, State,
        encode::first_bucket,
        envelope::Envelope,
        exact_sum::{SumGrid, clip_target},
    },
    model::{Architecture, CLASSES, PIXELS},
};

/// Steps that may be under way at a time: enough to keep the device busy, few enough to answer Pause at once.
const IN_FLIGHT: usize = 4;

/// The norm of a mean over copies is none that the kernels can make of the copies' norms.
const COPIES: &str = "augmentation on this device: a mean over copies of each image is computed on the CPU";

/// `Run` of common.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Run {
    count: u32,
    chunk: u32,
    vectors: u32,
    dimension: u32,
    clip: f32,
    pre_scale: f32,
    steps: f32,
    first_bucket: i32,
}

/// `Release` of release.wgsl.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Release {
    key: [u32; 8],
    dimension: u32,
    family: u32,
    scale: f32,
    shape: f32,
    learning_rate: f32,
    momentum: f32,
    expected_lot: f32,
    half_point: f32,
    average_at: u32,
    average_keeps: f32,
    step: f32,
    inverse_step: f32,
}

/// Names of a run's kernels, by what they compute.
#[derive(Clone, Debug)]
pub struct Kernels {
    pub evaluation: Vec<&'static str>,
    /// From logits to gradients, and their sum as they are.
    pub gradients: Vec<&'static str>,
    pub encoding: Vec<&'static str>,
    pub noise: Vec<&'static str>,
    pub denoising: Vec<&'static str>,
    pub update: Vec<&'static str>,
}

/// The WebGPU engine.
#[derive(Debug)]
pub struct GpuEngine {
    gpu: Gpu,
    info: EngineInfo,
    /// P.
    dimension: usize,
    encoding: Encoding,
    /// Of the encoded coordinates; their sums are exact.
    grid: Option<SumGrid>,
    denoise: bool,
    run: Run,
    release: Release,
    buffers: Buffers,
    training: ExampleSet,
    evaluation: Option<ExampleSet>,
    /// The training examples, for a prediction by the parameters that images are read with.
    prediction_group: wgpu::BindGroup,
    /// Where the model takes features.
    features: Option<Known>,
    /// Kernels over a chunk of the lot.
    step: Vec<Dispatch>,
    /// The same, with the raw sum.
    traced: Vec<Dispatch>,
    evaluate: Vec<Dispatch>,
    predict: Vec<Dispatch>,
    /// Kernels on the sum.
    finish: Vec<Dispatch>,
    release_group: wgpu::BindGroup,
    /// Bytes where a prediction's pixels go.
    pixels_at: u64,
    /// Pixels go there on a field with a border of 3.
    padded: bool,
    logits_at: u64,
    in_flight: VecDeque<Fence>,
    stepped: bool,
}

/// Features of the training set, as far as they are there.
#[derive(Debug)]
struct Known {
    scattering: Scattering,
    /// The training examples', for features.
    group: wgpu::BindGroup,
    train: Dataset,
    known: usize,
}

/// A dataset on the device, bound with a run's buffers.
#[derive(Debug)]
struct ExampleSet {
    examples: Examples,
    /// What `group` binds, given up with it.
    starts: Owned,
    group: wgpu::BindGroup,
}

impl ExampleSet {
    /// For steps.
    fn of_training(gpu: &Gpu, examples: Examples, buffers: &Buffers) -> Self {
        let starts = chunk_starts(gpu, examples.len, buffers.chunk);
        let group = bind(gpu, &examples, &starts, buffers, 0, &buffers.run);
        Self { examples, starts, group }
    }

    /// To be read.
    fn of_evaluation(gpu: &Gpu, examples: Examples, buffers: &Buffers) -> Self {
        let starts = chunk_starts(gpu, examples.len, buffers.chunk);
        let group = bind(gpu, &examples, &starts, buffers, buffers.average_at, &buffers.evaluation_run);
        Self { examples, starts, group }
    }
}

/// Binds examples with a run's buffers, and with the parameters from this place of theirs on.
fn bind(
    gpu: &Gpu,
    examples: &Examples,
    starts: &Owned,
    buffers: &Buffers,
    parameters_at: u32,
    run: &Owned,
) -> wgpu::BindGroup {
    let whole = [
        &examples.words,
        &examples.indices,
        &buffers.parameters,
        &buffers.work,
        &buffers.sums,
        &buffers.tallies,
        &buffers.envelope,
        run,
    ];
    let part = |binding, buffer, offset, size| {
        let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
        wgpu::BindGroupEntry { binding, resource }
    };
    let mut entries = entries(&whole);
    entries[2] = part(2, &buffers.parameters, 4 * u64::from(parameters_at), None);
    entries.push(part(8, starts, 0, wgpu::BufferSize::new(16)));
    gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("examples"),
        layout: gpu.layout(Bindings::Examples),
        entries: &entries,
    })
}

fn entries<'a>(buffers: &[&'a Owned]) -> Vec<wgpu::BindGroupEntry<'a>> {
    let entry =
        |(binding, buffer): (u32, &&'a Owned)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() };
    (0..).zip(buffers).map(entry).collect()
}

impl GpuEngine {
    /// Uploads the training set, compiles the kernels that the task needs and allocates everything.
    ///
    /// # Errors
    /// When the device cannot hold the run, refuses a kernel, or is lost; when parameters or envelope do not fit the model.
    pub async fn new(
        gpu: &Gpu,
        task: &Task,
        train: &Dataset,
        initial_parameters: &[f32],
        performance: Performance,
    ) -> Result<Self, EngineError> {
        gpu.check()?;
        if task.grid.is_some() {
            return Err(EngineError::Unsupported(
                "sums on a grid: WebGPU counts in 32 bits, and their noise takes numbers of 64".to_owned(),
            ));
        }
        let dimension = task.model.parameters();
        if initial_parameters.len() != dimension {
            return Err(EngineError::Unsupported(format!(
                "{} parameters where the model has {dimension}",
                initial_parameters.len()
            )));
        }
        if task.copies != 1 {
            return Err(EngineError::Unsupported(COPIES.to_owned()));
        }
        let refused = |e: &dyn core::fmt::Display| EngineError::Unsupported(format!("this task: {e}"));
        task.encoder.validate().map_err(|e| refused(&e))?;
        let grid = task.sum_grid();
        let (encoding, clip, pre_scale) = match task.encoder {
            EncoderSpec::None => (Encoding::Plain, 0.0, 1.0),
            // Just below the norm: no rounding of the norm's square, nor to the grid, may let an example exceed it.
            EncoderSpec::Clip { norm } => {
                let target = grid.map_or_else(|| clip_target(norm), |grid| grid.clip_target(norm, dimension));
                (Encoding::Clip, target as f32, 1.0)
            }
            EncoderSpec::Envelope { pre_scale, .. } => (Encoding::Envelope, 0.0, pre_scale as f32),
        };
        let envelope = task.envelope.as_deref().filter(|_| encoding == Encoding::Envelope);
        match envelope {
            None if encoding == Encoding::Envelope => {
                return Err(EngineError::Unsupported("an envelope encoder without its vectors".to_owned()));
            }
            Some(e) if e.dimension() != dimension => {
                return Err(EngineError::Unsupported(format!(
                    "envelope vectors of length {} for {dimension} parameters",
                    e.dimension()
                )));
            }
            _ => {}
        }
        let denoise = task.denoiser == Denoiser::KolmogorovSmirnov;
        if denoise && task.noise.is_none() {
            return Err(EngineError::Unsupported("the Kolmogorov–Smirnov denoiser without noise".to_owned()));
        }
        let family = Family::new(task.noise.as_ref(), denoise)?;

        let scattering = match task.model {
            Architecture::Scattering => Some(Scattering::new(gpu).await?),
            _ => None,
        };
        let examples = match scattering {
            Some(_) => Examples::room(gpu, train, train.len(), FEATURE_WORDS).await?,
            None => Examples::upload(gpu, train).await?,
        };
        let features = scattering.map(|scattering| Known {
            group: scattering.group(gpu, &examples.words),
            scattering,
            train: train.clone(),
            known: 0,
        });
        let passes = Passes::new(gpu, task.model, encoding, grid.is_some());
        let sizes = Sizes {
            model: task.model,
            encoding,
            envelope,
            slices: passes.slices,
            examples: examples.len,
            expected_lot: task.expected_lot,
            chunk: performance.chunk,
            averaging: task.averaging,
            denoise,
            tails: family.tails.len(),
            quantiles: family.quantiles.len(),
        };
        let buffers = Buffers::new(gpu, &sizes).await?;
        let queue = gpu.queue();
        write_parameters(gpu, &buffers, initial_parameters, initial_parameters);
        queue.write_buffer(&buffers.tails, 0, bytemuck::cast_slice(&family.tails));
        queue.write_buffer(&buffers.quantiles, 0, bytemuck::cast_slice(&family.quantiles));
        if let Some(envelope) = envelope {
            write_envelope(gpu, &buffers.envelope, envelope, grid);
        }
        // A power of two.
        let steps = grid.map(|grid| grid.step().recip());
        let run = Run {
            count: 0,
            chunk: buffers.chunk,
            vectors: envelope.map_or(0, |e| e.vectors() as u32),
            dimension: dimension as u32,
            clip,
            pre_scale,
            steps: steps.unwrap_or(1.0),
            first_bucket: first_bucket(pre_scale * steps.unwrap_or(1.0)),
        };
        let release = Release {
            key: [0; 8],
            dimension: dimension as u32,
            family: family.code,
            scale: family.scale,
            shape: family.shape,
            learning_rate: 0.0,
            momentum: task.momentum,
            expected_lot: task.expected_lot,
            half_point: family.half_point,
            average_at: buffers.average_at,
            average_keeps: 0.0,
            step: grid.map_or(0.0, SumGrid::step),
            inverse_step: steps.unwrap_or(0.0),
        };

        let stride = passes.slices.stride;
        let padded = passes.padded();
        let convolutional = padded.is_some();
        // Dense models take a prediction's pixels behind the last example.
        let pixels_at = padded.unwrap_or(buffers.chunk as usize * stride);
        let made = gpu
            .guarded("the kernels", || {
                let mut step = passes.forward(None);
                step.push(passes.head());
                let mut evaluate = step.clone();
                evaluate.push(passes.scores());
                step.extend(passes.backward());
                step.push(passes.norm());
                let mut traced = step.clone();
                traced.extend(passes.accumulate(true));
                for passes in [passes.rank(), passes.accumulate(false)] {
                    step.extend(passes.iter().cloned());
                    traced.extend(passes);
                }
                let mut predict = passes.forward(Some(pixels_at));
                predict.push(passes.head());
                let finish = finish(gpu, dimension, denoise, grid.is_some());
                let release_buffers = [
                    &buffers.parameters,
                    &buffers.momentum,
                    &buffers.sums,
                    &buffers.noisy,
                    &buffers.bins,
                    &buffers.values,
                    &buffers.tails,
                    &buffers.quantiles,
                    &buffers.release,
                ];
                let group = gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some("release"),
                    layout: gpu.layout(Bindings::Release),
                    entries: &entries(&release_buffers),
                });
                let training = ExampleSet::of_training(gpu, examples, &buffers);
                let ExampleSet { examples, starts, .. } = &training;
                let prediction = bind(gpu, examples, starts, &buffers, buffers.average_at, &buffers.run);
                (step, traced, evaluate, predict, finish, group, training, prediction)
            })
            .await?;
        let (step, traced, evaluate, predict, finish, release_group, training, prediction_group) = made;
        let report = gpu.report();
        let device = report.to_string();
        Ok(Self {
            gpu: gpu.clone(),
            info: EngineInfo { backend: Backend::Gpu, device },
            dimension,
            encoding,
            grid,
            denoise,
            run,
            release,
            training,
            evaluation: None,
            prediction_group,
            features,
            step,
            traced,
            evaluate,
            predict,
            finish,
            release_group,
            pixels_at: 4 * pixels_at as u64,
            padded: convolutional,
            logits_at: 4 * passes.slices.logits as u64,
            in_flight: VecDeque::new(),
            stepped: false,
            buffers,
        })
    }

    /// The device it runs on.
    #[must_use]
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    #[must_use]
    pub fn kernels(&self) -> Kernels {
        const FORWARD: [&str; 4] = [UNPACK.name, CONV1.name, CONV2.name, DENSE.name];
        let norm = self.step.iter().position(|pass| pass.name == NORM.name).unwrap_or(self.step.len());
        let (gradients, encoding) = self.step.split_at(norm);
        let sums = encoding.iter().filter(|pass| [ACCUMULATE_STORED.name, ACCUMULATE_DENSE.name].contains(&pass.name));
        let last = if self.denoise { UPDATE.name } else { NOISE.name };
        Kernels {
            evaluation: names(self.evaluate.iter().chain(&self.predict)),
            gradients: names(gradients.iter().filter(|pass| !FORWARD.contains(&pass.name)).chain(sums)),
            encoding: names(encoding),
            noise: vec![NOISE.name],
            denoising: names(self.finish.iter().filter(|pass| pass.name != UPDATE.name)),
            update: vec![last],
        }
    }

    /// Examples whose gradients are in memory at a time.
    #[must_use]
    pub fn chunk(&self) -> u32 {
        self.buffers.chunk
    }

    /// Bytes that an example of a chunk keeps on the device in the course of a step.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        self.buffers.kept
    }

    /// The encoded sum of the last step in whole steps of its grid, where it has one: exact, which the f32 of a trace is not for a large lot.
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

    /// As [`Engine::scores`], where the model takes features: a chunk's at a time, as those of all test images beside those of all training images would
    /// be too much for many devices.
    async fn scores_of_features(&mut self, data: &Dataset) -> Result<Vec<Scores>, EngineError> {
        let chunk = self.buffers.chunk as usize;
        if self.evaluation.is_none() {
            let rows = Examples::room(&self.gpu, data, chunk, FEATURE_WORDS).await?;
            self.evaluation = Some(ExampleSet::of_evaluation(&self.gpu, rows, &self.buffers));
        }
        let (Some(Known { scattering, .. }), Some(set)) = (&self.features, &self.evaluation) else {
            return Ok(Vec::new());
        };
        let words = &set.examples.words;
        let group = scattering.group(&self.gpu, words);
        // Chunks whose scores are read together.
        let together = (self.buffers.staging.size() / (SCORE_BYTES * chunk as u64)).max(1) as usize;
        let mut scores: Vec<Scores> = Vec::with_capacity(data.len());
        self.in_flight.clear();
        while scores.len() < data.len() {
            let mut total = 0;
            for first in (scores.len()..data.len()).step_by(chunk).take(together) {
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
            scores.extend(floats(&bytes).as_chunks::<CLASSES>().0);
        }
        Ok(scores)
    }

    /// One chunk of an evaluation, whose scores go to `at` of what is read back. Returns how many bytes they are.
    fn record_scores(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        set: &ExampleSet,
        chunk: usize,
        count: u32,
        at: u64,
    ) -> u64 {
        record_chunk(encoder, &set.group, &self.evaluate, chunk, count);
        let bytes = SCORE_BYTES * u64::from(count);
        let Buffers { tallies, staging, .. } = &self.buffers;
        encoder.copy_buffer_to_buffer(tallies, 4 * COUNTERS as u64, staging, at, bytes);
        bytes
    }

    /// Records and submits one step. Nothing waits.
    fn submit_step(&mut self, input: &StepInput<'_>, traced: bool) -> Result<wgpu::SubmissionIndex, EngineError> {
        self.gpu.check()?;
        let count = input.lot.len() as u32;
        if input.lot.len() > self.training.examples.len as usize
            || input.lot.last().is_some_and(|&last| last >= self.training.examples.len)
        {
            return Err(EngineError::Unsupported(format!(
                "a lot of {} examples up to index {} from a training set of {}",
                input.lot.len(),
                input.lot.last().copied().unwrap_or(0),
                self.training.examples.len
            )));
        }
        if input.shifts != Shift::ALONE {
            return Err(EngineError::Unsupported(COPIES.to_owned()));
        }
        let queue = self.gpu.queue();
        if count > 0 {
            queue.write_buffer(&self.training.examples.indices, 0, bytemuck::cast_slice(input.lot));
        }
        queue.write_buffer(&self.buffers.run, 0, bytemuck::bytes_of(&Run { count, ..self.run }));
        let &StepInput { noise_key, learning_rate, average_keeps, .. } = input;
        let release = Release { key: noise_key, learning_rate, average_keeps, ..self.release };
        queue.write_buffer(&self.buffers.release, 0, bytemuck::bytes_of(&release));

        let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let sum_bytes = 4 * self.dimension as u64 * if traced { 3 } else { 2 };
        encoder.clear_buffer(&self.buffers.sums, 0, Some(sum_bytes));
        if self.denoise {
            encoder.clear_buffer(&self.buffers.bins, 0, Some(BINS_CLEARED));
        }
        let passes = if traced { &self.traced } else { &self.step };
        self.record_chunks(&mut encoder, &self.training.group, passes, count, self.encoding == Encoding::Envelope);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_bind_group(0, &self.release_group, &[]);
        for dispatch in &self.finish {
            dispatch.record(&mut pass, 1);
        }
        drop(pass);
        let submission = queue.submit([encoder.finish()]);
        self.stepped = true;
        Ok(submission)
    }

    /// Runs `passes` over every chunk of `count` examples.
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
                let bytes = 4 * u64::from(in_chunk) * BUCKETS as u64;
                encoder.clear_buffer(&self.buffers.tallies, 4 * COUNTERS as u64, Some(bytes));
            }
            record_chunk(encoder, group, passes, index, in_chunk);
        }
    }

    /// Reads slices of buffers: (buffer, first byte, bytes).
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

/// What follows the sum.
fn finish(gpu: &Gpu, dimension: usize, denoise: bool, exact: bool) -> Vec<Dispatch> {
    let blocks = (dimension as u32).div_ceil(4).div_ceil(64);
    let coordinates = (dimension as u32).div_ceil(64);
    let flags = [("DENOISE", denoise), ("EXACT", exact)].map(|(name, flag)| (name, f64::from(u8::from(flag))));
    let mut passes = vec![Dispatch::new(gpu, &kernels::NOISE, &flags, Grid::Fixed(blocks))];
    if denoise {
        passes.push(Dispatch::new(gpu, &kernels::KS_SCATTER, &[], Grid::Fixed(coordinates.min(64))));
        passes.push(Dispatch::new(gpu, &kernels::KS_DISTANCE, &[], Grid::Fixed(coordinates)));
        passes.push(Dispatch::new(gpu, &kernels::KS_FULL, &[], Grid::Fixed(8)));
        passes.push(Dispatch::new(gpu, &kernels::UPDATE, &[], Grid::Fixed(coordinates)));
    }
    passes
}

/// Each once.
fn names<'a>(passes: impl IntoIterator<Item = &'a Dispatch>) -> Vec<&'static str> {
    let mut names = Vec::new();
    for pass in passes {
        if !names.contains(&pass.name) {
            names.push(pass.name);
        }
    }
    names
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
}

/// Sums of `add` of common.wgsl: all lower words, then all upper ones.
fn whole_steps(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let (low, high) = bytes.split_at(bytes.len() / 2);
    let words = |bytes: &[u8]| bytes.as_chunks::<4>().0.to_vec().into_iter().map(i32::from_le_bytes);
    words(low).zip(words(high)).map(|(low, high)| i64::from(high) * 65_536 + i64::from(low))
}

/// Ψ and its block sums. Where sums are exact its entries are whole steps, rounded down: what is clamped to them stays inside.
fn write_envelope(gpu: &Gpu, buffer: &wgpu::Buffer, envelope: &Envelope, grid: Option<SumGrid>) {
    let queue = gpu.queue();
    for (index, at) in (0..envelope.vectors()).zip((0..).step_by(4 * envelope.dimension())) {
        let psi = envelope.vector(index);
        match grid {
            Some(grid) => {
                let steps: Vec<f32> = psi.iter().map(|v| (v / grid.step()).floor()).collect();
                queue.write_buffer(buffer, at, bytemuck::cast_slice(&steps));
            }
            None => queue.write_buffer(buffer, at, bytemuck::cast_slice(psi)),
        }
    }
    queue.write_buffer(buffer, 4 * envelope.values().len() as u64, bytemuck::cast_slice(envelope.block_sums()));
}

fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |&b| u32::from_le_bytes(b))
}

/// From units of 2^-32.
fn probability(fixed: u32) -> f32 {
    (f64::from(fixed) / 4_294_967_296.0) as f32
}

/// The kernels of a chunk.
fn record_chunk(
    encoder: &mut wgpu::CommandEncoder,
    group: &wgpu::BindGroup,
    passes: &[Dispatch],
    index: usize,
    in_chunk: u32,
) {
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_bind_group(0, group, &[(index as u64 * CHUNK_STRIDE) as u32]);
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
        // What was only written is under way after this, too.
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
        let factor = if self.denoise { probability(word(&distance)) } else { 1.0 };
        let denoised = noisy.iter().map(|v| factor * v).collect();
        Ok(StepTrace { raw, encoded, noisy, denoised })
    }

    async fn metrics(&mut self) -> Result<Metrics, EngineError> {
        let (tallies, bins) = (self.buffers.tallies.clone(), self.buffers.bins.clone());
        let [non_finite, distance] = self.read([(&tallies, 0, 4), (&bins, 0, 4)]).await?;
        let denoise_factor = if self.denoise && self.stepped { probability(word(&distance)) } else { 1.0 };
        Ok(Metrics { non_finite: u64::from(word(&non_finite)), denoise_factor })
    }

    async fn scores(&mut self, data: &Dataset) -> Result<Vec<Scores>, EngineError> {
        if data.is_empty() {
            return Ok(Vec::new());
        }
        self.gpu.check()?;
        if self.features.is_some() {
            return self.scores_of_features(data).await;
        }
        if self.evaluation.as_ref().is_none_or(|set| !set.examples.hold(data)) {
            // The old one goes first, so that both need not fit.
            self.evaluation = None;
            let examples = Examples::upload(&self.gpu, data).await?;
            self.evaluation = Some(ExampleSet::of_evaluation(&self.gpu, examples, &self.buffers));
        }
        let Some(set) = &self.evaluation else { return Ok(Vec::new()) };
        let (count, chunk) = (set.examples.len, self.buffers.chunk);
        let run = Run { count, ..self.run };
        self.gpu.queue().write_buffer(&self.buffers.evaluation_run, 0, bytemuck::bytes_of(&run));
        // Chunks whose scores are read together.
        let together = (self.buffers.staging.size() / (SCORE_BYTES * u64::from(chunk))).max(1) as usize;
        let chunks: Vec<u32> = (0..count).step_by(chunk as usize).map(|first| (count - first).min(chunk)).collect();
        let mut scores: Vec<Scores> = Vec::with_capacity(count as usize);
        self.in_flight.clear();
        for (part, chunks) in chunks.chunks(together).enumerate() {
            let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut total = 0;
            for (index, &in_chunk) in (part * together..).zip(chunks) {
                total += self.record_scores(&mut encoder, set, index, in_chunk, total);
            }
            self.gpu.queue().submit([encoder.finish()]);
            let bytes = wait::read(&self.gpu, &self.buffers.staging, total).await?;
            scores.extend(floats(&bytes).as_chunks::<CLASSES>().0);
        }
        Ok(scores)
    }

    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        if image.len() != PIXELS {
            return Err(EngineError::Unsupported(format!("an image of {} pixels: it takes {PIXELS}", image.len())));
        }
        self.gpu.check()?;
        let queue = self.gpu.queue();
        if self.padded {
            let mut field = [0.0_f32; 34 * 34];
            for (row, pixels) in field.chunks_mut(34).skip(3).zip(image.chunks(28)) {
                row[3..31].copy_from_slice(pixels);
            }
            queue.write_buffer(&self.buffers.work, self.pixels_at, bytemuck::cast_slice(&field));
        } else if self.features.is_some() {
            let bytes = super::cpu::scattering::features(image);
            let mut inputs: Vec<f32> = bytes.into_iter().map(crate::model::scattering::value).collect();
            inputs.resize(inputs.len().next_multiple_of(4), 0.0);
            queue.write_buffer(&self.buffers.work, self.pixels_at, bytemuck::cast_slice(&inputs));
        } else {
            queue.write_buffer(&self.buffers.work, self.pixels_at, bytemuck::cast_slice(image));
        }
        queue.write_buffer(&self.buffers.run, 0, bytemuck::bytes_of(&Run { count: 1, ..self.run }));
        let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.record_chunks(&mut encoder, &self.prediction_group, &self.predict, 1, false);
        queue.submit([encoder.finish()]);
        let work = self.buffers.work.clone();
        let [logits] = self.read([(&work, self.logits_at, 4 * CLASSES as u64)]).await?;
        let (logits, _) = bytemuck::cast_slice::<u8, f32>(&logits).as_chunks::<CLASSES>();
        Ok(softmax(&logits[0]))
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

/// Parameters, and the mean of the iterates, where one is kept.
fn write_parameters(gpu: &Gpu, buffers: &Buffers, parameters: &[f32], average: &[f32]) {
    gpu.queue().write_buffer(&buffers.parameters, 0, bytemuck::cast_slice(parameters));
    if buffers.average_at > 0 {
        let place = 4 * u64::from(buffers.average_at);
        gpu.queue().write_buffer(&buffers.parameters, place, bytemuck::cast_slice(average));
    }
}
