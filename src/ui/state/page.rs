//! All that the page knows: a struct of signals for each concern.

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
    lessons::Lessons,
    messages::Messages,
    noise_lab::NoiseLab,
    pad::Pad,
    pay_once::PayOnce,
    projection::ProjectedCost,
    recorded::Recorded,
    run::Run,
    run_list::{Past, RunList},
    snapshots::Snapshots,
    spending::Spending,
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

/// All signals, by concern. Copied freely. What one concern can do is a method of its struct; what follows in several is one of the page.
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
    pub spending: Spending,
    pub guarantee: Guarantee,
    pub attack: Attack,
    pub attacks: Attacks,
    pub pad: Pad,
    pub who_pays: WhoPays,
    pub pay_once: PayOnce,
    pub annealing: Annealing,
    pub lessons: Lessons,
    pub lab: NoiseLab,
    pub sweeps: Sweeps,
    pub cards: Cards,
    pub messages: Messages,
    pub appearance: Appearance,
    /// What a task leaves free; none: everything is.
    pub task: RwSignal<Option<Lock>>,
    pub submission: Submission,
    /// What the training thread asked of the network.
    pub requests: RwSignal<Vec<NetworkRequest>>,
}

impl Page {
    /// The state that an address describes; nothing is started. `lots`: whether digits of a step's lot are shown anywhere.
    #[must_use]
    pub fn new(Opening { link, task, handed_in, problems }: Opening, lots: bool) -> Self {
        let submission = Submission::new(handed_in, &link.settings);
        let (trainer, accountant, charts) = (TrainingClient::new(), AccountantClient::new(), Charts::new());
        let digits = DigitSets::new(trainer);
        let run = Run::new(trainer, digits, link.speed);
        let spending = Spending::new(run, charts, accountant);
        let pay_once = PayOnce::new(trainer, &link);
        let attacks = Attacks::new(trainer, accountant, &link);
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
            spending,
            guarantee: Guarantee::new(settings, run, spending, cost),
            attack: Attack::new(run, spending, accountant),
            attacks,
            pad: Pad::new(trainer, run),
            who_pays: WhoPays::new(trainer, run),
            pay_once,
            annealing: Annealing::new(trainer),
            lab,
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

    /// The link to what is set.
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

    /// Whether there are digits, and the settings fit them; says so where they do not.
    pub fn check_data(self) -> bool {
        let Some(train) = self.digits.train() else { return false };
        let checked = self.settings.with_untracked(|settings| settings.check_data(train));
        checked.map_err(|problem| self.messages.put(Some(Number::Lot), problem.to_string())).is_ok()
    }

    /// The run that stands, if it has anything to show.
    #[must_use]
    pub fn current(self) -> Option<Past> {
        let (info, last) = (self.run.info.get_untracked()?, self.run.report.get_untracked()?);
        let settings = self.run.settings().filter(|_| last.step > 0)?;
        let mut curves = self.run.curves.get_value();
        // Tight accounting may not have come to the last step, and the plan says what it costs.
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

    /// Whether the step that was recorded may be shown: under its own settings alone, and while there is nothing of the visitor's own. Of whatever
    /// digits: it says which it is of.
    #[must_use]
    pub fn shows_recorded(self) -> bool {
        let first = |settings: &Settings| *settings == Settings { digits: settings.digits, ..first_settings() };
        !self.has_own_run() && self.settings.with(first)
    }

    /// The run that was recorded on the digits at hand, where one may be shown; until they are known, on those that are asked for.
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

    /// Whether a run of the visitor's own can be drawn.
    #[must_use]
    pub fn has_own_run(self) -> bool {
        let stepped = self.run.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0));
        stepped || self.runs.past.with(|past| !past.is_empty())
    }
}
