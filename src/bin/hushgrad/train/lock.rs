//! One writer per file: a lock on a file beside it, released by the system however its holder ends.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

/// The lock file's contents: for users, and for later runs to recognise lock files by.
const SAYS: &str = "A run of hushgrad that writes the file of this name has this open. If it was killed, the next run in this folder removes this.\n";

/// Released when dropped.
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock of `target`; `None` if another process holds it.
    pub fn try_take(target: &Path) -> io::Result<Option<Self>> {
        remove_left(target);
        Self::taken(target, |file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        })
    }

    /// Waits for the lock of `target` and takes it.
    pub fn take(target: &Path) -> io::Result<Self> {
        let taken = Self::taken(target, |file| file.lock().map(|()| true))?;
        taken.ok_or_else(|| io::Error::other("the lock could not be taken"))
    }

    fn taken(target: &Path, lock: impl Fn(&File) -> io::Result<bool>) -> io::Result<Option<Self>> {
        let path = beside(target, "lock");
        loop {
            let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            // The last holder may have removed the file while this one waited.
            if is_named(&file, &path) {
                // On a full disk an empty lock file serves as well.
                let _ = file.write_all(SAYS.as_bytes());
                return Ok(Some(Self { file, path }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // On other systems removal cannot be detected by a waiting process, so the file stays.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

/// Removes unheld locks and partial files that killed runs left in the folder of `target`.
fn remove_left(target: &Path) {
    let Some(entries) = target.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return };
    let locks =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "lock"));
    for path in locks.filter(|_| cfg!(unix)) {
        let is_one = path.symlink_metadata().is_ok_and(|it| it.is_file() && it.len() == SAYS.len() as u64);
        let Some(mut file) = is_one.then(|| File::open(&path).ok()).flatten() else { continue };
        let mut says = String::new();
        if file.read_to_string(&mut says).is_ok() && says == SAYS && file.try_lock().is_ok() && is_named(&file, &path) {
            let _ = fs::remove_file(path.with_extension("part"));
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (file.metadata(), path.symlink_metadata()) {
        (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_named(_: &File, _: &Path) -> bool {
    true
}

/// Returns the path of this program's hidden file beside `target`.
pub fn beside(target: &Path, kind: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{kind}"));
    target.with_file_name(name)
}
