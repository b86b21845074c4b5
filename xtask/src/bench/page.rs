//! `cargo xtask bench page`: waiting times of the shipped site's visitors in Chromium (`page.md`).
//! `cores`: steps on several cores (`cores.md`); `cards`: the seconds on the page's cards.

use serde_json::{Value, json};

use super::report::{self, Lines};
use crate::{
    prelude::*,
    site::{Kind, build},
    tools::browser,
};

/// The file with the cards' results.
const CARDS: [&str; 2] = ["www", "presets.txt"];
/// Column of the seconds.
const COLUMN: usize = 4;

pub fn run(project: &Project, site: Option<&Path>) -> Result<()> {
    let mut lines = Lines::default();
    lines.read(&said(project, site, "bench-page.ts")?, &Value::Null);
    report::write(project, "page", "The page", &section(&lines)?)
}

fn section(lines: &Lines) -> Result<String> {
    let rows: Vec<_> = lines.with("label").collect();
    let last = |field| lines.with(field).next_back().map(|line| &line[field]);
    lines.fill(include_str!("page.md"), json!({ "rows": rows, "browser": last("browser"), "runs": last("runs") }))
}

/// Measures steps on one core and on several.
pub fn cores(project: &Project, site: Option<&Path>) -> Result<()> {
    let mut lines = Lines::default();
    lines.read(&said(project, site, "bench-cores.ts")?, &Value::Null);
    report::write(project, "cores", "On several cores", &cores_section(&lines)?)
}

fn cores_section(lines: &Lines) -> Result<String> {
    let last = |field| lines.with(field).next_back().map(|line| &line[field]);
    let mut labels: Vec<&Value> = lines.with("label").map(|line| &line["label"]).collect();
    labels.dedup();
    lines.fill(include_str!("cores.md"), json!({ "labels": labels, "browser": last("browser") }))
}

/// Plays each card's run, and writes its seconds into the table.
pub fn cards(project: &Project, site: Option<&Path>) -> Result<()> {
    let mut lines = Lines::default();
    lines.read(&said(project, site, "bench-cards.ts")?, &Value::Null);
    let path = CARDS.iter().fold(project.root.clone(), |path, part| path.join(part));
    let table = with_seconds(&fs::read_to_string(&path)?, &lines)
        .ok_or_else(|| wrong!("{}: not every card was measured", path.display()))?;
    fs::write(&path, table)?;
    project.say(&format!("\nThe seconds in {} are new.", CARDS.join("/")));
    Ok(())
}

/// Replaces the measured seconds, rounded; `None` if a card was not measured.
fn with_seconds(table: &str, lines: &Lines) -> Option<String> {
    let mut rows = table.lines();
    let mut text = format!("{}\n", rows.next()?);
    for row in rows {
        let mut words: Vec<String> = row.split(' ').map(str::to_owned).collect();
        let seconds = lines.with("card").find(|line| line["card"] == words[0].as_str())?["seconds"].as_f64()?;
        let digits = usize::from(seconds < 9.95);
        *words.get_mut(COLUMN)? = format!("{seconds:.digits$}");
        text += &format!("{}\n", words.join(" "));
    }
    Some(text)
}

/// Runs a bench of the browser tests on the site in a folder, or on a newly built shipped site.
fn said(project: &Project, site: Option<&Path>, bench: &str) -> Result<Vec<String>> {
    let site = match site {
        Some(site) => std::path::absolute(site)?,
        None => {
            let site = project.target()?.join(Kind::Shipped.folder());
            build::with_set_up(project, Kind::Shipped, &site, None)?;
            site
        }
    };
    let claim = project.claim()?;
    browser::playwright(project)?;
    drop(claim);
    let chromium = browser::chromium(project)?;
    project.say("Benches");
    let words = format!("--config=bench.config.ts --reporter=line {bench}");
    Ok(project.run("Chromium", &mut browser::playwright_test(project, &chromium, &site, &words))?.lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_a_table_that_names_what_was_missed() {
        let mut lines = Lines::default();
        lines.add(json!({ "browser": "1.2", "runs": 5 }));
        for (who, unit, samples, goal) in [
            ("a", "s", [0.3, 0.4, 0.9], Some(0.6)),
            ("b", "s", [1.0, 9999.0, 9999.0], Some(5.0)),
            ("c", "%", [81.0, 81.44, 82.0], None),
            ("d", "", [0.0, 0.0, 0.0], Some(1.0)),
            ("e", "", [0.5357, 0.5357, 0.5357], Some(0.6)),
        ] {
            let mut row = json!({ "who": who, "label": who, "unit": unit, "samples": samples });
            if let Some(goal) = goal {
                row["goal"] = json!(goal);
            }
            lines.add(row);
        }
        let text = section(&lines).unwrap();
        for row in [
            "Chromium 1.2; ",
            "| a | 0.40 s | 0.30 s to 0.90 s | 0.6 s |\n",
            "| b | not reached | 1.00 s to not reached | 5.0 s (missed) |\n",
            "| c | 81.4 % | 81.0 % to 82.0 % |  |\n",
            "| d | 0 | 0 to 0 | 1.0 |\n",
            "| e | 0.536 | 0.536 to 0.536 | 0.6 |\n",
        ] {
            assert!(text.contains(row), "{row}: {text}");
        }
    }

    #[test]
    fn several_cores_are_compared_with_one() {
        let mut lines = Lines::default();
        lines.add(json!({ "browser": "1.2" }));
        for (threads, samples) in [(1, [12.0, 10.0, 11.0]), (2, [5.0, 6.0, 7.0]), (4, [4.0, 5.0, 6.0])] {
            lines.add(json!({ "who": "a", "label": "a", "threads": threads, "samples": samples }));
        }
        let text = cores_section(&lines).unwrap();
        assert!(text.contains("| a | 10.00 (11.00) | 5.00 (6.00) | 2.00 | 4.00 (5.00) | 2.50 |\n"), "{text}");
        assert!(text.contains("Chromium 1.2; the site"), "{text}");
    }

    #[test]
    fn cards_get_their_seconds_and_nothing_else_changes() {
        let table = "key steps accuracy tight seconds picture\na 400 0.9 0.5 - 106 7b7c\nb 9 0.9 none 3.2 105 00\n";
        let mut lines = Lines::default();
        lines.add(json!({ "card": "a", "seconds": 4.16 }));
        assert_eq!(with_seconds(table, &lines), None);
        lines.add(json!({ "card": "b", "seconds": 123.4 }));
        let expected = table.replace("0.5 - ", "0.5 4.2 ").replace("none 3.2 ", "none 123 ");
        assert_eq!(with_seconds(table, &lines).unwrap(), expected);
    }
}
