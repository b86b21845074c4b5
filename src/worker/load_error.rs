//! Why digits could not be loaded.

use super::reading::ReaderError;
use crate::data::shards::ShardError;
use hushgrad_message::Message;

/// Why a load failed. Earlier digits stay.
#[derive(Debug, hushgrad_message::Error)]
pub enum LoadError {
    #[error("{url} could not be fetched: {reason}")]
    Fetch {
        url: String,
        reason: Message,
        /// True if the server answers that the file does not exist.
        absent: bool,
    },
    #[error(transparent)]
    Manifest(#[from] ShardError),
    #[error("{0}; the rest of the site's dataset is used without it")]
    Part(ShardError),
    #[error(transparent)]
    Reader(#[from] ReaderError),
}
