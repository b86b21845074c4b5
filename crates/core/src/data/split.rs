//! Examples are held out, so that training never sees them.

use sha2::{Digest, Sha256};

use super::Dataset;
use crate::rng::NotPrivateReplay;

/// Prefix of what is hashed for an example's coin. It must never change, or examples that were held out of somebody's files would be trained on the
/// next time.
const TOSSED_FOR: &[u8] = b"hushgrad: held out or not\0";

impl Dataset {
    /// About one example of every `n`, and the others, each part in order: `(others, held out)`.
    ///
    /// An example is held out by a coin of its own, which its pixels and its label decide: a file with one example more or less is split as before but
    /// for that one. So an add-or-remove-one guarantee for a training on the others is a guarantee for the whole file, too. Equal
    /// examples are held out together or not at all. Either part may be empty.
    ///
    /// # Panics
    /// When `n` is 0.
    #[must_use]
    pub fn hold_out_by_coin(&self, n: u64) -> (Self, Self) {
        let below = u64::MAX / n;
        self.split(|i| coin(self.image(i), self.labels[i]) < below)
    }

    /// One example of every `n` that follow each other, and the others, in order: `(others, held out)`.
    ///
    /// It is meant for tuning on a set whose order is public, such as MNIST. Places decide: where one example is missing, all that follow may change
    /// parts. So a guarantee for a training on one part is a guarantee for that part, and not for the whole set.
    ///
    /// Spread over the file, not cut off its end: files are often sorted by label. Which one of the `n` is drawn, always the
    /// same for one length: files also repeat. MNIST's training images come from an easier and a harder source in turn.
    #[must_use]
    pub fn hold_out_by_place(&self, n: usize) -> (Self, Self) {
        let mut draw = NotPrivateReplay::new(0);
        let places: Vec<usize> = (0..self.len() / n).map(|_| draw.below(n as u32) as usize).collect();
        self.split(|i| places.get(i / n) == Some(&(i % n)))
    }

    /// The examples for which `held` is false, and those for which it is true.
    fn split(&self, held: impl Fn(usize) -> bool) -> (Self, Self) {
        let (held, others): (Vec<usize>, Vec<usize>) = (0..self.len()).partition(|&i| held(i));
        let part = |chosen: &[usize]| {
            let mut images = Vec::with_capacity(chosen.len() * self.pixels());
            chosen.iter().for_each(|&i| images.extend_from_slice(self.image(i)));
            let labels: Vec<u8> = chosen.iter().map(|&i| self.labels[i]).collect();
            self.like(images, labels)
        };
        (part(&others), part(&held))
    }
}

/// An example's coin: a number below 2⁶⁴ that looks uniform to anybody who has not computed it.
fn coin(image: &[u8], label: u8) -> u64 {
    let digest = Sha256::new().chain_update(TOSSED_FOR).chain_update(image).chain_update([label]).finalize();
    digest.iter().take(8).fold(0, |coin, byte| coin << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::idx::PIXELS;

    /// What is held out of a file today is held out of it ever after.
    #[test]
    fn coins_stay_what_they_are() {
        let coins = [coin(&[0; PIXELS], 0), coin(&[0; PIXELS], 1), coin(&[255; PIXELS], 0)];
        assert_eq!(coins, [4_148_438_116_882_079_281, 14_612_223_141_786_614_704, 3_930_784_330_283_682_030]);
    }
}
