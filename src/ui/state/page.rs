//! The page's state: a struct of signals for each concern.

use leptos::prelude::*;

use super::{
    annealing::Annealing,
    appearance::Appearance,
    attack::Attack,
    attacks::Attacks,
    cards::Cards,
    charts::Charts,
    device::Device,
    digits::DigitSets,
    following::Following,
    guarantee::Guarantee,
    knob::Knob,
    lessons::Lessons,
    messages::Messages,
    noise_lab::NoiseLab,
    own_training::OwnTrainingPanel,
    pad::Pad,
    pay_once::PayOnce,
    projection::ProjectedCost,
    recorded::{Price, Recorded},
    run::Run,
    run_list::{Past, RunList},
    snapshots::Snapshots,
    spending::LiveEpsilon,
    submission::Submission,
    sweeps::Sweeps,
    who_pays::WhoPays,
};
use crate::{
    data::Source,
    ui::{
        link::{Link, Lock, Opening},
        settings::{Digits, Number, Settings, presets::first_settings},
        threads::{accountant::AccountantClient, training::TrainingClient},
    },
    worker::protocol::NetworkRequest,
};

/// All signals, by concern. Methods that affect one concern are on its struct, others here.
#[derive(Clone, Copy)]
pub struct Page {
    pub settings: RwSignal<Settings>,
    pub trainer: TrainingClient,
    pub accountant: AccountantClient,
    pub device: Device,
    pub digits: DigitSets,
    pub run: Run,
    pub snapshots: Snapshots,
    pub following: Following,
    pub charts: Charts,
    pub runs: RunList,
    pub cost: ProjectedCost,
    pub knob: Knob,
    pub spending: LiveEpsilon,
    pub guarantee: Guarantee,
    pub attack: Attack,
    pub attacks: Attacks,
    pub pad: Pad,
    pub who_pays: WhoPays,
    pub pay_once: PayOnce,
    pub annealing: Annealing,
    pub lessons: Lessons,
    pub lab: NoiseLab,
    pub own_training: OwnTrainingPanel,
    pub sweeps: Sweeps,
    pub cards: Cards,
    pub messages: Messages,
    pub appearance: Appearance,
    /// What a task leaves free; `None`: everything.
    pub task: RwSignal<Option<Lock>>,
    pub submission: Submission,
    /// Network requests of the training thread.
    pub requests: RwSignal<Vec<NetworkRequest>>,
}

impl Page {
    /// Creates the state that an address describes, starting nothing. `lots`: whether images of a
    /// step's lot are shown anywhere.
    #[must_use]
    pub fn new(Opening { link, task, handed_in, problems }: Opening, lots: bool) -> Self {
        let submission = Submission::new(handed_in, &link.settings);
        let (trainer, accountant, charts) = (TrainingClient::new(), AccountantClient::new(), Charts::new());
        let digits = DigitSets::new(trainer);
        let run = Run::new(trainer, digits, link.speed);
        let spending = LiveEpsilon::new(run, charts, accountant);
        let pay_once = PayOnce::new(trainer, &link);
        let attacks = Attacks::new(trainer, accountant, &link);
        let own_training = OwnTrainingPanel::new(&link, accountant);
        let (lab, settings) = (NoiseLab::new(&link), RwSignal::new(link.settings));
        let cost = ProjectedCost::new(settings, digits, accountant);
        Self {
            settings,
            trainer,
            accountant,
            device: Device::new(link.backend, link.cores),
            digits,
            run,
            snapshots: Snapshots::new(trainer, run, lots),
            following: Following::new(trainer),
            charts,
            runs: RunList::new(trainer, charts),
            cost,
            knob: Knob::new(settings, digits, accountant),
            spending,
            guarantee: Guarantee::new(settings, run, spending, cost),
            attack: Attack::new(run, spending, accountant),
            attacks,
            pad: Pad::new(trainer, run),
            who_pays: WhoPays::new(trainer, run),
            pay_once,
            annealing: Annealing::new(trainer),
            lab,
            own_training,
            lessons: Lessons::new(link.lesson),
            sweeps: Sweeps::new(),
            cards: Cards::new(),
            messages: Messages::new(&problems),
            appearance: Appearance::new(link.theme, link.language.is_some(), link.present),
            task: RwSignal::new(task),
            submission,
            requests: RwSignal::new(vec![]),
        }
    }

