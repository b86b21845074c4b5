//! One step as seen by one of its examples: the lot's digits, the contribution of one, and the sum
//! with and without it, before and after the noise. Micro-batches and users are shown by their
//! first example, and contribute the vector that their examples share.
//!
//! All of it is private, and stays on the trainer's own screen.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::snapshot::PictureLayout;
use crate::{
    accounting::noise::{Noise, NoiseSpec},
    data::{Dataset, Picture, Shift, sharing::Units},
    engine::{
        StepTrace, Task,
        reference::{inputs, mean_gradient, shared_vector},
    },
    mechanism::{EncoderSpec, encode::finite_norm, noise::add_noise},
    model::{
        layers::LayerList,
        reference::{self, InputView},
    },
    rng::RandomSource,
    train::session::TracedStep,
};

/// Most multiplications of a network that the plain reference runs on all of them within a second.
const MOST_WORK: u64 = 3_000_000;

/// Most digits of a lot shown.
pub const SHOWN: usize = 40;

/// The digits of a step's lot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LotView {
    /// How many were drawn.
    pub drawn: u32,
    /// Labels of those shown, at most [`SHOWN`].
    pub labels: Vec<u8>,
    /// The shape of an image.
    pub picture: Picture,
    /// Their pixels; in a digit, 255 is ink.
    pub pixels: Vec<u8>,
}

impl LotView {
    /// Returns the pixels of the digit at `place`.
    #[must_use]
    pub fn digit(&self, place: usize) -> &[u8] {
        let pixels = self.picture.pixels();
        self.pixels.get(place * pixels..(place + 1) * pixels).unwrap_or_default()
    }
}

/// A digit of the lot, and the norm of its gradient before the bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GradientNorm {
    pub label: u8,
    /// As in [`Contribution::norm`].
    pub norm: f64,
    pub pixels: Vec<u8>,
}

/// How a gradient was bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Held {
    /// Nothing bounds gradients.
    Nowhere,
    Envelope,
    Layers,
    /// It is within the bound.
    Whole,
    Cut,
}

/// The contribution of one image of the lot to the step, and the noise of two releases. All are
/// shown as the image sees them ([`InputView`]): as pictures of its size, or of its features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// Its place among the digits shown.
    pub place: u32,
    pub label: u8,
    /// L2 norm of its gradient, times any pre-scale of the envelope; 0 if it was not finite.
    pub norm: f64,
    /// L2 norm of its contribution to the sum.
    pub bounded: f64,
    pub held: Held,
    pub layout: PictureLayout,
    /// Its contribution.
    pub alone: Vec<f32>,
    /// The sum before the noise, with this image.
    pub sum: Vec<f32>,
    /// Noise of scale 1: of the release, and of one without this image that did not happen.
    /// Gaussian if the run has none.
    pub draws: [Vec<f32>; 2],
    /// What each of these adds to the score of an attacker who tests for the contribution: the
    /// draw's projection on it under the noise's score function, of mean 0 and variance 1.
    pub scores: [f64; 2],
    /// √J of noise of scale 1, where J is its Fisher information.
    pub information: f64,
    /// Scale of the noise on the sum where the setting is 1.
    pub unit: f64,
    /// The setting that the release had; 0: no noise.
    pub scale: f64,
}

impl Contribution {
    /// Returns the sum with or without the image, under noise of this setting.
    #[must_use]
    pub fn sum(&self, without: bool, scale: f64) -> Vec<f32> {
        let out = if without { 1.0 } else { 0.0 };
        let noise = (scale * self.unit) as f32;
        let draws = &self.draws[usize::from(without)];
        self.sum.iter().zip(&self.alone).zip(draws).map(|((sum, one), z)| sum - out * one + noise * z).collect()
    }

    /// Returns the sum with the image minus that without, each under noise of its own.
    #[must_use]
    pub fn difference(&self, scale: f64) -> Vec<f32> {
        let noise = (scale * self.unit) as f32;
        let [with, without] = &self.draws;
        self.alone.iter().zip(with).zip(without).map(|((one, a), b)| one + noise * (a - b)).collect()
    }

