//! What happened in a run: data that accountants read. Nothing here computes ε.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{
    envelope::EnvelopeProfile,
    error::{PrivacyError, require},
    noise::NoiseSpec,
    rounding::Grid,
    sampling::{Epoch, EpochKind, NeighbouringRelation, Sampling},
};

/// What bounds one example's contribution to the noisy sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sensitivity {
    /// L2 norm at most `norm` (plain clipping).
    L2 {
        /// The clip C, 1e-100 to 1e100.
        norm: f64,
    },
    /// Coordinates inside some arrangement of one of the envelope's vectors; the profile says which.
    Envelope {
        /// What of Ψ ε depends on.
        profile: EnvelopeProfile,
    },
    /// Nothing bounds it: no guarantee.
    Unbounded,
}

impl Sensitivity {
    /// The largest L2 norm; `None` where nothing bounds it.
    pub(super) fn norm(&self) -> Option<f64> {
        match self {
            Self::L2 { norm } => Some(*norm),
            Self::Envelope { profile } => Some(profile.norm()),
            Self::Unbounded => None,
        }
    }
}

/// What a clipped or encoded gradient belongs to. `Display` says it in words.
///
/// ```
/// # use hushgrad_accounting::ledger::PrivacyUnit;
/// assert_eq!(PrivacyUnit::default().to_string(), "one example");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrivacyUnit {
    /// One example, encoded by itself.
    #[default]
    Example,
    /// One example of a micro-batch that is averaged, then encoded: taking it out turns one encoded gradient into another,
    /// up to twice the bound away. The grouping must be fixed beforehand, so that no other micro-batch changes.
    ExampleInMicroBatch,
    /// The whole micro-batch is what is protected (and what is sampled): its examples are not protected from one another.
    MicroBatch,
    /// One user with all their examples, who are sampled together and add one bounded vector. One example of theirs is another unit:
    /// [`PrivacyUnit::within`].
    User,
}

impl PrivacyUnit {
    /// What one example is to the same release. Taken out of a micro-batch or from a user it turns one bounded vector into another, which may be *further* away than
    /// no vector at all: so the number of the whole is none of one example, and that of one example may be the larger.
    #[must_use]
    pub const fn within(self) -> Self {
        match self {
            Self::Example => Self::Example,
            Self::ExampleInMicroBatch | Self::MicroBatch | Self::User => Self::ExampleInMicroBatch,
        }
    }
}

impl fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Example => "one example",
            Self::ExampleInMicroBatch => "one example (inside a micro-batch: one vector turns into another)",
            Self::MicroBatch => "one micro-batch (not one example)",
            Self::User => "one user, with all their examples",
        })
    }
}

/// What two neighbouring data sets differ in. Losses add up to one guarantee only where it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protected {
    neighbours: NeighbouringRelation,
    /// A whole micro-batch, or a user, and not one example; an example is one wherever it stands.
    whole: Option<PrivacyUnit>,
}

impl Protected {
    /// # Errors
    /// [`PrivacyError::MixedNeighbours`] and [`PrivacyError::MixedUnits`] where two guarantees speak of different things.
    pub fn same(self, other: Self) -> Result<(), PrivacyError> {
        if self.neighbours != other.neighbours {
            return Err(PrivacyError::MixedNeighbours);
        }
        if self.whole == other.whole { Ok(()) } else { Err(PrivacyError::MixedUnits) }
    }
}

/// One of several vectors of each example in a release: [`groups`](super::groups).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    /// What it is.
    pub holds: Held,
    /// C_g: bound on its L2 norm. A gradient's is 1: it is in units of its clip, which may be another at each step.
    pub clip: f64,
    /// σ_g: standard deviation of the Gaussian noise on each coordinate of its sum, in the same units.
    pub noise: f64,
}

/// What a vector of an example holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// The clipped gradient.
    Gradient,
    /// Whether the gradient is within the clip: ±½.
    NormWithinClip,
    /// Whether the model reads the example right (±½), and which class it is (1 in its place).
    AnswerAndClass,
}

/// One noisy sum over a sample: sampled, summed within its sensitivity, noised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Release {
    /// How the examples of the sum were chosen.
    pub sampling: Sampling,
    /// What bounds one example's part in the sum.
    pub sensitivity: Sensitivity,
    /// The noise on each coordinate of the sum. `None`: no noise was added, and the whole ledger has no guarantee.
    pub noise: Option<NoiseSpec>,
    /// What one example, micro-batch or user is to the guarantee. JSON always names it, and a ledger without it is refused: ε depends on it.
    pub unit: PrivacyUnit,
    /// The grid that sums and noise were rounded to: ε then includes what the inexact noise reveals. `None`: sums are floating-point numbers, and ε
    /// is that of the mechanism in real numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// Where an example adds several vectors: what they are. Sensitivity and noise are then those of all together, as of one query. Empty: it adds one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
}

impl Release {
    /// A release whose protected unit is one example, encoded by itself.
    #[must_use]
    pub fn new(sampling: Sampling, sensitivity: Sensitivity, noise: Option<NoiseSpec>) -> Self {
        Self { sampling, sensitivity, noise, unit: PrivacyUnit::Example, grid: None, parts: Vec::new() }
    }

