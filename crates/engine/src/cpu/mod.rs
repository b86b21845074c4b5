//! The CPU engine: natively all threads and the widest vectors; in the browser simd128 on one
//! thread and its [`helpers`].
//!
//! It has its own kernels, not burn-flex's tensor products. A private step needs each example's
//! gradient, or its norm. As a tensor, that gradient is P numbers (P parameters), written by small
//! slow products (a convolution's weight gradient of one example) and read again by clip and sum.
//! Here each SIMD lane holds one example and weights are broadcast, so gradients are sums in
//! registers. Tensors do best on one batched dense product:
//! `crates/burn-engine/benches/product.rs` compares both there.
//!
//! No kernel branches on pixel values, not even to skip blank ones. The time of a step tells only
//! the lot's size and, faintly, under an envelope, how gradient magnitudes are distributed.

pub mod helpers;
mod kernels;
mod models;
mod prepared;
mod simd;
mod threads;

use self::helpers::{HelperPool, Helpers, Measured, PendingSum};
#[cfg(feature = "gpu")]
pub(crate) use self::kernels::scattering;
pub use self::kernels::{evidence, features::features};
use self::{
    kernels::{
        distance::{Cdf, Distance},
        noise::Family,
        smoothing::Smoothing,
    },
    models::Examples,
    simd::padded,
    threads::{Encoding, Kernels, Lot, Seen},
};
use super::{
    Backend, Engine, EngineError, EngineInfo, LocalSteps, Metrics, Performance, Probabilities, Scores, StepInput,
    StepTrace, Task, Unsupported, check_canaries, check_dataset, check_length, check_state, check_training,
};
use crate::{
    data::{Dataset, Shift, sharing::Units},
    mechanism::{
        Denoiser, Encoder, State, add_to,
        canaries::{Canaries, DrawnCanary, Witness},
        correlated::CorrelatedNoise,
        counts::ReleasedCounts,
        denoise::{self, Denoise, Filter},
        exact_sum::SumGrid,
        grid::GridSum,
        layers::Layers,
    },
    model::Architecture,
};
use hushgrad_message::word;

/// Momenta of smaller magnitude are set to zero, before they become denormal.
const NEGLIGIBLE_MOMENTUM: f32 = 1e-30;

/// Runs Algorithm 1 on the CPU.
pub struct CpuEngine {
    info: EngineInfo,
    task: Task,
    train: Dataset,
    /// Set if several examples share one bounded vector ([`Task::sharing`]).
    units: Option<Units>,
    encoding: Encoding,
    kernels: Box<dyn Kernels>,
    noise: Option<Family>,
    correlated: Option<CorrelatedNoise>,
    /// Where gradients are taken. This vector and those up to `noisy` hold P numbers, then padding.
    parameters: Vec<f32>,
    momentum: Vec<f32>,
    /// Parameters for inference, if different: the mean of iterates, or θ behind a look-ahead.
    average: Option<Vec<f32>>,
    /// The sum of encoded gradients; exact if they lie on a grid.
    sum: Vec<f64>,
    /// The noisy sum, denoised in place.
    noisy: Vec<f32>,
    denoising: Option<Denoising>,
    /// Set for a clip by layer: sums are then in units of each layer's noise.
    layers: Option<Layers>,
    filter: Filter,
    /// The sum on [`Task::grid`], if set. The reference encoder then encodes each vector, so that
    /// bounds do not depend on the kernels.
    on_grid: Option<GridSum>,
    /// The reference encoder, for `on_grid` and for shared vectors that no kernel computes.
    encoder: Option<Encoder>,
    metrics: Metrics,
    /// The counts that the last step released.
    told: ReleasedCounts,
    /// What an auditor sees of the last step.
    witness: Witness,
    /// What each canary adds at its own coordinates, once one was drawn.
    planted: Option<Vec<f32>>,
    /// Helper threads, each of which computes a share of a lot.
    assistance: Option<HelperPool>,
}

