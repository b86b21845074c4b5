//! Synthetic digits, any number of them, drawn by the program without a download.
//!
//! A digit is a skeleton (`skeletons.rs`) whose control points are jittered, joined by smooth
//! curves, bent by a slow warp, rotated, slanted and stretched, drawn with a pen of its own width,
//! scaled into MNIST's 20×20 box and placed by its centre of mass in 28×28. Skeletons and spreads
//! were set by hand from MNIST's training images; no pixel of them is included.
//!
//! Example `i` of seed `s` has a random stream of its own, so any range can be drawn, in any order,
//! on any machine, to the same bytes: all arithmetic is IEEE f32 and `libm`.

pub mod colour;
mod pen;
mod skeletons;

use super::{Dataset, Digits, Images, Picture, Source, TestSet, coin::mixed, idx::PIXELS};
use crate::rng::NotPrivateReplay;
use hushgrad_message::word;
use pen::Page;
use rand::rand_core::Rng;
use skeletons::{ASPECT, STEADINESS, STYLES, Style};

/// Name shown on the page.
pub const NAME: &str = word!("synthetic digits");
/// Index of a seed's first test example, far beyond any training example.
pub const TEST_START: u64 = 1 << 40;

/// Returns `train` training and `test` test examples of `seed`. Images are drawn on demand; 60,000
/// take a few seconds on one core.
#[must_use]
pub fn digits(seed: u64, train: usize, test: usize) -> Digits {
    Digits {
        train: dataset(seed, 0, train),
        test: dataset(seed, TEST_START, test),
        source: Source::Synthetic,
        test_set: TestSet::Public,
        notes: vec![],
    }
}

/// Public images of this size and number of classes, from [`digits`] or [`colour::images`], if any.
#[must_use]
pub fn like(picture: Picture, classes: usize, seed: u64, train: usize, test: usize) -> Option<Digits> {
    match (picture, classes) {
        (Picture::DIGIT, 10) => Some(digits(seed, train, test)),
        (colour::PICTURE, 10) => Some(colour::images(seed, train, test)),
        _ => None,
    }
}

/// Examples `start..start + len` of `seed`, drawn on demand.
#[must_use]
pub fn dataset(seed: u64, start: u64, len: usize) -> Dataset {
    let labels: Vec<u8> = (start..).take(len).map(|index| ExampleRng::new(seed, index).below(10) as u8).collect();
    let draw = |seed, index, image: &mut [u8]| fill(seed, index, image, &mut [0]);
    Dataset::new(NAME, Images::drawn(draw, seed, start, len, PIXELS), labels)
}

/// Draws examples `start..start + labels.len()` of `seed`: `images` (784 bytes each) and `labels`.
///
/// If `images` and `labels` differ in length, the smaller number is drawn.
pub fn fill(seed: u64, start: u64, images: &mut [u8], labels: &mut [u8]) {
    let mut page = Page::new();
    for ((image, label), index) in images.chunks_exact_mut(PIXELS).zip(labels).zip(start..) {
        let mut chance = ExampleRng::new(seed, index);
        *label = chance.below(10) as u8;
        write(&mut page, &mut chance, *label);
        page.place(image);
    }
}

/// An example's random stream.
struct ExampleRng(NotPrivateReplay);

impl ExampleRng {
    fn new(seed: u64, index: u64) -> Self {
        Self(NotPrivateReplay::new(mix(mix(seed) ^ index)))
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 * (1.0 / (1 << 24) as f32)
    }

    fn below(&mut self, n: u32) -> u32 {
        self.0.below(n)
    }

    /// Bell-shaped, with mean 0 and variance 1, within ±3.
    fn bell(&mut self) -> f32 {
        2.0 * (self.unit() + self.unit() + self.unit() - 1.5)
    }
}

