//! What all runs on the same data released: a small file of entries by the training set's digest
//! ([`Dataset::digest`](crate::data::Dataset::digest)). Sets with the same first thousand examples
//! count as one ([`Dataset::opening_digest`](crate::data::Dataset::opening_digest)), as in the
//! browser page: dropping one example does not hide the others.
//!
//! An entry holds what *one program's run* released, each release once: a run that continues a file
//! whose releases are in these books enters only what it adds. Releases not known to be in the
//! books are counted again, so the sum may be too large but never too small.

use std::collections::{BTreeMap, BTreeSet};

use hushgrad_message::{Message, ToMessage, message, word};
use serde::{Deserialize, Serialize};

use crate::{
    accounting::{
        PrivacyError,
        books::Books,
        composition::{self, Total},
        error::json_fault,
        filter::PrivacyFilter,
        ledger::Ledger,
        sampling::NeighbouringRelation,
    },
    data::Dataset,
};

const FORMAT: &str = "hushgrad-books";
/// Version 1 had no openings, version 2 no budgets.
const VERSION: u32 = 3;
/// Largest file read, in bytes: a thousand runs take 1 MB, sixteen of the widest envelopes this.
pub const LARGEST: usize = 256 << 20;

/// The books of all data sets that someone trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DatasetBooks {
    format: String,
    version: u32,
    /// By digest: the runs on this set, in the order in which they began.
    digits: BTreeMap<String, Vec<Entry>>,
    /// By opening digest: the digests of the sets that begin so.
    #[serde(default)]
    openings: BTreeMap<String, BTreeSet<String>>,
    /// By opening digest: the budget of all runs on the sets that begin so.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    budgets: BTreeMap<String, PrivacyFilter>,
}

/// The digests by which books identify a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetName {
    digest: String,
    opening: String,
}

impl SetName {
    #[must_use]
    pub fn of(set: &Dataset) -> Self {
        Self { digest: set.digest(), opening: set.opening_digest() }
    }
}

/// What one run released on a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Entry {
    /// A random name that no other run has.
    pub run: String,
    /// The name that people gave the run.
    pub name: String,
    /// What it released, or will have before its next write; `None` without a guarantee.
    pub released: Option<Ledger>,
    /// What all its planned steps release, if that is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Ledger>,
    /// SHA-256 of the run files that it wrote; all releases of their ledgers are in these books.
    pub files: Vec<String>,
}

/// Why a file is not read as books.
#[derive(Clone, Debug, PartialEq, Eq, hushgrad_message::Error)]
pub enum BooksError {
    #[error("{name} holds no books: it is too large ({bytes} bytes)")]
    TooLarge { name: String, bytes: usize },
    #[error("{name} does not hold this program's books: {reason}")]
    Unreadable { name: String, reason: Message },
    #[error("{name} was written by a later version of this program ({version}; this one reads {VERSION})")]
    Later { name: String, version: u32 },
    #[error("{name}: the run “{run}” cannot have happened: {reason}")]
    Impossible { name: String, run: String, reason: Message },
    #[error("{name}: the budget of a set is none: {reason}")]
    Budget { name: String, reason: Message },
}

/// Why runs on a set get no budget, or are not within it.
#[derive(Clone, Debug, PartialEq, hushgrad_message::Error)]
pub enum BudgetError {
    /// A budget that is chosen after releases may depend on them.
    #[error(
        "a budget is set before the first run on these digits, and these books have {runs}; name new books, and leave out what is public"
    )]
    Late { runs: usize },
    #[error("these books have the budget ε ≤ {epsilon} at δ = {delta:?} for these digits, which stays as it was set")]
    Other { epsilon: f64, delta: f64 },
    #[error("a run without a guarantee is not within a budget")]
    NoGuarantee,
    #[error(transparent)]
    Unpriced(#[from] PrivacyError),
}

/// The joint cost of all runs on the same set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct AllRuns {
    pub runs: usize,
    /// With all planned steps, so it holds whenever the runs stop; `None` if all of them ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Cost>,
    /// Of the steps that ran.
    pub cost: Cost,
    /// The budget of all runs, if one is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// A budget of all runs on a set, and how much of it is spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Budget {
    /// Holds at any stopping time, whatever was chosen on the way.
    pub epsilon: f64,
    pub delta: f64,
    /// Share of the Rényi divergence that ε allows.
    pub spent: f64,
}

