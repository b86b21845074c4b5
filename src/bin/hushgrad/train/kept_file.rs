//! Atomically replaced files: written beside the target, synced to disk, and renamed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::lock::{Lock, beside};

/// An output file, locked by this process if claimed.
pub struct KeptFile {
    /// The file itself, with links resolved.
    path: PathBuf,
    /// The path as given.
    called: PathBuf,
    what: &'static str,
    private: bool,
    _lock: Option<Lock>,
}

/// Why a file cannot be kept, found at the start or later.
#[derive(Debug, thiserror::Error)]
pub enum KeptFileError {
    #[error("cannot write {what} {}: {error}", .path.display())]
    Write { what: &'static str, path: PathBuf, error: io::Error },
    #[error("cannot read {what} {}: {error}", .path.display())]
    Read { what: &'static str, path: PathBuf, error: io::Error },
    #[error("cannot write {what} {}: it exists and is not a regular file", .path.display())]
    NoFile { what: &'static str, path: PathBuf },
    #[error("{what} {} already exists; {remedy}", .path.display())]
    Exists { what: &'static str, path: PathBuf, remedy: &'static str },
    #[error("{what} {} is being written by another run; wait for it, or name another file", .path.display())]
    Busy { what: &'static str, path: PathBuf },
    #[error("{first} and {second} are the same file, {}; name two different files", .path.display())]
    Twice { first: &'static str, second: &'static str, path: PathBuf },
}

impl KeptFile {
    /// Locks the file at `called` and checks that it is writable; [`KeptFile::write`] replaces it.
    ///
    /// # Errors
    /// If it exists (unless `replaced`), is no plain file, is locked elsewhere, or is not writable.
    pub fn claim(
        what: &'static str,
        called: &Path,
        replaced: bool,
        remedy: &'static str,
    ) -> Result<Self, KeptFileError> {
        let mut file = Self::at(what, called)?;
        let lock = Lock::try_take(&file.path).map_err(|error| file.unwritten(error))?;
        let path = || called.to_owned();
        let Some(lock) = lock else { return Err(KeptFileError::Busy { what, path: path() }) };
        file._lock = Some(lock);
        if !replaced && file.exists() {
            return Err(KeptFileError::Exists { what, path: path(), remedy });
        }
        file.try_out()?;
        Ok(file)
    }

    /// A file that processes write in turn ([`KeptFile::turn`]); new ones only the owner may read.
    ///
    /// # Errors
    /// If it is no plain file, or cannot be written.
    pub fn shared(what: &'static str, called: &Path) -> Result<Self, KeptFileError> {
        let file = Self { private: true, ..Self::at(what, called)? };
        let _turn = file.turn()?;
        file.try_out()?;
        Ok(file)
    }

    /// The file at `called`, without a lock.
    ///
    /// # Errors
    /// If something else than a plain file exists there, or its folder does not.
    pub fn at(what: &'static str, called: &Path) -> Result<Self, KeptFileError> {
        let write = |error| KeptFileError::Write { what, path: called.to_owned(), error };
        let path = match called.symlink_metadata() {
            // A link's target is replaced, not the link.
            Ok(there) if there.is_symlink() => called.canonicalize().map_err(write)?,
            _ => {
                let name = called.file_name().ok_or_else(|| write(io::ErrorKind::IsADirectory.into()))?;
                let folder = called.parent().filter(|folder| !folder.as_os_str().is_empty());
                folder.unwrap_or(Path::new(".")).canonicalize().map_err(write)?.join(name)
            }
        };
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(KeptFileError::NoFile { what, path: called.to_owned() });
        }
        Ok(Self { path, called: called.to_owned(), what, private: false, _lock: None })
    }

    /// Checks that the file can be written.
    fn try_out(&self) -> Result<(), KeptFileError> {
        let try_out = || -> io::Result<()> {
            if self.path.metadata().is_ok_and(|there| there.permissions().readonly()) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            drop(self.part()?);
            fs::remove_file(self.part_path())
        };
        try_out().map_err(|error| self.unwritten(error))
    }

    fn unwritten(&self, error: io::Error) -> KeptFileError {
        KeptFileError::Write { what: self.what, path: self.called.clone(), error }
    }

    /// Locks a shared file until the result is dropped.
    pub fn turn(&self) -> Result<Lock, KeptFileError> {
        Lock::take(&self.path).map_err(|error| self.unwritten(error))
    }

    /// Fails if `other` is the same file.
    pub fn differs_from(&self, other: &Self) -> Result<(), KeptFileError> {
        if self.path == other.path {
            return Err(KeptFileError::Twice { first: self.what, second: other.what, path: self.called.clone() });
        }
        Ok(())
    }

    pub fn called(&self) -> &Path {
        &self.called
    }

    pub fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    /// Reads at most `largest` + 1 bytes; `None` if the file does not exist.
    pub fn read(&self, largest: usize) -> Result<Option<Vec<u8>>, KeptFileError> {
        use io::Read as _;
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            File::open(&self.path)?.take(largest as u64 + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(KeptFileError::Read { what: self.what, path: self.called.clone(), error }),
        }
    }

    /// Replaces the file atomically: readers see all old or all new bytes, even after power loss.
    pub fn write(&self, bytes: &[u8]) -> Result<(), KeptFileError> {
        let written = self.replace(bytes);
        if written.is_err() {
            let _ = fs::remove_file(self.part_path());
        }
        written.map_err(|error| self.unwritten(error))
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut part = self.part()?;
        if let Ok(there) = self.path.metadata() {
            part.set_permissions(there.permissions())?;
        }
        part.write_all(bytes)?;
        part.sync_all()?;
        drop(part);
        fs::rename(self.part_path(), &self.path)?;
        self.sync_folder()
    }

    /// Removes the file, if it exists.
    pub fn remove(&self) -> Result<(), KeptFileError> {
        let removed = match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => removed.and_then(|()| self.sync_folder()),
        };
        removed.map_err(|error| self.unwritten(error))
    }

    /// Makes a rename durable; only Unix can open a folder for that.
    fn sync_folder(&self) -> io::Result<()> {
        match self.path.parent() {
            Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }

    fn part_path(&self) -> PathBuf {
        beside(&self.path, "part")
    }

    /// Creates the partial file anew, so that neither a leftover nor a planted link is written to.
    fn part(&self) -> io::Result<File> {
        let path = self.part_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if self.private {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        options.open(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("hushgrad-kept-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        /// Sorted names of its entries.
        fn list(&self) -> Vec<String> {
            let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn claim(path: &Path, replaced: bool) -> Result<KeptFile, String> {
        KeptFile::claim("the file", path, replaced, "take another").map_err(|error| error.to_string())
    }

    #[test]
    fn file_is_replaced_atomically_without_leftovers() {
        let folder = Folder::new("whole");
        let path = folder.0.join("a.json");
        let file = claim(&path, false).unwrap();
        assert!(!file.exists() && file.read(9).unwrap().is_none());
        assert!(claim(&path, true).err().unwrap().contains("by another run"));
        file.write(b"first").unwrap();
        // A partial file left by a killed run.
        fs::write(folder.0.join(".a.json.part"), "half").unwrap();
        file.write(b"second").unwrap();
        assert_eq!(file.read(9).unwrap().unwrap(), b"second");
        assert_eq!(file.read(2).unwrap().unwrap(), b"sec");
        drop(file);
        assert_eq!(folder.list(), ["a.json"]);
        assert!(claim(&path, false).err().unwrap().contains("already exists; take another"));
        let again = claim(&path, true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second", "until it is written");
        again.remove().unwrap();
        again.remove().unwrap();
        drop(again);
        assert!(folder.list().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn only_leftovers_of_killed_runs_are_removed() {
        let folder = Folder::new("killed");
        let held = claim(&folder.0.join("held"), false).unwrap();
        fs::copy(folder.0.join(".held.lock"), folder.0.join(".gone.lock")).unwrap();
        for (name, says) in [(".gone.part", "half"), (".theirs.lock", ""), (".theirs.part", ""), ("gone", "")] {
            fs::write(folder.0.join(name), says).unwrap();
        }
        drop(claim(&folder.0.join("new"), false).unwrap());
        assert_eq!(folder.list(), [".held.lock", ".theirs.lock", ".theirs.part", "gone"]);
        drop(held);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn non_utf8_names_are_distinct() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = Folder::new("bytes");
        let [one, other] = [b"a\xfe", b"a\xff"].map(|name| folder.0.join(std::ffi::OsStr::from_bytes(name)));
        let _held = claim(&one, false).unwrap();
        claim(&other, false).unwrap();
        assert!(claim(&one, false).err().unwrap().contains("by another run"));
    }

    #[test]
    fn unwritable_paths_are_refused_at_once() {
        let folder = Folder::new("cannot");
        fs::write(folder.0.join("file"), "").unwrap();
        for path in ["absent/a", "file/a", "..", "/"] {
            assert!(claim(&folder.0.join(path), true).is_err(), "{path}");
        }
        fs::create_dir(folder.0.join("sub")).unwrap();
        assert!(claim(&folder.0.join("sub"), true).err().unwrap().contains("not a regular file"));
        let mut read_only = fs::metadata(folder.0.join("file")).unwrap().permissions();
        read_only.set_readonly(true);
        fs::set_permissions(folder.0.join("file"), read_only).unwrap();
        assert!(claim(&folder.0.join("file"), true).err().unwrap().contains("permission denied"));
        assert_eq!(folder.list(), ["file", "sub"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_preserved() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = Folder::new("link");
        let (target, link) = (folder.0.join("target"), folder.0.join("link"));
        fs::write(&target, "old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        claim(&link, true).unwrap().write(b"new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        // A planted link at the partial file's path must not be followed.
        std::os::unix::fs::symlink(&target, folder.0.join(".other.part")).unwrap();
        claim(&folder.0.join("other"), false).unwrap().write(b"other").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
        let (one, two) = (claim(&link, true).unwrap(), KeptFile::at("another", &target).unwrap());
        assert!(one.differs_from(&two).is_err());
        let shared = KeptFile::shared("the books", &folder.0.join("books")).unwrap();
        shared.write(b"").unwrap();
        assert_eq!(folder.0.join("books").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
