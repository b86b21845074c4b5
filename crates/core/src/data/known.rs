//! Published sets, recognised by their files' digests: class names and public test sets.

use md5::{Digest as _, Md5};

/// A set of four gzipped IDX files, by MD5 as given on the sets' own pages and by torchvision.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KnownIdx {
    pub name: &'static str,
    /// MD5 of the gzipped labels: training, test.
    labels: [&'static str; 2],
    /// MD5 of the gzipped images: training, test; `None` if not known here.
    images: Option<[&'static str; 2]>,
    /// The label of the first class.
    pub first: u8,
    /// Names of the classes; empty for digits.
    pub classes: &'static [&'static str],
}

const FASHION: &[&str] =
    &["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];
const KUZUSHIJI: &[&str] = &["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"];
const LETTERS: &[&str] = &[
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W",
    "X", "Y", "Z",
];

/// Xiao, Rasul & Vollgraf 2017, arXiv:1708.07747; Clanuwat et al. 2018, arXiv:1812.01718; Cohen et
/// al. 2017, arXiv:1702.05373.
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

/// MD5 of the CIFAR archives of binary files. Krizhevsky 2009,
/// <https://www.cs.toronto.edu/~kriz/cifar.html>.
pub(super) const CIFAR_10: &str = "c32a1d4ab5d03f1284b67883e8d87530";
pub(super) const CIFAR_100: &str = "03b5dce01913d631647c71ecec9e9cb8";

/// Finds a set by the MD5 of its gzipped label files; `test` may be absent.
pub(super) fn by_labels(train: Option<&str>, test: Option<&str>) -> Option<&'static KnownIdx> {
    KNOWN.iter().find(|set| train == Some(set.labels[0]) && test.is_none_or(|test| test == set.labels[1]))
}

impl KnownIdx {
    /// True if these are the set's images, too, so that its test set is public.
    pub(super) fn has_images(&self, train: Option<&str>, test: Option<&str>) -> bool {
        self.images.is_some_and(|images| [train, test] == images.map(Some))
    }
}

/// MD5 of a file as given, lower-case hexadecimal. A forged file harms only its user: ε holds for
/// any training set.
pub(super) fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Classes;

    #[test]
    fn sets_are_recognised_by_their_label_files() {
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
