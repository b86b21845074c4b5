//! Messages to the visitor: problems by origin, a notice, and words for the screen reader.

use hushgrad_message::Message;
use leptos::prelude::*;

use crate::ui::{browser, settings::Number, text::heard};

/// Milliseconds between reports to the screen reader while a run plays.
const SPOKEN_MS: f64 = 10_000.0;

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The link that opened the page; stays until dismissed.
    Address,
    /// Digits that did not arrive, in whole or in part; stays until others are requested.
    Digits,
    /// The run; cleared when a new one starts.
    Run,
    /// A run file that was not opened; stays until another is requested, even if a run starts.
    RunFile,
    /// The training thread; stays until dismissed.
    Thread,
    /// The list of earlier runs; stays until dismissed.
    RunList,
    Field(Number),
    /// The visitor's density.
    Density,
    /// A field of the noise lab. This and the next two stay until the next try.
    Lab,
    PayOnce,
    Lessons,
}

impl From<Option<Number>> for Origin {
    fn from(field: Option<Number>) -> Self {
        field.map_or(Self::Run, Self::Field)
    }
}

#[derive(Clone, Copy)]
pub struct Messages {
    /// One problem per origin; the page shows the last.
    pub problems: RwSignal<Vec<(Origin, String)>>,
    pub notice: RwSignal<Option<String>>,
    /// Words for the screen reader.
    pub spoken: RwSignal<String>,
    spoken_at: StoredValue<f64>,
}

impl Messages {
    /// Creates messages with the problems of the address.
    #[must_use]
    pub fn new(problems: &[String]) -> Self {
        Self {
            problems: RwSignal::new(of_address(problems)),
            notice: RwSignal::new(None),
            spoken: RwSignal::new(String::new()),
            spoken_at: StoredValue::new(0.0),
        }
    }

    /// Replaces all messages by the problems of another address.
    pub fn take_address(self, problems: &[String]) {
        self.problems.set(of_address(problems));
        self.notice.set(None);
    }

    pub fn notify(self, sentence: String) {
        self.notice.set(Some(sentence));
    }

    /// Removes a notice, unless another has replaced it.
    pub fn withdraw(self, sentence: &str) {
        if self.notice.with_untracked(|notice| notice.as_deref() == Some(sentence)) {
            self.notice.set(None);
        }
    }

    /// True if the screen reader is due a report: at once if `now`, else every ten seconds.
    #[must_use]
    pub fn is_time_to_speak(self, now: bool) -> bool {
        let time = browser::now();
        let due = now || time - self.spoken_at.get_value() >= SPOKEN_MS;
        if due {
            self.spoken_at.set_value(time);
        }
        due
    }

    /// Replaces the problem of an origin.
    pub fn put(self, origin: impl Into<Origin>, sentence: String) {
        let origin = origin.into();
        self.problems.update(|problems| {
            problems.retain(|(of, _)| *of != origin);
            problems.push((origin, sentence));
        });
    }

    /// Removes the problem of an origin.
    pub fn clear(self, origin: impl Into<Origin>) {
        let origin = origin.into();
        if self.problems.with_untracked(|problems| problems.iter().any(|(of, _)| *of == origin)) {
            self.problems.update(|problems| problems.retain(|(of, _)| *of != origin));
        }
    }

    /// Returns the problem of an origin.
    #[must_use]
    pub fn of(self, origin: Origin) -> Option<String> {
        self.problems.with(|problems| problems.iter().find(|(of, _)| *of == origin).map(|(_, text)| text.clone()))
    }
}

fn of_address(problems: &[String]) -> Vec<(Origin, String)> {
    if problems.is_empty() { vec![] } else { vec![(Origin::Address, problems.join(" "))] }
}

/// Translates a message, and makes it a sentence with a capital and a full stop.
#[must_use]
pub fn as_sentence(message: &Message) -> String {
    let text = heard(message);
    // Keep the case of a file's name.
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
