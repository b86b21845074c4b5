//! Percent-encoded keys and values of an address.

/// Maximum length of our addresses, in bytes.
pub const LONGEST: usize = 4096;

/// Returns the decoded keys and values; none if the query is too long.
#[must_use]
pub fn pairs(query: &str) -> Vec<(String, String)> {
    let query = if query.len() > LONGEST { "" } else { query.trim_start_matches('?') };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (decode(key), decode(value)))
        .collect()
}

/// Percent-encodes everything that an address may not contain.
#[must_use]
pub fn encode(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~()*,".contains(&byte) {
            out.push(byte.into());
        } else {
            // Writing into a string cannot fail.
            _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// Decodes percent-encoding, and `+` as a space; invalid UTF-8 becomes �.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
        rest = tail;
        match (first, tail) {
            (b'+', _) => bytes.push(b' '),
            (b'%', [a, b, after @ ..]) if hex(*a).is_some() && hex(*b).is_some() => {
                bytes.push(hex(*a).unwrap_or(0) << 4 | hex(*b).unwrap_or(0));
                rest = after;
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
