//! Checks a graphics adapter before it is trusted with a run, by comparing known steps of the run's
//! own kernels with the CPU's gradients and the mechanism's plain functions. Some drivers return
//! wrong numbers without an error, and a wrongly computed bound is no bound.
//!
//! The check uses the run's constants and so the same compiled kernels: its model, encoder, noise,
//! denoiser and mean, in more than one chunk. What the guarantee rests on must be exact, the rest
//! as close as f32 allows:
//!
//! - each example's encoded gradient alone lies inside its bound;
//! - the sum over the lot is exactly the sum of its examples' encoded gradients, wherever they
//!   stand;
//! - an example with a non-finite gradient adds nothing, and is counted;
//! - each example's contribution to the released counts, and their sum over the lot, are exact;
//! - an audit's canaries are bounded as the plain function bounds them, add exactly that to the
//!   sum, and are seen exactly;
//! - logits and gradients match the CPU's, and the device's own gradients are encoded as by the
//!   plain function: an encoder's kernel is not at fault if the device's tanh moves a magnitude
//!   across a bucket's edge;
//! - noise, the denoiser's factor and the updated parameters match the plain functions.

use std::sync::Arc;

use super::{
    Engine, EngineError, LocalSteps, Performance, StepInput, StepTrace, Task,
    cpu::CpuEngine,
    gpu::{Gpu, GpuEngine, Kind, VECTORS, known_pre_scale},
    made_up::made_up,
    scores::{Scores, best},
};
use crate::{
    accounting::noise::{Noise, NoiseSpec},
    data::{Dataset, Picture, sharing::Sharing, synthetic},
    mechanism::{
        Denoiser, Encoder, EncoderSpec, State,
        canaries::{Canaries, DrawnCanary, Witness},
        correlated::CorrelatedNoise,
        counts::Counts,
        denoise::{self, Filter},
        exact_sum::SumGrid,
        noise::add_noise,
    },
    model::{self, Architecture, CLASSES},
};
use hushgrad_message::{ToMessage, message, word};

