//! Public maps from an image to features inside the unit ball, with a bias. Features are whole
//! numbers of a grid, so sums of products and the bounds on them are exact.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use super::error::FunctionalError;
use crate::{
    accounting::noise::NoiseSpec,
    data::{Dataset, Images},
    engine::cpu,
    model::{
        PIXELS,
        features::FeatureMap,
        scattering::{ANGLES, FEATURES, GRID, SCALES, value},
    },
    rng::NotPrivateReplay,
};

/// Grid steps per unit length.
pub const UNIT: i32 = 1 << 12;
/// Length of feature vectors in grid steps, inside the ball after rounding towards 0.
const AIM: f32 = (UNIT - 1) as f32;
const COSINES: usize = 1000;
/// Frequencies' standard deviation per pixel value. Chosen on drawn digits (`docs/methods.md`).
const FREQUENCY: f64 = 0.5;
/// The seed of their frequencies: public.
const SEED: u64 = 2017;
/// Side of an image, and of one averaged over 2 × 2 pixels.
const SIDE: usize = 28;
const HALF: usize = SIDE / 2;
/// The bias as a share of the length, in each ball. Chosen on drawn digits.
const BIAS_L2: f32 = 0.3;
const BIAS_L1: f32 = 0.1;
/// Number of images whose scattering features are computed together.
const TOGETHER: usize = 16;
/// Scattering features of order 0 and 1.
const FIRST_ORDER: usize = (1 + SCALES * ANGLES) * GRID * GRID;

/// The choice of map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// 14 × 14 means of four pixels.
    Pixels14,
    /// 28 × 28 pixels.
    Pixels28,
    /// A thousand cosines of random, public directions of the 14 × 14 means (Rahimi & Recht 2007).
    Cosines,
    /// The scattering transform's first two orders.
    Scattering,
}

/// The norm in which an image's features are bounded by 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ball {
    /// The Euclidean norm, for Gaussian noise.
    L2,
    /// The sum of magnitudes, for Laplace noise.
    L1,
}

/// A feature map with its parameters.
#[derive(Clone, Debug)]
pub struct Map {
    features: Features,
    ball: Ball,
    /// Frequencies in turns, `[pixel][cosine]`, and phases.
    frequencies: Vec<f32>,
    phases: Vec<f32>,
    /// Factor on each feature before the length is bounded: 1/α of joint clipping. Empty: all 1.
    pub(super) scales: Vec<f32>,
}

/// Working memory of a map.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    means: Vec<f32>,
    raw: Vec<f32>,
    /// Scattering features of the set's images from `first` on, computed together.
    scattered: Vec<u8>,
    first: usize,
    /// The set's images.
    of: Option<Images>,
}

impl Features {
    /// All maps, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Pixels14, Self::Pixels28, Self::Cosines, Self::Scattering];

    /// Returns the name used in links and options.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Pixels14 => "pixels-14",
            Self::Pixels28 => "pixels-28",
            Self::Cosines => "cosines",
            Self::Scattering => "scattering",
        }
    }

    /// Returns the map with this [`key`](Self::key).
    #[must_use]
    pub fn by_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|features| features.key() == key)
    }

    /// Returns d, the number of features with the bias.
    #[must_use]
    pub const fn dimension(self) -> usize {
        1 + match self {
            Self::Pixels14 => HALF * HALF,
            Self::Pixels28 => PIXELS,
            Self::Cosines => COSINES,
            Self::Scattering => FIRST_ORDER,
        }
    }
}

impl Map {
    /// Creates the map, without factors on the features.
    #[must_use]
    pub fn new(features: Features, ball: Ball) -> Self {
        let (mut frequencies, mut phases) = (Vec::new(), Vec::new());
        if features == Features::Cosines {
            let mut rng = NotPrivateReplay::new(SEED);
            let normal = NoiseSpec::Gaussian { sigma: FREQUENCY / (2.0 * PI) }.build();
            if let Ok(normal) = normal {
                frequencies.extend((0..HALF * HALF * COSINES).map(|_| normal.sample(&mut rng) as f32));
            }
            phases.extend((0..COSINES).map(|_| rng.below(1 << 16) as f32 / 65_536.0));
        }
        Self { features, ball, frequencies, phases, scales: Vec::new() }
    }

