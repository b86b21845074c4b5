//! What a run released, as data for the accountants. Nothing here computes ε.

use hushgrad_message::{Message, ToMessage, message, word};
use serde::{Deserialize, Serialize};

use super::{
    dynamics::{Setting, hidden_noise},
    envelope::EnvelopeProfile,
    error::{PrivacyError, json_fault, require},
    noise::NoiseSpec,
    pair::Pair,
    rounding::Grid,
    sampling::{Epoch, EpochKind, NeighbouringRelation, Sampling},
};

/// Bound on one example's contribution to the noisy sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sensitivity {
    /// L2 norm at most `norm` (plain clipping).
    L2 {
        /// The clip C, 1e-100 to 1e100.
        norm: f64,
    },
    /// Coordinates within some arrangement of one of the envelope's vectors.
    Envelope {
        /// The part of Ψ that ε depends on.
        profile: EnvelopeProfile,
    },
    /// No bound, so no guarantee.
    Unbounded,
    /// No noisy sum: the answer's distribution with an example and without it. The noise is inside.
    Pair(Pair),
}

impl Sensitivity {
    /// Largest L2 norm of a contribution; `None` if unbounded.
    pub(super) fn norm(&self) -> Option<f64> {
        match self {
            Self::L2 { norm } => Some(*norm),
            Self::Envelope { profile } => Some(profile.norm()),
            Self::Unbounded | Self::Pair(_) => None,
        }
    }
}

/// The privacy unit: whose data one clipped or encoded gradient holds. `Display` names it in words.
///
/// ```
/// # use hushgrad_accounting::ledger::PrivacyUnit;
/// assert_eq!(PrivacyUnit::default().to_string(), "one example");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrivacyUnit {
    /// One example, encoded alone.
    #[default]
    Example,
    /// One example of a micro-batch whose mean gradient is encoded: removing it replaces one
    /// encoded gradient by another, up to twice the bound away. Its grouping must not depend on the
    /// data.
    ExampleInMicroBatch,
    /// A whole micro-batch, which is also what is sampled; its examples are not protected singly.
    MicroBatch,
    /// One user, whose examples are sampled together and add one bounded vector. For one example of
    /// a user, see [`PrivacyUnit::within`].
    User,
}

impl PrivacyUnit {
    /// The unit of one example under the same release. Removing an example from a micro-batch or
    /// user replaces one bounded vector by another, which may be *further* away than zero. So the ε
    /// of the whole does not hold for one example, whose ε may be larger.
    #[must_use]
    pub const fn within(self) -> Self {
        match self {
            Self::Example => Self::Example,
            Self::ExampleInMicroBatch | Self::MicroBatch | Self::User => Self::ExampleInMicroBatch,
        }
    }
}

hushgrad_message::display!(PrivacyUnit);

impl ToMessage for PrivacyUnit {
    fn to_message(&self) -> Message {
        match self {
            Self::Example => word!("one example"),
            Self::ExampleInMicroBatch => word!("one example (inside a micro-batch: one vector turns into another)"),
            Self::MicroBatch => word!("one micro-batch (not one example)"),
            Self::User => word!("one user, with all their examples"),
        }
        .into()
    }
}

/// What neighbouring data sets differ in. Losses compose only if all releases agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protected {
    neighbours: NeighbouringRelation,
    /// The micro-batch or user protected as a whole; `None`: one example, wherever it is.
    whole: Option<PrivacyUnit>,
}

impl Protected {
    /// # Errors
    /// [`PrivacyError::MixedNeighbours`] or [`PrivacyError::MixedUnits`] if the guarantees differ.
    pub fn same(self, other: Self) -> Result<(), PrivacyError> {
        if self.neighbours != other.neighbours {
            return Err(PrivacyError::MixedNeighbours);
        }
        if self.whole == other.whole { Ok(()) } else { Err(PrivacyError::MixedUnits) }
    }
}

/// One of several vectors that each example adds to a release; see [`groups`](super::groups).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    /// What the vector holds.
    pub holds: Held,
    /// C_g: bound on its L2 norm. 1 for a whole gradient, which is in units of its current clip.
    pub clip: f64,
    /// σ_g: standard deviation of the Gaussian noise on each coordinate of the sum, in those units.
    pub noise: f64,
}

/// Contents of one of an example's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// The clipped gradient.
    Gradient,
    /// The clipped gradient of these layers of the model.
    Layers(LayerSet),
    /// Whether the gradient's norm is within the clip: ±½.
    NormWithinClip,
    /// Whether the model classifies the example correctly (±½), and its class (one-hot).
    AnswerAndClass,
}

