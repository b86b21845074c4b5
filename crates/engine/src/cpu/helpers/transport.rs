//! How orders and answers travel.

use std::time::Duration;

use futures::future::LocalBoxFuture;

use super::messages::{Answer, Order};

/// What is heard of a helper.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// It takes orders from now on.
    Ready,
    Answer(Answer),
    /// It has ended, or never began.
    Failed,
}

/// Threads that were started as helpers, each with a number below [`Transport::count`]. Orders to one helper arrive in order. Nothing else is relied on: what is
/// heard may be late, twice, in any order, or not at all.
pub trait Transport: Send {
    fn count(&self) -> usize;

    /// Sends an order; one to a helper that is no more is lost.
    fn send(&mut self, helper: usize, order: Order);

    /// What has been heard by now, piece by piece.
    fn heard(&mut self) -> Option<(usize, Heard)>;

    /// The next that is heard, within this time.
    fn hear(&mut self, within: Duration) -> LocalBoxFuture<'_, Option<(usize, Heard)>>;

    /// Ends a helper.
    fn end(&mut self, helper: usize);
}
