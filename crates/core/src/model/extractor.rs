//! A fixed small convolutional network, trained on synthetic images
//! ([`crate::data::synthetic::colour`]). Its outputs are features that do not depend on training
//! examples; a linear model on them is trained privately (Tramèr & Boneh 2021; starting from
//! networks trained on synthetic images: Tang, Panda, Sehwag & Mittal 2023, DP-RandP).
//!
//! `conv 32 5x5/2 same, relu, maxpool 2, conv 64 3x3 same, relu, avgpool 2` on 32×32 pixels with
//! three colours: 64 maps of 4×4 cells. Weights are signed bytes, values are bytes, and
//! intermediates are integers, so all engines compute exactly the same features. This is the
//! reference, with one loop per sum; `engine::cpu` computes many side by side.

use super::{
    kept::{KeptFile, kept_file},
    scattering,
};
use crate::data::Picture;

/// Side of the square around images, as for [`scattering`]; grey fills all three colours.
pub const SIDE: usize = scattering::SIDE;
/// Number of feature maps.
pub const MAPS: usize = CONVOLUTIONS[1].outputs;
/// Side of a map in cells.
pub const CELLS: usize = 4;
/// Number of features of an image: `[map][row][column]`.
pub const FEATURES: usize = MAPS * CELLS * CELLS;
/// Fractional bits of a factor.
pub const FACTOR_BITS: u32 = 24;
/// Fractional bits of a gain.
pub const GAIN_BITS: u32 = 10;
/// Byte steps per standard deviation over synthetic images (for scattering: within the image).
pub const STEPS: f64 = scattering::STEPS;
/// The byte of a feature that equals its mean.
pub const ZERO: i64 = scattering::ZERO as i64;

/// The weights, as written by `hushgrad pretrain --made extractor`.
pub static FILE: KeptFile =
    kept_file!("extractor.pretrained", "2ab3bb5eeebdcb22c0c55dc8c9d18062a88e78467ba94ddcc3f55350515707e2");

/// A convolution followed by ReLU and 2×2 pooling.
#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// Side of the kernels.
    pub kernel: usize,
    /// Input positions between windows.
    pub stride: usize,
    /// Zeros around the input.
    pub padding: usize,
    /// Side of the input.
    pub side: usize,
}

/// The two convolutions. The first is followed by 2×2 maxima, the second by 2×2 sums.
pub const CONVOLUTIONS: [Convolution; 2] = [
    Convolution { inputs: 3, outputs: 32, kernel: 5, stride: 2, padding: 2, side: SIDE },
    Convolution { inputs: 32, outputs: 64, kernel: 3, stride: 1, padding: 1, side: SIDE / 4 },
];

impl Convolution {
    /// Returns the side of the output.
    #[must_use]
    pub const fn output_side(&self) -> usize {
        (self.side + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Returns the number of weights of an output channel.
    #[must_use]
    pub const fn taps(&self) -> usize {
        self.inputs * self.kernel * self.kernel
    }

    /// Bytes in the file: weights, then a bias and a factor for each output channel.
    const fn bytes(&self) -> usize {
        self.outputs * (self.taps() + 8)
    }
}

/// Weights of one convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// `[output][input][row][column]`.
    pub weights: Vec<i8>,
    /// Added to each output channel's sums.
    pub biases: Vec<i32>,
    /// Scale from sums to bytes for each output channel, in units of 2⁻²⁴.
    pub factors: Vec<u32>,
}

/// All weights of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extractor {
    /// Weights of each convolution.
    pub convolutions: [Weights; 2],
    /// Mean of each map over synthetic images, of sums of four bytes.
    pub means: Vec<u16>,
    /// [`STEPS`] over each map's standard deviation on these images, in units of 2⁻¹⁰.
    pub gains: Vec<u16>,
}

impl Extractor {
    /// Returns the program's own extractor, or `None` if not fetched yet.
    #[must_use]
    pub fn fetched() -> Option<Self> {
        Self::decode(FILE.bytes()?)
    }

