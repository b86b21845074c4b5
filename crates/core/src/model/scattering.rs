//! The scattering transform of an image (Bruna & Mallat 2013; J = 2 scales, L = 8 angles, orders 0
//! to 2), group-normalised (Tramèr & Boneh 2021), at one byte per feature. It does not depend on
//! training examples, so features cost no privacy; only a linear model on them is trained. This is
//! the f64 reference in the spatial domain; `engine::cpu` uses Fourier transforms.
//!
//! Colour images are transformed per channel and averaged to 4×4 cells: 81·3·16 = 3,888 features,
//! like grey images, so that 50,000 fit in a browser tab. Tramèr & Boneh keep 8×8 cells for CIFAR.

use std::f64::consts::PI;

use crate::data::Picture;

/// Side of the periodic square in which images are centred; MNIST's outermost pixels are blank.
/// Larger images are first averaged over 2×2 pixels.
pub const SIDE: usize = 32;
/// L, the number of angles per scale.
pub const ANGLES: usize = 8;
/// J, the number of scales.
pub const SCALES: usize = 2;
/// Averages are taken on a 7×7 grid: every fourth pixel of the square except the first.
pub const GRID: usize = 7;
/// Pixels between grid points.
pub const SPACING: usize = 4;
/// Maps: the mean, one per scale and angle (first order), one per pair of angles (second).
pub const CHANNELS: usize = 1 + SCALES * ANGLES + ANGLES * ANGLES;
/// Number of features of a grey image, `[channel][row][column]`. Channels: 0; 1 + 8·scale + angle;
/// 17 + 8·(first angle) + second.
pub const FEATURES: usize = CHANNELS * GRID * GRID;
/// Weights that pool each row of 7 averages to 4 cells for colour images.
pub const POOL: [[f32; GRID]; 4] = {
    const THIRD: f32 = 1.0 / 3.0;
    [
        [2.0 * THIRD, THIRD, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.25, 0.5, 0.25, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.25, 0.5, 0.25, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, THIRD, 2.0 * THIRD],
    ]
};
/// Maps normalised together, by one example's own mean and variance.
const TOGETHER: usize = 3;
/// Added to a group's variance.
pub const FLOOR: f64 = 1e-5;
/// A feature's byte is ⌊24·z + ½⌋ − [`centre`] + 128, with z its normalised value.
pub const STEPS: f64 = 24.0;
/// The byte of a feature that equals its [`centre`].
pub const ZERO: f64 = 128.0;
/// Divisor of z for model inputs: all features then weigh about as much as the bias.
const WEIGHT: f32 = 16.0;

/// Mean of each feature over synthetic digits, which are public, in steps; signed bytes.
const CENTRES: &[u8; FEATURES] = include_bytes!("scattering.centres");
/// The same over synthetic colour images.
const COLOUR_CENTRES: &[u8; features(Picture { channels: 3, side: SIDE as u8 })] =
    include_bytes!("scattering_colour.centres");

/// Returns the side of a map, in cells, for such an image.
#[must_use]
pub const fn cells(picture: Picture) -> usize {
    if picture.channels == 1 { GRID } else { POOL.len() }
}

/// Returns the number of features, `[map][colour][row][column]`, maps ordered as in [`FEATURES`].
#[must_use]
pub const fn features(picture: Picture) -> usize {
    CHANNELS * picture.channels as usize * cells(picture) * cells(picture)
}

/// Returns the number of features normalised together: three maps of all colours.
#[must_use]
pub const fn group(picture: Picture) -> usize {
    TOGETHER * picture.channels as usize * cells(picture) * cells(picture)
}

/// Returns the centre of a feature's bytes for such an image, in steps.
///
/// # Panics
/// When `feature` is out of range.
#[must_use]
pub const fn centre(picture: Picture, feature: usize) -> i8 {
    if picture.channels == 1 { CENTRES[feature] as i8 } else { COLOUR_CENTRES[feature] as i8 }
}

/// Returns a channel's margin and side in the square, and the pixels each way averaged into one.
#[must_use]
pub const fn placed(picture: Picture) -> (usize, usize, usize) {
    let side = picture.side as usize;
    let every = if side > SIDE { 2 } else { 1 };
    let inner = side.div_ceil(every);
    ((SIDE - inner) / 2, inner, every)
}

