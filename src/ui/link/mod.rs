//! The state of the page in its address.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`encoding`] | keys and values, as an address may hold them |
//! | [`error`] | what can be wrong with one key |
//! | [`noise_query`] | what is asked of the noise lab |
//! | [`lock`] | what a task leaves free |
//! | [`handed_in`] | what a run that was handed in is said to have reached |
//! | [`address`] | what an address says of all else: reading and writing |

pub mod address;
pub mod encoding;
pub mod error;
pub mod handed_in;
pub mod lock;
pub mod noise_query;

pub use self::{
    address::{CORES, Link, read, read_onto},
    handed_in::HandedIn,
    lock::Lock,
    noise_query::NoiseQuery,
};