    /// Returns the cosine, in the picture, of the contribution and of the release minus the sum of
    /// all others: 1 without noise.
    #[must_use]
    pub fn shows(&self, scale: f64) -> f64 {
        let noise = (scale * self.unit) as f32;
        let left: Vec<f32> = self.alone.iter().zip(&self.draws[0]).map(|(one, z)| one + noise * z).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        dot(&self.alone, &left) / (dot(&self.alone, &self.alone) * dot(&left, &left)).sqrt()
    }

    /// Returns how far the image moves the score of the best attacker, who knows all others, in
    /// standard deviations: ‖contribution‖·√J/scale. Infinite without noise. Exact for Gaussian
    /// noise; for others the limit of many small coordinates.
    #[must_use]
    pub fn separation(&self, scale: f64) -> f64 {
        self.bounded * self.information / (scale * self.unit)
    }

    /// Returns the magnitude at which the colours of both sums are full under noise of this setting.
    #[must_use]
    pub fn full(&self, scale: f64) -> f64 {
        full_colour(&self.sum).max(full_colour(&self.sum(false, scale)))
    }

    /// Returns the magnitude of full colour in differences: the largest of the contribution.
    #[must_use]
    pub fn full_alone(&self) -> f64 {
        self.alone.iter().map(|v| f64::from(v.abs())).fold(f64::MIN_POSITIVE, f64::max)
    }
}

/// A traced step that can be inspected for any of its images.
#[derive(Clone, Debug)]
pub struct StepInspection {
    pub step: u64,
    pub(super) task: Task,
    pub(super) train: Dataset,
    /// Units or examples drawn.
    drawn: u32,
    /// Those shown: the first that hold an example, at most [`SHOWN`].
    lot: Vec<u32>,
    /// The first example of each of those.
    pub(super) examples: Vec<u32>,
    units: Option<Rc<Units>>,
    pub(super) shifts: Vec<Shift>,
    /// The parameters before the step.
    pub(super) before: Vec<f32>,
    trace: StepTrace,
    /// Keys of noise that was not released: of the step, if it has none, and of one without a unit.
    keys: [[u32; 8]; 2],
    /// Multiplications to read one image; fixed features count as [`MOST_WORK`] more.
    work: u64,
}

impl StepInspection {
    /// Step `step` of a run on `train`. `rng` draws the noise of sums without one unit.
    #[must_use]
    pub fn new(
        step: u64,
        task: &Task,
        (train, units): (&Dataset, Option<Rc<Units>>),
        TracedStep { parameters: before, lot, shifts, trace }: TracedStep,
        rng: &mut dyn RandomSource,
    ) -> Self {
        let keys = [0; 2].map(|_| std::array::from_fn(|_| rng.next_u32()));
        let first = |&drawn: &u32| match &units {
            Some(units) => units.members(drawn).first().map(|&example| (drawn, example)),
            None => Some((drawn, drawn)),
        };
        let drawn = lot.len() as u32;
        let (lot, examples) = lot.iter().filter_map(first).take(SHOWN).unzip();
        let layers = task.model.written().parse().map_or(u64::MAX, |list: LayerList| list.work());
        let work = if task.model.features().is_some() { layers.saturating_add(MOST_WORK) } else { layers };
        let (task, train) = (task.clone(), train.clone());
        Self { step, task, train, drawn, lot, examples, units, shifts, before, trace, keys, work }
    }

    /// Returns the units of `task` in `train`, reused from the step `last` of the same run.
    #[must_use]
    pub fn units(last: Option<&Self>, task: &Task, train: &Dataset) -> Option<Rc<Units>> {
        let same = |last: &&Self| last.task.sharing == task.sharing && last.train.len() == train.len();
        match last.filter(same) {
            Some(last) => last.units.clone(),
            None => Units::of(task.sharing, train).map(Rc::new),
        }
    }

    /// Returns the lot's first digits.
    #[must_use]
    pub fn lot(&self) -> LotView {
        let shown = || self.examples.iter().map(|&i| i as usize);
        LotView {
            drawn: self.drawn,
            labels: shown().map(|i| self.train.labels[i]).collect(),
            picture: self.train.picture,
            pixels: shown().flat_map(|i| self.train.image(i)).copied().collect(),
        }
    }

    /// True if the vector at `place` takes about as long as reading all shown digits, or less.
    fn is_quick(&self, place: usize) -> bool {
        let Some(units) = &self.units else { return true };
        let members = self.lot.get(place).map_or(0, |&drawn| units.members(drawn).len() as u64);
        let gradients = members * u64::from(self.task.local.steps) * self.shifts.len() as u64;
        gradients.saturating_mul(self.work) <= SHOWN as u64 * MOST_WORK
    }

