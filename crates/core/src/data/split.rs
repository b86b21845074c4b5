//! Holds examples out of training.

use sha2::{Digest, Sha256};

use super::Dataset;
use crate::rng::NotPrivateReplay;

/// Prefix of the hash that is an example's coin. It must never change, or examples held out of a
/// visitor's files would be trained on next time.
const TOSSED_FOR: &[u8] = b"hushgrad: held out or not\0";

impl Dataset {
    /// Splits off about one example in `n`, each part in order: `(others, held out)`.
    ///
    /// Pixels and label decide by a coin of the example's own: one example more or less changes no
    /// other's part. So an add-or-remove-one guarantee for training on the others also holds for
    /// the whole file. Equal examples go together. Either part may be empty.
    ///
    /// # Panics
    /// When `n` is 0.
    #[must_use]
    pub fn hold_out_by_coin(&self, n: u64) -> (Self, Self) {
        let below = u64::MAX / n;
        self.split(|i| coin(self.image(i), self.labels[i]) < below)
    }

    /// Splits off one of every `n` consecutive examples, in order: `(others, held out)`.
    ///
    /// For tuning on a set whose order is public, such as MNIST. Positions decide, so a missing
    /// example may move all that follow it to the other part: a guarantee for training on one part
    /// covers that part, not the whole set.
    ///
    /// Examples are spread over the file, because files are often sorted by label, and drawn at
    /// random, the same for equal lengths, because files repeat: MNIST's training images come from
    /// an easier and a harder source in turn.
    #[must_use]
    pub fn hold_out_by_place(&self, n: usize) -> (Self, Self) {
        let mut draw = NotPrivateReplay::new(0);
        let places: Vec<usize> = (0..self.len() / n).map(|_| draw.below(n as u32) as usize).collect();
        self.split(|i| places.get(i / n) == Some(&(i % n)))
    }

    /// Splits by `held`: false, then true.
    fn split(&self, held: impl Fn(usize) -> bool) -> (Self, Self) {
        let (held, others): (Vec<usize>, Vec<usize>) = (0..self.len()).partition(|&i| held(i));
        let part = |chosen: &[usize]| {
            let mut images = Vec::with_capacity(chosen.len() * self.pixels());
            chosen.iter().for_each(|&i| images.extend_from_slice(self.image(i)));
            let labels: Vec<u8> = chosen.iter().map(|&i| self.labels[i]).collect();
            let users = self.users.as_ref().map(|users| users.part(chosen.iter().copied()));
            self.like(images, labels).with_users(users)
        };
        (part(&others), part(&held))
    }
}

/// An example's coin: a number below 2⁶⁴ that looks uniform to anyone who has not computed it.
fn coin(image: &[u8], label: u8) -> u64 {
    let digest = Sha256::new().chain_update(TOSSED_FOR).chain_update(image).chain_update([label]).finalize();
    digest.iter().take(8).fold(0, |coin, byte| coin << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::idx::PIXELS;

    /// An example held out of a file must stay held out.
    #[test]
    fn coins_are_stable() {
        let coins = [coin(&[0; PIXELS], 0), coin(&[0; PIXELS], 1), coin(&[255; PIXELS], 0)];
        assert_eq!(coins, [4_148_438_116_882_079_281, 14_612_223_141_786_614_704, 3_930_784_330_283_682_030]);
    }
}
