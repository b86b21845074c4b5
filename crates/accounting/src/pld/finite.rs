//! Pairs of finitely many losses.

use std::sync::Arc;

/// Losses with their masses, in order, and what only one of both distributions has.
pub(super) trait Losses {
    /// (loss, P-mass, Q-mass), by loss.
    fn atoms(&self) -> impl DoubleEndedIterator<Item = (f64, f64, f64)> + ExactSizeIterator + '_;
    /// P-mass without Q-mass.
    fn only_p(&self) -> f64;
    /// Q-mass without P-mass.
    fn only_q(&self) -> f64;
}

/// Two mass functions.
#[derive(Clone, Debug)]
pub(super) struct Finite {
    atoms: Arc<[(f64, f64, f64)]>,
    only_p: f64,
    only_q: f64,
    /// True if P and Q may change places.
    pub symmetric: bool,
}

impl Finite {
    pub fn new(p: &[f64], q: &[f64], symmetric: bool) -> Self {
        let both = || p.iter().copied().zip(q.iter().copied());
        let only = |mass: fn((f64, f64)) -> f64| both().filter(|(p, q)| *p == 0.0 || *q == 0.0).map(mass).sum();
        let mut atoms: Vec<(f64, f64, f64)> = both()
            .filter(|(p, q)| *p > 0.0 && *q > 0.0)
            // The logarithm of the quotient keeps its digits near 1; it may be out of range.
            .map(|(p, q)| (if (0.5..2.0).contains(&(p / q)) { ((p - q) / q).ln_1p() } else { p.ln() - q.ln() }, p, q))
            .collect();
        atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { atoms: atoms.into(), only_p: only(|(p, _)| p), only_q: only(|(_, q)| q), symmetric }
    }
}

impl Losses for Finite {
    fn atoms(&self) -> impl DoubleEndedIterator<Item = (f64, f64, f64)> + ExactSizeIterator + '_ {
        self.atoms.iter().copied()
    }

    fn only_p(&self) -> f64 {
        self.only_p
    }

    fn only_q(&self) -> f64 {
        self.only_q
    }
}
