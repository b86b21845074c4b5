//! Σ of bounded gradients, exactly: what is summed is what is priced.
//!
//! *Clipping* is a few tensor operations on the device. Each example's gradient is scaled to at most
//! C′ (slightly below C) and rounded to multiples of a step g, so that it stays within C
//! ([`hushgrad_core::mechanism::exact_sum`]). Multiples of g have exact sums in f32 below 2^24·g,
//! which [`MOST_AT_ONCE`] examples do not exceed, and in f64 on the host: one example changes the sum
//! by exactly its own rounded gradient, in any order of addition.
//!
//! *Envelopes* bound by rank, which tensors do badly: gradients are encoded on the host by
//! [`hushgrad_core::mechanism::Encoder`], which is slower.

use burn::tensor::Tensor;
use hushgrad_core::mechanism::{
    Encoder,
    exact_sum::{SLOT, SumGrid},
};

use crate::{error::BurnError, gradients::PerExample};

/// Most examples whose sum in f32 is exact: 64 stay below 2^22·g.
pub const MOST_AT_ONCE: usize = 4 * SLOT;

/// Numbers that are added in one operation, so that a sum of n squares has few roundings:
/// ⌈log₆₄ n⌉·64, below the 1,000 that `CLIP_MARGIN` covers.
const GROUP: usize = 64;

/// A running sum of bounded gradients, in f64 on the host.
#[derive(Debug)]
pub struct BoundedSum<'a> {
    encoder: &'a Encoder,
    grid: Option<SumGrid>,
    sum: Vec<f64>,
}

impl<'a> BoundedSum<'a> {
    /// An empty sum of `parameters` numbers.
    pub fn new(encoder: &'a Encoder, parameters: usize) -> Self {
        Self { encoder, grid: encoder.sum_grid(), sum: vec![0.0; parameters] }
    }

    /// Returns the sum.
    pub fn into_sum(self) -> Vec<f64> {
        self.sum
    }

