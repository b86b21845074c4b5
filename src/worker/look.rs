//! One step as seen by one of its examples: the lot's digits, the contribution of one, and the sum
//! with and without it, before and after the noise. Micro-batches and users are shown by their
//! first example, and contribute the vector that their examples share.
//!
//! All of it is private, and stays on the trainer's own screen.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::snapshot::PictureLayout;
use crate::{
    data::{Dataset, Picture, Shift, sharing::Units},
    engine::{
        StepTrace, Task,
        reference::{inputs, mean_gradient, shared_vector},
    },
    mechanism::{EncoderSpec, encode::finite_norm, noise::add_noise},
    model::{Architecture, PIXELS, layers::LayerList, reference},
    rng::RandomSource,
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

/// The contribution of one image of the lot to the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// Its place among the digits shown.
    pub place: u32,
    pub label: u8,
    /// L2 norm of its gradient, times any pre-scale of the envelope; 0 if it was not finite.
    pub norm: f64,
    /// L2 norm of its contribution to the sum.
    pub bounded: f64,
    /// Its contribution, as a picture ([`Contribution::layout`]).
    pub alone: Vec<f32>,
    /// The sum before and after the noise, with this image; the latter was released.
    pub with: [Vec<f32>; 2],
    /// The same without it, with fresh noise, as it would have been.
    pub without: [Vec<f32>; 2],
    /// Magnitude at which the colours of the sums are full.
    pub full: f64,
    pub model: Architecture,
}

impl Contribution {
    /// Returns the layout of the pictures: for a linear model, the weights of the image's class.
    #[must_use]
    pub fn layout(&self) -> PictureLayout {
        layout(self.model)
    }

    /// Returns the sum with it minus that without, before the noise (0) or after it (1).
    #[must_use]
    pub fn difference(&self, after: usize) -> Vec<f32> {
        self.with[after].iter().zip(&self.without[after]).map(|(with, without)| with - without).collect()
    }

    /// Returns the cosine, in the picture, of the contribution and of the release minus the sum of
    /// all others: 1 without noise.
    #[must_use]
    pub fn shows(&self) -> f64 {
        let adds = self.difference(0);
        let left: Vec<f32> = self.with[1].iter().zip(&self.without[0]).map(|(with, others)| with - others).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        dot(&adds, &left) / (dot(&adds, &adds) * dot(&left, &left)).sqrt()
    }

    /// Returns the magnitude of full colour in differences: the largest of the contribution.
    #[must_use]
    pub fn full_alone(&self) -> f64 {
        self.alone.iter().map(|v| f64::from(v.abs())).fold(f64::MIN_POSITIVE, f64::max)
    }
}

