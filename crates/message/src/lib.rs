#![doc = include_str!("../README.md")]

// The macros' paths hold here, too.
extern crate self as hushgrad_message;

use std::fmt;

pub use hushgrad_message_derive::{Error, message};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An English template, and the values of its holes. In formats for humans, as JSON, it is its English
/// text; in others its data. Messages of the same English text are equal.
///
/// One text, so that it is moved, dropped and sent as any other: the template, then for each distinct
/// hole, in the order of first occurrence, `VALUE`, the kind of its value (`M` or `T`), its length in
/// bytes, a colon, and the value itself.
#[derive(Clone, Default)]
pub struct Message(String);

/// Precedes a value; occurs in no template.
const VALUE: char = '\u{1}';

/// The template and the values of a message.
#[derive(Clone, Copy)]
pub struct Parts<'a>(&'a str);

/// The value of a hole.
pub enum Value<'a> {
    /// Another message, to be translated itself.
    Message(Parts<'a>),
    /// A number, or words of a visitor, a browser or a device: not translated.
    Text(&'a str),
}

/// Something with a text that can be translated.
pub trait ToMessage {
    /// Returns the text as data.
    fn to_message(&self) -> Message;
}

impl Message {
    /// Takes a template, and a value for each of its distinct holes, in the order of first occurrence.
    /// The macros call this.
    #[doc(hidden)]
    #[must_use]
    #[cold]
    #[inline(never)]
    pub fn new(template: &'static str, holes: &[hole::Hole<'_>]) -> Self {
        let mut message = Self(template.to_owned());
        holes.iter().for_each(|hole| message.push(hole));
        message
    }

    fn push(&mut self, hole: &hole::Hole<'_>) {
        let (kind, value) = match hole {
            hole::Hole::Message(message) => ('M', message.to_message().0),
            hole::Hole::Text(text) => ('T', text.to_string()),
        };
        self.0.push(VALUE);
        self.0.push(kind);
        self.0.push_str(&value.len().to_string());
        self.0.push(':');
        self.0.push_str(&value);
    }

    /// Words that are not translated, as those of a browser.
    #[must_use]
    pub fn text(text: impl fmt::Display) -> Self {
        Self::new("{0}", &[hole::Hole::Text(&text)])
    }

    /// True if there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if its English text contains this text.
    #[must_use]
    pub fn contains(&self, text: &str) -> bool {
        self.to_string().contains(text)
    }

    /// Returns the template and the values.
    #[must_use]
    pub fn parts(&self) -> Parts<'_> {
        Parts(&self.0)
    }

    /// Returns the English template: `{field} is {value}`.
    #[must_use]
    pub fn template(&self) -> &str {
        self.parts().template()
    }
}

impl<'a> Parts<'a> {
    /// Returns the English template: `{field} is {value}`.
    #[must_use]
    pub fn template(self) -> &'a str {
        self.0.split(VALUE).next().unwrap_or_default()
    }

    /// Returns the value of the hole of this name.
    #[must_use]
    pub fn value(self, name: &str) -> Option<Value<'a>> {
        let (template, mut rest) = self.0.split_at(self.template().len());
        for hole in holes(template) {
            let (head, after) = rest.strip_prefix(VALUE)?.split_once(':')?;
            let (kind, length) = head.split_at_checked(1)?;
            let (value, after) = after.split_at_checked(length.parse().ok()?)?;
            if hole == name {
                return Some(if kind == "M" { Value::Message(Self(value)) } else { Value::Text(value) });
            }
            rest = after;
        }
        None
    }

    /// Fills a template, this one or a translation of it, with what `shown` makes of each hole's name and
    /// value.
    pub fn fill(self, template: &str, out: &mut String, shown: &mut dyn FnMut(&str, Value<'_>, &mut String)) {
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            out.push_str(before);
            if let Some(value) = self.value(name) {
                shown(name, value, out);
            }
            rest = after;
        }
        out.push_str(rest);
    }
}

/// Lists the distinct holes of a template, in the order of first occurrence.
fn holes(template: &str) -> impl Iterator<Item = &str> {
    let all = move || template.split('{').skip(1).filter_map(|part| Some(part.split_once('}')?.0));
    all().enumerate().filter(move |(at, hole)| !all().take(*at).any(|before| before == *hole)).map(|(_, hole)| hole)
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn english(_: &str, value: Value<'_>, out: &mut String) {
            match value {
                Value::Message(parts) => parts.fill(parts.template(), out, &mut english),
                Value::Text(text) => out.push_str(text),
            }
        }
        let mut out = String::new();
        self.parts().fill(self.template(), &mut out, &mut english);
        f.write_str(&out)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Message {}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&self.to_string())
        } else {
            serializer.serialize_str(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let is_text = deserializer.is_human_readable();
        let text = String::deserialize(deserializer)?;
        Ok(if is_text { Self::text(text) } else { Self(text) })
    }
}

impl From<&'static str> for Message {
    fn from(template: &'static str) -> Self {
        Self(template.to_owned())
    }
}

impl ToMessage for Message {
    fn to_message(&self) -> Self {
        self.clone()
    }
}

impl<T: ToMessage + ?Sized> ToMessage for &T {
    fn to_message(&self) -> Message {
        (**self).to_message()
    }
}

impl ToMessage for &'static str {
    fn to_message(&self) -> Message {
        (*self).into()
    }
}

/// Marks words of the program, for the tables of translations.
#[macro_export]
macro_rules! word {
    ($word:literal) => {
        $word
    };
}

