//! Threads that compute shares of a lot without shared memory: in the browser, plain workers beside
//! the training thread, which need no header from the page's server.
//!
//! A helper receives parameters and the examples of its share, and answers with their sum. Between
//! orders it keeps only what an engine's tasks have in common ([`Setup`]). A lot has the same
//! pieces as in the thread pool, added in the same order if there is no grid, so a run is the same,
//! bit for bit, with any number of helpers. Noise, denoiser and update stay with the engine. It
//! computes any share whose answer does not come: a dead helper costs no step.
//!
//! | file | subject |
//! | --- | --- |
//! | `messages` | orders and answers |
//! | `transport` | how they travel: a trait, so that tests need no browser |
//! | `helper` | the helper thread |
//! | `roster` | which helpers exist, what each knows, and which are late |
//! | `shares` | which places of a lot each thread computes |
//! | `assistance` | an engine's use of the roster |
//! | `measure` | how many helpers pay off |

mod assistance;
mod helper;
mod measure;
mod messages;
mod roster;
mod shares;
mod transport;

pub use self::{
    assistance::Helpers,
    helper::Helper,
    messages::{Answer, Ask, Order, Reply, Setup},
    transport::{Heard, Transport},
};
pub(super) use self::{
    assistance::{HelperPool, PendingSum},
    measure::Measured,
};
