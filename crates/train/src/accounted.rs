//! Accounts for run files anew: computes ε, its curves and all that follows from step counts from
//! the file's ledger, and checks a stated ε against it. The ledger itself is its author's word: it
//! is only checked that the configuration can have led to it.

use std::collections::BTreeMap;

use super::{
    config::RunConfig,
    phases::shares,
    price::{self, PricedPhase},
    projection::Point,
    report::Privacy,
    run_card::{RunCard, RunFileError},
};
use crate::{
    accounting::{
        PrivacyError,
        books::Books,
        ledger::{Event, Ledger, Release},
        rdp::Epsilon,
        sampling::Sampling,
    },
    data::{idx::MAX_EXAMPLES, name::kept, sharing::Sharing},
};
use hushgrad_message::{Message, ToMessage, message, word};

/// Largest relative difference between a stated ε and the ledger's.
const TOLERANCE: f64 = 1e-6;
/// Most events of a ledger. Releases change only between phases and when a run's data change.
const MOST_EVENTS: usize = 256;
/// Most recomputed points of the ε curves, times kinds of release. Takes about a second where wide
/// noise makes large orders best. Longer curves keep every second point only, or fewer.
const MOST_WORK: usize = 512;

/// Recomputes the run's report and curves from its ledger. Without a stated guarantee the run has
/// none afterwards: a ledger that would give one is dropped.
///
/// # Errors
/// With the file's `name`: a configuration that cannot be run, an ε without a ledger or unlike the
/// ledger's, or a ledger that the configuration cannot have led to.
pub(super) fn account(name: &str, run: &mut RunCard, ledger: &mut Option<Ledger>) -> Result<(), RunFileError> {
    let RunCard { config, train, report, .. } = run;
    let impossible = |field, value: Message| RunFileError::Impossible { name: name.to_owned(), field, value };
    let priced = price::of(config, *train)
        .map_err(|error| RunFileError::NoPlan { name: name.to_owned(), reason: error.to_message() })?;
    report.epoch = config.epochs(*train, report.step);
    report.complete = config.steps.is_some_and(|steps| report.step >= steps);
    let Some(written) = ledger.take() else {
        if matches!(report.privacy, Privacy::Bounded(_)) {
            return Err(RunFileError::Unaccounted { name: name.to_owned() });
        }
        unclaimed(run, priced.err().map(|reason| reason.to_message()));
        return Ok(());
    };
    let Ok(phases) = priced else { return Err(impossible("ledger", ANOTHER.into())) };
    written.validate().map_err(|error| impossible("ledger", message!("invalid ({error})")))?;
    if written.steps() < report.step {
        let value = message!("for {} steps, while the run took {}", written.steps(), report.step);
        return Err(impossible("ledger", value));
    }
    let own = own_ledger(&written, &phases, run).ok_or_else(|| impossible("ledger", ANOTHER.into()))?;
    let RunCard { config, report, .. } = run;
    let fail = |error: PrivacyError| impossible("ledger", message!("invalid ({error})"));
    let known: Vec<_> = phases.iter().map(|phase| (&phase.release, &phase.curve)).collect();
    let books = Books::of_priced(own.clone(), &known).map_err(fail)?;
    let accounted = Privacy::of(config.delta, books.renyi(config.delta), &own).map_err(fail)?;
    match (&report.privacy, &accounted) {
        (Privacy::NoGuarantee { .. }, Privacy::Bounded(_)) => {
            unclaimed(run, None);
            return Ok(());
        }
        (Privacy::Bounded(stated), _) => {
            let now = if let Privacy::Bounded(now) = &accounted { now.improved.epsilon } else { f64::INFINITY };
            let stated = stated.improved.epsilon;
            // Written so that NaN does not agree.
            let agree = now.is_finite() && (stated - now).abs() <= TOLERANCE * now;
            if !agree {
                return Err(RunFileError::Differs { name: name.to_owned(), stated, accounted: now });
            }
        }
        (Privacy::NoGuarantee { .. }, Privacy::NoGuarantee { .. }) => {}
    }
    let bounded = matches!(accounted, Privacy::Bounded(_));
    report.privacy = accounted;
    if bounded {
        let beyond = own.steps() - report.step;
        let most = (MOST_WORK / own.releases().len().max(1)).max(2);
        // The two curves mostly share their steps; compute each ε once.
        let mut known: BTreeMap<u64, Option<Epsilon>> = BTreeMap::new();
        let mut spent = |step: f64| {
            // Surplus releases (of an abandoned epoch, say) may precede any point of the curve.
            let count = (step.ceil() as u64).saturating_add(beyond).min(own.steps());
            *known.entry(count).or_insert_with(|| books.after(count).ok()?.renyi(config.delta).ok())
        };
        run.improved_curve = anew(&run.improved_curve, most, |step| Some(spent(step)?.improved.epsilon));
        run.classic_curve = anew(&run.classic_curve, most, |step| Some(spent(step)?.classic.epsilon));
    } else {
        (run.improved_curve, run.classic_curve) = (vec![], vec![]);
    }
    *ledger = Some(own);
    Ok(())
}

const ANOTHER: &str = word!("for another mechanism than in the settings");

/// Removes the ε curves of a run without a guarantee; states `reason`, else the file's own reason.
fn unclaimed(run: &mut RunCard, reason: Option<Message>) {
    (run.improved_curve, run.classic_curve) = (vec![], vec![]);
    if let Privacy::NoGuarantee { reason: stated } = &mut run.report.privacy {
        *stated = reason.unwrap_or_else(|| Message::text(kept(&stated.to_string(), 200)));
    }
}