/// Mixes a word: a step of SplitMix64 (Steele, Lea & Flood 2014), a bijection of the 64-bit words.
const fn mix(word: u64) -> u64 {
    mixed(word.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// Mean standard deviation of a control point's jitter, in units of the skeleton.
const JITTER: f32 = 0.064;
/// Mean slant (x per unit of height, to the right) and its standard deviation.
const SLANT: (f32, f32) = (0.18, 0.33);
/// Standard deviation of the rotation, radians.
const ROTATION: f32 = 0.12;
/// Standard deviation of the slow warp's amplitudes, in units of the digit's height.
const WARP: f32 = 0.05;
/// Standard deviation of the taper, the relative difference between the widths of top and bottom.
const TAPER: f32 = 0.25;
/// Standard deviation of the waist, the vertical shift of the middle, in units of the height.
const WAIST: f32 = 0.085;
/// Pen radius in pixels of the 20×20 box: median, and standard deviation of its logarithm.
const RADIUS: (f32, f32) = (1.22, 0.36);

fn write(page: &mut Page, chance: &mut ExampleRng, label: u8) {
    let digit = usize::from(label);
    let style = pick(chance, STYLES[digit]);
    let (aspect, spread) = ASPECT[digit];
    let width = aspect * libm::expf(spread * chance.bell());
    let slant = SLANT.0 + SLANT.1 * chance.bell();
    let (sin, cos) = libm::sincosf(ROTATION * chance.bell());
    let warp = Warp::new(chance);
    let (taper, waist) = (TAPER * chance.bell(), WAIST * chance.bell());
    // Some hands shake more than others.
    let jitter = JITTER * STEADINESS[digit] * (0.4 + 1.2 * chance.unit());

    let radius = RADIUS.0 * libm::expf(RADIUS.1 * chance.bell());
    page.begin(radius, 0.15 * chance.unit(), 6.0 * chance.unit());
    for stroke in style.strokes {
        let mut points = [(0.0, 0.0); MOST_POINTS];
        let mut previous = None;
        for (place, &(x, y)) in points.iter_mut().zip(*stroke) {
            // A corner is a point given twice; both copies move together.
            if let Some((given, moved)) = previous
                && given == (x, y)
            {
                *place = moved;
                continue;
            }
            let (u, v) = (x + jitter * chance.bell(), y + jitter * chance.bell());
            let (u, v) = ((u - 0.5) * width, v - 0.5);
            // The ends stay; the middle moves.
            let (u, v) = (u * (1.0 + taper * v), v + waist * (1.0 - 4.0 * v * v));
            let (u, v) = warp.bend(u, v);
            let u = u - slant * v;
            let moved = (cos * u - sin * v, sin * u + cos * v);
            previous = Some(((x, y), moved));
            *place = moved;
        }
        page.stroke(&points[..stroke.len().min(MOST_POINTS)]);
    }
}

/// Most control points of a stroke.
const MOST_POINTS: usize = 12;

fn pick(chance: &mut ExampleRng, styles: &'static [Style]) -> &'static Style {
    let total: f32 = styles.iter().map(|style| style.weight).sum();
    let mut left = total * chance.unit();
    styles
        .iter()
        .find(|style| {
            left -= style.weight;
            left < 0.0
        })
        .unwrap_or(&styles[0])
}

/// A slow bend of the page: per coordinate, one wave along each axis.
struct Warp([(f32, f32, f32); 4]);

impl Warp {
    fn new(chance: &mut ExampleRng) -> Self {
        Self(std::array::from_fn(|_| {
            (WARP * chance.bell(), 2.0 + 4.0 * chance.unit(), std::f32::consts::TAU * chance.unit())
        }))
    }

    fn bend(&self, x: f32, y: f32) -> (f32, f32) {
        let wave = |i: usize, at: f32| {
            let (amplitude, frequency, phase) = self.0[i];
            amplitude * libm::sinf(frequency * at + phase)
        };
        (x + wave(0, x) + wave(1, y), y + wave(2, x) + wave(3, y))
    }
}
