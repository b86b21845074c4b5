//! What a lot is of.

use std::ops::Range;

/// A lot, or a part of one.
#[derive(Clone, Copy)]
pub enum Lot<'a> {
    /// Examples, each by itself.
    Alone(&'a [u32]),
    /// Units of examples: of each the mean gradient, times `rate`. Those of most examples may have [`Lot::MOST`] of them, copies counted.
    Shared { units: &'a [&'a [u32]], rate: f32 },
}

impl<'a> Lot<'a> {
    /// Most blocks that are in memory at a time, and gradients of a mean whose norm is made of theirs
    /// ([`NormOfSum`](crate::cpu::kernels::dense::NormOfSum)).
    pub const MOST: usize = 64;

    pub const fn len(self) -> usize {
        match self {
            Self::Alone(examples) => examples.len(),
            Self::Shared { units, .. } => units.len(),
        }
    }

    /// What stands at these places.
    pub fn part(self, range: Range<usize>) -> Lot<'a> {
        match self {
            Self::Alone(examples) => Self::Alone(&examples[range]),
            Self::Shared { units, rate } => Self::Shared { units: &units[range], rate },
        }
    }
}
