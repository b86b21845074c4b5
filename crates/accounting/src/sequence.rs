//! The order of releases, and which of them one example pays for: every one if lots are drawn
//! afresh, one per epoch of a partition, one per cycle of groups. Both accountants use these terms.

use std::collections::{BTreeMap, BTreeSet};

use super::sampling::{Epoch, EpochKind, Sampling};

/// Runs of equal releases, and repeated segments. `T` identifies a release.
#[derive(Clone, Debug)]
pub(super) struct Sequence<T>(Vec<Segment<T>>);

#[derive(Clone, Debug)]
enum Segment<T> {
    Run { release: T, steps: u64 },
    Repeated { segments: Vec<Segment<T>>, times: u64 },
}

/// Releases of which an example pays for the costliest, and how often. [`SATURATED`]: unbounded.
pub(super) type CompositionTerm<T> = (Vec<T>, u64);

/// A number of steps beyond the range of u64.
pub(super) const SATURATED: u64 = u64::MAX;

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Ord> Sequence<T> {
    /// Appends `steps` releases.
    pub fn push(&mut self, release: T, steps: u64) {
        match self.0.last_mut() {
            _ if steps == 0 => {}
            Some(Segment::Run { release: last, steps: count }) if *last == release => {
                *count = count.saturating_add(steps)
            }
            _ => self.0.push(Segment::Run { release, steps }),
        }
    }

    /// Appends `next`, with its releases renamed by `name`.
    pub fn append<U: Copy>(&mut self, next: &Sequence<U>, name: &impl Fn(U) -> T) {
        for segment in &next.0 {
            match segment.renamed(name) {
                Segment::Run { release, steps } => self.push(release, steps),
                repeated @ Segment::Repeated { .. } => self.0.push(repeated),
            }
        }
    }

    /// The whole sequence, `times` times in a row.
    #[must_use]
    pub fn repeated(mut self, times: u64) -> Self {
        match self.0.as_mut_slice() {
            _ if times == 0 => Self::default(),
            [] => self,
            [Segment::Run { steps: count, .. } | Segment::Repeated { times: count, .. }] => {
                *count = count.saturating_mul(times);
                self
            }
            _ if times == 1 => self,
            _ => Self(vec![Segment::Repeated { segments: self.0, times }]),
        }
    }

    /// Total number of releases.
    pub fn steps(&self) -> u64 {
        let mut total = 0u128;
        each_run(&self.0, 1, &mut |_, steps| total = total.saturating_add(steps));
        narrow(total)
    }

    /// Number of releases of each kind.
    pub fn steps_of_each(&self) -> BTreeMap<T, u64> {
        let mut totals: BTreeMap<T, u128> = BTreeMap::new();
        each_run(&self.0, 1, &mut |release, steps| {
            let total = totals.entry(release).or_default();
            *total = total.saturating_add(steps);
        });
        totals.into_iter().map(|(release, total)| (release, narrow(total))).collect()
    }

    /// What one example pays for: every release of a memoryless policy, and the costliest release
    /// of each epoch of the others, whatever happens in between. An open epoch counts in full.
    pub fn terms(&self, sampling: impl Fn(T) -> Sampling) -> Vec<CompositionTerm<T>> {
        let mut terms = Terms::default();
        each_run(&self.0, 1, &mut |release, steps| {
            if sampling(release).batches().is_none() {
                terms.add(&[release], steps);
            }
        });
        for (Epoch { batches, kind }, segments) in by_policy(&self.0, &sampling) {
            let mut epochs = Epochs {
                batches: batches.into(),
                apart: matches!(kind, EpochKind::Cyclic { .. }),
                done: 0,
                open: BTreeSet::new(),
                closed: Terms::default(),
            };
            epochs.walk(&segments);
            for (releases, count) in epochs.finish().list {
                terms.add(&releases, count.into());
            }
        }
        terms.list
    }
}

