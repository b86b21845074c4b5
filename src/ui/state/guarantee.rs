//! What the run that stands guarantees, as every panel shows it: one ε, one curve, one number of odds.

use leptos::prelude::*;

use super::{projection::ProjectedCost, run::Run, spending::Spending};
use crate::{
    accounting::risk::PrivacyCurve,
    plot::{format, series::Point},
    train::{
        label::{found_at_most, of_a_hundred},
        report::Privacy,
    },
    ui::settings::Settings,
};

/// What an attacker finds at most, of a hundred members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odds {
    /// By what was released so far.
    Released(u32),
    /// Once the planned steps are released.
    Planned(u32),
    /// By the recorded run, before it is known what the planned one will cost: the digits may be others, or fewer.
    Recorded(u32),
    /// Nothing bounds what is found.
    Unbounded,
    /// Not yet computed.
    Unknown,
}

impl Odds {
    /// The number, where there is one: all, where nothing is bounded.
    #[must_use]
    pub const fn of_a_hundred(self) -> Option<u32> {
        match self {
            Self::Released(found) | Self::Planned(found) | Self::Recorded(found) => Some(found),
            Self::Unbounded => Some(100),
            Self::Unknown => None,
        }
    }
}

/// A number of a run: what was shown before holds for that run alone.
#[derive(Clone, Copy, PartialEq)]
struct OfRun {
    run: u32,
    number: f64,
    /// Whether a smaller one is on its way, as the plan is not priced yet: it holds, and is not shown.
    provisional: bool,
}

/// What the planned steps of a run cost.
struct Plan {
    run: u32,
    /// ε by step.
    tight: Vec<Point>,
    odds: Option<u32>,
}

/// The guarantee. Copied freely.
#[derive(Clone, Copy)]
pub struct Guarantee {
    settings: RwSignal<Settings>,
    run: Run,
    cost: ProjectedCost,
    /// By Rényi accounting, once there is a step that it is about: it changes when the third digit of a conversion or an assumption does.
    pub bound: Memo<Option<Privacy>>,
    epsilon: Memo<Option<OfRun>>,
    /// What any attacker can do at most.
    pub attack: Memo<Option<PrivacyCurve>>,
    found: Memo<Option<OfRun>>,
}

impl Guarantee {
    /// Of the run that stands.
    pub fn new(settings: RwSignal<Settings>, run: Run, spending: Spending, cost: ProjectedCost) -> Self {
        let bound = bound(run);
        // Tight ε of the plan, and its odds: of the run, whatever is set after it was begun.
        let plan = StoredValue::new(None::<Plan>);
        // At the next step that it was computed for.
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
        // Not less than was shown before, until the run stands still and the accountant has answered: what was released is not taken back.
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
            // What is shown is rounded up, and holds until something else is shown.
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

    /// ε of what was released: the least bound that holds. It does not fall while the run plays, and is never above the plan that the run follows.
    #[must_use]
    pub fn epsilon(self) -> Option<f64> {
        self.epsilon.get().map(|shown| shown.number)
    }

    /// Whether [`Guarantee::epsilon`] is about to fall, as the plan is not priced yet: then no number is shown.
    #[must_use]
    pub fn is_provisional(self) -> bool {
        self.epsilon.get().is_some_and(|shown| shown.provisional)
    }

    /// [`Guarantee::attack`] in one number; of the recorded run nothing is known here.
    #[must_use]
    pub fn odds(self) -> Odds {
        // Of a run that breaks its promise, what is claimed bounds nothing.
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