    /// Returns d; the bias is the last feature.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.features.dimension()
    }

    /// Returns the choice of map.
    #[must_use]
    pub const fn features(&self) -> Features {
        self.features
    }

    /// Returns the ball that bounds the features.
    #[must_use]
    pub const fn ball(&self) -> Ball {
        self.ball
    }

    /// Writes φ of an image, in the ball, to `out` of length [`dimension`](Self::dimension).
    ///
    /// # Errors
    /// An image without 784 pixels from 0 to 1.
    pub fn write(&self, pixels: &[f32], scratch: &mut Scratch, out: &mut [i16]) -> Result<(), FunctionalError> {
        if pixels.len() != PIXELS {
            return Err(FunctionalError::Size(pixels.len()));
        }
        if let Some(place) = pixels.iter().position(|pixel| !(0.0..=1.0).contains(pixel)) {
            return Err(FunctionalError::Pixel { place, value: pixels[place] });
        }
        self.raw(pixels, scratch);
        self.bound(&mut scratch.raw, out);
        Ok(())
    }

    /// Scales features of any length into the ball.
    fn bound(&self, raw: &mut [f32], out: &mut [i16]) {
        raw.iter_mut().zip(&self.scales).for_each(|(feature, scale)| *feature *= scale);
        let (length, share, rest) = match self.ball {
            Ball::L2 => (raw.iter().map(|x| x * x).sum::<f32>().sqrt(), BIAS_L2, (1.0 - BIAS_L2 * BIAS_L2).sqrt()),
            Ball::L1 => (raw.iter().map(|x| x.abs()).sum::<f32>(), BIAS_L1, 1.0 - BIAS_L1),
        };
        // Of a blank image, or one too long for f32, only the bias remains.
        let factor = if length > f32::MIN_POSITIVE && length.is_finite() { AIM * rest / length } else { 0.0 };
        if let Some((bias, others)) = out.split_last_mut() {
            others.iter_mut().zip(raw.iter()).for_each(|(out, x)| *out = (x * factor) as i16);
            *bias = (AIM * share) as i16;
        }
        // It is inside by construction; otherwise it must add nothing.
        if !self.is_inside(out) {
            out.fill(0);
        }
    }

    /// The same for an image of a set.
    ///
    /// # Errors
    /// As [`write`](Self::write): never, as bytes are pixels.
    pub fn write_image(
        &self,
        data: &Dataset,
        image: usize,
        scratch: &mut Scratch,
        out: &mut [i16],
    ) -> Result<(), FunctionalError> {
        if self.features == Features::Scattering {
            let known = scratch.first..scratch.first + scratch.scattered.len() / FEATURES;
            let same = scratch.of.as_ref().is_some_and(|of| of.same(&data.images));
            if !(same && known.contains(&image)) {
                let images = data.slice(image..(image + TOGETHER).min(data.len()));
                let pixels: Vec<f32> = images.images.iter().map(pixel).collect();
                (scratch.scattered, scratch.first) = (cpu::features(FeatureMap::DIGITS, &pixels), image);
                scratch.of = Some(data.images.clone());
            }
            let start = (image - scratch.first) * FEATURES;
            scratch.raw.clear();
            scratch.raw.extend(scratch.scattered[start..start + FIRST_ORDER].iter().map(|byte| value(*byte)));
            self.bound(&mut scratch.raw, out);
            return Ok(());
        }
        let mut pixels = [0.0; PIXELS];
        pixels.iter_mut().zip(data.image(image)).for_each(|(to, byte)| *to = pixel(byte));
        self.write(&pixels, scratch, out)
    }

    /// True if φ is inside the ball, in whole numbers.
    #[must_use]
    pub fn is_inside(&self, phi: &[i16]) -> bool {
        match self.ball {
            Ball::L2 => phi.iter().map(|x| i64::from(*x).pow(2)).sum::<i64>() <= i64::from(UNIT).pow(2),
            Ball::L1 => phi.iter().map(|x| i64::from(*x).abs()).sum::<i64>() <= i64::from(UNIT),
        }
    }

    fn raw(&self, pixels: &[f32], Scratch { means, raw, .. }: &mut Scratch) {
        raw.clear();
        match self.features {
            Features::Pixels28 => raw.extend_from_slice(pixels),
            Features::Pixels14 => halved(pixels, raw),
            Features::Scattering => {
                raw.extend(cpu::features(FeatureMap::DIGITS, pixels)[..FIRST_ORDER].iter().map(|byte| value(*byte)));
            }
            Features::Cosines => {
                means.clear();
                halved(pixels, means);
                raw.extend_from_slice(&self.phases);
                for (pixel, frequencies) in means.iter().zip(self.frequencies.chunks_exact(COSINES)) {
                    if *pixel > 0.0 {
                        raw.iter_mut().zip(frequencies).for_each(|(turns, frequency)| *turns += pixel * frequency);
                    }
                }
                raw.iter_mut().for_each(|turns| *turns = cosine_of_turns(*turns));
            }
        }
    }
}

