//! What the page needs of the browser.
//!
//! | module | what it is |
//! | --- | --- |
//! | `address` | addresses |
//! | `elements` | elements of the page, and its clock |
//! | `files` | files |
//! | `frame` | the frame around an embedded page |
//! | `theme` | colours |

mod address;
mod elements;
mod files;
mod frame;
mod theme;

pub use self::{address::*, elements::*, files::*, frame::*, theme::*};
