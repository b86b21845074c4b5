//! THE NOISE LAB: families at equal privacy, and custom noise.
//!
//! | module | contents |
//! | --- | --- |
//! | `answers` | the accountant's results |
//! | `comparison` | questions to the accountant, and its answers |
//! | `panel` | the panel |
//! | `plots` | its charts |
//! | `questions` | the visitor's choices |

mod answers;
mod comparison;
pub mod panel;
mod plots;
mod questions;