/// How a noisy sum is denoised.
enum Denoising {
    /// Multiplies the sum y by the distance of its values from the noise's F; `uniforms` holds F(y).
    Distance {
        cdf: Cdf,
        uniforms: Vec<f32>,
        distance: Distance,
    },
    Smoothing(Smoothing),
    /// The reference denoiser: one pass over the sum.
    Plain(Box<dyn Denoise>),
}

impl Denoising {
    fn new(task: &Task, noise: Option<&Family>) -> Result<Option<Self>, EngineError> {
        task.check_denoiser()?;
        let (planes, p) = (task.model.planes(), task.model.parameters());
        if let (Some(kind), Some(Family { noise, .. })) = (task.denoiser.distance(), noise) {
            let (cdf, uniforms) = (Cdf::new(|x| noise.cdf(x)), vec![0.0; padded(p)]);
            return Ok(Some(Self::Distance { cdf, uniforms, distance: Distance::new(kind, p) }));
        }
        Ok(match (task.denoiser, noise, planes) {
            (Denoiser::LaplacianSmoothing { strength }, _, Some(planes)) => {
                Some(Self::Smoothing(Smoothing::new(planes, strength)))
            }
            _ => denoise::prepared(task.denoiser, task.noise.as_ref(), planes, task.momentum)?.map(Self::Plain),
        })
    }
}

/// The parts of an engine that follow from its task.
struct Made {
    encoding: Encoding,
    noise: Option<Family>,
    denoising: Option<Denoising>,
    on_grid: Option<GridSum>,
    layers: Option<Layers>,
    encoder: Option<Encoder>,
}

impl Made {
    fn of(task: &Task) -> Result<Self, EngineError> {
        let layers = task.layers()?;
        let encoding = prepared::encoding(task, layers.as_ref())?;
        let noise = task.noise.as_ref().map(Family::new).transpose()?;
        let denoising = Denoising::new(task, noise.as_ref())?;
        let on_grid = match task.grid {
            None => None,
            Some(grid) => {
                let p = task.model.parameters();
                Some(GridSum::new(grid, p))
            }
        };
        let shared = task.sharing.is_shared() || on_grid.is_some();
        let encoder = shared.then(|| task.prepared_encoder(task.model.parameters())).transpose()?;
        Ok(Self { encoding, noise, denoising, on_grid, layers, encoder })
    }
}

impl CpuEngine {
    /// Creates an engine for `task` on `train` that starts at `initial_parameters`.
    ///
    /// # Errors
    /// If parameters, envelope or labels do not fit the task, or threads do not start.
    pub fn new(
        task: Task,
        train: Dataset,
        initial_parameters: &[f32],
        performance: Performance,
    ) -> Result<Self, EngineError> {
        let p = task.model.parameters();
        check_length(word!("initial parameters"), initial_parameters.len(), p)?;
        check_training(&task, &train)?;
        let Made { encoding, noise, denoising, on_grid, layers, encoder } = Made::of(&task)?;
        let correlated = task.correlated_noise(p)?;
        let kernels = prepared::kernels(&task, &encoding, performance)?;
        let info = EngineInfo { backend: Backend::Cpu, device: kernels.describe(0) };
        let mut parameters = vec![0.0; padded(p)];
        parameters[..p].copy_from_slice(initial_parameters);
        Ok(Self {
            info,
            encoding,
            kernels,
            noise,
            correlated,
            average: task.reads_apart().then(|| parameters.clone()),
            parameters,
            momentum: vec![0.0; padded(p)],
            sum: vec![0.0; padded(p)],
            noisy: vec![0.0; padded(p)],
            denoising,
            layers,
            filter: task.filter(),
            on_grid,
            encoder,
            metrics: Metrics { non_finite: 0, denoise_factor: 1.0 },
            told: ReleasedCounts::default(),
            witness: Witness::default(),
            planted: None,
            units: Units::of(task.sharing, &train),
            assistance: None,
            task,
            train,
        })
    }

