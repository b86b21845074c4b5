//! Standard output.

use std::{
    error::Error,
    io::{self, Write as _},
};

/// Writes a line. Whether somebody still reads: a reader that has closed its pipe, as `head` does, has read enough.
///
/// # Errors
/// When it cannot be written for another reason.
pub fn is_read(line: &str) -> Result<bool, Box<dyn Error>> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(format!("cannot write to standard output: {error}").into()),
        Ok(()) => Ok(true),
    }
}

/// [`is_read`], where nothing is left to do.
///
/// # Errors
/// As [`is_read`].
pub fn say(line: &str) -> Result<(), Box<dyn Error>> {
    is_read(line).map(drop)
}
