//! Threads of the page and their messages. The training thread ([`protocol`], [`agent`]) trains.
//! The accountant ([`accounts`]) prices runs and reads run files, so that the page contains no
//! accounting and is answered during long steps. A third ([`reading`]) reads visitors' files.

#[cfg(target_arch = "wasm32")]
pub mod accountant;
pub mod accounts;
pub mod agent;
pub mod annealing;
#[cfg(target_arch = "wasm32")]
pub mod asked;
pub mod attacking;
mod background;
#[cfg(target_arch = "wasm32")]
pub mod browser;
#[cfg(target_arch = "wasm32")]
pub mod codec;
pub mod counting;
#[cfg(target_arch = "wasm32")]
mod decoding;
pub mod elsewhere;
pub mod follow;
pub mod functional;
pub mod games;
#[cfg(target_arch = "wasm32")]
pub mod helping;
pub mod host;
pub mod inbox;
pub mod jobs;
pub mod lab;
pub mod load_error;
pub mod loader;
pub mod look;
pub(crate) mod opening_prices;
pub mod protocol;
pub mod read_set;
#[cfg(target_arch = "wasm32")]
pub mod reader_thread;
pub mod reading;
pub mod run_log;
pub mod run_store;
pub mod snapshot;
#[cfg(target_arch = "wasm32")]
mod storage;
pub mod together;
#[cfg(target_arch = "wasm32")]
mod transfer;
pub mod write_ahead;