/// Examples of the known lot. The first is blank, so that one gradient is shorter than its clip.
const EXAMPLES: u32 = 20;
/// Used if examples share vectors: seven units, in blocks of four.
const SHARING: Sharing = Sharing::MicroBatches { size: 3 };
/// Three chunks, none of them a multiple of the kernels' tiles or slices.
const PERFORMANCE: Performance = Performance { chunk: Some(9), threads: None };
const KEY: [u32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// More than an engine adds at a time; every [`APART`]-th is also added alone.
const CANARIES: u32 = 70;
const APART: usize = 11;
/// Largest relative L2 difference between f32 results of the two engines.
const TOLERANCE: f64 = 1e-4;
/// Margin within which a norm near the clip (relative), or a score near the largest (scores are
/// about 1), may count either way.
const EITHER_WAY: f64 = 1e-3;
/// Largest share of an example's non-zero coordinates whose whole steps may differ: by any amount
/// if clipped (some are near the middle between two), by more than one in an envelope (some are
/// near a bucket's edge).
const AT_EDGES: f64 = 0.25;
/// Noise scales, as shares of a coordinate's bound: to compare noise, and to fill the bins.
const SCALE: f64 = 0.1;
const LITTLE: f64 = 1e-5;
/// Largest differences: of a coordinate's noise, relative to it plus the noise's scale; of the
/// denoiser's factor, absolute; of a parameter, relative.
const NOISE_TOLERANCE: f64 = 1e-5;
const FACTOR_TOLERANCE: f64 = 2e-6;
const UPDATE_TOLERANCE: f64 = 1e-6;

/// Checks known steps of `task`'s kind on `gpu`, unless they were checked before. Skips tasks with
/// a grid, copies, several local steps or a missing envelope.
///
/// # Errors
/// [`EngineError::WrongResult`] with what was wrong and by which kernels; any error of the engines.
pub async fn check(gpu: &Gpu, task: &Task) -> Result<(), EngineError> {
    let kind = Kind::of(task);
    let without_vectors = matches!(task.encoder, EncoderSpec::Envelope { .. }) && task.envelope.is_none();
    if task.grid.is_some() || task.copies != 1 || task.local.steps > 1 || without_vectors || gpu.is_checked(&kind) {
        return Ok(());
    }
    Known::new(gpu, task).await?.check().await?;
    gpu.set_checked(kind);
    Ok(())
}

/// A small run of a task's kind.
struct Known {
    task: Task,
    noise: Option<Box<dyn Noise>>,
    /// An envelope's largest entry, else 1: unbounded gradients are about that long.
    reach: f64,
    data: Dataset,
    engine: GpuEngine,
    start: Vec<f32>,
    /// Each example's gradient, or each unit's vector, from the CPU.
    gradients: Vec<Vec<f32>>,
    /// Each example's logits, from the CPU.
    scores: Scores,
    encoder: Encoder,
    grid: Option<SumGrid>,
}

impl Known {
    async fn new(gpu: &Gpu, task: &Task) -> Result<Self, EngineError> {
        let mut known = Task {
            envelope: task.envelope.as_ref().map(|envelope| Arc::new(envelope.leading(VECTORS))),
            expected_lot: 4.0,
            // A filter over the steps replaces momentum.
            momentum: if task.denoiser.filter(0.0) == Filter::momentum(0.0) { 0.5 } else { 0.0 },
            grid: None,
            // A ring of at most two steps' noise.
            bands: task.bands.min(3),
            copies: 1,
            sharing: if task.sharing.is_shared() { SHARING } else { Sharing::Alone },
            local: LocalSteps::MEAN,
            canaries: None,
            ..task.clone()
        };
        let mut reach = 1.0;
        match (&mut known.encoder, &known.envelope) {
            (EncoderSpec::Clip { norm }, _) => *norm = 1.0,
            (EncoderSpec::Layers(clip), _) => clip.norms = vec![1.0],
            (EncoderSpec::Envelope { pre_scale, .. }, Some(envelope)) => {
                *pre_scale = known_pre_scale(*pre_scale);
                reach = f64::from(envelope.largest());
            }
            _ => {}
        }
        known.noise = task.noise.as_ref().map(|noise| noise.with_scale(SCALE * reach));
        let noise = known.noise.as_ref().map(NoiseSpec::build).transpose()?;
        let p = known.model.parameters();
        if task.canaries.is_some() {
            let envelope = known.envelope.as_deref();
            known.canaries = Some(Arc::new(Canaries::draw(CANARIES, &known.encoder, envelope, p, 1)?));
        }
        let encoder = known.prepared_encoder(p)?;

        let model = known.model;
        let mut data = if model.fits(Picture::DIGIT, CLASSES) {
            synthetic::dataset(1, 0, EXAMPLES as usize)
        } else {
            made_up(model, EXAMPLES as usize)
        };
        let first = data.pixels();
        data.images = data.images.iter().enumerate().map(|(i, &byte)| if i < first { 0 } else { byte }).collect();
        // Zero biases would hide errors in reading them.
        let mut start = model::initial_parameters(known.model, 1);
        for i in known.model.layers().iter().flat_map(|layer| layer.biases()) {
            start[i] = 0.05 * ((i % 7) as f32 - 3.0);
        }
        let without = Task { sharing: known.sharing, ..Task::without_privacy(known.model) };
        let mut plain = CpuEngine::new(without, data.clone(), &start, Performance::default())?;
        // Known features are the same for both; a device's own may differ by a byte's step.
        plain.prepare(usize::MAX).await?;
        let scores = plain.scores(&data).await?;
        let mut gradients = Vec::new();
        for example in 0..known.sharing.units(EXAMPLES) {
            gradients.push(plain.traced_step(input(&[example], 0.0)).await?.raw);
        }
        let engine = GpuEngine::new(gpu, &known, &data, &start, PERFORMANCE).await?;
        let grid = known.sum_grid();
        Ok(Self { task: known, noise, reach, data, engine, start, gradients, scores, encoder, grid })
    }

    async fn check(mut self) -> Result<(), EngineError> {
        self.check_logits().await?;
        let lot: Vec<u32> = (0..).take(self.gradients.len()).collect();
        let trace = self.engine.traced_step(input(&lot, 0.25)).await?;
        let steps = self.engine.encoded_steps().await?;
        let (factor, state) = (self.engine.metrics().await?.denoise_factor, self.engine.state().await?);
        self.engine.set_state(&State::start(self.start.clone(), self.task.reads_apart())).await?;
        self.check_gradients(&trace)?;
        self.check_encoded(&trace, steps).await?;
        self.check_noise(&trace, &self.drawn(&mut self.sequence()?, &KEY))?;
        self.check_denoised(&trace, factor)?;
        self.check_update(&trace, &state)?;
        self.check_counts(&lot).await?;
        self.check_canaries(&lot).await?;

        self.check_noise_alone().await?;
        self.check_broken_examples(&lot).await?;
        self.check_full_bins(&lot).await
    }

    async fn check_logits(&mut self) -> Result<(), EngineError> {
        const IMAGE: usize = 3;
        let task = Task::without_privacy(self.task.model);
        let mut plain = CpuEngine::new(task, self.data.clone(), &self.start, Performance::default())?;
        let ours = self.engine.scores(&self.data).await?;
        let difference = apart(ours.values(), self.scores.values());
        self.judge(word!("an image's logits"), &self.engine.kernel_names().evaluation, difference)?;
        let image: Vec<f32> = self.data.image(IMAGE).iter().map(|&byte| model::pixel(byte)).collect();
        let (ours, theirs) = (self.engine.predict(&image).await?, plain.predict(&image).await?);
        self.judge(word!("a drawn image's logits"), &self.engine.kernel_names().evaluation, apart(&ours, &theirs))
    }

    /// From the last layer to the first, the order of computation: reports the first wrong one.
    fn check_gradients(&self, trace: &StepTrace) -> Result<(), EngineError> {
        let expected = sum(self.gradients.iter().map(Vec::as_slice), self.start.len());
        for layer in self.task.model.layers().iter().rev() {
            let range = layer.weights().start..layer.biases().end;
            let difference = apart(&trace.raw[range.clone()], &expected[range]);
            self.judge(message!("the gradient of {}", layer.name), &self.engine.kernel_names().gradients, difference)?;
        }
        Ok(())
    }

    /// Checks the encoded sum, and each example's share of it alone.
    async fn check_encoded(&mut self, trace: &StepTrace, steps: Option<Vec<i64>>) -> Result<(), EngineError> {
        let kernels = self.engine.kernel_names().encoding;
        let mut total = vec![0_i64; self.start.len()];
        let mut plain = Vec::new();
        for example in 0..self.gradients.len() {
            let StepTrace { raw, encoded: ours, .. } = self.engine.traced_step(input(&[example as u32], 0.0)).await?;
            let difference = apart(&raw, &self.gradients[example]);
            self.judge(word!("an example's gradient"), &self.engine.kernel_names().gradients, difference)?;
            let mut expected = raw;
            self.encoder.encode_on(self.grid, &mut expected);
            if let (Some(grid), Some(steps)) = (self.grid, self.engine.encoded_steps().await?) {
                let outside = !self.inside(grid, &steps);
                self.judge(word!("an encoded gradient's bound"), &kernels, if outside { f64::NAN } else { 0.0 })?;
                total.iter_mut().zip(&steps).for_each(|(total, step)| *total += step);
                let whole = expected.iter().map(|&v| (f64::from(v) / f64::from(grid.step())) as i64);
                let difference = self.apart_in_steps(&steps, &whole.collect::<Vec<_>>());
                self.judge(word!("an encoded gradient"), &kernels, difference)?;
            } else {
                self.judge(word!("an encoded gradient"), &kernels, apart(&ours, &expected))?;
                plain.push(expected);
            }
        }
        let difference = match steps {
            Some(steps) if steps == total => 0.0,
            Some(_) => f64::NAN,
            None => apart(&trace.encoded, &sum(plain.iter().map(Vec::as_slice), self.start.len())),
        };
        self.judge(word!("the sum of encoded gradients"), &kernels, difference)
    }

    /// As [`apart`], for whole steps, where neighbours count as equal; NaN if too many differ.
    fn apart_in_steps(&self, found: &[i64], expected: &[i64]) -> f64 {
        let near = u64::from(matches!(self.encoder, Encoder::Envelope { .. }));
        let (mut others, mut all, mut square, mut length) = (0.0, 1.0, 0.0, 1.0);
        for (&a, &b) in found.iter().zip(expected).filter(|(a, b)| **a != 0 || **b != 0) {
            let apart = a.abs_diff(b);
            all += 1.0;
            others += f64::from(u8::from(apart > near));
            square += (apart.saturating_sub(1) as f64).powi(2);
            length += (b as f64).powi(2);
        }
        if others <= AT_EDGES * all { (square / length).sqrt() } else { f64::NAN }
    }

    /// True if an encoded gradient in whole steps is inside its bound, whatever the rounding.
    fn inside(&self, grid: SumGrid, steps: &[i64]) -> bool {
        let step = f64::from(grid.step());
        match &self.encoder {
            Encoder::None => true,
            Encoder::Clip { norm } => {
                let square: i128 = steps.iter().map(|&v| i128::from(v).pow(2)).sum();
                square as f64 <= (norm / step).powi(2)
            }
            Encoder::Layers(layers) => layers.inside(&steps.iter().map(|&v| v as f64 * step).collect::<Vec<_>>()),
            Encoder::Envelope { envelope, .. } => {
                let mut magnitudes: Vec<u64> = steps.iter().map(|v| v.unsigned_abs()).collect();
                magnitudes.sort_unstable_by(|a, b| b.cmp(a));
                let below = |psi: &[f32]| magnitudes.iter().zip(psi).all(|(&m, &v)| m as f64 * step <= f64::from(v));
                (0..envelope.vectors()).any(|index| below(envelope.vector(index)))
            }
        }
    }

    /// Checks noise alone, in enough steps to read and overwrite the ring of correlated noise.
    async fn check_noise_alone(&mut self) -> Result<(), EngineError> {
        let mut sequence = self.sequence()?;
        for step in 0..if sequence.is_some() { 5 } else { 1 } {
            let mut noise_key = KEY;
            noise_key[0] += step;
            let input = StepInput { noise_key, position: step.into(), ..input(&[], 0.0) };
            let trace = self.engine.traced_step(input).await?;
            self.check_noise(&trace, &self.drawn(&mut sequence, &noise_key))?;
        }
        Ok(())
    }

    fn sequence(&self) -> Result<Option<CorrelatedNoise>, EngineError> {
        Ok(self.task.correlated_noise(self.start.len())?)
    }

    /// Computes a step's noise by the plain functions.
    fn drawn(&self, sequence: &mut Option<CorrelatedNoise>, key: &[u32; 8]) -> Vec<f32> {
        let mut drawn = vec![0.0; self.start.len()];
        if let Some(noise) = &self.noise {
            add_noise(key, &**noise, &vec![0.0; self.start.len()], &mut drawn);
        }
        if let Some(sequence) = sequence {
            sequence.correlate(&mut drawn);
        }
        drawn
    }

    /// Compares each coordinate's noise with `drawn`, from the plain functions.
    fn check_noise(&self, trace: &StepTrace, drawn: &[f32]) -> Result<(), EngineError> {
        let Some(noise) = &self.noise else { return Ok(()) };
        // Released values are rounded to a 256th of a step (noise.wgsl).
        let rounding = self.grid.map_or(0.0, |grid| f64::from(grid.step()) / 512.0);
        let error = |(&z, (&noisy, &sum)): (&f32, (&f32, &f32))| {
            let z = f64::from(z);
            let allowed = NOISE_TOLERANCE * (z.abs() + noise.scale())
                + rounding
                + f64::from(f32::EPSILON) * (f64::from(sum).abs() + z.abs());
            (f64::from(noisy) - f64::from(sum) - z).abs() / allowed
        };
        let worst = drawn.iter().zip(trace.noisy.iter().zip(&trace.encoded)).map(error).fold(0.0, largest);
        self.judge(word!("the noise"), &self.engine.kernel_names().noise, worst * TOLERANCE)
    }

    /// Compares the denoised sum with the plain function's.
    fn check_denoised(&self, trace: &StepTrace, found: f32) -> Result<(), EngineError> {
        let (noise, planes) = (self.task.noise.as_ref(), self.task.model.planes());
        let denoise = denoise::prepared(self.task.denoiser, noise, planes, self.task.momentum)?;
        let Some(denoise) = denoise else { return Ok(()) };
        let mut expected = trace.noisy.clone();
        let factor = denoise.denoise(&mut expected);
        let (what, difference) = if self.task.denoiser == Denoiser::KolmogorovSmirnov {
            (word!("the Kolmogorov–Smirnov distance"), (f64::from(found) - factor).abs() / FACTOR_TOLERANCE * TOLERANCE)
        } else {
            (word!("the denoised sum"), apart(&trace.denoised, &expected))
        };
        self.judge(what, &self.engine.kernel_names().denoising, difference)
    }

    /// Checks momentum, parameters and mean after one step from the start, given what was released.
    fn check_update(&self, trace: &StepTrace, state: &State) -> Result<(), EngineError> {
        let StepInput { learning_rate, average_keeps, .. } = input(&[], 0.25);
        let mut worst = 0.0;
        let Filter { takes, ahead, .. } = self.task.filter();
        let mut moves = trace.denoised.clone();
        self.encoder.restore(&mut moves);
        for (i, &g) in moves.iter().enumerate() {
            let momentum = takes * (g / self.task.expected_lot);
            let step = learning_rate * momentum;
            let theta = self.start[i] - step;
            let near = |found: f32, expected: f32, scale: f32| {
                f64::from((found - expected).abs()) / (UPDATE_TOLERANCE * f64::from(scale.abs()) + 1e-30)
            };
            worst = largest(worst, near(state.momentum[i], momentum, momentum));
            let scale = self.start[i].abs() + (1.0 + ahead) * step.abs();
            worst = largest(worst, near(state.parameters[i], theta - ahead * step, scale));
            if let Some(average) = &state.average {
                let keeps = if ahead > 0.0 { 0.0 } else { average_keeps };
                worst = largest(worst, near(average[i], theta + keeps * (self.start[i] - theta), scale));
            }
        }
        self.judge(word!("the parameters' update"), &self.engine.kernel_names().update, worst * TOLERANCE)
    }

    /// Checks what each example alone adds to the counts, and that a lot's counts are their sum;
    /// with a single clip, at one that half of the norms are within.
    async fn check_counts(&mut self, lot: &[u32]) -> Result<(), EngineError> {
        if self.task.counting.is_none() {
            return Ok(());
        }
        let mut norms: Vec<f64> = self.gradients.iter().map(|gradient| norm(gradient)).collect();
        norms.sort_by(f64::total_cmp);
        let task = self.task.with_clip(norms[norms.len() / 2].midpoint(norms[norms.len() / 2 - 1]));
        self.engine.set_task(&task).await?;
        let (mut total, mut right) = (Counts::default(), true);
        for example in 0..self.gradients.len() {
            self.engine.step(input(&[example as u32], 0.0)).await?;
            let found = self.engine.counts().await?;
            right &= self.counts_of(&task, example).contains(&found);
            total.merge(found);
        }
        self.engine.step(input(lot, 0.0)).await?;
        right &= self.engine.counts().await? == total;
        self.engine.set_task(&self.task).await?;
        self.judge(word!("the counts"), &self.engine.kernel_names().encoding, if right { 0.0 } else { f64::NAN })
    }

    /// Checks canaries, alone and with a lot: their gradients, their bound, what they add to the
    /// lot's sum and counts, and what is seen of them.
    async fn check_canaries(&mut self, lot: &[u32]) -> Result<(), EngineError> {
        let Some(canaries) = self.task.canaries.clone() else { return Ok(()) };
        let drawn = |canary: u32| DrawnCanary { canary, turned: canary % 3 == 1 };
        let all: Vec<DrawnCanary> = (0..canaries.len() as u32).map(drawn).collect();
        let kernels = self.engine.kernel_names().canaries;
        let p = self.start.len();
        let (mut raw, mut expected, mut one) = (vec![0.0; p], vec![0.0; p], vec![0.0; p]);
        for &each in &all {
            canaries.gradient(each, &mut one);
            raw.iter_mut().zip(&one).for_each(|(sum, &g)| *sum += g);
            self.encoder.encode_on(self.grid, &mut one);
            expected.iter_mut().zip(&one).for_each(|(sum, &g)| *sum += g);
        }
        let traced = self.engine.traced_step(StepInput { canaries: &all, ..input(&[], 0.0) }).await?;
        self.judge(word!("the gradients of canaries"), &kernels, apart(&traced.raw, &raw))?;
        self.judge(word!("what canaries add"), &kernels, apart(&traced.encoded, &expected))?;
        let alone = self.engine.encoded_steps().await?;
        // Some alone: each is inside its bound, and adds at its own coordinates what all add there.
        if let (Some(grid), Some(alone)) = (self.grid, &alone) {
            let mut right = true;
            for (each, own) in all.iter().zip(canaries.coordinates().chunks(canaries.each())).step_by(APART) {
                self.engine.step(StepInput { canaries: &[*each], ..input(&[], 0.0) }).await?;
                let steps = self.engine.encoded_steps().await?.unwrap_or_default();
                let mut expected = vec![0; p];
                own.iter().for_each(|&at| expected[at as usize] = alone[at as usize]);
                right &= steps == expected && self.inside(grid, &steps);
            }
            self.judge(word!("a canary's bound"), &kernels, if right { 0.0 } else { f64::NAN })?;
        }
        // With a lot, whose own part of the sum and counts comes from a step without canaries.
        let before = self.engine.traced_step(input(lot, 0.0)).await?;
        let (steps, mut counts) = (self.engine.encoded_steps().await?, self.engine.counts().await?);
        let beside = self.engine.traced_step(StepInput { canaries: &all, ..input(lot, 0.0) }).await?;
        let Witness { released, examples, within } = self.engine.witness().await?;
        let at = |values: &[f32]| canaries.coordinates().iter().map(|&at| values[at as usize]).collect::<Vec<_>>();
        let narrow: Vec<f32> = examples.iter().map(|&v| v as f32).collect();
        let mut right = released == at(&beside.noisy) && narrow == at(&before.encoded);
        if let (Some(alone), Some(steps)) = (alone, steps) {
            let sums = self.engine.encoded_steps().await?.unwrap_or_default();
            right &= sums.len() == p && sums.iter().zip(steps).zip(alone).all(|((&sum, a), b)| sum == a + b);
        } else {
            let sums = sum([&before.encoded[..], &traced.encoded[..]].into_iter(), p);
            right &= apart(&beside.encoded, &sums) <= TOLERANCE;
        }
        right &= within == counts.within();
        counts.add_canaries(if self.task.counting.is_none() { 0 } else { all.len() });
        right &= self.engine.counts().await? == counts;
        self.judge(word!("what canaries add to a lot"), &kernels, if right { 0.0 } else { f64::NAN })
    }

    /// Returns the counts that an example may add, by the CPU's gradients and logits; units of
    /// several examples count norms only.
    fn counts_of(&self, task: &Task, example: usize) -> Vec<Counts> {
        let norm = norm(&self.gradients[example]);
        if norm == 0.0 && task.sharing.is_shared() {
            // A unit without examples.
            return vec![Counts::default()];
        }
        let sign = |yes: bool| if yes { 1 } else { -1 };
        let norms = [1.0 - EITHER_WAY, 1.0 + EITHER_WAY].map(|factor| sign(task.is_within(factor * norm)));
        let (mut answers, mut digits) = ([0; 2], [0; CLASSES]);
        if task.counting.answers.is_some() && !task.sharing.is_shared() {
            let digit = self.data.labels[example];
            let scores = || self.scores.iter().nth(example).unwrap_or_default().to_vec();
            let moved = |by: f64| {
                let mut scores = scores();
                scores[usize::from(digit)] += by as f32;
                sign(best(&scores) == digit)
            };
            answers = [moved(-EITHER_WAY), moved(EITHER_WAY)];
            digits[usize::from(digit)] = 1;
        }
        norms.into_iter().flat_map(|norm| answers.map(|right| Counts::of(norm, right, digits))).collect()
    }

    /// Checks that non-finite parameters make every example non-finite.
    async fn check_broken_examples(&mut self, lot: &[u32]) -> Result<(), EngineError> {
        let before = self.engine.metrics().await?.non_finite;
        let mut broken = self.start.clone();
        if let Some(last) = broken.last_mut() {
            *last = f32::NAN;
        }
        self.engine.set_state(&State::start(broken, self.task.reads_apart())).await?;
        let trace = self.engine.traced_step(input(lot, 0.0)).await?;
        let counted = self.engine.metrics().await?.non_finite - before;
        let uncounted = self.engine.counts().await? == Counts::default();
        // A unit without examples adds nothing and is not counted.
        let there = self.gradients.iter().filter(|gradient| gradient.iter().any(|&v| v != 0.0)).count();
        let right = before == 0 && uncounted && counted == there as u64 && trace.encoded.iter().all(|&v| v == 0.0);
        let kernels = self.engine.kernel_names();
        let kernels: Vec<_> = kernels.evaluation.into_iter().chain(kernels.encoding).collect();
        self.judge(word!("non-finite gradients"), &kernels, if right { 0.0 } else { f64::NAN })
    }

    /// Checks the denoiser with nearly all of the sum far from the noise.
    async fn check_full_bins(&mut self, lot: &[u32]) -> Result<(), EngineError> {
        if self.task.denoiser != Denoiser::KolmogorovSmirnov {
            return Ok(());
        }
        let noise = self.task.noise.as_ref().map(|noise| noise.with_scale(LITTLE * self.reach));
        self.noise = noise.as_ref().and_then(|noise| noise.build().ok());
        self.task.noise = noise;
        let gpu = self.engine.gpu().clone();
        self.engine = GpuEngine::new(&gpu, &self.task, &self.data, &self.start, PERFORMANCE).await?;
        let trace = self.engine.traced_step(input(lot, 0.0)).await?;
        let factor = self.engine.metrics().await?.denoise_factor;
        self.check_denoised(&trace, factor)
    }

    /// Refuses the adapter if `difference` exceeds [`TOLERANCE`] or is NaN.
    fn judge(&self, what: impl ToMessage, kernels: &[&'static str], difference: f64) -> Result<(), EngineError> {
        if difference <= TOLERANCE {
            return Ok(());
        }
        let what = message!("{} ({})", what.to_message(), kernels.join(", ").to_lowercase());
        Err(EngineError::WrongResult { adapter: self.engine.gpu().report().to_string(), what, difference })
    }
}

fn input(lot: &[u32], learning_rate: f32) -> StepInput<'_> {
    StepInput { average_keeps: 0.75, ..StepInput::alone(lot, KEY, learning_rate) }
}

fn norm(vector: &[f32]) -> f64 {
    vector.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}

/// The larger number; NaN if either is.
fn largest(a: f64, b: f64) -> f64 {
    if a.is_nan() || a >= b { a } else { b }
}

fn sum<'a>(vectors: impl Iterator<Item = &'a [f32]>, length: usize) -> Vec<f32> {
    let mut sum = vec![0.0_f64; length];
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(sum, &v)| *sum += f64::from(v));
    }
    sum.into_iter().map(|v| v as f32).collect()
}

