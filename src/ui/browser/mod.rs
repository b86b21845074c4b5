//! Access to the browser.
//!
//! | module | what it is |
//! | --- | --- |
//! | `address` | addresses |
//! | `busy` | marks the page while it is about to change |
//! | `elements` | elements of the page, and its clock |
//! | `files` | files |
//! | `frame` | the frame around an embedded page |
//! | `language` | the visitor's language |
//! | `pointing` | frames the element that a lesson refers to |
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