fn layout(model: Architecture) -> PictureLayout {
    match model {
        Architecture::Linear => PictureLayout { images: 1, side: 28, columns: 1 },
        _ => PictureLayout::of(model),
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
    /// Key of the noise of a release that did not happen.
    key: [u32; 8],
    /// Multiplications to read one image; fixed features count as [`MOST_WORK`] more.
    work: u64,
}

impl StepInspection {
    /// Step `step` of a run on `train`, from parameters `before`; `lot` and `shifts` as in
    /// [`StepInput`](crate::engine::StepInput). `rng` draws the noise of sums without one unit.
    #[must_use]
    pub fn new(
        step: u64,
        task: &Task,
        (train, units): (&Dataset, Option<Rc<Units>>),
        (lot, shifts): (&[u32], &[Shift]),
        before: Vec<f32>,
        trace: StepTrace,
        rng: &mut dyn RandomSource,
    ) -> Self {
        let key = std::array::from_fn(|_| rng.next_u32());
        let first = |&drawn: &u32| match &units {
            Some(units) => units.members(drawn).first().map(|&example| (drawn, example)),
            None => Some((drawn, drawn)),
        };
        let drawn = lot.len() as u32;
        let (lot, examples) = lot.iter().filter_map(first).take(SHOWN).unzip();
        let layers = task.model.written().parse().map_or(u64::MAX, |list: LayerList| list.work());
        let work = if task.model.features().is_some() { layers.saturating_add(MOST_WORK) } else { layers };
        let (task, train, shifts) = (task.clone(), train.clone(), shifts.to_vec());
        Self { step, task, train, drawn, lot, examples, units, shifts, before, trace, key, work }
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
        let sum: Vec<f64> =
            self.trace.encoded.iter().zip(&gradient).map(|(&with, &one)| f64::from(with) - f64::from(one)).collect();
        let mut released: Vec<f32> = sum.iter().map(|&v| v as f32).collect();
        if let Some(noise) =
            self.task.noise_of(&self.trace.noisy, &self.trace.encoded).and_then(|noise| noise.build().ok())
        {
            add_noise(&self.key, noise.as_ref(), &sum, &mut released);
        }
        let cut = |values: &[f32]| -> Vec<f32> {
            let layout = layout(self.task.model);
            let one = layout.side * layout.side;
            let first = if self.task.model == Architecture::Linear { usize::from(label) * one } else { 0 };
            values[first..first + layout.images * one].to_vec()
        };
        let with = [cut(&self.trace.encoded), cut(&self.trace.noisy)];
        let sum: Vec<f32> = sum.iter().map(|&v| v as f32).collect();
        let full = full_colour(&with[1]).max(full_colour(&with[0]));
        Some(Contribution {
            place: place as u32,
            label,
            norm,
            bounded,
            alone: cut(&gradient),
            with,
            without: [cut(&sum), cut(&released)],
            full,
            model: self.task.model,
        })
    }
}

/// Returns the 98th percentile of magnitudes, at which colours are full, to ignore outliers.
fn full_colour(values: &[f32]) -> f64 {
    let mut sizes: Vec<f32> = values.iter().map(|v| v.abs()).collect();
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    sizes.get(sizes.len() / 50).map_or(f64::MIN_POSITIVE, |&size| f64::from(size).max(f64::MIN_POSITIVE))
}

/// A step as text, shown before the visitor's own first step: numbers, labels, digits in sixteen
/// greys, and pictures in steps of 1/127 of their largest magnitude.
pub mod text {
    use super::{Architecture, Contribution, LotView, PIXELS};

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

    /// Formats a step of the linear model; `None` without such a person.
    #[must_use]
    pub fn write(step: u64, lot: &LotView, person: Option<&Contribution>) -> Option<String> {
        let person = person.filter(|person| person.model == Architecture::Linear)?;
        let bits = |value: f64| (value as f32).to_bits().to_string();
        let head = [
            step.to_string(),
            lot.drawn.to_string(),
            person.place.to_string(),
            bits(person.norm),
            bits(person.bounded),
            bits(person.full),
        ];
        let labels: String = lot.labels.iter().map(u8::to_string).collect();
        let digits =
            lot.pixels.chunks(PIXELS).map(|digit| digit.iter().map(|byte| format!("{:x}", byte >> 4)).collect());
        let [with, without] = [&person.with, &person.without];
        let pictures = [&person.alone, &with[0], &with[1], &without[0], &without[1]].map(|values| picture(values));
        let lines: Vec<String> = [head.join(" "), labels].into_iter().chain(digits).chain(pictures).collect();
        Some(lines.join("\n") + "\n")
    }

    /// Parses the output of [`write()`].
    #[must_use]
    pub fn read(text: &str) -> Option<(u64, LotView, Contribution)> {
        let mut lines = text.lines();
        let head: Vec<u32> = lines.next()?.split(' ').map_while(|word| word.parse().ok()).collect();
        let &[step, drawn, place, norm, bounded, full] = head.as_slice() else { return None };
        let labels: Vec<u8> = lines.next()?.bytes().map(|digit| digit.wrapping_sub(b'0')).collect();
        let mut pixels = Vec::with_capacity(labels.len() * PIXELS);
        for _ in &labels {
            pixels.extend(lines.next()?.bytes().map_while(nibble).map(|grey| grey * 17));
        }
        let mut picture = || read_picture(lines.next()?).filter(|values| values.len() == PIXELS);
        let [alone, sum, released, sum_without, released_without] =
            [picture()?, picture()?, picture()?, picture()?, picture()?];
        let number = |bits: u32| f64::from(f32::from_bits(bits));
        let label =
            *labels.get(place as usize).filter(|label| **label < 10 && pixels.len() == labels.len() * PIXELS)?;
        let person = Contribution {
            place,
            label,
            norm: number(norm),
            bounded: number(bounded),
            alone,
            with: [sum, released],
            without: [sum_without, released_without],
            full: number(full),
            model: Architecture::Linear,
        };
        Some((step.into(), LotView { drawn, labels, picture: crate::data::Picture::DIGIT, pixels }, person))
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::{
        accounting::noise::NoiseSpec,
        data::{sharing::Sharing, synthetic},
        engine::{Engine, Performance, cpu::CpuEngine},
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
        StepInspection::new(3, &task, (&train, units), session.drawn(), before, trace, &mut NotPrivateReplay::new(7))
    }

    fn minus(a: &[f32], b: &[f32]) -> Vec<f32> {
        a.iter().zip(b).map(|(a, b)| a - b).collect()
    }

    fn norm(values: &[f32]) -> f64 {
        values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
    }

    /// A row of the linear model's gradient is the image times the error; the page shows one.
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
            for picture in [&person.difference(0), &person.alone] {
                let product: f64 = picture.iter().zip(&image).map(|(a, b)| f64::from(a * b)).sum();
                let cosine = product / norm(picture) / norm(&image);
                assert!(cosine < -0.999, "place {place}: cosine {cosine}");
            }
            let apart = minus(&person.difference(0), &person.alone);
            assert!(norm(&apart) < 1e-5 * norm(&person.alone).max(1e-3), "place {place}: {}", norm(&apart));
        }
        assert_eq!(look.person(Some(SHOWN)), None);
    }

    /// After the noise, the difference is about two draws of noise.
    #[test]
    fn after_the_noise_the_difference_is_noise() {
        let sigma = 1.1;
        let look = look(RunConfig { noise: Some(NoiseSpec::Gaussian { sigma }), ..RunConfig::default() });
        let person = look.person(None).unwrap();
        let left = norm(&person.difference(1)) / 28.0;
        let expected = sigma * 2f64.sqrt();
        assert!(person.shows().abs() < 0.15, "{}", person.shows());
        // The root mean square of 784 draws is within 14 %, except once in 10^7 times.
        assert!((left / expected - 1.0).abs() < 0.14, "{left} for {expected}");
    }

    #[test]
    fn under_little_noise_the_digit_shows() {
        let noise = Some(NoiseSpec::Gaussian { sigma: 0.02 });
        let person = look(RunConfig { noise, ..RunConfig::default() }).person(None).unwrap();
        assert!(person.shows() > 0.3, "{}", person.shows());
    }

    #[test]
    fn without_noise_the_difference_is_the_contribution() {
        for encoder in [EncoderSpec::None, EncoderSpec::Clip { norm: 1.0 }] {
            let look = look(RunConfig { encoder, noise: None, ..RunConfig::default() });
            let person = look.person(None).unwrap();
            let apart = minus(&person.difference(1), &person.alone);
            // Sums of floats in another order.
            assert!(norm(&apart) < 1e-4 * norm(&person.with[0]), "{} of {}", norm(&apart), norm(&person.with[0]));
            assert!(person.shows() > 0.999, "{}", person.shows());
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
            let row = |label: u8| usize::from(label) * PIXELS..(usize::from(label) + 1) * PIXELS;
            for person in &people {
                assert!(person.bounded <= 1.0 && person.norm > 0.0, "{sharing:?}");
                let apart = minus(&person.difference(0), &person.alone);
                assert!(norm(&apart) < 1e-4 * norm(&person.with[0]), "{sharing:?}: {}", norm(&apart));
            }
            let mut sum = look.trace.encoded.clone();
            for place in 0..people.len() {
                let (_, mut vector) = look.gradient(place).unwrap();
                look.task.prepared_encoder(sum.len()).unwrap().encode_on(look.task.sum_grid(), &mut vector);
                sum = minus(&sum, &vector);
            }
            assert!(norm(&sum) < 1e-4 * norm(&look.trace.encoded), "{sharing:?}: {}", norm(&sum));
            assert_eq!(people[0].with[0], look.trace.encoded[row(people[0].label)], "{sharing:?}");
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
        for config in runs.into_iter().chain([envelope]) {
            let model = config.model;
            let person = look(config).person(Some(0)).unwrap();
            let layout = person.layout();
            for picture in [&person.alone, &person.with[0], &person.with[1], &person.without[0], &person.without[1]] {
                assert_eq!(picture.len(), layout.images * layout.side * layout.side, "{model:?}");
            }
            assert!(person.full > 0.0 && person.full_alone() > 0.0);
            assert!(person.bounded <= 1.0 + 1e-9, "{model:?}: {}", person.bounded);
        }
    }

    #[test]
    fn a_step_is_read_as_it_was_written() {
        let look = look(RunConfig::default());
        let (lot, person) = (look.lot(), look.person(None).unwrap());
        let text = text::write(3, &lot, Some(&person)).unwrap();
        let (step, lot_read, read) = text::read(&text).unwrap();
        assert_eq!((step, lot_read.drawn, &lot_read.labels, read.place), (3, lot.drawn, &lot.labels, person.place));
        assert!(lot_read.pixels.iter().zip(&lot.pixels).all(|(a, b)| a.abs_diff(*b) < 16));
        for (read, was) in read.with.iter().zip(&person.with) {
            let most = was.iter().fold(0f32, |most, value| most.max(value.abs()));
            assert!(read.iter().zip(was).all(|(a, b)| (a - b).abs() <= most / 200.0));
        }
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
        let cosine = |picture: &[f32]| {
            let product: f64 = picture.iter().zip(&digit).map(|(a, b)| f64::from(a * b)).sum();
            product / norm(picture) / norm(&digit)
        };
        assert!(cosine(&person.difference(0)) < -0.9, "before the noise: {}", cosine(&person.difference(0)));
        assert!(cosine(&person.difference(1)).abs() < 0.25, "after it: {}", cosine(&person.difference(1)));
    }

    #[test]
    fn an_empty_lot_has_no_person() {
        let mut look = look(RunConfig::default());
        (look.drawn, look.lot, look.examples) = (0, vec![], vec![]);
        assert_eq!((look.person(None), look.lot().drawn), (None, 0));
    }
}