    /// Uses these helpers from now on, as far as they pay off ([`Engine::prepare`] measures that),
    /// or none. Only the time of a step changes.
    pub fn set_helpers(&mut self, helpers: Option<Helpers>) {
        self.assistance = helpers.and_then(|helpers| HelperPool::new(helpers, &self.task));
        self.describe_threads();
    }

    /// Uses up to `most` helpers, whether or not they pay off. For tests.
    #[doc(hidden)]
    pub fn use_helpers(&mut self, most: usize) {
        if let Some(assistance) = &mut self.assistance {
            assistance.most = most;
        }
        self.describe_threads();
    }

    /// Updates the device description with the number of threads.
    fn describe_threads(&mut self) {
        let helpers = self.assistance.as_ref().map_or(0, |assistance| assistance.most);
        self.info.device = self.kernels.describe(helpers);
    }

    /// True if helpers may compute shares of its lots: neither shared vectors nor [`Task::grid`].
    fn is_shared_out(&self) -> bool {
        self.units.is_none() && self.on_grid.is_none()
    }

    /// Checks a step's input, and moves the correlated noise to its position.
    fn check(&mut self, &StepInput { lot, shifts, canaries, position, .. }: &StepInput<'_>) -> Result<(), EngineError> {
        check_length(word!("copies of each example"), shifts.len(), self.task.copies as usize)?;
        check_canaries(self.task.canaries.as_deref(), canaries)?;
        if let Some(correlated) = &mut self.correlated {
            correlated.go_to(position)?;
        }
        let examples = self.units.as_ref().map_or(self.train.len(), Units::len);
        match lot.iter().find(|&&i| i as usize >= examples) {
            Some(&index) => Err(Unsupported::Example { index, examples }.into()),
            None => Ok(()),
        }
    }

    /// sum ← the encoded gradients of lot and canaries; told ← the lot's noisy counts.
    async fn encode(&mut self, input: &StepInput<'_>) -> Result<(), EngineError> {
        let Seen { non_finite, mut counts } = self.add_up(input.lot, input.shifts, true).await;
        self.metrics.non_finite += non_finite;
        if let Some(canaries) = self.task.canaries.clone() {
            self.witness.examples = canaries.coordinates().iter().map(|&at| self.sum[at as usize]).collect();
            self.witness.within = if self.task.counting.is_none() { 0.0 } else { counts.within() };
            self.add_canaries(&canaries, input.canaries);
            counts.add_canaries(input.canaries.len());
        }
        self.told = counts.release(self.task.counting, &input.noise_key)?;
        Ok(())
    }

    /// sum += these canaries' encoded gradients, which are zero except at their own coordinates.
    fn add_canaries(&mut self, canaries: &Canaries, drawn: &[DrawnCanary]) {
        if drawn.is_empty() {
            return;
        }
        let planted = match self.planted.take() {
            Some(planted) => planted,
            None => self.plant(canaries),
        };
        for &DrawnCanary { canary, turned } in drawn {
            let own = canary as usize * canaries.each()..(canary as usize + 1) * canaries.each();
            for (&at, &value) in canaries.coordinates()[own.clone()].iter().zip(&planted[own]) {
                let (at, value) = (at as usize, if turned { -value } else { value });
                match &mut self.on_grid {
                    Some(on_grid) => {
                        on_grid.add_at(at, value);
                        self.sum[at] = on_grid.value_at(at).into();
                    }
                    None => self.sum[at] += f64::from(value),
                }
            }
        }
        self.planted = Some(planted);
    }

    /// Returns what each canary adds at its own coordinates, unless turned (negated).
    fn plant(&mut self, canaries: &Canaries) -> Vec<f32> {
        let p = self.task.model.parameters();
        let Self { kernels, encoding, encoder, layers, on_grid, .. } = self;
        let lengths = if layers.is_some() { self.task.model.lengths() } else { Vec::new() };
        let mut padded_gradient = vec![0.0; padded(p)];
        let mut alone = vec![0.0; padded(p)];
        canaries.encoded_by(&lengths, |gradient| match encoder.as_ref().filter(|_| on_grid.is_some()) {
            Some(encoder) => {
                encoder.encode_on(None, gradient);
            }
            None => {
                padded_gradient[..p].copy_from_slice(gradient);
                alone.fill(0.0);
                kernels.add_vector(encoding, &padded_gradient, &mut alone);
                round(&alone, gradient);
            }
        })
    }

