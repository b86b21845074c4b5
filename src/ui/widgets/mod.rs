//! Widgets of the panels.
//!
//! | module | contents |
//! | --- | --- |
//! | `chart` | a small chart |
//! | `colours` | numbers as colours, on a canvas |
//! | `hint` | ⓘ, and a field under its label |
//! | `messages` | the error and the notice |
//! | `number` | a labelled number |
//! | `select` | a labelled choice |
//! | `teaching` | the mark of a teaching view |
//! | `typed` | text fields: custom density, phases, layers' norms |
//! | `word` | words with a door |

pub mod chart;
pub mod colours;
pub mod hint;
pub mod messages;
pub mod number;
pub mod select;
pub mod teaching;
pub mod typed;
pub mod word;
