//! One step as one person in it sees it: the lot's digits, what one of them adds, and the sum with and without that one, before the noise and after.
//!
//! All of it looks at private data, and stays on the trainer's own screen.

use serde::{Deserialize, Serialize};

use super::snapshot::PictureLayout;
use crate::{
    data::{Dataset, Picture, Shift},
    engine::{
        StepTrace, Task,
        reference::{inputs, mean_gradient},
    },
    mechanism::{EncoderSpec, encode::finite_norm, noise::add_noise},
    model::{Architecture, PIXELS, reference},
    rng::RandomSource,
};

/// Multiplications of a network that reads all of them within a second, by the plain reference.
const MOST_WORK: u64 = 3_000_000;

/// Digits of a lot that are shown at most.
pub const SHOWN: usize = 40;

/// The digits of a step's lot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LotView {
    /// How many were drawn.
    pub drawn: u32,
    /// Labels of those that are shown, [`SHOWN`] at most.
    pub labels: Vec<u8>,
    /// What each image is.
    pub picture: Picture,
    /// Their pixels; of a digit 255 is ink.
    pub pixels: Vec<u8>,
}

impl LotView {
    /// The pixels of the digit at `place`.
    #[must_use]
    pub fn digit(&self, place: usize) -> &[u8] {
        let pixels = self.picture.pixels();
        self.pixels.get(place * pixels..(place + 1) * pixels).unwrap_or_default()
    }
}

/// A digit of the lot, and the length of its gradient before the bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pull {
    pub label: u8,
    /// As of [`Person::norm`].
    pub norm: f64,
    pub pixels: Vec<u8>,
}

/// What one image of the lot adds to the step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Person {
    /// Its place among the digits that are shown.
    pub place: u32,
    pub label: u8,
    /// L2 norm of its gradient, times the envelope's pre-scale where there is one; 0 where it was not finite.
    pub norm: f64,
    /// L2 norm of what is added to the sum.
    pub bounded: f64,
    /// What is added, as a picture ([`Person::layout`]).
    pub alone: Vec<f32>,
    /// The sum before the noise and after, with this image: this is what was released.
    pub with: [Vec<f32>; 2],
    /// The same without it. Its noise is drawn anew, as it would have been.
    pub without: [Vec<f32>; 2],
    /// Magnitude at which the colours of the sums are full.
    pub full: f64,
    pub model: Architecture,
}

impl Person {
    /// How the pictures are cut: of a linear model they are the weights of the image's own digit.
    #[must_use]
    pub fn layout(&self) -> PictureLayout {
        layout(self.model)
    }

    /// With it minus without it, before the noise (0) or after it (1).
    #[must_use]
    pub fn difference(&self, after: usize) -> Vec<f32> {
        self.with[after].iter().zip(&self.without[after]).map(|(with, without)| with - without).collect()
    }

    /// Cosine, in the picture, of what the image adds and of what is left of the release for who knows the sum of all others: 1 without noise.
    #[must_use]
    pub fn shows(&self) -> f64 {
        let adds = self.difference(0);
        let left: Vec<f32> = self.with[1].iter().zip(&self.without[0]).map(|(with, others)| with - others).collect();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        dot(&adds, &left) / (dot(&adds, &adds) * dot(&left, &left)).sqrt()
    }

    /// Magnitude at which the colours of differences are full: the largest that the image alone adds.
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

/// A step that can be looked at again, with another image in mind.
#[derive(Clone, Debug)]
pub struct LookedAt {
    pub step: u64,
    pub(super) task: Task,
    pub(super) train: Dataset,
    pub(super) lot: Vec<u32>,
    pub(super) shifts: Vec<Shift>,
    /// The parameters before the step.
    pub(super) before: Vec<f32>,
    trace: StepTrace,
    /// Key of the noise of a release that did not happen.
    key: [u32; 8],
}

impl LookedAt {
    /// The step number `step` of a run on `train`, whose parameters were `before`; `lot` and `shifts` as of [`StepInput`](crate::engine::StepInput).
    /// `rng` makes the noise of the sums without one image.
    #[must_use]
    pub fn new(
        step: u64,
        task: &Task,
        train: &Dataset,
        (lot, shifts): (&[u32], &[Shift]),
        before: Vec<f32>,
        trace: StepTrace,
        rng: &mut dyn RandomSource,
    ) -> Self {
        let key = std::array::from_fn(|_| rng.next_u32());
        let (task, train, lot, shifts) = (task.clone(), train.clone(), lot.to_vec(), shifts.to_vec());
        Self { step, task, train, lot, shifts, before, trace, key }
    }

