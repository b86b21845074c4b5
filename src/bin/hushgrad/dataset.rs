//! Selects the images a command works on.

use std::{error::Error, path::PathBuf};

use hushgrad::{
    data::{Dataset, Digits, Picture, Source, synthetic::colour},
    model::layers::LayerList,
    train::config::RunConfig,
};

use crate::train::{self, said::tell};

/// Numbers of training and test images of the colour data set.
const COLOUR: (usize, usize) = (50_000, 10_000);
const CIFAR: Picture = Picture { channels: 3, side: 32 };

/// Which images.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Images {
    /// Folder or archive of image files (docs/data.md) [default: MNIST if found, else synthetic
    /// digits]
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Train on the built-in synthetic digits
    #[arg(long, conflicts_with = "data")]
    pub synthetic: bool,
    /// Required kind of images: colour and synthetic ones are generated, CIFAR is read from `--data`
    #[arg(long, value_enum, value_name = "NAME", conflicts_with = "synthetic")]
    pub dataset: Option<Named>,
    #[command(flatten)]
    pub orientation: Orientation,
}

/// How images of one's own are turned, all alike, as by the page's buttons.
#[derive(clap::Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orientation {
    /// Turn all images of your own by 90° clockwise, or by so many times that; this costs no privacy
    #[arg(long, value_name = "TIMES", num_args = 0..=1, default_missing_value = "1", require_equals = true,
        value_parser = clap::value_parser!(u8).range(1..=3))]
    pub turn: Option<u8>,
    /// Mirror all images of your own, left and right exchanged, after any turn; this costs no privacy
    #[arg(long)]
    pub mirror: bool,
}

impl Orientation {
    /// Turns and mirrors these images.
    ///
    /// # Errors
    /// [`ImagesError::NotOwn`] for published digits and for drawn ones.
    pub fn of(self, digits: Digits) -> Result<Digits, ImagesError> {
        if self == Self::default() {
            return Ok(digits);
        }
        if !digits.source.is_own() {
            return Err(ImagesError::NotOwn { name: digits.train.name });
        }
        let turned = (0..self.turn.unwrap_or_default()).fold(digits, |digits, _| digits.oriented(false));
        Ok(if self.mirror { turned.oriented(true) } else { turned })
    }

    /// Returns the images as they were read, by which books know them: they are of the same people.
    #[must_use]
    pub fn undone(self, set: &Dataset) -> Dataset {
        let set = if self.mirror { set.mirrored() } else { set.clone() };
        let back = self.turn.map_or(0, |turns| 4 - turns);
        (0..back).fold(set, |set, _| set.turned())
    }
}

/// A set that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Named {
    Mnist,
    Synthetic,
    Colour,
    Cifar10,
    Cifar100,
}

