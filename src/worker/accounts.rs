//! Questions to the accountant on prices, books and run files, each with an answer of the same
//! name.

use hushgrad_message::{Message, ToMessage};
use serde::{Deserialize, Serialize};

use super::{
    elsewhere::{self, Elsewhere, Price},
    games::{Games, Played},
    lab::{self, ComparisonQuery, NoiseComparison},
    opening_prices::{self, Prices},
    protocol::NetworkRequest,
    together::{self, Remembered},
};
use crate::{
    accounting::{
        PrivacyError,
        audit::{AuditError, Evidence, LowerBounds},
        books::{Books, of_one_example},
        gdp::{CUT_OFF, GaussianFit},
        ledger::{Event, Ledger},
        noise::CustomDensity,
        pld::{Method, Rigor, Tight},
        rdp::Concentrated,
        report::Account,
        risk::PrivacyCurve,
    },
    attack::{AttackError, roc::forbidden_above},
    train::{
        anneal::Planned,
        config::RunConfig,
        label::{self, PrivacyLabel, Subject},
        projection::{self, Point, Projection, SweepPrice},
        report::OrderedEpsilon,
        run_file::{RunCard, RunFile, RunFileError},
    },
};

/// Least noise, as a share of the claimed, in lower bounds: quick, and enough to refute a claim.
const LEAST_NOISE: f64 = 0.4;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// ε by step of `steps` steps on `train` examples.
    Projection { config: RunConfig, train: u32, steps: u64 },
    /// The least noise scale with which `steps` steps stay within ε `budget`.
    Scale { config: RunConfig, train: u32, steps: u64, budget: f64 },
    /// Tight ε after each of these numbers of steps.
    Tight { config: RunConfig, train: u32, steps: Vec<u64> },
    /// Most members of a hundred that an attacker finds after these steps, as in the page's odds.
    Odds { config: RunConfig, train: u32, steps: u64 },
    /// Sets the current run's ledger, from JSON. Later questions about `run` name its events.
    Ledger { run: u32, ledger: String },
    /// The cost of these events of the run, and after each of `ahead` more releases of `then`.
    Spent { run: u32, events: Vec<Event>, then: Vec<Event>, ahead: Vec<u64>, delta: f64 },
    /// The privacy curve of these events about their tight ε, and their μ.
    Curve { run: u32, events: Vec<Event>, delta: f64, epsilon: f64 },
    /// Lower bounds on ε from an auditor's evidence on these events; `whole`: all bounds, which
    /// takes longer. A run without a ledger (`None`) has bounds from guesses alone.
    Audit { run: u32, events: Option<Vec<Event>>, delta: f64, evidence: Box<Evidence>, whole: bool },
    /// The cost of these runs if all are seen, and if only the best is.
    Sweep { runs: Vec<(RunConfig, u64)>, train: u32 },
    /// The privacy label of this card's run; `together`: a sentence on all runs on these digits.
    Label { run: u32, events: Option<Vec<Event>>, card: Box<RunCard>, together: String, format: label::Format },
    /// The joint cost of all of these runs to one example.
    Together(Remembered),
    /// Bounds on attacks on a run of this configuration on `train` examples, at its end.
    Allowed { config: RunConfig, train: u32 },
    /// The next piece of the game among so many candidates; restarts when the question changes.
    Game { config: RunConfig, train: u32, candidates: u32 },
    /// A noise at the scale that spends a given ε.
    Compare(ComparisonQuery),
    /// A density by the visitor's formula.
    Density(String),
    /// [`Planned::stairs`](crate::train::anneal::Planned::stairs) of a run's phases.
    NoiseOverRun(RunConfig),
    /// A run file's name and bytes, to be read, checked, and accounted for anew.
    OpenRun { name: String, bytes: Vec<u8> },
    /// The price of a training elsewhere, at some δ.
    Elsewhere(Elsewhere, f64),
    /// This thread's network requests.
    Requests,
}

