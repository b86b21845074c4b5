//! Differentially private training of [Burn](burn) models (DP-SGD; Abadi et al. 2016).
//!
//! ```
//! use burn::{
//!     data::{dataloader::batcher::Batcher, dataset::InMemDataset},
//!     module::Module,
//!     nn::{Linear, LinearConfig},
//!     optim::SgdConfig,
//!     tensor::{Device, Tensor, TensorData},
//! };
//! use hushgrad_burn::{DpSgd, PrivateLearner, PrivateModel, Traced};
//!
//! #[derive(Module, Debug)]
//! struct Line {
//!     linear: Linear,
//! }
//!
//! // One loss per example, and `traced` instead of `forward`.
//! impl PrivateModel<[Tensor<2>; 2]> for Line {
//!     fn losses(&self, [x, y]: [Tensor<2>; 2]) -> Tensor<1> {
//!         let [examples, _] = x.dims();
//!         (self.linear.traced(x) - y).powi_scalar(2).reshape([examples])
//!     }
//! }
//!
//! struct Points;
//!
//! impl Batcher<[f32; 2], [Tensor<2>; 2]> for Points {
//!     fn batch(&self, points: Vec<[f32; 2]>, device: &Device) -> [Tensor<2>; 2] {
//!         [0, 1].map(|axis| {
//!             let values: Vec<f32> = points.iter().map(|point| point[axis]).collect();
//!             Tensor::from_data(TensorData::new(values, [points.len(), 1]), device)
//!         })
//!     }
//! }
//!
//! let points: Vec<[f32; 2]> = (0..1000).map(|i| i as f32 / 1000.0).map(|x| [x, 2.0 * x + 1.0]).collect();
//! let data = InMemDataset::new(points);
//! // At most ε = 3 at δ = 1e-5 for 40 steps with batches of about 100.
//! let config = DpSgd::within(3.0, 1e-5, 40, 1.0, 100, 1000)?;
//! let model = Line { linear: LinearConfig::new(1, 1).init(&Device::flex()) };
//! let mut learner = PrivateLearner::new(model, SgdConfig::new().init(), config, 1000)?;
//! for _ in 0..40 {
//!     learner.step(&data, &Points, 0.5)?;
//! }
//! let epsilon = learner.epsilon()?.value;
//! assert!(epsilon > 2.9 && epsilon <= 3.0);
//! # Ok::<(), hushgrad_burn::BurnError>(())
//! ```
//!
//! | module | what it is |
//! | --- | --- |
//! | [`learner`] | settings ([`DpSgd`]) and training ([`PrivateLearner`]) |
//! | [`traced`] | rules for Burn's layers ([`Traced`]) |
//! | [`gradients`] | the model's side ([`PrivateModel`]), and how gradients are computed ([`Method`]) |
//! | [`error`] | why training is refused |
//!
//! *What holds.* Neighbours differ by one example, added or removed; the number of examples is public.
//! A loss must depend on its own example alone: gradients are computed for a whole batch at once, and
//! a model that mixes examples in ways unknown here (`BatchNorm` is refused) has no guarantee.
//! [`DpSgd::one_by_one`] computes each gradient from a batch of one, which keeps them apart whatever
//! the model does. Dropout and other randomness within the model is Burn's own, and need not be secret.

pub mod error;
pub mod gradients;
mod layout;
pub mod learner;
mod sum;
mod tape;
pub mod traced;

pub use error::BurnError;
pub use gradients::{Method, PrivateModel, Reason};
pub use learner::{DpSgd, PrivateLearner};
pub use tape::Misfit;
pub use traced::{Traced, attended, expanded};