/// Layers of a model by number, from 1 to 64; in JSON a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u8>", into = "Vec<u8>")]
pub struct LayerSet(u64);

impl LayerSet {
    /// The numbers, in order.
    pub fn numbers(self) -> impl Iterator<Item = u8> {
        (1..=64).filter(move |number| self.0 >> (number - 1) & 1 == 1)
    }
}

impl TryFrom<Vec<u8>> for LayerSet {
    type Error = PrivacyError;

    fn try_from(numbers: Vec<u8>) -> Result<Self, PrivacyError> {
        numbers.into_iter().try_fold(Self(0), |Self(set), number| {
            require((1..=64).contains(&number), "parts.layers", number.into(), word!("from 1 to 64"))?;
            Ok(Self(set | 1 << (number - 1)))
        })
    }
}

impl From<LayerSet> for Vec<u8> {
    fn from(set: LayerSet) -> Self {
        set.numbers().collect()
    }
}

/// One noisy sum over a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Release {
    /// How the examples of the sum are chosen.
    pub sampling: Sampling,
    /// Bound on one example's contribution.
    pub sensitivity: Sensitivity,
    /// Noise on each coordinate of the sum. `None`: no noise, so the whole ledger has no guarantee.
    pub noise: Option<NoiseSpec>,
    /// What is protected. Required in JSON, since ε depends on it.
    pub unit: PrivacyUnit,
    /// What neighbouring data sets differ in; `None`: as the theorems of the sampling have it
    /// ([`Sampling::neighbours`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbouringRelation>,
    /// The grid that sums and noise are rounded to; ε then includes the cost of inexact noise.
    /// `None`: floating-point sums, and the ε of the real-valued mechanism.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// The vectors, if an example adds several; `sensitivity` and `noise` are the joint query's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The training that ends in this release, if its other models were not shown; `sensitivity`
    /// and `noise` are those of a query with the same Rényi divergence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<HiddenSteps>,
}

/// Noisy gradient descent of which only the last model is released; see [`dynamics`](super::dynamics).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HiddenSteps {
    /// The quantities of the theorem.
    pub setting: Setting,
    /// K: number of updates, at least 1.
    pub steps: u64,
}

impl HiddenSteps {
    /// ρ of the training.
    ///
    /// # Errors
    /// A setting that the theorems do not cover, or no steps.
    fn rho(&self) -> Result<f64, PrivacyError> {
        let uncovered = |_| PrivacyError::Unpriced(word!("hidden steps of a setting that no theorem covers"));
        let descent = self.setting.checked().map_err(uncovered)?;
        require(self.steps > 0, "hidden.steps", self.steps as f64, word!("at least 1"))?;
        Ok(descent.rho(self.steps))
    }
}

impl Release {
    /// A release that protects one example, encoded alone.
    #[must_use]
    pub fn new(sampling: Sampling, sensitivity: Sensitivity, noise: Option<NoiseSpec>) -> Self {
        let unit = PrivacyUnit::Example;
        Self { sampling, sensitivity, noise, unit, neighbours: None, grid: None, parts: Vec::new(), hidden: None }
    }

    /// An answer that is no noisy sum, on a sample of the examples. Rate 1 is all of them.
    #[must_use]
    pub fn of_pair(sampling: Sampling, pair: Pair) -> Self {
        Self::new(sampling, Sensitivity::Pair(pair), None)
    }

    /// The same release, for these neighbours whatever the sampling.
    ///
    /// ```
    /// use hushgrad_accounting::{Accountant, dp_sgd, sampling::NeighbouringRelation::ReplaceOne};
    ///
    /// let step = dp_sgd::step(1.1, 256.0 / 60_000.0);
    /// let removed = Accountant::new().compose(step.clone(), 3515)?.epsilon(1e-5)?;
    /// let replaced = Accountant::new().compose(step.between(ReplaceOne), 3515)?.epsilon(1e-5)?;
    /// assert_eq!(format!("{:.3} {:.3}", removed.epsilon, replaced.epsilon), "1.134 1.928");
    /// # Ok::<(), hushgrad_accounting::PrivacyError>(())
    /// ```
    #[must_use]
    pub fn between(self, neighbours: NeighbouringRelation) -> Self {
        let own = self.sampling.neighbours() == neighbours;
        Self { neighbours: (!own).then_some(neighbours), ..self }
    }