/// Returns a pixel of a channel reduced by `every`; windows are cut at the image's edge.
#[inline(always)]
#[must_use]
pub fn reduced(channel: &[f32], side: usize, every: usize, row: usize, column: usize) -> f32 {
    if every == 1 {
        return channel[row * side + column];
    }
    let (mut sum, mut count) = (0.0, 0.0);
    for y in (row * every..side).take(every) {
        for x in (column * every..side).take(every) {
            sum += channel[y * side + x];
            count += 1.0;
        }
    }
    sum / count
}

/// Standard deviation of the averaging window in pixels.
const WINDOW: f64 = 0.8 * (1 << (SCALES - 1)) as f64;

/// Converts a feature's byte to a model input.
#[inline(always)]
#[must_use]
pub fn value(byte: u8) -> f32 {
    (f32::from(byte) - ZERO as f32) * (1.0 / (STEPS as f32 * WEIGHT))
}

/// exp(−(x² + slant²·y²)/2σ²)·exp(iξx), rotated and periodic: `[row][column]`, (real, imaginary).
fn gabor(sigma: f64, angle: f64, frequency: f64) -> Vec<[f64; 2]> {
    const SLANT: f64 = 4.0 / ANGLES as f64;
    let (sin, cos) = angle.sin_cos();
    let mut values = vec![[0.0; 2]; SIDE * SIDE];
    for (i, value) in values.iter_mut().enumerate() {
        // Periodic copies further away are below 1e-60.
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

/// Returns the zero-mean Morlet wavelet of a scale (0 or 1) and angle (below 8), at the origin.
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

/// Returns the averaging window along one axis, at `distance` pixels.
#[must_use]
pub fn window(distance: usize) -> f64 {
    let at = |x: f64| (-x * x / (2.0 * WINDOW * WINDOW)).exp() / ((2.0 * PI).sqrt() * WINDOW);
    (-2..=2).map(|turn: i32| at(distance as f64 + f64::from(turn * SIDE as i32))).sum()
}

/// |values ∗ wave| at every `step`-th position of both axes.
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

/// Averages at the 7×7 grid points of values given at every `step`-th position.
fn averages(values: &[f64], step: usize, out: &mut [f64]) {
    let side = SIDE / step;
    for (k, out) in out.iter_mut().enumerate() {
        let (row, column) = (SPACING * (k / GRID + 1), SPACING * (k % GRID + 1));
        let weight = |at: usize, of: usize| step as f64 * window(at.abs_diff(of * step));
        *out = values.iter().enumerate().map(|(i, v)| v * weight(row, i / side) * weight(column, i % side)).sum();
    }
}

/// Returns unnormalised coefficients, `[map][colour][row][column]`, of channel-major pixels.
///
/// # Panics
/// When `image` does not have the picture's number of pixels.
#[must_use]
pub fn coefficients(picture: Picture, image: &[f32]) -> Vec<f64> {
    assert_eq!(image.len(), picture.pixels(), "pixels of such an image");
    let (colours, cells) = (usize::from(picture.channels), cells(picture).pow(2));
    let mut out = vec![0.0; features(picture)];
    for (colour, channel) in image.chunks(image.len() / colours).enumerate() {
        for (map, averages) in maps(picture, channel).chunks(GRID * GRID).enumerate() {
            let kept = &mut out[(map * colours + colour) * cells..][..cells];
            if colours == 1 { kept.copy_from_slice(averages) } else { pool(averages, kept) }
        }
    }
    out
}

/// Pools the 7×7 averages of a colour image.
fn pool(averages: &[f64], out: &mut [f64]) {
    for (k, out) in out.iter_mut().enumerate() {
        let (down, across) = (&POOL[k / POOL.len()], &POOL[k % POOL.len()]);
        let weight = |i: usize| f64::from(down[i / GRID]) * f64::from(across[i % GRID]);
        *out = averages.iter().enumerate().map(|(i, average)| average * weight(i)).sum();
    }
}

/// Computes the 7×7 averages of each map of a channel.
fn maps(picture: Picture, channel: &[f32]) -> Vec<f64> {
    let mut square = vec![0.0; SIDE * SIDE];
    let (margin, inner, every) = placed(picture);
    for (row, column) in (0..inner).flat_map(|row| (0..inner).map(move |column| (row, column))) {
        let value = reduced(channel, picture.side.into(), every, row, column);
        square[(row + margin) * SIDE + column + margin] = value.into();
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

/// Normalises each group by its mean and standard deviation.
pub fn normalise(picture: Picture, coefficients: &mut [f64]) {
    for group in coefficients.chunks_mut(group(picture)) {
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

    /// Flat images have no waves; normalised values have mean 0, and variance 1 unless all equal.
    #[test]
    fn coefficients_of_plain_images() {
        let coefficients = |image: &[f32]| super::coefficients(Picture::DIGIT, image);
        assert!(coefficients(&[0.0; 784]).iter().all(|&v| v == 0.0));
        let mut stripes: Vec<f32> = (0..784).map(|i| if i % 28 % 4 < 2 { 1.0 } else { 0.0 }).collect();
        stripes[..28].fill(0.0);
        let mut found = coefficients(&stripes);
        assert!(found.iter().all(|&v| (-1e-9..2.0).contains(&v)));
        // The period is four pixels, so the finer wave along x is strongest at the image's middle.
        let middle = |channel: usize| found[channel * GRID * GRID + 24];
        let best = (0..ANGLES).max_by(|&a, &b| middle(1 + a).total_cmp(&middle(1 + b))).unwrap();
        let (_, cos) = ((3.0 - best as f64) * PI / 8.0).sin_cos();
        assert!(cos.abs() < 0.1, "angle {best}");
        normalise(Picture::DIGIT, &mut found);
        standard(Picture::DIGIT, &found);
        let mut blank = vec![0.0; FEATURES];
        normalise(Picture::DIGIT, &mut blank);
        assert!(blank.iter().all(|&v| v == 0.0));
        assert_eq!(value(ZERO as u8), 0.0);
    }

    fn standard(picture: Picture, normalised: &[f64]) {
        for group in normalised.chunks(group(picture)) {
            let n = group.len() as f64;
            let (mean, square) = (group.iter().sum::<f64>() / n, group.iter().map(|v| v * v).sum::<f64>() / n);
            assert!(mean.abs() < 1e-12 && square <= 1.0, "{mean} {square}");
        }
    }

    /// Colours have a grey image's maps, pooled from 3,969 to 1,296 by weights that sum to one.
    #[test]
    fn colours_are_transformed_one_by_one() {
        for row in POOL {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
        let picture = Picture { channels: 3, side: 32 };
        let channel = |colour: usize| -> Vec<f32> {
            (0..1024).map(|i| ((i * (7 + colour) + i / 32 * 5) % 17) as f32 / 17.0).collect()
        };
        let image: Vec<f32> = (0..3).flat_map(channel).collect();
        let mut found = coefficients(picture, &image);
        assert_eq!(found.len(), 3_888);
        for colour in 0..3 {
            let alone = coefficients(Picture { channels: 1, side: 32 }, &channel(colour));
            for map in 0..CHANNELS {
                let averages = &alone[map * 49..][..49];
                let kept = &found[(map * 3 + colour) * 16..][..16];
                let corner = (4.0 * averages[0] + 2.0 * (averages[1] + averages[7]) + averages[8]) / 9.0;
                assert!((kept[0] - corner).abs() < 1e-6, "{map} {colour}");
            }
        }
        normalise(picture, &mut found);
        standard(picture, &found);
    }

    /// Images of every size fit the square; larger ones are averaged, in cut windows at odd edges.
    #[test]
    fn images_of_every_size_have_features() {
        for side in 1..=64 {
            let (margin, inner, every) = placed(Picture { channels: 1, side });
            assert!(margin + inner <= SIDE && inner * every >= usize::from(side) && (SIDE - inner) / 2 == margin);
        }
        let side = 33;
        let image: Vec<f32> = (0..side * side).map(|i| i as f32).collect();
        let at = |row, column| reduced(&image, side, 2, row, column);
        assert_eq!(at(0, 0), (0.0 + 1.0 + 33.0 + 34.0) / 4.0);
        assert_eq!(at(0, 16), (32.0 + 65.0) / 2.0);
        assert_eq!(at(16, 16), (side * side - 1) as f32);
    }
}
