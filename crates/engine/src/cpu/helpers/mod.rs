//! Other threads that compute a share of a lot where no memory is shared: in the browser, plain workers beside the training thread, for which no page needs a header.
//!
//! A helper is sent parameters and the examples of its share, and answers with their sum; it keeps nothing from one order to the next but what an engine's tasks
//! have in common ([`Setup`]). A lot is cut into the pieces that the thread pool cuts it into, and without a grid these are added in the pool's order, so that a run is
//! the same, bit for bit, with any number of helpers. Noise, denoiser and update stay where the engine is. A share whose answer does not come is computed
//! there, too: a helper that dies costs no step.
//!
//! | file | subject |
//! | --- | --- |
//! | `messages` | what is ordered and answered |
//! | `transport` | how that travels: a trait, so that tests need no browser |
//! | `helper` | the other thread |
//! | `roster` | which helpers there are, what each knows, and who is late |
//! | `shares` | who computes which places of a lot |
//! | `assistance` | an engine's use of the roster |
//! | `measure` | how many helpers pay |

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
    messages::{Answer, Ask, Order, Setup, Told},
    transport::{Heard, Transport},
};
pub(super) use self::{
    assistance::{Assistance, Sought},
    measure::Measured,
};