/// The segments of each policy with epochs, in one pass over the releases.
fn by_policy<T: Copy>(segments: &[Segment<T>], sampling: &impl Fn(T) -> Sampling) -> BTreeMap<Epoch, Vec<Segment<T>>> {
    let mut policies: BTreeMap<Epoch, Vec<Segment<T>>> = BTreeMap::new();
    for segment in segments {
        match segment {
            Segment::Run { release, steps } => {
                if let Some(policy) = sampling(*release).epoch() {
                    policies.entry(policy).or_default().push(Segment::Run { release: *release, steps: *steps });
                }
            }
            Segment::Repeated { segments, times } => {
                for (policy, segments) in by_policy(segments, sampling) {
                    policies.entry(policy).or_default().push(Segment::Repeated { segments, times: *times });
                }
            }
        }
    }
    policies
}

impl<T: Copy> Segment<T> {
    fn renamed<U>(&self, name: &impl Fn(T) -> U) -> Segment<U> {
        match self {
            Self::Run { release, steps } => Segment::Run { release: name(*release), steps: *steps },
            Self::Repeated { segments, times } => Segment::Repeated {
                segments: segments.iter().map(|segment| segment.renamed(name)).collect(),
                times: *times,
            },
        }
    }
}

/// Visits every run with its steps times its repetitions.
fn each_run<T: Copy>(segments: &[Segment<T>], times: u128, visit: &mut dyn FnMut(T, u128)) {
    for segment in segments {
        match segment {
            Segment::Run { release, steps } => visit(*release, wide(*steps).saturating_mul(times)),
            Segment::Repeated { segments, times: more } => {
                each_run(segments, wide(*more).saturating_mul(times), visit);
            }
        }
    }
}

/// Widens a count; a saturated one stays saturated.
fn wide(count: u64) -> u128 {
    if count == SATURATED { u128::MAX } else { count.into() }
}

fn narrow(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(SATURATED)
}

/// Terms in order of arrival, with equal sets merged.
#[derive(Clone, Debug)]
struct Terms<T> {
    list: Vec<CompositionTerm<T>>,
    places: BTreeMap<Vec<T>, usize>,
}

impl<T> Default for Terms<T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: BTreeMap::new() }
    }
}

impl<T: Copy + Ord> Terms<T> {
    fn add(&mut self, releases: &[T], count: u128) {
        let count = narrow(count);
        if count == 0 {
            return;
        }
        if let Some(&place) = self.places.get(releases) {
            let total = &mut self.list[place].1;
            *total = total.saturating_add(count);
            return;
        }
        self.places.insert(releases.to_vec(), self.list.len());
        self.list.push((releases.to_vec(), count));
    }

    fn add_set(&mut self, releases: &BTreeSet<T>, count: u128) {
        self.add(&releases.iter().copied().collect::<Vec<T>>(), count);
    }
}

/// The epochs of one policy, batch by batch.
struct Epochs<T> {
    batches: u128,
    /// True if an epoch consists of equal releases, so that another release ends it.
    apart: bool,
    /// Batches done in the open epoch, fewer than `batches`.
    done: u128,
    /// The releases of these batches.
    open: BTreeSet<T>,
    closed: Terms<T>,
}

impl<T: Copy + Ord> Epochs<T> {
    fn walk(&mut self, segments: &[Segment<T>]) {
        for segment in segments {
            match segment {
                Segment::Run { release, steps } => self.run(&BTreeSet::from([*release]), wide(*steps)),
                Segment::Repeated { segments, times } => self.repeat(segments, wide(*times)),
            }
        }
    }

    /// Adds `steps` batches, each by one of `releases`.
    fn run(&mut self, releases: &BTreeSet<T>, mut steps: u128) {
        if self.apart && self.open != *releases {
            self.close();
        }
        if self.done > 0 {
            self.open.extend(releases);
            let taken = steps.min(self.batches - self.done);
            self.done += taken;
            steps -= taken;
            if self.done == self.batches {
                self.closed.add_set(&self.open, 1);
                self.done = 0;
            }
        }
        if steps > 0 {
            self.closed.add_set(releases, steps / self.batches);
            self.done = steps % self.batches;
            self.open.clone_from(releases);
        }
    }

