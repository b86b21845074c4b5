//! Lessons and formulas as one text file: `# key | title` starts a lesson, `## title` a step;
//! `@word rest` is an instruction to the page, `% key | formula | explanation | condition` a
//! formula, and any other line a paragraph.

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LessonSet {
    /// Numbered in order, from 1.
    pub lessons: Vec<Lesson>,
    pub formulas: Vec<Formula>,
}

/// A line of the file that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the lessons means nothing")]
pub struct LessonError {
    /// From 1.
    pub line: usize,
}

/// A lesson.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// Name in links.
    pub key: String,
    pub title: String,
    pub steps: Vec<Step>,
}

/// One page of a lesson.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub title: String,
    pub parts: Vec<Part>,
    pub question: Option<Question>,
    /// The settings to take, as a query; without them, settings and runs of the step before stay.
    pub set: Option<String>,
    /// Settings of the runs to compare with, as queries.
    pub also: Vec<String>,
    /// How far its run must be.
    pub until: Option<Until>,
    /// The panel to show: `results`, `step`, `setup`, `lab`.
    pub show: String,
    /// Test id of the element that the text refers to.
    pub point: Option<String>,
    /// The envelope of the noise lab.
    pub psi: Option<String>,
}

/// How far the run that a step describes must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// It need not have started.
    #[default]
    Set,
    /// A step was taken and recorded in detail.
    Step,
    /// All steps are done.
    End,
    /// The release that is paid once is made, and trained on.
    Once,
}

/// The state that a step's text describes, reached before the text states a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scene<'a> {
    pub set: &'a str,
    /// Runs to train to their end first, unless they exist.
    pub also: &'a [String],
    pub until: Until,
}

/// The parts of a step, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    Text(String),
    /// Key of a formula.
    Formula(String),
}

/// A multiple-choice question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    pub ask: String,
    pub choices: Vec<Choice>,
    /// The full answer, shown after a choice.
    pub answer: String,
}

/// A choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub right: bool,
    pub text: String,
    /// Why it is right or wrong.
    pub why: String,
}

/// A formula that opens to its explanation.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    pub key: String,
    pub formula: String,
    pub explanation: String,
    /// Settings for which it is among the run's formulas, as
    /// [`Settings::meet`](crate::ui::settings::Settings::meet) reads it; `lesson`: none.
    pub condition: String,
}

impl LessonSet {
    /// Parses the file.
    ///
    /// # Errors
    /// The first line that cannot be parsed.
    pub fn read(text: &str) -> Result<Self, LessonError> {
        let mut set = Self::default();
        for (line, number) in text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty()) {
            set.take(line).ok_or(LessonError { line: number })?;
        }
        Ok(set)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let fields = |rest: &str| -> Vec<String> { rest.split(" | ").map(|field| field.trim().to_owned()).collect() };
        if let Some(rest) = line.strip_prefix("% ") {
            let [key, formula, explanation, condition] = fields(rest).try_into().ok()?;
            self.formulas.push(Formula { key, formula, explanation, condition });
        } else if let Some(title) = line.strip_prefix("## ") {
            self.lessons.last_mut()?.steps.push(Step { title: title.to_owned(), ..Step::default() });
        } else if let Some(rest) = line.strip_prefix("# ") {
            let [key, title] = fields(rest).try_into().ok()?;
            self.lessons.push(Lesson { key, title, steps: vec![] });
        } else {
            self.lessons.last_mut()?.steps.last_mut()?.take(line)?;
        }
        Some(())
    }

    /// Returns the formula with this key.
    #[must_use]
    pub fn formula(&self, key: &str) -> Option<&Formula> {
        self.formulas.iter().find(|formula| formula.key == key)
    }

    /// Returns the indices of the lesson and step that a link names: `key` or `key.step`, or a
    /// lesson's number for its key; numbers in links start at 1.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(usize, usize)> {
        let (key, step) = name.split_once('.').unwrap_or((name, "1"));
        let number = |at: usize| key.parse() == Ok(at + 1);
        let at = (0..self.lessons.len()).find(|&at| self.lessons[at].key == key || number(at))?;
        let last = self.lessons[at].steps.len().checked_sub(1)?;
        Some((at, step.parse::<usize>().unwrap_or(1).saturating_sub(1).min(last)))
    }
}

impl Step {
    fn take(&mut self, line: &str) -> Option<()> {
        let Some((word, rest)) = line.strip_prefix('@').map(|line| line.split_once(' ').unwrap_or((line, ""))) else {
            self.parts.push(Part::Text(line.to_owned()));
            return Some(());
        };
        let rest = rest.to_owned();
        match word {
            "set" => self.set = Some(rest),
            "also" => self.also.push(rest),
            "run" => {
                self.until = Some(match rest.as_str() {
                    "all" => Until::End,
                    "once" => Until::Once,
                    _ => Until::Step,
                });
            }
            "set-lab" => self.psi = Some(rest),
            "show" => self.show = rest,
            "point" => self.point = Some(rest),
            "formula" => self.parts.push(Part::Formula(rest)),
            "ask" => self.question.get_or_insert_default().ask = rest,
            "answer" => self.question.get_or_insert_default().answer = rest,
            "choice" => {
                let (text, why) = rest.split_once(" | ").unwrap_or((&rest, ""));
                let (right, text) = text.strip_prefix("+ ").map_or((false, text), |text| (true, text));
                let text = text.strip_prefix("- ").unwrap_or(text).to_owned();
                self.question.get_or_insert_default().choices.push(Choice { right, text, why: why.to_owned() });
            }
            _ => return None,
        }
        Some(())
    }
}

impl Lesson {
    /// Returns the state that the text of a step describes.
    #[must_use]
    pub fn scene(&self, step: usize) -> Scene<'_> {
        let mut scene = Scene::default();
        for step in self.steps.iter().take(step + 1) {
            if let Some(set) = &step.set {
                scene = Scene { set, ..Scene::default() };
            }
            if !step.also.is_empty() {
                scene.also = &step.also;
            }
            scene.until = step.until.unwrap_or(scene.until);
        }
        scene
    }
}

#[cfg(test)]
#[path = "lesson_prices_tests.rs"]
mod prices;
#[cfg(test)]
#[path = "solutions_tests.rs"]
mod solutions;
#[cfg(test)]
#[path = "lesson_set_tests.rs"]
mod tests;
