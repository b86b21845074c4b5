//! What a visitor downloads, raw and compressed, and how much of it there may be.

use std::{io::Write, path::Path};

use crate::{
    error::{At, Error, Result},
    site::{digest, files},
};

/// Brotli bytes of the page's programs and styles: what must come before the first paint that can be used. The goal is
/// 250,000; the page is not there yet, and this keeps it from growing on the way.
const SHELL_BUDGET: u64 = 330_000;
/// Brotli bytes of the training thread, which comes after it.
const WORKER_BUDGET: u64 = 1_500_000;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    pub raw: u64,
    pub gzip: u64,
    pub brotli: u64,
}

pub struct Sizes {
    /// Every program, script and style with its size; `true`: the training thread's.
    pub files: Vec<(String, bool, Size)>,
}

impl Sizes {
    fn total(&self, worker: bool) -> Size {
        self.files.iter().filter(|(_, w, _)| *w == worker).fold(Size::default(), |sum, (_, _, size)| Size {
            raw: sum.raw + size.raw,
            gzip: sum.gzip + size.gzip,
            brotli: sum.brotli + size.brotli,
        })
    }

    /// A table, one line a file, and the two sums with their budgets.
    pub fn table(&self) -> String {
        let mut text = format!("  {:<44} {:>10} {:>10} {:>10}\n", "", "raw", "gzip", "Brotli");
        let mut line = |name: &str, size: Size, more: &str| {
            let (raw, gzip, brotli) = (bytes(size.raw), bytes(size.gzip), bytes(size.brotli));
            text += &format!("  {name:<44} {raw:>10} {gzip:>10} {brotli:>10}{more}\n");
        };
        for (name, _, size) in &self.files {
            line(name, *size, "");
        }
        line("page", self.total(false), &format!("  of {}", bytes(SHELL_BUDGET)));
        line("training thread", self.total(true), &format!("  of {}", bytes(WORKER_BUDGET)));
        text
    }

    /// An error that names what is above its budget.
    pub fn check(&self) -> Result<()> {
        for (name, worker, budget) in [("the page", false, SHELL_BUDGET), ("the training thread", true, WORKER_BUDGET)]
        {
            let brotli = self.total(worker).brotli;
            if brotli > budget {
                let (is, may) = (bytes(brotli), bytes(budget));
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
        let content = std::fs::read(&path).at("read", &path)?;
        let key = digest(&[&content]);
        let size = known.lines().find_map(|line| parse(line.strip_prefix(&key)?)).map_or_else(|| size(&content), Ok)?;
        kept += &format!("{key} {} {} {}\n", size.raw, size.gzip, size.brotli);
        let name = path.strip_prefix(site).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let worker = name.starts_with("worker");
        sizes.files.push((name, worker, size));
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
        let page =
            |brotli| Sizes { files: vec![("a.js".into(), false, size(brotli)), ("worker.js".into(), true, size(9))] };
        assert!(page(SHELL_BUDGET).check().is_ok());
        let error = page(SHELL_BUDGET + 1).check().unwrap_err().to_string();
        assert!(error.contains("the page"), "{error}");
    }
}
