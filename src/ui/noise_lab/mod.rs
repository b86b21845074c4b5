//! THE NOISE LAB: families at equal privacy, and noise of one's own.
//!
//! | module | what it is |
//! | --- | --- |
//! | `answers` | what the accountant found |
//! | `comparison` | what it is asked, and its answers |
//! | `panel` | the panel |
//! | `plots` | its charts |
//! | `questions` | what the visitor asks |

mod answers;
mod comparison;
pub mod panel;
mod plots;
mod questions;
