//! Rules for Burn's layers.
//!
//! | layer | ∂ℓ/∂W of an example | ∂ℓ/∂b |
//! | --- | --- | --- |
//! | `Linear` | Σ over positions of x · ∂ℓ/∂yᵀ | Σ over positions of ∂ℓ/∂y |
//! | `Conv1d`, `Conv2d` | Σ over positions of ∂ℓ/∂y · (patch of x)ᵀ | Σ over positions of ∂ℓ/∂y |
//! | `LayerNorm`, `RmsNorm`, `GroupNorm`, y = γ·u + β | Σ over positions of ∂ℓ/∂y · u | Σ over positions of ∂ℓ/∂y |
//! | `Embedding` | Σ over positions of onehot(index) · ∂ℓ/∂yᵀ | |
//! | any parameter, [`expanded`] | ∂ℓ/∂(its copy for the example) | |
//!
//! Goodfellow 2015, "Efficient per-example gradient computations"; Rochette, Manoel & Tramel 2019 for
//! convolutions. `MultiHeadAttention`, `PositionWiseFeedForward` and `TransformerEncoder` consist of
//! such layers.

use burn::{
    module::Param,
    nn::{
        Embedding, GroupNorm, LayerNorm, Linear, PaddingConfig1d, PaddingConfig2d, RmsNorm,
        attention::MultiHeadAttention,
        conv::{Conv1d, Conv2d},
        transformer::{PositionWiseFeedForward, TransformerEncoder, TransformerEncoderLayer},
    },
    tensor::{
        Bool, Int, Tensor,
        activation::{quiet_softmax, softmax},
        module::unfold4d,
        ops::UnfoldOptions,
    },
};

use crate::tape::{Part, examples, is_recording, probe};

/// A layer of Burn whose per-example gradients have a rule: call `layer.traced(x)` where a model
/// calls `layer.forward(x)`. It computes the same, and nothing is recorded outside of a private step.
///
/// The first dimension of inputs and outputs must be the batch.
pub trait Traced<Input> {
    /// What `forward` returns.
    type Output;

    /// Computes `forward`.
    fn traced(&self, input: Input) -> Self::Output;
}

/// Sums `[examples, …, numbers]` over the dimensions between the first and the last.
fn over_positions<const D: usize>(values: Tensor<D>) -> Tensor<2> {
    let dims = values.dims();
    let (examples, numbers) = (dims[0], dims[D - 1]);
    let positions = dims[1..D - 1].iter().product::<usize>();
    values.reshape([examples, positions, numbers]).sum_dim(1).reshape([examples, numbers])
}

/// `[examples, …, numbers]` as `[examples, positions, numbers]`.
fn by_position<const D: usize>(values: Tensor<D>) -> Tensor<3> {
    let dims = values.dims();
    let positions = dims[1..D - 1].iter().product::<usize>();
    values.reshape([dims[0], positions, dims[D - 1]])
}

/// One row per example.
fn rows<const D: usize>(values: Tensor<D>) -> Tensor<2> {
    let examples = values.dims()[0];
    let numbers = values.dims()[1..].iter().product::<usize>();
    values.reshape([examples, numbers])
}

impl<const D: usize> Traced<Tensor<D>> for Linear {
    type Output = Tensor<D>;

    fn traced(&self, input: Tensor<D>) -> Tensor<D> {
        let outputs = self.forward(input.clone());
        if !is_recording() {
            return outputs;
        }
        let (weight, bias) = (self.weight.id, self.bias.as_ref().map(|bias| bias.id));
        let parameters: Vec<_> = core::iter::once(weight).chain(bias).collect();
        let seen = by_position(input.inner());
        probe("Linear", outputs, &parameters, move |delta| {
            let delta = by_position(delta);
            let weights = rows(seen.transpose().matmul(delta.clone()));
            let mut parts: Vec<Part> = vec![(weight, weights)];
            parts.extend(bias.map(|bias| (bias, over_positions(delta))));
            parts
        })
    }
}

