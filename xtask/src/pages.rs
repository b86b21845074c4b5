//! What stands beside the page: the embedded page, which starts the same program, and the service worker, which knows the
//! site's files by name. Both are told the names that the build has given.

use std::path::Path;

use crate::{
    error::{At, Error, Result},
    site::{PROBE, RELAXED, digest, files},
};

/// Files that no visitor of the page itself waits for.
pub const BESIDE: [&str; 4] = ["embed.css", "embed.js", "element.js", "sw.js"];
const EMBED: &str = "embed.html";
const SERVICE_WORKER: &str = "sw.js";

/// Fills in both, when all other files are in place.
pub fn finish(staging: &Path) -> Result<()> {
    let index = read(staging, "index.html")?;
    let embed = read(staging, EMBED)?;
    write(staging, EMBED, &embedded(&index, &embed).ok_or_else(|| no_place(EMBED))?)?;

    let mut kept = Vec::new();
    let mut contents = Vec::new();
    for path in files(staging)? {
        let name = path.strip_prefix(staging).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if !name.starts_with("data/") && name != EMBED && !BESIDE.contains(&name.as_str()) {
            contents.push(std::fs::read(&path).at("read", &path)?);
            kept.push(name);
        }
    }
    // Without a second program for training there is nothing to choose, and no browser passes the test of nothing.
    let probe: &[u8] = if kept.iter().any(|name| name.starts_with(RELAXED)) { &PROBE } else { &[] };
    let version = &digest(&contents.iter().map(Vec::as_slice).collect::<Vec<_>>())[..16];
    let mut script = read(staging, SERVICE_WORKER)?;
    for (place, value) in [
        ("const VERSION = \"\";", format!("const VERSION = \"{version}\";")),
        ("const FILES = [];", format!("const FILES = {};", serde_json::json!(kept))),
        ("const PROBE = [];", format!("const PROBE = {};", serde_json::json!(probe))),
        ("const DIGITS = [];", format!("const DIGITS = {};", serde_json::json!(digits(staging)?))),
    ] {
        if !script.contains(place) {
            return Err(no_place(SERVICE_WORKER));
        }
        script = script.replacen(place, &value, 1);
    }
    write(staging, SERVICE_WORKER, &script)
}

/// The embedded page with the page's own script, style, icon and thread names.
fn embedded(index: &str, embed: &str) -> Option<String> {
    let start = between(index, "src=\"", "\"", "start.js?")?;
    let named: Vec<&str> = tags(index, "<meta ").filter(|tag| tag.contains("name=\"hushgrad-")).collect();
    let linked = tags(index, "<link ").filter(|tag| tag.contains("rel=\"stylesheet\"") || tag.contains("rel=\"icon\""));
    let head: Vec<&str> = named.into_iter().chain(linked).collect();
    let place = embed.lines().find(|line| line.contains("cargo xtask dist"))?;
    let filled = embed.replacen(place, &format!("  {}", head.join("\n  ")), 1);
    filled.contains("data-start=\"./start.js\"").then(|| filled.replacen("./start.js", start, 1))
}

/// Every tag that begins so.
fn tags<'a>(html: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    html.match_indices(start).filter_map(|(at, _)| html[at..].find('>').map(|end| &html[at..=at + end]))
}

/// What stands between `before` and `after` and contains `word`.
fn between<'a>(text: &'a str, before: &str, after: &str, word: &str) -> Option<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(after).next()).find(|found| found.contains(word))
}

/// The files that digits are fetched from.
fn digits(staging: &Path) -> Result<Vec<String>> {
    let folder = staging.join("data");
    let found = if folder.is_dir() { files(&folder)? } else { Vec::new() };
    let names = found.iter().filter_map(|path| path.strip_prefix(staging).ok());
    Ok(names.map(|name| name.to_string_lossy().replace('\\', "/")).collect())
}

fn no_place(file: &str) -> Error {
    Error::Wrong(format!("{file} or index.html as Trunk made it lacks a place that the build fills in"))
}

fn read(folder: &Path, file: &str) -> Result<String> {
    let path = folder.join(file);
    std::fs::read_to_string(&path).at("read", &path)
}

fn write(folder: &Path, file: &str, text: &str) -> Result<()> {
    let path = folder.join(file);
    std::fs::write(&path, text).at("write", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r#"<head><meta name="x"><meta name="hushgrad-worker" content="./worker-1_loader.js">
        <link rel="icon" href="./icon-1.svg"><link rel="stylesheet" href="./style-1.css">
        <link rel="modulepreload" href="./app-1.js"></head>
        <script type="module" src="./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm"></script>"#;

    #[test]
    fn the_embedded_page_starts_the_same_program() {
        let made = embedded(INDEX, include_str!("../../www/embed.html")).unwrap();
        assert!(made.contains(r#"data-start="./start.js?app=app-1.js&amp;wasm=app-1_bg.wasm""#), "{made}");
        assert!(made.contains(r#"<meta name="hushgrad-worker" content="./worker-1_loader.js">"#));
        assert!(made.contains(r#"<link rel="stylesheet" href="./style-1.css">"#) && made.contains("icon-1.svg"));
        // Behind a poster nothing is loaded ahead.
        assert!(!made.contains("preload") && !made.contains("xtask"));
        assert!(embedded("", include_str!("../../www/embed.html")).is_none());
    }

    #[test]
    fn the_service_worker_knows_files_and_digits() {
        let folder = std::env::temp_dir().join(format!("hushgrad-pages-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("data")).unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        put("index.html", INDEX);
        put("app-1.js", "1");
        put("embed.html", include_str!("../../www/embed.html"));
        put("sw.js", include_str!("../../www/sw.js"));
        put("data/manifest.json", "{}");
        put("data/train-00.0123456789ab.shard", "");
        let version = |text: &str| text.split("VERSION = \"").nth(1).unwrap()[..16].to_owned();
        finish(&folder).unwrap();
        let first = read(&folder, "sw.js").unwrap();
        assert!(first.contains(r#"const FILES = ["app-1.js","index.html"];"#), "{first}");
        assert!(first.contains(r#"const DIGITS = ["data/manifest.json","data/train-00.0123456789ab.shard"];"#));
        put("sw.js", include_str!("../../www/sw.js"));
        put("embed.html", include_str!("../../www/embed.html"));
        put("app-1.js", "2");
        finish(&folder).unwrap();
        assert_ne!(version(&first), version(&read(&folder, "sw.js").unwrap()), "another content is another version");
        assert!(finish(&folder).is_err(), "nothing is filled in twice");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
