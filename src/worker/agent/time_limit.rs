//! Every question to the run store has a time limit, so that a store that hangs does not stop the loop.

use std::{pin::pin, time::Duration};

use futures::future::{Either, select};

use crate::worker::{
    host::Host,
    run_store::{Change, PATIENCE, PATIENCE_BESIDE, StoreError},
};

/// The store's answer, or [`StoreError::Silent`] after [`PATIENCE`]. A question that is dropped then changes nothing.
pub(super) async fn within<H: Host, T>(
    host: &H,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    limited(host, PATIENCE, answer).await
}

async fn limited<H: Host, T>(
    host: &H,
    limit: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match select(pin!(answer), pin!(host.sleep(limit))).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(StoreError::Silent(limit)),
    }
}

/// Makes all of `changes` or none, within the time limit.
pub(super) async fn write<H: Host>(host: &H, changes: Vec<Change>) -> Result<(), StoreError> {
    within(host, host.write(changes)).await
}

/// As [`write`], while steps go on: within [`PATIENCE_BESIDE`].
pub(super) async fn write_beside<H: Host>(host: &H, changes: Vec<Change>) -> Result<(), StoreError> {
    limited(host, PATIENCE_BESIDE, host.write(changes)).await
}
