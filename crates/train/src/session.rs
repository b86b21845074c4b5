//! The loop of a run: sample, record, step, report. A step is recorded in the ledger before its
//! release, so the ledger never counts less than what happened.

use std::time::Duration;

use hushgrad_message::{ToMessage, word};
use web_time::Instant;

use super::{
    audit::{Audit, Broken, InjectedBug, Seen},
    error::{ConfigError, NoGuarantee, SessionError},
    phases::shares,
    plan::Plan,
    report::{Privacy, ReleasedMetrics, Report, Teaching, two_digits},
};
use crate::{
    accounting::{
        PrivacyError,
        audit::Evidence,
        books::Books,
        ledger::{Event, Ledger, ReleaseId},
        report,
        sampling::Sampler,
    },
    data::{Dataset, Shift},
    engine::{Engine, EngineError, Metrics, StepInput, StepTrace, Task, reading},
    mechanism::{EncoderSpec, canaries::DrawnCanary, counts::ReleasedCounts},
    rng::{NotPrivateReplay, RandomSource, SystemRng},
};

/// A run on an engine.
pub struct Session<E> {
    plan: Plan,
    engine: E,
    rng: Box<dyn RandomSource>,
    /// Draws lots by the sampling for which each step is priced.
    sampler: Sampler,
    account: Option<RunBooks>,
    /// The phase whose task the engine has: 0 for a new engine, `usize::MAX` to set it again.
    engine_phase: usize,
    /// The auditor's state, if the run is audited.
    audit: Option<Audit>,
    /// A bug injected for an audit to find.
    broken: Option<Broken>,
    /// Canaries of the last step.
    canaries: Vec<DrawnCanary>,
    /// Whether each unit may add to a sum; if empty, all may ([`Session::leave_out`]).
    is_in: Vec<bool>,
    /// The last step's task, if its clipping norm is adaptive.
    clipped: Option<Task>,
    /// The next clipping norm, and averages of paid metrics.
    counted: ReleasedMetrics,
    /// Each step's clipping norm, if adaptive.
    clips: Vec<f32>,
    /// Units of the last step, without canaries.
    lot: Vec<u32>,
    shifts: Vec<Shift>,
    /// Steps taken.
    step: u64,
    /// Steps in the current sequence of correlated noise.
    position: u64,
    /// Time spent on steps.
    training: Duration,
    /// Examples without a finite gradient: on earlier engines, and on this one when last read.
    non_finite: (u64, u64),
}

/// The books of a run that can be accounted for, and the kind of release of each phase.
#[derive(Clone)]
struct RunBooks {
    books: Books,
    releases: Vec<ReleaseId>,
}

impl RunBooks {
    /// Creates books that begin with the releases in `ledger`; `None` if the plan has no price. An
    /// epoch left open there counts in full, because the new sampler begins an epoch of its own.
    fn after(mut ledger: Ledger, plan: &Plan) -> Result<Option<Self>, PrivacyError> {
        if plan.priced.is_err() {
            return Ok(None);
        }
        // Epochs have equally many batches in all phases.
        ledger.charge_open_epoch(plan.sampling);
        let prices = plan.prices();
        let mut books = Books::of_priced(ledger, &prices)?;
        let releases = prices.into_iter().map(|(release, curve)| books.register(release.clone(), curve));
        let releases = releases.collect::<Result<_, _>>()?;
        Ok(Some(Self { books, releases }))
    }
}

impl RunBooks {
    /// Returns the releases of the `steps` steps from `step` on, with their counts by phase.
    fn ahead(&self, plan: &Plan, step: u64, steps: u64) -> impl Iterator<Item = (ReleaseId, u64)> {
        let lengths: Vec<u64> = plan.releases_from(step).unwrap_or_default().iter().map(|(_, count)| *count).collect();
        let releases: Vec<ReleaseId> = self.releases[plan.phase_of(step)..].to_vec();
        releases.into_iter().zip(shares(lengths, steps)).filter(|(_, count)| *count > 0)
    }
}

/// What a continued run needs to know of its past, besides its engine's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Steps taken.
    pub step: u64,
    /// All that was released, checked by [`Ledger::validate`]; `None`: there is no guarantee.
    pub ledger: Option<Ledger>,
    /// Time spent on steps.
    pub training: Duration,
    /// Examples whose gradient was not finite.
    pub non_finite: u64,
    /// Results of the counts released with its steps.
    pub counted: ReleasedMetrics,
    /// Each step's clipping norm, if adaptive.
    pub clips: Vec<f32>,
}

/// Most steps of a replayed run that can be continued: its random stream is replayed draw by draw.
const MOST_REPLAYED: u64 = 1_000_000;

/// A step that was traced, whether it was taken or not.
#[derive(Clone, Debug)]
pub struct TracedStep {
    /// The parameters before it.
    pub parameters: Vec<f32>,
    /// As in [`StepInput`].
    pub lot: Vec<u32>,
    /// As in [`StepInput`].
    pub shifts: Vec<Shift>,
    pub trace: StepTrace,
}

impl<E: Engine> Session<E> {
    /// Starts a run at step 0. `engine` was made for `plan.task` with `plan.initial_parameters()`.
    ///
    /// # Errors
    /// The system gives no entropy, or the release cannot be accounted for.
    pub fn new(plan: Plan, engine: E) -> Result<Self, SessionError> {
        let rng: Box<dyn RandomSource> = match plan.config.replay {
            Some(seed) => Box::new(NotPrivateReplay::new(seed)),
            None => Box::new(SystemRng::new()?),
        };
        Self::drawing_from(rng, plan, engine)
    }

