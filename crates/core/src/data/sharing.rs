//! Examples that share one bounded vector: micro-batches, and users with all their images.

use serde::{Deserialize, Serialize};

use rand::rand_core::Rng as _;

use super::{
    Dataset, Users,
    coin::{fnv_1a, mixed},
};
use crate::rng::NotPrivateReplay;

/// Which examples are sampled together and contribute one bounded vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sharing {
    /// Each example is a unit of its own.
    #[default]
    Alone,
    /// ⌈examples/`size`⌉ micro-batches by each example's coin: sizes vary, and some may be empty.
    MicroBatches {
        /// Mean number of examples in a micro-batch.
        size: u32,
    },
    /// Users who hold the examples, equally many on average, assigned by a public seed and each
    /// example's own coin. Some may hold none.
    Users {
        /// Number of users, N.
        users: u32,
        /// α of the Dirichlet distribution of a user's class shares; small: few classes each.
        skew: f64,
        /// Public seed of the assignment.
        seed: u64,
    },
    /// Users whom the data name, each a unit with all their examples.
    UsersOfData {
        /// Number of users, N, which is public: as many as the data name, or more, who then hold
        /// nothing. 0: as many as the data name, which [`Sharing::on`] fills in.
        users: u32,
    },
}

/// Why a set's examples cannot be shared out as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub enum SharingError {
    /// The data do not say whose the examples are.
    #[error(
        "the images do not tell whose each is, so ε cannot be for their users; load images with a column of users (user, writer or subject), or choose made-up users"
    )]
    NoUsers,
    /// There are fewer units than users.
    #[error(
        "the training images are of {named} users, more than the {users} said; say at least {named}, or leave the number to the data"
    )]
    MoreUsers {
        /// Number of users whom the data name.
        named: u32,
        /// Number of users asked for.
        users: u32,
    },
}

impl Sharing {
    /// Number of units to sample from, given the number of examples, which is public.
    #[must_use]
    pub fn units(self, examples: u32) -> u32 {
        match self {
            Self::Alone => examples,
            Self::MicroBatches { size } => examples.div_ceil(size.max(1)),
            Self::Users { users, .. } | Self::UsersOfData { users } => users,
        }
    }

    /// Converts a run's lot, in examples or users, to units.
    #[must_use]
    pub fn lot(self, lot: u32) -> f64 {
        match self {
            Self::MicroBatches { size } => f64::from(lot) / f64::from(size.max(1)),
            Self::Alone | Self::Users { .. } | Self::UsersOfData { .. } => f64::from(lot),
        }
    }

    /// True if the units are users.
    #[must_use]
    pub fn is_of_users(self) -> bool {
        matches!(self, Self::Users { .. } | Self::UsersOfData { .. })
    }

    /// The sharing on `data`: a number of users that was left to the data is filled in.
    #[must_use]
    pub fn on(self, data: &Dataset) -> Self {
        match (self, &data.users) {
            (Self::UsersOfData { users: 0 }, Some(named)) => Self::UsersOfData { users: named.count() },
            (sharing, _) => sharing,
        }
    }

    /// Checks that the examples of `data` can be shared out so.
    ///
    /// # Errors
    /// [`SharingError`].
    pub fn check(self, data: &Dataset) -> Result<(), SharingError> {
        let Self::UsersOfData { users } = self else { return Ok(()) };
        match data.users.as_ref().map(Users::count) {
            None => Err(SharingError::NoUsers),
            Some(named) if named > users => Err(SharingError::MoreUsers { named, users }),
            Some(_) => Ok(()),
        }
    }

    /// True if several examples may share a vector.
    #[must_use]
    pub fn is_shared(self) -> bool {
        self != Self::Alone
    }
}

