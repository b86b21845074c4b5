//! The statements of a label.

use crate::{
    accounting::{
        PrivacyError,
        books::Books,
        gdp::{CUT_OFF, GaussianFit},
        ledger::{Event, Ledger, Release},
        report::{Account, assumptions},
        risk::{AttackBound, PrivacyCurve},
    },
    config::Start,
    data::TestSet,
    engine::Backend,
    projection,
    report::{OrderedEpsilon, Privacy},
    run_file::RunCard,
};

/// Of a hundred outsiders, those whom the attacker may wrongly accuse.
pub const ACCUSED: u32 = 5;

/// What a label is about, besides what was released.
#[derive(Clone, Copy, Debug, Default)]
pub struct Subject<'a> {
    /// The run; `None` for a ledger alone.
    pub card: Option<&'a RunCard>,
    /// The joint cost of all runs on the same data, as a sentence; empty if unknown.
    pub together: &'a str,
}

/// Upper bounds on the privacy loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// ε by tight accounting, and how it was found.
    pub tight: Option<(f64, String)>,
    /// ε by Rényi accounting: the improved conversion, and the classic one.
    pub improved: OrderedEpsilon,
    pub classic: OrderedEpsilon,
    /// μ of Gaussian differential privacy, if tight accounting has one.
    pub gaussian: Option<GaussianFit>,
    /// Most members accused of a hundred, by attackers who accuse five of a hundred others.
    pub found: u32,
}

impl Bounds {
    /// Returns the smallest ε.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.tight.as_ref().map_or(self.improved.epsilon, |(tight, _)| tight.min(self.improved.epsilon))
    }
}

/// The steps that a label's bounds count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepsCounted {
    /// All planned steps: holds whenever the training stopped. `ran` steps cost ε `so_far`.
    Planned { ran: u64, so_far: f64 },
    /// The steps that ran: it is not known that exactly these were planned.
    Ran,
}

/// The label of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct PrivacyLabel {
    pub name: String,
    /// Names and values that describe the training.
    pub about: Vec<(&'static str, String)>,
    pub delta: f64,
    /// Noisy sums that [`PrivacyLabel::bounds`] count.
    pub releases: u64,
    pub counted: StepsCounted,
    pub unit: String,
    pub neighbours: String,
    pub sampling: String,
    /// The bounds, or why there is no guarantee.
    pub bounds: Result<Bounds, String>,
    /// The assumptions, a phrase each.
    pub assumptions: Vec<String>,
    /// The cost of searching for the settings, and of other runs.
    pub tuning: String,
    /// What no number here covers, a sentence each.
    pub uncovered: Vec<String>,
}

impl PrivacyLabel {
    /// Returns the label of `books` at `delta`, including the remaining planned steps if the run
    /// follows its plan. Without books it states no guarantee.
    ///
    /// # Errors
    /// Any refusal of the accountant other than that there is no bound.
    pub fn new(books: Option<&Books>, delta: f64, subject: Subject) -> Result<Self, PrivacyError> {
        let plan = books.zip(subject.card).and_then(|(books, card)| planned(books, card));
        let counted = match (books, &plan) {
            (Some(ran), Some(_)) => {
                let so_far = bounds(ran, delta)?.map_or(f64::INFINITY, |bounds| bounds.epsilon());
                StepsCounted::Planned { ran: ran.ledger().steps(), so_far }
            }
            _ => StepsCounted::Ran,
        };
        let books = plan.as_ref().or(books);
        let ledger = books.map(Books::ledger);
        let refused = subject.card.and_then(|card| match &card.report.privacy {
            Privacy::NoGuarantee { reason } => Some(reason.to_string()),
            Privacy::Bounded(_) => None,
        });
        let bounds = match (books, refused) {
            (Some(books), None) => bounds(books, delta)?,
            (_, Some(reason)) => Err(reason),
            (None, None) => Err("nothing tells what was released".to_owned()),
        };
        let happened = ledger.map(happened).unwrap_or_default();
        let each = |say: fn(&Release) -> String| -> String {
            let mut said: Vec<String> = vec![];
            for phrase in happened.iter().map(|release| say(release)) {
                if !said.contains(&phrase) {
                    said.push(phrase);
                }
            }
            if said.is_empty() { "nothing was released".to_owned() } else { said.join("; ") }
        };
        Ok(Self {
            name: subject.card.map_or_else(|| "A training".to_owned(), |card| card.name.clone()),
            about: subject.card.map(about).unwrap_or_default(),
            delta,
            releases: ledger.map_or(0, Ledger::steps),
            counted,
            unit: each(|release| release.unit.to_string()),
            neighbours: each(|release| release.neighbours().to_string()),
            sampling: each(|release| release.sampling.to_string()),
            bounds,
            assumptions: ledger.map(assumptions).unwrap_or_default().iter().map(ToString::to_string).collect(),
            tuning: tuning(subject.together),
            uncovered: uncovered(subject.card),
        })
    }
}

/// Returns the books of all planned steps, if what ran is their beginning.
fn planned(ran: &Books, card: &RunCard) -> Option<Books> {
    let plan = projection::planned(&card.config, card.train, card.config.steps?).ok()?;
    let (whole, ran) = (plan.ledger(), ran.ledger());
    let begins = whole.releases().starts_with(ran.releases())
        && Event::followed(&[], whole.events(), ran.steps()) == ran.events();
    begins.then_some(plan)
}

/// Returns the releases of a ledger that happened.
fn happened(ledger: &Ledger) -> Vec<&Release> {
    let of = |event: &Event| ledger.releases().get(event.release as usize);
    ledger.events().iter().filter_map(of).collect()
}