    /// As [`Session::new`], with a given source of randomness, for reproducible tests.
    pub(super) fn drawing_from(mut rng: Box<dyn RandomSource>, plan: Plan, engine: E) -> Result<Self, SessionError> {
        let sampler = plan.sampling.sampler(plan.units().into())?;
        let account = RunBooks::after(Ledger::new(), &plan)?;
        let clip = match plan.task.encoder {
            EncoderSpec::Clip { norm } if plan.config.adaptive_clip.is_some() => Some(norm),
            _ => None,
        };
        let audit = Audit::begin(&plan, rng.as_mut())?;
        Ok(Self {
            audit,
            broken: None,
            canaries: Vec::new(),
            is_in: Vec::new(),
            clipped: None,
            counted: ReleasedMetrics { clip, answers: plan.config.metrics.map(|_| Default::default()) },
            clips: Vec::new(),
            plan,
            engine,
            rng,
            sampler,
            account,
            engine_phase: 0,
            lot: Vec::new(),
            shifts: Shift::ALONE.to_vec(),
            step: 0,
            position: 0,
            training: Duration::ZERO,
            non_finite: (0, 0),
        })
    }

    /// Injects a bug into a run that has not begun: it no longer does what its books price.
    ///
    /// # Errors
    /// The bug does not apply to this run ([`InjectedBug::refused`]), or the run has begun.
    pub fn inject_bug(&mut self, mutation: InjectedBug) -> Result<(), SessionError> {
        let late = (self.step > 0).then_some(word!("the run has begun"));
        if let Some(sentence) = mutation.refused(&self.plan).or(late) {
            return Err(ConfigError::Contradiction { field: "mutation", sentence }.into());
        }
        let rng = &mut self.rng;
        let below = |n: u32| ((u64::from(rng.next_u32()) * u64::from(n)) >> 32) as u32;
        self.broken = Some(Broken::new(mutation, &mut self.plan, below));
        self.sampler = self.plan.sampling.sampler(self.plan.units().into())?;
        // The engine was made for the original task.
        self.engine_phase = usize::MAX;
        Ok(())
    }

    /// Excludes from all later lots the units whose entry in `is_in` (one each) is false.
    ///
    /// An excluded unit keeps its place in the population and adds nothing when drawn. Sampling
    /// rates, other draws and the sums' divisor thus do not depend on `is_in`, as for
    /// add-or-remove-one neighbours. The length of a shortened training set would reveal any entry
    /// to whoever knows the others.
    pub fn leave_out(&mut self, is_in: Vec<bool>) {
        self.is_in = is_in;
    }

    /// Returns the injected bug, if any.
    #[must_use]
    pub fn broken(&self) -> Option<InjectedBug> {
        self.broken.as_ref().map(|broken| broken.mutation)
    }

    /// Returns the auditor's evidence and the number of audited steps; `None` without an audit.
    #[must_use]
    pub fn evidence(&self) -> Option<(Evidence, u64)> {
        let audit = self.audit.as_ref()?;
        let releases = self.account.as_ref().map_or(&[][..], |account| &account.releases);
        Some((audit.evidence(|phase| Some(releases.get(phase)?.place())), audit.steps()))
    }

    /// Continues a run; `engine` has its parameters and momentum. Earlier releases stay in the
    /// books: ε is that of all releases together, even if the plan (its data, say) has changed.
    /// Correlated noise begins a new sequence with groups of its own, and an open shuffled epoch is
    /// abandoned for the next: noise memory and partition are private, and no file holds them.
    ///
    /// # Errors
    /// As [`Session::new`]; also a replayed run that is too long, or whose correlated noise is
    /// lost.
    pub fn resume(plan: Plan, engine: E, progress: Progress) -> Result<Self, SessionError> {
        let replayed = plan.config.replay.is_some();
        if replayed && progress.step > MOST_REPLAYED {
            return Err(ConfigError::Contradiction {
                field: "replay",
                sentence: word!("a replayed run of more than a million steps cannot be continued; start it again"),
            }
            .into());
        }
        if replayed && plan.config.bands > 1 && progress.step > 0 {
            return Err(ConfigError::Contradiction {
                field: "replay",
                sentence: word!("a replayed run whose noise is correlated over several steps cannot be continued, as that noise is not saved; start it again"),
            }
            .into());
        }
        let mut session = Self::new(plan, engine)?;
        match progress.ledger {
            Some(ledger) => session.account = RunBooks::after(ledger, &session.plan)?,
            None if session.plan.priced.is_ok() => {
                session.account = None;
                session.plan.priced = Err(NoGuarantee::Unrecorded);
            }
            None => {}
        }
        if replayed {
            for step in 0..progress.step {
                session.draw_in(session.plan.phase_of(step))?;
            }
        }
        let ReleasedMetrics { clip, answers } = &mut session.counted;
        // State from the file that the run does not use is dropped.
        *clip = clip.map(|first| progress.counted.clip.unwrap_or(first));
        *answers = answers.map(|none| progress.counted.answers.unwrap_or(none));
        session.clips = progress.clips;
        if progress.step > 0 {
            // No file holds the canaries' coins: no canary is in from here on.
            session.audit = None;
        }
        (session.step, session.training) = (progress.step, progress.training);
        session.non_finite = (progress.non_finite, 0);
        Ok(session)
    }

