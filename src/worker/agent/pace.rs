//! How long the loop computes, and waits, between two looks at its inbox.

use std::time::Duration;

/// The loop computes at most this long before it looks into its inbox, and at least one step.
pub(super) const YIELD_EVERY: Duration = Duration::from_millis(8);
/// The loop waits in pieces of this length, so that a pause is heard soon.
pub(super) const SLEEP: Duration = Duration::from_millis(30);
