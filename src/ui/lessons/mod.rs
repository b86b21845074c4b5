//! LESSONS: the list, the open lesson, and formulas with the run's numbers.
//!
//! | module | what it is |
//! | --- | --- |
//! | `formulas` | formulas with the run's numbers |
//! | `question` | a multiple-choice question |
//! | `text` | a step's paragraphs, once their numbers are true |
//! | `panel` | the menu, and the strip of the open lesson |

pub mod formulas;
pub mod panel;
mod question;
mod text;