/// ‖found − expected‖ / ‖expected‖: 0 if both are zero, NaN if any value is.
fn apart(found: &[f32], expected: &[f32]) -> f64 {
    let length = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let difference = length(&mut found.iter().zip(expected).map(|(a, b)| f64::from(*a) - f64::from(*b)));
    if difference == 0.0 { 0.0 } else { difference / norm(expected) }
}

/// The task checked when an adapter is opened: the smallest model, and every step after its sum.
pub fn opening_task() -> Task {
    Task {
        encoder: EncoderSpec::Clip { norm: 1.0 },
        noise: Some(NoiseSpec::Gaussian { sigma: 1.0 }),
        denoiser: Denoiser::KolmogorovSmirnov,
        ..Task::without_privacy(Architecture::Linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that computes wrongly is refused until its kind is marked as checked.
    #[test]
    fn a_kind_that_was_checked_is_not_checked_again() {
        let wrong = |_: &_, text: String| text.replace("t == label", "t == (label + 1u) % 10u");
        // `tests/gpu_check.rs` reports a missing adapter.
        let Ok(gpu) = Gpu::open_edited(wrong) else { return };
        let task = Task { encoder: EncoderSpec::Clip { norm: 3.0 }, ..Task::without_privacy(Architecture::Linear) };
        let checked = || pollster::block_on(check(&gpu, &task));
        assert!(matches!(checked(), Err(EngineError::WrongResult { .. })));
        assert!(checked().is_err(), "what was refused was not checked");
        gpu.set_checked(Kind::of(&task));
        checked().unwrap();
        let right = Gpu::open_edited(|_, text| text).unwrap();
        pollster::block_on(check(&right, &task)).unwrap();
        assert!(right.is_checked(&Kind::of(&task)));
    }

    #[test]
    fn a_wrong_vector_is_told_from_a_right_one() {
        let expected = [0.5, 1.5, 1.0];
        assert!(apart(&[0.5 + 1e-7, 1.5, 1.0 - 1e-7], &expected) <= TOLERANCE);
        assert_eq!(apart(&[0.0; 3], &[0.0; 3]), 0.0);
        for wrong in [[0.0; 3], [0.5, 1.5, 1.01], [0.5, 1.5, f32::NAN], [f32::INFINITY, 1.5, 1.0], [-0.5, -1.5, -1.0]] {
            let difference = apart(&wrong, &expected);
            assert!(difference.is_nan() || difference > TOLERANCE, "{wrong:?}: {difference}");
        }
        assert!(largest(f64::NAN, 1.0).is_nan() && largest(1.0, f64::NAN).is_nan());
        assert_eq!((largest(1.0, 2.0), largest(2.0, 1.0)), (2.0, 2.0));
    }
}
