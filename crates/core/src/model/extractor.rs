//! A small convolutional network whose layers were trained on images that the program draws ([`crate::data::synthetic::colour`]), and are fixed: what it finds in an
//! image are features, which no training example has a part in. A linear model on them is trained under privacy (Tramèr & Boneh 2021; networks trained on
//! drawn images as a start: Tang, Panda, Sehwag & Mittal 2023, DP-RandP).
//!
//! `conv 32 5x5/2 same, relu, maxpool 2, conv 64 3x3 same, relu, avgpool 2` of 32×32 pixels with three colours: 64 maps of 4×4 cells.
//! Weights are signed bytes and values bytes, and all between are whole numbers: every engine computes the same features to the last bit.
//!
//! This is the definition, one loop a sum; `engine::cpu` computes the same side by side.

use super::{
    kept::{KeptFile, kept_file},
    scattering,
};
use crate::data::Picture;

/// Images stand in the middle of a square of this side, as they do for [`scattering`]; a grey image has three colours that are alike.
pub const SIDE: usize = scattering::SIDE;
/// Maps of features.
pub const MAPS: usize = CONVOLUTIONS[1].outputs;
/// Cells in a row of one.
pub const CELLS: usize = 4;
/// Features of an image: `[map][row][column]`.
pub const FEATURES: usize = MAPS * CELLS * CELLS;
/// Bits of a factor behind its point.
pub const FACTOR_BITS: u32 = 24;
/// The same of a gain.
pub const GAIN_BITS: u32 = 10;
/// Steps of a feature's byte for one standard deviation over images that the program draws, as those of scattering are for one of the image's own.
pub const STEPS: f64 = scattering::STEPS;
/// The byte of a feature that equals its mean.
pub const ZERO: i64 = scattering::ZERO as i64;

/// The numbers, as `hushgrad pretrain --made extractor` wrote them.
pub static FILE: KeptFile =
    kept_file!("extractor.pretrained", "2ab3bb5eeebdcb22c0c55dc8c9d18062a88e78467ba94ddcc3f55350515707e2");

/// A convolution, behind which values below zero are cut and each 2×2 are pooled.
#[derive(Clone, Copy, Debug)]
pub struct Convolution {
    /// Channels that it takes.
    pub inputs: usize,
    /// Channels that it makes.
    pub outputs: usize,
    /// Side of its kernels.
    pub kernel: usize,
    /// Places of its input from one window to the next.
    pub stride: usize,
    /// Zeros around its input.
    pub padding: usize,
    /// Side of its input.
    pub side: usize,
}

/// Behind the first the largest of 2×2 values is taken, behind the second their sum.
pub const CONVOLUTIONS: [Convolution; 2] = [
    Convolution { inputs: 3, outputs: 32, kernel: 5, stride: 2, padding: 2, side: SIDE },
    Convolution { inputs: 32, outputs: 64, kernel: 3, stride: 1, padding: 1, side: SIDE / 4 },
];

impl Convolution {
    /// Side of what it makes.
    #[must_use]
    pub const fn output_side(&self) -> usize {
        (self.side + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Weights of an output channel.
    #[must_use]
    pub const fn taps(&self) -> usize {
        self.inputs * self.kernel * self.kernel
    }

    /// Bytes of the file: weights, then a bias and a factor for each output channel.
    const fn bytes(&self) -> usize {
        self.outputs * (self.taps() + 8)
    }
}

/// A convolution's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// `[output][input][row][column]`.
    pub weights: Vec<i8>,
    /// Added to an output channel's sums.
    pub biases: Vec<i32>,
    /// What a sum is multiplied by, in units of 2⁻²⁴, to become a byte.
    pub factors: Vec<u32>,
}

/// All numbers of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extractor {
    /// Of each convolution.
    pub convolutions: [Weights; 2],
    /// Of each map: its mean over drawn images, of sums of four bytes.
    pub means: Vec<u16>,
    /// Of each map: [`STEPS`] over its standard deviation there, in units of 2⁻¹⁰.
    pub gains: Vec<u16>,
}

impl Extractor {
    /// The one that the program has; `None`: it was not fetched yet.
    #[must_use]
    pub fn fetched() -> Option<Self> {
        Self::decode(FILE.bytes()?)
    }

    /// The file's bytes: convolution by convolution, then means, then gains; numbers of more bytes than one little-endian.
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

    /// What [`Extractor::encode`] wrote; `None` where that has another length.
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

