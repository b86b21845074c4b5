//! The two directions of a sampled pair.

/// The neighbour that the release is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The neighbour lacks the example: the sampled mixture against the noise alone.
    Remove,
    /// The neighbour has one more: the noise alone against the sampled mixture.
    Add,
}
