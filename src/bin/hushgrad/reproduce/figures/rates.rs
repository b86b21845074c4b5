//! Learning rates: powers of two, by hill climbing on held-out images.

use std::collections::BTreeMap;

/// Largest exponent tried, in absolute value.
const FURTHEST: i32 = 12;

/// A method's rates with their held-out accuracies.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// By exponent of 2.
    pub tried: BTreeMap<i32, f64>,
}

/// 2^exponent.
pub fn rate(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

impl Tuned {
    /// Tries rates up and down from `first` until the best one has a worse one on either side.
    ///
    /// # Errors
    /// If a trial fails.
    pub fn climb<E>(first: i32, mut accuracy: impl FnMut(i32) -> Result<f64, E>) -> Result<Self, E> {
        let mut tuned = Self { tried: BTreeMap::from([(first, accuracy(first)?)]) };
        loop {
            let (best, _) = tuned.best();
            let next = [best + 1, best - 1].into_iter().find(|k| !tuned.tried.contains_key(k) && k.abs() <= FURTHEST);
            let Some(next) = next else { return Ok(tuned) };
            tuned.tried.insert(next, accuracy(next)?);
        }
    }

    /// Exponent and accuracy of the best rate; the lowest of equals.
    pub fn best(&self) -> (i32, f64) {
        let better = |best: (i32, f64), (&k, &a): (&i32, &f64)| if a > best.1 { (k, a) } else { best };
        self.tried.iter().fold((0, f64::NEG_INFINITY), better)
    }

    pub fn rate(&self) -> f64 {
        rate(self.best().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_rate_has_a_worse_one_on_either_side() {
        for top in [-7, -2, 0, 3, 9] {
            let mut asked = vec![];
            let tuned = Tuned::climb(1, |k| {
                asked.push(k);
                Ok::<_, ()>(0.9 - 0.01 * f64::from(k - top).abs())
            })
            .unwrap();
            assert_eq!((tuned.best().0, tuned.rate()), (top, 2f64.powi(top)));
            assert!(tuned.tried.contains_key(&(top - 1)) && tuned.tried.contains_key(&(top + 1)), "{tuned:?}");
            assert_eq!(asked.len(), tuned.tried.len(), "none is tried twice");
        }
        // If all are equal, the climb ends and the lowest rate tried is taken.
        assert_eq!(Tuned::climb(0, |_| Ok::<_, ()>(0.1)).unwrap().best(), (-FURTHEST, 0.1));
        assert_eq!(Tuned::climb(0, |k| if k < 0 { Err("broken") } else { Ok(0.5) }), Err("broken"));
    }
}
