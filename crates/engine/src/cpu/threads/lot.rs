//! The contents of a lot: examples or units.

use std::ops::Range;

/// A lot, or a part of one.
#[derive(Clone, Copy)]
pub enum Lot<'a> {
    /// Examples, each with its own vector.
    Alone(&'a [u32]),
    /// Units of at most [`Lot::MOST`] examples × copies; each adds its mean gradient times `rate`.
    Shared { units: &'a [&'a [u32]], rate: f32 },
}

impl<'a> Lot<'a> {
    /// Most blocks in memory at a time, and most gradients of a mean whose norm follows from theirs
    /// ([`NormOfSum`](crate::cpu::kernels::dense::NormOfSum)).
    pub const MOST: usize = 64;

    pub const fn len(self) -> usize {
        match self {
            Self::Alone(examples) => examples.len(),
            Self::Shared { units, .. } => units.len(),
        }
    }

    pub fn part(self, range: Range<usize>) -> Lot<'a> {
        match self {
            Self::Alone(examples) => Self::Alone(&examples[range]),
            Self::Shared { units, rate } => Self::Shared { units: &units[range], rate },
        }
    }
}
