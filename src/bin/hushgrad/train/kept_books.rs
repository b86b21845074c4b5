//! The books that runs on the same digits share: a run enters what it will release before it does, and reads what all of them cost.

use std::error::Error;

use hushgrad::{
    accounting::ledger::Ledger,
    rng::SystemRng,
    train::books::{self, AllRuns, BooksError, DatasetBooks, Entry, SetName},
};
use rand::rand_core::Rng as _;

use super::kept_file::{KeptFile, KeptFileError};

/// This run's place in them.
pub struct KeptBooks {
    file: KeptFile,
    digits: SetName,
    /// As it was entered last.
    entry: Entry,
    /// What was released before this run began and is in the books already: the start of its ledger.
    counted: Ledger,
    /// SHA-256 of the run file that it goes on from.
    earlier: Option<String>,
    /// SHA-256 of the run file as it was written last.
    last: Option<String>,
    entered: bool,
}

impl KeptBooks {
    /// # Errors
    /// When the system gives no entropy for the entry's name.
    pub fn new(file: KeptFile, digits: SetName, name: String) -> Result<Self, Box<dyn Error>> {
        let mut rng = SystemRng::new()?;
        let run = (0..4).map(|_| format!("{:08x}", rng.next_u32())).collect();
        let entry = Entry { run, name, released: None, planned: None, files: Vec::new() };
        Ok(Self { file, digits, entry, counted: Ledger::new(), earlier: None, last: None, entered: false })
    }

    /// Whether what the run file with this SHA-256 says was released is in the books.
    ///
    /// # Errors
    /// When the books cannot be read.
    pub fn counts(&self, file: &str) -> Result<bool, Box<dyn Error>> {
        Ok(self.read()?.counts(&self.digits, file))
    }

    /// The run goes on from the file with this SHA-256, whose ledger is in the books.
    pub fn leave_out(&mut self, counted: Ledger, file: String) {
        (self.counted, self.earlier) = (counted, Some(file));
    }

    /// Enters all that the run released or is about to, what its whole plan will have released, and the SHA-256 of the run file that is about to be written. A file that was written
    /// before stays known: the program may end before the new one has taken its place.
    ///
    /// # Errors
    /// When the books cannot be read or written, or would be too large to be read again.
    pub fn enter(
        &mut self,
        ledger: Option<&Ledger>,
        planned: Option<&Ledger>,
        file: Option<String>,
    ) -> Result<(), Box<dyn Error>> {
        let _turn = self.file.turn()?;
        let mut books = self.read()?;
        let own = |ledger: &Ledger| ledger.after(&self.counted).unwrap_or_else(|| ledger.clone());
        self.entry.released = ledger.map(own);
        self.entry.planned = planned.filter(|planned| Some(*planned) != ledger).map(own);
        self.entry.files = self.last.iter().chain(&file).cloned().collect();
        self.entered = true;
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
        Ok(())
    }

    /// What all runs on the digits cost together, this one with what it entered, also where somebody has removed the file since.
    ///
    /// # Errors
    /// When the books cannot be read.
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

/// The books in a file; none where it is not there.
///
/// # Errors
/// When the file cannot be read, or is none.
pub fn read(file: &KeptFile) -> Result<DatasetBooks, Box<dyn Error>> {
    let bytes: Result<_, KeptFileError> = file.read(books::LARGEST);
    Ok(match bytes? {
        Some(bytes) => DatasetBooks::from_json(&file.called().display().to_string(), &bytes)?,
        None => DatasetBooks::default(),
    })
}