impl Traced<Tensor<2, Int>> for Embedding {
    type Output = Tensor<3>;

    fn traced(&self, input: Tensor<2, Int>) -> Tensor<3> {
        let outputs = self.forward(input.clone());
        if !is_recording() {
            return outputs;
        }
        let id = self.weight.id;
        let [known, _] = self.weight.val().dims();
        probe("Embedding", outputs, &[id], move |delta: Tensor<3>| {
            let places: Tensor<3> = input.one_hot::<3>(known).float().cast(delta.dtype());
            vec![(id, rows(places.transpose().matmul(delta)))]
        })
    }
}

/// Padding before and after with which Burn's `Same` keeps ⌈length/stride⌉ positions.
fn same(length: usize, kernel: usize, stride: usize) -> (usize, usize) {
    let total = ((length.div_ceil(stride).max(1) - 1) * stride + kernel).saturating_sub(length);
    (total / 2, total - total / 2)
}

/// The patches of `[examples, channels, height, width]`, as `[examples, numbers of a patch, positions]`.
fn patches(
    input: Tensor<4>,
    kernel: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    [(top, bottom), (left, right)]: [(usize, usize); 2],
) -> Tensor<3> {
    let padded = match [top, bottom, left, right] {
        [0, 0, 0, 0] => input,
        _ => input.pad((left, right, top, bottom), 0.0),
    };
    unfold4d(padded, kernel, UnfoldOptions::new(stride, [0, 0], dilation))
}

/// The gradient of a convolution's weights, `[examples, numbers]`, by groups of channels.
fn convolved(patches: Tensor<3>, delta: Tensor<3>, groups: usize) -> Tensor<2> {
    let [examples, filters, positions] = delta.dims();
    let [_, seen, _] = patches.dims();
    let delta = delta.reshape([examples, groups, filters / groups, positions]);
    let patches = patches.reshape([examples, groups, seen / groups, positions]);
    rows(delta.matmul(patches.transpose()))
}

impl Traced<Tensor<4>> for Conv2d {
    type Output = Tensor<4>;

    fn traced(&self, input: Tensor<4>) -> Tensor<4> {
        let outputs = self.forward(input.clone());
        if !is_recording() {
            return outputs;
        }
        let (weight, bias) = (self.weight.id, self.bias.as_ref().map(|bias| bias.id));
        let parameters: Vec<_> = core::iter::once(weight).chain(bias).collect();
        let [_, _, height, width] = input.dims();
        let padding = match self.padding {
            PaddingConfig2d::Valid => [(0, 0); 2],
            PaddingConfig2d::Same => {
                [(height, 0), (width, 1)].map(|(length, axis)| same(length, self.kernel_size[axis], self.stride[axis]))
            }
            PaddingConfig2d::Explicit(top, left, bottom, right) => [(top, bottom), (left, right)],
        };
        let (input, kernel, stride, dilation, groups) =
            (input.inner(), self.kernel_size, self.stride, self.dilation, self.groups);
        probe("Conv2d", outputs, &parameters, move |delta: Tensor<4>| {
            let [examples, filters, height, width] = delta.dims();
            let delta = delta.reshape([examples, filters, height * width]);
            let patches = patches(input, kernel, stride, dilation, padding);
            let mut parts: Vec<Part> = vec![(weight, convolved(patches, delta.clone(), groups))];
            parts.extend(bias.map(|bias| (bias, delta.sum_dim(2).reshape([examples, filters]))));
            parts
        })
    }
}

impl Traced<Tensor<3>> for Conv1d {
    type Output = Tensor<3>;

