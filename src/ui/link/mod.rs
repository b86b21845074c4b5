//! The state of the page in its address.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`noise_query`] | what is asked of the noise lab |
//! | [`query`] | reading and writing |

pub mod noise_query;
pub mod query;
