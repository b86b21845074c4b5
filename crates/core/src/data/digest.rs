//! A digest of a set's examples, by which runs on the same digits are recognised.

use sha2::{Digest as _, Sha256};

use super::{Classes, Dataset, Picture, idx::hexadecimal};

/// Prefix of the hashed bytes, unlike any file's. Change it whenever the definition changes.
const DOMAIN: &[u8] = b"hushgrad-digits-1\n";
/// Prefix for images that are not 28×28 grey values of ten classes.
const OTHERS: &[u8] = b"hushgrad-images-1\n";

impl Dataset {
    /// Digest of the examples, whatever their order or set's name, as 64 lower-case hex digits.
    ///
    /// SHA-256 of `hushgrad-digits-1` and a line feed, the number of examples (u64, little-endian)
    /// and the examples' own SHA-256 in ascending order; an example's is that of its label's byte
    /// and its 784 pixels. For other images the prefix is `hushgrad-images-1` and a line feed, then
    /// one byte each for channels, side and number of classes. Barring collisions of SHA-256, two
    /// sets have the same digest if and only if they hold the same examples equally often. Adding,
    /// removing or changing one example changes it; overlapping sets are not recognised.
    ///
    /// **Not private**: whoever knows all examples but one can try each candidate for it. Store it
    /// only where the examples are stored.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest_of(usize::MAX)
    }

    /// [`Dataset::digest`] of the first 1000 examples only, which takes milliseconds. Sets that
    /// begin with the same 1000 examples have the same opening digest.
    #[must_use]
    pub fn opening_digest(&self) -> String {
        self.digest_of(1000)
    }

    fn digest_of(&self, most: usize) -> String {
        let example = |i| Sha256::new().chain_update([self.labels[i]]).chain_update(self.image(i)).finalize().into();
        let mut examples: Vec<[u8; 32]> = (0..self.len().min(most)).map(example).collect();
        examples.sort_unstable();
        let (Picture { channels, side }, classes) = (self.picture, self.classes.count());
        let mut all = if self.picture == Picture::DIGIT && classes == Classes::digits().count() {
            Sha256::new().chain_update(DOMAIN)
        } else {
            Sha256::new().chain_update(OTHERS).chain_update([channels, side, classes as u8])
        };
        all.update((examples.len() as u64).to_le_bytes());
        examples.iter().for_each(|example| all.update(example));
        hexadecimal(&all.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{idx::PIXELS, synthetic};

    fn permuted(set: &Dataset, order: &[usize]) -> Dataset {
        let images: Vec<u8> = order.iter().flat_map(|&i| set.image(i).to_vec()).collect();
        let labels: Vec<u8> = order.iter().map(|&i| set.labels[i]).collect();
        Dataset::new("another name", images, labels)
    }

    #[test]
    fn digest_depends_on_each_example_but_not_on_order_or_name() {
        let set = synthetic::digits(1, 40, 1).train;
        let name = set.digest();
        assert!(name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()));
        let backwards: Vec<usize> = (0..40).rev().collect();
        assert_eq!(permuted(&set, &backwards).digest(), name);

        let mut others = vec![name];
        others.push(set.slice(0..39).digest());
        // One example twice, another left out.
        others.push(permuted(&set, &[&backwards[..39], &[5]].concat()).digest());
        // One example more, a duplicate.
        others.push(permuted(&set, &[&backwards[..], &[5]].concat()).digest());
        let mut pixel = set.images.to_vec();
        pixel[784 * 7 + 300] ^= 1;
        others.push(Dataset::new("", pixel, set.labels.to_vec()).digest());
        let mut label = set.labels.to_vec();
        label[7] = (label[7] + 1) % 10;
        others.push(Dataset::new("", set.images.to_vec(), label).digest());
        // The labels of two examples swapped.
        let (mut exchanged, i) = (set.labels.to_vec(), (1..40).find(|&i| set.labels[i] != set.labels[0]).unwrap());
        exchanged.swap(0, i);
        others.push(Dataset::new("", set.images.to_vec(), exchanged).digest());
        others.push(Dataset::new("", vec![], vec![]).digest());
        // The same bytes as images of another size, or with more classes.
        let bytes = || (set.images.to_vec(), set.labels.to_vec());
        let of = |picture, classes| Dataset::of("", picture, classes, bytes().0, bytes().1).digest();
        others.push(of(Picture::DIGIT, Classes::numbered(11).unwrap()));
        others.push(of(Picture { channels: 1, side: 14 }, Classes::digits()));
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), 10);
    }

    #[test]
    fn opening_digest_covers_the_first_1000_examples() {
        let set = synthetic::digits(1, 1010, 1).train;
        let opening = set.opening_digest();
        assert_eq!(opening, set.slice(0..1000).digest());
        assert_eq!(opening, set.slice(0..1001).opening_digest());
        assert_ne!(opening, set.slice(0..999).opening_digest());
        assert_ne!(opening, set.slice(1..1010).opening_digest());
    }

    /// By another program: `printf 'hushgrad-digits-1\n' …; sha256sum`. Saved files hold digests.
    #[test]
    fn digests_are_stable() {
        assert_eq!(
            Dataset::new("", vec![], vec![]).digest(),
            "0d398d6c09811322666e5dd55f1fc93e236befe9fa5770f256f9372389340abd"
        );
        let images = [[0u8; PIXELS], [255; PIXELS]].concat();
        assert_eq!(
            Dataset::new("", images, vec![3, 7]).digest(),
            "4fcf1170fd654e24d07778ab214b85feeb874f55d419671cd3aa6572bd97fe8a"
        );
    }
}