/// Answers of the accountant; an error is one phrase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    Projection(Result<Projection, Message>),
    Scale(Result<f64, Message>),
    Tight(Result<Vec<Point>, Message>),
    /// That number, and ε.
    Odds(Result<(u32, f64), Message>),
    Ledger(Result<(), Message>),
    Spent(Result<PrivacySpent, Message>),
    Curve(Result<Curve, Message>),
    Audit(Result<LowerBounds, Message>),
    Sweep(Result<SweepPrice, Message>),
    Label(Result<String, Message>),
    /// A sentence; empty for fewer than two runs.
    Together(Message),
    Allowed(Result<Allowed, Message>),
    Game(Result<Played, Message>),
    Compare(Box<Result<NoiseComparison, Message>>),
    Density(Result<CustomDensity, Message>),
    /// Empty if there is nothing to draw.
    NoiseOverRun([Vec<Point>; 3]),
    /// The run's card, and the same as JSON, to be stored.
    OpenRun(Result<(Box<RunCard>, String), Message>),
    Elsewhere(Box<Result<Price, Message>>),
    Requests(Vec<NetworkRequest>),
}

/// The privacy curve, which covers all tests at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// ε and δ.
    pub points: Vec<Point>,
    /// μ of Gaussian differential privacy, if there is one.
    pub gaussian: Option<GaussianFit>,
    /// ρ of concentrated differential privacy, if there is one.
    pub concentrated: Option<Concentrated>,
    /// The cost of one example if users or micro-batches are protected, as a phrase.
    pub one: Option<Message>,
}

/// The cost of a ledger at some δ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrivacySpent {
    pub releases: u64,
    pub classic: OrderedEpsilon,
    pub improved: OrderedEpsilon,
    /// `None` if tight accounting has no price for one of the releases.
    pub tight: Option<PldEpsilon>,
}

/// ε by tight accounting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PldEpsilon {
    pub epsilon: f64,
    /// The exact value for these losses is at least this; 0 if that is not known.
    pub least: f64,
    /// Numbers of further releases, with ε after them, which never falls.
    pub ahead: Vec<(u64, f64)>,
    /// True if it is Chernoff's bound, which is not tight.
    pub loose: bool,
    /// The part that is computed without a proven error bound; `None` if all of it is proven.
    pub numerical: Option<Message>,
}

/// Bounds on attacks on a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allowed {
    /// The tight ε.
    pub epsilon: f64,
    /// Edge of the ROC region that the whole privacy curve forbids, for logarithmic axes.
    pub forbidden: Vec<Point>,
}

/// Why a question about a run's books has no answer.
#[derive(Debug, hushgrad_message::Error)]
enum BooksError {
    #[error("the ledger of that run is not known here")]
    Unknown,
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// Answers questions. Keeps the books of the run named last, so that no release is priced twice.
#[derive(Default)]
pub struct Accounts {
    books: Option<(u32, Books)>,
    games: Games,
}

impl Accounts {
    pub fn answer(&mut self, question: Question) -> Answer {
        known(&question).unwrap_or_else(|| self.compute(question))
    }

