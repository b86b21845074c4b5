//! LESSONS: the list, the lesson that is open, formulas with the numbers of the run.
//!
//! | module | what it is |
//! | --- | --- |
//! | `formulas` | formulas, with the numbers of the run |
//! | `hidden_states` | a figure: what steps leak whose models are not seen |
//! | `question` | a question with answers to choose from |
//! | `text` | a step's paragraphs, once their numbers are true |
//! | `panel` | the menu, and the strip of the lesson that is open |

pub mod formulas;
mod hidden_states;
pub mod panel;
mod question;
mod text;
