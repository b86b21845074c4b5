//! The features of [`crate::model::extractor`], all output channels of a place at once.
//!
//! Sums are of integers below 2²⁴ in f32: exact in any order, and twice as fast as 32-bit integers.

use crate::{
    cpu::simd::{Kernel, Simd},
    data::Picture,
    model::extractor::{self, CELLS, CONVOLUTIONS, Convolution, FEATURES, byte, largest, sums},
};

const OUTPUTS: [usize; 2] = [CONVOLUTIONS[0].outputs, CONVOLUTIONS[1].outputs];

/// Computes features of images one by one.
pub struct Extractor<S: Simd> {
    simd: S,
    picture: Picture,
    network: extractor::Extractor,
    /// Weights of each convolution, `[tap][output]`.
    taps: [Vec<f32>; 2],
    biases: [Vec<f32>; 2],
    /// Output of each convolution: `[output][row][column]`.
    made: [Vec<u8>; 2],
}

impl<S: Simd> Extractor<S> {
    /// Returns `None` until the network's file is fetched.
    pub fn new(simd: S, picture: Picture) -> Option<Self> {
        let network = extractor::Extractor::fetched()?;
        let taps = [0, 1].map(|k| {
            let (shape, weights) = (&CONVOLUTIONS[k], &network.convolutions[k].weights);
            let at = |i: usize| weights[i % shape.outputs * shape.taps() + i / shape.outputs];
            (0..weights.len()).map(|i| at(i).into()).collect()
        });
        let biases = [0, 1].map(|k| network.convolutions[k].biases.iter().map(|&bias| bias as f32).collect());
        let made = CONVOLUTIONS.map(|shape| vec![0; shape.outputs * shape.output_side().pow(2)]);
        Some(Self { simd, picture, network, taps, biases, made })
    }

    /// Writes features, `[image][feature]`, of images with pixels in [0, 1], `[image][pixel]`.
    pub fn features(&mut self, rows: &[f32], out: &mut [u8]) {
        for (image, out) in rows.chunks_exact(self.picture.pixels()).zip(out.chunks_exact_mut(FEATURES)) {
            let square = extractor::square(self.picture, image);
            let [first, second] = &mut self.made;
            let weights = &self.network.convolutions;
            self.simd.run(Convolve::<{ OUTPUTS[0] }> {
                shape: &CONVOLUTIONS[0],
                factors: &weights[0].factors,
                taps: &self.taps[0],
                biases: &self.biases[0],
                image: &square,
                out: first,
            });
            self.simd.run(Convolve::<{ OUTPUTS[1] }> {
                shape: &CONVOLUTIONS[1],
                factors: &weights[1].factors,
                taps: &self.taps[1],
                biases: &self.biases[1],
                image: &largest(first, CONVOLUTIONS[0].output_side()),
                out: second,
            });
            let cells = sums(second, CONVOLUTIONS[1].output_side());
            for (i, (out, sum)) in out.iter_mut().zip(cells).enumerate() {
                *out = self.network.standardised(i / (CELLS * CELLS), sum);
            }
        }
    }
}

struct Convolve<'a, const OUTPUTS: usize> {
    shape: &'a Convolution,
    factors: &'a [u32],
    taps: &'a [f32],
    biases: &'a [f32],
    image: &'a [u8],
    out: &'a mut [u8],
}

impl<S: Simd, const OUTPUTS: usize> Kernel<S> for Convolve<'_, OUTPUTS> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: S) {
        let Self { shape, factors, taps, biases, image, out } = self;
        let (side, places, kernel) = (shape.side, shape.output_side(), shape.kernel);
        let mut first = [0.0; OUTPUTS];
        first.copy_from_slice(biases);
        // Rows and columns of a window that lie inside the image, not in its padding.
        let within = |place: usize| {
            let start = place * shape.stride;
            shape.padding.saturating_sub(start)..kernel.min(side + shape.padding - start)
        };
        for (row, column) in (0..places).flat_map(|row| (0..places).map(move |column| (row, column))) {
            let mut sums = first;
            for (input, y) in (0..shape.inputs).flat_map(|input| within(row).map(move |y| (input, y))) {
                let line = &image[(input * side + row * shape.stride + y - shape.padding) * side..][..side];
                for x in within(column) {
                    let value = f32::from(line[column * shape.stride + x - shape.padding]);
                    let taps = &taps[((input * kernel + y) * kernel + x) * OUTPUTS..][..OUTPUTS];
                    for (sum, &tap) in sums.iter_mut().zip(taps) {
                        *sum += value * tap;
                    }
                }
            }
            for (output, (sum, &factor)) in sums.into_iter().zip(factors).enumerate() {
                out[(output * places + row) * places + column] = byte(sum as i32, factor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cpu::simd::{Dispatch, for_each},
        data::synthetic::{self, colour},
        model::pixel,
    };

    #[derive(Clone, Copy)]
    struct AsDefined;

    impl Dispatch for AsDefined {
        type Output = ();
        fn with<S: Simd>(self, simd: S) {
            let network = extractor::Extractor::fetched().unwrap();
            let of = |bytes: &[u8]| bytes.iter().copied().map(pixel).collect::<Vec<f32>>();
            let sizes = [(1, 28), (3, 32), (3, 64), (1, 35), (3, 1)].map(|(channels, side)| Picture { channels, side });
            for picture in sizes {
                let mut images = match picture.channels {
                    1 => of(&synthetic::dataset(2, 0, 4).images),
                    _ => of(&colour::dataset(2, 0, 8).images),
                };
                images.truncate(2 * picture.pixels());
                images.extend((0..picture.pixels()).map(|i| (i * 7919 % 256) as f32 / 255.0));
                images.extend(vec![1.0; picture.pixels()]);
                let mut out = vec![0; 4 * FEATURES];
                Extractor::new(simd, picture).unwrap().features(&images, &mut out);
                for (image, out) in images.chunks_exact(picture.pixels()).zip(out.chunks_exact(FEATURES)) {
                    let defined = network.features(&extractor::square(picture, image));
                    assert!(defined == out, "{} {picture}", S::NAME);
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_matches_the_definition() {
        for_each(AsDefined);
    }
}