    /// What neighbouring data sets differ in.
    #[must_use]
    pub fn neighbours(&self) -> NeighbouringRelation {
        self.neighbours.unwrap_or_else(|| self.sampling.neighbours())
    }

    /// Checks every field.
    ///
    /// # Errors
    /// The invalid field, its value and its range.
    pub fn validate(&self) -> Result<(), PrivacyError> {
        self.sampling.validate()?;
        match &self.sensitivity {
            Sensitivity::L2 { norm } => {
                require((1e-100..=1e100).contains(norm), "sensitivity.norm", *norm, word!("finite and above 0"))?;
            }
            // A profile is checked when it is made or read.
            Sensitivity::Envelope { .. } | Sensitivity::Unbounded => {}
            Sensitivity::Pair(pair) => self.check_pair(pair)?,
        }
        if self.neighbours() == NeighbouringRelation::AddOrRemoveOne
            && self.sampling.neighbours() == NeighbouringRelation::ReplaceOne
        {
            return Err(PrivacyError::Unpriced(word!(
                "fixed-size lots if an example is added or removed: their number would change"
            )));
        }
        if let Some(noise) = &self.noise {
            noise.build()?;
        }
        if matches!(self.sampling, Sampling::CyclicPoisson { .. }) {
            // Correlated steps are proven private for rotation-invariant (Gaussian) noise only.
            if !matches!(self.noise, Some(NoiseSpec::Gaussian { .. }) | None) {
                return Err(PrivacyError::Unpriced(word!(
                    "cyclic sampling (and so correlated noise) with non-Gaussian noise"
                )));
            }
            if self.grid.is_some() {
                return Err(PrivacyError::Unpriced(word!("cyclic sampling (and so correlated noise) on a grid")));
            }
        }
        self.check_parts()?;
        self.check_hidden()?;
        if let Some(grid) = &self.grid {
            grid.validate()?;
            if let Sensitivity::Envelope { profile } = &self.sensitivity {
                let fits = profile.dimension() == grid.coordinates;
                require(fits, "grid.coordinates", grid.coordinates as f64, word!("that of the envelope"))?;
            }
        }
        Ok(())
    }

    /// Checks that a pair is all that is released, and that its sampling has a theorem.
    fn check_pair(&self, pair: &Pair) -> Result<(), PrivacyError> {
        let Self { noise, unit, grid, parts, hidden, .. } = self;
        if noise.is_some() || grid.is_some() || !parts.is_empty() || hidden.is_some() {
            return Err(PrivacyError::Unpriced(word!("a pair with noise, a grid, parts or hidden steps beside it")));
        }
        if *unit == PrivacyUnit::ExampleInMicroBatch {
            return Err(PrivacyError::Unpriced(word!("one example of a pair that protects more")));
        }
        let replaced = self.neighbours() == NeighbouringRelation::ReplaceOne;
        match self.sampling {
            _ if replaced && !pair.is_symmetric() => Err(PrivacyError::Unpriced(word!(
                "a pair whose two distributions are not alike in either order, if one example replaces another"
            ))),
            Sampling::Poisson { rate } if replaced && rate > 0.0 && rate < 1.0 => Err(PrivacyError::Unpriced(word!(
                "a Poisson sample of a pair if one example replaces another: nothing is known without either"
            ))),
            Sampling::Poisson { .. } | Sampling::FixedSize { .. } => Ok(()),
            _ => Err(PrivacyError::Unpriced(word!("a pair whose sample is part of an epoch or a cycle"))),
        }
    }

