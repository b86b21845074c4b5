//! A stored run that is continued.

use super::{ahead::ReservedReleases, saving::Saving};
use crate::mechanism::State;

/// What a continued run starts with, besides its session.
pub(super) struct Continued<L> {
    pub ahead: ReservedReleases<L>,
    pub saving: Saving,
    pub state: State,
    /// Key of the stored run that it continues.
    pub from: String,
}
