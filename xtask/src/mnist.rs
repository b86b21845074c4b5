//! MNIST for the site: found on this machine, downloaded from a mirror, or none.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use crate::{
    error::{At, Error, Result},
    mnist_files::{self, FILES, MIRRORS, MnistFile, Why},
    project::{Project, which},
    screen::{Screen, Step},
    shard_writer,
    site::digest,
    sizes::bytes,
};

pub enum Digits {
    /// Folder of the four files, each checked.
    Mnist(PathBuf),
    /// None to be had: the page draws its own, and says so.
    Synthetic,
}

/// `MNIST_DIR`; `../shared/mnist` beside the checkout; the cache; a download into the cache; else none.
pub fn ensure(project: &Project, screen: &Screen) -> Result<Digits> {
    let step = screen.step("MNIST");
    let places = mnist_files::places(|key| std::env::var_os(key), Some(&project.root));
    for place in &places {
        let asked = place.why == Why::MnistDir;
        if !asked && !FILES.iter().any(|file| mnist_files::find(&place.folder, file).is_some()) {
            continue;
        }
        match FILES.iter().try_for_each(|file| read(&place.folder, file).map(drop)) {
            Ok(()) => {
                step.done(&format!("found: {}", place.why));
                return Ok(Digits::Mnist(place.folder.clone()));
            }
            Err(error) if asked => return Err(error),
            Err(error) => step.say(&format!("passed over {}: {error}", place.why)),
        }
    }
    let cache = project.cache.join("mnist");
    match download(project, &step, &cache) {
        Ok(mirror) => {
            step.done(&format!("downloaded from a {}, {mirror}", Why::Mirror));
            Ok(Digits::Mnist(cache))
        }
        Err(why) => {
            step.done(&format!(
                "not to be had ({why}): the page will use the synthetic digits that it draws itself. \
                 To use MNIST, put its four files into a folder and name it in MNIST_DIR"
            ));
            Ok(Digits::Synthetic)
        }
    }
}

/// Writes what the page loads into `folder`; says what that is.
pub fn write_site(digits: &Digits, folder: &Path) -> Result<String> {
    let Digits::Mnist(from) = digits else {
        return Ok("none: the page draws its own".to_owned());
    };
    let [train_images, train_labels, test_images, test_labels] = FILES;
    let pair = |images, labels| Ok((data_of(from, images, 16)?, data_of(from, labels, 8)?));
    let (train, test) = (pair(train_images, train_labels)?, pair(test_images, test_labels)?);
    let train = shard_writer::Set { pixels: &train.0, labels: &train.1 };
    let test = shard_writer::Set { pixels: &test.0, labels: &test.1 };
    let files = shard_writer::write(folder, "MNIST", train, test).at("write the shards to", folder)?;
    let total: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    Ok(format!("MNIST, {} files, {}", files.len(), bytes(total)))
}

/// Writes the four files, unpacked, into `folder`, if there are any.
pub fn write_files(digits: &Digits, folder: &Path) -> Result<()> {
    let Digits::Mnist(from) = digits else { return Ok(()) };
    std::fs::create_dir_all(folder).at("create the folder", folder)?;
    for file in &FILES {
        let to = folder.join(file.name);
        std::fs::write(&to, read(from, file)?).at("write", &to)?;
    }
    Ok(())
}

/// What a file of the folder holds after its header of `header` bytes. The file has been checked, so the header need not be read.
fn data_of(folder: &Path, file: MnistFile, header: usize) -> Result<Vec<u8>> {
    Ok(read(folder, &file)?.split_off(header))
}

/// One file of MNIST, unpacked, and MNIST's to the last byte.
fn read(folder: &Path, file: &MnistFile) -> Result<Vec<u8>> {
    let path = mnist_files::find(folder, file).ok_or_else(|| {
        Error::Wrong(format!("{} holds neither {} nor {}", folder.display(), file.name, file.gz_name()))
    })?;
    let bytes = std::fs::read(&path).at("read", &path)?;
    unpack(file, bytes).map_err(|why| Error::Wrong(format!("{} is not MNIST's: {why}", path.display())))
}

/// The file's bytes, unpacked if they are gzip, when they are what they must be.
fn unpack(file: &MnistFile, bytes: Vec<u8>) -> std::result::Result<Vec<u8>, String> {
    let mut plain = bytes;
    if plain.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = Vec::new();
        // One byte more than it may have is enough to know.
        let mut limited = flate2::read::MultiGzDecoder::new(&plain[..]).take(file.bytes + 1);
        limited.read_to_end(&mut unpacked).map_err(|e| format!("it is no whole gzip file: {e}"))?;
        plain = unpacked;
    }
    if plain.len() as u64 != file.bytes {
        return Err(format!("it has {} bytes where {} are due", plain.len(), file.bytes));
    }
    if digest(&[&plain]) != file.sha256 {
        return Err("its SHA-256 is another".to_owned());
    }
    Ok(plain)
}

/// The four files from the first mirror that has them all, or why not.
fn download(project: &Project, step: &Step<'_>, folder: &Path) -> std::result::Result<&'static str, String> {
    let curl = which("curl").ok_or("there is no `curl` to download it with")?;
    let mut why = String::new();
    for mirror in MIRRORS {
        let got = project.install(folder, |into| {
            for file in &FILES {
                let path = into.join(file.gz_name());
                let mut command = mnist_files::fetch(&curl, mirror, file, &path);
                step.status(&file.gz_name());
                let said = step.ask(&mut command)?;
                if !said.ok {
                    return Err(Error::Wrong(said.lines.last().cloned().unwrap_or(said.status)));
                }
                read(into, file)?;
            }
            Ok(())
        });
        match got {
            Ok(()) => return Ok(mirror),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_bytes_are_mnist() {
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
        assert!(refused(b"idy").contains("SHA-256"));
        assert!(refused(b"idx2").contains("4 bytes"));
        assert!(refused(&gzip(&[0; 100_000])).contains("4 bytes"), "reads no further than it must");
        assert!(refused(&gzip(content)[..12]).contains("gzip"));
    }
}
