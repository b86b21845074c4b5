pub mod error;
pub mod gradients;
mod layout;
pub mod tape;
pub mod traced;

pub use error::BurnError;
pub use gradients::{Method, PrivateModel, Reason};
pub use traced::{Traced, attended, expanded};
pub mod learner;
mod sum;
pub use learner::{DpSgd, PrivateLearner};
