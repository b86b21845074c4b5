//! What the page needs of the browser.
//!
//! | module | what it is |
//! | --- | --- |
//! | `address` | addresses |
//! | `busy` | the mark of a page that is about to change |
//! | `elements` | elements of the page, and its clock |
//! | `files` | files |
//! | `frame` | the frame around an embedded page |
//! | `language` | the visitor's language |
//! | `pointing` | the element that a lesson speaks of, in sight |
//! | `theme` | colours |

mod address;
mod busy;
mod elements;
mod files;
mod frame;
mod language;
mod pointing;
mod theme;

pub use self::{address::*, busy::*, elements::*, files::*, frame::*, language::*, pointing::*, theme::*};
