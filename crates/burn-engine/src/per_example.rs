//! Per-example gradients of a whole batch in one backward pass.
//!
//! Automatic differentiation gives ∂(Σ losses)/∂W, a sum over the batch. An example's part follows
//! from a layer's inputs x and from ∂ℓ/∂y at its outputs y = W·x + b (Goodfellow 2015; Rochette,
//! Manoel & Tramel 2019 for convolutions). Zeros added to y collect ∂ℓ/∂y: no loss depends on
//! another example's outputs, so one backward pass through the sum of losses gives them all. Then
//!
//! | layer | ∂ℓ/∂W | ∂ℓ/∂b |
//! | --- | --- | --- |
//! | dense | ∂ℓ/∂y · xᵀ | ∂ℓ/∂y |
//! | normalised groups, y = γ·u + β | Σ over a channel of ∂ℓ/∂y · u | Σ over a channel of ∂ℓ/∂y |
//! | convolution | Σ over positions of ∂ℓ/∂y · (patch of x)ᵀ | Σ over positions of ∂ℓ/∂y |
//!
//! as one batched product per layer, without copying weights; copies of an example add terms.

use burn::tensor::{Int, Tensor, TensorData, activation::log_softmax};
use hushgrad_core::model::layers::LayerSpec;

use crate::{
    error::{BurnError, check_length},
    model::{Model, Parameters, Real, normalised},
};

/// Examples whose gradients are computed together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The network's inputs, example by example and copy by copy.
    pub inputs: &'a [f32],
    /// Label of each example, below the number of classes.
    pub labels: &'a [u8],
    /// Number of copies over which each example's gradient is averaged, at least 1.
    pub copies: usize,
}

/// Losses and gradients of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct PerExample<E> {
    /// Softmax cross-entropy in nats of each example, averaged over its copies.
    pub losses: Vec<E>,
    /// Gradient of each loss: P values in flat order, example by example.
    pub gradients: Vec<E>,
}

impl<E: Real> Model<E> {
    /// Computes loss and gradient of each example, with the whole batch in memory at once.
    ///
    /// # Errors
    /// When lengths do not match, a label is no class of the network, or the device fails.
    pub async fn gradients(&self, parameters: &Parameters, batch: Batch<'_>) -> Result<PerExample<E>, BurnError> {
        let Batch { inputs, labels, copies } = batch;
        let (examples, copies) = (labels.len(), copies.max(1));
        let rows = examples * copies;
        check_length("inputs", inputs.len(), rows * self.network().inputs())?;
        if let Some(&label) = labels.iter().find(|&&label| usize::from(label) >= self.network().classes()) {
            return Err(BurnError::Label { label, classes: self.network().classes() });
        }
        if examples == 0 {
            return Ok(PerExample { losses: Vec::new(), gradients: Vec::new() });
        }
        let device = self.device().clone().autodiff();
        let mut layers: Vec<(usize, Tensor<2>, Tensor<2>)> = Vec::new();
        let inputs = self.tensor(inputs, [rows, self.network().inputs()], &device);
        let logits = self.forward(&parameters.as_constants(), inputs, |stage, inputs, outputs| {
            let probe = Tensor::zeros(outputs.dims(), (&device, E::dtype())).require_grad();
            layers.push((stage, inputs.inner(), probe.clone()));
            outputs + probe
        });
        let labels = labels.iter().flat_map(|&label| core::iter::repeat_n(i32::from(label), copies)).collect();
        let labels = Tensor::<2, Int>::from_data(TensorData::new::<i32, _>(labels, [rows, 1]), &device);
        let losses = -log_softmax(logits, 1).gather(1, labels);
        let mut backward = losses.clone().sum().backward();
        let losses = losses.inner().reshape([examples, copies]).mean_dim(1);

        let mut flat = vec![losses];
        for (stage, inputs, probe) in layers {
            // Every probe is on the path to the loss.
            let delta = probe
                .grad_remove(&mut backward)
                .unwrap_or_else(|| Tensor::zeros(probe.dims(), (self.device(), E::dtype())));
            let [weights, biases] = self.layer(stage, inputs, delta, examples, copies);
            flat.extend([weights, biases]);
        }
        // Transfer everything at once.
        let together = Tensor::cat(flat, 1).into_data_async().await?.try_into_vec::<E>()?;
        let columns = 1 + self.network().parameters();
        check_length("numbers of gradients", together.len(), examples * columns)?;
        let (mut losses, mut gradients) = (Vec::with_capacity(examples), Vec::with_capacity(together.len()));
        for row in together.chunks_exact(columns) {
            losses.push(row[0]);
            gradients.extend_from_slice(&row[1..]);
        }
        Ok(PerExample { losses, gradients })
    }

    /// Returns a layer's weight and bias gradients per example, from inputs and ∂ℓ/∂outputs.
    fn layer(
        &self,
        stage: usize,
        inputs: Tensor<2>,
        delta: Tensor<2>,
        examples: usize,
        copies: usize,
    ) -> [Tensor<2>; 2] {
        let placed = &self.network().stages()[stage];
        if let LayerSpec::GroupNorm { groups } = placed.spec {
            let (channels, area) = placed.input.channels();
            let sums = |terms: Tensor<2>| -> Tensor<2> {
                let terms = terms.reshape([examples, copies, channels, area]).sum_dim(3).sum_dim(1);
                terms.reshape([examples, channels]).div_scalar(copies as f64)
            };
            return [sums(delta.clone() * normalised(inputs, groups.into())), sums(delta)];
        }
        // `[examples, outputs, terms]` by `[examples, terms, fan-in]`.
        let (delta, seen) = match (placed.layer, &self.patches[stage]) {
            (Some(layer), Some(patches)) => {
                let [rows, values] = delta.dims();
                let positions = values / layer.outputs;
                let delta = delta.reshape([examples, copies, layer.outputs, positions]).swap_dims(1, 2);
                let patches = patches.of(inputs).reshape([examples, rows / examples * positions, layer.fan_in]);
                (delta.reshape([examples, layer.outputs, copies * positions]), patches)
            }
            _ => {
                let ([_, outputs], [_, fan_in]) = (delta.dims(), inputs.dims());
                let delta = delta.reshape([examples, copies, outputs]).swap_dims(1, 2);
                (delta, inputs.reshape([examples, copies, fan_in]))
            }
        };
        let biases: Tensor<2> = delta.clone().sum_dim(2).squeeze_dim(2);
        let weights = delta.matmul(seen);
        let [_, outputs, fan_in] = weights.dims();
        let weights: Tensor<2> = weights.reshape([examples, outputs * fan_in]);
        if copies == 1 {
            return [weights, biases];
        }
        [weights, biases].map(|sum| sum.div_scalar(copies as f64))
    }
}
