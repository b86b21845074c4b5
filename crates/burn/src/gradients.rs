//! The gradient of each example of a batch.

use std::collections::HashSet;

use burn::{
    module::{Module, ParamId},
    optim::GradientsParams,
    tensor::{Device, Tensor},
};

use crate::{
    error::BurnError,
    layout::{Layout, Taken},
    tape::{Misfit, Tape},
};

/// A model with one loss per example.
pub trait PrivateModel<Batch>: Module {
    /// Returns the loss of each example, `[examples]`, in the batch's order. A loss must depend on its
    /// own example alone.
    fn losses(&self, batch: Batch) -> Tensor<1>;
}

/// How per-example gradients are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// By the layers' rules, in one backward pass of a batch.
    Rules,
    /// One example at a time: correct for any model, and slower. Says why.
    OneByOne(Reason),
}

/// Why the rules do not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A trainable parameter is used by a layer that is not [`traced`](crate::Traced).
    Untraced {
        /// Its place in the model.
        path: String,
    },
    /// A traced layer's inputs do not have one row per example.
    Misfit(Misfit),
    /// It was asked for.
    Chosen,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Rules => f.write_str("per-example gradients by the layers' rules, in one backward pass"),
            Self::OneByOne(Reason::Chosen) => f.write_str("per-example gradients one example at a time, as chosen"),
            Self::OneByOne(Reason::Untraced { path }) => write!(
                f,
                "per-example gradients one example at a time, which is slower: {path} is used without `traced` or `expanded`"
            ),
            Self::OneByOne(Reason::Misfit(Misfit { layer, rows, examples })) => write!(
                f,
                "per-example gradients one example at a time, which is slower: a {layer} gets {rows} rows for {examples} examples"
            ),
        }
    }
}

/// Gradients of a batch: for each trainable parameter `[examples, numbers]`, on the device.
pub type PerExample = Vec<Tensor<2>>;

/// Computes the gradients of a batch by the layers' rules.
///
/// # Errors
/// The reason why the rules do not apply; the model's own errors are panics of Burn.
pub fn by_rules<M: Module, B>(
    model: &M,
    layout: &Layout,
    examples: usize,
    batch: B,
    losses: impl FnOnce(&M, B) -> Tensor<1>,
    device: &Device,
) -> Result<Result<PerExample, Reason>, BurnError> {
    // Parameters are constants: only the probes have gradients.
    let constant = model.clone().no_grad();
    let (losses, tape) = Tape::record(examples, || losses(&constant, batch));
    check_losses(&losses, examples)?;
    if let Some(misfit) = tape.misfit.clone() {
        return Ok(Err(Reason::Misfit(misfit)));
    }
    let covered: HashSet<ParamId> = tape.covered().iter().copied().collect();
    if let Some(place) = layout.places().iter().find(|place| !covered.contains(&place.id)) {
        return Ok(Err(Reason::Untraced { path: place.path.clone() }));
    }
    let mut gradients = losses.sum().backward();
    let mut rows: Vec<Option<Tensor<2>>> = layout.places().iter().map(|_| None).collect();
    for (id, part) in tape.parts(&mut gradients) {
        // Frozen parameters have rules, too.
        let Some(at) = layout.places().iter().position(|place| place.id == id) else { continue };
        rows[at] = Some(match rows[at].take() {
            Some(sum) => sum + part,
            None => part,
        });
    }
    Ok(Ok(filled(rows, layout, examples, device)))
}

/// Computes the gradient of one example by Burn's automatic differentiation.
///
/// # Errors
/// [`BurnError::Losses`].
pub fn of_one<M: Module, B>(
    model: &M,
    layout: &Layout,
    batch: B,
    losses: impl FnOnce(&M, B) -> Tensor<1>,
    device: &Device,
) -> Result<PerExample, BurnError> {
    let losses = losses(model, batch);
    check_losses(&losses, 1)?;
    let mut gradients = GradientsParams::from_grads(losses.sum().backward(), model);
    let mut taken = Taken { gradients: &mut gradients, rows: vec![] };
    model.visit(&mut taken);
    Ok(filled(taken.rows, layout, 1, device))
}

fn check_losses(losses: &Tensor<1>, examples: usize) -> Result<(), BurnError> {
    let [found] = losses.dims();
    if found == examples { Ok(()) } else { Err(BurnError::Losses { found, examples }) }
}

/// Puts zeros where no loss depends on a parameter.
fn filled(rows: Vec<Option<Tensor<2>>>, layout: &Layout, examples: usize, device: &Device) -> PerExample {
    let device = device.clone().without_autodiff();
    let zeros = |numbers| Tensor::zeros([examples, numbers], &device);
    rows.into_iter().zip(layout.places()).map(|(row, place)| row.unwrap_or_else(|| zeros(place.numbers))).collect()
}