    /// The bytes of an image's features. `image` is `[colour][row][column]` of the square, as [`square`] makes it.
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

    /// The byte of a map's sum of four.
    #[inline]
    #[must_use]
    pub fn standardised(&self, map: usize, sum: u16) -> u8 {
        let away = i64::from(sum) - i64::from(self.means[map]);
        let steps = (away * i64::from(self.gains[map]) + (1 << (GAIN_BITS - 1))) >> GAIN_BITS;
        (steps + ZERO).clamp(0, 255) as u8
    }
}

/// Bytes of the file.
const LENGTH: usize = CONVOLUTIONS[0].bytes() + CONVOLUTIONS[1].bytes() + 4 * MAPS;

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// An image of any size in the middle of the square, with three colours: larger ones are averaged as for [`scattering`]. Pixels are in [0, 1].
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

/// The byte of a convolution's sum, with its bias.
#[inline]
#[must_use]
pub fn byte(sum: i32, factor: u32) -> u8 {
    ((i64::from(sum) * i64::from(factor) + (1 << (FACTOR_BITS - 1))) >> FACTOR_BITS).clamp(0, 255) as u8
}

/// What a convolution makes of an image: `[output][row][column]`.
#[must_use]
pub fn convolve(shape: &Convolution, weights: &Weights, image: &[u8]) -> Vec<u8> {
    let sums = sums_of(shape, weights, image);
    let area = shape.output_side().pow(2);
    sums.iter().enumerate().map(|(i, &sum)| byte(sum, weights.factors[i / area])).collect()
}

/// Its sums, with biases.
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
                // Zeros around it.
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

/// The four values of each 2×2 cells of maps of this side.
fn pooled(values: &[u8], side: usize) -> impl Iterator<Item = [u8; 4]> {
    let half = side / 2;
    (0..values.len() / 4).map(move |i| {
        let (map, row, column) = (i / (half * half), i / half % half, i % half);
        let at = (map * side + 2 * row) * side + 2 * column;
        [values[at], values[at + 1], values[at + side], values[at + side + 1]]
    })
}

/// The largest of each 2×2.
#[must_use]
pub fn largest(values: &[u8], side: usize) -> Vec<u8> {
    pooled(values, side).map(|four| four.into_iter().fold(0, u8::max)).collect()
}

/// The sum of each 2×2.
#[must_use]
pub fn sums(values: &[u8], side: usize) -> Vec<u16> {
    pooled(values, side).map(|four| four.into_iter().map(u16::from).sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::kept::hex;

    #[test]
    fn the_file_is_the_one_that_was_made() {
        let bytes = FILE.bytes().unwrap();
        assert_eq!(hex(bytes), FILE.digest);
        let extractor = Extractor::decode(bytes).unwrap();
        assert_eq!(extractor.encode(), bytes);
        assert_eq!(Extractor::decode(&bytes[1..]), None);
        // No image brings a sum beyond 24 bits: the CPU engine adds up in f32.
        for (shape, weights) in CONVOLUTIONS.iter().zip(&extractor.convolutions) {
            for (row, bias) in weights.weights.chunks_exact(shape.taps()).zip(&weights.biases) {
                let most: i64 = row.iter().map(|weight| 255 * i64::from(*weight).abs()).sum();
                assert!(most + i64::from(*bias).abs() < 1 << 24);
            }
        }
    }

    /// By hand: one tap at the middle of each kernel lets one colour's pixels through, whose largest of 2×2 four places are summed.
    #[test]
    fn one_tap_lets_pixels_through() {
        let one = |shape: &Convolution| {
            let mut weights = vec![0; shape.outputs * shape.taps()];
            // The first output sees the first input, at the kernel's middle.
            weights[shape.kernel * shape.kernel / 2] = 127;
            let factor = (f64::from(1u32 << FACTOR_BITS) / 127.0).round() as u32;
            Weights { weights, biases: vec![0; shape.outputs], factors: vec![factor; shape.outputs] }
        };
        let convolutions = [one(&CONVOLUTIONS[0]), one(&CONVOLUTIONS[1])];
        let extractor = Extractor { convolutions, means: vec![100; MAPS], gains: vec![1 << GAIN_BITS; MAPS] };
        let image: Vec<u8> = (0..3 * SIDE * SIDE).map(|i| (i % 37) as u8).collect();
        let found = extractor.features(&image);
        // Every second pixel each way; the largest of each 2×2 of those; the sum of each 2×2 of those.
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
