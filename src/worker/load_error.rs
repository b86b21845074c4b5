//! Why digits could not be brought to the training thread.

use super::reading::ReaderError;
use crate::data::shards::ShardError;

/// Digits that could not be brought. What was loaded before stays.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{url} could not be fetched: {reason}")]
    Fetch {
        url: String,
        reason: String,
        /// The server is there, and says that this is not.
        absent: bool,
    },
    #[error(transparent)]
    Manifest(#[from] ShardError),
    #[error("{0}; the rest of the site's dataset is used without it")]
    Part(ShardError),
    #[error(transparent)]
    Reader(#[from] ReaderError),
}
