//! The scattering transform of an image (Bruna & Mallat 2013; J = 2 scales, L = 8 angles, orders 0 to 2), normalised by
//! groups (Tramèr & Boneh 2021) and kept as one byte a feature. No training example has a part in it: a linear model on
//! features is trained under privacy, and the features cost none.
//!
//! This is the definition, in f64 and in space, one loop a sum; `engine::cpu` computes the same by Fourier transforms.

use std::f64::consts::PI;

/// The image stands in the middle of a square of this side, whose opposite edges meet; its outermost pixels are blank in MNIST.
pub const SIDE: usize = 32;
/// Blank columns and rows before the image.
pub const MARGIN: usize = 2;
/// L, angles of a scale.
pub const ANGLES: usize = 8;
/// J, scales.
pub const SCALES: usize = 2;
/// Averages are read at 7×7 places, every fourth pixel of the square but the first.
pub const GRID: usize = 7;
/// Pixels from one of these places to the next.
pub const SPACING: usize = 4;
/// The mean, a first-order map for each scale and angle, a second-order map for each pair of angles.
pub const CHANNELS: usize = 1 + SCALES * ANGLES + ANGLES * ANGLES;
/// Numbers that describe an image: `[channel][row][column]`. Channels: 0; 1 + 8·scale + angle; 17 + 8·(first angle) + second.
pub const FEATURES: usize = CHANNELS * GRID * GRID;

/// Features that are normalised together, three channels: their mean and variance are one example's own.
pub const GROUP: usize = 3 * GRID * GRID;
/// Added to a group's variance.
pub const FLOOR: f64 = 1e-5;
/// A feature's byte is ⌊24·z + ½⌋ of its normalised value z, less its [`centre`], plus 128.
pub const STEPS: f64 = 24.0;
/// The byte of a feature that equals its [`centre`].
pub const ZERO: f64 = 128.0;
/// z is divided by this before it is a model's input: the features together then weigh about as much as the bias.
const WEIGHT: f32 = 16.0;

/// Each feature's mean over digits that the program draws, which are public, in steps; signed bytes.
const CENTRES: &[u8; FEATURES] = include_bytes!("scattering.centres");

/// What stands in the middle of a feature's bytes, in steps.
#[must_use]
pub const fn centre(feature: usize) -> i8 {
    CENTRES[feature] as i8
}

/// Standard deviation of the average's window, pixels.
const WINDOW: f64 = 0.8 * (1 << (SCALES - 1)) as f64;

/// A model's input from a feature's byte.
#[inline(always)]
#[must_use]
pub fn value(byte: u8) -> f32 {
    (f32::from(byte) - ZERO as f32) * (1.0 / (STEPS as f32 * WEIGHT))
}

/// exp(−(x² + slant²·y²)/2σ²)·exp(iξx), turned by the angle, in the square whose edges meet: `[row][column]`, (real, imaginary).
fn gabor(sigma: f64, angle: f64, frequency: f64) -> Vec<[f64; 2]> {
    const SLANT: f64 = 4.0 / ANGLES as f64;
    let (sin, cos) = angle.sin_cos();
    let mut values = vec![[0.0; 2]; SIDE * SIDE];
    for (i, value) in values.iter_mut().enumerate() {
        // Copies further away are below 1e-60.
        for (down, right) in (-2..=2).flat_map(|down| (-2..=2).map(move |right| (down, right))) {
            let place = |k: usize, turn: i32| k as f64 + f64::from(turn * SIDE as i32);
            let (y, x) = (place(i / SIDE, down), place(i % SIDE, right));
            let (along, across) = (cos * y + sin * x, SLANT * (cos * x - sin * y));
            let size = (-(along * along + across * across) / (2.0 * sigma * sigma)).exp();
            let (im, re) = (frequency * along).sin_cos();
            value[0] += size * re;
            value[1] += size * im;
        }
    }
    let scale = SLANT / (2.0 * PI * sigma * sigma);
    values.iter_mut().flatten().for_each(|v| *v *= scale);
    values
}

/// The Morlet wavelet of a scale (0 or 1) and an angle (below 8), of mean zero, around the origin.
#[must_use]
pub fn wavelet(scale: usize, angle: usize) -> Vec<[f64; 2]> {
    let size = f64::from(1u32 << scale);
    let (sigma, angle) = (0.8 * size, (3.0 - angle as f64) * PI / ANGLES as f64);
    let mut wave = gabor(sigma, angle, 0.75 * PI / size);
    let bump = gabor(sigma, angle, 0.0);
    let sum = |values: &[[f64; 2]], part: usize| values.iter().map(|v| v[part]).sum::<f64>();
    let total = sum(&bump, 0);
    let share = [sum(&wave, 0) / total, sum(&wave, 1) / total];
    for (wave, bump) in wave.iter_mut().zip(&bump) {
        wave[0] -= share[0] * bump[0];
        wave[1] -= share[1] * bump[0];
    }
    wave
}

/// The average's window along one axis, at `distance` pixels.
#[must_use]
pub fn window(distance: usize) -> f64 {
    let at = |x: f64| (-x * x / (2.0 * WINDOW * WINDOW)).exp() / ((2.0 * PI).sqrt() * WINDOW);
    (-2..=2).map(|turn: i32| at(distance as f64 + f64::from(turn * SIDE as i32))).sum()
}

