//! Previews of links to the site: Open Graph tags, oEmbed, lesson pages and web manifest. The page
//! itself loads none. Absolute tags, oEmbed and the picture need the site's address.

use std::fmt::Write as _;

use serde_json::json;

use crate::prelude::*;

const INDEX: &str = "index.html";
const EMBED: &str = "embed.html";
const MANIFEST: &str = "manifest.webmanifest";
/// Folders that the service worker does not cache: for other programs, and lesson pages.
pub const ELSEWHERE: [&str; 2] = ["lessons/", "share/"];
const PICTURE: &str = "share/picture.png";
/// Size of [`PICTURE`], one of the README's.
const PICTURE_SIZE: [u32; 2] = [1440, 900];
const PLACE: &str = "<!-- What a link to this page shows: `cargo xtask dist` puts it here. -->";
const SITE: &str = "hushgrad";
const TITLE: &str = "hushgrad: train privately, in your browser";
const ABOUT: &str =
    "Train a small digit reader in your browser, with differential privacy, and watch what each step costs.";
/// Size of the frame in which other sites show a link.
const FRAME: [u32; 2] = [640, 460];

/// The site's future address: `https://…/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl std::str::FromStr for Address {
    type Err = String;

    /// Parses any folder of a site; the final slash is optional.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let host = ["https://", "http://"].into_iter().find_map(|scheme| text.strip_prefix(scheme));
        let whole = |host: &str| {
            !host.starts_with(['/', ':'])
                && !host.is_empty()
                && !host.contains(['?', '#', '"', '\'', '<', '>', '&', ';', ',', ' ', '\\'])
        };
        match host {
            Some(host) if whole(host) => Ok(Self(format!("{}/", text.trim_end_matches('/')))),
            _ => Err("an address is https://HOST/PATH/, without a query".to_owned()),
        }
    }
}

/// A lesson as given in the file of lessons.
struct Lesson {
    key: String,
    title: String,
    about: String,
}

/// Writes everything into `staging`, before its pages are finished.
pub fn write(staging: &Path, root: &Path, address: Option<&Address>) -> Result<()> {
    let index = fs::read_to_string(staging.join(INDEX))?;
    let icon = index.split("<link ").find(|tag| tag.contains("rel=\"icon\"")).and_then(|tag| attribute(tag, "href"));
    let icon = icon.ok_or_else(|| wrong!("{INDEX} names no icon"))?;
    fs::write(staging.join(MANIFEST), format!("{:#}\n", manifest(icon)))?;
    let file = index
        .split("<meta ")
        .find(|tag| tag.contains("name=\"hushgrad-lessons\""))
        .and_then(|tag| attribute(tag, "content"));
    let file = file.ok_or_else(|| wrong!("{INDEX} names no lessons"))?;
    let lessons = lessons(&fs::read_to_string(staging.join(file.trim_start_matches("./")))?);
    for folder in ELSEWHERE {
        fs::create_dir_all(staging.join(folder))?;
    }
    fs::copy(root.join("docs/pictures/page-1440-light.png"), staging.join(PICTURE))?;
    for lesson in &lessons {
        let path = format!("lessons/{}", lesson.key);
        if let Some(address) = address {
            let frame = format!("lesson={}&view=lesson&poster=1", lesson.key);
            let json = oembed(address, &lesson.title, &frame);
            fs::write(staging.join(format!("{path}.json")), format!("{json:#}\n"))?;
        }
        fs::write(staging.join(format!("{path}.html")), lesson_page(lesson, address))?;
    }
    if let Some(address) = address {
        fs::write(staging.join("share/oembed.json"), format!("{:#}\n", oembed(address, TITLE, "poster=1")))?;
    }
    if let Some(Address(address)) = address {
        // WebKit: 'self' does not match in a sandboxed frame, which has no origin. Name the site.
        let embed = fs::read_to_string(staging.join(EMBED))?;
        fs::write(staging.join(EMBED), embed.replace("'self'", &format!("'self' {address}")))?;
    }
    let mut head = format!("<link rel=\"manifest\" href=\"./{MANIFEST}\">\n");
    head.push_str(&tags(TITLE, ABOUT, address, "", "share/oembed.json"));
    if !index.contains(PLACE) {
        return Err(wrong!("{INDEX} lacks the place for what a link shows"));
    }
    Ok(fs::write(staging.join(INDEX), index.replacen(PLACE, head.trim_end(), 1))?)
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split(&format!("{name}=\"")).nth(1)?.split('"').next()
}