    /// Returns the link to the current settings.
    #[must_use]
    pub fn link(self) -> Link {
        Link {
            settings: self.settings.get(),
            backend: self.device.choice,
            cores: self.device.cores.get(),
            speed: self.run.speed.get(),
            theme: self.appearance.theme_in_link.get().then(|| self.appearance.theme.get()),
            language: self.appearance.language_in_link.get().then(|| self.appearance.language.get()),
            present: self.appearance.present.get(),
            ..Link::default()
        }
    }

    /// True if digits are loaded and the settings fit them; reports a mismatch.
    pub fn check_data(self) -> bool {
        let Some(train) = self.digits.train() else { return false };
        let checked = self.settings.with_untracked(|settings| settings.check_data(train));
        checked.map_err(|problem| self.messages.put(Some(Number::Lot), problem.to_string())).is_ok()
    }

    /// Returns the current run, if it has taken a step.
    #[must_use]
    pub fn current(self) -> Option<Past> {
        let (info, last) = (self.run.info.get_untracked()?, self.run.report.get_untracked()?);
        let settings = self.run.settings().filter(|_| last.step > 0)?;
        let mut curves = self.run.curves.get_value();
        // Tight accounting may lag behind the last step, whose cost the plan knows.
        if let Some(epsilon) = untrack(|| self.guarantee.epsilon()) {
            curves.tight.push((last.step as f64, epsilon));
        }
        let curves = std::sync::Arc::new(curves);
        let accuracy = self.run.accuracy.get_untracked();
        let note = self.runs.note(&settings);
        let current = self.runs.current.get_value();
        let (name, pinned) = (current.name, current.pinned);
        Some(Past { run: info.run, name, note, pinned, settings, info, curves, last, accuracy })
    }

    /// True if the recorded step may be shown: under its own settings only, and while the visitor
    /// has no run. It may be on other digits, as it names its own.
    #[must_use]
    pub fn shows_recorded(self) -> bool {
        let first = |settings: &Settings| *settings == Settings { digits: settings.digits, ..first_settings() };
        !self.has_own_run() && self.settings.with(first)
    }

    /// Returns the recorded run on the loaded digits, or the chosen ones until they are known, if
    /// it may be shown.
    #[must_use]
    pub fn recorded(self) -> Option<Recorded> {
        let source = self.digits.loaded.with(|loaded| loaded.as_ref().map(|loaded| loaded.source));
        let run = match (self.settings.with(|settings| settings.digits), source) {
            (Digits::Mnist, None | Some(Source::Mnist)) => Recorded::Mnist,
            (Digits::Synthetic, None | Some(Source::Synthetic)) => Recorded::Drawn,
            _ => return None,
        };
        self.shows_recorded().then_some(run)
    }

    /// Returns a bound on the plan's cost under the noise that is dragged or set, if one is known.
    #[must_use]
    pub fn price(self) -> Option<Price> {
        self.knob.price().or_else(|| Price::under(self.recorded()?.prices(), self.knob.scale()))
    }

    /// Returns ε of all planned steps under the noise that is dragged or set, if it is known for these
    /// settings.
    #[must_use]
    pub fn planned_epsilon(self) -> Option<f64> {
        let known = !self.knob.is_dragged() && self.cost.of_now().is_some();
        if known { self.cost.end() } else { self.price().map(|price| price.epsilon) }
    }

    /// True if the visitor has a run to draw.
    #[must_use]
    pub fn has_own_run(self) -> bool {
        let stepped = self.run.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0));
        stepped || self.runs.past.with(|past| !past.is_empty())
    }
}
