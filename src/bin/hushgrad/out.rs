//! Standard output.

use std::{
    error::Error,
    io::{self, Write as _},
};

/// Writes a line. Returns false if the reader has closed its pipe, as `head` does.
///
/// # Errors
/// If the line cannot be written for another reason.
pub fn is_read(line: &str) -> Result<bool, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(format!("cannot write to standard output: {error}").into()),
        Ok(()) => Ok(true),
    }
}

/// As [`is_read`], without telling whether the reader is still there.
///
/// # Errors
/// As [`is_read`].
pub fn say(line: &str) -> Result<(), Box<dyn Error>> {
    is_read(line).map(drop)
}
