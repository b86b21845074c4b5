//! Values of `{name}` in texts: numbers of the settings and of the run.

use std::sync::Arc;

use leptos::prelude::*;

use super::{
    guarantee::Odds,
    lesson_steps::LessonPlayer,
    page::Page,
    recorded::{Column, Price},
};
use crate::{
    plot::format,
    train::{
        label::found_at_most,
        report::{Privacy, Report},
    },
    ui::settings::{Encoder, PhaseKind, Settings},
    worker::counting::{ClassReport, accuracy},
};

/// Numbers of the run, by the names that lessons use.
#[derive(Clone, Copy)]
pub struct Figures(pub Page);

impl Figures {
    /// Returns the current value of `{name}` in a text.
    #[must_use]
    pub fn value_of(self, name: &str) -> Option<String> {
        let settings = |read: fn(&Settings) -> f64| Some(format::number(self.in_step(read)));
        let clip = |s: &Settings| if s.encoder == Encoder::Clip { s.clip_norm } else { 1.0 };
        let train = || self.0.digits.loaded.with(|digits| digits.as_ref().map(|digits| digits.train));
        let parameters = || self.0.settings.with(|s| s.model.parameters());
        let report = |read: fn(&Report) -> Option<f64>| self.0.run.report.with(|report| report.as_ref().and_then(read));
        let bound = |classic: bool| {
            let spent = self.0.run.report.with(|report| match report.as_ref().map(|report| &report.privacy) {
                Some(Privacy::Bounded(bound)) => Some(if classic { bound.classic } else { bound.improved }),
                _ => None,
            });
            spent.filter(|spent| spent.epsilon > 0.0).map(|spent| (spent.epsilon, spent.order))
        };
        let projected = || self.0.cost.of_now().map(|(projection, _)| projection);
        match name {
            "lot" => Some(format::integer(self.in_step(|s| s.lot).into())),
            "train" => train().map(|n| format::integer(n.into())),
            "sigma" => settings(|s| s.scale),
            "clip" => Some(format::number(self.in_step(clip))),
            "noise" => Some(format::number(self.in_step(|s| s.scale * clip(s)))),
            "rate" => report(|report| (report.step > 0).then_some(report.learning_rate))
                .map_or_else(|| settings(|s| s.learning_rate), |rate| Some(format::number(rate))),
            "momentum" => settings(|s| s.momentum),
            "smoothing" => settings(|s| s.smoothing),
            "memory" => settings(|s| s.memory),
            "micro-batch" => settings(|s| s.micro_batch.into()),
            "users" => settings(|s| s.users.map_or(0.0, f64::from)),
            "local-steps" => settings(|s| s.local_steps.into()),
            "local-rate" => settings(|s| s.local_rate),
            "bands" => settings(|s| s.bands.into()),
            "p" => {
                train().map(|n| format::number(self.in_step(|s| f64::from(s.bands) * f64::from(s.lot)) / f64::from(n)))
            }
            "pre-scale" => settings(|s| s.pre_scale),
            "nu" => settings(|s| s.nu),
            "exponent" => settings(|s| s.exponent),
            "density" => Some(self.0.settings.with(|s| s.formula.clone())),
            "delta" => settings(|s| s.delta),
            "if-shown" => self.0.pay_once.hidden().map(|[shown, ..]| format::epsilon(shown)),
            "hidden" => self.0.pay_once.hidden().map(|[_, hidden, _]| format::budget(hidden)),
            "hidden-accuracy" => self.0.pay_once.hidden().map(|[.., accuracy]| format::percent(accuracy)),
            "q" => {
                train().map(|n| format::number(self.in_step(|s| f64::from(s.lot) / f64::from(s.users.unwrap_or(n)))))
            }
            "parameters" => Some(format::integer(parameters() as u64)),
            // The mean of the Kolmogorov distribution is 0.8687.
            "floor" => Some(format::number(0.8687 / (parameters() as f64).sqrt())),
            "steps" => report(|report| Some(report.step as f64)).map(|steps| format::integer(steps as u64)),
            "planned" => projected().map(|projection| format::integer(projection.steps)),
            "projected-classic" => projected().map(|projection| format::epsilon(projection.end.classic.epsilon)),
            "projected" => projected().map(|projection| format::epsilon(projection.end.improved.epsilon)),
            "of-one" | "of-all" => {
                let [one, all] = projected()?.shared?;
                Some(format::epsilon(if name == "of-one" { one } else { all }))
            }
            "tight" => self.0.cost.of_now()?.1.map(format::epsilon),
            "epsilon" => self.headline().map(format::epsilon),
            "improved" => bound(false).map(|(epsilon, _)| format::epsilon(epsilon)),
            "classic" => bound(true).map(|(epsilon, _)| format::epsilon(epsilon)),
            "found" => self.found().map(format::percent_at_most),
            "mu" => self.0.spending.gaussian().map(|fit| format::epsilon(fit.mu)),
            "order" => bound(false).map(|(_, order)| format::number((order * 10.0).round() / 10.0)),
            "exp-epsilon" => self.headline().map(|epsilon| format::epsilon(epsilon.exp().next_up())),
            // `None` if the denoiser is no factor, or the run has not begun.
            "factor" => report(|report| (report.step > 0).then_some(report.denoise_factor))
                .filter(|_| self.0.run.info.with(|run| run.as_ref().is_some_and(|run| run.config.denoiser.is_factor())))
                .map(|f| format::number((f * 1e5).round() / 1e5)),
            "accuracy" => self.0.run.accuracy.get().map(format::percent),
            "turned" | "turned-open" | "accuracy-open" => self.share_of(name).map(format::percent),
            "pays-most" => self.counted_now(true)?.pays_most().map(|(digit, ..)| digit.to_string()),
            "norm-0" | "norm-1" | "norm-2" => self.0.snapshots.shown.with(|shown| {
                let tile = &shown.as_ref()?.1.tiles[usize::from(name.as_bytes()[5] - b'0')];
                Some(format::number(format::significant(tile.norm, 3)))
            }),
            // The norm of as many draws as there are parameters.
            "noise-length" => {
                let of_one = self.in_step(|s| s.scale * clip(s));
                Some(format::number(format::significant(of_one * (parameters() as f64).sqrt(), 3)))
            }
            _ => LessonPlayer(self.0).value_compared(name),
        }
    }