    /// Encodes as a file: each convolution, then means, then gains, in little-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH);
        for Weights { weights, biases, factors } in &self.convolutions {
            bytes.extend(weights.iter().map(|&weight| weight as u8));
            bytes.extend(biases.iter().flat_map(|bias| bias.to_le_bytes()));
            bytes.extend(factors.iter().flat_map(|factor| factor.to_le_bytes()));
        }
        bytes.extend(self.means.iter().chain(&self.gains).flat_map(|value| value.to_le_bytes()));
        bytes
    }

    /// Decodes the output of [`Extractor::encode`]; `None` if the length does not match.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != LENGTH {
            return None;
        }
        let mut rest = bytes;
        let mut take = |count: usize| {
            let (part, after) = rest.split_at(count);
            rest = after;
            part
        };
        let convolutions = CONVOLUTIONS.map(|it| Weights {
            weights: take(it.outputs * it.taps()).iter().map(|&byte| byte as i8).collect(),
            biases: words(take(4 * it.outputs)).map(|word| word as i32).collect(),
            factors: words(take(4 * it.outputs)).collect(),
        });
        let mut halves = || take(2 * MAPS).chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        Some(Self { convolutions, means: halves(), gains: halves() })
    }

    /// Returns an image's features. `image` is `[colour][row][column]` as made by [`square`].
    ///
    /// # Panics
    /// When `image` is not 3·32² bytes.
    #[must_use]
    pub fn features(&self, image: &[u8]) -> Vec<u8> {
        assert_eq!(image.len(), 3 * SIDE * SIDE, "a square of three colours");
        let first = largest(&convolve(&CONVOLUTIONS[0], &self.convolutions[0], image), CONVOLUTIONS[0].output_side());
        let second = convolve(&CONVOLUTIONS[1], &self.convolutions[1], &first);
        let sums = sums(&second, CONVOLUTIONS[1].output_side());
        let cells = sums.chunks_exact(CELLS * CELLS);
        cells.enumerate().flat_map(|(map, cells)| cells.iter().map(move |&sum| self.standardised(map, sum))).collect()
    }

    /// Returns the feature byte of a map's sum of four.
    #[inline]
    #[must_use]
    pub fn standardised(&self, map: usize, sum: u16) -> u8 {
        let away = i64::from(sum) - i64::from(self.means[map]);
        let steps = (away * i64::from(self.gains[map]) + (1 << (GAIN_BITS - 1))) >> GAIN_BITS;
        (steps + ZERO).clamp(0, 255) as u8
    }
}

/// Length of the file in bytes.
const LENGTH: usize = CONVOLUTIONS[0].bytes() + CONVOLUTIONS[1].bytes() + 4 * MAPS;

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// Centres an image (pixels in [0, 1]) in the square, averaging larger ones as [`scattering`] does.
#[must_use]
pub fn square(picture: Picture, image: &[f32]) -> Vec<u8> {
    let (margin, inner, every) = scattering::placed(picture);
    let mut square = vec![0; 3 * SIDE * SIDE];
    let area = image.len() / usize::from(picture.channels);
    for (colour, square) in square.chunks_exact_mut(SIDE * SIDE).enumerate() {
        let channel = image.chunks_exact(area).nth(colour).unwrap_or(&image[..area]);
        for (row, column) in (0..inner).flat_map(|row| (0..inner).map(move |column| (row, column))) {
            let value = scattering::reduced(channel, picture.side.into(), every, row, column);
            square[(row + margin) * SIDE + column + margin] = (value * 255.0 + 0.5) as u8;
        }
    }
    square
}

/// Scales a convolution's sum, with bias, to a byte.
#[inline]
#[must_use]
pub fn byte(sum: i32, factor: u32) -> u8 {
    ((i64::from(sum) * i64::from(factor) + (1 << (FACTOR_BITS - 1))) >> FACTOR_BITS).clamp(0, 255) as u8
}

/// Applies a convolution and ReLU to an image: `[output][row][column]`.
#[must_use]
pub fn convolve(shape: &Convolution, weights: &Weights, image: &[u8]) -> Vec<u8> {
    let sums = sums_of(shape, weights, image);
    let area = shape.output_side().pow(2);
    sums.iter().enumerate().map(|(i, &sum)| byte(sum, weights.factors[i / area])).collect()
}

