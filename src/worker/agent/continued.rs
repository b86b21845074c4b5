//! A stored run that is taken up again.

use super::{ahead::Ahead, saving::Saving};
use crate::mechanism::State;

/// What a continued run begins with, beside its session.
pub(super) struct Continued<L> {
    pub ahead: Ahead<L>,
    pub saving: Saving,
    pub state: State,
    /// Key of the stored run that it continues.
    pub from: String,
}