    fn traced(&self, input: Tensor<3>) -> Tensor<3> {
        let outputs = self.forward(input.clone());
        if !is_recording() {
            return outputs;
        }
        let (weight, bias) = (self.weight.id, self.bias.as_ref().map(|bias| bias.id));
        let parameters: Vec<_> = core::iter::once(weight).chain(bias).collect();
        let [examples, channels, length] = input.dims();
        let padding = match self.padding {
            PaddingConfig1d::Valid => (0, 0),
            PaddingConfig1d::Same => same(length, self.kernel_size, self.stride),
            PaddingConfig1d::Explicit(left, right) => (left, right),
        };
        let input = input.inner().reshape([examples, channels, 1, length]);
        let (kernel, stride, dilation, groups) = (self.kernel_size, self.stride, self.dilation, self.groups);
        probe("Conv1d", outputs, &parameters, move |delta: Tensor<3>| {
            let [examples, filters, _] = delta.dims();
            let patches = patches(input, [1, kernel], [1, stride], [1, dilation], [(0, 0), padding]);
            let mut parts: Vec<Part> = vec![(weight, convolved(patches, delta.clone(), groups))];
            parts.extend(bias.map(|bias| (bias, delta.sum_dim(2).reshape([examples, filters]))));
            parts
        })
    }
}

impl<const D: usize> Traced<Tensor<D>> for LayerNorm {
    type Output = Tensor<D>;

    fn traced(&self, input: Tensor<D>) -> Tensor<D> {
        let outputs = self.forward(input.clone());
        if !is_recording() {
            return outputs;
        }
        let (gamma, beta) = (self.gamma.id, self.beta.as_ref().map(|beta| beta.id));
        let parameters: Vec<_> = core::iter::once(gamma).chain(beta).collect();
        let unit = self.clone().without_affine().forward(input.inner());
        probe("LayerNorm", outputs, &parameters, move |delta| {
            let mut parts: Vec<Part> = vec![(gamma, over_positions(delta.clone() * unit))];
            parts.extend(beta.map(|beta| (beta, over_positions(delta))));
            parts
        })
    }
}

impl<const D: usize> Traced<Tensor<D>> for RmsNorm {
    type Output = Tensor<D>;

    fn traced(&self, input: Tensor<D>) -> Tensor<D> {
        let outputs = self.forward(input.clone());
        if !is_recording() {
            return outputs;
        }
        let gamma = self.gamma.id;
        let unit = self.clone().without_affine().forward(input.inner());
        probe("RmsNorm", outputs, &[gamma], move |delta| vec![(gamma, over_positions(delta * unit))])
    }
}

impl<const D: usize> Traced<Tensor<D>> for GroupNorm {
    type Output = Tensor<D>;

    fn traced(&self, input: Tensor<D>) -> Tensor<D> {
        let outputs = self.forward(input.clone());
        let (Some(gamma), Some(beta), true) = (&self.gamma, &self.beta, is_recording()) else { return outputs };
        let (gamma, beta) = (gamma.id, beta.id);
        let unit = self.clone().without_affine().forward(input.inner());
        probe("GroupNorm", outputs, &[gamma, beta], move |delta: Tensor<D>| {
            let [examples, channels] = [delta.dims()[0], delta.dims()[1]];
            let of_channels = |terms: Tensor<D>| {
                let positions = terms.dims()[2..].iter().product::<usize>();
                terms.reshape([examples, channels, positions]).sum_dim(2).reshape([examples, channels])
            };
            vec![(gamma, of_channels(delta.clone() * unit)), (beta, of_channels(delta))]
        })
    }
}

/// A normalisation without factor and offset, on the inner device.
trait WithoutAffine {
    fn without_affine(self) -> Self;
}

/// Ones, in place of γ.
fn ones(gamma: &Param<Tensor<1>>) -> Param<Tensor<1>> {
    Param::from_tensor(gamma.val().inner().ones_like())
}

impl WithoutAffine for LayerNorm {
    fn without_affine(mut self) -> Self {
        self.gamma = ones(&self.gamma);
        self.beta = None;
        self
    }
}

impl WithoutAffine for RmsNorm {
    fn without_affine(mut self) -> Self {
        self.gamma = ones(&self.gamma);
        self
    }
}

impl WithoutAffine for GroupNorm {
    fn without_affine(self) -> Self {
        Self { gamma: None, beta: None, affine: false, ..self }
    }
}

