//! Messages to the training thread's loop.

use super::{loader::Arrival, protocol::Request, run_store::StoreError, write_ahead::Block};

pub enum Incoming {
    Request(Request),
    /// A part of what the load with this number brings.
    Arrival {
        load: u32,
        arrival: Arrival,
    },
    /// Whether the store recorded this block of this run's releases as spent.
    Reserved {
        run: u32,
        block: Block,
        result: Result<(), StoreError>,
    },
    /// Whether the store saved this run as of `step`.
    Saved {
        run: u32,
        step: u64,
        result: Result<(), StoreError>,
    },
}