    /// sum ← the lot's gradients, encoded if `bounded`.
    async fn add_up(&mut self, lot: &[u32], shifts: &[Shift], bounded: bool) -> Seen {
        if let Some(assistance) = &self.assistance
            && self.units.is_none()
            && (self.on_grid.is_none() || !bounded)
        {
            let encoding = if bounded { &self.encoding } else { &Encoding::None };
            let (parameters, data) = (&self.parameters[..], &self.train);
            let model = self.task.model;
            let sought = PendingSum { model, encoding, bounded, parameters, data, lot, shifts };
            return assistance.sum_anyway(&mut *self.kernels, &sought, &mut self.sum).await;
        }
        self.add_up_alone(lot, shifts, bounded)
    }

    /// As [`Self::add_up`], without helpers.
    fn add_up_alone(&mut self, lot: &[u32], shifts: &[Shift], bounded: bool) -> Seen {
        let Self { task, parameters, sum, kernels, .. } = self;
        let features = self.train.features();
        let examples = Examples { data: &self.train, features: task.model.known(&features, &self.train) };
        let dimension = task.model.parameters();
        let encoding = if bounded { &self.encoding } else { &Encoding::None };
        let on_grid = self.on_grid.as_mut().filter(|_| bounded);
        let Some(units) = &self.units else {
            let Some(on_grid) = on_grid else {
                return kernels.sum_encoded(encoding, parameters, examples, Lot::Alone(lot), shifts, sum);
            };
            let own: Vec<&[u32]> = lot.chunks(1).collect();
            let mut by_itself =
                PerExamplePath { kernels: &mut **kernels, parameters, examples, shifts, sum, dimension };
            return by_itself.sum(&own, task, LocalSteps::MEAN, self.encoder.as_ref(), None, Some(on_grid));
        };
        // Sorted, so that units of a block are of similar size; those without examples add nothing.
        let mut drawn: Vec<&[u32]> = lot.iter().map(|&unit| units.members(unit)).collect();
        drawn.retain(|members| !members.is_empty());
        drawn.sort_by_key(|members| members.len());
        let most = drawn.last().map_or(0, |members| members.len()) * shifts.len();
        if on_grid.is_none() && task.local.steps == 1 && most <= Lot::MOST {
            let lot = Lot::Shared { units: &drawn, rate: task.local.rate as f32 };
            return kernels.sum_encoded(encoding, parameters, examples, lot, shifts, sum);
        }
        let (encoder, grid) = (self.encoder.as_ref().filter(|_| bounded), task.sum_grid());
        let mut by_itself = PerExamplePath { kernels: &mut **kernels, parameters, examples, shifts, sum, dimension };
        by_itself.sum(&drawn, task, task.local, encoder, grid, on_grid)
    }

    /// noisy ← sum + noise, if there is noise.
    fn add_noise(&mut self, key: &[u32; 8]) {
        let Some(noise) = &self.noise else { return round(&self.sum, &mut self.noisy) };
        let p = self.task.model.parameters();
        let (sum, noisy) = (&self.sum[..p], &mut self.noisy[..p]);
        match (&self.on_grid, &mut self.correlated) {
            (Some(sum), _) => sum.release(key, &*noise.noise, noisy),
            (None, None) => self.kernels.add_noise(noise, key, sum, noisy),
            (None, Some(correlated)) => {
                let mut drawn = vec![0.0; p];
                self.kernels.add_noise(noise, key, &vec![0.0; p], &mut drawn);
                correlated.correlate(&mut drawn);
                add_to(sum, &drawn, noisy);
            }
        }
    }