fn pixel(byte: &u8) -> f32 {
    f32::from(*byte) / 255.0
}

/// Appends the means of 2 × 2 pixels.
fn halved(pixels: &[f32], means: &mut Vec<f32>) {
    for rows in pixels.chunks_exact(2 * SIDE) {
        let (upper, lower) = rows.split_at(SIDE);
        means.extend((0..HALF).map(|x| 0.25 * (upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1])));
    }
}

/// cos(2πx) to 4 places, by range reduction and a polynomial: 1 − 2 sin²(πr).
fn cosine_of_turns(x: f32) -> f32 {
    /// Adding and subtracting it rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let r = x - ((x + ROUND) - ROUND);
    let angle = std::f32::consts::PI * r;
    let square = angle * angle;
    let sine =
        angle * (1.0 + square * (-1.0 / 6.0 + square * (1.0 / 120.0 + square * (-1.0 / 5040.0 + square / 362_880.0))));
    1.0 - 2.0 * sine * sine
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cosines_are_cosines() {
        for i in -4000..4000 {
            let x = i as f32 / 777.0;
            let want = (2.0 * PI * f64::from(x)).cos();
            assert!((f64::from(cosine_of_turns(x)) - want).abs() < 1e-4, "{x}");
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let map = Map::new(Features::Pixels14, Ball::L2);
        let mut out = vec![0; map.dimension()];
        let mut write = |pixels: &[f32]| map.write(pixels, &mut Scratch::default(), &mut out);
        assert!(matches!(write(&[0.0; 783]), Err(FunctionalError::Size(783))));
        for wrong in [f32::NAN, f32::INFINITY, -0.1, 1.5] {
            let mut pixels = [0.0; PIXELS];
            pixels[40] = wrong;
            assert!(matches!(write(&pixels), Err(FunctionalError::Pixel { place: 40, .. })), "{wrong}");
        }
    }

    /// In any order, and for sets of any size.
    #[test]
    fn images_computed_together_have_the_features_of_each() {
        let data = crate::data::synthetic::dataset(4, 0, 40);
        let map = Map::new(Features::Scattering, Ball::L2);
        let (mut one, mut other) = (vec![0; map.dimension()], vec![0; map.dimension()]);
        let mut scratch = Scratch::default();
        for image in [0, 15, 16, 39, 3, 38] {
            let pixels: Vec<f32> = data.image(image).iter().map(pixel).collect();
            map.write_image(&data, image, &mut scratch, &mut one).unwrap();
            map.write(&pixels, &mut Scratch::default(), &mut other).unwrap();
            assert_eq!(one, other, "{image}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// For any image and any scales, with the bias.
        #[test]
        fn features_are_inside_their_ball(
            pixels in prop::collection::vec(prop_oneof![Just(0.0_f32), Just(1.0), 0.0_f32..1.0, 0.0_f32..1e-30], PIXELS), l1: bool,
            scale in prop_oneof![Just(1.0_f32), 1e-20_f32..1e20],
        ) {
            for features in Features::ALL {
                let mut map = Map::new(features, if l1 { Ball::L1 } else { Ball::L2 });
                map.scales = vec![scale; map.dimension() - 1];
                let mut phi = vec![0; map.dimension()];
                map.write(&pixels, &mut Scratch::default(), &mut phi).unwrap();
                prop_assert!(map.is_inside(&phi));
                // Nearly all of the ball is used, so that noise drowns no more than necessary.
                let length: f64 = match map.ball() {
                    Ball::L2 => phi.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt(),
                    Ball::L1 => phi.iter().map(|x| f64::from(*x).abs()).sum(),
                };
                if !l1 && (1e-3..1e3).contains(&scale) && pixels.iter().sum::<f32>() > 1.0 {
                    prop_assert!(length > 0.98 * f64::from(UNIT), "{features:?} {length}");
                }
            }
        }
    }
}
