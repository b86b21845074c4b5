//! Records a forward pass: for each layer with parameters, a probe at its outputs and the rule that
//! turns ∂ℓ/∂outputs into per-example gradients.

use std::cell::RefCell;

use burn::{
    module::ParamId,
    tensor::{Gradients, Tensor},
};

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

/// Per-example gradients of one parameter, `[examples, numbers]`.
pub type Part = (ParamId, Tensor<2>);

/// Computes the parts of one layer from the gradients of the backward pass.
type Rule = Box<dyn FnOnce(&mut Gradients) -> Vec<Part>>;

/// A forward pass.
#[derive(Default)]
pub struct Tape {
    examples: usize,
    rules: Vec<Rule>,
    /// Parameters with a rule.
    covered: Vec<ParamId>,
    /// A layer whose inputs do not have one row per example.
    pub misfit: Option<Misfit>,
}

/// A layer whose inputs have another first dimension than the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The layer's type.
    pub layer: &'static str,
    /// Its first dimension.
    pub rows: usize,
    /// Number of examples in the batch.
    pub examples: usize,
}

impl Tape {
    /// Runs `forward` on `examples` examples, recording what the traced layers do.
    pub fn record<T>(examples: usize, forward: impl FnOnce() -> T) -> (T, Self) {
        let tape = Self { examples, ..Self::default() };
        let outer = TAPE.with_borrow_mut(|current| current.replace(tape));
        // Also restores the outer tape if `forward` panics.
        let restore = Restore(Some(outer));
        let out = forward();
        let tape = TAPE.with_borrow_mut(Option::take).unwrap_or_default();
        drop(restore);
        (out, tape)
    }

    /// Returns the parameters that have a rule.
    pub fn covered(&self) -> &[ParamId] {
        &self.covered
    }

    /// Applies all rules. A parameter that was used twice has two parts, to be added.
    pub fn parts(self, gradients: &mut Gradients) -> Vec<Part> {
        self.rules.into_iter().flat_map(|rule| rule(gradients)).collect()
    }
}

struct Restore(Option<Option<Tape>>);

impl Drop for Restore {
    fn drop(&mut self) {
        if let Some(outer) = self.0.take() {
            TAPE.with_borrow_mut(|current| *current = outer);
        }
    }
}

/// True while a forward pass is recorded.
pub fn is_recording() -> bool {
    TAPE.with_borrow(Option::is_some)
}

/// Returns the number of examples of the pass that is recorded.
pub fn examples() -> Option<usize> {
    TAPE.with_borrow(|tape| tape.as_ref().map(|tape| tape.examples))
}

/// Adds a probe to a layer's outputs. `rule` gets ∂(Σ losses)/∂outputs, whose row i is that of
/// example i alone, as no other example's loss depends on it.
pub fn probe<const D: usize>(
    layer: &'static str,
    outputs: Tensor<D>,
    parameters: &[ParamId],
    rule: impl FnOnce(Tensor<D>) -> Vec<Part> + 'static,
) -> Tensor<D> {
    let rows = outputs.dims()[0];
    let fits = TAPE.with_borrow_mut(|tape| {
        let Some(tape) = tape else { return false };
        if rows != tape.examples {
            tape.misfit.get_or_insert(Misfit { layer, rows, examples: tape.examples });
            return false;
        }
        tape.covered.extend_from_slice(parameters);
        true
    });
    if !fits {
        return outputs;
    }
    let options = (&outputs.device().autodiff(), outputs.dtype());
    let probe = Tensor::<D>::zeros(outputs.dims(), options).require_grad();
    let kept = probe.clone();
    let rule: Rule = Box::new(move |gradients| match kept.grad_remove(gradients) {
        Some(delta) => rule(delta),
        // The loss does not depend on this layer.
        None => vec![],
    });
    TAPE.with_borrow_mut(|tape| {
        if let Some(tape) = tape {
            tape.rules.push(rule);
        }
    });
    outputs + probe
}