    /// Checks every part.
    ///
    /// # Errors
    /// The field, its value and its range.
    pub fn validate(&self) -> Result<(), PrivacyError> {
        self.sampling.validate()?;
        match &self.sensitivity {
            Sensitivity::L2 { norm } => {
                require((1e-100..=1e100).contains(norm), "sensitivity.norm", *norm, "finite and above 0")?;
            }
            // A profile is checked where it is made or read.
            Sensitivity::Envelope { .. } | Sensitivity::Unbounded => {}
        }
        if let Some(noise) = &self.noise {
            noise.build()?;
        }
        if matches!(self.sampling, Sampling::CyclicPoisson { .. }) {
            // What was released may be correlated: only Gaussian noise looks alike in all directions, which is what carries the proof for steps that depend on one another.
            if !matches!(self.noise, Some(NoiseSpec::Gaussian { .. }) | None) {
                return Err(PrivacyError::Unpriced(
                    "cyclic sampling, and with it correlated noise, that is not Gaussian",
                ));
            }
            if self.grid.is_some() {
                return Err(PrivacyError::Unpriced("cyclic sampling, and with it correlated noise, on a grid"));
            }
        }
        self.check_parts()?;
        if let Some(grid) = &self.grid {
            grid.validate()?;
            if let Sensitivity::Envelope { profile } = &self.sensitivity {
                let fits = profile.dimension() == grid.coordinates;
                require(fits, "grid.coordinates", grid.coordinates as f64, "as many as the envelope's")?;
            }
        }
        Ok(())
    }

    /// Whether the parts come to what the release says of them together.
    fn check_parts(&self) -> Result<(), PrivacyError> {
        if self.parts.is_empty() {
            return Ok(());
        }
        let (Some(NoiseSpec::Gaussian { sigma }), Sensitivity::L2 { norm }, None) =
            (&self.noise, &self.sensitivity, self.grid)
        else {
            return Err(PrivacyError::Unpriced(
                "a release of several vectors, but for Gaussian noise on clipped ones without a grid",
            ));
        };
        for Part { clip, noise, .. } in &self.parts {
            require((1e-100..=1e100).contains(clip), "parts.clip", *clip, "finite and above 0")?;
            require((1e-100..=1e100).contains(noise), "parts.noise", *noise, "finite and above 0")?;
        }
        let together = sigma / norm * self.spent_by_parts();
        require((together - 1.0).abs() < 1e-9, "parts", together, "as much together as the release says, 1")
    }

    /// √(Σ (Cᵢ/σᵢ)²) of the parts: 1 over the noise multiplier that they come to.
    fn spent_by_parts(&self) -> f64 {
        self.parts.iter().map(|Part { clip, noise, .. }| (clip / noise).powi(2)).sum::<f64>().sqrt()
    }

    /// The noise that is priced: of several vectors no more than they come to, whatever the release says of all together.
    ///
    /// # Errors
    /// [`PrivacyError::NoNoise`].
    pub(super) fn priced_noise(&self) -> Result<NoiseSpec, PrivacyError> {
        let noise = self.noise.clone().ok_or(PrivacyError::NoNoise)?;
        let Sensitivity::L2 { norm } = self.sensitivity else { return Ok(noise) };
        let said = noise.scale();
        let least = if self.parts.is_empty() { said } else { said.min(norm / self.spent_by_parts()) };
        Ok(if least < said { noise.with_scale(least) } else { noise })
    }

    pub(super) fn protected(&self) -> Protected {
        Protected { neighbours: self.sampling.neighbours(), whole: self.protects() }
    }

    /// The micro-batch or user that it protects as a whole; `None`: an example.
    pub(super) fn protects(&self) -> Option<PrivacyUnit> {
        (self.unit.within() != self.unit).then_some(self.unit)
    }

    /// How much further apart two neighbouring sums may be than one encoded gradient is from zero: 2 where one gradient turns into
    /// another (replace-one neighbours, or an example inside a micro-batch).
    #[must_use]
    pub fn sensitivity_factor(&self) -> f64 {
        let replaced = self.sampling.neighbours() == NeighbouringRelation::ReplaceOne
            || self.unit == PrivacyUnit::ExampleInMicroBatch;
        if replaced { 2.0 } else { 1.0 }
    }
}

const FORMAT: &str = "hushgrad-ledger";
const VERSION: u32 = 1;
/// More steps than any run takes, and few enough that every count is exact in f64.
const MOST_STEPS: u64 = 1 << 53;

/// A run's releases, in order. JSON by [`Ledger::to_json`] and [`Ledger::from_json`]; a run of equal steps is one event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Ledger {
    format: String,
    version: u32,
    /// The distinct releases that events refer to.
    releases: Vec<Release>,
    events: Vec<Event>,
}

/// `count` releases of one kind in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Event {
    /// Index into [`Ledger::releases`].
    pub release: u32,
    /// How many, at least 1.
    pub count: u64,
}

impl Event {
    /// `events`, and then the first `more` releases of `then`; all of them where there are fewer.
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

