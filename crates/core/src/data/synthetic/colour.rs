//! Synthetic colour images, 32×32 pixels, of ten classes: shapes and textures over a dead-leaves
//! background. Public by construction; no photograph is included.
//!
//! The background is the dead-leaves model (Matheron 1968; Lee, Mumford & Huang 2001): overlapping
//! discs of random size and colour, with statistics near those of photographs. On it lies one shape
//! or a round piece of texture, turned, moved and scaled, in a contrasting colour. Linear models
//! classify about half of them, convolutions most.
//!
//! Image `i` of seed `s` has a random stream of its own, as a digit has (`synthetic`).

use super::{ExampleRng, TEST_START};
use crate::data::{Classes, Dataset, Digits, Images, Picture, Source, TestSet};
use hushgrad_message::word;

/// Name shown on the page.
pub const NAME: &str = word!("colour shapes");
/// Size of the images.
pub const PICTURE: Picture = Picture { channels: 3, side: SIDE as u8 };
/// Names of the classes.
pub const CLASSES: [&str; 10] =
    ["disc", "square", "triangle", "ring", "cross", "star", "moon", "stripes", "checks", "dots"];

const SIDE: usize = 32;
/// Samples per pixel, each way.
const FINE: usize = 2;
/// Discs of a background.
const LEAVES: usize = 10;
/// Least difference of a shape's colour from the ground's, summed over three channels in [0, 1].
const CONTRAST: f32 = 0.8;

/// Standard deviation of a class's colours: as in photographs, colour tells the class only in part.
const SPREAD: f32 = 0.36;
/// Standard deviation of a shape's rotation, in radians.
const TURN: f32 = 0.4;
/// Range of a shape's offset, relative to the free space.
const ROOM: f32 = 0.6;

type Colour = [f32; 3];

/// Returns `train` training images and `test` test images of `seed`.
#[must_use]
pub fn images(seed: u64, train: usize, test: usize) -> Digits {
    Digits {
        train: dataset(seed, 0, train),
        test: dataset(seed, TEST_START, test),
        source: Source::Colour,
        test_set: TestSet::Public,
        notes: vec![],
    }
}

/// Images `start..start + len` of `seed`, drawn on demand.
#[must_use]
pub fn dataset(seed: u64, start: u64, len: usize) -> Dataset {
    let labels: Vec<u8> = (start..).take(len).map(|index| begin(seed, index).1).collect();
    let draw = |seed, index, image: &mut [u8]| {
        let (mut chance, class) = begin(seed, index);
        Scene::new(&mut chance, class).draw(&mut chance, image);
    };
    let images = Images::drawn(draw, seed, start, len, PICTURE.pixels());
    // Ten distinct names, which are accepted.
    let classes = Classes::named(&CLASSES).unwrap_or(const { Classes::digits() });
    Dataset::of(NAME, PICTURE, classes, images, labels)
}

/// Begins an image's stream, distinct from that of the digit of this index, and draws its class.
fn begin(seed: u64, index: u64) -> (ExampleRng, u8) {
    let mut chance = ExampleRng::new(seed ^ u64::from_be_bytes(*b"colours."), index);
    let class = chance.below(CLASSES.len() as u32) as u8;
    (chance, class)
}

struct Leaf {
    at: (f32, f32),
    radius: f32,
    colour: Colour,
}

/// The contents of an image, whose centre is (0, 0) and whose edges are at ±1.
struct Scene {
    leaves: [Leaf; LEAVES],
    ground: Colour,
    class: u8,
    /// Colours of the shape or texture.
    colours: [Colour; 2],
    at: (f32, f32),
    size: f32,
    /// Sine and cosine of the rotation.
    turn: (f32, f32),
    /// Periods of a texture from centre to edge.
    period: f32,
    /// Increase of brightness to the right and downwards.
    light: (f32, f32),
}

impl Scene {
    fn new(chance: &mut ExampleRng, class: u8) -> Self {
        let ground = near(chance, usual(class, 0.55));
        // Leaves look alike: all are near the ground's colour.
        let leaves = std::array::from_fn(|_| Leaf {
            at: (2.4 * chance.unit() - 1.2, 2.4 * chance.unit() - 1.2),
            // The density of the radii falls like r⁻³.
            radius: 0.16 / libm::sqrtf(0.03 + 0.97 * chance.unit()),
            colour: ground.map(|channel| (channel + 0.22 * chance.bell()).clamp(0.0, 1.0)),
        });
        let first = apart(near(chance, usual(class, 0.05)), ground);
        let second = apart(colour(chance), first);
        let size = if class >= 7 { 0.6 + 0.4 * chance.unit() } else { 0.42 + 0.38 * chance.unit() };
        let room = ROOM * (1.0 - 0.8 * size);
        Self {
            leaves,
            ground,
            class,
            colours: [first, second],
            at: (room * (2.0 * chance.unit() - 1.0), room * (2.0 * chance.unit() - 1.0)),
            size,
            turn: libm::sincosf(TURN * chance.bell()),
            period: 1.5 + 1.5 * chance.unit(),
            light: (0.12 * chance.bell(), 0.12 * chance.bell()),
        }
    }

