//! Sampling policies: the samplers and what the accountants need of them.

use hushgrad_message::{Message, ToMessage, message, word};
use rand::rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::error::{PrivacyError, require};

/// How the examples of a step are chosen. Both the sampler and the price are made from this value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sampling {
    /// Each example joins a step independently with probability `rate`. Add/remove-one neighbours.
    Poisson {
        /// q, in [0, 1].
        rate: f64,
    },
    /// Exactly `size` of `population` examples, without replacement. Replace-one neighbours.
    FixedSize {
        /// Number of examples, which is public.
        population: u64,
        /// Examples in a lot, 1 to `population`.
        size: u64,
    },
    /// A fresh random partition into `batches` disjoint batches each epoch. Each example picks its
    /// batch independently and uniformly, so batch sizes vary. No amplification. Add/remove-one.
    /// Use one [`Sampler`] per ledger; before another one draws, call
    /// [`charge_open_epoch`](super::ledger::Ledger::charge_open_epoch).
    Shuffled {
        /// Batches in an epoch, 1 to 2^32 − 1.
        batches: u64,
    },
    /// The same draw, priced with amplification: *random allocation* ("balls in bins"; Feldman &
    /// Shenfeld 2026, arXiv 2602.17284). The picks are secret, so an epoch costs less than one
    /// release: its likelihood ratio is the mean of `batches` independent ones. An open epoch
    /// counts in full. Add/remove-one. An epoch costs as much as a shuffled one if one vector turns
    /// into another ([`sensitivity_factor`](super::ledger::Release::sensitivity_factor) 2), or if
    /// it mixes noises that are not all Gaussian. *Not valid for batches of a fixed size cut from a
    /// permutation*, where examples move one another.
    RandomAllocation {
        /// Batches in an epoch, t, 1 to 2^32 − 1.
        batches: u64,
    },
    /// *Cyclic Poisson* sampling (Choquette-Choo et al. 2023, arXiv 2306.08153). Each example draws
    /// one of `groups` groups, for the lifetime of the [`Sampler`]; step t takes each example of
    /// group t mod `groups` with probability `rate`. An example joins at most one step of a cycle,
    /// so Gaussian noise may be *correlated* over `groups` steps (C⁻¹Z, C banded with columns of
    /// norm at most 1). A cycle costs as much as one Poisson step; an open one counts in full.
    /// Add/remove-one.
    ///
    /// One sampler and one noise sequence serve a run of *equal* releases; other noise or another
    /// sampler begins a new cycle and sequence
    /// ([`charge_open_epoch`](super::ledger::Ledger::charge_open_epoch)). Groups need not be secret.
    CyclicPoisson {
        /// p, in [0, 1]: sampling rate within a group.
        rate: f64,
        /// Groups, steps per cycle, and steps over which noise is correlated: b, 1 to 2^32 − 1.
        groups: u64,
    },
}

/// The lots of an epoch or cycle: an example is in exactly one of them, or in at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Epoch {
    pub batches: u64,
    pub kind: EpochKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EpochKind {
    /// No amplification.
    Shuffled,
    /// Priced as random allocation.
    Allocated,
    /// A cycle of groups; another release ends it. `rate`: its bits, as rates identify samplers.
    Cyclic { rate: u64 },
}

/// Which pairs of data sets a guarantee protects. `Display` names it in words.
///
/// ```
/// # use hushgrad_accounting::sampling::{NeighbouringRelation, Sampling};
/// let sampling = Sampling::FixedSize { population: 60_000, size: 256 };
/// assert_eq!(sampling.neighbours(), NeighbouringRelation::ReplaceOne);
/// assert_eq!(sampling.neighbours().to_string(), "replace one");
/// assert_eq!(sampling.to_string(), "fixed size, 256 of 60000 without replacement");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeighbouringRelation {
    /// One data set has one more example.
    AddOrRemoveOne,
    /// Equal sizes, with one example replaced.
    ReplaceOne,
}

hushgrad_message::display!(NeighbouringRelation);

impl ToMessage for NeighbouringRelation {
    fn to_message(&self) -> Message {
        match self {
            Self::AddOrRemoveOne => word!("add or remove one"),
            Self::ReplaceOne => word!("replace one"),
        }
        .into()
    }
}

hushgrad_message::display!(Sampling);

impl ToMessage for Sampling {
    fn to_message(&self) -> Message {
        match *self {
            Self::Poisson { rate } => message!("Poisson, rate {}", super::numeric::six_digits(rate)),
            Self::FixedSize { population, size } => {
                message!("fixed size, {size} of {population} without replacement")
            }
            Self::Shuffled { batches } => message!(
                "shuffled partition, each example drawn independently into one of {batches} batches: one release per epoch, no amplification"
            ),
            Self::RandomAllocation { batches } => message!(
                "random allocation, each example secretly and independently drawn into one of {batches} batches per epoch, so sizes differ; an unfinished epoch counts in full"
            ),
            Self::CyclicPoisson { rate, groups } => message!(
                "cyclic Poisson, rate {} from one of {groups} groups per step, each example drawn independently into a group, so that noise may be correlated over {groups} steps; an unfinished cycle counts in full",
                super::numeric::six_digits(rate)
            ),
        }
    }
}