/// Implements `Display` for types that have a message.
#[macro_export]
macro_rules! display {
    ($($of:ty),+) => {
        $(impl ::std::fmt::Display for $of {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(&$crate::ToMessage::to_message(self), f)
            }
        })+
    };
}

/// How the macros turn a hole's value into a [`Value`].
#[doc(hidden)]
pub mod hole {
    use std::fmt::Display;

    use super::{Message, ToMessage};

    /// What fills a hole. Not generic, so that programs contain one function for all of them.
    pub enum Hole<'a> {
        Message(&'a dyn ToMessage),
        Text(&'a dyn Display),
    }

    /// `(&&Of(&value)).hole()` is [`Hole::Message`] if the value has a message: of two methods of one
    /// name Rust takes the one that needs fewer dereferences.
    pub struct Of<'a, T>(pub &'a T);

    pub trait OfMessage<'a> {
        fn hole(&self) -> Hole<'a>;
    }

    impl<'a, T: ToMessage> OfMessage<'a> for &Of<'a, T> {
        fn hole(&self) -> Hole<'a> {
            Hole::Message(self.0)
        }
    }

    pub trait OfText<'a> {
        fn hole(&self) -> Hole<'a>;
    }

    impl<'a, T: Display> OfText<'a> for Of<'a, T> {
        fn hole(&self) -> Hole<'a> {
            Hole::Text(self.0)
        }
    }

    /// Returns the message of a transparent error.
    #[must_use]
    #[inline(never)]
    pub fn message(hole: &Hole<'_>) -> Message {
        match hole {
            Hole::Message(message) => message.to_message(),
            Hole::Text(text) => Message::text(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Error)]
    enum Inner {
        #[error("layer {0} is “{1}”")]
        Layer(usize, String),
    }

    #[derive(Debug, Error)]
    enum Outer {
        #[error("nothing")]
        Nothing,
        #[error("{file}: {fault}; {file} stays")]
        File { file: String, fault: Inner },
        #[error("{what} is {value:.1e}{}, {LIMIT} at most", if *.exact { " exactly" } else { "" })]
        Limit { what: &'static str, value: f64, exact: bool },
        #[error(transparent)]
        Inner(#[from] Inner),
        #[error(transparent)]
        Number(#[from] std::num::ParseIntError),
        #[error("{0:?} has {len} letters", len = .0.len())]
        Quoted(String),
    }

    const LIMIT: u32 = 7;

    #[derive(Debug, Error)]
    #[error("the page {0}")]
    struct Page(&'static str);

    /// A translation into capitals, of messages alone.
    fn loud(message: Parts<'_>) -> String {
        let mut out = String::new();
        let template: String = message
            .template()
            .split_inclusive(['{', '}'])
            .map(|part| if part.ends_with('}') { part.to_owned() } else { part.to_uppercase() })
            .collect();
        message.fill(&template, &mut out, &mut |_, value, out| match value {
            Value::Message(message) => out.push_str(&loud(message)),
            Value::Text(text) => out.push_str(text),
        });
        out
    }

    #[test]
    fn a_message_is_what_the_error_displays_and_its_parts_are_translated_apart() {
        let file = || "a {b}".to_owned();
        let inner = || Inner::Layer(2, "conv".into());
        let number = "x".parse::<u32>().unwrap_err();
        for (error, shouted) in [
            (Outer::Nothing, "NOTHING"),
            (Outer::File { file: file(), fault: inner() }, "a {b}: LAYER 2 IS “conv”; a {b} STAYS"),
            (Outer::Limit { what: "rate", value: 1234.0, exact: true }, "RATE IS 1.2e3 EXACTLY, 7 AT MOST"),
            (Outer::Inner(inner()), "LAYER 2 IS “conv”"),
            (Outer::Number(number), "invalid digit found in string"),
            (Outer::Quoted("ab".into()), "\"ab\" HAS 2 LETTERS"),
        ] {
            let message = error.to_message();
            assert_eq!(message.to_string().to_lowercase(), shouted.to_lowercase());
            assert_eq!((loud(message.parts()).as_str(), error.to_string()), (shouted, message.to_string()));
        }
        let chained = Outer::from(inner());
        assert!(std::error::Error::source(&chained).is_none(), "its text is the inner one's own");
        assert_eq!(loud(Page("is gone").to_message().parts()), "THE PAGE IS GONE");
    }

    #[test]
    fn holes_take_names_positions_and_formats() {
        let (n, name) = (3, "own".to_owned());
        let message = message!("{n} of {name}, {:.1} and {more}", 0.25, more = word!("more"));
        assert_eq!(message.to_string(), "3 of own, 0.2 and more");
        assert_eq!(message.template(), "{n} of {name}, {0} and {more}");
        assert_eq!(loud(message.parts()), "3 OF own, 0.2 AND MORE");
        assert!(message.parts().value("nobody").is_none());
        assert_eq!(message!("alone"), Message::from("alone"));
    }

    #[test]
    fn anything_as_a_translation_is_filled() {
        let message = message!("{0} and {0}", 1);
        for (template, filled) in [("{", "{"), ("}{0}", "}1"), ("a{0", "a{0"), ("{x}", ""), ("", "")] {
            let mut out = String::new();
            message.parts().fill(template, &mut out, &mut |_, value, out| {
                if let Value::Text(text) = value {
                    out.push_str(text);
                }
            });
            assert_eq!(out, filled, "{template}");
        }
    }
}
