//! Data from a reader, as it travels between threads: a description, and the bytes beside it.

use serde::{Deserialize, Serialize};

use crate::data::{Classes, Dataset, Digits, Picture, Remark, Source, TestSet, Users};

/// Bytes of training images and labels, then of test images and labels.
pub type SetBytes<B> = [B; 4];

/// The description of digits or other images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSet {
    name: String,
    picture: Picture,
    classes: Vec<String>,
    source: Source,
    test_set: TestSet,
    notes: Vec<Remark>,
    /// Whose the training images and the test images are, if the files tell.
    users: [Option<SetUsers>; 2],
}

/// Whose each image of a set is: the number of users, and each image's.
type SetUsers = (u32, Vec<u32>);

fn users_of(set: &Dataset) -> Option<SetUsers> {
    set.users.as_ref().map(|users| (users.count(), users.of().to_vec()))
}

impl ReadSet {
    /// Returns the description of digits, and their bytes.
    #[must_use]
    pub fn of(digits: &Digits) -> (Self, SetBytes<&[u8]>) {
        let Digits { train, test, source, test_set, notes } = digits;
        let (name, picture, classes) = (train.name.clone(), train.picture, train.classes.names());
        let users = [train, test].map(users_of);
        let said = Self { name, picture, classes, source: *source, test_set: *test_set, notes: notes.clone(), users };
        (said, [&train.images, &train.labels, &test.images, &test.labels])
    }

    /// Returns the digits of these bytes; `None` if they do not match the description.
    #[must_use]
    pub fn with(self, [images, labels, test_images, test_labels]: SetBytes<Vec<u8>>) -> Option<Digits> {
        let classes = Classes::named(&self.classes).ok()?;
        let set = |images: Vec<u8>, labels: Vec<u8>, users: Option<SetUsers>| {
            let fits = images.len() == labels.len() * self.picture.pixels()
                && labels.iter().all(|label| usize::from(*label) < classes.count())
                && users.as_ref().is_none_or(|(_, of)| of.len() == labels.len());
            let users = users.map(|(count, of)| Users::new(of, count));
            fits.then(|| Dataset::of(&self.name, self.picture, classes.clone(), images, labels).with_users(users))
        };
        let [users, test_users] = self.users;
        Some(Digits {
            train: set(images, labels, users)?,
            test: set(test_images, test_labels, test_users)?,
            source: self.source,
            test_set: self.test_set,
            notes: self.notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images(classes: Classes, source: Source, test_set: TestSet) -> Digits {
        let picture = Picture { channels: 1, side: 2 };
        let set = |count: u8| {
            let images: Vec<u8> = (0..4 * count).collect();
            let labels: Vec<u8> = (0..count).map(|label| label % 3).collect();
            Dataset::of("your files (a.npz)", picture, classes.clone(), images, labels)
        };
        Digits {
            train: set(7),
            test: set(3),
            source,
            test_set,
            notes: vec![Remark::Empty { names: "2".to_owned(), count: 1 }],
        }
    }

    #[test]
    fn read_sets_arrive_unchanged() {
        let named = Classes::named(&["cat", "dog", "hen"]).unwrap();
        for (classes, source, test_set) in [
            (named, Source::Visitor, TestSet::HeldOut),
            (Classes::digits(), Source::Known, TestSet::Public),
            (Classes::numbered(3).unwrap(), Source::Mnist, TestSet::Visitor),
        ] {
            let mut digits = images(classes, source, test_set);
            if test_set == TestSet::HeldOut {
                digits.train = digits.train.with_users(Some(Users::new([0, 0, 4, 4, 4, 1, 2], 5)));
                digits.test = digits.test.with_users(Some(Users::new([3, 9, 9], 5)));
            }
            let (said, bytes) = ReadSet::of(&digits);
            let packed = postcard::to_allocvec(&said).unwrap();
            let arrived = postcard::from_bytes::<ReadSet>(&packed).unwrap().with(bytes.map(<[u8]>::to_vec)).unwrap();
            assert_eq!((&arrived.train, &arrived.test), (&digits.train, &digits.test));
            assert_eq!((arrived.source, arrived.test_set), (source, test_set));
            assert_eq!(arrived.remarks(), digits.remarks());
        }
    }

    #[test]
    fn bytes_that_do_not_match_the_description_are_rejected() {
        let digits = images(Classes::numbered(3).unwrap(), Source::Visitor, TestSet::HeldOut);
        let (said, bytes) = ReadSet::of(&digits);
        let bytes = bytes.map(<[u8]>::to_vec);
        for place in 0..4 {
            let mut cut = bytes.clone();
            cut[place].clear();
            assert!(said.clone().with(cut).is_none(), "{place}");
        }
        let mut beyond = bytes.clone();
        beyond[1] = vec![3; 7];
        assert!(said.clone().with(beyond).is_none());
        let users = [None, Some((2, vec![0; 7]))];
        assert!(ReadSet { users, ..said }.with(bytes).is_none());
    }
}