impl Sampling {
    /// Checks the parameters.
    ///
    /// # Errors
    /// A rate outside [0, 1]; a size of 0 or above the population; batches outside 1 to 2^32 − 1.
    pub fn validate(&self) -> Result<(), PrivacyError> {
        match *self {
            Self::Poisson { rate } => {
                require((0.0..=1.0).contains(&rate), "sampling.rate", rate, word!("a probability, 0 to 1"))
            }
            Self::CyclicPoisson { rate, groups } => {
                require((0.0..=1.0).contains(&rate), "sampling.rate", rate, word!("a probability, 0 to 1"))?;
                let possible = (1..=u64::from(u32::MAX)).contains(&groups);
                require(possible, "sampling.groups", groups as f64, word!("1 to 2^32 − 1"))
            }
            Self::FixedSize { population, size } => {
                require(population >= 1, "sampling.population", population as f64, word!("at least 1"))?;
                let range = word!("at least 1 and at most the population");
                require(size >= 1 && size <= population, "sampling.size", size as f64, range)
            }
            Self::Shuffled { batches } | Self::RandomAllocation { batches } => {
                let possible = (1..=u64::from(u32::MAX)).contains(&batches);
                require(possible, "sampling.batches", batches as f64, word!("1 to 2^32 − 1"))
            }
        }
    }

    /// Probability that an example takes part in a release that it pays for.
    pub(super) fn rate(&self) -> f64 {
        match *self {
            Self::Poisson { rate } | Self::CyclicPoisson { rate, .. } => rate,
            Self::FixedSize { population, size } => size as f64 / population as f64,
            Self::Shuffled { .. } | Self::RandomAllocation { .. } => 1.0,
        }
    }

    /// Batches of an epoch or steps of a cycle; `None` for Poisson and fixed-size sampling.
    #[must_use]
    pub fn batches(&self) -> Option<u64> {
        self.epoch().map(|epoch| epoch.batches)
    }

    /// The epoch or cycle that lots belong to; `None` if each lot is drawn afresh.
    pub(super) fn epoch(&self) -> Option<Epoch> {
        match *self {
            Self::Poisson { .. } | Self::FixedSize { .. } => None,
            Self::Shuffled { batches } => Some(Epoch { batches, kind: EpochKind::Shuffled }),
            Self::RandomAllocation { batches } => Some(Epoch { batches, kind: EpochKind::Allocated }),
            Self::CyclicPoisson { rate, groups } => {
                Some(Epoch { batches: groups, kind: EpochKind::Cyclic { rate: rate.to_bits() } })
            }
        }
    }

    /// Batches of an epoch of random allocation.
    pub(super) fn allocated(&self) -> Option<u64> {
        self.epoch().filter(|epoch| epoch.kind == EpochKind::Allocated).map(|epoch| epoch.batches)
    }

    /// The neighbouring relation that the price holds for.
    #[must_use]
    pub fn neighbours(&self) -> NeighbouringRelation {
        match self {
            Self::Poisson { .. }
            | Self::Shuffled { .. }
            | Self::RandomAllocation { .. }
            | Self::CyclicPoisson { .. } => NeighbouringRelation::AddOrRemoveOne,
            Self::FixedSize { .. } => NeighbouringRelation::ReplaceOne,
        }
    }

    /// Returns the sampler of this policy for `population` examples.
    ///
    /// # Errors
    /// As [`Sampling::validate`]; a population outside 1 to 2^32 − 1, or not a fixed-size policy's.
    pub fn sampler(self, population: u64) -> Result<Sampler, PrivacyError> {
        self.validate()?;
        let as_f64 = population as f64;
        require((1..=u64::from(u32::MAX)).contains(&population), "population", as_f64, word!("1 to 2^32 − 1"))?;
        if let Self::FixedSize { population: priced, .. } = self {
            require(priced == population, "population", as_f64, word!("the population of the sampling policy"))?;
        }
        Ok(Sampler { policy: self, population: population as u32, batch_of: Vec::new(), next_batch: 0 })
    }

    /// Draws one lot of a memoryless policy (Poisson, fixed size) over `population` examples into
    /// `out`: indices, strictly ascending. Partitions and groups need a [`Sampler`].
    ///
    /// # Errors
    /// As [`Sampling::sampler`], and for policies with epochs or cycles.
    pub fn sample<R: Rng + ?Sized>(
        &self,
        population: u64,
        rng: &mut R,
        out: &mut Vec<u32>,
    ) -> Result<(), PrivacyError> {
        if self.batches().is_some() {
            return Err(PrivacyError::Unpriced(word!(
                "drawing a single lot from a partition or groups; use their sampler"
            )));
        }
        self.sampler(population)?.draw(rng, out);
        Ok(())
    }
}