/// Returns the convolution's sums, with biases.
#[must_use]
pub fn sums_of(shape: &Convolution, weights: &Weights, image: &[u8]) -> Vec<i32> {
    let (side, out, kernel) = (shape.side, shape.output_side(), shape.kernel);
    let mut sums = Vec::with_capacity(shape.outputs * out * out);
    for output in 0..shape.outputs {
        for (row, column) in (0..out).flat_map(|row| (0..out).map(move |column| (row, column))) {
            let mut sum = weights.biases[output];
            for tap in 0..shape.taps() {
                let (input, y, x) = (tap / (kernel * kernel), tap / kernel % kernel, tap % kernel);
                let (y, x) = (row * shape.stride + y, column * shape.stride + x);
                let inside = shape.padding..shape.padding + side;
                if inside.contains(&y) && inside.contains(&x) {
                    let value = image[(input * side + y - shape.padding) * side + x - shape.padding];
                    sum += i32::from(weights.weights[output * shape.taps() + tap]) * i32::from(value);
                }
            }
            sums.push(sum);
        }
    }
    sums
}

/// Iterates over the values of each 2×2 window of maps of this side.
fn pooled(values: &[u8], side: usize) -> impl Iterator<Item = [u8; 4]> {
    let half = side / 2;
    (0..values.len() / 4).map(move |i| {
        let (map, row, column) = (i / (half * half), i / half % half, i % half);
        let at = (map * side + 2 * row) * side + 2 * column;
        [values[at], values[at + 1], values[at + side], values[at + side + 1]]
    })
}

/// Returns the maximum of each 2×2 window.
#[must_use]
pub fn largest(values: &[u8], side: usize) -> Vec<u8> {
    pooled(values, side).map(|four| four.into_iter().fold(0, u8::max)).collect()
}

/// Returns the sum of each 2×2 window.
#[must_use]
pub fn sums(values: &[u8], side: usize) -> Vec<u16> {
    pooled(values, side).map(|four| four.into_iter().map(u16::from).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::kept::hex;

    #[test]
    fn extractor_file_matches_its_digest() {
        let bytes = FILE.bytes().unwrap();
        assert_eq!(hex(bytes), FILE.digest);
        let extractor = Extractor::decode(bytes).unwrap();
        assert_eq!(extractor.encode(), bytes);
        assert_eq!(Extractor::decode(&bytes[1..]), None);
        // No sum exceeds 24 bits, as the CPU engine adds in f32.
        for (shape, weights) in CONVOLUTIONS.iter().zip(&extractor.convolutions) {
            for (row, bias) in weights.weights.chunks_exact(shape.taps()).zip(&weights.biases) {
                let most: i64 = row.iter().map(|weight| 255 * i64::from(*weight).abs()).sum();
                assert!(most + i64::from(*bias).abs() < 1 << 24);
            }
        }
    }

    /// By hand: one tap in the middle of each kernel passes one colour, which is then pooled.
    #[test]
    fn one_tap_lets_pixels_through() {
        let one = |shape: &Convolution| {
            let mut weights = vec![0; shape.outputs * shape.taps()];
            // The first output sees the first input through the middle of the kernel.
            weights[shape.kernel * shape.kernel / 2] = 127;
            let factor = (f64::from(1u32 << FACTOR_BITS) / 127.0).round() as u32;
            Weights { weights, biases: vec![0; shape.outputs], factors: vec![factor; shape.outputs] }
        };
        let convolutions = [one(&CONVOLUTIONS[0]), one(&CONVOLUTIONS[1])];
        let extractor = Extractor { convolutions, means: vec![100; MAPS], gains: vec![1 << GAIN_BITS; MAPS] };
        let image: Vec<u8> = (0..3 * SIDE * SIDE).map(|i| (i % 37) as u8).collect();
        let found = extractor.features(&image);
        // Every second pixel each way, then 2×2 maxima, then 2×2 sums.
        let pixel = |row: usize, column: usize| u32::from(image[2 * row * SIDE + 2 * column]);
        let best =
            |row: usize, column: usize| (0..4).map(|k| pixel(2 * row + k / 2, 2 * column + k % 2)).max().unwrap();
        for (cell, &feature) in found[..CELLS * CELLS].iter().enumerate() {
            let (row, column) = (2 * (cell / CELLS), 2 * (cell % CELLS));
            let sum: u32 = (0..4).map(|k| best(row + k / 2, column + k % 2)).sum();
            assert_eq!(u32::from(feature), sum + 128 - 100, "cell {cell}");
        }
        assert!(found[CELLS * CELLS..].iter().all(|&byte| byte == 128 - 100));
    }
}