/// Returns the same events with this program's own releases for the configuration's phases, so that
/// an envelope's bounds are computed and not read. `None` if a release fits the configuration on no
/// number of examples, if none is on the run's own number, or if a phase released less than it ran.
fn own_ledger(written: &Ledger, phases: &[PricedPhase], run: &RunCard) -> Option<Ledger> {
    let events = written.events();
    if events.len() > MOST_EVENTS || written.releases().len() > MOST_EVENTS {
        return None;
    }
    let mut own = Ledger::new();
    let mut ids = Vec::new();
    // Events that fit each phase's release; phases that are alike count the same events.
    let mut happened = vec![0u64; phases.len()];
    for (place, each) in written.releases().iter().enumerate() {
        let fits =
            |phase: &PricedPhase| alike(each, &phase.release) && on_other_digits(each.sampling, run, &phase.release);
        let phase = phases.iter().find(|phase| fits(phase))?;
        ids.push(own.register(Release { sampling: each.sampling, ..phase.release.clone() }).ok()?);
        let own_events = events.iter().filter(|event| event.release as usize == place);
        let count = own_events.fold(0u64, |sum, event| sum.saturating_add(event.count));
        for (_, happened) in phases.iter().zip(&mut happened).filter(|(phase, _)| fits(phase)) {
            *happened = happened.saturating_add(count);
        }
    }
    for Event { release, count } in events {
        own.record_many(*ids.get(*release as usize)?, *count);
    }
    let taken = shares(phases.iter().map(|phase| phase.steps), run.report.step);
    if happened.into_iter().zip(taken).any(|(happened, taken)| happened < taken) {
        return None;
    }
    let on_its_own = phases.iter().any(|phase| own.releases().contains(&phase.release));
    (events.is_empty() || on_its_own).then_some(own)
}

/// True if `sampling` is the run's policy with `own`'s lot on some possible number of examples.
fn on_other_digits(sampling: Sampling, run: &RunCard, own: &Release) -> bool {
    let Some(lot) = lot_of(own.sampling, run) else { return false };
    let canaries = run.config.canaries;
    let sampled = match sampling {
        // The rate depends on the number of users alone, so any number of examples fits.
        Sampling::Poisson { .. } if run.config.sharing.is_of_users() => run.train.checked_add(canaries),
        // The largest number that makes as many micro-batches.
        Sampling::Poisson { rate } => match run.config.sharing {
            Sharing::MicroBatches { size } => {
                let units = (run.config.sharing.lot(lot) / rate).round() as u32;
                units.checked_mul(size)
            }
            _ => Some((f64::from(lot) / rate).round() as u32),
        },
        Sampling::CyclicPoisson { rate, groups } => Some((groups as f64 * f64::from(lot) / rate).round() as u32),
        Sampling::FixedSize { population, .. } => u32::try_from(population).ok(),
        Sampling::Shuffled { batches } | Sampling::RandomAllocation { batches } => {
            u32::try_from(batches).ok().and_then(|batches| batches.checked_mul(lot))
        }
    };
    // The last batch of an epoch may be smaller.
    let most = MAX_EXAMPLES.saturating_add(lot);
    let policy = |examples| RunConfig { lot, ..run.config.clone() }.drawn_from(examples);
    // The units sampled from include the canaries.
    let examples = sampled.and_then(|sampled| sampled.checked_sub(canaries));
    examples.is_some_and(|examples| (lot..=most).contains(&examples) && policy(examples) == sampling)
}

/// Returns a phase's lot on the run's own data.
fn lot_of(sampling: Sampling, run: &RunCard) -> Option<u32> {
    match sampling {
        Sampling::Poisson { rate } => {
            let each = match run.config.sharing {
                Sharing::MicroBatches { size } => f64::from(size),
                Sharing::Alone | Sharing::Users { .. } | Sharing::UsersOfData { .. } => 1.0,
            };
            Some((rate * f64::from(run.config.units(run.train)) * each).round() as u32)
        }
        Sampling::FixedSize { size, .. } => u32::try_from(size).ok(),
        // All phases have the same lot.
        Sampling::Shuffled { .. } | Sampling::RandomAllocation { .. } | Sampling::CyclicPoisson { .. } => {
            Some(run.config.lot)
        }
    }
}

/// True if two releases agree in all but sampling and the envelope's sums, which are computed here.
fn alike(written: &Release, own: &Release) -> bool {
    use crate::accounting::ledger::Sensitivity::{Envelope, L2};
    let bound = match (&written.sensitivity, &own.sensitivity) {
        (L2 { norm }, L2 { norm: wanted }) => norm == wanted,
        (Envelope { profile }, Envelope { profile: wanted }) => {
            profile.len() == wanted.len() && profile.dimension() == wanted.dimension()
        }
        _ => false,
    };
    let rest = |release: &Release| {
        let Release { sampling: _, sensitivity: _, noise, unit, neighbours, grid, parts, hidden } = release.clone();
        (noise, unit, neighbours, grid, parts, hidden)
    };
    bound && rest(written) == rest(own)
}

/// Returns about `most` of the curve's steps, each with a new value.
fn anew(curve: &[Point], most: usize, mut value: impl FnMut(f64) -> Option<f64>) -> Vec<Point> {
    let every = curve.len().div_ceil(most).max(1);
    let last = curve.len().saturating_sub(1);
    let kept = curve.iter().enumerate().filter(|(index, _)| index % every == 0 || *index == last);
    kept.filter_map(|(_, point)| Some((point.0, value(point.0)?))).collect()
}