    /// Checks that the parts agree with the release's noise multiplier.
    fn check_parts(&self) -> Result<(), PrivacyError> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let (Some(NoiseSpec::Gaussian { sigma }), Sensitivity::L2 { norm }, None) =
            (&self.noise, &self.sensitivity, self.grid)
        else {
            return Err(PrivacyError::Unpriced(word!(
                "a release of several vectors, except clipped ones with Gaussian noise and no grid"
            )));
        };
        for Part { clip, noise, .. } in &self.parts {
            require((1e-100..=1e100).contains(clip), "parts.clip", *clip, word!("finite and above 0"))?;
            require((1e-100..=1e100).contains(noise), "parts.noise", *noise, word!("finite and above 0"))?;
        }
        let together = sigma / norm * self.spent_by_parts();
        require((together - 1.0).abs() < 1e-9, "parts", together, word!("1, so that all parts match the release"))
    }

    /// Checks that hidden steps agree with the release's noise, on the examples that it names.
    fn check_hidden(&self) -> Result<(), PrivacyError> {
        let Some(hidden) = &self.hidden else { return Ok(()) };
        let n = hidden.setting.examples;
        let (Some(NoiseSpec::Gaussian { sigma }), Sensitivity::L2 { norm }, None, true, true) = (
            &self.noise,
            &self.sensitivity,
            self.grid,
            self.parts.is_empty() && self.unit == PrivacyUnit::Example,
            self.sampling == Sampling::FixedSize { population: n, size: n },
        ) else {
            return Err(PrivacyError::Unpriced(word!(
                "hidden steps, except on all examples, one by one, with Gaussian noise and no grid"
            )));
        };
        let together = sigma / norm / hidden_noise(hidden.rho()?);
        require((together - 1.0).abs() < 1e-9, "hidden", together, word!("1, so that the steps match the release"))
    }

    /// √(Σ (Cᵢ/σᵢ)²) over the parts: the inverse of their joint noise multiplier.
    fn spent_by_parts(&self) -> f64 {
        self.parts.iter().map(|Part { clip, noise, .. }| (clip / noise).powi(2)).sum::<f64>().sqrt()
    }

    /// The noise to price: the release's, or that of its parts or hidden steps if that is smaller.
    ///
    /// # Errors
    /// [`PrivacyError::NoNoise`]; hidden steps that no theorem covers.
    pub(super) fn priced_noise(&self) -> Result<NoiseSpec, PrivacyError> {
        let noise = self.noise.clone().ok_or(PrivacyError::NoNoise)?;
        let Sensitivity::L2 { norm } = self.sensitivity else { return Ok(noise) };
        let said = noise.scale();
        let mut least = if self.parts.is_empty() { said } else { said.min(norm / self.spent_by_parts()) };
        if let Some(hidden) = &self.hidden {
            least = least.min(norm * hidden_noise(hidden.rho()?));
        }
        Ok(if least < said { noise.with_scale(least) } else { noise })
    }

    pub(super) fn protected(&self) -> Protected {
        Protected { neighbours: self.neighbours(), whole: self.protects() }
    }

    /// The micro-batch or user protected as a whole; `None`: an example.
    pub(super) fn protects(&self) -> Option<PrivacyUnit> {
        (self.unit.within() != self.unit).then_some(self.unit)
    }

    /// Distance of neighbouring sums, in bounds of an encoded gradient: 2 if one gradient replaces
    /// another (replace-one neighbours, or an example inside a micro-batch), else 1. A pair has it
    /// inside.
    #[must_use]
    pub fn sensitivity_factor(&self) -> f64 {
        let replaced =
            self.neighbours() == NeighbouringRelation::ReplaceOne || self.unit == PrivacyUnit::ExampleInMicroBatch;
        if replaced && !matches!(self.sensitivity, Sensitivity::Pair(_)) { 2.0 } else { 1.0 }
    }
}

const FORMAT: &str = "hushgrad-ledger";
const VERSION: u32 = 1;
/// More steps than any run takes; counts up to this are exact in f64.
const MOST_STEPS: u64 = 1 << 53;

/// A run's releases, in order. Equal releases in a row are one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ledger {
    format: String,
    version: u32,
    /// The distinct releases, which events refer to.
    releases: Vec<Release>,
    events: Vec<Event>,
}

/// `count` releases of one kind in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Event {
    /// Index into [`Ledger::releases`].
    pub release: u32,
    /// Number of releases, at least 1.
    pub count: u64,
}

impl Event {
    /// Returns `events`, followed by the first `more` releases of `then` (or all, if fewer).
    #[must_use]
    pub fn followed(events: &[Self], then: &[Self], more: u64) -> Vec<Self> {
        let mut all = events.to_vec();
        let mut left = more;
        for event in then {
            let count = event.count.min(left);
            left -= count;
            Self::push(&mut all, Self { count, ..*event });
        }
        all
    }

    /// Appends an event, merged into the last one if that has the same release.
    pub(super) fn push(events: &mut Vec<Self>, more: Self) {
        match events.last_mut() {
            _ if more.count == 0 => {}
            Some(last) if last.release == more.release => last.count = last.count.saturating_add(more.count),
            _ => events.push(more),
        }
    }
}

/// Identifies a release of one ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseId(u32);

