//! Attacks that people recognise, each on a run's own release and beside the bound that its privacy sets.
//!
//! | attack | the attacker has | it shows | module |
//! | --- | --- | --- | --- |
//! | loss-threshold membership inference | the trained model alone | how surely a mislabelled image is told to have been trained on | [`membership`] |
//! | the candidate game | every noisy step, all examples but one | which of N candidates was in, beside the most that is possible | [`game`] |
//! | gradient inversion | one noisy gradient of one image | the image, as far as noise leaves it | [`inversion`] |
//! | likelihood ratios against shadow models | the trained model, and models like it | the first, of ordinary images | [`lira`] |
//!
//! [`roc`] judges scores, and says what (ε, δ) and a whole privacy curve forbid of them. Bounds on ε from below are the accounting crate's
//! ([`audit`](crate::accounting::audit)). Nothing here reads a clock or starts a thread: what takes long is an object that is advanced piece by piece.

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
