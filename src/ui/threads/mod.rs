//! Clients of the page's two threads.
//!
//! | module | what it is |
//! | --- | --- |
//! | `accountant` | client of the accountant's thread |
//! | `thread` | a thread, and whether it lives |
//! | `training` | client of the training thread |

pub mod accountant;
mod thread;
pub mod training;
