//! Words in the names of files, folders and arrays, which tell training from test.

const TRAINING: [&str; 3] = ["train", "training", "tr"];
const TEST: [&str; 5] = ["test", "testing", "te", "t10k", "eval"];
const VALIDATION: [&str; 4] = ["val", "valid", "validation", "dev"];

/// What examples are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    Training,
    Test,
    Validation,
}

/// Lower-case words of a name: `trainImages_2` is `train`, `images`, `2`.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || before_lower && letter.is_uppercase() {
            words.push(String::new());
        }
        before_lower = letter.is_lowercase();
        if letter.is_alphanumeric() {
            words.last_mut().expect("there is one").extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

impl Split {
    /// The split that one of `words` names.
    pub fn by(words: &[String]) -> Option<Self> {
        let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
        match () {
            () if any(&VALIDATION) => Some(Self::Validation),
            () if any(&TEST) => Some(Self::Test),
            () if any(&TRAINING) => Some(Self::Training),
            () => None,
        }
    }

    /// The split that a folder's name is about, as `train`, `testSet` or `VALID_IMAGES`; `None` for
    /// other names, and for those of two letters, which may be classes.
    pub fn of_folder(name: &str) -> Option<Self> {
        let mut told = words(name);
        told.iter_mut().for_each(|word| word.truncate(word.strip_suffix("set").unwrap_or(word).len()));
        told.retain(|word| !matches!(word.as_str(), "" | "images" | "imgs" | "data"));
        matches!(&told[..], [word] if word.len() > 2).then(|| Self::by(&told))?
    }
}

/// True for the folder of a sample of a split, such as `trainingSample`: its pictures are in the split, too.
pub(super) fn is_sample(folder: &str) -> bool {
    matches!(&words(folder)[..], [split, sample] if sample.starts_with("sample") && Split::of_folder(split).is_some())
}

/// Chooses what tests: validation is for choosing, which nothing here does, so that it tests if
/// nothing else can. Returns what tests and what is left aside.
pub(super) fn testing<T>(test: Option<T>, validation: Option<T>) -> (Option<T>, Option<T>) {
    if test.is_some() { (test, validation) } else { (validation, None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_for_training_or_test_by_their_names() {
        for (split, names) in [
            (Split::Training, ["train", "Training", "trainingSet", "TRAINSET", "train_images", "training-data"]),
            (Split::Test, ["test", "TESTING", "testSet", "testset", "Test Images", "t10k"]),
            (Split::Validation, ["val", "Valid", "validation", "validationSet", "dev", "val_set"]),
        ] {
            for name in names {
                assert_eq!(Split::of_folder(name), Some(split), "{name}");
            }
        }
        for other in ["", "tr", "te", "set", "images", "a", "train test", "testament", "latest", "train 2"] {
            assert_eq!(Split::of_folder(other), None, "{other}");
        }
    }
}
