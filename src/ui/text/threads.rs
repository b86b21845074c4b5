//! Translates what the threads say. Their errors, notices and assumptions are English, as in the
//! native tool. To show them in another language, the page uses the patterns of its table below the
//! line `@threads`:
//!
//! ```text
//! {=file}: {fault}
//! = {=file}: {fault}
//! the file holds {found}; expected {expected}
//! = die Datei enthält {found}; erwartet werden {expected}
//! ```
//!
//! A hole matches any text between the words around it. The match is translated in turn, and a
//! number is formatted for the language; but `{=name}` matches words of the visitor, the browser or
//! a device, which stay as they are. What no pattern matches stays English.

use std::cell::Cell;

use super::{TABLE, fill};
use crate::plot::format;

/// Maximum length of a translated text, in bytes.
const LONGEST: usize = 2000;
/// Maximum depth of nested sentences.
const DEEPEST: u32 = 6;
/// Maximum number of ends of holes tried for a text and one of the patterns.
const TRIES: u32 = 500;

/// A pattern and its translation.
pub(super) type Pattern = (&'static str, &'static str);

/// A hole's name, and what it matched.
type Caught<'a> = (&'a str, &'a str);

/// Inserts a pattern, keeping those with the most literal text first.
pub(super) fn add(patterns: &mut Vec<Pattern>, pattern: Pattern) {
    let own = words(pattern.0);
    let place = patterns.partition_point(|(other, _)| words(other) >= own);
    patterns.insert(place, pattern);
}

/// Number of bytes outside holes.
fn words(pattern: &str) -> usize {
    pattern.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, after)| after).len()).sum()
}

/// Translates what a thread said.
#[must_use]
#[inline(never)]
pub fn heard(said: &str) -> String {
    let found = if said.len() > LONGEST { None } else { look_up(said, DEEPEST, &Cell::new(0)) };
    found.map_or_else(|| said.to_owned(), |(own, _)| own)
}

/// Returns the first complete translation, else that of the pattern with the most literal text; and
/// whether it is complete.
fn look_up(said: &str, deepest: u32, tries: &Cell<u32>) -> Option<(String, bool)> {
    let deeper = deepest.checked_sub(1)?;
    let mut found: Option<(String, bool)> = None;
    for (english, own) in &TABLE.get().patterns {
        if deepest == DEEPEST {
            tries.set(TRIES);
        } else if english.starts_with("{=") {
            // Inside a sentence, a leading visitor's word could absorb the sentence's beginning.
            continue;
        }
        let mut take = |caught: &[Caught]| {
            let (first, whole) = (found.is_none(), Cell::new(true));
            let text = fill(own, &|name| {
                // This match will be discarded.
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

/// True if a text is a number or empty; hexadecimal bytes are numbers.
fn is_number(text: &str) -> bool {
    let has_digits = text.is_empty() || text.contains(|letter: char| letter.is_ascii_digit() || letter == '∞');
    has_digits
        && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte > 0x7f || b" .,-+".contains(&byte))
        && !text.contains(", ")
}

/// Passes each match of a pattern's holes to `take`, until it accepts one.
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
    // A visitor's word matches as much as possible, so that what follows it is short; other holes
    // match as little as possible. Without words after it, a hole matches all that is left.
    let far = next.is_empty() || name.starts_with('=');
    for place in 0..=said.len() {
        let end = if far { said.len() - place } else { place };
        // `find` would add some kilobytes to the program.
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
