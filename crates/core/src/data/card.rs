//! What was read of the visitor's own images, to look at before training.

use serde::{Deserialize, Serialize};

use super::{Dataset, Digits};

/// Pictures of a class, if there are so many.
pub const PICTURES: usize = 10;

/// Counts and first pictures of each class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// By label: training images and test images.
    pub counts: Vec<[u32; 2]>,
    /// By label: the first [`PICTURES`] images in the files' order, training images before others.
    pub pictures: Vec<Vec<u8>>,
}

impl Card {
    /// The card of these images.
    #[must_use]
    pub fn of(digits: &Digits) -> Self {
        let classes = digits.train.classes.count();
        let mut card = Self { counts: vec![[0; 2]; classes], pictures: vec![Vec::new(); classes] };
        card.take(&digits.train, 0);
        card.take(&digits.test, 1);
        card
    }

    fn take(&mut self, set: &Dataset, part: usize) {
        for (i, label) in set.labels.iter().enumerate() {
            let (Some(count), Some(pictures)) =
                (self.counts.get_mut(usize::from(*label)), self.pictures.get_mut(usize::from(*label)))
            else {
                continue;
            };
            count[part] += 1;
            if pictures.len() < PICTURES * set.pixels() {
                pictures.extend_from_slice(set.image(i));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::synthetic;

    #[test]
    fn a_card_counts_every_image_and_shows_the_first_of_each_class() {
        let digits = synthetic::digits(3, 200, 50);
        let card = Card::of(&digits);
        assert_eq!(card.counts.iter().map(|[train, _]| train).sum::<u32>(), 200);
        assert_eq!(card.counts.iter().map(|[_, test]| test).sum::<u32>(), 50);
        for (label, pictures) in card.pictures.iter().enumerate() {
            let first = (0..200).find(|i| usize::from(digits.train.labels[*i]) == label).unwrap();
            assert!(pictures.starts_with(digits.train.image(first)) && pictures.len() == PICTURES * 784);
        }
    }
}