    /// Returns the shown digit that the model reads worst, for a large gradient; 0 if that is slow.
    fn hardest(&self) -> usize {
        if self.work > MOST_WORK {
            return 0;
        }
        let likelihood = |place: usize| {
            let i = self.examples[place] as usize;
            let image = inputs(self.task.model, self.train.image(i));
            reference::probabilities(self.task.model, &self.before, &image)[usize::from(self.train.labels[i])]
        };
        (0..self.examples.len())
            .filter(|&place| self.is_quick(place))
            .map(|place| (place, likelihood(place)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |least| least.0)
    }

    /// Returns label and gradient of the digit at `place`; `None` without it, for another model, or
    /// if it takes long.
    fn gradient(&self, place: usize) -> Option<(u8, Vec<f32>)> {
        let (&drawn, &example) = self.lot.get(place).zip(self.examples.get(place))?;
        if self.before.len() != self.task.model.parameters() || !self.is_quick(place) {
            return None;
        }
        let mut gradient = vec![0.0; self.before.len()];
        let (task, train, shifts) = (&self.task, &self.train, &self.shifts);
        match &self.units {
            None => mean_gradient(task.model, &self.before, train, example as usize, shifts, &mut gradient),
            Some(units) => {
                shared_vector(task, &self.before, train, units.members(drawn), shifts, &mut gradient);
            }
        }
        Some((train.labels[example as usize], gradient))
    }

    /// As in [`Contribution::norm`].
    fn norm(&self, gradient: &[f32]) -> f64 {
        let scale = match self.task.encoder {
            EncoderSpec::Envelope { pre_scale, .. } => pre_scale,
            _ => 1.0,
        };
        finite_norm(gradient).unwrap_or(0.0) * scale
    }

    /// Returns the digit at `place` and its norm; `None` if not shown, or examples share a vector.
    #[must_use]
    pub fn pull(&self, place: usize) -> Option<GradientNorm> {
        if self.units.is_some() {
            return None;
        }
        let (label, gradient) = self.gradient(place)?;
        let pixels = self.train.image(self.examples[place] as usize).to_vec();
        Some(GradientNorm { label, norm: self.norm(&gradient), pixels })
    }

    /// Returns the contribution of the digit at `place`, or of the one read worst; `None` if there
    /// is none or the trace is another model's.
    #[must_use]
    pub fn person(&self, place: Option<usize>) -> Option<Contribution> {
        let place = place.unwrap_or_else(|| self.hardest());
        let p = self.before.len();
        if [&self.trace.encoded, &self.trace.noisy].iter().any(|v| v.len() != p) {
            return None;
        }
        let (label, mut gradient) = self.gradient(place)?;
        let norm = self.norm(&gradient);
        // On the grid of exact sums, if any, so that the difference is exactly the contribution.
        self.task.prepared_encoder(p).ok()?.encode_on(self.task.sum_grid(), &mut gradient);
        let bounded = finite_norm(&gradient).unwrap_or(0.0);
        let noise = self.task.noise_of(&self.trace.noisy, &self.trace.encoded);
        let size = noise.as_ref().map_or(0.0, NoiseSpec::scale);
        let unit_noise =
            noise.map_or(NoiseSpec::Gaussian { sigma: 1.0 }, |noise| noise.with_scale(1.0)).build().ok()?;
        let fresh = |key| {
            let mut draw = vec![0.0; p];
            add_noise(key, unit_noise.as_ref(), &vec![0.0; p], &mut draw);
            draw
        };
        let released = self.trace.noisy.iter().zip(&self.trace.encoded);
        let added = released.map(|(noisy, sum)| ((f64::from(*noisy) - f64::from(*sum)) / size) as f32);
        let [first, second] = &self.keys;
        let draws = [if size > 0.0 { added.collect() } else { fresh(first) }, fresh(second)];
        let information = unit_noise.fisher_information().sqrt();
        let scores = [0, 1].map(|which| {
            score(unit_noise.as_ref(), &draws[which], &gradient) / (bounded * information).max(f64::MIN_POSITIVE)
        });
        // A setting of 1 is the clipping norm, and the settings' noise may be correlated over steps.
        let bound = if let EncoderSpec::Clip { norm } = self.task.encoder { norm } else { 1.0 };
        let setting = self.task.noise.as_ref().map_or(0.0, |noise| noise.scale() / bound);
        let view = self.view(place)?;
        Some(Contribution {
            place: place as u32,
            label,
            norm,
            bounded,
            held: match self.task.encoder {
                EncoderSpec::None => Held::Nowhere,
                EncoderSpec::Envelope { .. } => Held::Envelope,
                EncoderSpec::Layers(_) => Held::Layers,
                // Within the bound only the coordinates are rounded, to the grid of exact sums.
                EncoderSpec::Clip { .. } if norm <= 1.001 * bounded => Held::Whole,
                EncoderSpec::Clip { .. } => Held::Cut,
            },
            layout: self.layout(),
            alone: self.picture(&view, &gradient),
            sum: self.picture(&view, &self.trace.encoded),
            draws: draws.map(|draw| self.picture(&view, &draw)),
            scores,
            information,
            unit: if setting > 0.0 { size / setting } else { bound },
            scale: setting,
        })
    }

    /// Returns the view of the first example at `place`, and of the first of its copies.
    fn view(&self, place: usize) -> Option<InputView> {
        let example = *self.examples.get(place)? as usize;
        let image = self.shifts.first()?.of(self.train.picture, self.train.image(example));
        let model = self.task.model;
        Some(InputView::new(model, &self.before, &inputs(model, &image), self.train.labels[example]))
    }

    /// Returns the layout of the pictures: the image's or, under a model of fixed features, theirs.
    fn layout(&self) -> PictureLayout {
        match self.task.model.features() {
            Some(map) => {
                let (images, side) = map.shape();
                PictureLayout { images, side, columns: PictureLayout::nearly_square(images) }
            }
            None => PictureLayout { images: 1, side: self.train.picture.side.into(), columns: 1 },
        }
    }

    /// Returns what `vector` shows; of an image in colour, the sum over its colours.
    fn picture(&self, view: &InputView, vector: &[f32]) -> Vec<f32> {
        let layout = self.layout();
        let mut seen = view.of(vector);
        let rest = seen.split_off(layout.images * layout.side * layout.side);
        for colour in rest.chunks(seen.len()) {
            seen.iter_mut().zip(colour).for_each(|(sum, value)| *sum += value);
        }
        seen
    }
}

/// Returns Σ g·ψ(z), where ψ = −(ln density)′ of the noise: the change of the log-likelihood at
/// `draw` by a small shift along `gradient`.
fn score(noise: &dyn Noise, draw: &[f32], gradient: &[f32]) -> f64 {
    const SHIFT: f64 = 1e-4;
    let slope = |z: f32| noise.log_ratio(z.into(), SHIFT) / SHIFT;
    draw.iter().zip(gradient).filter(|(_, g)| **g != 0.0).map(|(&z, &g)| f64::from(g) * slope(z)).sum()
}

/// Returns the magnitude at which colours are full: of normal values, their 98th percentile. Outliers
/// count little.
fn full_colour(values: &[f32]) -> f64 {
    let roots: f64 = values.iter().map(|v| f64::from(v.abs()).sqrt()).sum();
    (3.44 * (roots / values.len() as f64).powi(2)).max(f64::MIN_POSITIVE)
}

/// A step as text, shown before the visitor's own first step: numbers, labels, digits in sixteen
/// greys, and pictures in steps of 1/127 of their largest magnitude.
pub mod text {
    use super::{Contribution, Held, LotView};
    use crate::{data::Picture, model::PIXELS, worker::snapshot::PictureLayout};