/// Returns the bounds, or why there are none.
fn bounds(books: &Books, delta: f64) -> Result<Result<Bounds, String>, PrivacyError> {
    let account = match books.account(delta) {
        Ok(account) => account,
        Err(error) if is_no_bound(&error) => return Ok(Err(error.to_string())),
        Err(error) => return Err(error),
    };
    let found = found(books, &account, delta)?;
    let Account { classic, improved, tight, .. } = account;
    let gaussian = match tight {
        Some(_) => books.gaussian(CUT_OFF)?,
        None => None,
    };
    let tight = tight.map(|tight| (tight.value, tight.in_words()));
    Ok(Ok(Bounds { tight, improved, classic, gaussian, found }))
}

/// True if the error says that there is no bound, not that the books are wrong.
const fn is_no_bound(error: &PrivacyError) -> bool {
    matches!(error, PrivacyError::Infinite | PrivacyError::Inexact | PrivacyError::NoNoise | PrivacyError::NoBound)
}

/// Returns [`found_at_most`] of a hundred, by everything the books allow.
///
/// # Errors
/// What the accountant refuses.
fn found(books: &Books, account: &Account, delta: f64) -> Result<u32, PrivacyError> {
    let mut points = vec![(account.improved.epsilon, delta)];
    if let Some(tight) = account.tight {
        points.extend(books.curve_about(tight.value, delta)?);
    }
    // An accountant's points always make a curve.
    Ok(PrivacyCurve::new(points).map_or(100, |curve| of_a_hundred(found_at_most(&curve))))
}

/// Returns the largest share of members found by tests that accuse [`ACCUSED`] of 100 others.
pub fn found_at_most(bound: &impl AttackBound) -> f64 {
    bound.best_true_positive_rate(f64::from(ACCUSED) / 100.0)
}

/// Returns [`found_at_most`] of a hundred for these books, as their label states it, and their ε;
/// 100 and +∞ if nothing bounds them.
///
/// # Errors
/// What the accountant refuses.
pub fn odds(books: &Books, delta: f64) -> Result<(u32, f64), PrivacyError> {
    match books.account(delta) {
        Ok(account) => {
            Ok((found(books, &account, delta)?, account.tight.map_or(account.improved.epsilon, |tight| tight.value)))
        }
        Err(error) if is_no_bound(&error) => Ok((100, f64::INFINITY)),
        Err(error) => Err(error),
    }
}

/// Returns a share as people of a hundred, rounded up; 100 for NaN.
#[must_use]
pub fn of_a_hundred(share: f64) -> u32 {
    if share.is_nan() { 100 } else { (share * 100.0).ceil().clamp(0.0, 100.0) as u32 }
}

fn about(card: &RunCard) -> Vec<(&'static str, String)> {
    let config = &card.config;
    let audited = match config.canaries {
        0 => String::new(),
        canaries => format!(", trained with {canaries} canaries of an audit"),
    };
    let accuracy = card.accuracy.map(|share| format!("{:.1} % of {} test images{audited}", 100.0 * share, card.test));
    let engine = match card.engine.backend {
        Backend::Cpu => "CPU",
        Backend::Gpu => "graphics card",
    };
    let start = match config.start {
        Start::Random => "random parameters",
        Start::Pretrained => "parameters pre-trained on digits that the program draws, which are nobody's",
    };
    let mut about = vec![
        ("Data", format!("{}, {} training examples", card.data, card.train)),
        ("Model", format!("{}, {} parameters, from {start}", config.model, config.model.parameters())),
        ("Steps", card.report.step.to_string()),
        ("Trained on", format!("{engine}, {}", card.engine.device)),
    ];
    if config.canaries > 0 {
        let canaries = "public records with gradients that were made up, among those that lots were drawn from, each in or out by a coin";
        about.push(("Audit", format!("{} canaries: {canaries}", config.canaries)));
    }
    about.extend(accuracy.map(|accuracy| ("Test accuracy", accuracy)));
    about
}

fn tuning(together: &str) -> String {
    if together.is_empty() {
        "Counted here is this training alone. Whatever else was run on the same data, to choose settings or for any other purpose, adds to it for whoever sees it."
            .to_owned()
    } else {
        format!(
            "{together} Settings that were chosen by what those runs showed are paid for by that sum, and not by this training's ε alone."
        )
    }
}

fn uncovered(card: Option<&RunCard>) -> Vec<String> {
    let mut all = vec![
        "Several examples of one person: the guarantee is of one protected unit, and whoever has more of them in the data has more at stake.".to_owned(),
        "Settings that were chosen by looking at the data, but for the runs that are counted above.".to_owned(),
        "What is learnt about everybody: a model may tell something of a person who is not in the data at all.".to_owned(),
        "The device: its times, its memory, whoever watches it, and a source of randomness that somebody can predict.".to_owned(),
    ];
    if let Some(card) = card {
        all.push(match card.report.test_set {
            Some(TestSet::Public) => {
                "Test accuracy: it is of public images, and tells nothing of the training data but through the model."
                    .to_owned()
            }
            Some(TestSet::Visitor | TestSet::HeldOut) => {
                "Test accuracy: it is of private images, and no ε here covers what it tells of them.".to_owned()
            }
            None => "Test accuracy: whether its images are public is not recorded.".to_owned(),
        });
        all.push("Teaching views: sums before the noise, single gradients, sizes of drawn lots, exact times. They are for the screen of who trains, and no file has them.".to_owned());
    }
    all
}
