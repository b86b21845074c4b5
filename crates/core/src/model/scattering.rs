//! The scattering transform of an image (Bruna & Mallat 2013; J = 2 scales, L = 8 angles, orders 0 to 2), normalised by
//! groups (Tramèr & Boneh 2021) and kept as one byte a feature. No training example has a part in it: a linear model on
//! features is trained under privacy, and the features cost none.
//!
//! Of images with colours each channel is transformed by itself, and its maps are averaged to 4×4 cells: 81·3·16 = 3,888 features, as many as a grey
//! image has, so that those of 50,000 images fit a tab. Tramèr & Boneh keep 8×8 cells of CIFAR's images.
//!
//! This is the definition, in f64 and in space, one loop a sum; `engine::cpu` computes the same by Fourier transforms.

use std::f64::consts::PI;

use crate::data::Picture;

/// The image stands in the middle of a square of this side, whose opposite edges meet; its outermost pixels are blank in MNIST. Of an image that is
/// larger, every 2×2 pixels are averaged before.
pub const SIDE: usize = 32;
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
/// Numbers that describe a grey image: `[channel][row][column]`. Channels: 0; 1 + 8·scale + angle; 17 + 8·(first angle) + second.
pub const FEATURES: usize = CHANNELS * GRID * GRID;
/// Of each row of 7 averages, what an image with colours keeps: 4, from the averages around every second.
pub const POOL: [[f32; GRID]; 4] = {
    const THIRD: f32 = 1.0 / 3.0;
    [
        [2.0 * THIRD, THIRD, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.25, 0.5, 0.25, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.25, 0.5, 0.25, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, THIRD, 2.0 * THIRD],
    ]
};
/// Maps that are normalised together: their mean and variance are one example's own.
const TOGETHER: usize = 3;
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
/// The same over colour images that the program draws.
const COLOUR_CENTRES: &[u8; features(Picture { channels: 3, side: SIDE as u8 })] =
    include_bytes!("scattering_colour.centres");

/// Cells in a row of a map that are kept of such an image.
#[must_use]
pub const fn cells(picture: Picture) -> usize {
    if picture.channels == 1 { GRID } else { POOL.len() }
}

/// Numbers that describe such an image: `[map][colour][row][column]`, maps as the channels of [`FEATURES`] are.
#[must_use]
pub const fn features(picture: Picture) -> usize {
    CHANNELS * picture.channels as usize * cells(picture) * cells(picture)
}

/// Features that are normalised together, three maps of all colours.
#[must_use]
pub const fn group(picture: Picture) -> usize {
    TOGETHER * picture.channels as usize * cells(picture) * cells(picture)
}

/// What stands in the middle of the bytes of a feature of such an image, in steps.
///
/// # Panics
/// When there are not so many features.
#[must_use]
pub const fn centre(picture: Picture, feature: usize) -> i8 {
    if picture.channels == 1 { CENTRES[feature] as i8 } else { COLOUR_CENTRES[feature] as i8 }
}

/// Where the pixels of a channel of such an image stand in the square: before how many rows and columns, in how many of each, and how many pixels each
/// way make one.
#[must_use]
pub const fn placed(picture: Picture) -> (usize, usize, usize) {
    let side = picture.side as usize;
    let every = if side > SIDE { 2 } else { 1 };
    let inner = side.div_ceil(every);
    ((SIDE - inner) / 2, inner, every)
}

/// The value at a place of a channel that is brought to the square's size; beyond the image's edge there is nothing to average.
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

/// The coefficients before normalisation, `[map][colour][row][column]`, of such an image: its pixels channel by channel, row by row.
///
/// # Panics
/// When `image` has not the picture's number of pixels.
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

/// What is kept of the 7×7 averages of an image with colours.
fn pool(averages: &[f64], out: &mut [f64]) {
    for (k, out) in out.iter_mut().enumerate() {
        let (down, across) = (&POOL[k / POOL.len()], &POOL[k % POOL.len()]);
        let weight = |i: usize| f64::from(down[i / GRID]) * f64::from(across[i % GRID]);
        *out = averages.iter().enumerate().map(|(i, average)| average * weight(i)).sum();
    }
}

/// The 7×7 averages of each map of a channel.
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

/// Each group less its mean, divided by its standard deviation.
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

    /// A flat image has no waves; what is normalised has mean 0, and variance 1 where there is anything.
    #[test]
    fn coefficients_of_plain_images() {
        let coefficients = |image: &[f32]| super::coefficients(Picture::DIGIT, image);
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

    /// Each colour has the maps of a grey image of it; of 3,969 averages for each 1,296 are kept, whose weights sum to one.
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

    /// Images of every size stand in the square; those that are larger are averaged, the last pixels of an odd side by themselves.
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
