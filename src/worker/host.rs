//! The environment of the training thread's loop: a browser's thread, or a test.

use std::time::Duration;

use super::{
    load_error::LoadError,
    protocol::{Event, NetworkRequest},
    reading::{Reader, ReaderError},
    run_store::Store,
};
use crate::{data::idx, engine::cpu::helpers::Helpers};

/// What the loop needs from its environment.
#[expect(async_fn_in_trait, reason = "one thread; no Send bound is wanted")]
pub trait Host: Store + 'static {
    /// Fetches a URL of the page's own origin.
    async fn fetch(&self, url: &str) -> Result<Vec<u8>, LoadError>;
    /// Fetches it from the network again, if the browser's copy turned out to be damaged.
    async fn fetch_anew(&self, url: &str) -> Result<Vec<u8>, LoadError> {
        self.fetch(url).await
    }
    /// Keeps verified bytes of a URL for offline visits.
    fn keep(&self, _url: &str, _bytes: &[u8]) {}
    /// Computes SHA-256 of bytes, in lower-case hexadecimal digits.
    async fn sha256(&self, bytes: &[u8]) -> String {
        idx::sha256(&[bytes])
    }
    /// Starts a reader of a visitor's files in a thread of its own, by the loader at `address`.
    ///
    /// # Errors
    /// If it cannot be started.
    fn reader(&self, address: &str) -> Result<Reader, ReaderError>;
    /// Yields for one turn of the event loop, in which messages arrive. Only the agent's loop may
    /// call it, once at a time; other tasks call [`sleep`](Self::sleep) instead.
    async fn yield_now(&self);
    /// Waits; messages arrive meanwhile.
    async fn sleep(&self, time: Duration);
    /// Runs a task concurrently with the loop.
    fn spawn(&self, task: impl Future<Output = ()> + 'static);
    /// Starts helpers, so that `cores` threads compute in all (`None`: as many as it can spare).
    fn helpers(&self, _cores: Option<u32>) -> Option<Helpers> {
        None
    }
    /// Sends an event to the page.
    fn send(&self, event: Event);
    /// Returns the network requests of this thread and its readers.
    fn requests(&self) -> Vec<NetworkRequest>;
}