    /// Adds the gradients of at most [`MOST_AT_ONCE`] examples. A gradient that is not finite adds
    /// nothing.
    ///
    /// # Errors
    /// [`BurnError::Device`].
    pub fn add(&mut self, gradients: PerExample) -> Result<(), BurnError> {
        match (self.encoder, self.grid) {
            (Encoder::Clip { norm }, Some(grid)) => {
                let target = grid.clip_target(*norm, self.sum.len());
                let summed = clipped(gradients, target as f32, grid.step());
                let terms = host(Tensor::cat(summed, 1))?;
                for (sum, term) in self.sum.iter_mut().zip(terms) {
                    *sum += f64::from(term);
                }
            }
            _ => {
                let rows = host(Tensor::cat(gradients, 1))?;
                for row in rows.chunks_exact(self.sum.len()) {
                    let mut gradient = row.to_vec();
                    if self.encoder.encode_on(self.grid, &mut gradient) {
                        for (sum, term) in self.sum.iter_mut().zip(gradient) {
                            *sum += f64::from(term);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Copies a tensor to the host.
fn host(values: Tensor<2>) -> Result<Vec<f32>, BurnError> {
    let failed = |error: &dyn std::fmt::Display| BurnError::Device(error.to_string());
    let data = values.try_into_data().map_err(|error| failed(&error))?;
    data.convert::<f32>().try_into_vec::<f32>().map_err(|error| failed(&error))
}

/// Σ over the examples of each gradient, scaled to a norm of at most `target` and rounded to multiples
/// of `step`; `[1, numbers]` for each parameter.
fn clipped(gradients: PerExample, target: f32, step: f32) -> Vec<Tensor<2>> {
    let squares = gradients.iter().map(|part| squares(part.clone())).reduce(|sum, part| sum + part);
    let Some(squares) = squares else { return vec![] };
    // False for NaN.
    let finite = squares.clone().lower_equal_elem(f32::MAX);
    let unusable = finite.bool_not();
    let norms = squares.mask_fill(unusable.clone(), 1.0).sqrt();
    let factors = (norms.recip() * target).clamp_max(1.0);
    let bounded = |part: Tensor<2>| {
        let [_, numbers] = part.dims();
        let part = part.mask_fill(unusable.clone().repeat_dim(1, numbers), 0.0);
        // Dividing by a power of two is exact.
        let rounded = (part * factors.clone() / step).round() * step;
        rounded.sum_dim(0)
    };
    gradients.into_iter().map(bounded).collect()
}

/// Returns each row's sum of squares, `[rows, 1]`.
fn squares(part: Tensor<2>) -> Tensor<2> {
    let mut sums = part.clone() * part;
    loop {
        let [rows, numbers] = sums.dims();
        if numbers <= GROUP {
            return sums.sum_dim(1);
        }
        let groups = numbers.div_ceil(GROUP);
        let padding = groups * GROUP - numbers;
        if padding > 0 {
            sums = sums.pad((0, padding, 0, 0), 0.0);
        }
        sums = sums.reshape([rows, groups, GROUP]).sum_dim(2).reshape([rows, groups]);
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use hushgrad_core::mechanism::EncoderSpec;
    use proptest::prelude::*;

    use super::*;

    fn sum(encoder: &Encoder, rows: &[Vec<f32>], lengths: &[usize]) -> Vec<f64> {
        let device = Device::flex();
        let mut sum = BoundedSum::new(encoder, lengths.iter().sum());
        for rows in rows.chunks(MOST_AT_ONCE) {
            let mut start = 0;
            let part = |&length: &usize| {
                let values: Vec<f32> = rows.iter().flat_map(|row| row[start..start + length].to_vec()).collect();
                start += length;
                Tensor::<2>::from_data(TensorData::new(values, [rows.len(), length]), &device)
            };
            sum.add(lengths.iter().map(part).collect()).unwrap();
        }
        sum.into_sum()
    }

    fn gradient(length: usize) -> impl Strategy<Value = Vec<f32>> {
        let number = prop_oneof![
            -1.0_f32..1.0,
            -1e-6_f32..1e-6,
            -1e30_f32..1e30,
            Just(0.0),
            Just(f32::INFINITY),
            Just(f32::NAN),
            Just(f32::MAX),
            Just(f32::MIN_POSITIVE),
            Just(1e-45),
        ];
        let wild = proptest::collection::vec(number, length);
        // All in one direction, at the bound.
        let aligned = (-3.0_f32..3.0).prop_map(move |size| vec![size; length]);
        prop_oneof![wild, aligned, proptest::collection::vec(-1.0_f32..1.0, length)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// One example more changes the sum by at most C, exactly, whatever the others are; and the sum
        /// is that of the reference up to the rounding of each gradient.
        #[test]
        fn neighbouring_sums_differ_by_at_most_the_bound(
            rows in proptest::collection::vec(gradient(150), 1..70), norm in prop_oneof![Just(1.0), 1e-3_f64..1e3], which in any::<prop::sample::Index>(),
        ) {
            let lengths = [100, 47, 3];
            let encoder = Encoder::new(&EncoderSpec::Clip { norm }, 150).unwrap();
            let with = sum(&encoder, &rows, &lengths);
            let mut others = rows.clone();
            let left_out = others.remove(which.index(rows.len()));
            let without = sum(&encoder, &others, &lengths);
            let distance = with.iter().zip(&without).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            prop_assert!(distance <= norm, "{distance} > {norm}");
            let own = sum(&encoder, std::slice::from_ref(&left_out), &lengths);
            for ((with, without), own) in with.iter().zip(&without).zip(&own) {
                prop_assert_eq!(with - without, *own, "the sum is exact");
            }
            let grid = encoder.sum_grid();
            let mut reference = left_out;
            encoder.encode_on(grid, &mut reference);
            for (own, reference) in own.iter().zip(&reference) {
                prop_assert!((own - f64::from(*reference)).abs() <= 1.5 * f64::from(grid.unwrap().step()) + 2e-4 * f64::from(reference.abs()));
            }
        }
    }

    #[test]
    fn envelopes_and_layers_are_encoded_by_the_reference() {
        use hushgrad_core::mechanism::{EnvelopeShape, LayerClip};
        let rows: Vec<Vec<f32>> = (0..5).map(|row| (0..20).map(|i| ((row * 20 + i) as f32).sin()).collect()).collect();
        for spec in [
            EncoderSpec::Envelope { shape: EnvelopeShape::Gaussian, vectors: 3, pre_scale: 1.0, seed: 1 },
            EncoderSpec::Layers(LayerClip::even(1.0)),
        ] {
            let encoder = Encoder::new(&spec, 20).unwrap();
            let mut expected = vec![0.0; 20];
            for row in &rows {
                let mut row = row.clone();
                assert!(encoder.encode_on(encoder.sum_grid(), &mut row));
                expected.iter_mut().zip(row).for_each(|(sum, term)| *sum += f64::from(term));
            }
            assert_eq!(sum(&encoder, &rows, &[12, 8]), expected);
        }
    }

    #[test]
    fn squares_of_long_rows_are_summed_in_few_roundings() {
        let device = Device::flex();
        let values: Vec<f32> = (0..2 * 70_000).map(|i| (i as f32 * 0.37).sin()).collect();
        let found =
            host(squares(Tensor::<2>::from_data(TensorData::new(values.clone(), [2, 70_000]), &device))).unwrap();
        for (row, found) in values.chunks_exact(70_000).zip(found) {
            let exact: f64 = row.iter().map(|&x| f64::from(x).powi(2)).sum();
            assert!((f64::from(found) / exact - 1.0).abs() < 1e-5, "{found} {exact}");
        }
    }
}
