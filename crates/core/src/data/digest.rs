//! A name for the examples of a set that follows from them alone, so that runs on the same digits are found again.

use sha2::{Digest as _, Sha256};

use super::{Classes, Dataset, Picture, idx::hexadecimal};

/// Stands before what is hashed, so that no file that happens to hold these bytes has the same name; changed whenever the definition is.
const DOMAIN: &[u8] = b"hushgrad-digits-1\n";
/// The same for images that are not 28×28 grey values of ten classes; what they are follows it.
const OTHERS: &[u8] = b"hushgrad-images-1\n";

impl Dataset {
    /// A name for these examples that does not depend on their order or on the set's name: 64 lower-case hexadecimal digits.
    ///
    /// SHA-256 of `hushgrad-digits-1` and a line feed, the number of examples (u64, little-endian) and the examples' own SHA-256 in ascending order; an example's is that of
    /// its label's byte and its 784 pixels. Of images that are no digits `hushgrad-images-1` and a line feed stand before, then a byte each for channels, side and number of classes. Two sets have the same name if and only if they hold the same examples equally often, but for a
    /// collision of SHA-256. One example more, less or changed makes another name: sets that overlap are not recognised.
    ///
    /// **Not private**: whoever knows all examples but one can try each candidate for it. Keep it where the examples are kept.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest_of(usize::MAX)
    }

    /// [`Dataset::digest`] of the first 1000 examples alone, which takes milliseconds. Two sets with the same first 1000 examples get the same name.
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
    fn order_and_name_do_not_matter_and_each_example_does() {
        let set = synthetic::digits(1, 40, 1).train;
        let name = set.digest();
        assert!(name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()));
        let backwards: Vec<usize> = (0..40).rev().collect();
        assert_eq!(permuted(&set, &backwards).digest(), name);

        let mut others = vec![name];
        others.push(set.slice(0..39).digest());
        // One of them twice, and another left out.
        others.push(permuted(&set, &[&backwards[..39], &[5]].concat()).digest());
        // All, and one of them twice.
        others.push(permuted(&set, &[&backwards[..], &[5]].concat()).digest());
        let mut pixel = set.images.to_vec();
        pixel[784 * 7 + 300] ^= 1;
        others.push(Dataset::new("", pixel, set.labels.to_vec()).digest());
        let mut label = set.labels.to_vec();
        label[7] = (label[7] + 1) % 10;
        others.push(Dataset::new("", set.images.to_vec(), label).digest());
        // The labels of two examples exchanged.
        let (mut exchanged, i) = (set.labels.to_vec(), (1..40).find(|&i| set.labels[i] != set.labels[0]).unwrap());
        exchanged.swap(0, i);
        others.push(Dataset::new("", set.images.to_vec(), exchanged).digest());
        others.push(Dataset::new("", vec![], vec![]).digest());
        // The same bytes, as other images, and of more classes.
        let bytes = || (set.images.to_vec(), set.labels.to_vec());
        let of = |picture, classes| Dataset::of("", picture, classes, bytes().0, bytes().1).digest();
        others.push(of(Picture::DIGIT, Classes::numbered(11).unwrap()));
        others.push(of(Picture { channels: 1, side: 14 }, Classes::digits()));
        others.sort_unstable();
        others.dedup();
        assert_eq!(others.len(), 10);
    }

    #[test]
    fn an_opening_is_that_of_every_set_that_goes_on_from_it() {
        let set = synthetic::digits(1, 1010, 1).train;
        let opening = set.opening_digest();
        assert_eq!(opening, set.slice(0..1000).digest());
        assert_eq!(opening, set.slice(0..1001).opening_digest());
        assert_ne!(opening, set.slice(0..999).opening_digest());
        assert_ne!(opening, set.slice(1..1010).opening_digest());
    }

    /// By another program: `printf 'hushgrad-digits-1\n' …; sha256sum`. Files hold these names.
    #[test]
    fn names_stay_what_they_are() {
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
