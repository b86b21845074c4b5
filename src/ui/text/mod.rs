//! The page's texts, in the visitor's language. Sources hold the English text, of which the program
//! keeps only a number; the texts of a language are a table (`www/text/en.txt`, `www/text/de.txt`,
//! …), which is fetched when the page starts.
//!
//! ```text
//! @name Deutsch
//! @decimal ,
//! @group .
//! Play
//! = Starten
//! {n} step | {n} steps
//! = {n} Schritt | {n} Schritte
//! ```
//!
//! A line is an English text; the line below it, starting with `= `, is its translation. A text
//! without one stays English. `cargo xtask text` adds new texts from the sources to every table,
//! and removes unused ones. The threads send messages as data ([`Message`]): their English templates
//! are looked up in the same table ([`heard`]).

use std::cell::Cell;

use hushgrad_message::{Message, Parts, Value};

use crate::{plot::format, ui::size::sort::sort};

/// A text of the page, identified by the digest of its English.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text(u32);

impl Text {
    /// Identifies a text by its English; in `text!`, at compile time, so only the number is kept.
    #[must_use]
    pub const fn of(english: &str) -> Self {
        // FNV-1a; a test checks that no two texts collide.
        let (bytes, mut hash, mut at) = (english.as_bytes(), 0x811c_9dc5_u32, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
            at += 1;
        }
        Self(hash)
    }

    /// Returns the text in the visitor's language; of several forms the last.
    #[must_use]
    pub fn get(self) -> &'static str {
        let text = TABLE.get().find(self);
        text.rsplit_once(FORMS).map_or(text, |(_, last)| last)
    }

    /// Returns the text in the visitor's language with each `{name}` filled in; of several forms
    /// (`{n} step | {n} steps`) the one for `n`, a whole number among the values.
    #[must_use]
    pub fn with(self, values: &[(&str, String)]) -> String {
        let table = TABLE.get();
        let text = table.find(self);
        let count = values.iter().find(|(name, _)| *name == "n").map(|(_, value)| value.as_str());
        fill(form(text, count, table.plural), &|name| match values.iter().find(|(known, _)| *known == name) {
            Some((_, value)) => value.clone(),
            // Show a name that the program does not know.
            None => format!("{{{name}}}"),
        })
    }
}

/// Holes for words of the visitor or the browser.
const OWN_WORDS: [&str; 9] = ["detail", "e", "file", "first", "images_file", "labels_file", "name", "second", "url"];

/// Returns a thread's message in the visitor's language. Words of the visitor stay as they are; other
/// values are numbers, formatted for the language, or words of a browser, translated if the table has
/// them.
#[must_use]
#[inline(never)]
pub fn heard(message: &Message) -> String {
    fn whole(parts: Parts<'_>) -> String {
        let (english, mut out) = (parts.template(), String::new());
        parts.fill(TABLE.get().translation(english).unwrap_or(english), &mut out, &mut shown);
        out
    }
    fn shown(name: &str, value: Value<'_>, out: &mut String) {
        let is_own = || OWN_WORDS.contains(&name) || out.ends_with(['“', '„', '`']);
        let text = match value {
            Value::Message(parts) => whole(parts),
            Value::Text(text) if is_own() => text.to_owned(),
            Value::Text(text) if is_number(text) => format::local(text.to_owned()),
            Value::Text(text) => TABLE.get().translation(text).unwrap_or(text).to_owned(),
        };
        out.push_str(&text);
    }
    whole(message.parts())
}

/// True if a text is a number or empty; hexadecimal bytes are numbers.
fn is_number(text: &str) -> bool {
    let has_digits = text.is_empty() || text.contains(|letter: char| letter.is_ascii_digit() || letter == '∞');
    has_digits
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte > 0x7f || b" .,-+".contains(&byte))
        && !text.contains(", ")
}

