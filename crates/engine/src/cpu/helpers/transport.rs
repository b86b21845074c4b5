//! How orders and answers travel.

use std::time::Duration;

use futures::future::LocalBoxFuture;

use super::messages::{Answer, Order};

/// A message from or about a helper.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// It is ready for orders.
    Ready,
    Answer(Answer),
    /// It ended, or never started.
    Failed,
}

/// Started helper threads, with numbers below [`Transport::count`]. Orders to one helper must
/// arrive in order. Messages from helpers may be late, duplicated, reordered or lost.
pub trait Transport: Send {
    fn count(&self) -> usize;

    /// Sends an order; one to a helper that is gone is lost.
    fn send(&mut self, helper: usize, order: Order);

    /// Returns the next message that has arrived, if any.
    fn heard(&mut self) -> Option<(usize, Heard)>;

    /// Waits at most `within` for the next message.
    fn hear(&mut self, within: Duration) -> LocalBoxFuture<'_, Option<(usize, Heard)>>;

    /// Ends a helper.
    fn end(&mut self, helper: usize);
}