    /// Records the noisy sum at the canaries' coordinates, for the auditor.
    fn see(&mut self) {
        if let Some(canaries) = &self.task.canaries {
            self.witness.released = canaries.coordinates().iter().map(|&at| self.noisy[at as usize]).collect();
        }
    }

    /// Denoises `noisy` in place, up to the returned factor, which [`Self::update`] applies.
    fn denoise(&mut self) -> f32 {
        let p = self.task.model.parameters();
        let noisy = &mut self.noisy;
        // The factor for the metrics, and the factor for the update.
        let (told, left) = match &mut self.denoising {
            None => (1.0, 1.0),
            Some(Denoising::Distance { cdf, uniforms, distance }) => {
                self.kernels.to_uniform(cdf, noisy, uniforms);
                let factor = distance.of(&uniforms[..p]) as f32;
                (factor, factor)
            }
            Some(Denoising::Smoothing(smoothing)) => {
                smoothing.smooth(&mut noisy[..p]);
                (1.0, 1.0)
            }
            Some(Denoising::Plain(plain)) => (plain.denoise(&mut noisy[..p]) as f32, 1.0),
        };
        self.metrics.denoise_factor = told;
        left
    }

    /// m ← keeps·m + takes·factor·noisy/expected lot; θ ← θ − rate·m ([`Filter`]). Then either
    /// updates the mean of iterates, or moves the point at which gradients are taken ahead of θ.
    fn update(&mut self, factor: f32, learning_rate: f32, average_keeps: f32) {
        let Filter { keeps, takes, ahead, .. } = self.filter;
        let scale = takes * factor / self.task.expected_lot;
        if let Some(layers) = &self.layers {
            layers.restore(&mut self.noisy[..self.task.model.parameters()]);
        }
        let next = |m: &mut f32, g: f32| {
            let next = keeps * *m + scale * g;
            *m = if next.abs() < NEGLIGIBLE_MOMENTUM { 0.0 } else { next };
            learning_rate * *m
        };
        let each = self.momentum.iter_mut().zip(&self.noisy);
        match &mut self.average {
            Some(read) if ahead > 0.0 => {
                for ((place, theta), (m, &g)) in self.parameters.iter_mut().zip(read).zip(each) {
                    let step = next(m, g);
                    *theta -= step;
                    *place = *theta - ahead * step;
                }
            }
            average => {
                for (theta, (m, &g)) in self.parameters.iter_mut().zip(each) {
                    *theta -= next(m, g);
                }
                for (mean, theta) in average.iter_mut().flatten().zip(&self.parameters) {
                    *mean = theta + average_keeps * (*mean - theta);
                }
            }
        }
    }
}

/// Computes vectors one at a time: for units that the kernels do not batch, and for [`Task::grid`].
struct PerExamplePath<'a> {
    kernels: &'a mut dyn Kernels,
    parameters: &'a [f32],
    examples: Examples<'a>,
    shifts: &'a [Shift],
    /// P numbers, then padding, which belongs to no vector.
    sum: &'a mut [f64],
    dimension: usize,
}