    /// Reads the settings in the last step: its phase may have its own noise, clip, lot or rate.
    fn in_step<T>(self, read: impl FnOnce(&Settings) -> T) -> T {
        let step = self.0.run.report.with(|report| report.as_ref().map_or(0, |report| report.step));
        self.0.settings.with(|settings| match settings.phases {
            PhaseKind::None => read(settings),
            _ => read(&settings.in_step(step.saturating_sub(1))),
        })
    }

    /// Returns the counts of the run's current step; with `open`, once its baseline is trained.
    fn counted_now(self, open: bool) -> Option<Arc<ClassReport>> {
        let step = self.0.run.report.with(|report| report.as_ref().map(|report| report.step));
        self.0.who_pays.after(step, open)
    }

    /// Share of test digits, plain or turned, that the run or its baseline classifies correctly.
    fn share_of(self, name: &str) -> Option<f64> {
        let open = name.ends_with("-open");
        let counted = self.counted_now(open)?;
        let counts = if open { counted.open.as_ref()? } else { &counted.run };
        accuracy(if name.starts_with("turned") { counts.turned.as_ref()? } else { &counts.usual }, None)
    }

    /// Returns the odds on the page: of the plan under the noise that is dragged; of the recorded run
    /// until the planned one is priced.
    pub fn odds(self) -> Odds {
        let page = self.0;
        let planned = |price: Option<Price>| price.map(|price| Odds::Planned(price.found));
        let recorded = || Some(Odds::Recorded(page.recorded()?.curve(Column::Odds).last()?.1 as u32));
        match page.guarantee.odds() {
            Odds::Unbounded => Odds::Unbounded,
            _ if page.knob.is_dragged() => planned(page.price()).unwrap_or(Odds::Unknown),
            Odds::Unknown => planned(page.knob.price()).or_else(recorded).unwrap_or(Odds::Unknown),
            known => known,
        }
    }

    /// Returns the odds as a share, by the whole privacy curve.
    pub(super) fn found(self) -> Option<f64> {
        self.0.spending.whole_curve()?;
        Some(found_at_most(&self.0.guarantee.attack.get()?))
    }

    /// Returns the ε shown large; `None` before any release or without a guarantee.
    pub(super) fn headline(self) -> Option<f64> {
        self.0.guarantee.epsilon().filter(|epsilon| *epsilon > 0.0)
    }
}
