//! A file that is replaced whole or not at all: written beside its place, brought to the disk, and renamed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use super::lock::{Lock, beside};

/// Where something is kept, held by this process alone.
pub struct KeptFile {
    /// The file itself, not a link to it.
    path: PathBuf,
    /// As it was called.
    called: PathBuf,
    what: &'static str,
    private: bool,
    _lock: Option<Lock>,
}

/// Why a file cannot be kept, before anything is trained, or any more.
#[derive(Debug, thiserror::Error)]
pub enum KeptFileError {
    #[error("cannot write {what} {}: {error}", .path.display())]
    Write { what: &'static str, path: PathBuf, error: io::Error },
    #[error("cannot read {what} {}: {error}", .path.display())]
    Read { what: &'static str, path: PathBuf, error: io::Error },
    #[error("cannot write {what} {}: it is there and no plain file", .path.display())]
    NoFile { what: &'static str, path: PathBuf },
    #[error("{what} {} is there already; {remedy}", .path.display())]
    Exists { what: &'static str, path: PathBuf, remedy: &'static str },
    #[error("{what} {} is being written by another run; wait for it, or name another file", .path.display())]
    Busy { what: &'static str, path: PathBuf },
    #[error("{first} and {second} are one file, {}; name two", .path.display())]
    Twice { first: &'static str, second: &'static str, path: PathBuf },
}

impl KeptFile {
    /// Takes hold of the file at `called`, and finds out that it can be written. What is there stays until the first [`KeptFile::write`].
    ///
    /// # Errors
    /// When it is there (but for `replaced`), is no plain file, is another process's, or cannot be written.
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

    /// A file that several processes write in turn, [`KeptFile::turn`] by turn; its owner alone may read it.
    ///
    /// # Errors
    /// When it is no plain file, or cannot be written.
    pub fn shared(what: &'static str, called: &Path) -> Result<Self, KeptFileError> {
        let file = Self { private: true, ..Self::at(what, called)? };
        let _turn = file.turn()?;
        file.try_out()?;
        Ok(file)
    }

    /// The file at `called`, which nobody holds.
    ///
    /// # Errors
    /// When there is something that is no plain file, or no folder for it.
    pub fn at(what: &'static str, called: &Path) -> Result<Self, KeptFileError> {
        let write = |error| KeptFileError::Write { what, path: called.to_owned(), error };
        let path = match called.symlink_metadata() {
            // What a link leads to is replaced, and not the link.
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

    /// Whether nothing keeps it from being written.
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

    /// Holds a shared file until the answer is dropped.
    pub fn turn(&self) -> Result<Lock, KeptFileError> {
        Lock::take(&self.path).map_err(|error| self.unwritten(error))
    }

    /// Whether `other` is the same file.
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

    /// All bytes of it; `None`: it is not there. At most `largest` and one.
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

    /// Replaces all of it. Whoever reads finds what was there before or all of `bytes`, also after a loss of power.
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

    /// Removes it, if it is there.
    pub fn remove(&self) -> Result<(), KeptFileError> {
        let removed = match fs::remove_file(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => removed.and_then(|()| self.sync_folder()),
        };
        removed.map_err(|error| self.unwritten(error))
    }

    /// A name is on the disk when its folder is. Elsewhere than on Unix a folder cannot be opened for that.
    fn sync_folder(&self) -> io::Result<()> {
        match self.path.parent() {
            Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }

    fn part_path(&self) -> PathBuf {
        beside(&self.path, "part")
    }

    /// A new file: what a killed run left is removed, and no link of somebody else's is followed.
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

        /// Names of all that is in it.
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
    fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
        let folder = Folder::new("whole");
        let path = folder.0.join("a.json");
        let file = claim(&path, false).unwrap();
        assert!(!file.exists() && file.read(9).unwrap().is_none());
        assert!(claim(&path, true).err().unwrap().contains("by another run"));
        file.write(b"first").unwrap();
        // What a killed run left half written.
        fs::write(folder.0.join(".a.json.part"), "half").unwrap();
        file.write(b"second").unwrap();
        assert_eq!(file.read(9).unwrap().unwrap(), b"second");
        assert_eq!(file.read(2).unwrap().unwrap(), b"sec");
        drop(file);
        assert_eq!(folder.list(), ["a.json"]);
        assert!(claim(&path, false).err().unwrap().contains("is there already; take another"));
        let again = claim(&path, true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second", "until it is written");
        again.remove().unwrap();
        again.remove().unwrap();
        drop(again);
        assert!(folder.list().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn what_a_killed_run_left_is_removed_and_nothing_else_is() {
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
    fn names_that_are_no_text_are_as_different_as_others() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = Folder::new("bytes");
        let [one, other] = [b"a\xfe", b"a\xff"].map(|name| folder.0.join(std::ffi::OsStr::from_bytes(name)));
        let _held = claim(&one, false).unwrap();
        claim(&other, false).unwrap();
        assert!(claim(&one, false).err().unwrap().contains("by another run"));
    }

    #[test]
    fn what_cannot_be_written_is_found_out_at_once() {
        let folder = Folder::new("cannot");
        fs::write(folder.0.join("file"), "").unwrap();
        for path in ["absent/a", "file/a", "..", "/"] {
            assert!(claim(&folder.0.join(path), true).is_err(), "{path}");
        }
        fs::create_dir(folder.0.join("sub")).unwrap();
        assert!(claim(&folder.0.join("sub"), true).err().unwrap().contains("no plain file"));
        let mut read_only = fs::metadata(folder.0.join("file")).unwrap().permissions();
        read_only.set_readonly(true);
        fs::set_permissions(folder.0.join("file"), read_only).unwrap();
        assert!(claim(&folder.0.join("file"), true).err().unwrap().contains("permission denied"));
        assert_eq!(folder.list(), ["file", "sub"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_one_and_permissions_stay_what_they_were() {
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
        // Somebody's trap: the file beside is not written through.
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
