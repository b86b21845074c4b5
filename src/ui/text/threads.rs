//! What the threads say. Their errors, notices and assumptions are English, as the native tool's are; in another language the page looks them
//! up, when they are shown, by the patterns of its table that stand below the line `@threads`:
//!
//! ```text
//! {=file}: {fault}
//! = {=file}: {fault}
//! the file holds {found}; expected {expected}
//! = die Datei enthält {found}; erwartet werden {expected}
//! ```
//!
//! A hole catches whatever stands between the words around it. What it caught is looked up in turn, and a number is written as the language
//! has it; but `{=name}` catches a word of the visitor's, of the browser's or of a device, which stays as it is. What no pattern fits stays English.

use std::cell::Cell;

use super::{TABLE, fill};
use crate::plot::format;

/// Longer texts stay as they are, in bytes.
const LONGEST: usize = 2000;
/// Sentences in sentences that are looked up.
const DEEPEST: u32 = 6;
/// Places where holes may end that are tried for a text and one of the patterns, whatever is in it.
const TRIES: u32 = 500;

/// A pattern and its translation.
pub(super) type Pattern = (&'static str, &'static str);

/// A hole's name, and what it caught.
type Caught<'a> = (&'a str, &'a str);

/// Adds a pattern to others, of which the one with the most words of its own stands first.
pub(super) fn add(patterns: &mut Vec<Pattern>, pattern: Pattern) {
    let own = words(pattern.0);
    let place = patterns.partition_point(|(other, _)| words(other) >= own);
    patterns.insert(place, pattern);
}

/// Bytes outside its holes.
fn words(pattern: &str) -> usize {
    pattern.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, after)| after).len()).sum()
}

/// What a thread said, in the visitor's language.
#[must_use]
#[inline(never)]
pub fn heard(said: &str) -> String {
    let found = if said.len() > LONGEST { None } else { look_up(said, DEEPEST, &Cell::new(0)) };
    found.map_or_else(|| said.to_owned(), |(own, _)| own)
}

/// A text's translation, and whether nothing of it stayed English. Where patterns leave something, it is that of the one with the most words.
fn look_up(said: &str, deepest: u32, tries: &Cell<u32>) -> Option<(String, bool)> {
    let deeper = deepest.checked_sub(1)?;
    let mut found: Option<(String, bool)> = None;
    for (english, own) in &TABLE.get().patterns {
        if deepest == DEEPEST {
            tries.set(TRIES);
        } else if english.starts_with("{=") {
            // What begins with the visitor's word is no part of another sentence: else their word may pass for the other's beginning.
            continue;
        }
        let mut take = |caught: &[Caught]| {
            let (first, whole) = (found.is_none(), Cell::new(true));
            let text = fill(own, &|name| {
                // It is left aside.
                if !first && !whole.get() {
                    return String::new();
                }
                let value = caught.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
                if name.starts_with('=') {
                    return value.to_owned();
                }
                if is_number(value) {
                    return format::local(value.to_owned());
                }
                let (text, all) = look_up(value, deeper, tries).unwrap_or_else(|| (value.to_owned(), false));
                whole.set(whole.get() && all);
                text
            });
            if first || whole.get() {
                found = Some((text, whole.get()));
            }
            whole.get()
        };
        if fits(english, said, &mut vec![], tries, &mut take) {
            break;
        }
    }
    found
}

/// Whether a text is a number, or nothing; bytes in hexadecimal are.
fn is_number(text: &str) -> bool {
    let has_digits = text.is_empty() || text.contains(|letter: char| letter.is_ascii_digit() || letter == '∞');
    has_digits
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte > 0x7f || b" .,-+".contains(&byte))
        && !text.contains(", ")
}

/// Hands what a pattern's holes catch of a text to `take`, until it takes it.
fn fits<'a>(
    pattern: &'a str,
    said: &'a str,
    caught: &mut Vec<Caught<'a>>,
    tries: &Cell<u32>,
    take: &mut dyn FnMut(&[Caught<'a>]) -> bool,
) -> bool {
    let Some((before, after)) = pattern.split_once('{') else { return pattern == said && take(caught) };
    let (Some(said), Some((name, after))) = (said.strip_prefix(before), after.split_once('}')) else { return false };
    let next = after.split_once('{').map_or(after, |(words, _)| words);
    // A word of the visitor's goes as far as it can, so that what follows it is short; anything else ends as soon as it can. With no words
    // after it, a hole catches all that is left.
    let far = next.is_empty() || name.starts_with('=');
    for place in 0..=said.len() {
        let end = if far { said.len() - place } else { place };
        // Searching by `find` would bring some kilobytes of program.
        let Some(rest) = said.get(end..).filter(|rest| rest.starts_with(next)) else { continue };
        let Some(left) = tries.get().checked_sub(1) else { return false };
        tries.set(left);
        caught.push((name, &said[..end]));
        if fits(after, rest, caught, tries, take) {
            return true;
        }
        caught.pop();
        if next.is_empty() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod said_tests;
#[cfg(test)]
mod tests;
