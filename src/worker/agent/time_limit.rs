//! Time limits for the run store, so that a store that hangs does not stop the loop.

use std::{pin::pin, time::Duration};

use futures::future::{Either, select};

use crate::worker::{
    host::Host,
    run_store::{Change, PATIENCE, PATIENCE_BESIDE, StoreError},
};

/// Returns the store's answer or, after [`PATIENCE`], drops the question: [`StoreError::Silent`].
pub(super) async fn within<H: Host, T>(
    host: &H,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    limited(host, PATIENCE, answer).await
}

/// Pieces in which a time limit is waited for.
const PIECES: u32 = 10;

async fn limited<H: Host, T>(
    host: &H,
    limit: Duration,
    answer: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    // In pieces: an answer that came while this thread was busy for seconds is not late.
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

/// As [`write`], while steps continue: within [`PATIENCE_BESIDE`].
pub(super) async fn write_beside<H: Host>(host: &H, changes: Vec<Change>) -> Result<(), StoreError> {
    limited(host, PATIENCE_BESIDE, host.write(changes)).await
}