/// Draws lots. Holds the current partition of a policy with epochs, which is private: keep it with
/// the data. (The groups of [`Sampling::CyclicPoisson`] are not private.)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampler {
    policy: Sampling,
    population: u32,
    /// Each example's batch in this epoch, or its group.
    batch_of: Vec<u32>,
    next_batch: u64,
}

impl Sampler {
    /// The policy, for the ledger.
    #[must_use]
    pub fn policy(&self) -> Sampling {
        self.policy
    }

    /// Forgets the partition or groups. The caller records this with
    /// [`Ledger::charge_open_epoch`](super::ledger::Ledger::charge_open_epoch).
    pub fn begin_again(&mut self) {
        self.batch_of.clear();
        self.next_batch = 0;
    }

    /// Replaces `out` by the next lot: indices, strictly ascending. Private only if `rng` is.
    pub fn draw<R: Rng + ?Sized>(&mut self, rng: &mut R, out: &mut Vec<u32>) {
        out.clear();
        match self.policy {
            Sampling::Poisson { rate } => poisson(rate, self.population, rng, out),
            Sampling::FixedSize { size, .. } => fixed_size(self.population, size as u32, rng, out),
            Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches } => {
                if self.next_batch == 0 {
                    self.partition(batches, rng);
                }
                out.extend(self.next_members());
                self.next_batch = (self.next_batch + 1) % batches;
            }
            Sampling::CyclicPoisson { rate, groups } => {
                if self.batch_of.is_empty() {
                    self.partition(groups, rng);
                }
                let members: Vec<u32> = self.next_members().collect();
                poisson(rate, members.len() as u32, rng, out);
                out.iter_mut().for_each(|index| *index = members[*index as usize]);
                self.next_batch = (self.next_batch + 1) % groups;
            }
        }
    }

    /// Each example picks one of `parts` independently; with fixed sizes, removing one moves
    /// others.
    fn partition<R: Rng + ?Sized>(&mut self, parts: u64, rng: &mut R) {
        self.batch_of.clear();
        self.batch_of.extend((0..self.population).map(|_| below(parts as u32, rng)));
    }

    /// The examples of the next batch or group, ascending.
    fn next_members(&self) -> impl Iterator<Item = u32> {
        let next = self.next_batch;
        (0..self.population).zip(&self.batch_of).filter(move |(_, batch)| u64::from(**batch) == next).map(|(i, _)| i)
    }
}

/// Exact independent Bernoulli(rate) draws for each index: compares the bits of a uniform number
/// with those of `rate`, 32 at a time, until they differ.
fn poisson<R: Rng + ?Sized>(rate: f64, population: u32, rng: &mut R, out: &mut Vec<u32>) {
    if rate >= 1.0 {
        out.extend(0..population);
        return;
    }
    let (first, rest) = next_digit(rate);
    let mut words = [0u8; 4096];
    let mut index = 0;
    while index < population {
        let take = (population - index).min(1024);
        rng.fill_bytes(&mut words[..take as usize * 4]);
        for (offset, word) in words.chunks_exact(4).take(take as usize).enumerate() {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if word < first || (word == first && rest > 0.0 && uniform_below(rest, rng)) {
                out.push(index + offset as u32);
            }
        }
        index += take;
    }
}

/// The first 32 bits of `fraction` in [0, 1), and the rest scaled to [0, 1). Exact in f64.
fn next_digit(fraction: f64) -> (u32, f64) {
    let scaled = fraction * 4_294_967_296.0;
    let digit = scaled.floor();
    (digit as u32, scaled - digit)
}

/// True if a uniform number falls below `fraction` in [0, 1); exact.
fn uniform_below<R: Rng + ?Sized>(mut fraction: f64, rng: &mut R) -> bool {
    while fraction > 0.0 {
        let (digit, rest) = next_digit(fraction);
        let word = rng.next_u32();
        if word != digit {
            return word < digit;
        }
        fraction = rest;
    }
    false
}

/// A uniform integer in [0, n), n ≥ 1: multiplication with rejection (Lemire 2019), exact.
fn below<R: Rng + ?Sized>(n: u32, rng: &mut R) -> u32 {
    let threshold = n.wrapping_neg() % n;
    loop {
        let product = u64::from(rng.next_u32()) * u64::from(n);
        if product as u32 >= threshold {
            return (product >> 32) as u32;
        }
    }
}

/// `size` distinct indices below `population`, ascending (Floyd's algorithm, Bentley & Floyd 1987).
fn fixed_size<R: Rng + ?Sized>(population: u32, size: u32, rng: &mut R, out: &mut Vec<u32>) {
    let mut chosen = std::collections::HashSet::with_capacity(size as usize);
    for top in population - size..population {
        let pick = below(top + 1, rng);
        if !chosen.insert(pick) {
            chosen.insert(top);
        }
    }
    out.extend(chosen);
    out.sort_unstable();
}
