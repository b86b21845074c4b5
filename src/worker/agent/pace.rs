//! How long the loop computes and waits between checks of its inbox.

use std::time::Duration;

/// The loop computes at most this long before it checks its inbox, but at least one step.
pub(super) const YIELD_EVERY: Duration = Duration::from_millis(8);
/// The loop waits in pieces of this length, so that it soon notices a pause.
pub(super) const SLEEP: Duration = Duration::from_millis(30);
