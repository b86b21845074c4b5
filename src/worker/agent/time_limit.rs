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

/// Pieces that a time limit is waited for in.
const PIECES: u32 = 10;

async fn limited<H: Host, T>(
    host: &H,
    limit: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    // In pieces: while images are drawn, or features computed, a piece may take seconds, and an answer that came meanwhile is not late.
    let mut answer = pin!(answer);
    for _ in 0..PIECES {
        match select(answer.as_mut(), pin!(host.sleep(limit / PIECES))).await {
            Either::Left((answer, _)) => return answer,
            Either::Right(_) => {}
        }
    }
    Err(StoreError::Silent(limit))
}

/// Makes all of `changes` or none, within the time limit.
pub(super) async fn write<H: Host>(host: &H, changes: Vec<Change>) -> Result<(), StoreError> {
    within(host, host.write(changes)).await
}

/// As [`write`], while steps go on: within [`PATIENCE_BESIDE`].
pub(super) async fn write_beside<H: Host>(host: &H, changes: Vec<Change>) -> Result<(), StoreError> {
    limited(host, PATIENCE_BESIDE, host.write(changes)).await
}