impl PerExamplePath<'_> {
    /// sum ← the sum of these units' encoded vectors. Of the returned counts, only those of norms
    /// are valid.
    fn sum(
        &mut self,
        units: &[&[u32]],
        task: &Task,
        local: LocalSteps,
        encoder: Option<&Encoder>,
        grid: Option<SumGrid>,
        mut on_grid: Option<&mut GridSum>,
    ) -> Seen {
        let mut seen = Seen::default();
        let mut total = vec![0.0; self.sum.len()];
        let mut vector = vec![0.0; self.sum.len()];
        on_grid.iter_mut().for_each(|sum| sum.clear());
        for members in units {
            let finite = self.vector(members, local, &mut vector);
            let vector = &mut vector[..self.dimension];
            let norm = || vector.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
            // Before encoding overwrites the vector.
            let within = !task.counting.is_none() && task.is_within(norm());
            match encoder {
                _ if !finite => seen.non_finite += 1,
                Some(encoder) if !encoder.encode_on(grid, vector) => seen.non_finite += 1,
                None if vector.iter().any(|v| !v.is_finite()) => seen.non_finite += 1,
                _ => {
                    seen.counts.add(within, false, 0);
                    match &mut on_grid {
                        Some(sum) => sum.add(vector),
                        None => total.iter_mut().zip(vector).for_each(|(total, v)| *total += f64::from(*v)),
                    }
                }
            }
        }
        match on_grid {
            Some(sum) => self.sum.iter_mut().zip(sum.value()).for_each(|(sum, value)| *sum = value.into()),
            None => self.sum.copy_from_slice(&total),
        }
        seen
    }

    /// out ← what a unit's local steps subtract from θ ([`LocalSteps`]). True if all gradients are
    /// finite; if not, `out` is incomplete.
    fn vector(&mut self, members: &[u32], local: LocalSteps, out: &mut [f32]) -> bool {
        out.fill(0.0);
        let share = local.rate / members.len() as f64;
        let mut here = self.parameters.to_vec();
        for step in 0..local.steps {
            if step > 0 {
                here.iter_mut().zip(self.parameters).zip(&*out).for_each(|((here, theta), gone)| *here = theta - gone);
            }
            let lot = Lot::Alone(members);
            if self.kernels.sum_encoded(&Encoding::None, &here, self.examples, lot, self.shifts, self.sum).non_finite
                > 0
            {
                return false;
            }
            out.iter_mut().zip(&*self.sum).for_each(|(out, &g)| *out += (share * g) as f32);
        }
        true
    }
}

impl CpuEngine {
    /// Measures how many helpers pay off, unless that is known.
    async fn measure_helpers(&mut self) {
        let Some(assistance) = &mut self.assistance else { return };
        let (kernels, encoding, parameters) = (&mut *self.kernels, &self.encoding, &self.parameters[..]);
        let Task { model, copies, expected_lot, .. } = self.task;
        let measured = Measured { kernels, encoding, parameters, model, copies, lot: expected_lot as usize };
        if assistance.measure(measured).await {
            self.describe_threads();
        }
    }

    /// Describes the CPU engine of this machine without creating one.
    #[must_use]
    pub fn describe(performance: Performance) -> EngineInfo {
        let task = Task::without_privacy(Architecture::Linear);
        let kernels = prepared::kernels(&task, &Encoding::None, performance);
        let device = kernels.map_or_else(|error| error.to_string(), |kernels| kernels.describe(0));
        EngineInfo { backend: Backend::Cpu, device }
    }
}

impl Engine for CpuEngine {
    fn info(&self) -> &EngineInfo {
        &self.info
    }

    async fn prepare(&mut self, most: usize) -> Result<usize, EngineError> {
        let left = know(&mut *self.kernels, self.task.model, &self.train, most)?;
        if left == 0 && self.is_shared_out() {
            self.measure_helpers().await;
        }
        Ok(left)
    }

    async fn step(&mut self, input: StepInput<'_>) -> Result<(), EngineError> {
        self.check(&input)?;
        know(&mut *self.kernels, self.task.model, &self.train, usize::MAX)?;
        self.encode(&input).await?;
        self.add_noise(&input.noise_key);
        self.see();
        let factor = self.denoise();
        self.update(factor, input.learning_rate, input.average_keeps);
        Ok(())
    }

