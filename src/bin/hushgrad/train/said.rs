//! Output of a run, as text and as JSON.

use std::{
    error::Error,
    io::{self, Write as _},
};

use hushgrad::{
    accounting::{books::account, decimal::upper, pld::Tight, report::Account},
    data::TestSet,
    engine::AnyEngine,
    train::{
        books::{AllRuns, Budget, Cost},
        plan::Plan,
        report::{Privacy, ReleasedMetrics, Report},
        session::Session,
    },
};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::out::is_read;

/// Writes a line to standard error. Errors, as from a closed terminal, must not end the run.
pub fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Formats a count of a noun with a regular plural.
pub fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The cost of all planned steps: the smallest bound.
#[derive(Clone, Copy, Serialize)]
pub struct Promise {
    steps: u64,
    epsilon: f64,
}

impl Promise {
    /// For a run that ends after `steps` steps in all; `None` without a bound.
    pub fn of(session: &Session<AnyEngine>, steps: u64) -> Option<Self> {
        let ledger = session.ledger_ahead(steps.saturating_sub(session.step_count()))?;
        let Account { improved, tight, .. } = account(&ledger, session.plan().config.delta).ok()?;
        Some(Self { steps, epsilon: tight.map_or(improved.epsilon, |tight| tight.value) })
    }

    /// As text; empty if all planned steps ran.
    pub fn in_words(self, ran: u64) -> String {
        match self.steps {
            steps if steps <= ran => String::new(),
            steps => format!(
                "; all {steps} planned steps cost ε ≤ {}, which holds whenever the run stops",
                upper(self.epsilon, 4)
            ),
        }
    }
}

/// A report as `--json` writes it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Line<'a> {
    #[serde(flatten)]
    bounds: &'a Bounds,
    #[serde(flatten)]
    report: &'a Report,
    /// If the test images are private.
    #[serde(skip_serializing_if = "Option::is_none")]
    caution: Option<&'static str>,
    /// Number of an auditor's canaries, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    canaries: Option<u32>,
    /// If the digits were drawn because there is no MNIST.
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback: Option<&'static str>,
}

/// Bounds on a run, besides its report.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Bounds {
    /// ε of all planned steps, valid whenever the run stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<Promise>,
    /// Of the steps that ran, if tight accounting applies and was computed for this report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tight: Option<Tight>,
    /// At the end, if books are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_runs: Option<AllRuns>,
}

impl Bounds {
    /// The smallest known ε, in short. The plan's is never below that of the steps that ran.
    fn spent(&self, privacy: &Privacy) -> String {
        let Privacy::Bounded(bound) = privacy else { return spent(privacy) };
        let renyi = bound.improved.epsilon;
        let others = self.tight.map(|tight| tight.value).into_iter().chain(self.planned.map(|planned| planned.epsilon));
        let [least, renyi] = [others.fold(renyi, f64::min), renyi].map(|epsilon| upper(epsilon, 4));
        format!("ε ≤ {least} (Rényi {renyi}) at δ = {:e}", bound.delta)
    }
}

/// Writes a report as a line of JSON or text. Returns false if the reader has closed its pipe.
///
/// # Errors
/// If JSON cannot be written to standard output, other than to a closed pipe.
pub fn announce(
    json: bool,
    bar: &ProgressBar,
    report: &Report,
    plan: &Plan,
    bounds: &Bounds,
    fallback: Option<&'static str>,
) -> Result<bool, Box<dyn Error>> {
    let caution = report.test_set.and_then(TestSet::caution);
    let canaries = Some(plan.config.canaries).filter(|canaries| *canaries > 0);
    if json {
        return is_read(&serde_json::to_string(&Line { bounds, report, caution, canaries, fallback })?);
    }
    // Of the expected lot, because the actual number of examples is private.
    let speed = f64::from(plan.task.expected_lot) * report.step as f64 / report.training_seconds.max(1e-6);
    let line = format!(
        "step {:>6}  epoch {:>6.2}  accuracy{}{} {:>6.2} %  {}  {speed:.0} examples/s",
        report.step,
        report.epoch,
        if caution.is_some() { " (not covered by ε)" } else { "" },
        canaries.map_or_else(String::new, |canaries| format!(" (with {canaries} canaries)")),
        100.0 * report.test_accuracy.unwrap_or(f64::NAN),
        bounds.spent(&report.privacy),
    );
    if bar.is_hidden() {
        tell(&line)
    } else {
        bar.println(line)
    }
    Ok(true)
}

