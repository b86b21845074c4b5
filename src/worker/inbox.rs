//! What the training thread's loop finds in its inbox.

use super::{loader::Arrival, protocol::Request, run_store::StoreError};

/// What reaches the loop: the page's requests, digits as they arrive, and the run store's answers.
pub enum Message {
    Request(Request),
    /// A part of what the load with this number brings.
    Arrival {
        load: u32,
        arrival: Arrival,
    },
    /// Whether the store holds releases up to `upto` of this run as spent.
    Reserved {
        run: u32,
        upto: u64,
        result: Result<(), StoreError>,
    },
    /// Whether the store holds this run as it stood at `step`.
    Saved {
        run: u32,
        step: u64,
        result: Result<(), StoreError>,
    },
}
