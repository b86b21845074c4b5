//! Which digits pay for privacy: how the run's model and its non-private baseline read the test
//! digits, which are misread, and which gradients of a step's lot are longest. Counted in pieces.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::look::{GradientNorm, StepInspection};
use crate::{
    data::{Dataset, Picture},
    engine::{Confusion, EngineError, Performance, Reading, Task, cpu::CpuEngine, reading},
};

/// Most misread digits shown.
pub const MISREAD: usize = 24;

/// A model's readings of the test digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Steps of its training.
    pub step: u64,
    /// Row: the digit drawn; column: the digit read.
    pub usual: Confusion,
    /// The same for the test digits turned, if the run has such a minority.
    pub turned: Option<Confusion>,
}

/// A test digit read as another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Misread {
    pub label: u8,
    pub read: u8,
    /// The model's probability of the digit that it read.
    pub sure: f32,
    pub pixels: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassReport {
    pub run: Counts,
    /// The run's non-private baseline, as far as it is trained.
    pub open: Option<Counts>,
    /// The shape of an image.
    pub picture: Picture,
    /// Misread by the run, surest first, at most [`MISREAD`].
    pub misread: Vec<Misread>,
    /// A traced step, and digits of its lot, longest gradient first. Private: for the trainer only.
    pub pulls: Option<(u64, Vec<GradientNorm>)>,
}

/// Returns the share of digits read correctly, of all or of one digit; `None` if there are none.
#[must_use]
pub fn accuracy(counts: &Confusion, digit: Option<usize>) -> Option<f64> {
    let rows = || (0..counts.len()).filter(|&row| digit.is_none_or(|digit| digit == row));
    let all: u32 = rows().flat_map(|row| &counts[row]).sum();
    let right: u32 = rows().map(|row| counts[row][row]).sum();
    (all > 0).then(|| f64::from(right) / f64::from(all))
}

impl ClassReport {
    /// Returns the digit whose accuracy is furthest below the baseline's, and both, the run's
    /// first; `None` if there is no baseline or no digit is below it.
    #[must_use]
    pub fn pays_most(&self) -> Option<(usize, f64, f64)> {
        let open = self.open.as_ref()?;
        let of = |digit| Some((digit, accuracy(&self.run.usual, Some(digit))?, accuracy(&open.usual, Some(digit))?));
        (0..self.run.usual.len())
            .filter_map(of)
            .filter(|(_, run, open)| run < open)
            .max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))
    }
}

pub(super) struct Counting {
    /// The run's, and the baseline's if there is one. They compute on the CPU, whatever trains.
    models: Vec<(CpuEngine, Counts)>,
    reading: Reading,
    picture: Picture,
    /// Slices read so far: the upright and the turned ones of the first model, then of the second.
    next: usize,
    misread: Vec<Misread>,
    look: Option<Rc<StepInspection>>,
    pulls: Vec<GradientNorm>,
}

impl Counting {
    /// Starts a count for models after so many steps, the run's first; of `turned` digits, too.
    pub fn new(
        task: &Task,
        models: &[(u64, Vec<f32>)],
        (reading, turned): (Reading, bool),
        test: &Dataset,
        look: Option<Rc<StepInspection>>,
    ) -> Result<Self, EngineError> {
        let classes = task.model.classes();
        let none = || vec![vec![0; classes]; classes];
        let model = |(step, parameters): &(u64, Vec<f32>)| {
            let performance = Performance { threads: Some(1), ..Performance::default() };
            let engine = CpuEngine::new(Task::without_privacy(task.model), test.clone(), parameters, performance)?;
            Ok((engine, Counts { step: *step, usual: none(), turned: turned.then(none) }))
        };
        let models = models.iter().map(model).collect::<Result<_, EngineError>>()?;
        Ok(Self {
            models,
            reading,
            picture: task.model.picture(),
            next: 0,
            misread: Vec::new(),
            look,
            pulls: Vec::new(),
        })
    }

    /// Does a piece of work on the test set in slices; `false` if nothing was left to do.
    pub async fn piece(&mut self, test: &[Dataset]) -> Result<bool, EngineError> {
        let groups = 1 + usize::from(self.models.iter().any(|(_, counts)| counts.turned.is_some()));
        let (pass, at) = (self.next / test.len().max(1), self.next % test.len().max(1));
        let (model, turned) = (pass / groups, pass % groups == 1);
        if let (Some((engine, counts)), Some(slice)) = (self.models.get_mut(model), test.get(at)) {
            let slice = if turned { slice.turned() } else { slice.clone() };
            let counts = counts.turned.as_mut().filter(|_| turned).unwrap_or(&mut counts.usual);
            for (i, (read, sure)) in reading::answers(engine, &slice, self.reading).await?.into_iter().enumerate() {
                let label = slice.labels[i];
                counts[usize::from(label)][usize::from(read)] += 1;
                if read != label && pass == 0 {
                    // NaN counts as 0.
                    let sure = sure[usize::from(read)].max(0.0);
                    self.misread.push(Misread { label, read, sure, pixels: slice.image(i).to_vec() });
                }
            }
            self.misread.sort_by(|a, b| b.sure.total_cmp(&a.sure));
            self.misread.truncate(MISREAD);
            self.next += 1;
            return Ok(true);
        }
        let pull = self.look.as_ref().and_then(|look| look.pull(self.pulls.len()));
        let more = pull.is_some();
        self.pulls.extend(pull);
        Ok(more)
    }

    /// Returns all counts; `None` without a model.
    pub fn done(self) -> Option<ClassReport> {
        let mut pulls = self.pulls;
        pulls.sort_by(|a, b| b.norm.total_cmp(&a.norm));
        let mut counts = self.models.into_iter().map(|(_, counts)| counts);
        Some(ClassReport {
            run: counts.next()?,
            open: counts.next(),
            picture: self.picture,
            misread: self.misread,
            pulls: self.look.map(|look| (look.step, pulls)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASSES: usize = 10;

    fn counts(right: [u32; CLASSES]) -> Counts {
        let mut usual = vec![vec![0; CLASSES]; CLASSES];
        for (digit, right) in right.into_iter().enumerate() {
            usual[digit][digit] = right;
            usual[digit][(digit + 1) % CLASSES] = 10 - right;
        }
        Counts { step: 1, usual, turned: None }
    }

    #[test]
    fn pays_most_finds_the_largest_drop_in_accuracy() {
        let counted = |run, open: Option<[u32; CLASSES]>| ClassReport {
            run: counts(run),
            open: open.map(counts),
            picture: Picture::DIGIT,
            misread: vec![],
            pulls: None,
        };
        let run = [9, 8, 7, 3, 5, 5, 5, 5, 5, 10];
        assert_eq!(accuracy(&counts(run).usual, None), Some(0.62));
        assert_eq!(accuracy(&counts(run).usual, Some(3)), Some(0.3));
        assert_eq!(accuracy(&vec![vec![0; CLASSES]; CLASSES], Some(3)), None);
        // Not the digit with the lowest accuracy.
        assert_eq!(counted(run, Some([9, 9, 9, 4, 5, 5, 5, 5, 5, 5])).pays_most(), Some((2, 0.7, 0.9)));
        assert_eq!(counted(run, Some([1; CLASSES])).pays_most(), None);
        assert_eq!(counted(run, None).pays_most(), None);
    }
}
