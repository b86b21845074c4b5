//! MY OWN TRAINING: ε of a training elsewhere, from its numbers or from a file of its library.
//!
//! | module | contents |
//! | --- | --- |
//! | `fields` | the numbers and choices |
//! | `panel` | the panel |

mod fields;
pub mod panel;
