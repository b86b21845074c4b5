//! What was read of the visitor's own images, to look at before training.

use serde::{Deserialize, Serialize};

use super::{Dataset, Digits, Users};

/// Pictures of a class, if there are so many.
pub const PICTURES: usize = 10;

/// Counts and first pictures of each class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// By label: training images and test images.
    pub counts: Vec<[u32; 2]>,
    /// By label: the first [`PICTURES`] images in the files' order, training images before others.
    pub pictures: Vec<Vec<u8>>,
    /// Number of users of the training images, if the files name them.
    pub users: Option<u32>,
}

impl Card {
    /// The card of these images.
    #[must_use]
    pub fn of(digits: &Digits) -> Self {
        let classes = digits.train.classes.count();
        let users = digits.train.users.as_ref().map(Users::count);
        let mut card = Self { counts: vec![[0; 2]; classes], pictures: vec![Vec::new(); classes], users };
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
        let mut digits = synthetic::digits(3, 200, 50);
        assert_eq!(Card::of(&digits).users, None);
        digits.train = digits.train.with_users(Some(Users::new(vec![3; 200], 7)));
        let card = Card::of(&digits);
        assert_eq!(card.users, Some(7));
        assert_eq!(card.counts.iter().map(|[train, _]| train).sum::<u32>(), 200);
        assert_eq!(card.counts.iter().map(|[_, test]| test).sum::<u32>(), 50);
        for (label, pictures) in card.pictures.iter().enumerate() {
            let first = (0..200).find(|i| usize::from(digits.train.labels[*i]) == label).unwrap();
            assert!(pictures.starts_with(digits.train.image(first)) && pictures.len() == PICTURES * 784);
        }
    }
}
