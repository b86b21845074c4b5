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