    /// The lot's first digits.
    #[must_use]
    pub fn lot(&self) -> LotView {
        let shown = || self.lot.iter().take(SHOWN).map(|&i| i as usize);
        LotView {
            drawn: self.lot.len() as u32,
            labels: shown().map(|i| self.train.labels[i]).collect(),
            picture: self.train.picture,
            pixels: shown().flat_map(|i| self.train.image(i)).copied().collect(),
        }
    }

    /// Of the digits that are shown the one that the model reads worst, so that it pulls hard; 0 where telling takes long.
    fn hardest(&self) -> usize {
        let takes_long = match self.task.model {
            model if model.features().is_some() => true,
            Architecture::Built(list) => list.work() > MOST_WORK,
            _ => false,
        };
        if takes_long {
            return 0;
        }
        let likelihood = |place: usize| {
            let i = self.lot[place] as usize;
            let image = inputs(self.task.model, self.train.image(i));
            reference::probabilities(self.task.model, &self.before, &image)[usize::from(self.train.labels[i])]
        };
        (0..self.lot.len().min(SHOWN))
            .map(|place| (place, likelihood(place)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |least| least.0)
    }

    /// Label and gradient of the digit at `place`; `None`: there is none, or the parameters are another model's.
    fn gradient(&self, place: usize) -> Option<(u8, Vec<f32>)> {
        let example = *self.lot.get(place).filter(|_| place < SHOWN)? as usize;
        if self.before.len() != self.task.model.parameters() {
            return None;
        }
        let mut gradient = vec![0.0; self.before.len()];
        mean_gradient(self.task.model, &self.before, &self.train, example, &self.shifts, &mut gradient);
        Some((self.train.labels[example], gradient))
    }

    /// As of [`Person::norm`].
    fn norm(&self, gradient: &[f32]) -> f64 {
        let scale = match self.task.encoder {
            EncoderSpec::Envelope { pre_scale, .. } => pre_scale,
            _ => 1.0,
        };
        finite_norm(gradient).unwrap_or(0.0) * scale
    }

    /// The digit at `place`, and how hard it pulls; `None` after the last that is shown.
    #[must_use]
    pub fn pull(&self, place: usize) -> Option<Pull> {
        let (label, gradient) = self.gradient(place)?;
        let pixels = self.train.image(self.lot[place] as usize).to_vec();
        Some(Pull { label, norm: self.norm(&gradient), pixels })
    }

    /// What the digit at `place` adds, or the one that pulls hardest; `None`: there is none, or the trace is another model's.
    #[must_use]
    pub fn person(&self, place: Option<usize>) -> Option<Person> {
        let place = place.unwrap_or_else(|| self.hardest());
        let p = self.before.len();
        if [&self.trace.encoded, &self.trace.noisy].iter().any(|v| v.len() != p) {
            return None;
        }
        let (label, mut gradient) = self.gradient(place)?;
        let norm = self.norm(&gradient);
        // On the grid that sums are exact on, where there is one: then the difference is just what was added.
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
        Some(Person {
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

/// Bright, but not for a handful of outliers: the 98th percentile of magnitudes.
fn full_colour(values: &[f32]) -> f64 {
    let mut sizes: Vec<f32> = values.iter().map(|v| v.abs()).collect();
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    sizes.get(sizes.len() / 50).map_or(f64::MIN_POSITIVE, |&size| f64::from(size).max(f64::MIN_POSITIVE))
}

/// A step as a text, for what the page shows before there is a step of the visitor's own: numbers, labels, the digits with sixteen greys, and the pictures
/// in steps of a 127th of their largest magnitude.
pub mod text {
    use super::{Architecture, LotView, PIXELS, Person};

    /// Hexadecimal digits of a byte.
    fn hex(bytes: impl Iterator<Item = u8>) -> String {
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    /// A picture as two words: the bits of its largest magnitude, and a byte for each value.
    #[must_use]
    pub fn picture(values: &[f32]) -> String {
        let most = values.iter().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let byte = |value: &f32| ((value / most * 127.0).round() + 128.0) as u8;
        format!("{} {}", most.to_bits(), hex(values.iter().map(byte)))
    }

    /// The greys of hexadecimal digits.
    fn nibble(byte: u8) -> Option<u8> {
        (byte as char).to_digit(16).map(|digit| digit as u8)
    }

    /// Reads what [`picture`] wrote; `None`: it is none.
    #[must_use]
    pub fn read_picture(text: &str) -> Option<Vec<f32>> {
        let (most, bytes) = text.split_once(' ')?;
        let most = f32::from_bits(most.parse().ok()?);
        let value = |pair: &[u8]| Some((f32::from(nibble(pair[0])? * 16 + nibble(pair[1])?) - 128.0) / 127.0 * most);
        Some(bytes.as_bytes().chunks_exact(2).map_while(value).collect())
    }

    /// Writes a step of the linear model; `None` where it has no person.
    #[must_use]
    pub fn write(step: u64, lot: &LotView, person: Option<&Person>) -> Option<String> {
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

    /// Reads what [`write()`] wrote; `None`: it is no such text.
    #[must_use]
    pub fn read(text: &str) -> Option<(u64, LotView, Person)> {
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
        let person = Person {
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
        data::synthetic,
        engine::{Engine, Performance, cpu::CpuEngine},
        rng::NotPrivateReplay,
        train::{config::RunConfig, plan::Plan, session::Session},
    };

    /// The third step of a run on 300 digits.
    fn look(config: RunConfig) -> LookedAt {
        let train = synthetic::digits(1, 300, 1).train;
        let plan = Plan::new(RunConfig { lot: 60, ..config }, 300).unwrap();
        let engine =
            CpuEngine::new(plan.task.clone(), train.clone(), &plan.initial_parameters(), Performance::default())
                .unwrap();
        let mut session = Session::new(plan, engine).unwrap();
        block_on(session.step()).unwrap();
        block_on(session.step()).unwrap();
        let before = block_on(session.engine().state()).unwrap().parameters;
        let trace = block_on(session.traced_step()).unwrap();
        let task = session.plan().task.clone();
        LookedAt::new(3, &task, &train, session.drawn(), before, trace, &mut NotPrivateReplay::new(7))
    }

    fn norm(values: &[f32]) -> f64 {
        values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt()
    }

    /// Of the linear model a gradient's row is the image, times how far the answer is from right: that is the digit which the page shows.
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
            let apart: Vec<f32> = person.difference(0).iter().zip(&person.alone).map(|(a, b)| a - b).collect();
            assert!(norm(&apart) < 1e-5 * norm(&person.alone).max(1e-3), "place {place}: {}", norm(&apart));
        }
        assert_eq!(look.person(Some(SHOWN)), None);
    }

    /// After the noise the digit is drowned: what is left has the length of two draws of noise.
    #[test]
    fn after_the_noise_the_difference_is_noise() {
        let sigma = 1.1;
        let look = look(RunConfig { noise: Some(NoiseSpec::Gaussian { sigma }), ..RunConfig::default() });
        let person = look.person(None).unwrap();
        let left = norm(&person.difference(1)) / 28.0;
        let expected = sigma * 2f64.sqrt();
        assert!(person.shows().abs() < 0.15, "{}", person.shows());
        // 784 draws: their root mean square is within a tenth of it but once in 10^7 times.
        assert!((left / expected - 1.0).abs() < 0.14, "{left} for {expected}");
    }

    #[test]
    fn under_little_noise_the_digit_shows() {
        let noise = Some(NoiseSpec::Gaussian { sigma: 0.02 });
        let person = look(RunConfig { noise, ..RunConfig::default() }).person(None).unwrap();
        assert!(person.shows() > 0.3, "{}", person.shows());
    }

    #[test]
    fn without_noise_the_digit_is_there_to_the_end() {
        for encoder in [EncoderSpec::None, EncoderSpec::Clip { norm: 1.0 }] {
            let look = look(RunConfig { encoder, noise: None, ..RunConfig::default() });
            let person = look.person(None).unwrap();
            let apart: Vec<f32> = person.difference(1).iter().zip(&person.alone).map(|(a, b)| a - b).collect();
            // Sums of floats, in another order.
            assert!(norm(&apart) < 1e-4 * norm(&person.with[0]), "{} of {}", norm(&apart), norm(&person.with[0]));
            assert!(person.shows() > 0.999, "{}", person.shows());
        }
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

    /// What the page shows at first sight: a step of the run that it opens with.
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
    fn an_empty_lot_has_nobody() {
        let mut look = look(RunConfig::default());
        look.lot.clear();
        assert_eq!((look.person(None), look.lot().drawn), (None, 0));
    }
}