    /// Answers as [`answer`](Self::answer), without the shipped prices.
    pub(crate) fn compute(&mut self, question: Question) -> Answer {
        match question {
            Question::Projection { config, train, steps } => {
                Answer::Projection(in_words(projection::project(&config, train, steps)))
            }
            Question::Scale { config, train, steps, budget } => {
                Answer::Scale(in_words(projection::scale_for(&config, train, steps, budget)))
            }
            Question::Tight { config, train, steps } => {
                Answer::Tight(in_words(projection::tight(&config, train, &steps)))
            }
            Question::Odds { config, train, steps } => {
                let odds = projection::planned(&config, train, steps).map(|books| label::odds(&books, config.delta));
                Answer::Odds(in_words(odds).and_then(in_words))
            }
            Question::Ledger { run, ledger } => Answer::Ledger(in_words(self.take(run, &ledger))),
            Question::Spent { run, events, then, ahead, delta } => {
                let spent = |books: &Books| Ok(spent(books, &then, &ahead, delta)?);
                Answer::Spent(in_words(self.of(run, events).and_then(spent)))
            }
            Question::Curve { run, events, delta, epsilon } => {
                let curve = |books: &Books| {
                    let points = books.curve_about(epsilon, delta)?;
                    let gaussian = books.gaussian(CUT_OFF).ok().flatten();
                    let concentrated = books.concentrated(delta).ok().flatten();
                    Ok(Curve { points, gaussian, concentrated, one: of_one_example(books.ledger(), delta) })
                };
                Answer::Curve(in_words(self.of(run, events).and_then(curve)))
            }
            Question::Audit { run, events, delta, evidence, whole } => {
                let bounds = |books: &Books| {
                    let ledger = books.ledger();
                    Ok(match whole {
                        true => evidence.bounds_above(ledger, delta, LEAST_NOISE)?,
                        false => evidence.live_bounds(ledger, delta, LEAST_NOISE)?,
                    })
                };
                Answer::Audit(in_words(match events {
                    Some(events) => self.of(run, events).and_then(bounds),
                    None => evidence.quick_bounds(delta).map_err(BooksError::from),
                }))
            }
            Question::Sweep { runs, train } => Answer::Sweep(in_words(projection::sweep(&runs, train))),
            Question::Label { run, events, card, together, format } => {
                let subject = Subject { card: Some(&card), together: &together };
                let written = |books: Option<&Books>| -> Result<String, BooksError> {
                    Ok(label::write(&PrivacyLabel::new(books, card.config.delta, subject)?, format))
                };
                Answer::Label(in_words(match events {
                    Some(events) => self.of(run, events).and_then(|books| written(Some(books))),
                    None => written(None),
                }))
            }
            Question::Together(remembered) => Answer::Together(together::sentence(&remembered)),
            Question::Allowed { config, train } => Answer::Allowed(in_words(allowed(&config, train))),
            Question::Game { config, train, candidates } => {
                Answer::Game(in_words(self.games.play(&config, train, candidates)))
            }
            Question::Compare(query) => Answer::Compare(Box::new(in_words(lab::compare(&query)))),
            Question::Density(formula) => Answer::Density(in_words(lab::read(&formula))),
            Question::NoiseOverRun(config) => {
                Answer::NoiseOverRun(Planned::of(&config).map(|planned| planned.stairs()).unwrap_or_default())
            }
            Question::OpenRun { name, bytes } => {
                let opened = |file: RunFile| (Box::new(file.run.clone()), file.run.to_json());
                Answer::OpenRun(in_words::<_, RunFileError>(RunFile::to_show(&name, &bytes).map(opened)))
            }
            Question::Elsewhere(asked, delta) => Answer::Elsewhere(Box::new(in_words(elsewhere::price(&asked, delta)))),
            // The browser's thread answers this one itself; elsewhere there is no network.
            Question::Requests => Answer::Requests(vec![]),
        }
    }

    fn take(&mut self, run: u32, ledger: &str) -> Result<(), PrivacyError> {
        // After an unreadable ledger no books are left: later questions about the run are refused.
        self.books = None;
        self.books = Some((run, Books::of(Ledger::from_json(ledger)?)?));
        Ok(())
    }