    fn repeat(&mut self, segments: &[Segment<T>], times: u128) {
        let (mut steps, mut releases) = (0u128, BTreeSet::new());
        each_run(segments, 1, &mut |release, count| {
            steps = steps.saturating_add(count);
            releases.insert(release);
        });
        if steps == 0 {
            return;
        }
        if self.apart && releases.len() > 1 {
            // Closes each pass: a cycle across a boundary counts twice, never too little.
            self.close();
            let before = std::mem::take(&mut self.closed);
            self.walk(segments);
            self.close();
            self.add_passes(before, times);
        } else if !self.apart && steps % self.batches == 0 && steps < u128::MAX {
            // Every pass begins at the same place of an epoch, so one serves for all. The pass
            // before may leave any of the releases open.
            if self.done > 0 {
                self.open.extend(&releases);
            }
            let before = std::mem::take(&mut self.closed);
            self.walk(segments);
            self.add_passes(before, times);
        } else {
            // Passes begin at different places, so each epoch may hold any of the releases.
            self.run(&releases, steps.saturating_mul(times));
        }
    }

    /// Counts the closed terms `times` times, in addition to `before`.
    fn add_passes(&mut self, before: Terms<T>, times: u128) {
        let pass = std::mem::replace(&mut self.closed, before);
        for (set, count) in pass.list {
            self.closed.add(&set, wide(count).saturating_mul(times));
        }
    }

    /// Counts an open epoch in full.
    fn close(&mut self) {
        if self.done > 0 {
            self.closed.add_set(&self.open, 1);
            self.done = 0;
        }
    }

