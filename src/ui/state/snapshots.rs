//! Single steps in detail, as the tiles show them: no more often than the eye follows.

use std::sync::Arc;

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use super::run::Run;
use crate::{
    data::sharing::Sharing,
    ui::{browser, settings::Speed, threads::training::TrainingClient},
    worker::{
        look::{Contribution, LotView},
        protocol::Request,
        snapshot::StepSnapshot,
    },
};

/// Minimum milliseconds between redraws of tiles, and between details of steps at full speed.
const TILES_MS: u32 = 250;
const LOOK_MS: u32 = 1000;
/// Stations of a walk, beats at each, and milliseconds of a beat: 600 a station.
const STATIONS: usize = 4;
const BEATS: usize = 6;
const BEAT_MS: u32 = 100;

/// What no view depends on.
#[derive(Default)]
struct Inner {
    due: Option<Timeout>,
    walking: Option<Timeout>,
    /// The step that the tiles show next, and its lot.
    next: Option<(u64, StepSnapshot)>,
    next_people: Option<InspectedStep>,
    /// When details last arrived, and whether they are awaited.
    looked_at: f64,
    looking: bool,
}

/// The run of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOf {
    /// The current run.
    Run,
    /// An earlier run of the visitor's.
    EarlierRun,
    /// The recorded run.
    Recorded,
}

/// The lot of a step, and the image of it that is ringed.
#[derive(Clone, PartialEq)]
pub struct InspectedStep {
    pub of: StepOf,
    /// 0 for a step that the run has not taken: it shows what a first step looks like.
    pub step: u64,
    pub sharing: Sharing,
    pub lot: Arc<LotView>,
    pub person: Option<Arc<Contribution>>,
}

#[derive(Clone, Copy)]
pub struct Snapshots {
    trainer: TrainingClient,
    run: Run,
    /// Whether images of a step's lot are shown anywhere.
    pub lots: bool,
    pub shown: RwSignal<Option<(u64, Arc<StepSnapshot>)>>,
    /// The lot of the visitor's last step. A step of an earlier run stays until there is another.
    pub people: RwSignal<Option<InspectedStep>>,
    /// The lot of the recorded step.
    pub recorded: RwSignal<Option<InspectedStep>>,
    /// Whether sums are shown without the ringed image.
    pub without: RwSignal<bool>,
    /// The station that is lit during a walk.
    pub lit: RwSignal<Option<usize>>,
    /// Share of the noise's scale that has fallen onto the sum.
    pub fallen: RwSignal<f64>,
    inner: StoredValue<Inner, LocalStorage>,
}

impl Snapshots {
    #[must_use]
    pub fn new(trainer: TrainingClient, run: Run, lots: bool) -> Self {
        Self {
            trainer,
            run,
            lots,
            shown: RwSignal::new(None),
            people: RwSignal::new(None),
            recorded: RwSignal::new(None),
            without: RwSignal::new(false),
            lit: RwSignal::new(None),
            fallen: RwSignal::new(1.0),
            inner: StoredValue::new_local(Inner::default()),
        }
    }

    /// Takes a step, which the tiles show soon.
    pub fn take(self, step: u64, pictures: StepSnapshot) {
        self.inner.update_value(|inner| {
            inner.next = Some((step, pictures));
            inner.looked_at = browser::now();
            inner.looking = false;
        });
        self.inner.update_value(|inner| {
            if inner.due.is_none() {
                // The first picture after a quiet time is shown at once.
                let wait = if self.shown.with_untracked(Option::is_none) { 0 } else { TILES_MS };
                inner.due = Some(Timeout::new(wait, move || self.show()));
            }
        });
    }

