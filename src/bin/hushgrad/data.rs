//! `hushgrad data`: what is read of a folder or an archive of images.

use std::{error::Error, fmt::Write as _, path::PathBuf};

use hushgrad::{
    data::{Dataset, Digits, TestSet, card::Card},
    train::config::RunConfig,
    ui::settings::Settings,
};

use crate::{dataset::Orientation, out::say, train};

/// Where the images are.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folder or archive of image files (docs/data.md)
    path: PathBuf,
    #[command(flatten)]
    orientation: Orientation,
}

/// Prints what was read: size, classes, numbers of images, remarks.
///
/// # Errors
/// Files that cannot be read.
pub fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    say(&card(&arguments.orientation.of(train::read(&arguments.path)?)?))
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
    if let Some(users) = &train.users {
        let users = users.count();
        let _ = writeln!(
            text,
            "\nThe images are of {users} users. `hushgrad train --user-source data` protects whole users; their number counts as public."
        );
    }
    let _ = writeln!(text, "{}", follows(train));
    for remark in digits.remarks() {
        let _ = write!(text, "\n{remark}");
    }
    text
}

/// What the images decide about a run with the default options.
fn follows(train: &Dataset) -> String {
    let (lot, examples) = (RunConfig::default().lot, train.len() as u32);
    let lot = match Settings::default().modest_lot(examples) {
        Some(fits) if lot > examples => {
            format!("--lot {fits} or another of at most {examples}, as the default is {lot}")
        }
        Some(modest) => format!("lot {lot}, or --lot {modest}, which costs less privacy with so few images"),
        None => format!("lot {lot}"),
    };
    match RunConfig::default().fitted(train.picture, train.classes.count()) {
        Ok(RunConfig { model, .. }) => {
            format!("\nFor a run this means: {model}, {} parameters; {lot}.", model.parameters())
        }
        Err(error) => format!("\nFor a run this means: another --model, because {error}; {lot}."),
    }
}

#[cfg(test)]
mod tests {
    use hushgrad::data::{Users, synthetic};

    use super::*;

    #[test]
    fn a_card_has_a_line_for_each_class() {
        let text = card(&synthetic::digits(1, 300, 60));
        assert!(text.contains("Images of 28×28 grey pixels, 10 classes; 300 to train on, 60 to test"), "{text}");
        assert!(
            text.contains("For a run this means: linear model, 7850 parameters")
                && text.contains("; lot 256, or --lot 37, which"),
            "{text}"
        );
        assert!(!text.contains("users"), "{text}");
        let mut few = synthetic::digits(1, 60, 6);
        few.train = few.train.with_users(Some(Users::new(vec![0; 60], 17)));
        let said = card(&few);
        assert!(said.contains("--lot 7 or another of at most 60") && said.contains("of 17 users"), "{said}");
        let seven = text.lines().find(|line| line.starts_with("7 ")).unwrap();
        assert_eq!(seven.split_whitespace().count(), 3, "{text}");
    }
}