    fn finish(mut self) -> Terms<T> {
        self.close();
        self.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 0, 1: a partition into 5; 2, 3: random allocation to 5; 4: Poisson; 5, 6: three groups.
    fn sampling(release: usize) -> Sampling {
        match release {
            0 | 1 => Sampling::Shuffled { batches: 5 },
            2 | 3 => Sampling::RandomAllocation { batches: 5 },
            5 | 6 => Sampling::CyclicPoisson { rate: 0.3, groups: 3 },
            _ => Sampling::Poisson { rate: 0.1 },
        }
    }

    /// Σ over terms of the costliest release; release r costs `prices[r]`.
    fn total(terms: &[CompositionTerm<usize>], prices: &[u64]) -> u64 {
        terms.iter().map(|(set, count)| set.iter().map(|r| prices[*r]).max().unwrap_or(0) * count).sum()
    }

    /// The same, release by release: each policy's releases in order, cut into epochs.
    fn one_by_one(releases: &[usize], prices: &[u64]) -> u64 {
        let mut sum = 0;
        for (policy, batches) in [([0, 1].as_slice(), 5), (&[2, 3], 5), (&[4], 1)] {
            let mine: Vec<u64> = releases.iter().filter(|r| policy.contains(r)).map(|r| prices[*r]).collect();
            sum += mine.chunks(batches).map(|epoch| epoch.iter().max().unwrap()).sum::<u64>();
        }
        // Runs of equal releases, each cut into cycles.
        let cyclic: Vec<usize> = releases.iter().copied().filter(|r| matches!(r, 5 | 6)).collect();
        sum +=
            cyclic.chunk_by(|a, b| a == b).map(|equal| equal.len().div_ceil(3) as u64 * prices[equal[0]]).sum::<u64>();
        sum
    }

    proptest! {
        /// Interleaved policies keep their places in their epochs, and the terms are exact.
        #[test]
        fn interleaved_policies_keep_their_epochs(
            runs in prop::collection::vec((0usize..7, 1u64..9), 0..20), prices in prop::array::uniform7(1u64..100),
        ) {
            let mut sequence = Sequence::default();
            let mut flat = Vec::new();
            for (release, steps) in runs {
                sequence.push(release, steps);
                flat.extend(std::iter::repeat_n(release, steps as usize));
            }
            prop_assert_eq!(sequence.steps(), flat.len() as u64);
            prop_assert_eq!(total(&sequence.terms(sampling), &prices), one_by_one(&flat, &prices));
        }

        /// Repeated segments, also nested, cost at least as much as written out; equal for whole
        /// epochs.
        #[test]
        fn repeated_stretches_are_charged_in_full(
            parts in prop::collection::vec((prop::collection::vec((0usize..7, 1u64..9), 0..4), 1u64..5), 1..4),
            whole in 1u64..4, prices in prop::array::uniform7(1u64..100),
        ) {
            let (mut sequence, mut flat) = (Sequence::default(), Vec::new());
            for (runs, times) in parts {
                let (mut part, mut written) = (Sequence::default(), Vec::new());
                for (release, steps) in runs {
                    part.push(release, steps);
                    written.extend(std::iter::repeat_n(release, steps as usize));
                }
                sequence.append(&part.repeated(times), &|release: usize| release);
                flat.extend(written.repeat(times as usize));
            }
            let aligned = flat.iter().filter(|r| **r < 2).count() % 5 == 0 && flat.iter().filter(|r| matches!(r, 2 | 3)).count() % 5 == 0
                && !flat.iter().any(|r| matches!(r, 5 | 6));
            let pass = total(&sequence.terms(sampling), &prices);
            let sequence = sequence.repeated(whole);
            prop_assert_eq!(sequence.steps(), flat.len() as u64 * whole);
            let charged = total(&sequence.terms(sampling), &prices);
            prop_assert!(charged >= one_by_one(&flat.repeat(whole as usize), &prices));
            prop_assert!(!aligned || charged == pass * whole);
        }
    }

    /// Many kinds in turn, with a partition each or one for all; quadratic work takes minutes.
    #[test]
    fn terms_of_many_kinds_take_linear_time() {
        let (kinds, rounds) = (20_000u64, 20);
        let mut sequence = Sequence::default();
        (0..kinds * rounds).for_each(|i| sequence.push(i % kinds, 1));
        let poisson = sequence.terms(|_| Sampling::Poisson { rate: 0.5 });
        assert!(
            poisson.len() == kinds as usize && poisson.iter().all(|(set, count)| set.len() == 1 && *count == rounds)
        );
        assert_eq!(sequence.steps_of_each(), (0..kinds).map(|kind| (kind, rounds)).collect());
        let apart = sequence.terms(|kind| Sampling::Shuffled { batches: kind + 1 });
        // 20 batches of a partition into b are ⌈20/b⌉ epochs, counting open ones.
        assert!(apart.iter().all(|(set, count)| *count == rounds.div_ceil(set[0] + 1) && set.len() == 1));
        let together = sequence.terms(|_| Sampling::Shuffled { batches: kinds });
        assert_eq!(together, [((0..kinds).collect(), rounds)]);
    }

    #[test]
    fn a_repeated_epoch_costs_its_costliest_release() {
        let mut epoch = Sequence::default();
        epoch.push(0usize, 2);
        epoch.push(1, 3);
        assert_eq!(epoch.repeated(100).terms(sampling), [(vec![0, 1], 100)]);
    }

    #[test]
    fn saturated_counts_stay_saturated() {
        let mut sequence = Sequence::default();
        sequence.push(0usize, u64::MAX - 1);
        sequence.push(0, 2);
        assert_eq!(sequence.terms(sampling)[0].1, SATURATED);
        sequence.push(4, 1);
        assert_eq!(sequence.clone().repeated(7).terms(sampling)[0], (vec![4], 7));
        assert!(sequence.repeated(7).terms(sampling).iter().any(|(set, count)| set == &[0] && *count == SATURATED));
    }
}
