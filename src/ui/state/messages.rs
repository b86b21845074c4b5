//! What the page says to the visitor: problems by what they are about, a notice, and words for the screen reader.

use leptos::prelude::*;

use crate::ui::{browser, settings::Number, text::heard};

/// The screen reader hears of a playing run this often, in milliseconds.
const SPOKEN_MS: f64 = 10_000.0;

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The link that the page was opened with: it stays until it is dismissed.
    Address,
    /// Digits that could not be brought, in whole or in part: it stays until others are asked for.
    Digits,
    /// The run: void once a new one stands.
    Run,
    /// A run file that was not opened: it stays until another is asked for, whatever run begins meanwhile.
    RunFile,
    /// The training thread: it stays until it is dismissed.
    Thread,
    /// The list of earlier runs: it stays until it is dismissed.
    RunList,
    Field(Number),
    /// The density of the visitor's own.
    Density,
    /// A field of the noise lab, of the release that is paid once, or texts of lessons that did not come: it stays until the next try.
    Lab,
    PayOnce,
    Lessons,
}

impl From<Option<Number>> for Origin {
    fn from(field: Option<Number>) -> Self {
        field.map_or(Self::Run, Self::Field)
    }
}

/// The messages. Copied freely.
#[derive(Clone, Copy)]
pub struct Messages {
    /// One problem for each origin. The page shows the last.
    pub problems: RwSignal<Vec<(Origin, String)>>,
    pub notice: RwSignal<Option<String>>,
    /// What a screen reader says.
    pub spoken: RwSignal<String>,
    spoken_at: StoredValue<f64>,
}

impl Messages {
    /// Messages that begin with the problems of the address.
    #[must_use]
    pub fn new(problems: &[String]) -> Self {
        Self {
            problems: RwSignal::new(of_address(problems)),
            notice: RwSignal::new(None),
            spoken: RwSignal::new(String::new()),
            spoken_at: StoredValue::new(0.0),
        }
    }

    /// The problems of another address, in place of all that was said.
    pub fn take_address(self, problems: &[String]) {
        self.problems.set(of_address(problems));
        self.notice.set(None);
    }

    /// Shows a notice.
    pub fn notify(self, sentence: String) {
        self.notice.set(Some(sentence));
    }

    /// Takes a notice away, unless another stands in its place.
    pub fn withdraw(self, sentence: &str) {
        if self.notice.with_untracked(|notice| notice.as_deref() == Some(sentence)) {
            self.notice.set(None);
        }
    }

    /// Whether the screen reader is to be told something: at once if `now`, else every ten seconds.
    #[must_use]
    pub fn is_time_to_speak(self, now: bool) -> bool {
        let time = browser::now();
        let due = now || time - self.spoken_at.get_value() >= SPOKEN_MS;
        if due {
            self.spoken_at.set_value(time);
        }
        due
    }

    /// Puts a problem in place of the one of the same origin.
    pub fn put(self, origin: impl Into<Origin>, sentence: String) {
        let origin = origin.into();
        self.problems.update(|problems| {
            problems.retain(|(of, _)| *of != origin);
            problems.push((origin, sentence));
        });
    }

    /// Takes the problem of an origin away.
    pub fn clear(self, origin: impl Into<Origin>) {
        let origin = origin.into();
        if self.problems.with_untracked(|problems| problems.iter().any(|(of, _)| *of == origin)) {
            self.problems.update(|problems| problems.retain(|(of, _)| *of != origin));
        }
    }

    /// The problem of an origin.
    #[must_use]
    pub fn of(self, origin: Origin) -> Option<String> {
        self.problems.with(|problems| problems.iter().find(|(of, _)| *of == origin).map(|(_, text)| text.clone()))
    }
}

fn of_address(problems: &[String]) -> Vec<(Origin, String)> {
    if problems.is_empty() { vec![] } else { vec![(Origin::Address, problems.join(" "))] }
}

/// A sentence of an error of the lower layers, which starts small and ends without a stop, in the visitor's language.
#[must_use]
pub fn as_sentence(text: &str) -> String {
    let text = heard(text.trim());
    // A file's name keeps its letters.
    let is_word = text.split_whitespace().next().is_some_and(|word| !word.contains(['-', '_', '/', '.']));
    let mut chars = text.chars();
    let mut sentence: String = match chars.next() {
        Some(first) if is_word => std::iter::once(first.to_ascii_uppercase()).chain(chars).collect(),
        _ => text.clone(),
    };
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}