/// A bound, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// An upper bound.
    Bounded { epsilon: f64, delta: f64, neighbours: NeighbouringRelation },
    /// No bound can be stated.
    NoGuarantee { reason: Message },
}

impl Default for DatasetBooks {
    fn default() -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            digits: BTreeMap::new(),
            openings: BTreeMap::new(),
            budgets: BTreeMap::new(),
        }
    }
}

impl DatasetBooks {
    /// Reads and checks books; errors name the file `name`.
    ///
    /// # Errors
    /// A file too large, unreadable or of a later version; a run that cannot have happened.
    pub fn from_json(name: &str, bytes: &[u8]) -> Result<Self, BooksError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let unreadable = |reason: Message| BooksError::Unreadable { name: name.to_owned(), reason };
        if bytes.len() > LARGEST {
            return Err(BooksError::TooLarge { name: name.to_owned(), bytes: bytes.len() });
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|error| unreadable(json_fault(&error)))?;
        if head.format != FORMAT {
            return Err(unreadable(message!("its format is “{}”", super::run_file::clipped(&head.format))));
        }
        if head.version > VERSION {
            return Err(BooksError::Later { name: name.to_owned(), version: head.version });
        }
        let books: Self = serde_json::from_slice(bytes).map_err(|error| unreadable(json_fault(&error)))?;
        for entry in books.digits.values().flatten() {
            let checked = entry.released.iter().chain(&entry.planned).try_for_each(Ledger::validate);
            checked.map_err(|error| BooksError::Impossible {
                name: name.to_owned(),
                run: super::run_file::clipped(&entry.name),
                reason: error.to_message(),
            })?;
        }
        for budget in books.budgets.values() {
            let checked = PrivacyFilter::at_order(budget.epsilon(), budget.delta(), budget.order());
            checked.map_err(|error| BooksError::Budget { name: name.to_owned(), reason: error.to_message() })?;
        }
        Ok(books)
    }

    #[must_use]
    pub fn to_json(&self) -> String {
        // JSON refuses only maps whose keys are not strings.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the runs on `set`, and on sets that begin alike.
    pub fn runs<'a>(&'a self, set: &'a SetName) -> impl Iterator<Item = &'a Entry> {
        let alike = self.openings.get(&set.opening).into_iter().flatten().filter(|digest| **digest != set.digest);
        alike.chain([&set.digest]).filter_map(|digest| self.digits.get(digest)).flatten()
    }

    /// Enters `entry`, replacing the same run's earlier entry.
    pub fn enter(&mut self, set: &SetName, entry: Entry) {
        self.know(set);
        let runs = self.digits.entry(set.digest.clone()).or_default();
        match runs.iter_mut().find(|earlier| earlier.run == entry.run) {
            Some(earlier) => *earlier = entry,
            None => runs.push(entry),
        }
    }

    /// Sets the budget of all runs on `set`, before the first of them.
    ///
    /// # Errors
    /// [`BudgetError::Late`], or [`BudgetError::Other`] if there is another.
    pub fn set_budget(&mut self, set: &SetName, budget: PrivacyFilter) -> Result<(), BudgetError> {
        let same = |known: &PrivacyFilter| (known.epsilon(), known.delta()) == (budget.epsilon(), budget.delta());
        match self.budget_of(set) {
            Some(known) if same(known) => Ok(()),
            Some(known) => Err(BudgetError::Other { epsilon: known.epsilon(), delta: known.delta() }),
            None => match self.runs(set).count() {
                0 => {
                    self.know(set);
                    self.budgets.insert(set.opening.clone(), budget);
                    Ok(())
                }
                runs => Err(BudgetError::Late { runs }),
            },
        }
    }

    /// True if all runs on `set`, with `entry` in place of the same run's earlier one, are within
    /// the budget, or if there is none.
    ///
    /// # Errors
    /// [`BudgetError::NoGuarantee`]; releases that a [`PrivacyFilter`] does not cover.
    pub fn within_budget(&self, set: &SetName, entry: &Entry) -> Result<bool, BudgetError> {
        let Some(budget) = self.budget_of(set) else { return Ok(true) };
        let others = self.runs(set).filter(|other| other.run != entry.run);
        Ok(budget.covers(&Self::together(others.chain([entry]))?)?)
    }

    /// The releases of `runs` as one ledger with its prices, for one example.
    fn together<'a>(mut runs: impl Iterator<Item = &'a Entry>) -> Result<Books, BudgetError> {
        let all = runs.try_fold(Ledger::new(), |all, entry| {
            let released = entry.released.as_ref().ok_or(BudgetError::NoGuarantee)?;
            Ok::<_, BudgetError>(all.compose(&released.per_example())?)
        })?;
        Ok(Books::of(all)?)
    }

    /// The budget of a set that begins like `set`, or has its examples in another order.
    fn budget_of(&self, set: &SetName) -> Option<&PrivacyFilter> {
        let alike = self.openings.get(&set.opening);
        let same = |digests: &BTreeSet<String>| {
            digests.contains(&set.digest) || alike.is_some_and(|alike| !alike.is_disjoint(digests))
        };
        let known = self.openings.iter().filter(|(_, digests)| same(digests));
        known.filter_map(|(opening, _)| self.budgets.get(opening)).next()
    }

    /// The budget of all runs on `set`, if one is set.
    fn budget(&self, set: &SetName) -> Option<Budget> {
        let budget = self.budget_of(set)?;
        let spent = Self::together(self.runs(set)).ok().and_then(|books| budget.spent(&books).ok());
        Some(Budget { epsilon: budget.epsilon(), delta: budget.delta(), spent: spent? })
    }

    /// Records that sets begin so.
    fn know(&mut self, set: &SetName) {
        self.openings.entry(set.opening.clone()).or_default().insert(set.digest.clone());
        self.version = VERSION;
    }

    /// Drops the plan of the run whose file has this SHA-256: another entry has the rest of it.
    pub fn go_on(&mut self, file: &str) {
        let of_file = |entry: &&mut Entry| entry.files.iter().any(|known| known == file);
        self.digits.values_mut().flatten().filter(of_file).for_each(|entry| entry.planned = None);
    }

    /// True if these books hold all releases on `set` of the run file with this SHA-256.
    #[must_use]
    pub fn counts(&self, set: &SetName, file: &str) -> bool {
        self.runs(set).any(|entry| entry.files.iter().any(|known| known == file))
    }

    /// Returns what the runs on `set` together cost one example at `delta`, if an attacker sees all
    /// of them. Each is priced as it happened; one without a guarantee leaves none for all.
    #[must_use]
    pub fn all_runs(&self, set: &SetName, delta: f64) -> AllRuns {
        let runs: Vec<&Entry> = self.runs(set).collect();
        let cost = |ledger: fn(&Entry) -> Option<&Ledger>| Cost::of(runs.iter().map(|entry| ledger(entry)), delta);
        let planned = runs.iter().any(|entry| entry.planned.is_some());
        AllRuns {
            runs: runs.len(),
            planned: planned.then(|| cost(|entry| entry.planned.as_ref().or(entry.released.as_ref()))),
            cost: cost(|entry| entry.released.as_ref()),
            budget: self.budget(set),
        }
    }
}

