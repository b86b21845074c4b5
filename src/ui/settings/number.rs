//! Number fields: names, ranges and errors.

use std::fmt;

use super::{
    slider::{Slider, Spacing},
    typed::read,
    values::Settings,
};
pub use crate::train::run_file::clipped;
use crate::{
    plot::format::{self, significant},
    ui::text::{Text, t, text},
};

/// A number that can be set: an entry of the table of [`numbers`](super::numbers).
pub struct NumberSpec<S: 'static = Settings> {
    /// Key in links; part of the field's id in the page.
    pub key: &'static str,
    /// Paths in a [`RunConfig`](crate::train::config::RunConfig), as in the training thread's
    /// errors.
    pub paths: &'static [&'static str],
    pub label: Text,
    /// The sentence behind ⓘ.
    pub hint: Text,
    /// Label of a run that differs in this number, with a placeholder `{value}`.
    pub named: Text,
    pub least: Bound,
    pub most: Bound,
    pub whole: bool,
    /// True if the field may be empty.
    pub optional: bool,
    pub slider: Option<Slider>,
    /// True if it affects the run that these settings describe.
    pub applies: fn(&S) -> bool,
    /// The field's `data-testid`, for other tools.
    pub hook: Option<&'static str>,
    /// Returns the value; `None` if empty.
    pub get: fn(&S) -> Option<f64>,
    /// Sets an allowed value. `None` empties an optional field and leaves others unchanged.
    pub set: fn(&mut S, Option<f64>),
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Inclusive.
    At(f64),
    /// Exclusive.
    Beyond(f64),
}

/// Largest seed or count: integers up to it are exact in f64 and in JSON.
pub const WHOLE: f64 = 9_007_199_254_740_991.0;

/// Why a text is not a value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// The field must not be empty.
    Empty { label: &'static str, range: String },
    /// The text is not a number, or out of range.
    Outside { label: &'static str, range: String, typed: String },
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { label, range } => {
                f.write_str(&t!("{label} is empty; it must be {range}.", label = label, range = range))
            }
            Self::Outside { label, range, typed } => f.write_str(&t!(
                "{label} must be {range}; “{typed}” is not.",
                label = label,
                range = range,
                typed = typed
            )),
        }
    }
}

impl<S> NumberSpec<S> {
    /// Defaults of an entry.
    pub const PLAIN: Self = Self {
        key: "",
        paths: &[],
        label: Text::of(""),
        hint: Text::of(""),
        named: Text::of(""),
        least: Bound::Beyond(0.0),
        most: Bound::At(1e6),
        whole: false,
        optional: false,
        slider: None,
        applies: |_| true,
        hook: None,
        get: |_| None,
        set: |_, _| {},
    };

    /// Parses typed text; `None` for an empty optional field.
    ///
    /// # Errors
    /// The field, its range and the text.
    pub fn parse(&self, text: &str) -> Result<Option<f64>, NumberError> {
        let typed = text.trim();
        if typed.is_empty() && self.optional {
            return Ok(None);
        }
        let value = read(typed).filter(|&value| self.allows(value));
        value.map(Some).ok_or_else(|| match typed {
            "" => NumberError::Empty { label: self.label.get(), range: self.range() },
            _ => NumberError::Outside { label: self.label.get(), range: self.range(), typed: clipped(typed) },
        })
    }

    #[must_use]
    pub fn allows(&self, value: f64) -> bool {
        let above = match self.least {
            Bound::At(least) => value >= least,
            Bound::Beyond(least) => value > least,
        };
        let below = match self.most {
            Bound::At(most) => value <= most,
            Bound::Beyond(most) => value < most,
        };
        // NaN fails both comparisons.
        above && below && (!self.whole || value.fract() == 0.0)
    }

    /// Returns the range in words: "a whole number from 1 to 4,096".
    #[must_use]
    pub fn range(&self) -> String {
        let (Bound::At(least) | Bound::Beyond(least), Bound::At(most) | Bound::Beyond(most)) = (self.least, self.most);
        let words = match (self.least, self.most, self.whole) {
            (Bound::At(_), Bound::At(_), true) if most >= WHOLE => text!("a whole number of at least {least}"),
            (Bound::At(_), Bound::At(_), true) => text!("a whole number from {least} to {most}"),
            (Bound::Beyond(_), Bound::At(_), true) => text!("a whole number above {least} and at most {most}"),
            (Bound::At(_), Bound::At(_), false) => text!("a number from {least} to {most}"),
            (Bound::Beyond(_), Bound::At(_), false) => text!("a number above {least} and at most {most}"),
            (Bound::At(_), Bound::Beyond(_), _) => text!("a number from {least} to below {most}"),
            (Bound::Beyond(_), Bound::Beyond(_), _) => text!("a number between {least} and {most}, without the ends"),
        };
        words.with(&[("least", format::number(least)), ("most", format::number(most))])
    }

    /// Returns the next value up or down: along the slider, and beyond its ends within the range.
    /// `None` at the end of the range.
    #[must_use]
    pub fn nudged(&self, value: f64, up: bool) -> Option<f64> {
        let sign = if up { 1.0 } else { -1.0 };
        let further = |next: &f64| (next - value) * sign > 0.0;
        let along = self.slider.filter(|slider| (slider.low..=slider.high).contains(&value)).and_then(|slider| {
            let share = slider.share(value);
            (1..=100).map(|i| slider.value(share + 0.01 * sign * f64::from(i))).find(further)
        });
        let next = along.unwrap_or_else(|| match self.slider {
            Some(Slider { spacing: Spacing::Even, .. }) => ((value + 0.01 * sign) * 1e4).round() / 1e4,
            _ if self.whole => value + sign,
            _ => significant(value * 1.1f64.powf(sign), 3),
        });
        let next = if let Bound::At(least) = self.least { next.max(least) } else { next };
        let next = if let Bound::At(most) = self.most { next.min(most) } else { next };
        Some(next).filter(|next| further(next) && self.allows(*next))
    }
}
