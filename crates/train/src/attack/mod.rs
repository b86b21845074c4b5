//! Well-known attacks, each on a run's own release, with the bound that its privacy sets.
//!
//! | attack | the attacker has | it shows | module |
//! | --- | --- | --- | --- |
//! | loss-threshold membership inference | the trained model alone | how surely a mislabelled image is recognised as trained on | [`membership`] |
//! | the candidate game | every noisy step, all examples but one | which of N candidates was in, against the most that is possible | [`game`] |
//! | gradient inversion | one noisy gradient of one image | the image, as far as noise leaves it | [`inversion`] |
//! | likelihood ratios against shadow models | the trained model, and models like it | membership of ordinary images | [`lira`] |
//!
//! [`roc`] evaluates scores, and what (ε, δ) or a whole privacy curve forbids of them. Lower bounds
//! on ε are in the accounting crate ([`audit`](crate::accounting::audit)). Nothing here reads a
//! clock or starts a thread: anything slow is an object that is advanced piece by piece.

#![warn(missing_docs)]

mod coins;
mod error;
mod estimate;
pub mod game;
mod increments;
pub mod inversion;
pub mod lira;
pub mod membership;
mod perceptron;
mod progress;
pub mod roc;
mod singular;

pub use error::AttackError;
pub use estimate::Estimate;
pub use progress::Progress;