    /// One more event, which a last one of its kind takes in.
    fn push(events: &mut Vec<Self>, more: Self) {
        match events.last_mut() {
            _ if more.count == 0 => {}
            Some(last) if last.release == more.release => last.count = last.count.saturating_add(more.count),
            _ => events.push(more),
        }
    }
}

/// Names a release of one ledger.
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
    /// Nothing released yet.
    #[must_use]
    pub fn new() -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, releases: Vec::new(), events: Vec::new() }
    }

    /// Enters a kind of release (an equal one is found again).
    ///
    /// # Errors
    /// When the release is impossible: [`Release::validate`].
    pub fn register(&mut self, release: Release) -> Result<ReleaseId, PrivacyError> {
        release.validate()?;
        let index = self.releases.iter().position(|r| *r == release).unwrap_or_else(|| {
            self.releases.push(release);
            self.releases.len() - 1
        });
        Ok(ReleaseId(index as u32))
    }

    /// One release happened. Batches of a partition are recorded as its one [`Sampler`](super::sampling::Sampler) draws them;
    /// before a second one does, [`Ledger::give_up_epoch`].
    pub fn record(&mut self, release: ReleaseId) {
        self.record_many(release, 1);
    }

    /// `count` releases happened.
    pub fn record_many(&mut self, release: ReleaseId, count: u64) {
        debug_assert!((release.0 as usize) < self.releases.len(), "a release of another ledger");
        Event::push(&mut self.events, Event { release: release.0, count });
    }

    /// A sampler of `sampling` is given up: if it is one of partitions with an epoch open, or of groups with an open cycle, the batches that are left count as released,
    /// like the last one before them. The epoch was to be paid for in full anyhow; what another sampler draws falls into the next. With the sampler ends a sequence of correlated noise.
    pub fn give_up_epoch(&mut self, sampling: Sampling) {
        if let Some((last, left)) = self.open_epoch(sampling) {
            self.record_many(last, left);
        }
    }

    /// The batches or steps that are left of an open epoch of `sampling`, and the last release before them.
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
            // A cycle is of equal releases.
            EpochKind::Cyclic { .. } => mine.take_while(|event| event.release == last).fold(0, drawn),
        };
        (drawn > 0).then_some((ReleaseId(last), batches - drawn))
    }

    /// The distinct releases.
    #[must_use]
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// What the same releases are to one example ([`PrivacyUnit::within`]).
    #[must_use]
    pub fn per_example(&self) -> Self {
        let one = |release: &Release| Release { unit: release.unit.within(), ..release.clone() };
        Self { releases: self.releases.iter().map(one).collect(), ..self.clone() }
    }

    /// What happened, in order.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The same releases, of which these events happened.
    ///
    /// # Errors
    /// As [`Ledger::validate`].
    pub fn with_events(&self, events: Vec<Event>) -> Result<Self, PrivacyError> {
        let ledger = Self { events, ..self.clone() };
        ledger.validate()?;
        Ok(ledger)
    }

    /// How often `release` happened, where nothing else did.
    #[must_use]
    pub fn count_alone(&self, release: ReleaseId) -> Option<u64> {
        self.events.iter().all(|event| event.release == release.0).then(|| self.steps())
    }

    /// How many releases happened.
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

    /// Reads a ledger and checks it.
    ///
    /// # Errors
    /// Text that is not a ledger, another version, or a ledger that cannot have happened; the place is named.
    pub fn from_json(text: &str) -> Result<Self, PrivacyError> {
        // As bytes, as run files are read: a program that reads both has one reader.
        let ledger: Self = serde_json::from_slice(text.as_bytes()).map_err(|e| PrivacyError::Ledger {
            place: format!("line {}, column {}", e.line(), e.column()),
            problem: e.to_string(),
        })?;
        ledger.validate()?;
        Ok(ledger)
    }

    /// Checks that the ledger can have happened.
    ///
    /// # Errors
    /// The first release or event that cannot, and why.
    pub fn validate(&self) -> Result<(), PrivacyError> {
        let fail = |place: String, problem: String| Err(PrivacyError::Ledger { place, problem });
        if self.format != FORMAT {
            return fail("format".into(), format!("is {:?}; it must be {FORMAT:?}", self.format));
        }
        if self.version != VERSION {
            return fail("version".into(), format!("is {}; this program reads {VERSION}", self.version));
        }
        for (i, release) in self.releases.iter().enumerate() {
            if let Err(e) = release.validate() {
                return fail(format!("releases[{i}]"), e.to_string());
            }
        }
        let mut steps = 0u64;
        for (i, event) in self.events.iter().enumerate() {
            if event.release as usize >= self.releases.len() {
                let known = self.releases.len();
                return fail(
                    format!("events[{i}].release"),
                    format!("is {}; there are {known} releases", event.release),
                );
            }
            steps = steps.saturating_add(event.count);
            if event.count == 0 || steps > MOST_STEPS {
                return fail(format!("events[{i}].count"), format!("is {}; it must be 1 to 2^53 in all", event.count));
            }
        }
        Ok(())
    }
}
