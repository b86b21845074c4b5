//! The guarantee of the current run, as every panel shows it: one ε, one curve, one number of odds.

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

/// How many of a hundred members an attacker finds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odds {
    /// Given the releases so far.
    Released(u32),
    /// Given all planned releases.
    Planned(u32),
    /// Of the recorded run, until the planned one is priced: the digits may be others, or fewer.
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

/// A number of a run; earlier values hold for that run only.
#[derive(Clone, Copy, PartialEq)]
struct OfRun {
    run: u32,
    number: f64,
    /// Whether a smaller number will follow once the plan is priced: this one holds, but is not
    /// shown.
    provisional: bool,
}

/// The cost of a run's planned steps.
struct Plan {
    run: u32,
    /// ε by step.
    tight: Vec<Point>,
    odds: Option<u32>,
}

#[derive(Clone, Copy)]
pub struct Guarantee {
    settings: RwSignal<Settings>,
    run: Run,
    cost: ProjectedCost,
    /// By Rényi accounting, if a step was taken. Notifies if the third digit of a conversion or an
    /// assumption changes.
    pub bound: Memo<Option<Privacy>>,
    epsilon: Memo<Option<OfRun>>,
    /// Bound on any attacker.
    pub attack: Memo<Option<PrivacyCurve>>,
    found: Memo<Option<OfRun>>,
}

impl Guarantee {
    /// Creates the guarantee of the current run.
    pub fn new(settings: RwSignal<Settings>, run: Run, spending: LiveEpsilon, cost: ProjectedCost) -> Self {
        let bound = bound(run);
        // The plan's tight ε and odds belong to the run, even if settings change after its start.
        let plan = StoredValue::new(None::<Plan>);
        // Look it up at the next step for which it was computed.
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
        // Do not show less than before until the run is paused and the accountant has answered:
        // releases are not taken back.
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
            // The number shown is rounded up, and holds while it is shown.
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

    /// Returns ε of the releases so far: the least bound that holds. It does not fall while the run
    /// plays, and never exceeds the plan that the run follows.
    #[must_use]
    pub fn epsilon(self) -> Option<f64> {
        self.epsilon.get().map(|shown| shown.number)
    }

    /// True if [`Guarantee::epsilon`] will fall once the plan is priced; until then no number is
    /// shown.
    #[must_use]
    pub fn is_provisional(self) -> bool {
        self.epsilon.get().is_some_and(|shown| shown.provisional)
    }

    /// Returns [`Guarantee::attack`] as one number, ignoring the recorded run.
    #[must_use]
    pub fn odds(self) -> Odds {
        // The claims of a run that breaks its promise bound nothing.
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
