//! The place where the training thread's loop runs: a browser's thread, or a test.

use std::time::Duration;

use super::{
    load_error::LoadError,
    protocol::{Event, NetworkRequest},
    reading::{Reader, ReaderError},
    run_store::Store,
};
use crate::{data::idx, engine::cpu::helpers::Helpers};

/// What the loop needs of the place where it runs.
#[expect(async_fn_in_trait, reason = "one thread; no Send bound is wanted")]
pub trait Host: Store + 'static {
    /// Bytes at a URL of the page's own origin.
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, LoadError>;
    /// The same bytes from the network, where a copy that the browser kept turned out to be damaged.
    async fn fetch_anew(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        self.fetch(url).await
    }
    /// Keeps bytes that came from a URL and passed their check, for a visit without a network.
    fn keep(&self, _url: &str, _bytes: &[u8]) {}
    /// SHA-256 of bytes, in lower-case hexadecimal digits.
    async fn sha256(&self, bytes: &[u8]) -> String {
        idx::sha256(&[bytes])
    }
    /// A reader of one visitor's files, beside this thread; the loader at `address` starts its program.
    ///
    /// # Errors
    /// It cannot be started.
    fn reader(&self, address: &str) -> Result<Reader, ReaderError>;
    /// Gives the event loop one turn, in which messages arrive. Only the agent's loop may call it, and not twice at a time; a task beside
    /// the loop calls [`sleep`](Self::sleep) instead.
    async fn yield_now(&self);
    /// Waits; messages arrive meanwhile.
    async fn sleep(&self, time: Duration);
    /// Runs a task beside the loop.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);
    /// Threads beside this one, so that so many compute in all; `None`: as many as the machine has cores to spare for it. There are none where this one computes alone.
    fn helpers(&self, _cores: Option<u32>) -> Option<Helpers> {
        None
    }
    /// Tells the page.
    fn send(&self, event: Event);
    /// Requests that this thread has made.
    fn requests(&self) -> Vec<NetworkRequest>;
}
