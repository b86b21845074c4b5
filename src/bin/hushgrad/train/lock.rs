//! One writer a file: a lock on a small file beside it, which the system lets go of when its holder ends, however it ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

/// Held until it is dropped.
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// The lock of `target`; `None`: another process has it.
    pub fn try_take(target: &Path) -> io::Result<Option<Self>> {
        Self::taken(target, |file| match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        })
    }

    /// The lock of `target`, when whoever has it is done with it.
    pub fn take(target: &Path) -> io::Result<Self> {
        let taken = Self::taken(target, |file| file.lock().map(|()| true))?;
        taken.ok_or_else(|| io::Error::other("the lock was not waited for"))
    }

    fn taken(target: &Path, lock: impl Fn(&File) -> io::Result<bool>) -> io::Result<Option<Self>> {
        let path = beside(target, "lock");
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            if !lock(&file)? {
                return Ok(None);
            }
            // Its last holder may have removed it while this one waited.
            if is_named(&file, &path) {
                return Ok(Some(Self { file, path }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Elsewhere nobody can see whether a file was removed while it waited; there it stays.
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
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

/// A file of this program's own beside `target`.
pub fn beside(target: &Path, kind: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{kind}"))
}
