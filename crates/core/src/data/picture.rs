//! The size of images, and the classes of a set.

use std::sync::Arc;

use hushgrad_message::{Message, ToMessage, message};
use serde::{Deserialize, Serialize};

use super::name::{is_hidden, quoted};

/// The size of an image: channel by channel, each `side`×`side` bytes row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Picture {
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: u8,
    /// Rows, and pixels per row: 1 to [`MOST_SIDE`].
    pub side: u8,
}

/// Longest side of an image, in pixels.
pub const MOST_SIDE: u8 = 64;
/// Fewest classes.
pub const FEWEST_CLASSES: usize = 2;
/// Most classes.
pub const MOST_CLASSES: usize = 100;

impl Picture {
    /// MNIST's size: 28×28 grey values.
    pub const DIGIT: Self = Self { channels: 1, side: 28 };

    /// An image of this size; `None` if no model takes it.
    #[must_use]
    pub const fn new(channels: usize, side: usize) -> Option<Self> {
        if (channels == 1 || channels == 3) && side >= 1 && side <= MOST_SIDE as usize {
            Some(Self { channels: channels as u8, side: side as u8 })
        } else {
            None
        }
    }

    /// Bytes of one channel.
    #[must_use]
    pub const fn area(self) -> usize {
        self.side as usize * self.side as usize
    }

    /// Bytes of an image.
    #[must_use]
    pub const fn pixels(self) -> usize {
        self.channels as usize * self.area()
    }
}

impl Default for Picture {
    fn default() -> Self {
        Self::DIGIT
    }
}

hushgrad_message::display!(Picture);

impl ToMessage for Picture {
    fn to_message(&self) -> Message {
        let side = self.side;
        if self.channels == 1 { message!("{side}×{side} grey") } else { message!("{side}×{side} colour") }
    }
}

/// Names of a set's classes, by label. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes(Names);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Names {
    /// This many numbers, from `0`.
    Numbers(usize),
    Words(Arc<[String]>),
}

/// A value as a label; `None` unless it is a whole number below [`MOST_CLASSES`].
pub(super) fn label(value: f64) -> Option<u8> {
    (value.fract() == 0.0 && (0.0..MOST_CLASSES as f64).contains(&value)).then_some(value as u8)
}

/// Longest name of a class, in characters.
pub const LONGEST_NAME: usize = 40;

/// Why classes were refused.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub enum ClassesError {
    /// Too few or too many.
    #[error("{found} classes; expected {FEWEST_CLASSES} to {MOST_CLASSES}")]
    Count {
        /// Number of classes.
        found: usize,
    },
    /// A name that cannot be shown.
    #[error("class {class} is called “{name}”; expected 1 to {LONGEST_NAME} characters, and no line break or tab")]
    Name {
        /// Label, from 0.
        class: usize,
        /// Its name, shortened.
        name: String,
    },
    /// The same name twice.
    #[error("classes {first} and {second} are both called “{name}”")]
    Twice {
        /// Label of the first.
        first: usize,
        /// Label of the second.
        second: usize,
        /// Their name.
        name: String,
    },
}

impl Classes {
    /// The ten digits.
    #[must_use]
    pub const fn digits() -> Self {
        Self(Names::Numbers(10))
    }

    /// `count` unnamed classes, numbered from `0`.
    ///
    /// # Errors
    /// [`ClassesError::Count`].
    pub const fn numbered(count: usize) -> Result<Self, ClassesError> {
        if count < FEWEST_CLASSES || count > MOST_CLASSES {
            return Err(ClassesError::Count { found: count });
        }
        Ok(Self(Names::Numbers(count)))
    }

    /// Unnamed classes up to the `highest` label in a file, at least two; ten for digits of MNIST's
    /// size. Their number is presumed public, although read off the labels: ε does not cover it.
    #[must_use]
    pub fn up_to(picture: Picture, highest: u8) -> Self {
        let count = (usize::from(highest) + 1).clamp(FEWEST_CLASSES, MOST_CLASSES);
        if picture == Picture::DIGIT && count <= 10 { Self::digits() } else { Self(Names::Numbers(count)) }
    }

    /// Classes of these names, in the order of the labels.
    ///
    /// # Errors
    /// [`ClassesError`] for a wrong number, an unfit name or a name given twice.
    pub fn named<N: AsRef<str>>(names: &[N]) -> Result<Self, ClassesError> {
        let count = names.len();
        if !(FEWEST_CLASSES..=MOST_CLASSES).contains(&count) {
            return Err(ClassesError::Count { found: count });
        }
        let names: Vec<String> = names.iter().map(|name| name.as_ref().trim().to_owned()).collect();
        for (class, name) in names.iter().enumerate() {
            if name.is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(is_hidden) {
                let name = quoted(name, LONGEST_NAME);
                return Err(ClassesError::Name { class, name });
            }
            if let Some(first) = names[..class].iter().position(|before| before == name) {
                return Err(ClassesError::Twice { first, second: class, name: name.clone() });
            }
        }
        let numbers = names.iter().enumerate().all(|(class, name)| *name == class.to_string());
        Ok(Self(if numbers { Names::Numbers(count) } else { Names::Words(names.into()) }))
    }

    /// Number of classes.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.0 {
            Names::Numbers(count) => *count,
            Names::Words(names) => names.len(),
        }
    }

    /// Name of a label; its number if unnamed.
    #[must_use]
    pub fn name(&self, label: usize) -> String {
        match &self.0 {
            Names::Words(names) if label < names.len() => names[label].clone(),
            _ => label.to_string(),
        }
    }

    /// All names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        (0..self.count()).map(|label| self.name(label)).collect()
    }

    /// True if the classes have names.
    #[must_use]
    pub const fn are_named(&self) -> bool {
        matches!(self.0, Names::Words(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_grey_or_of_three_colours_and_fits() {
        assert_eq!(Picture::new(3, 32).map(Picture::pixels), Some(3072));
        assert_eq!(Picture::new(1, 28), Some(Picture::DIGIT));
        for (channels, side) in [(0, 28), (2, 28), (4, 28), (1, 0), (1, 65), (3, usize::MAX), (257, 28)] {
            assert_eq!(Picture::new(channels, side), None, "{channels} {side}");
        }
        assert_eq!(Picture { channels: 3, side: 32 }.to_string(), "32×32 colour");
    }

    #[test]
    fn classes_have_names_or_are_refused() {
        assert_eq!(Classes::digits().names(), ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        assert_eq!(Classes::named(&Classes::digits().names()), Ok(Classes::digits()));
        let animals = Classes::named(&["cat", " dog "]).unwrap();
        assert_eq!((animals.count(), animals.name(1).as_str(), animals.name(2).as_str()), (2, "dog", "2"));
        assert!(animals.are_named() && !Classes::digits().are_named());
        let long = "x".repeat(41);
        for (names, found) in [
            (vec!["cat"], "1 classes; expected 2 to 100"),
            (vec!["cat", ""], "class 1 is called “”"),
            (vec!["cat", "a\tb"], "class 1 is called"),
            (vec!["cat", &long], "expected 1 to 40 characters"),
            (vec!["cat", "dog", "cat"], "classes 0 and 2 are both called “cat”"),
        ] {
            let error = Classes::named(&names).unwrap_err().to_string();
            assert!(error.contains(found), "{error}");
        }
        assert!(Classes::numbered(1).is_err() && Classes::numbered(101).is_err());
        assert_eq!(Classes::numbered(100).unwrap().name(99), "99");
    }
}
