//! Sets that are published, by the digests of the files that they are published in: what their classes are called, and that their test sets are public.

use md5::{Digest as _, Md5};

/// A set of four packed IDX files. Files by MD5, as the sets' own pages and torchvision give it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KnownIdx {
    pub name: &'static str,
    /// Of the packed labels: training, test.
    labels: [&'static str; 2],
    /// Of the packed images: training, test; none where they are not known here.
    images: Option<[&'static str; 2]>,
    /// The label of the first class.
    pub first: u8,
    /// Names of the classes; none where they are the digits.
    pub classes: &'static [&'static str],
}

const FASHION: &[&str] =
    &["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];
const KUZUSHIJI: &[&str] = &["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"];
const LETTERS: &[&str] = &[
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W",
    "X", "Y", "Z",
];

/// Xiao, Rasul & Vollgraf 2017, arXiv:1708.07747; Clanuwat et al. 2018, arXiv:1812.01718; Cohen et al. 2017, arXiv:1702.05373.
const KNOWN: [KnownIdx; 4] = [
    KnownIdx {
        name: "Fashion-MNIST",
        labels: ["25c81989df183df01b3e8a0aad5dffbe", "bb300cfdad3c16e7a12a480ee83cd310"],
        images: Some(["8d4fb7e6c68d591d4c3dfef9ec88bf0d", "bef4ecab320f06d8554ea6380940ec79"]),
        first: 0,
        classes: FASHION,
    },
    KnownIdx {
        name: "KMNIST",
        labels: ["e144d726b3acfaa3e44228e80efcd344", "7320c461ea6c1c855c0b718fb2a4b134"],
        images: Some(["bdb82020997e1d708af4cf47b453dcf7", "5c965bf0a639b31b8f53240b1b52f4d7"]),
        first: 0,
        classes: KUZUSHIJI,
    },
    KnownIdx {
        name: "EMNIST-letters",
        labels: ["c16de4f1848ddcdddd39ab65d2a7be52", "d4108920cd86601ec7689a97f2de7f59"],
        images: None,
        first: 1,
        classes: LETTERS,
    },
    KnownIdx {
        name: "EMNIST-digits",
        labels: ["2223fcfee618ac9c89ef20b6e48bcf9e", "8afde66ea51d865689083ba6bb779fac"],
        images: None,
        first: 0,
        classes: &[],
    },
];

/// Digests of CIFAR-10's and CIFAR-100's archives of binary files. Krizhevsky 2009, <https://www.cs.toronto.edu/~kriz/cifar.html>.
pub(super) const CIFAR_10: &str = "c32a1d4ab5d03f1284b67883e8d87530";
pub(super) const CIFAR_100: &str = "03b5dce01913d631647c71ecec9e9cb8";

/// The set whose labels these are: files by the digest of each as it came, if it came packed.
pub(super) fn by_labels(train: Option<&str>, test: Option<&str>) -> Option<&'static KnownIdx> {
    KNOWN.iter().find(|set| train == Some(set.labels[0]) && test.is_none_or(|test| test == set.labels[1]))
}

impl KnownIdx {
    /// Whether these are its images as well, so that the test set is the published one. The labels are its own already.
    pub(super) fn has_images(&self, train: Option<&str>, test: Option<&str>) -> bool {
        self.images.is_some_and(|images| [train, test] == images.map(Some))
    }
}

/// MD5 of a file as it came, lower-case hexadecimal. It names files that nobody forged; that a file is the published one is no matter of ε, which holds for any
/// training set. Whoever forges one forges it for himself.
pub(super) fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Classes;

    #[test]
    fn sets_are_known_by_both_of_their_labels() {
        assert_eq!(md5(b"abc"), "900150983cd24fb0d6963f7d28e17f72", "RFC 1321, A.5");
        for set in &KNOWN {
            let [train, test] = set.labels.map(Some);
            assert_eq!(by_labels(train, test), Some(set));
            assert_eq!(by_labels(train, None), Some(set), "held out of the training images");
            assert_eq!(by_labels(test, train), None);
            assert_eq!(by_labels(train, Some("another")), None);
            assert!(set.classes.is_empty() || Classes::named(set.classes).is_ok());
            if let Some([train, test]) = set.images.map(|images| images.map(Some)) {
                assert!(set.has_images(train, test) && !set.has_images(test, train) && !set.has_images(None, None));
            } else {
                assert!(!set.has_images(None, None));
            }
        }
        assert_eq!(by_labels(None, None), None);
    }
}