/// |values ∗ wave| at every `step`-th place of both axes.
fn moduli(values: &[f64], wave: &[[f64; 2]], step: usize) -> Vec<f64> {
    let places = || (0..SIDE).step_by(step);
    let at = |y: usize, x: usize| {
        let mut sum = [0.0; 2];
        for (i, value) in values.iter().enumerate() {
            let away = |a: usize, b: usize| (a + SIDE - b) % SIDE;
            let [re, im] = wave[away(y, i / SIDE) * SIDE + away(x, i % SIDE)];
            sum[0] += value * re;
            sum[1] += value * im;
        }
        sum[0].hypot(sum[1])
    };
    places().flat_map(|y| places().map(move |x| (y, x))).map(|(y, x)| at(y, x)).collect()
}

/// Averages at the 7×7 places of values that stand at every `step`-th place.
fn averages(values: &[f64], step: usize, out: &mut [f64]) {
    let side = SIDE / step;
    for (k, out) in out.iter_mut().enumerate() {
        let (row, column) = (SPACING * (k / GRID + 1), SPACING * (k % GRID + 1));
        let weight = |at: usize, of: usize| step as f64 * window(at.abs_diff(of * step));
        *out = values.iter().enumerate().map(|(i, v)| v * weight(row, i / side) * weight(column, i % side)).sum();
    }
}

/// The coefficients before normalisation, `[channel][row][column]`, of an image of 28×28 pixels.
///
/// # Panics
/// When `image` has not 784 pixels.
#[must_use]
pub fn coefficients(image: &[f32]) -> Vec<f64> {
    assert_eq!(image.len(), super::PIXELS, "an image of 28×28 pixels");
    let mut square = vec![0.0; SIDE * SIDE];
    for (row, pixels) in image.chunks(28).enumerate() {
        for (column, &pixel) in pixels.iter().enumerate() {
            square[(row + MARGIN) * SIDE + column + MARGIN] = pixel.into();
        }
    }
    let mut out = vec![0.0; FEATURES];
    let mut channels: Vec<_> = out.chunks_mut(GRID * GRID).collect();
    averages(&square, 1, channels[0]);
    let coarse: Vec<_> = (0..ANGLES).map(|angle| wavelet(1, angle)).collect();
    for (first, wave) in coarse.iter().enumerate() {
        averages(&moduli(&square, wave, 2), 2, channels[1 + ANGLES + first]);
        let fine = moduli(&square, &wavelet(0, first), 1);
        averages(&fine, 1, channels[1 + first]);
        for (second, wave) in coarse.iter().enumerate() {
            averages(&moduli(&fine, wave, 2), 2, channels[17 + ANGLES * first + second]);
        }
    }
    out
}

/// Each group less its mean, divided by its standard deviation.
pub fn normalise(coefficients: &mut [f64]) {
    for group in coefficients.chunks_mut(GROUP) {
        let n = group.len() as f64;
        let mean = group.iter().sum::<f64>() / n;
        let variance = group.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let scale = (variance + FLOOR).sqrt();
        group.iter_mut().for_each(|v| *v = (*v - mean) / scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wavelets_have_no_mean_and_the_window_sums_to_one() {
        for (scale, angle) in (0..SCALES).flat_map(|scale| (0..ANGLES).map(move |angle| (scale, angle))) {
            let wave = wavelet(scale, angle);
            for part in 0..2 {
                assert!(wave.iter().map(|v| v[part]).sum::<f64>().abs() < 1e-12, "{scale} {angle}");
            }
            assert!(wave.iter().flatten().map(|v| v.abs()).sum::<f64>() > 0.1);
        }
        let total: f64 = (0..SIDE).map(window).sum();
        assert!((total - 1.0).abs() < 1e-6, "{total}");
    }

    /// A flat image has no waves; what is normalised has mean 0, and variance 1 where there is anything.
    #[test]
    fn coefficients_of_plain_images() {
        assert!(coefficients(&[0.0; 784]).iter().all(|&v| v == 0.0));
        let mut stripes: Vec<f32> = (0..784).map(|i| if i % 28 % 4 < 2 { 1.0 } else { 0.0 }).collect();
        stripes[..28].fill(0.0);
        let mut found = coefficients(&stripes);
        assert!(found.iter().all(|&v| (-1e-9..2.0).contains(&v)));
        // A period of four pixels across: of the finer scale the wave along x answers most, in the middle of the image.
        let middle = |channel: usize| found[channel * GRID * GRID + 24];
        let best = (0..ANGLES).max_by(|&a, &b| middle(1 + a).total_cmp(&middle(1 + b))).unwrap();
        let (_, cos) = ((3.0 - best as f64) * PI / 8.0).sin_cos();
        assert!(cos.abs() < 0.1, "angle {best}");
        normalise(&mut found);
        for group in found.chunks(GROUP) {
            let mean = group.iter().sum::<f64>() / GROUP as f64;
            let square = group.iter().map(|v| v * v).sum::<f64>() / GROUP as f64;
            assert!(mean.abs() < 1e-12 && square <= 1.0, "{mean} {square}");
        }
        let mut blank = vec![0.0; FEATURES];
        normalise(&mut blank);
        assert!(blank.iter().all(|&v| v == 0.0));
        assert_eq!(value(ZERO as u8), 0.0);
    }
}