/// Why a command cannot use these images.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    #[error("--dataset {name} needs --data with its files; they are not downloaded")]
    Needed { name: &'static str },
    #[error(
        "{asked}: MNIST is not here; put its four files into a folder, and name it with --data or MNIST_DIR, or name --synthetic"
    )]
    Absent { asked: &'static str },
    #[error("--dataset {name} and --data exclude each other; leave one of them out")]
    Drawn { name: &'static str },
    #[error("--data has {picture} images of {classes} classes, but {name} has {expected}")]
    Other { name: &'static str, picture: Picture, classes: usize, expected: &'static str },
    #[error("--turn and --mirror are for images of your own, given with --data, but these are {name}; leave them out")]
    NotOwn { name: String },
    #[error("--layers ends in {named} classes, but the images have {classes}; end it in dense {classes}")]
    Classes { named: usize, classes: usize },
}

/// What a run on drawn digits says if it did not ask for them.
const FALLBACK: &str = "MNIST was not found: the run is on synthetic digits, and its accuracy is not that on MNIST";

impl Images {
    /// As [`Images::found`]; MNIST is required if a preset is named and no images are, because its
    /// settings were chosen for MNIST.
    ///
    /// # Errors
    /// As [`Images::found`].
    pub fn found_for(&self, preset: bool) -> Result<Digits, Box<dyn Error>> {
        let digits = self.found()?;
        if preset { Ok(self.mnist(digits, "--preset")?) } else { Ok(digits) }
    }

    /// Refuses drawn digits where MNIST was `asked` for.
    fn mnist(&self, digits: Digits, asked: &'static str) -> Result<Digits, ImagesError> {
        if self.fallback(&digits).is_some() { Err(ImagesError::Absent { asked }) } else { Ok(digits) }
    }

    /// Says that these digits were drawn because there is no MNIST.
    #[must_use]
    pub fn fallback(&self, digits: &Digits) -> Option<&'static str> {
        let drawn = self.synthetic || self.dataset == Some(Named::Synthetic);
        (digits.source == Source::Synthetic && !drawn).then_some(FALLBACK)
    }

    /// Loads or draws the training and test images.
    ///
    /// # Errors
    /// A sentence that says what to change.
    pub fn found(&self) -> Result<Digits, Box<dyn Error>> {
        Ok(self.orientation.of(self.as_read()?)?)
    }

    fn as_read(&self) -> Result<Digits, Box<dyn Error>> {
        let folder = self.data.as_deref();
        let found = || train::found(folder, false);
        let of = |name, picture, classes, expected| -> Result<Digits, Box<dyn Error>> {
            let digits = found()?;
            let is = (digits.train.picture, digits.train.classes.count());
            if is == (picture, classes) {
                return Ok(digits);
            }
            Err(ImagesError::Other { name, picture: is.0, classes: is.1, expected }.into())
        };
        match (self.dataset, folder) {
            (None, _) => train::found(folder, self.synthetic),
            (Some(Named::Synthetic), None) => train::found(None, true),
            (Some(Named::Colour), None) => Ok(colour::images(0, COLOUR.0, COLOUR.1)),
            (Some(Named::Synthetic), Some(_)) => Err(ImagesError::Drawn { name: "synthetic" }.into()),
            (Some(Named::Colour), Some(_)) => Err(ImagesError::Drawn { name: "colour" }.into()),
            (Some(Named::Mnist), None) => Ok(self.mnist(found()?, "--dataset mnist")?),
            (Some(Named::Mnist), Some(_)) => of("mnist", Picture::DIGIT, 10, "28×28 grey ones of 10"),
            (Some(Named::Cifar10), None) => Err(ImagesError::Needed { name: "cifar10" }.into()),
            (Some(Named::Cifar100), None) => Err(ImagesError::Needed { name: "cifar100" }.into()),
            (Some(Named::Cifar10), Some(_)) => of("cifar10", CIFAR, 10, "32×32 colour ones of 10"),
            (Some(Named::Cifar100), Some(_)) => of("cifar100", CIFAR, 100, "32×32 colour ones of 100"),
        }
    }

    /// Returns the number of training images, if known without loading them.
    #[must_use]
    pub fn known(&self) -> Option<usize> {
        match (self.dataset, &self.data) {
            (_, Some(_)) => None,
            (Some(Named::Colour), None) => Some(COLOUR.0),
            _ => Some(train::EXAMPLES),
        }
    }
}

/// Fits the model's shapes and the number of users to these images; `listed` are the layers that the
/// user gave for them.
///
/// # Errors
/// If a window does not fit the images, listed layers end in another number of classes, or the images
/// do not tell their users.
pub fn fitted(config: RunConfig, digits: &Digits, listed: Option<LayerList>) -> Result<RunConfig, Box<dyn Error>> {
    let (picture, classes) = (digits.train.picture, digits.train.classes.count());
    if let Some(named) = listed.map(|layers| layers.classes()).filter(|named| *named != classes) {
        return Err(ImagesError::Classes { named, classes }.into());
    }
    let (before, fitted) = (config.model, config.on(&digits.train)?.fitted(picture, classes)?);
    if fitted.model != before {
        tell(&format!("model for {picture} images of {classes} classes: {}", fitted.model));
    }
    Ok(fitted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushgrad::data::synthetic;

    #[test]
    fn own_images_are_turned_then_mirrored_and_known_as_they_were_read() {
        let own = Digits { source: Source::Visitor, ..synthetic::digits(1, 6, 2) };
        for turn in [None, Some(1), Some(2), Some(3)] {
            for mirror in [false, true] {
                let asked = Orientation { turn, mirror };
                let found = asked.of(own.clone()).unwrap();
                // As the page's buttons, pressed as often.
                let page = (0..turn.unwrap_or(0)).fold(own.clone(), |digits, _| digits.oriented(false));
                let page = if mirror { page.oriented(true) } else { page };
                assert_eq!((&found.train, &found.test), (&page.train, &page.test));
                assert_eq!(asked.undone(&found.train), own.train);
                let drawn = asked.of(synthetic::digits(1, 6, 2));
                assert_eq!(drawn.is_err(), asked != Orientation::default());
            }
        }
    }

    #[test]
    fn synthetic_digits_are_not_taken_for_mnist() {
        let digits = synthetic::digits(1, 10, 10);
        let mnist = Digits { source: Source::Mnist, ..digits.clone() };
        let images = |synthetic, dataset| Images { synthetic, dataset, ..Images::default() };
        for asked in [images(false, None), images(false, Some(Named::Mnist))] {
            assert!(matches!(asked.mnist(digits.clone(), "--preset"), Err(ImagesError::Absent { .. })));
            assert!(asked.fallback(&digits).is_some() && asked.fallback(&mnist).is_none());
            assert!(asked.mnist(mnist.clone(), "--preset").is_ok());
        }
        for drawn in [images(true, None), images(false, Some(Named::Synthetic))] {
            assert!(drawn.fallback(&digits).is_none() && drawn.mnist(digits.clone(), "--preset").is_ok());
        }
    }
}