/// The units of a training set and the examples of each.
///
/// *Micro-batches.* An example's micro-batch depends on its own pixels and label and on the number
/// of micro-batches. With that number fixed, one example more or less changes the members of one
/// micro-batch only, and not which are sampled. (If micro-batches were cut off a list by position,
/// all that follow a missing example would change, and ε would have to pay for each.)
///
/// *Made-up users.* Who holds what is part of the data: a neighbouring dataset lacks one user with all
/// their examples, and the others keep theirs. Here an example's user depends on its own pixels and
/// label, the public seed and the number of users, so the same is true of one example less. All
/// users are sampled from, including those without examples.
///
/// *Users of the data.* Each user whom the data name is a unit of their own; units beyond their number
/// are empty. So a neighbouring dataset, which lacks one user with all their examples, has the same
/// units but for one that is empty. (Were users hashed to fewer units, two could share one: without one
/// of them its vector would become another, which may be twice as far away as none.) Their number N is
/// public, as the number of examples is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// End of each unit's range in `members`.
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl Units {
    /// Assigns the examples of `data` to units; `None` if each example is alone.
    #[must_use]
    pub fn of(sharing: Sharing, data: &Dataset) -> Option<Self> {
        let units = sharing.units(data.len() as u32);
        let unit_of = match sharing {
            Sharing::Alone => return None,
            Sharing::MicroBatches { .. } => {
                (0..data.len()).map(|i| below(units, coin(data.image(i), data.labels[i]))).collect()
            }
            Sharing::Users { skew, seed, .. } => users_of(data, units, skew, seed),
            Sharing::UsersOfData { .. } => data.users.as_ref().map(|users| users.of().to_vec()).unwrap_or_default(),
        };
        Some(Self::listed(units, &unit_of))
    }

    /// Groups the examples by the given unit of each. Those of no unit are never sampled, which
    /// [`Sharing::check`] rules out.
    fn listed(units: u32, unit_of: &[u32]) -> Self {
        let mut ends = vec![0u32; units as usize];
        let is_there = |unit: u32| unit < units;
        unit_of.iter().filter(|unit| is_there(**unit)).for_each(|&unit| ends[unit as usize] += 1);
        let mut at = 0;
        for end in &mut ends {
            (*end, at) = (at, at + *end);
        }
        let mut members = vec![0; at as usize];
        for (example, &unit) in (0..).zip(unit_of).filter(|(_, unit)| is_there(**unit)) {
            let place = &mut ends[unit as usize];
            members[*place as usize] = example;
            *place += 1;
        }
        Self { ends, members }
    }

    /// Number of units.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The examples of a unit, ascending; empty if there is no such unit.
    #[must_use]
    pub fn members(&self, unit: u32) -> &[u32] {
        let Some(&end) = self.ends.get(unit as usize) else { return &[] };
        let start = unit.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.members[start as usize..end as usize]
    }
}

/// An example's coin: FNV-1a of its pixels and label, mixed as in SplitMix64. It must never change,
/// or resumed runs would get other micro-batches.
fn coin(image: &[u8], label: u8) -> u64 {
    mixed(fnv_1a(image.iter().copied().chain([label])))
}

/// Maps a coin to a number below `n`.
fn below(n: u32, coin: u64) -> u32 {
    (((coin >> 32) * u64::from(n)) >> 32) as u32
}

/// Picks each example's user by its coin, weighted by the users' shares of its class.
fn users_of(data: &Dataset, users: u32, skew: f64, seed: u64) -> Vec<u32> {
    let mut rng = NotPrivateReplay::new(seed);
    let key = u64::from(rng.next_u32()) << 32 | u64::from(rng.next_u32());
    // Cumulative weights of the users, by class.
    let classes = data.classes.count();
    let mut up_to = vec![Vec::new(); classes];
    let mut sums = vec![0u64; classes];
    for _ in 0..users {
        for ((share, sum), up_to) in dirichlet(&mut rng, classes, skew).into_iter().zip(&mut sums).zip(&mut up_to) {
            *sum += share;
            up_to.push(*sum);
        }
    }
    let user = |i: usize| {
        let digit = usize::from(data.labels[i]) % classes;
        let at = (u128::from(mixed(coin(data.image(i), data.labels[i]) ^ key)) * u128::from(sums[digit])) >> 64;
        up_to[digit].partition_point(|&up_to| u128::from(up_to) <= at) as u32
    };
    (0..data.len()).map(user).collect()
}

/// Draws class shares from a symmetric Dirichlet distribution, in units of 2^-20 plus 1, so that
/// none is 0 and the last digits of a platform's logarithm do not matter.
fn dirichlet(rng: &mut NotPrivateReplay, classes: usize, skew: f64) -> Vec<u64> {
    let logarithms: Vec<f64> = (0..classes).map(|_| log_gamma_draw(rng, skew)).collect();
    let largest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<f64> = logarithms.iter().map(|logarithm| (logarithm - largest).exp()).collect();
    let sum: f64 = parts.iter().sum();
    parts.iter().map(|part| (part / sum * 1_048_576.0).round() as u64 + 1).collect()
}