/// ε, in short.
pub fn spent(privacy: &Privacy) -> String {
    match privacy {
        Privacy::Bounded(bound) => {
            let [improved, classic] = [bound.improved, bound.classic].map(|bound| upper(bound.epsilon, 4));
            format!("ε ≤ {improved} (classic {classic}) at δ = {:e}", bound.delta)
        }
        Privacy::NoGuarantee { .. } => "no privacy guarantee".to_owned(),
    }
}

/// States the cost of all runs on these digits.
pub fn together(AllRuns { runs, planned, cost, budget }: &AllRuns) -> String {
    let in_words = |cost: &Cost| match cost {
        Cost::Bounded { epsilon, delta, neighbours } => {
            format!("ε ≤ {} at δ = {delta:e} ({neighbours})", upper(*epsilon, 4))
        }
        Cost::NoGuarantee { reason } => format!("no privacy guarantee: {reason}"),
    };
    let kept = budget.map_or_else(String::new, |Budget { epsilon, delta, spent }| {
        format!(
            "; within their budget of ε ≤ {} at δ = {delta:e}, which holds whatever was chosen on the way: {:.0} % is spent",
            upper(epsilon, 4),
            (100.0 * spent).ceil()
        )
    });
    let said = match planned {
        Some(planned) if planned != cost => format!(
            "all runs on these digits ({runs}): {} with all their planned steps, which holds whenever they stop; {} for the steps that ran",
            in_words(planned),
            in_words(cost),
        ),
        _ => format!("all runs on these digits ({runs}): {}", in_words(cost)),
    };
    said + &kept
}

/// Prints the final summary.
pub fn explain(report: &Report, session: &Session<AnyEngine>) {
    tell(&format!("{:.1} s of training, {} of {} steps", report.training_seconds, report.step, session.step_count()));
    match &report.privacy {
        Privacy::Bounded(bound) => {
            match session.account() {
                Some(Ok(Account { tight: Some(tight), delta, .. })) => {
                    tell(&format!("ε ≤ {} at δ = {delta:e}, {}", upper(tight.value, 4), tight.in_words()));
                }
                // Rényi accounting, printed below, is all that is known.
                None | Some(Ok(_)) => {}
                Some(Err(error)) => tell(&format!("no tight accounting: {error}")),
            }
            tell(&format!(
                "Rényi accounting: {}; orders {} and {}",
                spent(&report.privacy),
                bound.improved.order,
                bound.classic.order
            ));
            for assumption in &bound.assumptions {
                tell(&format!("  · {assumption}"));
            }
        }
        Privacy::NoGuarantee { reason } => tell(&format!("no privacy guarantee: {reason}")),
    }
    if let Some(caution) = report.test_set.and_then(TestSet::caution) {
        tell(caution);
    }
    let ReleasedMetrics { clip, answers } = report.counted;
    if let Some(answers) = answers.filter(|answers| answers.steps > 0) {
        let shares: Vec<String> = answers.digits.iter().map(|share| format!("{:.1}", 100.0 * share)).collect();
        tell(&format!(
            "accuracy on the training digits, released with the steps and counted in ε: {:.1} ± {:.1} %; shares of digits 0 to 9: {} % (each ± {:.1} from its noise)",
            100.0 * answers.accuracy,
            100.0 * answers.error(),
            shares.join(", "),
            100.0 * answers.noise.sqrt()
        ));
    }
    if let Some(clip) = clip {
        tell(&format!("the adaptive clip, which is public, is now {clip:.4}"));
    }
    let non_finite = session.teaching().non_finite;
    if non_finite > 0 {
        tell(&format!(
            "{non_finite} examples had a gradient that was not finite; each contributed zero (teaching view: the number depends on private data, and \
             ε does not cover publishing it)"
        ));
    }
}