    async fn traced_step(&mut self, input: StepInput<'_>) -> Result<StepTrace, EngineError> {
        self.check(&input)?;
        know(&mut *self.kernels, self.task.model, &self.train, usize::MAX)?;
        let p = self.task.model.parameters();
        self.add_up(input.lot, input.shifts, false).await;
        let [mut raw, mut encoded] = [vec![0.0; p], vec![0.0; p]];
        round(&self.sum, &mut raw);
        if let Some(canaries) = &self.task.canaries {
            let mut gradient = vec![0.0; p];
            for &drawn in input.canaries {
                canaries.gradient(drawn, &mut gradient);
                raw.iter_mut().zip(&gradient).for_each(|(raw, g)| *raw += g);
            }
        }
        self.encode(&input).await?;
        round(&self.sum, &mut encoded);
        self.add_noise(&input.noise_key);
        self.see();
        let noisy = self.noisy[..p].to_vec();
        let factor = self.denoise();
        let denoised = self.noisy[..p].iter().map(|x| x * factor).collect();
        self.update(factor, input.learning_rate, input.average_keeps);
        Ok(StepTrace { raw, encoded, noisy, denoised })
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
        let made = Made::of(task)?;
        (self.encoding, self.noise, self.denoising) = (made.encoding, made.noise, made.denoising);
        (self.on_grid, self.layers, self.encoder) = (made.on_grid, made.layers, made.encoder);
        self.planted = None;
        self.task = task.clone();
        if let Some(assistance) = &mut self.assistance {
            assistance.set_task(task);
        }
        Ok(())
    }

    async fn scores(&mut self, data: &Dataset) -> Result<Scores, EngineError> {
        check_dataset(self.task.model, data)?;
        know(&mut *self.kernels, self.task.model, data, usize::MAX)?;
        let parameters = self.average.as_ref().unwrap_or(&self.parameters);
        if let Some(assistance) = &self.assistance
            && let Some(scores) = assistance.scores(&mut *self.kernels, parameters, data).await
        {
            return Ok(Scores::new(self.task.model.classes(), scores));
        }
        let features = data.features();
        let examples = Examples { data, features: self.task.model.known(&features, data) };
        let scores = self.kernels.scores(parameters, examples);
        Ok(Scores::new(self.task.model.classes(), scores))
    }

    async fn predict(&mut self, image: &[f32]) -> Result<Probabilities, EngineError> {
        check_length("pixels", image.len(), self.task.model.picture().pixels())?;
        let parameters = self.average.as_ref().unwrap_or(&self.parameters);
        Ok(self.kernels.predict(parameters, image))
    }

    async fn state(&mut self) -> Result<State, EngineError> {
        let p = self.task.model.parameters();
        let [parameters, momentum] = [&self.parameters, &self.momentum].map(|padded| padded[..p].to_vec());
        Ok(State { parameters, momentum, average: self.average.as_ref().map(|padded| padded[..p].to_vec()) })
    }

    async fn set_state(&mut self, state: &State) -> Result<(), EngineError> {
        let p = self.task.model.parameters();
        check_state(state, p)?;
        self.parameters[..p].copy_from_slice(&state.parameters);
        self.momentum[..p].copy_from_slice(&state.momentum);
        if let Some(average) = &mut self.average {
            average[..p].copy_from_slice(state.read_with());
        }
        Ok(())
    }
}

/// Computes features of the first `most` images of `data` that lack them. Returns how many still
/// lack them; 0 if the model takes pixels.
fn know(kernels: &mut dyn Kernels, model: Architecture, data: &Dataset, most: usize) -> Result<usize, EngineError> {
    let Some(map) = model.features() else { return Ok(0) };
    let length = map.len();
    // If this saturates, the reservation below fails.
    let bytes = data.len().saturating_mul(length);
    if data.features().of(data, map.kind).len() == bytes {
        return Ok(0);
    }
    let features = &mut data.features_mut(map.kind).bytes;
    let known = features.len() / length;
    let missing = data.len() - known;
    let count = most.min(missing);
    if count > 0 {
        let reserved = features.try_reserve_exact(bytes - features.len());
        reserved.map_err(|_| Unsupported::Features { images: data.len(), bytes })?;
        features.resize((known + count) * length, 0);
        kernels.features(data, known, &mut features[known * length..]);
    }
    Ok(missing - count)
}

/// to ← the first values of `from`, rounded to f32.
fn round(from: &[f64], to: &mut [f32]) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
}

#[cfg(test)]
mod tests;