    /// Returns what [`Session::resume`] needs to continue the run from here.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let (training, non_finite) = (self.training, self.count_non_finite());
        let (counted, clips) = (self.counted, self.clips.clone());
        Progress { step: self.step, ledger: self.ledger().cloned(), training, non_finite, counted, clips }
    }

    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    #[must_use]
    pub const fn step_count(&self) -> u64 {
        self.step
    }

    /// True if the planned steps are done.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.plan.config.steps.is_some_and(|steps| self.step >= steps)
    }

    pub const fn engine(&mut self) -> &mut E {
        &mut self.engine
    }

    /// Replaces the engine by another one made for the plan's task. The books and the counts of
    /// examples stay. Correlated noise begins a new sequence: the old engine had its memory.
    pub fn replace_engine(&mut self, engine: E) {
        self.non_finite = (self.count_non_finite(), 0);
        self.engine = engine;
        // The new engine has the first phase's planned task.
        self.engine_phase = if self.broken.is_some() { usize::MAX } else { 0 };
        self.clipped = None;
        if self.position > 0 && self.plan.config.bands > 1 {
            self.begin_sequence();
        }
    }

    /// Begins a new sequence of correlated noise with new groups; an open cycle counts in full.
    fn begin_sequence(&mut self) {
        self.position = 0;
        self.sampler.begin_again();
        if let Some(account) = &mut self.account {
            account.books.charge_open_epoch(self.plan.sampling);
        }
    }

    const fn count_non_finite(&self) -> u64 {
        self.non_finite.0.saturating_add(self.non_finite.1)
    }

    /// Returns what was released so far; `None` if nothing can be accounted for.
    #[must_use]
    pub fn ledger(&self) -> Option<&Ledger> {
        self.account.as_ref().map(|account| account.books.ledger())
    }

    /// Returns the planned events from the next step on, the last one up to step `u64::MAX`; `None`
    /// without books.
    #[must_use]
    pub fn planned(&self) -> Option<Vec<Event>> {
        let account = self.account.as_ref()?;
        let ahead = account.ahead(&self.plan, self.step, u64::MAX - self.step);
        Some(ahead.map(|(release, count)| Event { release: release.place() as u32, count }).collect())
    }

    /// Returns the task of the last step or, before any step, of the first.
    #[must_use]
    pub fn task(&self) -> &Task {
        let planned = self.plan.phase(self.plan.phase_of(self.step.saturating_sub(1))).0;
        self.clipped.as_ref().unwrap_or(planned)
    }

    /// Returns the clipping norm of each step that ran, if adaptive.
    #[must_use]
    pub fn clips(&self) -> &[f32] {
        &self.clips
    }

    /// Returns the ledger after `steps` more steps, for storing beforehand; `None` without books.
    #[must_use]
    pub fn ledger_ahead(&self, steps: u64) -> Option<Ledger> {
        let account = self.account.as_ref()?;
        let mut ledger = account.books.ledger().clone();
        account.ahead(&self.plan, self.step, steps).for_each(|(release, count)| ledger.record_many(release, count));
        Some(ledger)
    }

    /// Computes the features of at most `most` examples, all of which the first step needs, and
    /// returns how many examples are left ([`Engine::prepare`]). It counts as training time.
    ///
    /// # Errors
    /// Not enough memory.
    pub async fn prepare(&mut self, most: usize) -> Result<usize, SessionError> {
        let start = Instant::now();
        let left = self.engine.prepare(most).await?;
        self.training += start.elapsed();
        Ok(left)
    }

    /// Takes one step. The device may still be busy with it afterwards; [`Session::settle`] waits.
    ///
    /// # Errors
    /// The device is lost. A release that was already recorded stays counted.
    pub async fn step(&mut self) -> Result<(), SessionError> {
        self.take_step(async |engine, input| engine.step(input).await).await
    }

    /// Takes one step and returns its intermediate sums.
    ///
    /// # Errors
    /// As [`Session::step`].
    pub async fn traced_step(&mut self) -> Result<StepTrace, SessionError> {
        self.take_step(async |engine, input| engine.traced_step(input).await).await
    }

    /// Traces what a first step of the run would be, on a lot of its own drawn from `rng`, and leaves
    /// the run as it was: nothing of it is released, counted or learned. Returns the parameters, the
    /// lot, its shifts, and the trace. `None` if the run has begun, breaks its promise, or has noise
    /// that depends on earlier steps, or a model of fixed features, which are slow.
    ///
    /// # Errors
    /// The device is lost.
    pub async fn rehearse(&mut self, rng: &mut dyn RandomSource) -> Result<Option<TracedStep>, SessionError> {
        let Plan { config, sampling, .. } = &self.plan;
        if self.step > 0 || self.broken.is_some() || config.bands > 1 || config.model.features().is_some() {
            return Ok(None);
        }
        let (mut lot, mut shifts) = (Vec::new(), self.shifts.clone());
        sampling.sampler(self.plan.units().into())?.draw(rng, &mut lot);
        let examples = self.plan.units() - config.canaries;
        lot.retain(|&unit| unit < examples && self.is_in.get(unit as usize).is_none_or(|is_in| *is_in));
        if let Some(augmentation) = config.augmentation {
            augmentation.draw(rng, &mut shifts);
        }
        let noise_key = std::array::from_fn(|_| rng.next_u32());
        let before = self.engine.state().await?;
        let trace = self.engine.traced_step(input(&self.plan, (0, 0), &lot, &shifts, noise_key)).await;
        self.engine.set_state(&before).await?;
        Ok(Some(TracedStep { parameters: before.parameters, lot, shifts, trace: trace? }))
    }

    async fn take_step<T>(
        &mut self,
        step: impl AsyncFnOnce(&mut E, StepInput<'_>) -> Result<T, EngineError>,
    ) -> Result<T, SessionError> {
        let start = Instant::now();
        let noise_key = self.draw().await?;
        let at = (self.step, self.position);
        let input = StepInput { canaries: &self.canaries, ..input(&self.plan, at, &self.lot, &self.shifts, noise_key) };
        let result = step(&mut self.engine, input).await;
        let told = self.take_counts(result.is_ok()).await;
        let seen = self.witness_step(result.is_ok(), told.as_ref().ok().and_then(|told| told.within)).await;
        self.finish_step(start);
        let result = result?;
        seen?;
        told?;
        Ok(result)
    }

    /// Sets the phase's task, draws examples and noise key, and records the coming release.
    async fn draw(&mut self) -> Result<[u32; 8], SessionError> {
        let phase = self.plan.phase_of(self.step);
        if let Some(clip) = self.counted.clip {
            let task = self.plan.phase(phase).0.with_clip(clip);
            if self.clipped.as_ref() != Some(&task) {
                self.engine.set_task(&task).await?;
                self.clipped = Some(task);
            }
        } else if self.engine_phase != phase {
            self.engine.set_task(self.plan.phase(phase).0).await?;
            self.engine_phase = phase;
        }
        let key = self.draw_in(phase)?;
        if let Some(broken) = &mut self.broken {
            let task = broken.task(self.plan.phase(phase).0, self.lot.len() + self.canaries.len());
            if let Some(task) = task {
                self.engine.set_task(&task).await?;
            }
        }
        Ok(key)
    }

    /// The part of [`Session::draw`] that needs no engine.
    fn draw_in(&mut self, phase: usize) -> Result<[u32; 8], SessionError> {
        // With the same sampling, the sampler stays, so that an open epoch goes on.
        let sampling = self.plan.phase(phase).1;
        if self.sampler.policy() != sampling {
            self.sampler = sampling.sampler(self.plan.units().into())?;
        }
        let fixed = self.broken.as_ref().is_some_and(|broken| broken.draw(self.step, &mut self.lot));
        if !fixed {
            self.sampler.draw(self.rng.as_mut(), &mut self.lot);
        }
        self.enter_canaries(phase);
        if !self.is_in.is_empty() {
            self.lot.retain(|&unit| self.is_in.get(unit as usize).is_none_or(|is_in| *is_in));
        }
        if let Some(account) = &mut self.account {
            account.books.record(account.releases[phase], 1);
        }
        let key = std::array::from_fn(|_| self.rng.next_u32());
        if let Some(augmentation) = self.plan.config.augmentation {
            augmentation.draw(self.rng.as_mut(), &mut self.shifts);
        }
        Ok(key)
    }

    /// Moves the canaries, whose numbers follow the examples', from the lot to `canaries`, and
    /// keeps those that the engine is to add.
    fn enter_canaries(&mut self, phase: usize) {
        let examples = self.plan.units() - self.plan.config.canaries;
        let drawn = self.lot.split_off(self.lot.partition_point(|&unit| unit < examples));
        self.canaries.clear();
        if let Some(audit) = &self.audit {
            self.canaries.extend(drawn.iter().map(|unit| DrawnCanary { canary: unit - examples, turned: false }));
            audit.enter(&mut self.canaries, phase);
        }
    }

    /// Shows the step to the auditor, with the count of norms, if any. A failed step shows nothing.
    async fn witness_step(&mut self, succeeded: bool, within: Option<f64>) -> Result<(), EngineError> {
        let Some(audit) = self.audit.as_mut().filter(|_| succeeded) else { return Ok(()) };
        let witness = &self.engine.witness().await?;
        let clip = match self.clipped.as_ref().map(|task| &task.encoder) {
            Some(EncoderSpec::Clip { norm }) => Some(*norm),
            _ => None,
        };
        let (step, lot, drawn) = (self.step, self.lot.len(), &self.canaries[..]);
        let seen = Seen { witness, drawn, clip, within, step, lot };
        Ok(audit.take(self.plan.phase_of(self.step), seen, self.broken.as_ref())?)
    }

    /// Records the step's adaptive clipping norm. If the step succeeded, also reads its noisy
    /// counts and updates the next norm and the averages.
    async fn take_counts(&mut self, succeeded: bool) -> Result<ReleasedCounts, EngineError> {
        if let Some(clip) = self.counted.clip {
            self.clips.push(clip as f32);
        }
        if !succeeded || self.task().counting.is_none() {
            return Ok(ReleasedCounts::default());
        }
        let told = self.engine.released_counts().await?;
        let task = self.plan.phase(self.plan.phase_of(self.step)).0;
        let lot = f64::from(task.expected_lot);
        if let (Some(adaptive), Some(clip), Some(within)) =
            (self.plan.config.adaptive_clip, &mut self.counted.clip, told.within)
        {
            *clip = adaptive.next(*clip, within, lot);
        }
        if let (Some(estimate), Some(answers), Some(noise)) =
            (&mut self.counted.answers, &told.answers, task.counting.answers)
        {
            estimate.add(answers, noise, lot, self.plan.units().into());
        }
        Ok(told)
    }

    fn finish_step(&mut self, start: Instant) {
        self.step += 1;
        self.position += 1;
        self.training += start.elapsed();
    }

    /// Waits for the device, counted as training time; returns the whole run's metrics.
    ///
    /// # Errors
    /// The device is lost.
    pub async fn settle(&mut self) -> Result<Metrics, SessionError> {
        let start = Instant::now();
        let metrics = self.engine.metrics().await?;
        self.training += start.elapsed();
        self.non_finite.1 = metrics.non_finite;
        Ok(Metrics { non_finite: self.count_non_finite(), ..metrics })
    }

    /// Returns the last step's examples and copies' shifts. Private: for the trainer's screen.
    #[must_use]
    pub fn drawn(&self) -> (&[u32], &[Shift]) {
        (&self.lot, &self.shifts)
    }

    /// Returns the time spent on steps.
    #[must_use]
    pub const fn training(&self) -> Duration {
        self.training
    }

    /// Returns the share of `test` that the model classifies correctly, in [0, 1].
    ///
    /// # Errors
    /// The device is lost.
    pub async fn accuracy(&mut self, test: &Dataset) -> Result<f64, SessionError> {
        let right = reading::count_correct(&mut self.engine, test, self.plan.config.reading).await?;
        Ok(f64::from(right) / test.len() as f64)
    }

    /// Returns what only the trainer's screen may show, as of the last [`Session::settle`].
    #[must_use]
    pub fn teaching(&self) -> Teaching {
        Teaching {
            lot_size: self.lot.len() as u32,
            non_finite: self.count_non_finite(),
            training_seconds: self.training.as_secs_f64(),
        }
    }

    /// Waits for the device and returns the state of the run.
    ///
    /// # Errors
    /// The device is lost.
    pub async fn report(&mut self, test_accuracy: Option<f64>) -> Result<Report, SessionError> {
        let metrics = self.settle().await?;
        Ok(Report {
            step: self.step,
            epoch: self.plan.config.epochs(self.plan.train_examples, self.step),
            training_seconds: two_digits(self.training.as_secs_f64()),
            learning_rate: self.plan.learning_rate(self.step.saturating_sub(1)),
            test_accuracy,
            test_set: None,
            denoise_factor: metrics.denoise_factor.into(),
            privacy: self.privacy()?,
            complete: self.complete(),
            counted: self.counted,
        })
    }

    /// Returns the Rényi ε of all releases so far, at the plan's δ.
    ///
    /// # Errors
    /// The accountant refuses the plan's δ.
    pub fn privacy(&self) -> Result<Privacy, SessionError> {
        self.privacy_ahead(0)
    }

    /// Returns the full account of the books with tight accounting, which takes longer than
    /// [`Session::privacy`]; `None` if nothing can be accounted for.
    ///
    /// # Errors
    /// As [`Books::account`].
    pub fn account(&self) -> Option<Result<report::Account, PrivacyError>> {
        Some(self.account.as_ref()?.books.account(self.plan.config.delta))
    }

    /// Returns ε after `steps` more steps: that of [`Session::ledger_ahead`].
    ///
    /// # Errors
    /// As [`Session::privacy`].
    pub fn privacy_ahead(&self, steps: u64) -> Result<Privacy, SessionError> {
        let account = match (&self.account, &self.plan.priced) {
            (Some(account), _) => account,
            (None, Err(reason)) => return Ok(Privacy::NoGuarantee { reason: reason.to_message() }),
            (None, Ok(_)) => return Ok(Privacy::NoGuarantee { reason: word!("the run kept no ledger").into() }),
        };
        let delta = self.plan.config.delta;
        let mut books = std::borrow::Cow::Borrowed(&account.books);
        if steps > 0 {
            for (release, count) in account.ahead(&self.plan, self.step, steps) {
                books.to_mut().record(release, count);
            }
        }
        Ok(Privacy::of(delta, books.renyi(delta), books.ledger())?)
    }
}

