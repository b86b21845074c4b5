//! Scores of an audit's canaries, computed with the machine's widest vectors.

use crate::{
    accounting::audit::scores::{Score, Scorer},
    cpu::simd::{Dispatch, Kernel, Simd, dispatch},
};

/// [`Scorer::take_gaussian`], a plain loop that the compiler vectorises.
struct TakeGaussian<'a> {
    scorer: Scorer,
    kept: (&'a mut [Score], &'a mut [f64]),
    seen: &'a [f32],
    added: &'a [f32],
    sigma: f64,
}

impl<S: Simd> Kernel<S> for TakeGaussian<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self, _: S) -> bool {
        let Self { scorer, kept, seen, added, sigma } = self;
        scorer.take_gaussian(kept, seen, added, sigma)
    }
}

impl Dispatch for TakeGaussian<'_> {
    type Output = bool;

    fn with<S: Simd>(self, simd: S) -> bool {
        simd.run(self)
    }
}

/// [`Scorer::take_gaussian`], compiled for the machine's widest vectors.
pub fn take_gaussian(
    scorer: Scorer,
    kept: (&mut [Score], &mut [f64]),
    seen: &[f32],
    added: &[f32],
    sigma: f64,
) -> bool {
    dispatch(TakeGaussian { scorer, kept, seen, added, sigma })
}