impl Cost {
    /// Composes runs by what each released; `None` marks a run without a guarantee.
    fn of<'a>(runs: impl Iterator<Item = Option<&'a Ledger>> + Clone, delta: f64) -> Self {
        let without = runs.clone().filter(Option::is_none).count();
        let ledgers: Vec<&Ledger> = runs.flatten().collect();
        match without {
            0 => match composition::total_per_example(&ledgers, delta) {
                Ok(Total { epsilon, delta, neighbours, .. }) => Self::Bounded { epsilon, delta, neighbours },
                Err(error) => Self::NoGuarantee { reason: error.to_message() },
            },
            1 => Self::NoGuarantee { reason: word!("one of them has none").into() },
            _ => Self::NoGuarantee { reason: message!("{without} of them have none") },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::{
        books::account,
        ledger::{Release, Sensitivity},
        noise::NoiseSpec,
        sampling::Sampling,
    };

    fn ledger(steps: u64) -> Ledger {
        let noise = Some(NoiseSpec::Gaussian { sigma: 2.0 });
        let release = Release::new(Sampling::Poisson { rate: 0.1 }, Sensitivity::L2 { norm: 1.0 }, noise);
        Ledger::of([(release, steps)]).unwrap()
    }

    fn entry(run: &str, steps: Option<u64>) -> Entry {
        let files = vec![format!("file of {run}")];
        Entry { run: run.into(), name: run.into(), released: steps.map(ledger), planned: None, files }
    }

    fn set(name: &str) -> SetName {
        SetName { digest: name.to_owned(), opening: format!("{name}…") }
    }

    fn epsilon(books: &DatasetBooks, name: &str) -> Option<f64> {
        match books.all_runs(&set(name), 1e-5).cost {
            Cost::Bounded { epsilon, .. } => Some(epsilon),
            Cost::NoGuarantee { .. } => None,
        }
    }

    #[test]
    fn runs_on_the_same_digits_add_up_and_others_do_not() {
        let mut books = DatasetBooks::default();
        assert_eq!((books.runs(&set("a")).count(), epsilon(&books, "a")), (0, Some(0.0)));
        books.enter(&set("a"), entry("1", Some(3)));
        books.enter(&set("a"), entry("2", Some(4)));
        books.enter(&set("b"), entry("3", Some(1)));
        // The same run, later.
        books.enter(&set("a"), entry("1", Some(6)));
        let cost = |steps| account(&ledger(steps), 1e-5).unwrap().tight.unwrap().value;
        assert_eq!((books.runs(&set("a")).count(), epsilon(&books, "a")), (2, Some(cost(10))));
        assert_eq!(epsilon(&books, "b"), Some(cost(1)));
        assert!(
            books.counts(&set("a"), "file of 2")
                && !books.counts(&set("b"), "file of 2")
                && !books.counts(&set("a"), "another")
        );
        assert_eq!(DatasetBooks::from_json("books", books.to_json().as_bytes()), Ok(books.clone()));
        books.enter(&set("a"), entry("4", None));
        assert_eq!((epsilon(&books, "a"), epsilon(&books, "b")), (None, Some(cost(1))));
        let AllRuns { runs: 3, planned: None, cost: Cost::NoGuarantee { reason }, budget: None } =
            books.all_runs(&set("a"), 1e-5)
        else {
            panic!()
        };
        assert_eq!(reason.to_string(), "one of them has none");
    }

    /// The plan alone covers a stop that depended on what was released.
    #[test]
    fn runs_that_stopped_early_cost_their_plans_until_they_go_on() {
        let mut books = DatasetBooks::default();
        books.enter(&set("a"), entry("1", Some(3)));
        assert_eq!(books.all_runs(&set("a"), 1e-5).planned, None);
        books.enter(&set("a"), Entry { planned: Some(ledger(20)), ..entry("2", Some(4)) });
        assert_eq!(DatasetBooks::from_json("books", books.to_json().as_bytes()), Ok(books.clone()));
        let cost = |steps| Cost::of([Some(&ledger(steps))].into_iter(), 1e-5);
        let all = books.all_runs(&set("a"), 1e-5);
        assert_eq!((all.planned, all.cost), (Some(cost(23)), cost(7)));
        books.go_on("file of 2");
        books.enter(&set("a"), Entry { planned: Some(ledger(16)), ..entry("3", Some(1)) });
        let all = books.all_runs(&set("a"), 1e-5);
        assert_eq!((all.planned, all.cost), (Some(cost(23)), cost(8)));
        let json = books.to_json().replace("\"count\":16", "\"count\":0");
        assert!(matches!(DatasetBooks::from_json("", json.as_bytes()), Err(BooksError::Impossible { .. })));
    }

    #[test]
    fn a_budget_is_set_first_and_holds_for_all_runs() {
        let plan = Books::of(ledger(100)).unwrap();
        let [filter, other] = [1.0, 2.0].map(|epsilon| PrivacyFilter::for_plan(epsilon, 1e-5, &plan).unwrap());
        let a = set("a");
        let mut books = DatasetBooks::default();
        assert!(books.within_budget(&a, &entry("1", Some(1_000_000))).unwrap());
        books.set_budget(&a, filter).unwrap();
        assert_eq!(books.set_budget(&a, filter), Ok(()));
        let most = (1..).find(|steps| !books.within_budget(&a, &entry("1", Some(*steps))).unwrap()).unwrap() - 1;
        assert!(epsilon_of_steps(most) <= 1.0 && most > 10, "{most}");
        books.enter(&a, entry("1", Some(most - 5)));
        for (steps, within) in [(5, true), (6, false)] {
            assert_eq!(books.within_budget(&a, &entry("2", Some(steps))), Ok(within), "{steps}");
        }
        // The same run, later; other digits have no budget.
        assert_eq!(books.within_budget(&a, &entry("1", Some(most))), Ok(true));
        assert_eq!(books.within_budget(&set("b"), &entry("2", Some(1_000_000))), Ok(true));
        assert_eq!(books.within_budget(&a, &entry("2", None)), Err(BudgetError::NoGuarantee));
        // Another order of the same digits, and other digits after the same first ones.
        for alike in [SetName { opening: "b…".into(), ..set("a") }, SetName { digest: "c".into(), ..set("a") }] {
            assert_eq!(books.within_budget(&alike, &entry("2", Some(1_000_000))), Ok(false), "{alike:?}");
        }
        let Some(Budget { epsilon, delta, spent }) = books.all_runs(&a, 1e-6).budget else { panic!("no budget") };
        assert!((epsilon, delta) == (1.0, 1e-5) && spent > 0.5 && spent < 1.0, "{spent}");
        // It neither changes nor comes late.
        assert_eq!(books.set_budget(&a, other), Err(BudgetError::Other { epsilon: 1.0, delta: 1e-5 }));
        books.enter(&set("b"), entry("3", Some(1)));
        assert_eq!(books.set_budget(&set("b"), other), Err(BudgetError::Late { runs: 1 }));
        let json = books.to_json();
        assert_eq!(DatasetBooks::from_json("books", json.as_bytes()), Ok(books));
        let broken = json.replace("\"epsilon\":1.0", "\"epsilon\":-1.0");
        assert!(matches!(DatasetBooks::from_json("", broken.as_bytes()), Err(BooksError::Budget { .. })));
    }

    fn epsilon_of_steps(steps: u64) -> f64 {
        account(&ledger(steps), 1e-5).unwrap().improved.epsilon
    }

    /// The two have different digests and share 1999 of 2000 examples.
    #[test]
    fn removing_or_reordering_examples_keeps_the_books() {
        let all = crate::data::synthetic::dataset(1, 0, 2000);
        let part = |keep: &dyn Fn(usize) -> bool| {
            let kept: Vec<usize> = (0..all.len()).filter(|i| keep(*i)).collect();
            let images: Vec<u8> = kept.iter().flat_map(|&i| all.image(i).to_vec()).collect();
            let labels: Vec<u8> = kept.iter().map(|&i| all.labels[i]).collect();
            SetName::of(&Dataset::new("a part", images, labels))
        };
        let mut books = DatasetBooks::default();
        books.enter(&SetName::of(&all), entry("1", Some(3)));
        for (set, known) in [(part(&|_| true), 1), (part(&|i| i != 1500), 1), (part(&|i| i >= 1000), 0)] {
            assert_eq!(books.runs(&set).count(), known, "{set:?}");
        }
        // Version 1 knew no openings.
        let of_before = books.to_json().replacen("\"version\":3", "\"version\":1", 1);
        let of_before = format!("{}}}", of_before.split_once(",\"openings\"").unwrap().0);
        let read = DatasetBooks::from_json("books", of_before.as_bytes()).unwrap();
        assert_eq!(read.runs(&SetName::of(&all)).count(), 1);
    }

    #[test]
    fn invalid_books_are_refused_by_name() {
        let read = |text: &str| DatasetBooks::from_json("my books", text.as_bytes()).unwrap_err().to_string();
        let mut books = DatasetBooks::default();
        books.enter(&set("a"), entry("1", Some(3)));
        let json = books.to_json();
        for (text, sentence) in [
            (String::new(), "EOF"),
            (json[..json.len() / 2].to_owned(), "EOF"),
            (json.replace("hushgrad-books", "hushgrad-run"), "its format is “hushgrad-run”"),
            (json.replacen("\"version\":3", "\"version\":4", 1), "later version"),
            (json.replace("\"count\":3", "\"count\":0"), "cannot have happened"),
            (json.replace("\"files\"", "\"filez\""), "filez"),
        ] {
            let error = read(&text);
            assert!(error.contains(sentence) && error.contains("my books"), "{sentence}: {error}");
        }
        assert!(
            DatasetBooks::from_json("", &vec![b' '; LARGEST + 1]).unwrap_err().to_string().contains("it is too large")
        );
    }
}