    /// The layout of a digit.
    const LAYOUT: PictureLayout = PictureLayout { images: 1, side: 28, columns: 1 };

    /// Formats bytes as hexadecimal digits.
    fn hex(bytes: impl Iterator<Item = u8>) -> String {
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    /// Formats a picture as two words: the bits of its largest magnitude, and a byte per value.
    #[must_use]
    pub fn picture(values: &[f32]) -> String {
        let most = values.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let byte = |value: &f32| ((value / most * 127.0).round() + 128.0) as u8;
        format!("{} {}", most.to_bits(), hex(values.iter().map(byte)))
    }

    /// Returns the value of a hexadecimal digit.
    fn nibble(byte: u8) -> Option<u8> {
        (byte as char).to_digit(16).map(|digit| digit as u8)
    }

    /// Parses the output of [`picture`].
    #[must_use]
    pub fn read_picture(text: &str) -> Option<Vec<f32>> {
        let (most, bytes) = text.split_once(' ')?;
        let most = f32::from_bits(most.parse().ok()?);
        let value = |pair: &[u8]| Some((f32::from(nibble(pair[0])? * 16 + nibble(pair[1])?) - 128.0) / 127.0 * most);
        Some(bytes.as_bytes().chunks_exact(2).map_while(value).collect())
    }

    /// Formats a step under clipping and Gaussian noise; `None` without a person, or if its pictures
    /// are not of a digit's size.
    #[must_use]
    pub fn write(step: u64, lot: &LotView, person: Option<&Contribution>) -> Option<String> {
        let person = person.filter(|person| person.layout == LAYOUT)?;
        let bits = |value: f64| (value as f32).to_bits().to_string();
        let whole = [step.to_string(), lot.drawn.to_string(), person.place.to_string()];
        let [with, without] = person.scores;
        let numbers = [person.norm, person.bounded, person.unit, person.scale, with, without].map(bits);
        let labels: String = lot.labels.iter().map(u8::to_string).collect();
        let digits =
            lot.pixels.chunks(PIXELS).map(|digit| digit.iter().map(|byte| format!("{:x}", byte >> 4)).collect());
        let [with, without] = &person.draws;
        let pictures = [&person.alone, &person.sum, with, without].map(|values| picture(values));
        let head = [whole.as_slice(), &numbers].concat().join(" ");
        let lines: Vec<String> = [head, labels].into_iter().chain(digits).chain(pictures).collect();
        Some(lines.join("\n") + "\n")
    }

    /// Parses the output of [`write()`].
    #[must_use]
    pub fn read(text: &str) -> Option<(u64, LotView, Contribution)> {
        let mut lines = text.lines();
        let head: Vec<u32> = lines.next()?.split(' ').map_while(|word| word.parse().ok()).collect();
        let (&[step, drawn, place], numbers) = head.split_first_chunk()?;
        let numbers: Vec<f64> = numbers.iter().map(|bits| f32::from_bits(*bits).into()).collect();
        let &[norm, bounded, unit, scale, with, without] = numbers.as_slice() else { return None };
        let labels: Vec<u8> = lines.next()?.bytes().map(|digit| digit.wrapping_sub(b'0')).collect();
        let mut pixels = Vec::with_capacity(labels.len() * PIXELS);
        for _ in &labels {
            pixels.extend(lines.next()?.bytes().map_while(nibble).map(|grey| grey * 17));
        }
        let mut picture = || read_picture(lines.next()?).filter(|values| values.len() == PIXELS);
        let label =
            *labels.get(place as usize).filter(|label| **label < 10 && pixels.len() == labels.len() * PIXELS)?;
        let person = Contribution {
            place,
            label,
            norm,
            bounded,
            held: Held::Cut,
            layout: LAYOUT,
            alone: picture()?,
            sum: picture()?,
            draws: [picture()?, picture()?],
            scores: [with, without],
            information: 1.0,
            unit,
            scale,
        };
        Some((step.into(), LotView { drawn, labels, picture: Picture::DIGIT, pixels }, person))
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::{
        data::{sharing::Sharing, synthetic},
        engine::{Engine, Performance, cpu::CpuEngine},
        model::{Architecture, PIXELS},
        rng::NotPrivateReplay,
        train::{config::RunConfig, plan::Plan, session::Session},
    };

    fn look(config: RunConfig) -> StepInspection {
        look_at(RunConfig { lot: 60, ..config })
    }

    /// The third step of a run on 300 digits.
    fn look_at(config: RunConfig) -> StepInspection {
        let train = synthetic::digits(1, 300, 1).train;
        let plan = Plan::new(config, 300).unwrap();
        let engine =
            CpuEngine::new(plan.task.clone(), train.clone(), &plan.initial_parameters(), Performance::default())
                .unwrap();
        let mut session = Session::new(plan, engine).unwrap();
        block_on(session.step()).unwrap();
        block_on(session.step()).unwrap();
        let before = block_on(session.engine().state()).unwrap().parameters;
        let trace = block_on(session.traced_step()).unwrap();
        let task = session.plan().task.clone();
        let units = StepInspection::units(None, &task, &train);
        let (lot, shifts) = session.drawn();
        let step = TracedStep { parameters: before, lot: lot.to_vec(), shifts: shifts.to_vec(), trace };
        StepInspection::new(3, &task, (&train, units), step, &mut NotPrivateReplay::new(7))
    }

    fn minus(a: &[f32], b: &[f32]) -> Vec<f32> {
        a.iter().zip(b).map(|(a, b)| a - b).collect()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f64 {
        let product: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum();
        product / norm(a) / norm(b)
    }

    fn norm(values: &[f32]) -> f64 {
        values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
    }

    /// A row of the linear model's gradient is the image times the error.
    #[test]
    fn before_the_noise_the_difference_is_the_persons_digit() {
        let look = look(RunConfig::default());
        let lot = look.lot();
        assert_eq!(lot.labels.len(), (lot.drawn as usize).min(SHOWN));
        assert_eq!(lot.pixels.len(), lot.labels.len() * PIXELS);
        for place in 0..lot.labels.len() {
            let person = look.person(Some(place)).unwrap();
            assert_eq!(person.label, lot.labels[place]);
            assert!(person.bounded <= 1.0 && person.bounded <= person.norm * 1.001, "{person:?}");
            let image: Vec<f32> = lot.digit(place).iter().map(|&byte| f32::from(byte) / 255.0).collect();
            assert!(cosine(&person.difference(0.0), &image) > 0.999, "place {place}");
            let apart = minus(&minus(&person.sum(false, 0.0), &person.sum(true, 0.0)), &person.alone);
            assert!(norm(&apart) < 1e-5 * norm(&person.sum), "place {place}: {}", norm(&apart));
        }
        assert_eq!(look.person(Some(SHOWN)), None);
    }

    /// After the noise, the difference is about two draws of noise, at any setting of the knob.
    #[test]
    fn after_the_noise_the_difference_is_noise() {
        let sigma = 1.1;
        let look = look(RunConfig { noise: Some(NoiseSpec::Gaussian { sigma }), ..RunConfig::default() });
        let person = look.person(None).unwrap();
        assert_eq!((person.scale, person.unit, person.information), (sigma, 1.0, 1.0));
        for scale in [sigma, 2.0 * sigma] {
            let left = norm(&person.difference(scale)) / 28.0;
            let expected = scale * 2f64.sqrt();
            assert!(person.shows(scale).abs() < 0.15, "{}", person.shows(scale));
            // The root mean square of 784 draws is within 14 %, except once in 10^7 times.
            assert!((left / expected - 1.0).abs() < 0.14, "{left} for {expected}");
        }
        assert!(person.shows(0.02) > 0.3, "under little noise the digit shows: {}", person.shows(0.02));
        assert!((person.separation(sigma) - person.bounded / sigma).abs() < 1e-12);
    }

    /// The released picture is that of the release itself, in units of the sum.
    #[test]
    fn at_the_settings_of_the_run_the_picture_is_of_the_release() {
        let config = RunConfig {
            encoder: EncoderSpec::Clip { norm: 0.5 },
            noise: Some(NoiseSpec::Laplace { scale: 0.7 }),
            ..RunConfig::default()
        };
        let look = look(config);
        let person = look.person(Some(2)).unwrap();
        assert!((person.scale - 0.7).abs() < 1e-12 && (person.unit - 0.5).abs() < 1e-12, "{}", person.unit);
        let view = look.view(2).unwrap();
        for (scale, vector) in [(0.0, &look.trace.encoded), (0.7, &look.trace.noisy)] {
            let (shown, released) = (person.sum(false, scale), look.picture(&view, vector));
            assert!(norm(&minus(&shown, &released)) < 1e-4 * norm(&released), "{scale}");
        }
    }

    /// Scores of draws are standard normal; a shift adds the separation.
    #[test]
    fn scores_are_in_standard_deviations() {
        for noise in [
            NoiseSpec::Gaussian { sigma: 1.1 },
            NoiseSpec::Laplace { scale: 1.0 },
            NoiseSpec::Cauchy { scale: 1.0 },
            NoiseSpec::StudentT { nu: 5.0, scale: 1.0 },
        ] {
            let look = look(RunConfig { noise: Some(noise.clone()), ..RunConfig::default() });
            // After two steps of heavy noise, some gradients are exactly zero, and have no separation.
            let people: Vec<Contribution> = (0..look.lot.len())
                .map(|place| look.person(Some(place)).unwrap())
                .filter(|person| person.bounded > 0.0)
                .collect();
            let scores: Vec<f64> = people.iter().flat_map(|person| person.scores).collect();
            let square = scores.iter().map(|score| score * score).sum::<f64>() / scores.len() as f64;
            assert!(scores.len() > 60 && (0.3..2.5).contains(&square), "{noise:?}: {square}");
            let person = &people[0];
            let moved: f64 = person.separation(0.01) / person.separation(1.0);
            assert!((moved - 100.0).abs() < 1e-9);
        }
    }

    #[test]
    fn without_noise_the_difference_is_the_contribution() {
        for encoder in [EncoderSpec::None, EncoderSpec::Clip { norm: 1.0 }] {
            let look = look(RunConfig { encoder, noise: None, ..RunConfig::default() });
            let person = look.person(None).unwrap();
            assert_eq!((person.scale, person.difference(0.0)), (0.0, person.alone.clone()));
            assert!(person.shows(0.0) > 0.999, "{}", person.shows(0.0));
            // There is noise to draw, should the visitor ask for some.
            assert!(person.shows(5.0) < 0.3 && person.separation(0.0).is_infinite());
        }
    }

    /// Without noise, drawn units' vectors add up to the sum; each is what the rest lacks.
    #[test]
    fn units_that_share_a_vector_add_up_to_the_sum() {
        let users = Sharing::Users { users: 30, skew: 0.5, seed: 1 };
        for (sharing, lot) in [(Sharing::MicroBatches { size: 12 }, 120), (users, 8)] {
            let look = look_at(RunConfig { sharing, lot, noise: None, ..RunConfig::default() });
            let lot = look.lot();
            assert!(!lot.labels.is_empty() && lot.labels.len() <= lot.drawn as usize, "{sharing:?}");
            let people: Vec<Contribution> =
                (0..lot.labels.len()).map(|place| look.person(Some(place)).unwrap()).collect();
            for person in &people {
                assert!(person.bounded <= 1.0 && person.norm > 0.0, "{sharing:?}");
                assert!(norm(&person.alone) > 0.0 && person.layout.side == 28, "{sharing:?}");
            }
            let mut sum = look.trace.encoded.clone();
            for place in 0..people.len() {
                let (_, mut vector) = look.gradient(place).unwrap();
                look.task.prepared_encoder(sum.len()).unwrap().encode_on(look.task.sum_grid(), &mut vector);
                sum = minus(&sum, &vector);
            }
            assert!(norm(&sum) < 1e-4 * norm(&look.trace.encoded), "{sharing:?}: {}", norm(&sum));
            assert!(look.followed(0).is_none() && look.pull(0).is_none(), "no image has a vector of its own");
        }
    }

    /// A user of half of the images is not read by the plain reference, which would hold up the run.
    #[test]
    fn units_of_many_images_have_no_picture() {
        let users = Sharing::Users { users: 2, skew: 1.0, seed: 1 };
        let config = RunConfig { sharing: users, model: Architecture::CnnTanh, lot: 2, ..RunConfig::default() };
        let mut look = look_at(config);
        assert!(look.person(None).is_some(), "150 images of a small network are read");
        look.task.local.steps = 1000;
        assert!(!look.lot().labels.is_empty() && look.person(None).is_none() && look.person(Some(0)).is_none());
    }

    #[test]
    fn every_model_and_encoder_has_its_pictures() {
        let envelope = RunConfig {
            encoder: EncoderSpec::Envelope {
                shape: crate::mechanism::EnvelopeShape::Gaussian,
                vectors: 3,
                pre_scale: 1.0,
                seed: 0,
            },
            noise: Some(NoiseSpec::StudentT { nu: 9.0, scale: 1.0 }),
            ..RunConfig::default()
        };
        let runs = Architecture::ALL.map(|model| RunConfig { model, ..RunConfig::default() });
        let built = "avgpool 2, conv 4 3x3, relu, dense 10".parse().map(Architecture::Built).unwrap();
        for config in runs.into_iter().chain([envelope, RunConfig { model: built, ..RunConfig::default() }]) {
            let model = config.model;
            let person = look(config).person(Some(0)).unwrap();
            let PictureLayout { images, side, .. } = person.layout;
            assert!(side == 28 || model.features().is_some(), "{model}: of an image's size");
            for picture in [&person.alone, &person.sum, &person.draws[0], &person.draws[1]] {
                assert_eq!(picture.len(), images * side * side, "{model}");
                assert!(norm(picture) > 0.0, "{model}");
            }
            assert!(person.full(1.0) > person.full(0.0) && person.full_alone() > 0.0, "{model}");
            assert!(person.bounded <= 1.0 + 1e-9, "{model}: {}", person.bounded);
            assert!(person.shows(0.0) > 0.999 && person.shows(1e6) < 0.5, "{model}");
        }
    }

    /// A picture in colours is shown in one.
    #[test]
    fn an_image_in_colours_has_one_picture() {
        let model = "input 3x32x32, conv 4 5x5/2, tanh, dense 10".parse().map(Architecture::Built).unwrap();
        let train = synthetic::colour::dataset(1, 0, 60);
        let task = Task { encoder: EncoderSpec::Clip { norm: 1.0 }, ..Task::without_privacy(model) };
        let parameters = crate::model::initial_parameters(model, 1);
        let sums = parameters.clone();
        let trace = StepTrace { raw: sums.clone(), encoded: sums.clone(), noisy: sums.clone(), denoised: sums };
        let step = TracedStep { parameters, lot: vec![0, 1, 2], shifts: Shift::ALONE.to_vec(), trace };
        let look = StepInspection::new(1, &task, (&train, None), step, &mut NotPrivateReplay::new(7));
        let person = look.person(Some(1)).unwrap();
        assert_eq!((person.layout.images, person.layout.side, person.alone.len()), (1, 32, 32 * 32));
    }

    #[test]
    fn a_step_is_read_as_it_was_written() {
        let look = look(RunConfig::default());
        let (lot, person) = (look.lot(), look.person(None).unwrap());
        let text = text::write(3, &lot, Some(&person)).unwrap();
        let (step, lot_read, read) = text::read(&text).unwrap();
        assert_eq!((step, lot_read.drawn, &lot_read.labels, read.place), (3, lot.drawn, &lot.labels, person.place));
        assert!(lot_read.pixels.iter().zip(&lot.pixels).all(|(a, b)| a.abs_diff(*b) < 16));
        for (read, was) in [(&read.sum, &person.sum), (&read.alone, &person.alone), (&read.draws[1], &person.draws[1])]
        {
            let most = was.iter().fold(0f32, |most, value| most.max(value.abs()));
            assert!(read.iter().zip(was).all(|(a, b)| (a - b).abs() <= most / 200.0));
        }
        assert!((read.scores[0] - person.scores[0]).abs() < 1e-6 && (read.scale - person.scale).abs() < 1e-6);
        for cut in [0, 1, 30, text.len() / 2, text.len() - 10] {
            assert_eq!(text::read(&text[..cut]), None, "the first {cut} bytes");
        }
        assert_eq!(text::write(3, &lot, None), None);
    }

    /// What the page shows first: a step of its opening run.
    #[test]
    fn the_recorded_step_is_one_of_the_first_run() {
        let (step, lot, person) = text::read(include_str!("../../www/step.txt")).unwrap();
        assert!(step > 0 && lot.labels.len() == SHOWN && (400..650).contains(&lot.drawn), "{step} {}", lot.drawn);
        assert!((person.bounded - 1.0).abs() < 0.01, "its gradient is cut: {}", person.bounded);
        let digit: Vec<f32> = lot.digit(person.place as usize).iter().map(|&byte| f32::from(byte)).collect();
        assert!(cosine(&person.difference(0.0), &digit) > 0.9, "before the noise");
        assert!(cosine(&person.difference(person.scale), &digit).abs() < 0.25, "after it");
        assert!(person.scores.iter().all(|score| score.abs() < 2.0), "neither draw is a rare one");
    }

    #[test]
    fn an_empty_lot_has_no_person() {
        let mut look = look(RunConfig::default());
        (look.drawn, look.lot, look.examples) = (0, vec![], vec![]);
        assert_eq!((look.person(None), look.lot().drawn), (None, 0));
    }
}