/// Translates the name of a dataset or a device, which run files keep in English.
#[must_use]
pub fn named(name: &str) -> String {
    if let Some(own) = TABLE.get().translation(name) {
        return own.to_owned();
    }
    if let Some(name) = name.strip_suffix(" (your files)") {
        return t!("{name} (your files)", name = name);
    }
    if let Some(name) = name.strip_prefix("your files (").and_then(|name| name.strip_suffix(')')) {
        return t!("your files ({name})", name = name);
    }
    if let Some(name) = name.strip_suffix(", software)") {
        return t!("{name}, software)", name = name);
    }
    match name.rsplit_once(", ").and_then(|(name, threads)| Some((name, threads.split_once(" thread")?.0))) {
        Some((name, n)) => t!("{name}, {n} thread | {name}, {n} threads", name = named(name), n = n),
        None => name.to_owned(),
    }
}

/// Separates the forms of a text.
const FORMS: &str = " | ";

/// Returns the form of a text for a number; the last without a number.
fn form<'a>(text: &'a str, count: Option<&str>, plural: fn(f64) -> usize) -> &'a str {
    let Some((_, last)) = text.rsplit_once(FORMS) else { return text };
    let digits: String = count.unwrap_or_default().chars().filter(char::is_ascii_digit).collect();
    let at = digits.parse::<u32>().ok().map(|n| plural(f64::from(n)));
    at.and_then(|at| text.split(FORMS).nth(at)).unwrap_or(last)
}

/// Replaces each `{name}` in a text by `value(name)`.
#[must_use]
pub fn fill(text: &str, value: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            rest = after;
            break;
        };
        out.push_str(&value(name));
        rest = tail;
    }
    out.push_str(rest);
    out
}

/// The texts of a language.
pub struct Table {
    texts: Vec<(u32, &'static str)>,
    /// Separators of decimals and of thousands.
    pub decimal: char,
    pub group: char,
    /// Returns the index of the form for a number.
    plural: fn(f64) -> usize,
}

impl Table {
    /// Reads a table, without lines it cannot parse. `plural` returns the index of a number's form.
    #[must_use]
    pub fn read(text: &'static str, plural: fn(f64) -> usize) -> Self {
        let mut table = Self { texts: vec![], decimal: '.', group: ',', plural };
        for line in text.lines() {
            if let Some(told) = line.strip_prefix('@') {
                let (name, value) = told.split_once(' ').unwrap_or((told, " "));
                let sign = value.chars().next().unwrap_or(' ');
                match name {
                    "decimal" => table.decimal = sign,
                    "group" => table.group = sign,
                    _ => {}
                }
            } else if let Some(own) = line.strip_prefix("= ") {
                // A translation of the last text.
                if let Some((_, shown)) = table.texts.last_mut() {
                    *shown = own;
                }
            } else if !line.is_empty() && !line.starts_with("# ") {
                table.texts.push((Text::of(line).0, line));
            }
        }
        sort(&mut table.texts, |a, b| a.0 < b.0);
        table
    }

    fn find(&self, text: Text) -> &'static str {
        self.texts.binary_search_by_key(&text.0, |(digest, _)| *digest).map_or("", |at| self.texts[at].1)
    }

    /// Returns the translation of an English text, if the table has it.
    fn translation(&self, english: &str) -> Option<&'static str> {
        Some(self.find(Text::of(english))).filter(|own| !own.is_empty())
    }
}

thread_local! {
    static TABLE: Cell<&'static Table> = Cell::new(first());
}

/// The page has no texts before its language is loaded.
#[cfg(target_arch = "wasm32")]
fn first() -> &'static Table {
    static EMPTY: Table = Table { texts: vec![], decimal: '.', group: ',', plural: |_| 0 };
    &EMPTY
}

/// Outside the page, as in tests, texts are English.
#[cfg(not(target_arch = "wasm32"))]
fn first() -> &'static Table {
    Box::leak(Box::new(Table::read(include_str!("../../../www/text/en.txt"), |n| usize::from(n != 1.0))))
}

/// Sets the texts of this thread, which are never freed.
pub fn speak(table: Table) {
    TABLE.set(Box::leak(Box::new(table)));
}

