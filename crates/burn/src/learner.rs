//! DP-SGD over a module, a data set and an optimizer of Burn.

use std::{fs, path::Path};

use burn::{
    data::{dataloader::batcher::Batcher, dataset::Dataset},
    module::Module,
    optim::ModuleOptimizer,
    store::ModuleRecord,
    tensor::Device,
};
use hushgrad_accounting::{
    PrivacyError,
    books::Books,
    dp_sgd,
    envelope::EnvelopeProfile,
    ledger::{Ledger, Release, ReleaseId, Sensitivity},
    noise::{Noise, NoiseSpec},
    pld::Tight,
    sampling::{Sampler, Sampling},
};
use hushgrad_core::{
    mechanism::{Denoiser, Encoder, EncoderSpec, denoise, noise::add_noise},
    rng::{RandomSource, SystemRng},
};

use crate::{
    error::BurnError,
    gradients::{Method, PerExample, PrivateModel, Reason, by_rules, of_one},
    layout::{Layout, registered},
    sum::{BoundedSum, MOST_AT_ONCE},
};

/// Numbers of gradients on the device at once, by default: 256 MiB of f32.
const BUDGET: usize = 1 << 26;

/// What a private training does at each step.
#[derive(Clone, Debug, PartialEq)]
pub struct DpSgd {
    /// How an example's gradient is bounded.
    pub bound: EncoderSpec,
    /// Noise on each coordinate of the sum; its scale is relative to the clipping norm (for an
    /// envelope: to its unit norm). `None`: no noise, and no guarantee.
    pub noise: Option<NoiseSpec>,
    /// Expected number of examples in a batch, by which sums are divided.
    pub lot: u32,
    /// δ of the ε that is reported.
    pub delta: f64,
    /// What is done to a noisy sum before the optimizer gets it; costs no privacy.
    pub denoiser: Denoiser,
    /// Most examples whose gradients are on the device at once; `None`: by their size.
    pub at_once: Option<usize>,
    /// Computes gradients one example at a time, even where the layers' rules apply.
    pub one_by_one: bool,
}

impl DpSgd {
    /// Gradients clipped to `norm`, Gaussian noise, and batches of about `lot` examples by Poisson
    /// sampling (Abadi et al. 2016); δ is 1e-5.
    #[must_use]
    pub fn new(noise_multiplier: f64, norm: f64, lot: u32) -> Self {
        Self {
            bound: EncoderSpec::Clip { norm },
            noise: Some(NoiseSpec::Gaussian { sigma: noise_multiplier }),
            lot,
            delta: 1e-5,
            denoiser: Denoiser::None,
            at_once: None,
            one_by_one: false,
        }
    }

    /// The same with the least noise for which `steps` steps on `examples` examples cost at most
    /// `epsilon` at `delta`.
    ///
    /// # Errors
    /// As [`dp_sgd::noise_multiplier`].
    pub fn within(epsilon: f64, delta: f64, steps: u64, norm: f64, lot: u32, examples: u32) -> Result<Self, BurnError> {
        let rate = f64::from(lot) / f64::from(examples.max(1));
        let multiplier = dp_sgd::noise_multiplier(epsilon, rate, steps, delta)?;
        Ok(Self { delta, ..Self::new(multiplier, norm, lot) })
    }
}

/// Trains a module privately, one step at a time.
///
/// The learner draws the batch, bounds and sums the gradients, records the release in its ledger, adds
/// noise, and lets the optimizer take a step. Everything that it returns is covered by ε; a loss or an
/// accuracy that you compute on training examples is not.
pub struct PrivateLearner<M, R = SystemRng> {
    model: M,
    optimizer: ModuleOptimizer,
    config: DpSgd,
    device: Device,
    layout: Layout,
    method: Method,
    examples: u32,
    encoder: Encoder,
    noise: Option<Box<dyn Noise>>,
    denoise: Option<Box<dyn denoise::Denoise>>,
    sampler: Sampler,
    books: Books,
    release: ReleaseId,
    rng: R,
}

impl<M: Module> PrivateLearner<M> {
    /// Prepares a training on `examples` examples, with randomness from ChaCha20 keyed by the system.
    ///
    /// # Errors
    /// A model with a layer that mixes examples or without trainable parameters; numbers out of range;
    /// no entropy.
    pub fn new(model: M, optimizer: ModuleOptimizer, config: DpSgd, examples: usize) -> Result<Self, BurnError> {
        Self::with_rng(model, optimizer, config, examples, SystemRng::new()?)
    }
}

