//! The guarantee of the current run, as every panel shows it: ε, the bound on attackers, and the
//! odds of being found.

use leptos::prelude::*;

use super::{projection::ProjectedCost, run::Run, spending::LiveEpsilon};
use crate::{
    accounting::risk::PrivacyCurve,
    plot::{format, series::Point},
    train::{
        label::{found_at_most, of_a_hundred},
        report::Privacy,
    },
    ui::settings::Settings,
};

/// The most members, of a hundred, that an attacker can find while wrongly accusing five of a
/// hundred others ([`found_at_most`]); rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odds {
    /// Given the releases so far.
    Released(u32),
    /// Given all planned releases.
    Planned(u32),
    /// Of the recorded run, shown until the planned run, perhaps on other digits, is priced.
    Recorded(u32),
    /// There is no bound.
    Unbounded,
    /// Not yet computed.
    Unknown,
}

impl Odds {
    /// Returns the number if known; 100 if there is no bound.
    #[must_use]
    pub const fn of_a_hundred(self) -> Option<u32> {
        match self {
            Self::Released(found) | Self::Planned(found) | Self::Recorded(found) => Some(found),
            Self::Unbounded => Some(100),
            Self::Unknown => None,
        }
    }
}

/// A bound, ε or odds, with the run that it belongs to: one run's says nothing of the next.
#[derive(Clone, Copy, PartialEq)]
struct OfRun {
    run: u32,
    number: f64,
    /// True while the plan is being priced, which may give a smaller number. This one is valid, but
    /// not shown.
    provisional: bool,
}

/// The cost of a run's planned steps.
struct Plan {
    run: u32,
    /// (step, tight ε), ascending.
    tight: Vec<Point>,
    /// Odds after all planned steps.
    odds: Option<u32>,
}

/// The guarantee of the current run, which changes as it runs.
#[derive(Clone, Copy)]
pub struct Guarantee {
    settings: RwSignal<Settings>,
    run: Run,
    cost: ProjectedCost,
    /// ε by Rényi accounting, if a step was taken. Notifies only if the displayed digits of a
    /// conversion, an assumption or the reason for having no guarantee change.
    pub bound: Memo<Option<Privacy>>,
    epsilon: Memo<Option<OfRun>>,
    /// The privacy curve of the releases so far, which bounds any attacker.
    pub attack: Memo<Option<PrivacyCurve>>,
    /// Odds, as a number from 0 to 100.
    found: Memo<Option<OfRun>>,
}

impl Guarantee {
    /// Creates the guarantee of the current run.
    pub fn new(settings: RwSignal<Settings>, run: Run, spending: LiveEpsilon, cost: ProjectedCost) -> Self {
        let bound = bound(run);
        // The plan's tight ε and odds belong to the run, even if settings change after its start.
        let plan = StoredValue::new(None::<Plan>);
        // The plan's ε at the first computed step that is not before this one, and its odds.
        let planned = move || {
            let number = run.info.with(|info| info.as_ref().map(|info| info.run))?;
            let (tight, odds) = (cost.tight.get(), cost.odds.get());
            if !tight.is_empty() && cost.is_of_run(run) {
                plan.set_value(Some(Plan { run: number, tight, odds }));
            }
            let steps = spending.planned_steps()? as f64;
            plan.with_value(|plan| {
                let Plan { tight, odds, .. } = plan.as_ref().filter(|plan| plan.run == number)?;
                tight.iter().find(|point| point.0 >= steps).map(|point| (point.1, *odds))
            })
        };
        // Releases are not taken back, so a smaller number than before is shown only once the run
        // is paused and the accountant has answered.
        let shown = move |before: Option<&Option<OfRun>>, now: f64, provisional: bool| {
            let number = run.info.with(|info| info.as_ref().map(|info| info.run))?;
            Some(match before.copied().flatten() {
                Some(before)
                    if before.run == number
                        && !before.provisional
                        && before.number > now
                        && (run.playing.get() || run.is_moving() || !spending.is_answered()) =>
                {
                    before
                }
                _ => OfRun { run: number, number: now, provisional },
            })
        };
        let epsilon = Memo::new(move |before: Option<&Option<OfRun>>| {
            let renyi = run.report.with(|report| match report.as_ref().map(|report| &report.privacy) {
                Some(Privacy::Bounded(bound)) => Some(bound.improved.epsilon),
                _ => None,
            })?;
            let tight = [spending.tight(), planned().map(|(epsilon, _)| epsilon)];
            let provisional = cost.pending.get() && tight == [None, None];
            shown(before, tight.into_iter().flatten().fold(renyi, f64::min), provisional)
        });
        let attack = Memo::new(move |_| {
            let Some(Privacy::Bounded(bound)) = bound.get().filter(|_| !run.is_broken()) else { return None };
            // ε as displayed, rounded up, so that the curve changes only with the display.
            let point = (format::shown(epsilon.get()?.number), bound.delta);
            PrivacyCurve::new(spending.whole_curve().unwrap_or_default().into_iter().chain([point])).ok()
        });
        let found = Memo::new(move |before: Option<&Option<OfRun>>| {
            let odds = of_a_hundred(found_at_most(&attack.get()?));
            let planned = planned().and_then(|(_, odds)| odds);
            let provisional = cost.odds_pending.get() && planned.is_none() && spending.whole_curve().is_none();
            shown(before, planned.map_or(odds, |planned| planned.min(odds)).into(), provisional)
        });
        Self { settings, run, cost, bound, epsilon, attack, found }
    }

    /// Returns an upper bound on ε of the releases so far: the least of Rényi accounting, tight
    /// accounting and the run's plan. It does not fall while the run plays, unless provisional.
    #[must_use]
    pub fn epsilon(self) -> Option<f64> {
        self.epsilon.get().map(|shown| shown.number)
    }

    /// True if [`Guarantee::epsilon`] may fall once the plan is priced. Until then it is not shown.
    #[must_use]
    pub fn is_provisional(self) -> bool {
        self.epsilon.get().is_some_and(|shown| shown.provisional)
    }

    /// Returns the odds given the releases so far or, before the first step, all planned ones.
    /// Never [`Odds::Recorded`].
    #[must_use]
    pub fn odds(self) -> Odds {
        // The ledger of a run with an injected bug bounds nothing.
        if self.run.is_broken() || self.settings.with(Settings::no_guarantee).is_some() {
            return Odds::Unbounded;
        }
        match self.run.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0)) {
            true => match self.found.get() {
                Some(found) if found.provisional => Odds::Unknown,
                Some(found) => Odds::Released(found.number as u32),
                None => Odds::Unbounded,
            },
            false => self.cost.odds_of_now().map_or(Odds::Unknown, Odds::Planned),
        }
    }
}

/// Makes [`Guarantee::bound`].
fn bound(run: Run) -> Memo<Option<Privacy>> {
    Memo::new_with_compare(
        move |_| {
            run.report
                .with(|report| report.as_ref().filter(|report| report.step > 0).map(|report| report.privacy.clone()))
        },
        |old, new| {
            let shown = |privacy: Option<&Option<Privacy>>| match privacy {
                Some(Some(Privacy::Bounded(bound))) => {
                    let [improved, classic] = [bound.improved, bound.classic].map(|one| format::epsilon(one.epsilon));
                    Some(Ok((improved, classic, bound.assumptions.clone())))
                }
                Some(Some(Privacy::NoGuarantee { reason })) => Some(Err(reason.clone())),
                _ => None,
            };
            shown(old) != shown(new)
        },
    )
}