    /// Takes the lot of the step taken last.
    pub fn take_people(self, step: u64, lot: LotView, person: Option<Contribution>) {
        let of = StepOf::Run;
        let sharing = self.run.info.with_untracked(|run| run.as_ref().map_or(Sharing::Alone, |run| run.config.sharing));
        let people = InspectedStep { of, step, sharing, lot: Arc::new(lot), person: person.map(Arc::new) };
        if self.inner.with_value(|inner| inner.due.is_none()) {
            return self.show_people(people);
        }
        self.inner.update_value(|inner| inner.next_people = Some(people));
    }

    /// Takes the contribution of another image, if its step is still shown.
    pub fn take_person(self, step: u64, person: Contribution) {
        self.people.update(|people| {
            if let Some(people) = people.as_mut().filter(|people| people.of == StepOf::Run && people.step == step) {
                people.person = Some(Arc::new(person));
            }
        });
    }

    /// Rings another image of the step that is shown.
    pub fn ring(self, place: u32) {
        self.trainer.send(Request::Inspect { place });
    }

    fn show(self) {
        let next = self.inner.try_update_value(|inner| {
            inner.due = None;
            (inner.next.take(), inner.next_people.take())
        });
        let Some((next, people)) = next else { return };
        if let Some((step, pictures)) = next {
            self.shown.set(Some((step, Arc::new(pictures))));
        }
        if let Some(people) = people {
            self.show_people(people);
        }
    }

    /// Shows the lot of a step. Walks through it at slow speed, or if the run is paused before its
    /// end.
    fn show_people(self, people: InspectedStep) {
        // A run reports its completion after its last step is shown.
        let planned = self.run.info.with_untracked(|run| run.as_ref().and_then(|run| run.config.steps));
        let stands = !self.run.playing.get_untracked() && people.step > 0 && planned != Some(people.step);
        self.people.set(Some(people));
        if stands || self.run.speed.get_untracked() == Speed::Slow {
            self.walk();
        }
    }

    /// Walks through the shown step, station by station; the noise falls at the last. Does nothing
    /// if reduced motion is requested.
    pub fn walk(self) {
        if !browser::may_move() {
            return;
        }
        self.beat(0);
    }

    /// Shows one beat of the walk, and schedules the next.
    fn beat(self, beat: usize) {
        let station = beat / BEATS;
        let over = station >= STATIONS;
        self.lit.set((!over).then_some(station));
        let fallen = (beat + 1).saturating_sub(BEATS * (STATIONS - 1)) as f64 / BEATS as f64;
        self.fallen.set(if over { 1.0 } else { fallen });
        let next = (!over).then(|| Timeout::new(BEAT_MS, move || self.beat(beat + 1)));
        self.inner.update_value(|inner| inner.walking = next);
    }

    fn stand(self) {
        self.inner.update_value(|inner| inner.walking = None);
        self.lit.set(None);
        self.fallen.set(1.0);
    }

    /// At full speed, where steps are not traced, requests a step's details now and then.
    pub fn look(self) {
        let now = browser::now();
        let look = self.lots
            && self.run.playing.get_untracked()
            && self.run.speed.get_untracked() == Speed::Max
            && self.inner.with_value(|inner| !inner.looking && now - inner.looked_at > f64::from(LOOK_MS));
        if look {
            self.inner.update_value(|inner| inner.looking = true);
            self.trainer.send(Request::Look);
        }
    }

    /// Plays at the selected speed, and drops any pending request for details.
    pub fn follow_speed(self) {
        self.inner.update_value(|inner| inner.looking = false);
        self.run.send_speed();
    }

    pub fn set_speed(self, speed: Speed) {
        self.run.speed.set(speed);
        self.follow_speed();
    }

    /// Clears the step that is shown, but for the ringed image: it stays until there is another.
    pub fn forget(self) {
        self.shown.set(None);
        self.people.update(|people| {
            if let Some(people) = people {
                people.of = StepOf::EarlierRun;
            }
        });
        self.stand();
        self.inner.update_value(|inner| {
            inner.next = None;
            inner.next_people = None;
            inner.looking = false;
        });
    }
}