impl<M: Module, R: RandomSource> PrivateLearner<M, R> {
    /// Like [`PrivateLearner::new`], with a generator for tests; a replayable one is not private.
    ///
    /// # Errors
    /// As [`PrivateLearner::new`].
    pub fn with_rng(
        model: M,
        optimizer: ModuleOptimizer,
        config: DpSgd,
        examples: usize,
        rng: R,
    ) -> Result<Self, BurnError> {
        let model = model.train();
        let layout = Layout::of(&model);
        if let Some((path, kind)) = &layout.mixes {
            return Err(BurnError::Mixes { path: path.clone(), kind: kind.clone() });
        }
        let Some(device) = model.devices().into_iter().next().filter(|_| layout.parameters() > 0) else {
            return Err(BurnError::NothingToTrain);
        };
        let examples = u32::try_from(examples).unwrap_or(u32::MAX);
        if !(1..=examples).contains(&config.lot) {
            let range = "from 1 to the number of examples";
            return Err(BurnError::Range { field: "lot", value: config.lot.into(), range });
        }
        if !(config.delta > 0.0 && config.delta < 1.0) {
            return Err(BurnError::Range { field: "delta", value: config.delta, range: "between 0 and 1" });
        }
        let encoder = Encoder::new(&config.bound, layout.parameters())?;
        let scale = if let EncoderSpec::Clip { norm } = config.bound { norm } else { 1.0 };
        let noise = config.noise.as_ref().map(|noise| noise.with_scale(noise.scale() * scale));
        let built = noise.as_ref().map(NoiseSpec::build).transpose()?;
        config.denoiser.check(built.as_deref(), None, 0.0, false)?;
        if config.denoiser.filter(0.0) != Denoiser::None.filter(0.0) {
            return Err(BurnError::Range { field: "denoiser", value: f64::NAN, range: "one without memory" });
        }
        let denoise = denoise::prepared(config.denoiser, noise.as_ref(), None, 0.0)?;
        let sampling = Sampling::Poisson { rate: f64::from(config.lot) / f64::from(examples) };
        let sensitivity = match &encoder {
            Encoder::Clip { norm } => Sensitivity::L2 { norm: *norm },
            Encoder::Envelope { envelope, .. } => Sensitivity::Envelope {
                profile: EnvelopeProfile::from_vectors((0..envelope.vectors()).map(|index| envelope.vector(index)))?,
            },
            Encoder::Layers(_) => Sensitivity::L2 { norm: 1.0 },
            Encoder::None => Sensitivity::Unbounded,
        };
        let sampler = sampling.sampler(examples.into())?;
        let mut books = Books::of(Ledger::new())?;
        let release = books.register_priced(Release::new(sampling, sensitivity, noise))?;
        let method = if config.one_by_one { Method::OneByOne(Reason::Chosen) } else { Method::Rules };
        let noise = built;
        Ok(Self {
            model,
            optimizer,
            config,
            device,
            layout,
            method,
            examples,
            encoder,
            noise,
            denoise,
            sampler,
            books,
            release,
            rng,
        })
    }

    /// Takes one step on `data`.
    ///
    /// # Errors
    /// [`BurnError::Examples`], [`BurnError::Losses`], [`BurnError::Device`]. The step's release counts
    /// from the moment that its noise is drawn.
    pub fn step<I, B>(
        &mut self,
        data: &dyn Dataset<I>,
        batcher: &dyn Batcher<I, B>,
        learning_rate: f64,
    ) -> Result<(), BurnError>
    where
        M: PrivateModel<B>,
    {
        if data.len() != self.examples as usize {
            return Err(BurnError::Examples { found: data.len(), examples: self.examples as usize });
        }
        let mut lot = vec![];
        self.sampler.draw(&mut self.rng, &mut lot);
        let sum = self.sum(&lot, data, batcher)?;
        // In the books first.
        self.books.record(self.release, 1);
        let key: [u32; 8] = std::array::from_fn(|_| self.rng.next_u32());
        let mut released: Vec<f32> = sum.iter().map(|&value| value as f32).collect();
        if let Some(noise) = &self.noise {
            add_noise(&key, &**noise, &sum, &mut released);
        }
        if let Some(denoise) = &self.denoise {
            denoise.denoise(&mut released);
        }
        self.encoder.restore(&mut released);
        let lot = self.config.lot as f32;
        released.iter_mut().for_each(|value| *value /= lot);
        let gradients = registered(&self.model, &released, &self.device);
        self.model = self.optimizer.step(learning_rate, self.model.clone(), gradients);
        Ok(())
    }

    /// Sums the bounded gradients of a batch.
    fn sum<I, B>(
        &mut self,
        lot: &[u32],
        data: &dyn Dataset<I>,
        batcher: &dyn Batcher<I, B>,
    ) -> Result<Vec<f64>, BurnError>
    where
        M: PrivateModel<B>,
    {
        let by_size = (BUDGET / self.layout.parameters()).max(1);
        let at_once = self.config.at_once.unwrap_or(by_size).clamp(1, MOST_AT_ONCE);
        let encoder = self.encoder.clone();
        let mut sum = BoundedSum::new(&encoder, self.layout.parameters());
        for chunk in lot.chunks(at_once) {
            sum.add(self.gradients(chunk, data, batcher)?)?;
        }
        Ok(sum.into_sum())
    }