/// Copies a parameter for each of `rows` examples, `[rows, …]`, with a rule: for class tokens,
/// positions and any other parameter that a model uses by itself. A batch of `rows` examples can be
/// computed with it by operations that keep examples apart.
pub fn expanded<const D: usize, const E: usize>(parameter: &Param<Tensor<D>>, rows: usize) -> Tensor<E> {
    assert_eq!(E, D + 1, "the copies have one dimension more than the parameter");
    let value = parameter.val();
    let mut shape = [1; E];
    shape[1..].copy_from_slice(&value.dims());
    let copies = value.reshape(shape).repeat_dim(0, rows);
    if examples().is_none() {
        return copies;
    }
    let id = parameter.id;
    probe("expanded", copies, &[id], move |delta: Tensor<E>| vec![(id, self::rows(delta))])
}

/// Computes the context of multi-head attention, `[batch, length, d_model]`, as its `forward` does:
/// of queries, keys and values, with a mask of padding, `[batch, length]`, and one of attention,
/// `[batch, length, length]` (true: hidden).
pub fn attended(
    attention: &MultiHeadAttention,
    [query, key, value]: [Tensor<3>; 3],
    mask_pad: Option<Tensor<2, Bool>>,
    mask_attn: Option<Tensor<3, Bool>>,
) -> Tensor<3> {
    let [batch, length, d_model] = query.dims();
    let heads = |linear: &Linear, input: Tensor<3>| {
        let [_, length, _] = input.dims();
        linear.traced(input).reshape([batch, length, attention.n_heads, attention.d_k]).swap_dims(1, 2)
    };
    let (query, key) = (heads(&attention.query, query), heads(&attention.key, key));
    let mut scores = query.matmul(key.transpose()).div_scalar((attention.d_k as f32).sqrt());
    if let Some(mask) = mask_pad {
        let [_, keys] = mask.dims();
        scores = scores.mask_fill(mask.reshape([batch, 1, 1, keys]), attention.min_float);
    }
    if let Some(mask) = mask_attn {
        let [_, queries, keys] = mask.dims();
        scores = scores.mask_fill(mask.reshape([batch, 1, queries, keys]), attention.min_float);
    }
    let weights = if attention.quiet_softmax { quiet_softmax(scores, 3) } else { softmax(scores, 3) };
    let context = attention.dropout.forward(weights).matmul(heads(&attention.value, value));
    attention.output.traced(context.swap_dims(1, 2).reshape([batch, length, d_model]))
}

impl Traced<Tensor<3>> for MultiHeadAttention {
    type Output = Tensor<3>;

    /// Self-attention without masks; [`attended`] has both.
    fn traced(&self, input: Tensor<3>) -> Tensor<3> {
        attended(self, [input.clone(), input.clone(), input], None, None)
    }
}

impl Traced<Tensor<3>> for PositionWiseFeedForward {
    type Output = Tensor<3>;

    fn traced(&self, input: Tensor<3>) -> Tensor<3> {
        let inner = self.activation.forward(self.linear_inner.traced(input));
        self.linear_outer.traced(self.dropout.forward(inner))
    }
}

impl Traced<Tensor<3>> for TransformerEncoderLayer {
    type Output = Tensor<3>;

    fn traced(&self, input: Tensor<3>) -> Tensor<3> {
        let normed = if self.norm_first { self.norm_2.traced(input.clone()) } else { input.clone() };
        let mut values = input + self.dropout.forward(self.mha.traced(normed));
        let inner = if self.norm_first {
            self.norm_1.traced(values.clone())
        } else {
            values = self.norm_1.traced(values);
            values.clone()
        };
        values = values + self.dropout.forward(self.pwff.traced(inner));
        if self.norm_first { values } else { self.norm_2.traced(values) }
    }
}

impl Traced<Tensor<3>> for TransformerEncoder {
    type Output = Tensor<3>;

    fn traced(&self, input: Tensor<3>) -> Tensor<3> {
        self.layers.iter().fold(input, |values, layer| layer.traced(values))
    }
}

#[cfg(test)]
#[path = "traced_tests.rs"]
mod tests;