/// The web manifest, by which devices install the page.
fn manifest(icon: &str) -> serde_json::Value {
    json!({
        "id": "./", "name": TITLE, "short_name": SITE, "description": ABOUT, "lang": "en",
        "start_url": "./", "scope": "./", "display": "standalone",
        "background_color": "#f6f6f4", "theme_color": "#f6f6f4", "categories": ["education", "science"],
        "icons": [{ "src": icon, "type": "image/svg+xml", "sizes": "any", "purpose": "any" }],
    })
}

/// An oEmbed 1.0 response of type `rich`: a frame that trains once clicked.
fn oembed(Address(address): &Address, title: &str, query: &str) -> serde_json::Value {
    let [width, height] = FRAME;
    let source = text(&format!("{address}embed.html?{query}"));
    let html = format!(
        "<iframe src=\"{source}\" title=\"{}\" width=\"{width}\" height=\"{height}\" loading=\"lazy\" referrerpolicy=\"no-referrer\" \
         sandbox=\"allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-downloads\" style=\"border: 0\"></iframe>",
        text(title)
    );
    json!({
        "version": "1.0", "type": "rich", "provider_name": SITE, "provider_url": address, "title": title,
        "html": html, "width": width, "height": height,
        "thumbnail_url": format!("{address}{PICTURE}"), "thumbnail_width": PICTURE_SIZE[0], "thumbnail_height": PICTURE_SIZE[1],
    })
}

/// Open Graph tags for the page at `path` and a link to its oEmbed; fewer without an address.
fn tags(title: &str, about: &str, address: Option<&Address>, path: &str, oembed: &str) -> String {
    let [title, about] = [text(title), text(about)];
    let mut out = String::new();
    let mut property = |name: &str, value: &str| {
        let _ = writeln!(out, "  <meta property=\"{name}\" content=\"{value}\">");
    };
    property("og:type", "website");
    property("og:site_name", SITE);
    property("og:title", &title);
    property("og:description", &about);
    if let Some(Address(address)) = address {
        property("og:url", &format!("{address}{path}"));
        property("og:image", &format!("{address}{PICTURE}"));
        property("og:image:width", &PICTURE_SIZE[0].to_string());
        property("og:image:height", &PICTURE_SIZE[1].to_string());
        property("og:image:alt", "The playground after a private run: accuracy and epsilon over steps");
        let _ = writeln!(out, "  <meta name=\"twitter:card\" content=\"summary_large_image\">");
        let link = format!("type=\"application/json+oembed\" href=\"{address}{oembed}\" title=\"{title}\"");
        let _ = writeln!(out, "  <link rel=\"alternate\" {link}>");
    }
    out
}

/// A page that describes the lesson to readers without scripts, and redirects others to it.
fn lesson_page(Lesson { key, title, about }: &Lesson, address: Option<&Address>) -> String {
    let [title, about] = [text(&format!("{title} · {SITE}")), text(about)];
    let there = format!("../?lesson={key}");
    let tags = tags(&title, &about, address, &format!("lessons/{key}.html"), &format!("lessons/{key}.json"));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n  <meta charset=\"utf-8\">\n  <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n  \
         <title>{title}</title>\n  <meta name=\"description\" content=\"{about}\">\n  \
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'\">\n  \
         <meta name=\"referrer\" content=\"no-referrer\">\n  <meta name=\"color-scheme\" content=\"light dark\">\n{tags}  \
         <meta http-equiv=\"refresh\" content=\"0; url={there}\">\n</head>\n<body>\n  <h1>{title}</h1>\n  <p>{about}</p>\n  \
         <p><a href=\"{there}\">Open the lesson</a></p>\n</body>\n</html>\n"
    )
}