    /// Computes the gradients of these examples, by the layers' rules if they apply. Which method is
    /// used depends on the model's structure alone.
    fn gradients<I, B>(
        &mut self,
        chunk: &[u32],
        data: &dyn Dataset<I>,
        batcher: &dyn Batcher<I, B>,
    ) -> Result<PerExample, BurnError>
    where
        M: PrivateModel<B>,
    {
        let device = self.device.clone().autodiff();
        let items = |indices: &[u32]| {
            let item = |&index: &u32| {
                data.get(index as usize).map_err(|error| BurnError::Item { index, reason: error.to_string() })
            };
            indices.iter().map(item).collect::<Result<Vec<_>, _>>()
        };
        let (model, layout) = (&self.model, &self.layout);
        if self.method == Method::Rules {
            let batch = batcher.batch(items(chunk)?, &device);
            match by_rules(model, layout, chunk.len(), batch, |model, batch| model.losses(batch), &device)? {
                Ok(gradients) => return Ok(gradients),
                Err(reason) => self.method = Method::OneByOne(reason),
            }
        }
        let mut rows: Vec<PerExample> = Vec::with_capacity(chunk.len());
        for index in chunk {
            let batch = batcher.batch(items(&[*index])?, &device);
            rows.push(of_one(&self.model, &self.layout, batch, |model, batch| model.losses(batch), &device)?);
        }
        let mut columns: Vec<Vec<_>> = self.layout.places().iter().map(|_| Vec::with_capacity(chunk.len())).collect();
        for row in rows {
            for (column, part) in columns.iter_mut().zip(row) {
                column.push(part);
            }
        }
        Ok(columns.into_iter().map(|column| burn::tensor::Tensor::cat(column, 0)).collect())
    }

    /// Returns the model in training mode.
    #[must_use]
    pub const fn model(&self) -> &M {
        &self.model
    }

    /// Returns how per-example gradients are computed, as of the last step.
    #[must_use]
    pub const fn method(&self) -> &Method {
        &self.method
    }
}

/// What holds if the randomness is private.
impl<M: Module> PrivateLearner<M> {
    /// Returns what was released so far.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.books.ledger()
    }

    /// Returns ε of everything released so far, at the configured δ, by tight accounting.
    ///
    /// # Errors
    /// As [`Books::tight`].
    pub fn epsilon(&self) -> Result<Tight, PrivacyError> {
        self.books.tight(self.config.delta)
    }

    /// Writes the ledger, the model and the optimizer to files in `folder`, the ledger first, so that
    /// it never knows less than the model has seen.
    ///
    /// # Errors
    /// [`BurnError::File`].
    pub fn save(&self, folder: &Path) -> Result<(), BurnError> {
        fs::create_dir_all(folder).map_err(|error| file(folder, &error))?;
        let ledger = folder.join(LEDGER);
        // In one piece: a file that is cut short is never in its place.
        let new = ledger.with_extension("new");
        fs::write(&new, self.ledger().to_json()).map_err(|error| file(&new, &error))?;
        fs::rename(&new, &ledger).map_err(|error| file(&ledger, &error))?;
        let (model, optimizer) = (folder.join(MODEL), folder.join(OPTIMIZER));
        self.model.clone().into_record().save(&model).map_err(|error| file(&model, &error))?;
        self.optimizer.save(&optimizer).map_err(|error| file(&optimizer, &error))
    }

    /// Goes on from what [`PrivateLearner::save`] wrote: its steps count, whatever the settings were.
    /// Two learners that go on from the same files know only their own further steps; whoever sees
    /// both learns from all of them ([`hushgrad_accounting::composition`]).
    ///
    /// # Errors
    /// [`BurnError::File`] if a file is missing, damaged, or of another model; an invalid ledger.
    pub fn resume(mut self, folder: &Path) -> Result<Self, BurnError> {
        let (ledger, model, optimizer) = (folder.join(LEDGER), folder.join(MODEL), folder.join(OPTIMIZER));
        let text = fs::read_to_string(&ledger).map_err(|error| file(&ledger, &error))?;
        let release = self.books.ledger().releases()[0].clone();
        let mut books = Books::of(Ledger::from_json(&text)?)?;
        self.release = books.register_priced(release)?;
        self.books = books;
        let record = ModuleRecord::load(&model).map_err(|error| file(&model, &error))?;
        self.model = self.model.try_load_record(record).map_err(|error| file(&model, &error))?.train();
        self.optimizer = self.optimizer.load(&optimizer).map_err(|error| file(&optimizer, &error))?;
        Ok(self)
    }
}

/// Names of a checkpoint's files; Burn adds its ending to records.
const LEDGER: &str = "ledger.json";
const MODEL: &str = "model";
const OPTIMIZER: &str = "optimizer";

fn file(path: &Path, error: &dyn std::fmt::Display) -> BurnError {
    BurnError::File { path: path.display().to_string(), reason: error.to_string() }
}
