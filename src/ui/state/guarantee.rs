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

/// A number of a run, and which run: what was shown before holds for that run alone.
type OfRun = Memo<Option<(u32, f64)>>;

/// The guarantee. Copied freely.
#[derive(Clone, Copy)]
pub struct Guarantee {
    settings: RwSignal<Settings>,
    run: Run,
    cost: ProjectedCost,
    /// By Rényi accounting, once there is a step that it is about: it changes when the third digit of a conversion or an assumption does.
    pub bound: Memo<Option<Privacy>>,
    epsilon: OfRun,
    /// What any attacker can do at most.
    pub attack: Memo<Option<PrivacyCurve>>,
    found: OfRun,
}

impl Guarantee {
    /// Of the run that stands.
    pub fn new(settings: RwSignal<Settings>, run: Run, spending: Spending, cost: ProjectedCost) -> Self {
        let bound = bound(run);
        // Tight ε of the plan, at the next step that it was computed for, and its odds.
        let planned = move || {
            let steps = spending.planned_steps()?;
            let next = |points: &Vec<Point>| points.iter().find(|point| point.0 >= steps as f64).map(|point| point.1);
            Some((cost.tight.with(next).filter(|_| cost.is_of_run(run))?, cost.odds.get()))
        };
        // Not less than was shown before, until the run stands still and the accountant has answered: what was released is not taken back.
        let shown = move |before: Option<&Option<(u32, f64)>>, now: f64| {
            let number = run.info.with(|info| info.as_ref().map(|info| info.run))?;
            Some(match before.copied().flatten() {
                Some((same, shown))
                    if same == number
                        && shown > now
                        && (run.playing.get() || run.is_moving() || !spending.is_answered()) =>
                {
                    (number, shown)
                }
                _ => (number, now),
            })
        };
        let epsilon = Memo::new(move |before: Option<&Option<(u32, f64)>>| {
            let renyi = run.report.with(|report| match report.as_ref().map(|report| &report.privacy) {
                Some(Privacy::Bounded(bound)) => Some(bound.improved.epsilon),
                _ => None,
            })?;
            let least = [spending.tight(), planned().map(|(epsilon, _)| epsilon)].into_iter().flatten();
            shown(before, least.fold(renyi, f64::min))
        });
        let attack = Memo::new(move |_| {
            let Some(Privacy::Bounded(bound)) = bound.get().filter(|_| !run.is_broken()) else { return None };
            // What is shown is rounded up, and holds until something else is shown.
            let point = (format::shown(epsilon.get()?.1), bound.delta);
            PrivacyCurve::new(spending.whole_curve().unwrap_or_default().into_iter().chain([point])).ok()
        });
        let found = Memo::new(move |before: Option<&Option<(u32, f64)>>| {
            let odds = of_a_hundred(found_at_most(&attack.get()?));
            let planned = planned().and_then(|(_, odds)| odds);
            shown(before, planned.map_or(odds, |planned| planned.min(odds)).into())
        });
        Self { settings, run, cost, bound, epsilon, attack, found }
    }

    /// ε of what was released: the least bound that holds. It does not fall while the run plays, and is never above the plan that the run follows.
    #[must_use]
    pub fn epsilon(self) -> Option<f64> {
        self.epsilon.get().map(|(_, epsilon)| epsilon)
    }

    /// [`Guarantee::attack`] in one number; of the recorded run nothing is known here.
    #[must_use]
    pub fn odds(self) -> Odds {
        // Of a run that breaks its promise, what is claimed bounds nothing.
        if self.run.is_broken() || self.settings.with(Settings::no_guarantee).is_some() {
            return Odds::Unbounded;
        }
        match self.run.report.with(|report| report.as_ref().is_some_and(|report| report.step > 0)) {
            true => self.found.get().map_or(Odds::Unbounded, |(_, found)| Odds::Released(found as u32)),
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
