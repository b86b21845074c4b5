//! LESSONS: the list, the lesson that is open, formulas with the numbers of the run.
//!
//! | module | what it is |
//! | --- | --- |
//! | `formulas` | formulas, with the numbers of the run |
//! | `hidden_states` | a figure: what steps leak whose models are not seen |
//! | `panel` | the menu and the lesson |

pub mod formulas;
mod hidden_states;
pub mod panel;
