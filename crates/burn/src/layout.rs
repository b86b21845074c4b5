//! The trainable parameters of a module, as one flat vector.

use burn::{
    module::{Module, ModuleVisitor, Param, ParamId},
    optim::GradientsParams,
    tensor::{Device, Tensor, TensorData},
};

/// A trainable parameter and its place in the flat vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub id: ParamId,
    /// Where it is in the module: `conv1.weight`.
    pub path: String,
    pub numbers: usize,
}

/// The trainable parameters of a module in its own order, and what in it cannot be trained privately.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    places: Vec<Place>,
    /// Path and type of a module whose outputs depend on the whole batch.
    pub mixes: Option<(String, String)>,
    path: Vec<String>,
}

/// Layers of Burn that mix examples, by their types' names.
const MIXES: [&str; 1] = ["BatchNorm"];

impl Layout {
    /// Lists the trainable parameters of `module`.
    pub fn of(module: &impl Module) -> Self {
        let mut layout = Self::default();
        module.visit(&mut layout);
        layout
    }

    /// Returns the trainable parameters.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Returns the number of trainable numbers, P.
    pub fn parameters(&self) -> usize {
        self.places.iter().map(|place| place.numbers).sum()
    }
}

impl ModuleVisitor for Layout {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.push(name.to_owned());
        let kind = container.rsplit(':').next().unwrap_or(container);
        if MIXES.contains(&kind) {
            // The layer itself: `name` is its first field.
            let path = self.path[..self.path.len() - 1].join(".");
            let path = if path.is_empty() { "the model".to_owned() } else { path };
            self.mixes.get_or_insert((path, kind.to_owned()));
        }
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.val().is_require_grad() {
            let numbers = param.val().shape().num_elements();
            self.places.push(Place { id: param.id, path: self.path.join("."), numbers });
        }
    }
}

/// Hands a flat vector to an optimizer.
struct Registered<'a> {
    rest: &'a [f32],
    device: Device,
    gradients: GradientsParams,
}

impl ModuleVisitor for Registered<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = param.val();
        if !value.is_require_grad() {
            return;
        }
        let (own, rest) = self.rest.split_at(value.shape().num_elements());
        self.rest = rest;
        let data = TensorData::new(own.to_vec(), value.shape());
        self.gradients.register(param.id, Tensor::<D>::from_data(data, (&self.device, value.dtype())));
    }
}

/// Returns a flat vector of gradients as an optimizer takes them.
///
/// # Panics
/// When it is shorter than the module's trainable parameters.
pub fn registered(module: &impl Module, flat: &[f32], device: &Device) -> GradientsParams {
    let device = device.clone().without_autodiff();
    let mut registered = Registered { rest: flat, device, gradients: GradientsParams::new() };
    module.visit(&mut registered);
    registered.gradients
}

/// Takes the gradients of one backward pass, as one row per parameter.
pub struct Taken<'a> {
    pub gradients: &'a mut GradientsParams,
    /// `[1, numbers]` of each trainable parameter; `None` if the loss does not depend on it.
    pub rows: Vec<Option<Tensor<2>>>,
}

impl ModuleVisitor for Taken<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if param.val().is_require_grad() {
            let row = self.gradients.remove::<D>(param.id);
            self.rows.push(row.map(|gradient| {
                let numbers = gradient.shape().num_elements();
                gradient.reshape([1, numbers])
            }));
        }
    }
}