    /// Returns the books of `run` with these events.
    fn of(&mut self, run: u32, events: Vec<Event>) -> Result<&Books, BooksError> {
        let known = self.books.as_mut().filter(|(known, _)| *known == run);
        let (_, books) = known.ok_or(BooksError::Unknown)?;
        if books.ledger().events() != events {
            *books = books.with_events(events)?;
        }
        Ok(books)
    }
}

pub(super) fn spent(books: &Books, then: &[Event], ahead: &[u64], delta: f64) -> Result<PrivacySpent, PrivacyError> {
    let Account { classic, improved, tight, steps: releases, .. } = books.account(delta)?;
    let mut least = tight.map_or(0.0, |tight| tight.value);
    let mut with = |&more: &u64| -> Result<(u64, f64), PrivacyError> {
        let events = Event::followed(books.ledger().events(), then, more);
        // The computed ε may fall in its last digits although the true one grows.
        least = least.max(books.with_events(events)?.tight(delta)?.value);
        Ok((more, least))
    };
    let tight = match tight {
        None => None,
        Some(Tight { value: epsilon, rigor, method, least }) => Some(PldEpsilon {
            epsilon,
            least,
            ahead: ahead.iter().filter(|more| **more > 0).map(&mut with).collect::<Result<_, _>>()?,
            loose: method == Method::Renyi,
            numerical: match rigor {
                Rigor::Proven => None,
                Rigor::Numerical(what) => Some(what.into()),
            },
        }),
    };
    Ok(PrivacySpent { releases, classic, improved, tight })
}

/// Least false-positive rate of the edge of a ROC, and its number of points.
pub const LEAST_RATE: f64 = 1e-3;
const EDGE: u32 = 120;

fn allowed(config: &RunConfig, train: u32) -> Result<Allowed, AttackError> {
    let books = projection::planned(config, train, config.steps.ok_or(AttackError::NoEnd)?)?;
    let epsilon = books.tight(config.delta)?.value;
    let curve = PrivacyCurve::new(books.curve_about(epsilon, config.delta)?);
    let curve = curve.map_err(|_| AttackError::NoGuarantee)?;
    Ok(Allowed { epsilon, forbidden: forbidden_above(&curve, LEAST_RATE, EDGE) })
}

/// Returns the answer to a question of an opening page, if it is shipped.
pub(crate) fn known(question: &Question) -> Option<Answer> {
    let (Question::Projection { config, train, .. }
    | Question::Tight { config, train, .. }
    | Question::Odds { config, train, .. }) = question
    else {
        return None;
    };
    let Prices { projection, tight, odds, .. } = opening_prices::known(config, *train)?;
    match question {
        Question::Projection { steps, .. } if *steps == projection.steps => Some(Answer::Projection(Ok(projection))),
        Question::Tight { steps, .. }
            if tight.iter().map(|point| point.0).eq(steps.iter().map(|step| *step as f64)) =>
        {
            Some(Answer::Tight(Ok(tight)))
        }
        Question::Odds { steps, .. } if *steps == projection.steps => Some(Answer::Odds(Ok((odds, tight.last()?.1)))),
        _ => None,
    }
}

/// Converts the error to a phrase, for a message.
fn in_words<T, E: ToMessage>(result: Result<T, E>) -> Result<T, Message> {
    result.map_err(|error| error.to_message())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::membership::leaky_settings;

    #[test]
    fn every_question_gets_its_answer() {
        let config = RunConfig::default();
        let mut accounts = Accounts::default();
        let mut asked = |question| accounts.answer(question);
        let projection = asked(Question::Projection { config: config.clone(), train: 60_000, steps: 100 });
        assert!(matches!(projection, Answer::Projection(Ok(p)) if p.steps == 100));
        let scale = asked(Question::Scale { config: config.clone(), train: 60_000, steps: 100, budget: 1.0 });
        assert!(matches!(scale, Answer::Scale(Ok(scale)) if scale > 0.3 && scale < 3.0));
        let tight = asked(Question::Tight { config: config.clone(), train: 60_000, steps: vec![50, 100] });
        assert!(matches!(tight, Answer::Tight(Ok(points)) if points.len() == 2));
        assert!(matches!(asked(Question::Density("1+x".into())), Answer::Density(Err(_))));
        let runs = [50, 100].map(|steps| (config.clone(), steps)).to_vec();
        let Answer::Sweep(Ok(price)) = asked(Question::Sweep { runs, train: 60_000 }) else { panic!("no price") };
        assert!(price.all > 0.0 && price.best.epsilon > 0.0 && price.best.mean == 2.0, "{price:?}");
        let open = vec![(RunConfig { noise: None, ..config.clone() }, 10); 2];
        assert!(matches!(asked(Question::Sweep { runs: open, train: 60_000 }), Answer::Sweep(Err(_))));
        let town = |noise| Question::Allowed { config: leaky_settings(noise), train: 2750 };
        let Answer::Allowed(Ok(allowed)) = asked(town(Some(1.1))) else { panic!("nothing is allowed") };
        assert!(allowed.epsilon > 2.9 && allowed.epsilon < 3.2 && allowed.forbidden.len() == EDGE as usize);
        assert!(matches!(asked(town(None)), Answer::Allowed(Err(_))));
        let phased = RunConfig { phases: "20; 30 noise 0.5".parse().unwrap(), steps: Some(50), ..config.clone() };
        assert!(matches!(asked(Question::NoiseOverRun(phased)), Answer::NoiseOverRun([_, _, own]) if own.len() == 4));
        let none = asked(Question::Projection { config: RunConfig { noise: None, ..config }, train: 1000, steps: 1 });
        assert!(matches!(none, Answer::Projection(Err(reason)) if reason.contains("no noise")));
        let opened = asked(Question::OpenRun { name: "x.json".to_owned(), bytes: b"PK".to_vec() });
        assert!(
            matches!(opened, Answer::OpenRun(Err(reason)) if reason.to_string().starts_with("x.json is not a run file"))
        );
    }

    /// ε is that of the events released, and the ε ahead holds for the next steps.
    #[test]
    fn spent_prices_the_events_of_the_current_ledger() {
        let delta = 1e-5;
        let config = RunConfig { delta, ..RunConfig::default() };
        let ledger = projection::planned(&config, 60_000, 0).unwrap().ledger().clone();
        let events = |count| vec![Event { release: 0, count }];
        let mut accounts = Accounts::default();
        let spent = |accounts: &mut Accounts, run, count, ahead: &[u64]| {
            let (events, ahead) = (events(count), ahead.to_vec());
            let question =
                Question::Spent { run, events, then: vec![Event { release: 0, count: u64::MAX }], ahead, delta };
            let Answer::Spent(spent) = accounts.answer(question) else { panic!("another answer") };
            spent
        };
        assert!(spent(&mut accounts, 3, 100, &[]).unwrap_err().contains("not known"));
        let told = accounts.answer(Question::Ledger { run: 3, ledger: ledger.to_json() });
        assert_eq!(told, Answer::Ledger(Ok(())));
        let hundred = spent(&mut accounts, 3, 100, &[20, 400]).unwrap();
        let native = projection::planned(&config, 60_000, 100).unwrap().account(delta).unwrap();
        assert_eq!((hundred.releases, hundred.classic, hundred.improved), (100, native.classic, native.improved));
        let tight = hundred.tight.unwrap();
        assert_eq!((tight.epsilon, tight.numerical), (native.tight.unwrap().value, None));
        let [(20, twenty), (400, more)] = tight.ahead[..] else { panic!("{:?}", tight.ahead) };
        assert!(tight.epsilon < twenty && twenty < more);
        for later in [1, 7, 20] {
            let later = spent(&mut accounts, 3, 100 + later, &[]).unwrap().tight.unwrap().epsilon;
            assert!(later >= tight.epsilon && later <= twenty * (1.0 + 1e-3), "{later}: {twenty}");
        }
        assert_eq!(spent(&mut accounts, 3, 120, &[]).unwrap().tight.unwrap().epsilon, twenty);
        // Before the first step, the cost of the first is known.
        let nothing = Question::Spent { run: 3, events: vec![], then: events(100), ahead: vec![1, 100], delta };
        let Answer::Spent(Ok(PrivacySpent { releases: 0, tight: Some(first), .. })) = accounts.answer(nothing) else {
            panic!()
        };
        assert_eq!((first.epsilon, first.ahead.len(), first.ahead[1]), (0.0, 2, (100, tight.epsilon)));
        let curve = accounts.answer(Question::Curve { run: 3, events: events(100), delta, epsilon: tight.epsilon });
        let Answer::Curve(Ok(Curve { points, gaussian: Some(fit), concentrated: Some(rho), one: None })) = curve else {
            panic!("no curve")
        };
        assert!(points[0] == (tight.epsilon, delta) && points.len() > 4);
        assert!(fit.mu > 0.05 && fit.mu < 1.0 && fit.regret < 0.1 && fit.cut_off == 1e-10, "{fit:?}");
        assert!(rho.rho > 1e-4 && rho.order.is_some_and(|order| order > 2.0), "{rho:?}");
        // Nothing is known of another run, and a damaged ledger leaves no books.
        assert!(spent(&mut accounts, 4, 100, &[]).is_err());
        assert!(matches!(accounts.answer(Question::Ledger { run: 4, ledger: "{}".into() }), Answer::Ledger(Err(_))));
        assert!(spent(&mut accounts, 3, 100, &[]).is_err());
    }
}
