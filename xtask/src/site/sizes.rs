//! Sizes of a visitor's downloads, raw and compressed, and their budgets.

use std::{collections::BTreeMap, fmt::Write as _, io::Write as _};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{pages, threads::RELAXED};
use crate::{
    bytes::{digest, in_words},
    prelude::*,
};

/// Files that are loaded together.
struct Part {
    name: &'static str,
    /// Prefix of its files' names, unless a later part's prefix matches.
    start: &'static str,
    /// Largest size after Brotli, in bytes.
    budget: u64,
}

const PARTS: [Part; 5] = [
    // Program, scripts and styles needed before the page is usable.
    Part { name: "the page", start: "", budget: 456_000 },
    // Threads load after the first paint; a browser loads one of the two training threads.
    // Pre-trained parameters are separate files, loaded by runs that start from them.
    Part { name: "the training thread", start: "worker", budget: 816_000 },
    Part { name: "the training thread with relaxed SIMD", start: RELAXED, budget: 816_000 },
    // Pricing another mechanism takes some kilobytes; the latest were answers that are no noisy sums.
    Part { name: "the accountant", start: "accountant", budget: 420_000 },
    // Loaded when a visitor brings files.
    Part { name: "the reader of files", start: "reader", budget: 232_000 },
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
struct Size {
    raw: u64,
    gzip: u64,
    brotli: u64,
}

/// Sizes of every program, script and style.
pub struct Sizes(Vec<(String, Size)>);

impl Sizes {
    /// The parts and their sizes.
    fn parts(&self) -> impl Iterator<Item = (&'static Part, Size)> {
        PARTS.iter().enumerate().map(|(index, part)| {
            let of = |file: &str| PARTS.iter().rposition(|part| file.starts_with(part.start));
            let its = self.0.iter().filter(|(file, _)| of(file) == Some(index)).map(|(_, size)| size);
            let sum = |sum: Size, size: &Size| Size {
                raw: sum.raw + size.raw,
                gzip: sum.gzip + size.gzip,
                brotli: sum.brotli + size.brotli,
            };
            (part, its.fold(Size::default(), sum))
        })
    }

    /// Formats a table: a line per file, and the parts with their budgets.
    pub fn table(&self) -> String {
        let mut text = format!("  {:<44} {:>10} {:>10} {:>10}\n", "", "raw", "gzip", "Brotli");
        let mut line = |name: &str, size: Size, more: &str| {
            let [raw, gzip, brotli] = [size.raw, size.gzip, size.brotli].map(in_words);
            let _ = writeln!(text, "  {name:<44} {raw:>10} {gzip:>10} {brotli:>10}{more}");
        };
        self.0.iter().for_each(|(name, size)| line(name, *size, ""));
        self.parts().for_each(|(part, size)| line(part.name, size, &format!("  of {}", in_words(part.budget))));
        text
    }

    /// Fails if a part exceeds its budget.
    pub fn check(&self) -> Result<()> {
        self.parts().try_for_each(|(Part { name, budget, .. }, Size { brotli, .. })| {
            let (is, may) = (in_words(brotli), in_words(*budget));
            let above = || wrong!("{name} is {is} after Brotli, above its budget of {may}");
            (brotli <= *budget).then_some(()).ok_or_else(above)
        })
    }
}

/// Measures a site's programs, scripts and styles. `cache` keeps sizes, as Brotli takes seconds.
pub fn measure(cache: &Path, site: &Path) -> Result<Sizes> {
    let known = fs::read_to_string(cache).unwrap_or_default();
    let known: BTreeMap<String, Size> = serde_json::from_str(&known).unwrap_or_default();
    let mut kept = BTreeMap::new();
    let mut sizes = Sizes(Vec::new());
    for path in files(site)? {
        let name = pages::name_in(site, &path);
        let counts = [".wasm", ".js", ".css"].iter().any(|end| name.ends_with(end));
        // The page does not wait for these.
        if !counts || pages::BESIDE.contains(&name.as_str()) {
            continue;
        }
        let content = fs::read(&path)?;
        let key = digest(&[&content]);
        let size = known.get(&key).copied().map_or_else(|| size(&content), Ok)?;
        kept.insert(key, size);
        sizes.0.push((name, size));
    }
    fs::write(cache, json!(kept).to_string())?;
    Ok(sizes)
}

fn size(content: &[u8]) -> Result<Size> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(content)?;
    let gzip = gzip.finish()?.len() as u64;
    // Quality 11 and a window of 2^22 bytes, as hosts use for static files.
    let mut small = Vec::new();
    brotli::CompressorWriter::new(&mut small, 1 << 16, 11, 22).write_all(content)?;
    Ok(Size { raw: content.len() as u64, gzip, brotli: small.len() as u64 })
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
        let kept: Size = serde_json::from_str(&json!(size).to_string()).unwrap();
        assert_eq!(kept, size);
    }

    #[test]
    fn exceeded_budgets_are_named() {
        let files = ["a.js", "worker.js", "worker-relaxed_bg.wasm", "accountant_bg.wasm", "reader_bg.wasm"];
        for (file, Part { name, budget, .. }) in files.into_iter().zip(&PARTS) {
            let with = |brotli| {
                let of = |name: &str| {
                    (name.to_owned(), Size { brotli: if name == file { brotli } else { 9 }, ..Size::default() })
                };
                Sizes(files.map(of).to_vec()).check()
            };
            assert!(with(*budget).is_ok());
            let error = with(budget + 1).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} is ")), "{error}");
        }
    }
}
