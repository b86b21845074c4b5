//! The state of the page in its address.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`encoding`] | keys and values, as an address may hold them |
//! | [`error`] | what can be wrong with one key |
//! | [`noise_query`] | what is asked of the noise lab |
//! | [`address`] | all that an address says: reading and writing |

pub mod address;
pub mod encoding;
pub mod error;
pub mod noise_query;

pub use self::{
    address::{Link, read, read_onto},
    noise_query::NoiseQuery,
};
