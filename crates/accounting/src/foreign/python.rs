//! Python expressions of calls, lists, numbers and texts, such as the `repr` of an event. JSON without
//! objects is one, too.

use hushgrad_message::{Message, message, word};

use crate::error::PrivacyError;

/// Deeper nesting is refused, as Python's own parser does.
const DEEPEST: usize = 90;

/// A value as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Number(&'a str),
    Text(&'a str),
    List(Vec<Self>),
    /// A name with its arguments; `inf` has none.
    Call(&'a str, Vec<(Option<&'a str>, Self)>),
}

/// Parses one expression, with comments around it.
///
/// # Errors
/// Not such an expression, with its line and column.
pub(super) fn parse(text: &str) -> Result<Value<'_>, PrivacyError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip();
    if reader.at < text.len() { Err(reader.expected(word!("the end"))) } else { Ok(value) }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn expected(&self, what: &'static str) -> PrivacyError {
        let read = &self.text[..self.at];
        let (line, column) =
            (read.matches('\n').count() + 1, read.chars().rev().take_while(|c| *c != '\n').count() + 1);
        PrivacyError::Ledger {
            place: message!("line {}, column {}", line, column),
            problem: message!("not a DpEvent: {what} is missing here"),
        }
    }

    /// Skips spaces and comments.
    fn skip(&mut self) {
        loop {
            self.at = self.text.len() - self.rest().trim_start().len();
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn take(&mut self, sign: char) -> bool {
        self.skip();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len_utf8() } else { 0 };
        found
    }

    fn take_while(&mut self, within: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !within(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, PrivacyError> {
        if depth > DEEPEST {
            return Err(self.expected(word!("less nesting")));
        }
        self.skip();
        match self.rest().chars().next() {
            Some('[') => self.list(']', depth),
            Some('(') => self.list(')', depth),
            Some(quote @ ('"' | '\'')) => {
                self.at += 1;
                let text = self.take_while(|c| c != quote && c != '\\' && c != '\n');
                if self.rest().starts_with(quote) && self.take(quote) {
                    Ok(Value::Text(text))
                } else {
                    Err(self.expected(word!("a plain text")))
                }
            }
            Some(c) if c.is_ascii_digit() || "+-.".contains(c) => {
                Ok(Value::Number(self.take_while(|c| c.is_ascii_alphanumeric() || "+-._".contains(c))))
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.take_while(|c| c.is_ascii_alphanumeric() || "._".contains(c));
                Ok(Value::Call(name, if self.take('(') { self.arguments(depth)? } else { Vec::new() }))
            }
            _ => Err(self.expected(word!("a value"))),
        }
    }

    fn list(&mut self, end: char, depth: usize) -> Result<Value<'a>, PrivacyError> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.value(depth + 1)?);
            if !self.take(',') && !self.rest().starts_with(end) {
                return Err(self.expected(word!("a comma or bracket")));
            }
        }
        Ok(Value::List(items))
    }

    fn arguments(&mut self, depth: usize) -> Result<Vec<(Option<&'a str>, Value<'a>)>, PrivacyError> {
        let mut all = Vec::new();
        while !self.take(')') {
            let value = self.value(depth + 1)?;
            all.push(match value {
                Value::Call(name, none) if none.is_empty() && self.take('=') => (Some(name), self.value(depth + 1)?),
                value => (None, value),
            });
            if !self.take(',') && !self.rest().starts_with(')') {
                return Err(self.expected(word!("a comma or bracket")));
            }
        }
        Ok(all)
    }
}

impl Value<'_> {
    /// The number, also in one of NumPy's types: `np.float64(1.1)`.
    pub fn number<N: std::str::FromStr>(&self) -> Option<N> {
        match self {
            Self::Number(text) => text.parse().ok(),
            Self::Call(name, arguments) => match arguments.as_slice() {
                [] if ["inf", "nan"].contains(name) => name.parse().ok(),
                [(None, value @ Self::Number(_))] if is_number(name) => value.number(),
                _ => None,
            },
            Self::Text(_) | Self::List(_) => None,
        }
    }
}

fn is_number(name: &str) -> bool {
    let name = name.rsplit('.').next().unwrap_or(name);
    ["float64", "int64", "int32", "float", "int"].contains(&name)
}

impl std::fmt::Display for Value<'_> {
    /// In short, for errors.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(items) => write!(f, "[{}]", if items.is_empty() { "" } else { "…" }),
            Self::Call(name, arguments) => write!(f, "{name}{}", if arguments.is_empty() { "" } else { "(…)" }),
        }
    }
}

/// A number as Python reads it, to the last bit.
pub(super) fn float(value: f64) -> String {
    format!("{value:?}")
}

/// A place inside an event.
pub(super) fn place(path: &str) -> Message {
    Message::text(if path.is_empty() { "event" } else { path })
}