/// Logarithm of a gamma draw of shape `shape` (Marsaglia & Tsang 2000); below 1, from a draw of
/// shape + 1 and a power of a uniform draw.
fn log_gamma_draw(rng: &mut NotPrivateReplay, shape: f64) -> f64 {
    let mut uniform = || (f64::from(rng.below(u32::MAX)) + 0.5) / f64::from(u32::MAX);
    let boost = if shape < 1.0 { uniform().ln() / shape } else { 0.0 };
    let d = if shape < 1.0 { shape + 1.0 } else { shape } - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let v = (1.0 + c * normal).powi(3);
        if v > 0.0 && uniform().ln() < 0.5 * normal * normal + d - d * v + d * v.ln() {
            return boost + (d * v).ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{idx::PIXELS, synthetic};

    fn sizes(units: &Units) -> Vec<usize> {
        (0..units.len() as u32).map(|unit| units.members(unit).len()).collect()
    }

    /// Checks that every example is in exactly one unit.
    fn assert_whole(units: &Units, examples: u32) {
        let mut all: Vec<u32> = (0..units.len() as u32).flat_map(|unit| units.members(unit)).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..examples).collect::<Vec<_>>());
    }

    #[test]
    fn coins_are_stable() {
        let coins = [coin(&[], 0), coin(&[0; PIXELS], 0), coin(&[0; PIXELS], 1)];
        assert_eq!(coins, [2_737_183_428_366_584_608, 13_740_360_078_718_685_639, 9_722_803_117_681_847_600]);
    }

    /// ε relies on this: without an example, its micro-batch lacks it and the others are unchanged.
    #[test]
    fn one_example_more_or_less_changes_one_micro_batch() {
        let set = synthetic::digits(2, 400, 1).train;
        // Both numbers of examples make equally many micro-batches.
        let sharing = Sharing::MicroBatches { size: 8 };
        let set = set.slice(0..399);
        let images = |set: &Dataset| -> Vec<Vec<Vec<u8>>> {
            let units = Units::of(sharing, set).unwrap();
            assert_whole(&units, set.len() as u32);
            (0..units.len() as u32)
                .map(|unit| units.members(unit).iter().map(|&i| set.image(i as usize).to_vec()).collect())
                .collect()
        };
        let all = images(&set);
        assert_eq!(all.len(), 50);
        let without = images(&set.slice(1..399));
        assert_eq!(without.len(), 50);
        let changed: Vec<usize> = (0..50).filter(|&unit| all[unit] != without[unit]).collect();
        let [unit] = changed[..] else { panic!("{changed:?}") };
        let rest: Vec<Vec<u8>> = all[unit].iter().filter(|image| *image != set.image(0)).cloned().collect();
        assert_eq!(rest, without[unit]);
    }

    #[test]
    fn micro_batches_are_of_their_size_on_average() {
        let set = synthetic::digits(1, 4000, 1).train;
        let units = Units::of(Sharing::MicroBatches { size: 16 }, &set).unwrap();
        let sizes = sizes(&units);
        assert_eq!(sizes.len(), 250);
        // 16, with a standard deviation of 4.
        assert!(sizes.iter().all(|size| (1..40).contains(size)), "{sizes:?}");
        let square: f64 = sizes.iter().map(|&size| (size as f64 - 16.0).powi(2)).sum::<f64>() / 250.0;
        assert!((11.0..22.0).contains(&square), "{square}");
        assert_eq!(Units::of(Sharing::Alone, &set), None);
    }

    /// Mean share of a user's commonest digit; 1 if each user writes only one.
    fn commonest(set: &Dataset, units: &Units) -> f64 {
        let share = |unit| {
            let members = units.members(unit);
            let mut counts = [0u32; 10];
            members.iter().for_each(|&i| counts[usize::from(set.labels[i as usize])] += 1);
            f64::from(counts.into_iter().max().unwrap_or(0)) / members.len() as f64
        };
        (0..units.len() as u32).map(share).sum::<f64>() / units.len() as f64
    }

    #[test]
    fn users_hold_similar_counts_and_digits_by_skew() {
        let set = synthetic::digits(1, 4003, 1).train;
        let of = |skew, seed| Units::of(Sharing::Users { users: 40, skew, seed }, &set).unwrap();
        let shares = [100.0, 0.3, 0.05].map(|skew| {
            let units = of(skew, 1);
            assert_whole(&units, 4003);
            // 100 each, with standard deviation 10, and depending on who else writes their digits.
            let far = if skew > 1.0 { 50..160 } else { 10..700 };
            assert!(sizes(&units).iter().all(|size| far.contains(size)), "{:?}", sizes(&units));
            commonest(&set, &units)
        });
        // Evenly, about 15 of 100 are of the commonest digit; with α = 0.05, nearly all are.
        assert!(shares[0] < 0.25 && (0.35..0.65).contains(&shares[1]) && shares[2] > 0.65, "{shares:?}");
        assert!(of(0.3, 1) == of(0.3, 1) && of(0.3, 1) != of(0.3, 2));
        // As many users as images, some without any, and a single user.
        for users in [1, 4003] {
            let units = Units::of(Sharing::Users { users, skew: 0.05, seed: 3 }, &set).unwrap();
            assert_whole(&units, 4003);
            assert_eq!(units.len() as u32, users);
            assert_eq!(sizes(&units).contains(&0), users > 1);
        }
    }

    /// ε of users relies on this: without one user and all their images, the other units hold the same
    /// images as before.
    #[test]
    fn users_of_the_data_are_units_and_one_less_empties_one() {
        let set = synthetic::digits(2, 60, 1).train;
        let of: Vec<u32> = (0..60).map(|i| i * i % 7).collect();
        let named = *of.iter().max().unwrap() + 1;
        let set = set.with_users(Some(Users::new(of.clone(), named)));
        let sharing = Sharing::UsersOfData { users: 0 }.on(&set);
        assert_eq!((sharing, sharing.check(&set)), (Sharing::UsersOfData { users: 5 }, Ok(())));
        let units = Units::of(sharing, &set).unwrap();
        assert_whole(&units, 60);
        for user in 0..5 {
            let expected: Vec<u32> = (0..60).filter(|i| of[*i as usize] == user).collect();
            assert_eq!(units.members(user), expected);
        }
        // More are said than are named: the others hold nothing.
        let more = Units::of(Sharing::UsersOfData { users: 8 }, &set).unwrap();
        assert_eq!((more.len(), more.members(1), more.members(7)), (8, units.members(1), &[][..]));

        // The dataset without user 2: the file then names one less, and numbers them anew.
        let kept: Vec<usize> = (0..60).filter(|i| of[*i] != 2).collect();
        let others: Vec<u32> = kept.iter().map(|&i| if of[i] > 2 { of[i] - 1 } else { of[i] }).collect();
        let images: Vec<u8> = kept.iter().flat_map(|&i| set.image(i).to_vec()).collect();
        let labels: Vec<u8> = kept.iter().map(|&i| set.labels[i]).collect();
        let without = set.like(images, labels).with_users(Some(Users::new(others, 4)));
        let held = |set: &Dataset| {
            let units = Units::of(sharing, set).unwrap();
            assert_eq!(units.len(), 5, "the number of users is public");
            let images = |unit| units.members(unit).iter().map(|&i| set.image(i as usize).to_vec()).collect();
            let mut all: Vec<Vec<Vec<u8>>> = (0..5).map(images).collect();
            all.sort();
            all
        };
        let (mut all, without) = (held(&set), held(&without));
        let left: Vec<Vec<u8>> = units.members(2).iter().map(|&i| set.image(i as usize).to_vec()).collect();
        *all.iter_mut().find(|unit| **unit == left).unwrap() = vec![];
        all.sort();
        assert_eq!(all, without);
    }

    #[test]
    fn users_that_the_data_do_not_tell_are_refused() {
        let set = synthetic::digits(2, 20, 1).train;
        let sharing = |users| Sharing::UsersOfData { users };
        assert_eq!((sharing(0).on(&set), sharing(3).check(&set)), (sharing(0), Err(SharingError::NoUsers)));
        assert_eq!(Sharing::Alone.check(&set), Ok(()));
        let set = set.with_users(Some(Users::new(vec![4; 20], 5)));
        let error = sharing(4).check(&set).unwrap_err();
        assert_eq!(error, SharingError::MoreUsers { named: 5, users: 4 });
        assert!(error.to_string().contains("say at least 5"), "{error}");
        assert_eq!(sharing(6).check(&set), Ok(()));
        // Not even then is an example added to another user's.
        assert_eq!(sizes(&Units::of(sharing(4), &set).unwrap()), [0; 4]);
    }

    /// The other users keep their images, whichever image is removed.
    #[test]
    fn one_image_more_or_less_changes_one_user() {
        let set = synthetic::digits(2, 400, 1).train;
        let sharing = Sharing::Users { users: 30, skew: 0.3, seed: 5 };
        let (all, without) = (Units::of(sharing, &set).unwrap(), Units::of(sharing, &set.slice(1..400)).unwrap());
        for user in 0..30 {
            let expected: Vec<u32> = all.members(user).iter().filter(|i| **i > 0).map(|i| i - 1).collect();
            assert_eq!(without.members(user), expected);
        }
    }
}