impl ReleaseId {
    /// Index into [`Ledger::releases`].
    #[must_use]
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, releases: Vec::new(), events: Vec::new() }
    }

    /// The ledger of these releases, each with how often it happens, in this order.
    ///
    /// ```
    /// use hushgrad_accounting::{books::account, dp_sgd, ledger::Ledger};
    ///
    /// let run = Ledger::of([(dp_sgd::step(1.1, 256.0 / 60_000.0), 3515)])?;
    /// assert!(account(&run, 1e-5)?.improved.epsilon < 1.29);
    /// # Ok::<(), hushgrad_accounting::PrivacyError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Release::validate`].
    pub fn of(releases: impl IntoIterator<Item = (Release, u64)>) -> Result<Self, PrivacyError> {
        let mut ledger = Self::new();
        ledger.append(releases)?;
        Ok(ledger)
    }

    /// Registers and records releases.
    ///
    /// # Errors
    /// As [`Release::validate`]; those before the invalid one are recorded.
    pub fn append(&mut self, releases: impl IntoIterator<Item = (Release, u64)>) -> Result<(), PrivacyError> {
        releases.into_iter().try_for_each(|(release, count)| {
            let id = self.register(release)?;
            self.record_many(id, count);
            Ok(())
        })
    }

    /// Adds a kind of release, or finds an equal one.
    ///
    /// # Errors
    /// As [`Release::validate`].
    pub fn register(&mut self, release: Release) -> Result<ReleaseId, PrivacyError> {
        release.validate()?;
        let index = self.releases.iter().position(|r| *r == release).unwrap_or_else(|| {
            self.releases.push(release);
            self.releases.len() - 1
        });
        Ok(ReleaseId(index as u32))
    }

    /// Records one release. For batches of a partition, call [`Ledger::charge_open_epoch`] before
    /// another [`Sampler`](super::sampling::Sampler) draws them.
    pub fn record(&mut self, release: ReleaseId) {
        self.record_many(release, 1);
    }

    /// Records `count` releases.
    pub fn record_many(&mut self, release: ReleaseId, count: u64) {
        debug_assert!((release.0 as usize) < self.releases.len(), "a release of another ledger");
        Event::push(&mut self.events, Event { release: release.0, count });
    }

    /// Records that a sampler of `sampling` is discarded: the rest of its open epoch or cycle
    /// counts as released, like the last batch before. (An open epoch is paid in full anyway.)
    /// Batches of another sampler fall into the next one. A sequence of correlated noise ends too.
    pub fn charge_open_epoch(&mut self, sampling: Sampling) {
        if let Some((last, left)) = self.open_epoch(sampling) {
            self.record_many(last, left);
        }
    }

    /// The last release of an open epoch or cycle of `sampling`, and how many batches are left.
    pub(super) fn open_epoch(&self, sampling: Sampling) -> Option<(ReleaseId, u64)> {
        let Epoch { batches, kind } = sampling.epoch()?;
        let own = |event: &&Event| {
            self.releases.get(event.release as usize).is_some_and(|release| release.sampling == sampling)
        };
        let last = self.events.iter().rfind(own)?.release;
        let mine = self.events.iter().rev().filter(own);
        let drawn = |drawn: u64, event: &Event| (drawn + event.count % batches) % batches;
        let drawn = match kind {
            EpochKind::Shuffled | EpochKind::Allocated => mine.fold(0, drawn),
            // A cycle consists of equal releases.
            EpochKind::Cyclic { .. } => mine.take_while(|event| event.release == last).fold(0, drawn),
        };
        (drawn > 0).then_some((ReleaseId(last), batches - drawn))
    }

    /// The distinct releases.
    #[must_use]
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// The same releases, priced for one example ([`PrivacyUnit::within`]).
    #[must_use]
    pub fn per_example(&self) -> Self {
        let one = |release: &Release| Release { unit: release.unit.within(), ..release.clone() };
        Self { releases: self.releases.iter().map(one).collect(), ..self.clone() }
    }

    /// The same releases, for neighbours of which one has another example in place of one.
    ///
    /// # Errors
    /// [`PrivacyError::MixedNeighbours`] with a [`Sensitivity::Pair`] of a data set with and without
    /// an example, which says nothing of two examples.
    pub fn replacing_one(&self) -> Result<Self, PrivacyError> {
        let one = |release: &Release| {
            let pair = matches!(release.sensitivity, Sensitivity::Pair(_));
            if pair && release.neighbours() == NeighbouringRelation::AddOrRemoveOne {
                return Err(PrivacyError::MixedNeighbours);
            }
            Ok(release.clone().between(NeighbouringRelation::ReplaceOne))
        };
        Ok(Self { releases: self.releases.iter().map(one).collect::<Result<_, _>>()?, ..self.clone() })
    }

    /// The events, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The same releases with other events.
    ///
    /// # Errors
    /// As [`Ledger::validate`].
    pub fn with_events(&self, events: Vec<Event>) -> Result<Self, PrivacyError> {
        let ledger = Self { events, ..self.clone() };
        ledger.validate()?;
        Ok(ledger)
    }

    /// The same events, with `factor` times the noise of the kinds of release that `chosen` picks,
    /// by index into [`Ledger::releases`].
    ///
    /// # Errors
    /// [`PrivacyError::NoNoise`]; [`PrivacyError::Unpriced`] for pairs, and for hidden steps, whose
    /// price is not that of their noise alone; as [`Ledger::validate`].
    pub fn with_noise_times(&self, factor: f64, chosen: impl Fn(usize) -> bool) -> Result<Self, PrivacyError> {
        let scaled = |(kind, release): (usize, &Release)| {
            let mut release = release.clone();
            if chosen(kind) {
                if release.hidden.is_some() {
                    return Err(PrivacyError::Unpriced(word!("a factor on the noise of hidden steps")));
                }
                if matches!(release.sensitivity, Sensitivity::Pair(_)) {
                    return Err(PrivacyError::Unpriced(word!(
                        "a factor on the noise of an answer that is no noisy sum; name the other kinds of release"
                    )));
                }
                let noise = release.noise.ok_or(PrivacyError::NoNoise)?;
                release.noise = Some(noise.with_scale(noise.scale() * factor));
                release.parts.iter_mut().for_each(|part| part.noise *= factor);
            }
            Ok(release)
        };
        let releases = self.releases.iter().enumerate().map(scaled).collect::<Result<_, _>>()?;
        let ledger = Self { releases, ..self.clone() };
        ledger.validate()?;
        Ok(ledger)
    }

    /// The number of steps if all are `release`, else `None`.
    #[must_use]
    pub fn count_alone(&self, release: ReleaseId) -> Option<u64> {
        self.events.iter().all(|event| event.release == release.0).then(|| self.steps())
    }

    /// Total number of releases.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.events.iter().fold(0, |sum, e| sum.saturating_add(e.count))
    }

    /// The ledger as JSON.
    ///
    /// # Panics
    /// Never: every field has a JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a ledger has a JSON form")
    }

    /// Parses and checks a ledger.
    ///
    /// # Errors
    /// Not a ledger, another version, or a ledger that cannot have happened; names the place.
    pub fn from_json(text: &str) -> Result<Self, PrivacyError> {
        // Parsed as bytes, like run files, so that a program that reads both contains one parser.
        let ledger: Self = serde_json::from_slice(text.as_bytes()).map_err(|e| PrivacyError::Ledger {
            place: message!("line {}, column {}", e.line(), e.column()),
            problem: json_fault(&e),
        })?;
        ledger.validate()?;
        Ok(ledger)
    }

    /// Checks that the ledger can have happened.
    ///
    /// # Errors
    /// The first impossible release or event, and the reason.
    pub fn validate(&self) -> Result<(), PrivacyError> {
        let fail = |place: Message, problem: Message| Err(PrivacyError::Ledger { place, problem });
        if self.format != FORMAT {
            return fail("format".into(), message!("is {:?}; it must be {FORMAT:?}", self.format));
        }
        if self.version != VERSION {
            return fail("version".into(), message!("is {}; this program reads {VERSION}", self.version));
        }
        for (i, release) in self.releases.iter().enumerate() {
            if let Err(e) = release.validate() {
                return fail(Message::text(format!("releases[{i}]")), e.to_message());
            }
        }
        let mut steps = 0u64;
        for (i, event) in self.events.iter().enumerate() {
            if event.release as usize >= self.releases.len() {
                let known = self.releases.len();
                return fail(
                    Message::text(format!("events[{i}].release")),
                    message!("is {}; there are {known} releases", event.release),
                );
            }
            steps = steps.saturating_add(event.count);
            if event.count == 0 || steps > MOST_STEPS {
                return fail(
                    Message::text(format!("events[{i}].count")),
                    message!("is {}; it must be 1 to 2^53 in all", event.count),
                );
            }
        }
        Ok(())
    }
}
