//! Distorts synthetic digits for pre-training, so that the model also reads handwriting unlike the
//! generator's skeletons. Affine and elastic distortions of Simard, Steinkraus & Platt 2003.

use hushgrad::{data::Dataset, model::PIXELS, rng::NotPrivateReplay};
use rand::rand_core::Rng;

/// Standard deviation of the rotation, in radians.
const ROTATION: f32 = 0.1;
/// Standard deviation of the log scale along each axis (`SCALE`), and of the shear.
const SCALE: f32 = 0.08;
const SHEAR: f32 = 0.1;
/// Standard deviation of the shift along each axis, in pixels.
const SHIFT: f32 = 0.5;
/// Standard deviation of the displacement of the knots of a `CELLS`×`CELLS` grid, in pixels.
const BEND: f32 = 1.0;
const CELLS: usize = 4;
/// Standard deviation of the share by which a stroke swells to its neighbours' ink, or thins.
const SWELL: f32 = 0.3;
/// Largest blur (share of the mean of the four neighbours), and largest darkening of ink.
const BLUR: f32 = 0.3;
const DARKEN: f32 = 0.3;

const SIDE: usize = 28;
const KNOTS: usize = CELLS + 1;

/// Returns `digits`, each with its own random distortion.
pub fn distorted(digits: &Dataset, seed: u64) -> Dataset {
    let mut chance = Chance(NotPrivateReplay::new(seed));
    let images: Vec<u8> = (0..digits.len()).flat_map(|i| distort(digits.image(i), &mut chance)).collect();
    Dataset::new(&digits.name, images, digits.labels.clone())
}

struct Chance(NotPrivateReplay);

impl Chance {
    /// Uniform in [0, 1).
    fn unit(&mut self) -> f32 {
        (self.0.next_u32() >> 8) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// A sum of three uniforms with mean 0 and variance 1, within ±3.
    fn bell(&mut self) -> f32 {
        2.0 * (self.unit() + self.unit() + self.unit() - 1.5)
    }
}

fn distort(image: &[u8], chance: &mut Chance) -> [u8; PIXELS] {
    let ink = Picture(std::array::from_fn(|i| f32::from(image[i])));
    let ink = swell(&ink, SWELL * chance.bell());
    let ink = bend(&ink, &Field::new(chance));
    let (blur, gain) = (BLUR * chance.unit(), 1.0 + DARKEN * chance.unit());
    std::array::from_fn(|i| {
        let (x, y) = ((i % SIDE) as i32, (i / SIDE) as i32);
        let around = ink.neighbours(x, y).iter().sum::<f32>() / 4.0;
        ((ink.0[i] * (1.0 - blur) + around * blur) * gain).clamp(0.0, 255.0) as u8
    })
}

/// Ink of 28×28 pixels; 0 outside.
struct Picture([f32; PIXELS]);

impl Picture {
    fn at(&self, x: i32, y: i32) -> f32 {
        let inside = |v: i32| (0..SIDE as i32).contains(&v);
        if inside(x) && inside(y) { self.0[y as usize * SIDE + x as usize] } else { 0.0 }
    }

    fn neighbours(&self, x: i32, y: i32) -> [f32; 4] {
        [self.at(x - 1, y), self.at(x + 1, y), self.at(x, y - 1), self.at(x, y + 1)]
    }

    /// Interpolates bilinearly between pixels.
    fn between(&self, x: f32, y: f32) -> f32 {
        let (left, top) = (x.floor(), y.floor());
        let (i, j) = (left as i32, top as i32);
        let across = |j| mix(self.at(i, j), self.at(i + 1, j), x - left);
        mix(across(j), across(j + 1), y - top)
    }
}

fn mix(a: f32, b: f32, share: f32) -> f32 {
    a * (1.0 - share) + b * share
}

/// Moves each pixel by `share` towards its darkest neighbour, or by −`share` towards its lightest.
fn swell(ink: &Picture, share: f32) -> Picture {
    let choose = if share > 0.0 { f32::max } else { f32::min };
    Picture(std::array::from_fn(|i| {
        let goal = ink.neighbours((i % SIDE) as i32, (i / SIDE) as i32).into_iter().fold(ink.0[i], choose);
        mix(ink.0[i], goal, share.abs().min(1.0))
    }))
}

/// The source position of each pixel's ink.
struct Field {
    /// Rows of the linear part, each followed by its shift.
    affine: [[f32; 3]; 2],
    knots: [[[f32; 2]; KNOTS]; KNOTS],
}

impl Field {
    fn new(chance: &mut Chance) -> Self {
        let (sin, cos) = (ROTATION * chance.bell()).sin_cos();
        let (wide, high) = ((SCALE * chance.bell()).exp(), (SCALE * chance.bell()).exp());
        let shear = SHEAR * chance.bell();
        let affine =
            [[wide * cos, shear - wide * sin, SHIFT * chance.bell()], [high * sin, high * cos, SHIFT * chance.bell()]];
        let knots = std::array::from_fn(|_| std::array::from_fn(|_| [BEND * chance.bell(), BEND * chance.bell()]));
        Self { affine, knots }
    }

    fn source(&self, x: usize, y: usize) -> [f32; 2] {
        const MIDDLE: f32 = (SIDE - 1) as f32 / 2.0;
        // The cell, and a smooth step through it.
        let place = |v: usize| {
            let along = v as f32 * CELLS as f32 / SIDE as f32;
            let t = along.fract();
            (along as usize, t * t * (3.0 - 2.0 * t))
        };
        let ((i, across), (j, down)) = (place(x), place(y));
        let (u, v) = (x as f32 - MIDDLE, y as f32 - MIDDLE);
        std::array::from_fn(|axis| {
            let knot = |i: usize, j: usize| self.knots[j][i][axis];
            let bent =
                mix(mix(knot(i, j), knot(i + 1, j), across), mix(knot(i, j + 1), knot(i + 1, j + 1), across), down);
            let [a, b, shift] = self.affine[axis];
            MIDDLE + a * u + b * v + shift + bent
        })
    }
}

fn bend(ink: &Picture, field: &Field) -> Picture {
    Picture(std::array::from_fn(|i| {
        let [x, y] = field.source(i % SIDE, i / SIDE);
        ink.between(x, y)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushgrad::data::synthetic;

    #[test]
    fn digits_are_distorted_repeatably_and_stay_digits() {
        let digits = synthetic::dataset(1, 0, 200);
        let once = distorted(&digits, 7);
        assert_eq!(once, distorted(&digits, 7));
        assert_ne!(once.images, distorted(&digits, 8).images);
        assert_eq!(once.labels, digits.labels);
        let ink = |data: &Dataset, i: usize| data.image(i).iter().map(|&v| f64::from(v)).sum::<f64>();
        for i in 0..digits.len() {
            assert_ne!(once.image(i), digits.image(i), "{i}");
            let share = ink(&once, i) / ink(&digits, i);
            assert!((0.3..3.0).contains(&share), "{i}: {share}");
        }
    }

    #[test]
    fn identity_field_changes_nothing() {
        let rest = Field { affine: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], knots: [[[0.0; 2]; KNOTS]; KNOTS] };
        let ink = Picture(std::array::from_fn(|i| (i * 7 % 256) as f32));
        assert_eq!(bend(&ink, &rest).0, ink.0);
        assert_eq!(swell(&ink, 0.0).0, ink.0);
        let right = Field { affine: [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], ..rest };
        assert_eq!(bend(&ink, &right).at(5, 6), ink.at(6, 6));
    }
}
