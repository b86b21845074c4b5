//! A label as a self-contained page for print.

use super::{
    facts::{ACCUSED, PrivacyLabel},
    text::{headline, odds, sections},
};
use crate::data::name::is_hidden;

const STYLE: &str = "
:root { color-scheme: light; font: 14px/1.45 system-ui, sans-serif; color: #1d2127; background: #ffffff; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; margin: 0; }
h2 { font-size: 0.95rem; margin: 1.2rem 0 0.3rem; }
.headline { font-size: 1.7rem; font-weight: 650; margin: 0.4rem 0; }
.hundreds { display: flex; flex-wrap: wrap; gap: 0.6rem 2rem; margin: 0.8rem 0; }
figure { margin: 0; }
figcaption { font-size: 0.85rem; }
svg { width: 16rem; max-width: 100%; height: auto; }
circle { fill: none; stroke: #80858e; }
circle.accused { fill: #b84a00; stroke: #b84a00; }
table { width: 100%; border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.2rem 1rem 0.2rem 0; border-bottom: 1px solid #dcdde0; }
th { width: 12rem; font-weight: 600; }
ul { margin: 0; padding-left: 1.2em; }
section { break-inside: avoid; }
@page { margin: 14mm; }
@media print { :root { font-size: 11px; } body { margin: 0; max-width: none; padding: 0; } }
";

pub fn page(label: &PrivacyLabel) -> String {
    let title = format!("Privacy label: {}", escaped(&label.name));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p class=\"headline\">{}</p>\n<p>{}</p>\n",
        escaped(&headline(label)),
        escaped(&odds(label))
    );
    if let Ok(bounds) = &label.bounds {
        let grids =
            [("100 whose example was not in", ACCUSED, ""), ("100 whose example was in", bounds.found, "at most ")];
        let grids = grids.map(|(who, accused, most)| hundred(who, accused, most)).concat();
        out.push_str(&format!("<div class=\"hundreds\">{grids}</div>\n"));
    }
    for (heading, rows) in sections(label) {
        let rows: String = rows
            .iter()
            .map(|(name, value)| {
                format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name), escaped(value))
            })
            .collect();
        out.push_str(&format!("<section><h2>{heading}</h2>\n<table>\n{rows}</table></section>\n"));
    }
    for (heading, lines) in [("It rests on", &label.assumptions), ("Not covered", &label.uncovered)] {
        if !lines.is_empty() {
            let lines: String = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
            out.push_str(&format!("<section><h2>{heading}</h2>\n<ul>\n{lines}</ul></section>\n"));
        }
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// Draws a hundred people, of whom `accused` are accused.
fn hundred(who: &str, accused: u32, most: &str) -> String {
    let dots: String = (0..100)
        .map(|i| {
            let class = if i < accused { " class=\"accused\"" } else { "" };
            format!("<circle cx=\"{}\" cy=\"{}\" r=\"4\"{class}/>", 6 + i % 20 * 12, 6 + i / 20 * 12)
        })
        .collect();
    let said = format!("{who}: {most}{accused} accused");
    format!(
        "<figure><svg viewBox=\"0 0 240 60\" role=\"img\" aria-label=\"{said}\">{dots}</svg><figcaption>{said}</figcaption></figure>"
    )
}

/// Escapes text for HTML and XML, between tags and in quotes.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.chars().filter(|c| !is_hidden(*c)).fold(String::new(), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
        out
    })
}