/// Escapes text for HTML paragraphs and attributes.
fn text(plain: &str) -> String {
    plain.replace("&amp;", "&").replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Parses lessons, each with its first sentences that do not mention a run's numbers.
fn lessons(file: &str) -> Vec<Lesson> {
    let mut all: Vec<Lesson> = Vec::new();
    for line in file.lines() {
        if let Some(head) = line.strip_prefix("# ") {
            let mut parts = head.split('|').map(str::trim);
            if let (Some(key), Some(title)) = (parts.next(), parts.next_back()) {
                all.push(Lesson { key: key.to_owned(), title: title.to_owned(), about: String::new() });
            }
        } else if let Some(lesson) = all.last_mut()
            && !line.is_empty()
            && !line.starts_with(['#', '@', '%'])
        {
            for sentence in line.split_inclusive(['.', '?', '!']).map(str::trim) {
                if lesson.about.len() < 120 && !sentence.contains('{') {
                    let space = if lesson.about.is_empty() { "" } else { " " };
                    let _ = write!(lesson.about, "{space}{}", sentence.replace('*', ""));
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        "https://example.org/play".parse().unwrap()
    }

    /// A folder as the build leaves it before its pages are finished.
    fn written(address: Option<&Address>) -> tempfile::TempDir {
        let staging = tempfile::tempdir().unwrap();
        let index = include_str!("../../../www/index.html").replace("href=\"icon.svg\"", "href=\"./icon-1.svg\"");
        fs::write(staging.path().join(INDEX), index).unwrap();
        fs::write(staging.path().join(EMBED), include_str!("../../../www/embed.html")).unwrap();
        fs::write(staging.path().join("lessons.txt"), include_str!("../../../www/lessons.txt")).unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        write(staging.path(), root, address).unwrap();
        staging
    }

    #[test]
    fn an_address_is_a_folder_of_a_site() {
        assert_eq!(address().0, "https://example.org/play/");
        assert_eq!("http://127.0.0.1:8080/".parse::<Address>().unwrap().0, "http://127.0.0.1:8080/");
        for wrong in [
            "",
            "example.org",
            "ftp://example.org/",
            "https://",
            "https:///x",
            "https://a/?b",
            "https://a/\"b",
            "https://a/;b",
        ] {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_address_that_is_shared_names_a_file_of_the_site() {
        let (site, address) = (written(Some(&address())), address().0);
        let mut pages = 0;
        // The embedded page names the address only in its policy.
        for path in files(site.path()).unwrap().into_iter().filter(|path| !path.ends_with(EMBED)) {
            let Ok(page) = fs::read_to_string(&path) else { continue };
            for shared in page.split(&address).skip(1) {
                let name = shared.split(['"', '?', '\\']).next().unwrap();
                let own = matches!(name, "" | "embed.html");
                assert!(own || site.path().join(name).is_file(), "{name} in {}", path.display());
            }
            pages += usize::from(page.contains("og:image"));
        }
        assert!(pages > 5, "the page and its lessons: {pages}");
        let oembed = fs::read_to_string(site.path().join("share/oembed.json")).unwrap();
        let oembed: serde_json::Value = serde_json::from_str(&oembed).unwrap();
        assert_eq!((&oembed["type"], &oembed["version"]), (&json!("rich"), &json!("1.0")));
        assert!(oembed["html"].as_str().unwrap().starts_with(&format!("<iframe src=\"{address}embed.html?")));
    }

    #[test]
    fn without_an_address_nothing_names_one() {
        let site = written(None);
        let index = fs::read_to_string(site.path().join(INDEX)).unwrap();
        assert!(index.contains("og:title") && index.contains("rel=\"manifest\"") && !index.contains("og:image"));
        assert!(!site.path().join("share/oembed.json").exists());
        assert_eq!(fs::read_to_string(site.path().join(EMBED)).unwrap(), include_str!("../../../www/embed.html"));
        assert!(!index.contains(PLACE));
    }

    #[test]
    fn a_frame_may_load_the_site_by_its_address_too() {
        let site = written(Some(&address()));
        let embed = fs::read_to_string(site.path().join(EMBED)).unwrap();
        for rule in ["script-src 'self' ", "style-src 'self' ", "connect-src 'self' ", "worker-src 'self' "] {
            assert!(embed.contains(&format!("{rule}{}", address().0)), "{rule}: {embed}");
        }
        assert!(!fs::read_to_string(site.path().join(INDEX)).unwrap().contains("'self' https:"));
    }

    #[test]
    fn lesson_descriptions_contain_no_numbers_of_a_run() {
        let lessons = lessons(include_str!("../../../www/lessons.txt"));
        assert!(lessons.len() > 5);
        for Lesson { key, title, about } in &lessons {
            assert!(about.len() > 40 && !about.contains(['{', '*', '@']) && !title.is_empty(), "{key}: {about}");
            let page =
                lesson_page(&Lesson { key: key.clone(), title: title.clone(), about: about.clone() }, Some(&address()));
            assert!(
                page.contains(&format!("url=../?lesson={key}")) && page.contains(&format!("lessons/{key}.json")),
                "{page}"
            );
        }
    }

    #[test]
    fn the_picture_is_as_large_as_it_is_said_to_be() {
        let png = include_bytes!("../../../docs/pictures/page-1440-light.png");
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!([number(16), number(20)], PICTURE_SIZE);
    }
}
