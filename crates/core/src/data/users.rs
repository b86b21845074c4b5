//! Whose each example is, as the data tell: read from a column, kept beside the labels.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::Dataset;

/// The words for a user, in the name of a column or an array.
const USER: [&str; 6] = ["user", "users", "writer", "writers", "subject", "subjects"];

/// True if these words of a name tell that it holds users: `writer`, `user_id`, `SubjectIDs`.
pub(super) fn are_told_by(words: &[String]) -> bool {
    match words {
        [user] => USER.contains(&user.as_str()),
        [user, id] => USER.contains(&user.as_str()) && matches!(id.as_str(), "id" | "ids"),
        _ => false,
    }
}

/// The users of a file's examples: each name once, and the place of each example's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Column {
    names: Vec<String>,
    of: Vec<u32>,
}

impl Column {
    /// Number of examples.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Joins the columns of a training and of a test set, so that a name is one user in both. Users
    /// are numbered in the order of their first training example, those with none after all others.
    pub fn joined(train: Self, test: Option<Self>) -> (Users, Option<Users>) {
        let count = train.names.len() as u32;
        let Some(test) = test else { return (Users::new(train.of, count), None) };
        let mut numbers: HashMap<String, u32> = train.names.into_iter().zip(0..).collect();
        let numbered: Vec<u32> = test
            .names
            .into_iter()
            .map(|name| {
                let next = numbers.len() as u32;
                *numbers.entry(name).or_insert(next)
            })
            .collect();
        let of = test.of.into_iter().map(|place| numbered[place as usize]);
        (Users::new(train.of, count), Some(Users::new(of.collect::<Vec<_>>(), count)))
    }
}

impl FromIterator<String> for Column {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let mut places: HashMap<String, u32> = HashMap::new();
        let of = names.into_iter().map(|name| {
            let next = places.len() as u32;
            *places.entry(name).or_insert(next)
        });
        let of = of.collect();
        let mut names: Vec<(String, u32)> = places.into_iter().collect();
        names.sort_unstable_by_key(|(_, place)| *place);
        Self { names: names.into_iter().map(|(name, _)| name).collect(), of }
    }
}

/// Whose each example of a set is.
///
/// The numbers of users are names only: they say which examples belong together, and which users of a
/// test set are those of the training set.
/// Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Users(Arc<Told>);

#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// The user of each example; below `count` in a training set.
    of: Vec<u32>,
    /// Number of users of the training set as read, before any of it was held out.
    count: u32,
}

impl Users {
    /// The users of examples, by number, of a training set of `count` users.
    #[must_use]
    pub fn new(of: impl Into<Vec<u32>>, count: u32) -> Self {
        Self(Arc::new(Told { of: of.into(), count }))
    }

    /// Number of users of the whole training set, including those all of whose examples are held out.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.count
    }

    /// The user of each example.
    #[must_use]
    pub fn of(&self) -> &[u32] {
        &self.0.of
    }

    /// The users of chosen examples.
    pub(super) fn part(&self, examples: impl Iterator<Item = usize>) -> Self {
        Self::new(examples.map(|i| self.0.of[i]).collect::<Vec<_>>(), self.0.count)
    }

    /// Number of users who also have an example in `other`, and of all that have one here.
    #[must_use]
    pub fn shared_with(&self, other: &Self) -> (usize, usize) {
        let [own, others] = [self, other].map(|users| users.of().iter().copied().collect::<HashSet<u32>>());
        (own.intersection(&others).count(), own.len())
    }
}

impl Dataset {
    /// The same examples, with whose each is.
    ///
    /// # Panics
    /// When `users` has not one entry for each example.
    #[must_use]
    pub fn with_users(self, users: Option<Users>) -> Self {
        assert!(users.as_ref().is_none_or(|users| users.of().len() == self.len()), "an entry for each example");
        Self { users, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::words::words;

    #[test]
    fn names_of_columns_tell() {
        for name in ["user", "Writer", "SUBJECT", "user_id", "writerID", "subject ids", "Users"] {
            assert!(are_told_by(&words(name)), "{name}");
        }
        for name in ["", "id", "userage", "subject_age", "label", "user_name_id", "who"] {
            assert!(!are_told_by(&words(name)), "{name}");
        }
    }

    #[test]
    fn a_name_is_one_user_in_both_sets() {
        let column = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Column>();
        let train = column(&["b", "a", "b", "c"]);
        assert_eq!((train.len(), train.names.len()), (4, 3));
        let (train, test) = Column::joined(train, Some(column(&["x", "a", "x", "y", "b"])));
        let test = test.unwrap();
        assert_eq!((train.of(), train.count()), (&[0, 1, 0, 2][..], 3));
        assert_eq!((test.of(), test.count()), (&[3, 1, 3, 4, 0][..], 3));
        assert_eq!((test.shared_with(&train), train.shared_with(&test)), ((2, 4), (2, 3)));
    }
}
