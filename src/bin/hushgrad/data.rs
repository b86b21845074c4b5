//! `hushgrad data`: what is read of a folder or an archive of images.

use std::{error::Error, fmt::Write as _, path::PathBuf};

use hushgrad::data::{Digits, TestSet, card::Card};

use crate::{out::say, train};

/// Where the images are.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder or archive of image files (docs/data.md)
    path: PathBuf,
}

/// Prints what was read: size, classes, numbers of images, remarks.
///
/// # Errors
/// Files that cannot be read.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    say(&card(&train::read(&arguments.path)?))
}

/// The card of these images, as text; ends without a newline.
fn card(digits: &Digits) -> String {
    let Digits { train, test, .. } = digits;
    let split = match digits.test_set {
        TestSet::Public => "the published test set",
        TestSet::Visitor => "a test set of your own, which ε does not cover",
        TestSet::HeldOut => "about one in six, held out by a coin of each image, which ε does not cover",
    };
    let mut text = format!(
        "{}\nImages of {} pixels, {} classes; {} to train on, {} to test: {split}.\n\n",
        train.name,
        train.picture,
        train.classes.count(),
        train.len(),
        test.len()
    );
    let names = train.classes.names();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default().max(5);
    // Writing to a string never fails.
    let _ = writeln!(text, "{:width$}  {:>8}  {:>8}", "class", "train", "test");
    for (name, [train, test]) in names.iter().zip(Card::of(digits).counts) {
        let _ = writeln!(text, "{name:width$}  {train:>8}  {test:>8}");
    }
    for remark in digits.remarks() {
        let _ = write!(text, "\n{remark}");
    }
    text
}

#[cfg(test)]
mod tests {
    use hushgrad::data::synthetic;

    use super::*;

    #[test]
    fn a_card_has_a_line_for_each_class() {
        let text = card(&synthetic::digits(1, 300, 60));
        assert!(text.contains("Images of 28×28 grey pixels, 10 classes; 300 to train on, 60 to test"), "{text}");
        let seven = text.lines().find(|line| line.starts_with("7 ")).unwrap();
        assert_eq!(seven.split_whitespace().count(), 3, "{text}");
    }
}