/// A text as a constant, for tables: `text!("Clip norm")`.
macro_rules! text {
    ($english:literal) => {
        const { $crate::ui::text::Text::of($english) }
    };
}

/// A text in the visitor's language, with values: `t!("Play")`,
/// `t!("{n} step | {n} steps", n = count)`.
macro_rules! t {
    ($english:literal) => {
        $crate::ui::text::text!($english).get()
    };
    ($english:literal, $($name:ident = $value:expr),+ $(,)?) => {
        $crate::ui::text::text!($english).with(&[$((stringify!($name), $value.to_string())),+])
    };
}

pub(crate) use {t, text};

#[cfg(test)]
mod heard_tests;

#[cfg(test)]
mod tests {
    use super::*;

    const GERMAN: &str = "@name Deutsch\n@decimal ,\n@group .\n\n# transport\nPlay\n= Starten\nε\n{n} step of {all} | {n} steps of {all}\n= {n} Schritt von {all} | {n} Schritte von {all}\n";

    #[test]
    fn texts_are_found_and_filled_in() {
        speak(Table::read(GERMAN, |n| usize::from(n != 1.0)));
        assert_eq!([t!("Play"), t!("ε"), t!("nobody says this")], ["Starten", "ε", ""]);
        let steps = |n: &str| t!("{n} step of {all} | {n} steps of {all}", n = n, all = 9);
        assert_eq!(
            [steps("1"), steps("2"), steps("1.200")],
            ["1 Schritt von 9", "2 Schritte von 9", "1.200 Schritte von 9"]
        );
        assert_eq!(text!("{n} step of {all} | {n} steps of {all}").with(&[]), "{n} Schritte von {all}");
        assert_eq!((TABLE.get().decimal, TABLE.get().group), (',', '.'));
    }

    #[test]
    fn no_two_texts_have_one_digest() {
        let table = Table::read(include_str!("../../../www/text/en.txt"), |_| 0);
        assert!(table.texts.len() > 300);
        for pair in table.texts.windows(2) {
            assert!(pair[0].0 != pair[1].0, "“{}” and “{}”: change a word", pair[0].1, pair[1].1);
        }
    }

    /// Reports, by number, any line of a table that [`Table::read`] would drop.
    #[test]
    fn no_line_of_a_table_is_dropped() {
        for (language, text) in
            [("en", include_str!("../../../www/text/en.txt")), ("de", include_str!("../../../www/text/de.txt"))]
        {
            let mut english = false;
            for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.is_empty()) {
                let place = format!("{language}.txt, line {number}: {line}");
                if let Some(told) = line.strip_prefix('@') {
                    let name = told.split(' ').next().unwrap_or_default();
                    assert!(["name", "dir", "decimal", "group"].contains(&name), "{place}");
                } else if line.starts_with("= ") {
                    assert!(std::mem::take(&mut english), "{place}: a translation of nothing");
                } else {
                    english = !line.starts_with("# ");
                }
            }
        }
    }

    #[test]
    fn languages_with_more_forms_have_them() {
        let polish = Table::read("{n} step | {n} steps\n= {n} krok | {n} kroki | {n} kroków\n", |n| match n as u32 {
            1 => 0,
            2..=4 => 1,
            _ => 2,
        });
        speak(polish);
        let steps = |n: u32| t!("{n} step | {n} steps", n = n);
        assert_eq!([1, 3, 5].map(steps), ["1 krok", "3 kroki", "5 kroków"]);
    }

    #[test]
    fn a_table_with_anything_in_it_is_read() {
        for text in ["", "= nothing above\n", "@\n@decimal\n", "a\n= b\n= c\n", "{\n= }{\n", " | \n"] {
            let table = Table::read(text, |_| 7);
            assert!(table.texts.len() < 5);
            speak(table);
            assert!(t!("{", a = 1).len() < 4);
            assert!(t!(" | ", n = 1).len() < 4);
        }
    }
}
