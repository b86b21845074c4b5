//! Symmetric pairs of distributions on a grid of privacy losses.

use std::sync::Arc;

use super::{finite::Losses, lattice::Lattice};

/// A symmetric pair: the loss under P has the distribution of minus the loss under Q.
#[derive(Clone, Debug)]
pub(super) struct Symmetric {
    pub step: f64,
    /// P-mass at k·step, k = 0, 1, …; that at −k·step is e^{−k·step} times as much.
    pub mass: Arc<[f64]>,
    pub infinity: f64,
}

impl Losses for Symmetric {
    fn atoms(&self) -> impl DoubleEndedIterator<Item = (f64, f64, f64)> + ExactSizeIterator + '_ {
        let last = self.mass.len() - 1;
        (0..2 * last + 1).map(move |index| {
            let k = index as i64 - last as i64;
            let l = k as f64 * self.step;
            let large = self.mass[k.unsigned_abs() as usize];
            let small = large * (-l.abs()).exp();
            if k >= 0 { (l, large, small) } else { (l, small, large) }
        })
    }

    fn only_p(&self) -> f64 {
        self.infinity
    }

    fn only_q(&self) -> f64 {
        self.infinity
    }
}

impl Symmetric {
    /// Fully distinguishable: all P-mass at infinite loss.
    pub fn certain(step: f64) -> Self {
        Self { step, mass: vec![0.0].into(), infinity: 1.0 }
    }

    /// The part of a symmetric pair's lattice at 0 and above.
    pub fn upper(lattice: &Lattice) -> Self {
        let start = (-lattice.first).max(0) as usize;
        let scale = lattice.log_scale.exp();
        // There may be no mass near 0.
        let mut mass = vec![0.0; lattice.first.max(0) as usize];
        mass.extend(lattice.weight[start..].iter().map(|w| w * scale));
        Self { step: lattice.step, mass: mass.into(), infinity: lattice.infinity }
    }

    /// The full lattice, from the P-masses at k ≥ 0.
    pub fn lattice(&self) -> Lattice {
        let last = self.mass.len() as i64 - 1;
        let weight = self.atoms().map(|(_, p, _)| p).collect();
        Lattice::untilted(-last, self.step, weight, self.infinity)
    }
}