/// Returns the engine's input, without canaries, for a step at a position of the noise sequence.
fn input<'a>(
    plan: &Plan,
    (step, position): (u64, u64),
    lot: &'a [u32],
    shifts: &'a [Shift],
    noise_key: [u32; 8],
) -> StepInput<'a> {
    // A filter over the steps begins at zero; this corrects its bias.
    let learning_rate = (plan.learning_rate(step) * plan.task.filter().correction(step)) as f32;
    let average_keeps = plan.config.averaging.keeps(step) as f32;
    StepInput { lot, shifts, canaries: &[], noise_key, position, learning_rate, average_keeps }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use crate::{
        accounting::{rdp::epsilon_of, sampling::Sampling},
        config::{Augmentation, Averaging, RunConfig, SamplingPolicy, Start},
        data::{Shift, sharing::Sharing, synthetic},
        engine::{Performance, Reading, cpu::CpuEngine, reference::ReferenceEngine},
        mechanism::AdaptiveClip,
        model::Architecture,
    };

    /// Lots of 10 of 43 digits: 5 batches, if shuffled.
    fn sampled(sampling: SamplingPolicy) -> Plan {
        Plan::new(RunConfig { sampling, lot: 10, ..RunConfig::default() }, 43).unwrap()
    }

    fn on_cpu(plan: &Plan) -> CpuEngine {
        let train = synthetic::digits(1, 43, 1).train;
        CpuEngine::new(plan.task.clone(), train, &plan.initial_parameters(), Performance::default()).unwrap()
    }

    fn spent<E: Engine>(session: &Session<E>) -> f64 {
        let Privacy::Bounded(bound) = session.privacy().unwrap() else { panic!("no ε") };
        bound.improved.epsilon
    }

    /// A step equals that of a lot without the excluded examples; the books stay as they were.
    #[test]
    fn excluded_examples_add_nothing() {
        let plan = sampled(SamplingPolicy::Poisson);
        let session = || {
            let rng = Box::new(NotPrivateReplay::new(3));
            Session::drawing_from(rng, plan.clone(), on_cpu(&plan)).unwrap()
        };
        let is_in: Vec<bool> = (0..43).map(|k| k % 3 != 0).collect();
        let (mut all, mut some) = (session(), session());
        some.leave_out(is_in.clone());
        let mut left_out = 0;
        for _ in 0..20 {
            block_on(all.step()).unwrap();
            block_on(some.step()).unwrap();
            let kept: Vec<u32> = all.lot.iter().copied().filter(|&unit| is_in[unit as usize]).collect();
            assert_eq!(some.lot, kept);
            left_out += all.lot.len() - kept.len();
        }
        assert!(left_out > 20 && some.ledger().unwrap() == all.ledger().unwrap());
        assert_ne!(block_on(all.engine().state()).unwrap(), block_on(some.engine().state()).unwrap());
        let mut nobody = session();
        nobody.leave_out(vec![false; 43]);
        block_on(nobody.step()).unwrap();
        assert!(nobody.lot.is_empty());
    }

    /// Returns the lots of two epochs and a step, and checks that the books price what is drawn.
    fn lots<E: Engine>(plan: &Plan, engine: E) -> Vec<Vec<u32>> {
        let mut session = Session::new(plan.clone(), engine).unwrap();
        let lots = (0..11).map(|_| {
            block_on(session.step()).unwrap();
            session.lot.clone()
        });
        let lots = lots.collect();
        let ledger = session.ledger().unwrap();
        assert_eq!((ledger.steps(), ledger.releases().len()), (11, 1));
        assert_eq!(session.sampler.policy(), ledger.releases()[0].sampling);
        assert_eq!(spent(&session), epsilon_of(ledger, 1e-5).unwrap().improved.epsilon);
        lots
    }

    /// On digits shifted by two pixels, of which a model is often unsure.
    /// A step that is only shown changes neither the run's parameters nor its lots, noise or books.
    #[test]
    fn a_rehearsal_leaves_the_run_as_it_was() {
        let plain = RunConfig { lot: 10, ..RunConfig::default() };
        let averaged = RunConfig { momentum: 0.9, averaging: Averaging::Exponential, ..plain.clone() };
        let users = Sharing::Users { users: 20, skew: 0.5, seed: 1 };
        let shared = RunConfig { sharing: users, lot: 5, ..plain.clone() };
        let moved = RunConfig {
            augmentation: Some(Augmentation { copies: 2, reach: 1 }),
            adaptive_clip: Some(AdaptiveClip { quantile: 0.5, noise: 10.0 }),
            ..plain.clone()
        };
        for config in [plain, averaged, shared, moved] {
            let run = |rehearsed: bool| {
                let plan = Plan::new(config.clone(), 43).unwrap();
                let rng = Box::new(NotPrivateReplay::new(3));
                let mut session = Session::drawing_from(rng, plan.clone(), on_cpu(&plan)).unwrap();
                if rehearsed {
                    let seen = block_on(session.rehearse(&mut SystemRng::new().unwrap())).unwrap().unwrap();
                    assert_eq!(seen.parameters, plan.initial_parameters());
                    assert!(!seen.lot.is_empty() && seen.trace.noisy != seen.trace.encoded);
                    assert_eq!((session.step_count(), session.ledger().map(Ledger::steps)), (0, Some(0)));
                }
                for _ in 0..3 {
                    block_on(session.step()).unwrap();
                }
                let state = block_on(session.engine().state()).unwrap();
                (state, session.drawn().0.to_vec(), session.ledger().map(Ledger::to_json), session.clips().to_vec())
            };
            assert_eq!(run(true), run(false), "{config:?}");
        }
    }

    #[test]
    fn runs_that_cannot_be_rehearsed_are_not() {
        let bands = RunConfig { bands: 4, steps: Some(20), ..RunConfig::default() };
        let features = RunConfig { model: Architecture::Scattering, ..RunConfig::default() };
        for config in [bands, features] {
            let plan = Plan::new(RunConfig { lot: 4, ..config }, 43).unwrap();
            let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
            assert!(block_on(session.rehearse(&mut SystemRng::new().unwrap())).unwrap().is_none());
        }
        let plan = sampled(SamplingPolicy::Poisson);
        let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
        block_on(session.step()).unwrap();
        assert!(block_on(session.rehearse(&mut SystemRng::new().unwrap())).unwrap().is_none(), "it has begun");
    }

    #[test]
    fn test_images_are_read_as_the_configuration_says() {
        let test = synthetic::digits(3, 1, 300).test;
        let test = test.moved(&(0..300).collect::<Vec<_>>(), &[Shift { right: 2, down: 2 }]);
        let accuracies = [Reading::Once, Reading::TestTimeAugmentation].map(|reading| {
            let config = RunConfig {
                model: Architecture::CnnTanh,
                start: Start::Pretrained,
                reading,
                lot: 10,
                ..RunConfig::default()
            };
            let plan = Plan::new(config, 43).unwrap();
            let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
            let accuracy = block_on(session.accuracy(&test)).unwrap();
            let read = block_on(reading::digits(session.engine(), &test, reading)).unwrap();
            let right = read.iter().zip(test.labels.iter()).filter(|(digit, label)| digit == label).count();
            assert_eq!(accuracy, right as f64 / 300.0, "{reading:?}");
            accuracy
        });
        assert!(accuracies[0] > 0.5 && accuracies[0] != accuracies[1], "{accuracies:?}");
    }

    #[test]
    fn lots_are_drawn_by_the_policy_that_is_paid_for() {
        let by_engine = |plan: &Plan| {
            let reference = ReferenceEngine::new(&plan.task, synthetic::digits(1, 43, 1).train, 0).unwrap();
            [lots(plan, on_cpu(plan)), lots(plan, reference)]
        };
        let plan = sampled(SamplingPolicy::Poisson);
        assert_eq!(plan.sampling, Sampling::Poisson { rate: 10.0 / 43.0 });
        assert_eq!((plan.task.expected_lot, plan.steps_per_epoch()), (10.0, 4.3));
        // Eleven equal sizes have a chance of 1e-8.
        assert!(by_engine(&plan).iter().all(|lots| lots.iter().any(|lot| lot.len() != lots[0].len())));

        let plan = sampled(SamplingPolicy::FixedSize);
        assert_eq!(plan.sampling, Sampling::FixedSize { population: 43, size: 10 });
        assert_eq!((plan.task.expected_lot, plan.steps_per_epoch()), (10.0, 4.3));
        assert!(by_engine(&plan).iter().flatten().all(|lot| lot.len() == 10));

        for (policy, priced) in [
            (SamplingPolicy::Shuffled, Sampling::Shuffled { batches: 5 }),
            (SamplingPolicy::RandomAllocation, Sampling::RandomAllocation { batches: 5 }),
        ] {
            let plan = sampled(policy);
            assert_eq!(plan.sampling, priced);
            assert_eq!((plan.task.expected_lot, plan.steps_per_epoch()), (43.0 / 5.0, 5.0));
            for lots in by_engine(&plan) {
                for epoch in lots[..10].chunks(5) {
                    let mut all = epoch.concat();
                    all.sort_unstable();
                    assert_eq!(all, (0..43).collect::<Vec<_>>());
                }
                assert_ne!(lots[..5], lots[5..10], "an epoch is partitioned anew");
            }
        }
    }

    #[test]
    fn books_ahead_of_the_run_are_those_that_it_will_have() {
        for policy in [
            SamplingPolicy::Poisson,
            SamplingPolicy::FixedSize,
            SamplingPolicy::Shuffled,
            SamplingPolicy::RandomAllocation,
        ] {
            let plan = sampled(policy);
            let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
            block_on(session.step()).unwrap();
            let (ahead, cost) = (session.ledger_ahead(6), session.privacy_ahead(6).unwrap());
            assert_eq!((session.step_count(), session.ledger().unwrap().steps()), (1, 1), "{policy:?}");
            for _ in 0..6 {
                block_on(session.step()).unwrap();
            }
            assert_eq!((session.ledger().cloned(), session.privacy().unwrap()), (ahead, cost), "{policy:?}");
        }
        let plan = Plan::new(RunConfig { noise: None, lot: 10, ..RunConfig::default() }, 43).unwrap();
        let session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
        assert_eq!(session.ledger_ahead(1), None);
        assert!(matches!(session.privacy_ahead(1).unwrap(), Privacy::NoGuarantee { .. }));
    }

    /// No partition is kept: a continued run may draw an example again in what was one epoch.
    #[test]
    fn a_continued_run_pays_for_the_epoch_that_it_gives_up() {
        for policy in [SamplingPolicy::Shuffled, SamplingPolicy::RandomAllocation] {
            pays_for_the_epoch_that_it_gives_up(&sampled(policy));
        }
        // Nor are the groups and the memory of correlated noise kept.
        let banded = RunConfig { bands: 5, lot: 8, ..RunConfig::default() };
        pays_for_the_epoch_that_it_gives_up(&Plan::new(banded, 43).unwrap());
    }

    fn pays_for_the_epoch_that_it_gives_up(plan: &Plan) {
        let after = |steps| {
            let ledger = Ledger::of([(plan.priced.as_ref().unwrap().0.clone(), steps)]).unwrap();
            epsilon_of(&ledger, 1e-5).unwrap().improved.epsilon
        };
        let (one, two) = (after(5), after(10));
        assert!(after(1) == one && after(6) == two && two > 1.1 * one);
        let mut session = Session::new(plan.clone(), on_cpu(plan)).unwrap();
        for _ in 0..2 {
            block_on(session.step()).unwrap();
        }
        assert_eq!(spent(&session), one);
        let mut resumed = Session::resume(plan.clone(), on_cpu(plan), session.progress()).unwrap();
        assert_eq!((resumed.step_count(), spent(&resumed)), (2, one), "not before it is drawn from anew");
        block_on(resumed.step()).unwrap();
        assert_eq!(spent(&resumed), two);
        for _ in 0..4 {
            block_on(resumed.step()).unwrap();
        }
        assert_eq!((resumed.step_count(), spent(&resumed)), (7, two));
        // Between epochs nothing is abandoned.
        let again = Session::resume(plan.clone(), on_cpu(plan), resumed.progress()).unwrap();
        assert_eq!(again.ledger(), resumed.ledger());
    }

    #[test]
    fn examples_that_were_not_finite_stay_counted_when_the_engine_changes() {
        let train = synthetic::digits(1, 40, 1).train;
        let plan = Plan::new(RunConfig { lot: 40, ..RunConfig::default() }, 40).unwrap();
        // Parameters that break every example, as too large a rate would make them.
        let engine = || {
            let broken = vec![f32::NAN; plan.config.model.parameters()];
            CpuEngine::new(plan.task.clone(), train.clone(), &broken, Performance::default()).unwrap()
        };
        let one_more = |session: &mut Session<CpuEngine>| {
            block_on(session.step()).unwrap();
            block_on(session.settle()).unwrap();
            session.teaching().non_finite
        };
        let mut session = Session::new(plan.clone(), engine()).unwrap();
        assert_eq!(one_more(&mut session), 40);
        session.replace_engine(engine());
        assert_eq!(block_on(session.settle()).unwrap().non_finite, 40);
        assert_eq!(one_more(&mut session), 80);
        let mut resumed = Session::resume(plan.clone(), engine(), session.progress()).unwrap();
        assert_eq!(one_more(&mut resumed), 120);
        // The count saturates.
        let most = Progress { non_finite: u64::MAX, ..session.progress() };
        assert_eq!(one_more(&mut Session::resume(plan.clone(), engine(), most).unwrap()), u64::MAX);
    }

    /// Each phase's noise, norm, lot and rate are used and recorded, even after interruptions.
    #[test]
    fn phases_run_as_they_are_planned_and_paid_for() {
        let train = synthetic::digits(1, 200, 1).train;
        let config = RunConfig {
            phases: "4; 3 noise 0.5 lot 60; 5 noise 2 clip 0.3 rate 0.5".parse().unwrap(),
            steps: Some(12),
            lot: 20,
            momentum: 0.5,
            ..RunConfig::default()
        };
        let plan = Plan::new(config.clone(), 200).unwrap();
        let on_cpu = |plan: &Plan| {
            let start = plan.initial_parameters();
            CpuEngine::new(plan.task.clone(), train.clone(), &start, Performance::default()).unwrap()
        };
        // Step by step, with an engine made for each step's phase.
        let replayed = Plan::new(RunConfig { replay: Some(3), ..config.clone() }, 200).unwrap();
        let mut session = Session::new(replayed.clone(), on_cpu(&replayed)).unwrap();
        let mut sizes = vec![];
        for step in 0..12 {
            let state = block_on(session.engine().state()).unwrap();
            block_on(session.step()).unwrap();
            sizes.push(session.lot.len());
            let own = Plan::new(RunConfig { replay: Some(3), ..config.in_step(step) }, 200).unwrap();
            assert_eq!(session.task(), &own.task, "{step}");
            assert_eq!(session.sampler.policy(), own.sampling);
            let mut other = Session::resume(
                replayed.clone(),
                on_cpu(&replayed),
                Progress { step, ledger: None, training: Duration::ZERO, non_finite: 0, ..session.progress() },
            )
            .unwrap();
            block_on(other.engine().set_state(&state)).unwrap();
            block_on(other.step()).unwrap();
            let states = [block_on(session.engine().state()).unwrap(), block_on(other.engine().state()).unwrap()];
            assert_eq!(states[0], states[1], "{step}");
            assert_eq!(plan.learning_rate(step), config.in_step(step).learning_rate);
        }
        assert!(sizes[4..7].iter().all(|size| *size > 35) && sizes[..4].iter().all(|size| *size < 40), "{sizes:?}");
        // The books follow; an interrupted run has its phases and its books back.
        let whole = crate::projection::planned(&config, 200, 12).unwrap();
        for stop in [0, 2, 4, 5, 7, 11] {
            let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
            for _ in 0..stop {
                block_on(session.step()).unwrap();
            }
            let ahead = session.ledger_ahead(12 - stop).unwrap();
            let mut session = Session::resume(plan.clone(), on_cpu(&plan), session.progress()).unwrap();
            assert_eq!(
                (session.ledger_ahead(12 - stop).unwrap().events(), ahead.events()),
                (whole.ledger().events(), whole.ledger().events())
            );
            let cost = session.privacy_ahead(12 - stop).unwrap();
            while !session.complete() {
                block_on(session.step()).unwrap();
            }
            assert_eq!(session.ledger(), Some(whole.ledger()), "{stop}");
            assert_eq!(session.privacy().unwrap(), cost);
            assert_eq!(spent(&session), whole.renyi(config.delta).unwrap().improved.epsilon);
            assert_eq!(session.planned().unwrap(), [Event { release: 2, count: u64::MAX - 12 }]);
        }
        // A replacement engine is set to the current phase.
        let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
        (0..6).for_each(|_| block_on(session.step()).unwrap());
        session.replace_engine(on_cpu(&plan));
        block_on(session.step()).unwrap();
        assert_eq!(session.engine_phase, 1);
    }

    /// Phases of one lot share an epoch, priced by its least noise.
    #[test]
    fn an_epoch_goes_on_over_a_phase() {
        for sampling in [SamplingPolicy::Shuffled, SamplingPolicy::RandomAllocation] {
            let config = RunConfig {
                sampling,
                lot: 10,
                phases: "3; 7 noise 2".parse().unwrap(),
                steps: Some(10),
                ..RunConfig::default()
            };
            let plan = Plan::new(config, 43).unwrap();
            let mut session = Session::new(plan.clone(), on_cpu(&plan)).unwrap();
            let mut drawn = vec![];
            for _ in 0..5 {
                block_on(session.step()).unwrap();
                drawn.extend_from_slice(&session.lot);
            }
            drawn.sort_unstable();
            assert_eq!(drawn, (0..43).collect::<Vec<_>>());
        }
    }
}
