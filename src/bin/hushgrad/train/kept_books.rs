//! Books shared by runs on the same digits. Each run enters its releases before making them.

use std::error::Error;

use hushgrad::{
    accounting::{books::Books, filter::PrivacyFilter, ledger::Ledger},
    rng::SystemRng,
    train::books::{self, AllRuns, BooksError, BudgetError, DatasetBooks, Entry, SetName},
};
use rand::rand_core::Rng as _;

use super::kept_file::{KeptFile, KeptFileError};

/// This run's entry in the books.
pub struct KeptBooks {
    file: KeptFile,
    digits: SetName,
    /// As last entered.
    entry: Entry,
    /// Releases from before this run that are already in the books: the start of its ledger.
    counted: Ledger,
    /// SHA-256 of the run file that this run continues.
    earlier: Option<String>,
    /// SHA-256 of the run file last written.
    last: Option<String>,
    entered: bool,
}

impl KeptBooks {
    /// # Errors
    /// If the system gives no entropy for the entry's name.
    pub fn new(file: KeptFile, digits: SetName, name: String) -> Result<Self, Box<dyn Error>> {
        let mut rng = SystemRng::new()?;
        let run = (0..4).map(|_| format!("{:08x}", rng.next_u32())).collect();
        let entry = Entry { run, name, released: None, planned: None, files: Vec::new() };
        Ok(Self { file, digits, entry, counted: Ledger::new(), earlier: None, last: None, entered: false })
    }

    /// True if the releases of the run file with this SHA-256 are in the books.
    ///
    /// # Errors
    /// If the books cannot be read.
    pub fn counts(&self, file: &str) -> Result<bool, Box<dyn Error>> {
        Ok(self.read()?.counts(&self.digits, file))
    }

    /// Sets the budget of all runs on these digits, at the order that suits `plan`, or finds the same
    /// budget.
    ///
    /// # Errors
    /// If there are runs already, or another budget; if the books cannot be read or written; a plan
    /// without a guarantee, or one that a filter does not cover.
    pub fn set_budget(&self, epsilon: f64, delta: f64, plan: Option<Ledger>) -> Result<(), Box<dyn Error>> {
        let plan = Books::of(plan.ok_or(BudgetError::NoGuarantee)?.per_example())?;
        let _turn = self.file.turn()?;
        let mut books = self.read()?;
        books.set_budget(&self.digits, PrivacyFilter::for_plan(epsilon, delta, &plan)?)?;
        self.file.write(books.to_json().as_bytes())?;
        Ok(())
    }

    /// Continues the run file with this SHA-256, whose ledger is in the books.
    pub fn leave_out(&mut self, counted: Ledger, file: String) {
        (self.counted, self.earlier) = (counted, Some(file));
    }

    /// Enters releases so far and ahead, the whole plan's, and the SHA-256 of the next run file.
    /// The previous file stays known, in case the program ends before the next replaces it. False,
    /// and nothing is entered, if the releases would exceed the budget of these digits.
    ///
    /// # Errors
    /// If the books cannot be read or written, or become too large to read; if the budget does not
    /// cover such releases.
    pub fn enter(
        &mut self,
        ledger: Option<&Ledger>,
        planned: Option<&Ledger>,
        file: Option<String>,
    ) -> Result<bool, Box<dyn Error>> {
        let _turn = self.file.turn()?;
        let mut books = self.read()?;
        let own = |ledger: &Ledger| ledger.after(&self.counted).unwrap_or_else(|| ledger.clone());
        let entry = Entry {
            released: ledger.map(own),
            planned: planned.filter(|planned| Some(*planned) != ledger).map(own),
            files: self.last.iter().chain(&file).cloned().collect(),
            ..self.entry.clone()
        };
        if !books.within_budget(&self.digits, &entry)? {
            return Ok(false);
        }
        (self.entry, self.entered) = (entry, true);
        if let Some(file) = &self.earlier {
            books.go_on(file);
        }
        books.enter(&self.digits, self.entry.clone());
        let json = books.to_json();
        if json.len() > books::LARGEST {
            let (name, bytes) = (self.file.called().display().to_string(), json.len());
            return Err(BooksError::TooLarge { name, bytes }.into());
        }
        self.file.write(json.as_bytes())?;
        self.last = file.or_else(|| self.last.take());
        Ok(true)
    }

    /// Returns the cost of all runs on the digits, including this one even if the file was removed.
    ///
    /// # Errors
    /// If the books cannot be read.
    pub fn all_runs(&self, delta: f64) -> Result<AllRuns, Box<dyn Error>> {
        let mut books = self.read()?;
        if self.entered {
            books.enter(&self.digits, self.entry.clone());
        }
        Ok(books.all_runs(&self.digits, delta))
    }

    fn read(&self) -> Result<DatasetBooks, Box<dyn Error>> {
        read(&self.file)
    }
}

/// Reads the books; empty if the file does not exist.
///
/// # Errors
/// If the file cannot be read or does not contain books.
pub fn read(file: &KeptFile) -> Result<DatasetBooks, Box<dyn Error>> {
    let bytes: Result<_, KeptFileError> = file.read(books::LARGEST);
    Ok(match bytes? {
        Some(bytes) => DatasetBooks::from_json(&file.called().display().to_string(), &bytes)?,
        None => DatasetBooks::default(),
    })
}
