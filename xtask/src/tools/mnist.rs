//! MNIST for the site: found on this machine, downloaded from a mirror, or absent.

use std::io::Read;

use crate::{
    bytes::{self, digest},
    mnist_files::{self, FILES, MIRRORS, MnistFile, Why},
    prelude::*,
    shard_writer,
};

/// Why a file is not MNIST's.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("it is no whole gzip file: {0}")]
    Gzip(std::io::Error),
    #[error("it has {found} bytes where {expected} are due")]
    Size { found: usize, expected: u64 },
    #[error("its SHA-256 is another")]
    Digest,
}

/// Why MNIST cannot be downloaded.
#[derive(Debug, thiserror::Error)]
enum DownloadError {
    #[error("there is no `curl` to download it with")]
    NoCurl,
    #[error("there is no mirror to download it from")]
    NoMirror,
    /// The error of the last mirror.
    #[error(transparent)]
    Mirror(Error),
}

/// Folder of the four verified files. `None` if unavailable: the page then draws its own digits.
pub type Digits = Option<PathBuf>;

/// Looks in `MNIST_DIR`, `../shared/mnist` beside the checkout and the cache; else downloads.
pub fn ensure(project: &Project) -> Result<Digits> {
    let step = project.step("MNIST");
    for place in mnist_files::places(|key| std::env::var_os(key), Some(&project.root)) {
        let asked = place.why == Why::MnistDir;
        if !asked && !FILES.iter().any(|file| mnist_files::find(&place.folder, file).is_some()) {
            continue;
        }
        match FILES.iter().try_for_each(|file| read(&place.folder, file).map(drop)) {
            Ok(()) => {
                return step.gives(Some(place.folder), &format!("found: {}", place.why));
            }
            Err(error) if asked => return Err(error),
            Err(error) => step.say(&format!("passed over {}: {error}", place.why)),
        }
    }
    let cache = project.cache.join("mnist");
    match download(project, &step, &cache) {
        Ok(mirror) => step.gives(Some(cache), &format!("downloaded from a {}, {mirror}", Why::Mirror)),
        Err(why) => step.gives(
            None,
            &format!(
                "not to be had ({why}): the page will use the synthetic digits that it draws itself. \
                 To use MNIST, put its four files into a folder and name it in MNIST_DIR"
            ),
        ),
    }
}

/// Writes the page's data into `folder` and describes it. Cached, because packing takes seconds.
pub fn write_site(project: &Project, digits: &Digits, folder: &Path) -> Result<String> {
    let Some(from) = digits else {
        return Ok("none: the page draws its own".to_owned());
    };
    let writer = &digest(&[include_bytes!("../../../crates/core/src/data/shard_writer.rs")])[..16];
    let kept = project.cache.join(format!("shards-{writer}"));
    if !kept.is_dir() {
        project.install(&kept, |into| write_shards(from, into))?;
    }
    fs::create_dir_all(folder)?;
    let shards = files(&kept)?;
    shards.iter().try_for_each(|shard| copy_into(folder, shard))?;
    let bytes = shards.iter().map(|shard| Ok(fs::metadata(shard)?.len())).sum::<Result<u64>>()?;
    Ok(format!("MNIST, {} files, {}", shards.len(), bytes::in_words(bytes)))
}

fn write_shards(from: &Path, folder: &Path) -> Result<()> {
    // Skips headers of 16 and 8 bytes, already verified with the files.
    let [train_images, train_labels, test_images, test_labels] = FILES;
    let data = |file, header| read(from, file).map(|mut bytes| bytes.split_off(header));
    let train = (data(&train_images, 16)?, data(&train_labels, 8)?);
    let test = (data(&test_images, 16)?, data(&test_labels, 8)?);
    let [train, test] = [&train, &test].map(|(pixels, labels)| shard_writer::Set { pixels, labels });
    let written = shard_writer::write(folder, "MNIST", train, test);
    written.map(drop).map_err(|error| wrong!("cannot write the shards to {}: {error}", folder.display()))
}

/// Writes the four unpacked files into `folder`, if available.
pub fn write_files(digits: &Digits, folder: &Path) -> Result<()> {
    let Some(from) = digits else { return Ok(()) };
    fs::create_dir_all(folder)?;
    FILES.iter().try_for_each(|file| Ok(fs::write(folder.join(file.name), read(from, file)?)?))
}

/// Reads one file of MNIST, unpacked and verified.
fn read(folder: &Path, file: &MnistFile) -> Result<Vec<u8>> {
    let path = mnist_files::find(folder, file)
        .ok_or_else(|| wrong!("{} holds neither {} nor {}", folder.display(), file.name, file.gz_name()))?;
    unpack(file, fs::read(&path)?).map_err(|why| wrong!("{} is not MNIST's: {why}", path.display()))
}

/// Unpacks the bytes if gzipped, and checks size and digest.
fn unpack(file: &MnistFile, bytes: Vec<u8>) -> std::result::Result<Vec<u8>, FileError> {
    let mut plain = bytes;
    if plain.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        // One extra byte suffices to detect excess.
        let mut limited = flate2::read::MultiGzDecoder::new(&plain[..]).take(file.bytes + 1);
        limited.read_to_end(&mut unpacked).map_err(FileError::Gzip)?;
        plain = unpacked;
    }
    if plain.len() as u64 != file.bytes {
        return Err(FileError::Size { found: plain.len(), expected: file.bytes });
    }
    if digest(&[&plain]) != file.sha256 { Err(FileError::Digest) } else { Ok(plain) }
}

/// Downloads the four files from the first mirror that has them all.
fn download(project: &Project, step: &Step<'_>, folder: &Path) -> std::result::Result<&'static str, DownloadError> {
    let curl = which("curl").ok_or(DownloadError::NoCurl)?;
    let mut why = DownloadError::NoMirror;
    for mirror in MIRRORS {
        let got = project.install(folder, |into| {
            FILES.iter().try_for_each(|file| {
                step.status(&file.gz_name());
                let said = step.ask(&mut mnist_files::fetch(&curl, mirror, file, &into.join(file.gz_name())))?;
                if !said.ok {
                    return Err(Error::Wrong(said.lines.last().cloned().unwrap_or(said.status)));
                }
                read(into, file).map(drop)
            })
        });
        match got {
            Ok(()) => return Ok(mirror),
            Err(error) => why = DownloadError::Mirror(error),
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_bytes_are_accepted_as_mnist() {
        let content = b"idx";
        let sha256: &'static str = Box::leak(digest(&[content]).into_boxed_str());
        let file = MnistFile { name: "x", bytes: 3, sha256 };
        let gzip = |bytes: &[u8]| {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut out, bytes).unwrap();
            out.finish().unwrap()
        };
        assert_eq!(unpack(&file, content.to_vec()).unwrap(), content);
        assert_eq!(unpack(&file, gzip(content)).unwrap(), content);
        let refused = |bytes: &[u8]| unpack(&file, bytes.to_vec()).unwrap_err();
        let is_too_long = |error| matches!(error, FileError::Size { found: 4, expected: 3 });
        assert!(matches!(refused(b"idy"), FileError::Digest));
        assert!(is_too_long(refused(b"idx2")));
        assert!(is_too_long(refused(&gzip(&[0; 100_000]))), "reads no further than it must");
        assert!(matches!(refused(&gzip(content)[..12]), FileError::Gzip(_)));
    }
}