    fn draw(&self, chance: &mut ExampleRng, image: &mut [u8]) {
        let place = |pixel: usize, part: usize| (2 * (pixel * FINE + part) + 1) as f32 / (SIDE * FINE) as f32 - 1.0;
        let area = SIDE * SIDE;
        for pixel in 0..area {
            let (row, column) = (pixel / SIDE, pixel % SIDE);
            let mut sum = [0.0; 3];
            for part in 0..FINE * FINE {
                let point = (place(column, part % FINE), place(row, part / FINE));
                let seen = self.shape(point).unwrap_or_else(|| self.background(point));
                sum.iter_mut().zip(seen).for_each(|(sum, channel)| *sum += channel);
            }
            let light = self.light.0 * place(column, 0) + self.light.1 * place(row, 0);
            for (channel, sum) in sum.into_iter().enumerate() {
                let value = sum / (FINE * FINE) as f32 + light + 0.03 * chance.bell();
                image[channel * area + pixel] = (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
            }
        }
    }

    fn background(&self, (x, y): (f32, f32)) -> Colour {
        let covers = |leaf: &&Leaf| {
            let (dx, dy) = (x - leaf.at.0, y - leaf.at.1);
            dx * dx + dy * dy < leaf.radius * leaf.radius
        };
        self.leaves.iter().find(covers).map_or(self.ground, |leaf| leaf.colour)
    }

    /// The colour of the shape at a point, if it covers it.
    fn shape(&self, (x, y): (f32, f32)) -> Option<Colour> {
        let (u, v) = ((x - self.at.0) / self.size, (y - self.at.1) / self.size);
        let (sin, cos) = self.turn;
        let (u, v) = (cos * u - sin * v, sin * u + cos * v);
        let square = u * u + v * v;
        if square > 2.0 {
            return None;
        }
        let wave = |at: f32| libm::floorf(at * self.period) as i32 & 1;
        let inside = match self.class {
            0 => square < 0.8,
            1 => u.abs().max(v.abs()) < 0.8,
            // Centred at its centroid.
            2 => v < 0.5 && v > 1.732 * u.abs() - 1.0,
            3 => (0.36..1.0).contains(&square),
            4 => u.abs().min(v.abs()) < 0.27 && u.abs().max(v.abs()) < 0.95,
            5 => star(u, v),
            6 => square < 0.9 && (u - 0.55) * (u - 0.55) + v * v > 0.5,
            _ => square < 1.0,
        };
        let second = match self.class {
            7 => wave(2.0 * u),
            8 => wave(2.0 * u) ^ wave(2.0 * v),
            9 => {
                let within = |at: f32| at * self.period - libm::floorf(at * self.period) - 0.5;
                let (a, b) = (within(u), within(v));
                i32::from(a * a + b * b < 0.11)
            }
            _ => 0,
        };
        inside.then_some(self.colours[second as usize])
    }
}

/// True inside a five-pointed star that points upwards.
fn star(u: f32, v: f32) -> bool {
    // A point of the pentagon lies in all five half-planes, a point of a tip in four.
    let within = |k: i32| {
        let (sin, cos) = libm::sincosf(std::f32::consts::TAU * (k as f32) / 5.0);
        u * sin + v * cos < 0.36
    };
    (0..5).filter(|&k| within(k)).count() >= 4 && u * u + v * v < 1.2
}

fn colour(chance: &mut ExampleRng) -> Colour {
    std::array::from_fn(|_| chance.unit())
}

/// A class's mean colour: the class's hue, advanced by `turn` of the colour circle.
fn usual(class: u8, turn: f32) -> Colour {
    let turn = f32::from(class) / CLASSES.len() as f32 + turn;
    std::array::from_fn(|channel| 0.5 + 0.4 * libm::cosf(std::f32::consts::TAU * (turn - channel as f32 / 3.0)))
}

fn near(chance: &mut ExampleRng, colour: Colour) -> Colour {
    colour.map(|channel| (channel + SPREAD * chance.bell()).clamp(0.0, 1.0))
}

/// `drawn`, or another colour if that is too near to `from`.
fn apart(drawn: Colour, from: Colour) -> Colour {
    let distance: f32 = drawn.iter().zip(from).map(|(a, b)| (a - b).abs()).sum();
    // Half the range away in every channel.
    if distance > CONTRAST {
        drawn
    } else {
        from.map(|channel| if channel > 0.5 { channel - 0.5 } else { channel + 0.5 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_the_same_in_any_order_and_on_every_machine() {
        let all = dataset(3, 0, 40);
        assert_eq!(dataset(3, 17, 5), all.slice(17..22));
        assert_ne!(dataset(4, 0, 40), all);
        assert_eq!(all.picture, PICTURE);
        assert_eq!(all.digest(), "11e903abfd2f81e099bd52cceeeeb4ce3e8f0e7f1795e9ede4e2a3ad4c47fe0a");
    }

    #[test]
    fn all_classes_come_equally_often() {
        let set = dataset(1, 0, 2_000);
        for class in 0..10 {
            let count = set.labels.iter().filter(|&&label| label == class).count();
            // Standard deviation 13.4.
            assert!((140..260).contains(&count), "{class}: {count}");
        }
        assert_eq!(set.classes.name(3), "ring");
    }
}
