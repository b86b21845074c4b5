//! What a visitor downloads, raw and compressed, and how much of it there may be.

use std::{io::Write, path::Path};

use crate::{
    error::{At, Error, Result},
    pages,
    site::{RELAXED, digest, files},
};

/// What is loaded in one go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// Program, scripts and styles that must come before a page that can be used.
    Page,
    /// Both threads come after the first paint.
    Training,
    /// Instead of it, where the browser can.
    Relaxed,
    Accountant,
}

impl Part {
    const ALL: [Self; 4] = [Self::Page, Self::Training, Self::Relaxed, Self::Accountant];

    fn of(file: &str) -> Self {
        match file {
            _ if file.starts_with(RELAXED) => Self::Relaxed,
            _ if file.starts_with("worker") => Self::Training,
            _ if file.starts_with("accountant") => Self::Accountant,
            _ => Self::Page,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Page => "the page",
            Self::Training => "the training thread",
            Self::Relaxed => "the training thread with relaxed SIMD",
            Self::Accountant => "the accountant",
        }
    }

    /// Brotli bytes that it may have.
    const fn budget(self) -> u64 {
        match self {
            Self::Page => 256_000,
            Self::Training | Self::Relaxed => 590_000,
            Self::Accountant => 290_000,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    pub raw: u64,
    pub gzip: u64,
    pub brotli: u64,
}

pub struct Sizes {
    /// Every program, script and style with its size.
    pub files: Vec<(String, Part, Size)>,
}

impl Sizes {
    fn total(&self, part: Part) -> Size {
        self.files.iter().filter(|(_, of, _)| *of == part).fold(Size::default(), |sum, (_, _, size)| Size {
            raw: sum.raw + size.raw,
            gzip: sum.gzip + size.gzip,
            brotli: sum.brotli + size.brotli,
        })
    }

    /// A table, one line a file, and the sums with their budgets.
    pub fn table(&self) -> String {
        let mut text = format!("  {:<44} {:>10} {:>10} {:>10}\n", "", "raw", "gzip", "Brotli");
        let mut line = |name: &str, size: Size, more: &str| {
            let (raw, gzip, brotli) = (bytes(size.raw), bytes(size.gzip), bytes(size.brotli));
            text += &format!("  {name:<44} {raw:>10} {gzip:>10} {brotli:>10}{more}\n");
        };
        for (name, _, size) in &self.files {
            line(name, *size, "");
        }
        for part in Part::ALL {
            line(part.name(), self.total(part), &format!("  of {}", bytes(part.budget())));
        }
        text
    }

    /// An error that names what is above its budget.
    pub fn check(&self) -> Result<()> {
        for part in Part::ALL {
            let brotli = self.total(part).brotli;
            if brotli > part.budget() {
                let (name, is, may) = (part.name(), bytes(brotli), bytes(part.budget()));
                return Err(Error::Wrong(format!("{name} is {is} after Brotli, above its budget of {may}")));
            }
        }
        Ok(())
    }
}

/// Sizes of the programs, scripts and styles of a site. `cache` keeps what was measured: Brotli at its best takes seconds.
pub fn measure(cache: &Path, site: &Path) -> Result<Sizes> {
    let known = std::fs::read_to_string(cache).unwrap_or_default();
    let mut kept = String::new();
    let mut sizes = Sizes { files: Vec::new() };
    for path in files(site)? {
        let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        if !["wasm", "js", "css"].contains(&kind) {
            continue;
        }
        let name = path.strip_prefix(site).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        // Nobody waits for these before the page is there.
        if pages::BESIDE.contains(&name.as_str()) {
            continue;
        }
        let content = std::fs::read(&path).at("read", &path)?;
        let key = digest(&[&content]);
        let size = known.lines().find_map(|line| parse(line.strip_prefix(&key)?)).map_or_else(|| size(&content), Ok)?;
        kept += &format!("{key} {} {} {}\n", size.raw, size.gzip, size.brotli);
        let part = Part::of(&name);
        sizes.files.push((name, part, size));
    }
    std::fs::write(cache, kept).at("write", cache)?;
    Ok(sizes)
}

fn parse(line: &str) -> Option<Size> {
    let mut numbers = line.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(Size { raw: next()?, gzip: next()?, brotli: next()? })
}

fn size(content: &[u8]) -> Result<Size> {
    let told = |e: std::io::Error| Error::Wrong(format!("cannot compress: {e}"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(content).map_err(told)?;
    let gzip = gzip.finish().map_err(told)?.len() as u64;
    // Quality 11 and a window of 2^22 bytes: what hosts do with static files.
    let mut small = Vec::new();
    let mut brotli = brotli::CompressorWriter::new(&mut small, 1 << 16, 11, 22);
    brotli.write_all(content).map_err(told)?;
    drop(brotli);
    Ok(Size { raw: content.len() as u64, gzip, brotli: small.len() as u64 })
}

/// `812 B`, `14.2 kB`, `1.48 MB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.2} MB", n as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressors_compress_and_say_how_much() {
        let text = b"noise ".repeat(10_000);
        let size = size(&text).unwrap();
        assert_eq!(size.raw, 60_000);
        assert!(size.gzip < 1_000 && size.brotli < 100, "{size:?}");
        assert_eq!(parse(" 3 2 1"), Some(Size { raw: 3, gzip: 2, brotli: 1 }));
        assert_eq!(parse(" 3 2"), None);
    }

    #[test]
    fn a_budget_is_kept_or_named() {
        let size = |brotli| Size { raw: 0, gzip: 0, brotli };
        let with = |file: &str, brotli| {
            let files = ["a.js", "worker.js", "worker-relaxed_bg.wasm", "accountant_bg.wasm"];
            let of = |name: &str| (name.to_owned(), Part::of(name), size(if name == file { brotli } else { 9 }));
            Sizes { files: files.map(of).to_vec() }
        };
        for (file, part) in [
            ("a.js", Part::Page),
            ("worker.js", Part::Training),
            ("worker-relaxed_bg.wasm", Part::Relaxed),
            ("accountant_bg.wasm", Part::Accountant),
        ] {
            assert!(with(file, part.budget()).check().is_ok());
            let error = with(file, part.budget() + 1).check().unwrap_err().to_string();
            assert!(error.starts_with(part.name()), "{error}");
        }
    }
}
