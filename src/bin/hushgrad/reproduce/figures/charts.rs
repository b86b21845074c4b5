//! A figure's panel as CSV, as SVG and as a Markdown table, with the same numbers.

use std::fmt::Write as _;

use hushgrad::plot::{
    axis::nice_step,
    drawing::{Drawing, Line, Range, Shape, Write},
    format::{number, upper},
    picture,
};

use crate::measured::moments;

/// Classes of curves and their error bars, by [`Series::colour`].
const CLASSES: [(&str, &str); 8] = [
    ("line-0", "line-0 bar"),
    ("line-1", "line-1 bar"),
    ("line-2", "line-2 bar"),
    ("line-3", "line-3 bar"),
    ("line-4", "line-4 bar"),
    ("line-5", "line-5 bar"),
    ("line-6", "line-6 bar"),
    ("line-7", "line-7 bar"),
];
/// Styles of the classes. Pairs with and without denoising share a colour; the second is dashed.
const STYLE: &str = "svg{font-family:system-ui,sans-serif}rect{fill:#fff}.grid{stroke:#ddd}.axis{stroke:#888}\
.tick,.axis-label{fill:#555;font-size:11px}.title{fill:#222;font-size:14px;font-weight:600}\
path{fill:none;stroke:var(--c);stroke-width:2}circle{fill:var(--c)}path.bar{stroke-width:1}\
.line-0{--c:#222}.line-1,.line-2{--c:#b0417a}.line-3,.line-4{--c:#00795a}.line-5,.line-6{--c:#3a62c9}.line-7{--c:#999}\
path.line-2,path.line-4,path.line-6{stroke-dasharray:5 4}path.bar{stroke-dasharray:none}";

/// A point of a curve: the results of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub x: f64,
    pub mean: f64,
    /// Standard deviation of single runs; 0 for one run.
    pub deviation: f64,
    pub runs: usize,
}

impl Mark {
    /// Mean and standard deviation (n − 1) of `values`; `None` if empty.
    pub fn of(x: f64, values: &[f64]) -> Option<Self> {
        let (mean, deviation) = moments(values);
        (!values.is_empty()).then_some(Self { x, mean, deviation, runs: values.len() })
    }
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub rate: Option<f64>,
    /// Below 8.
    pub colour: usize,
    /// In order of x.
    pub marks: Vec<Mark>,
}

/// How values are drawn and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// From 0 to 1, written in percent.
    Shares,
    /// The same, for models that start untrained: the picture omits the start, to show differences.
    Accuracies,
    Numbers,
    /// Positive, drawn on a logarithmic axis.
    Logarithmic,
}

/// The rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Every mark.
    All,
    /// The last mark of each curve.
    Ends,
    /// No rows: the picture says it better.
    None,
}

/// One chart of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// File name without extension.
    pub key: String,
    pub title: String,
    pub x: &'static str,
    pub y: &'static str,
    pub values: Values,
    pub rows: Rows,
    pub series: Vec<Series>,
}

impl Panel {
    /// Comma-separated values, one row per mark.
    pub fn csv(&self) -> String {
        let mut out = format!("series,learning rate,{},{},standard deviation,runs\n", self.x, self.y);
        for series in &self.series {
            // No name contains a quotation mark.
            let rate = series.rate.map_or_else(String::new, |rate| rate.to_string());
            for mark in &series.marks {
                let Mark { x, mean, deviation, runs } = mark;
                let _ = writeln!(out, "\"{}\",{rate},{x},{mean},{deviation},{runs}", series.name);
            }
        }
        out
    }

    /// The chart, with error bars of one standard deviation for several runs.
    pub fn svg(&self) -> String {
        let mut lines = vec![];
        let shown = self.shown();
        for series in &shown.series {
            let (class, bar) = CLASSES[series.colour % CLASSES.len()];
            let points: Vec<_> = series.marks.iter().map(|mark| (mark.x, mark.mean)).collect();
            let bars = series.marks.iter().filter(|mark| mark.runs > 1).map(|mark| Line {
                class: bar,
                name: String::new(),
                points: vec![(mark.x, mark.mean - mark.deviation), (mark.x, mark.mean + mark.deviation)],
            });
            lines.extend(bars);
            lines.push(Line { class, name: series.name.clone(), points });
        }
        let (x, y) = (shown.x_range(), shown.y_range());
        let summary = format!("{}: {} by {}", self.title, self.y, self.x);
        let drawing = Drawing { lines, x, y, shape: Shape::Lines, summary };
        // The title has room for figure, y axis and panel.
        let figure = self.title.split(':').next().unwrap_or_default();
        let panel = self.title.split_once(';').map_or("", |(_, panel)| panel);
        let comma = if panel.is_empty() { "" } else { "," };
        picture::file(&format!("{figure} · {}{comma}{panel}", self.y), &drawing, STYLE)
    }

    /// True if there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.marks().next().is_none()
    }

    fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.series.iter().flat_map(|series| &series.marks)
    }

    /// As drawn: for [`Values::Accuracies`] without marks below every curve's last three quarters.
    fn shown(&self) -> Self {
        let mut shown = self.clone();
        if self.values == Values::Accuracies {
            let trained = self.series.iter().flat_map(|series| &series.marks[series.marks.len() / 4..]);
            let floor = trained.map(|mark| mark.mean - mark.deviation).fold(f64::INFINITY, f64::min);
            shown.series.iter_mut().for_each(|series| series.marks.retain(|mark| mark.mean - mark.deviation >= floor));
        }
        shown
    }

    fn x_range(&self) -> Range {
        let (low, high) = around(self.marks().map(|mark| (mark.x, mark.x)));
        Range { low, high, logarithmic: false, label: self.x, write: Write::Number }
    }

    fn y_range(&self) -> Range {
        let (low, high) = around(self.marks().map(|mark| (mark.mean - mark.deviation, mark.mean + mark.deviation)));
        let (low, high, logarithmic, write) = match self.values {
            Values::Shares | Values::Accuracies => (low.max(0.0), high.min(1.0), false, Write::Percent),
            Values::Numbers => (low, high, false, Write::Number),
            Values::Logarithmic => {
                let least = self.marks().map(|mark| mark.mean).fold(f64::INFINITY, f64::min).clamp(1e-9, 1e9);
                let most = self.marks().map(|mark| mark.mean).fold(least, f64::max);
                (10f64.powf(least.log10().floor()), 10f64.powf(most.log10().floor() + 1.0), true, Write::Number)
            }
        };
        Range { low, high, logarithmic, label: self.y, write }
    }

    /// A Markdown table under its title.
    pub fn table(&self) -> String {
        let mut out = format!("**{}**\n\n", self.title);
        if self.is_empty() {
            out.push_str("Not yet run.\n");
            return out;
        }
        if self.rows == Rows::None {
            return out;
        }
        let _ = writeln!(
            out,
            "| | learning rate | {} | {} | runs |\n| --- | ---: | ---: | ---: | ---: |",
            cell(self.x),
            cell(self.y)
        );
        for series in &self.series {
            let from = if self.rows == Rows::Ends { series.marks.len().saturating_sub(1) } else { 0 };
            for mark in &series.marks[from..] {
                let rate = series.rate.map_or_else(|| "–".to_owned(), number);
                let _ = writeln!(
                    out,
                    "| {} | {rate} | {} | {} | {} |",
                    cell(&series.name),
                    if self.x.starts_with('ε') { at_most(mark.x) } else { short(mark.x) },
                    self.said(mark),
                    mark.runs
                );
            }
        }
        out
    }

    fn said(&self, mark: &Mark) -> String {
        match (self.values, mark.runs) {
            (Values::Shares | Values::Accuracies, 1) => format!("{:.2} %", 100.0 * mark.mean),
            (Values::Shares | Values::Accuracies, _) => {
                format!("{:.2} ± {:.2} %", 100.0 * mark.mean, 100.0 * mark.deviation)
            }
            (_, _) if self.y.starts_with('ε') => format!("{} ± {}", at_most(mark.mean), short(mark.deviation)),
            (_, 1) => short(mark.mean),
            _ => format!("{} ± {}", short(mark.mean), short(mark.deviation)),
        }
    }
}

/// Escapes bars in a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Up to four decimals; integers from 1000.
fn short(x: f64) -> String {
    if x.abs() >= 1000.0 || x == x.round() { number(x.round()) } else { number((x * 1e4).round() / 1e4) }
}

/// An ε with four decimals, rounded up.
fn at_most(epsilon: f64) -> String {
    let text = upper(epsilon, 4);
    if text.contains('e') { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Round axis limits around all of these.
fn around(ranges: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (low, high) = ranges.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (a, b)| (low.min(a), high.max(b)));
    if low > high {
        return (0.0, 1.0);
    }
    let step = nice_step((high - low).max(1e-3 * high.abs()).max(1e-6), 5);
    ((low / step).floor() * step, (high / step + 1e-9).ceil().max((low / step).floor() + 1.0) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(values: Values) -> Panel {
        let marks = vec![Mark::of(0.5, &[0.95]).unwrap(), Mark::of(1.0, &[0.96, 0.98]).unwrap()];
        let series = Series { name: "envelope, KS".to_owned(), rate: Some(32.0), colour: 1, marks };
        let other = Series { name: "DP-SGD".to_owned(), rate: None, colour: 0, marks: vec![] };
        let (key, title) = ("figure-2".to_owned(), "Figure 2".to_owned());
        Panel { key, title, x: "ε", y: "accuracy", values, rows: Rows::All, series: vec![series, other] }
    }

    #[test]
    fn csv_svg_and_table_say_the_same() {
        let panel = panel(Values::Shares);
        let csv = panel.csv();
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(rows[0], "series,learning rate,ε,accuracy,standard deviation,runs");
        assert_eq!(rows[1], "\"envelope, KS\",32,0.5,0.95,0,1");
        assert!(rows[2].starts_with("\"envelope, KS\",32,1,0.97,0.0141") && rows[2].ends_with(",2"), "{csv}");
        assert_eq!(rows.len(), 3);

        let table = panel.table();
        assert!(table.contains("| envelope, KS | 32 | 0.5 | 95.00 % | 1 |\n"), "{table}");
        assert!(table.contains("| envelope, KS | 32 | 1 | 97.00 ± 1.41 % | 2 |\n"), "{table}");
        let ends = Panel { rows: Rows::Ends, ..panel.clone() }.table();
        assert!(!ends.contains("95.00 %") && ends.contains("97.00 ± 1.41 %"), "{ends}");
        let none = Panel { rows: Rows::None, ..panel.clone() }.table();
        assert_eq!(none, "**Figure 2**\n\n");
        // An unescaped bar would end the cell.
        let bars = Panel { y: "|difference|", ..panel.clone() }.table();
        assert!(bars.contains("| ε | \\|difference\\| | runs |"), "{bars}");

        let svg = panel.svg();
        // One curve, two legend keys, and one error bar, because the other mark has a single run.
        assert_eq!(
            (svg.matches(r#"<path class="line-1""#).count(), svg.matches("line-1 bar").count()),
            (2, 1),
            "{svg}"
        );
        assert!(svg.contains("xmlns") && svg.contains("<style>") && svg.contains("Figure 2 · accuracy"), "{svg}");
        let title = "Figure 2: accuracy by ε; each method at its own tuned rate".to_owned();
        let svg = Panel { title, ..panel.clone() }.svg();
        assert!(svg.contains(">Figure 2 · accuracy, each method at its own tuned rate<"), "{svg}");
    }

    #[test]
    fn an_epsilon_in_a_table_is_rounded_up() {
        let mark = |x, mean| Mark { x, mean, deviation: 0.0, runs: 5 };
        let spent = Panel { x: "ε (classic)", ..panel(Values::Shares) };
        let series = |mark| vec![Series { marks: vec![mark], ..spent.series[0].clone() }];
        let table = Panel { series: series(mark(3.030_101, 0.5)), ..spent.clone() }.table();
        assert!(table.contains("| 3.0302 | 50.00 ± 0.00 % |"), "{table}");
        let reached = Panel { x: "accuracy, %", y: "ε (classic)", values: Values::Numbers, ..spent.clone() };
        let table = Panel { series: series(mark(95.5, 1.195_701)), ..reached }.table();
        assert!(table.contains("| 95.5 | 1.1958 ± 0 | 5 |"), "{table}");
    }

    #[test]
    fn only_the_picture_omits_the_start_of_training() {
        let curve = |accuracies: &[f64]| {
            let marks = accuracies.iter().zip(0u32..).map(|(a, x)| Mark::of(f64::from(x), &[*a]).unwrap()).collect();
            Series { name: "a".to_owned(), rate: None, colour: 0, marks }
        };
        let early = [0.1, 0.5, 0.9, 0.92, 0.93, 0.94, 0.95, 0.96];
        let series = vec![curve(&early), curve(&early.map(|a| a - 0.01))];
        let all = Panel { series, ..panel(Values::Accuracies) };
        let (x, y) = (all.shown().x_range(), all.shown().y_range());
        assert!(x.low > 1.0 && y.low > 0.87 && y.high >= 0.96, "{x:?} {y:?}");
        assert_eq!(all.csv().lines().count(), 17);
        // A curve that never improves is shown in full.
        let stuck = Panel { series: vec![curve(&early), curve(&[0.1; 8])], ..all };
        assert_eq!((stuck.shown().x_range().low, stuck.shown().y_range().low), (0.0, 0.0));
    }

    #[test]
    fn axes_hold_all_values() {
        for values in [Values::Shares, Values::Accuracies, Values::Numbers, Values::Logarithmic] {
            let panel = panel(values);
            for (range, ends) in [(panel.x_range(), (0.5, 1.0)), (panel.y_range(), (0.95, 0.98))] {
                let inside = range.low <= ends.0 + 1e-9 && range.high >= ends.1 - 1e-9;
                assert!(inside && range.low < range.high, "{values:?} {range:?}");
            }
        }
        let empty = Panel { series: vec![], ..panel(Values::Numbers) };
        assert!(empty.table().ends_with("Not yet run.\n") && empty.svg().contains("</svg>"));
        assert_eq!(around([(0.9, 0.9)].into_iter()).0, 0.9);
    }

    #[test]
    fn deviations_are_of_single_runs() {
        assert_eq!(Mark::of(1.0, &[]), None);
        assert_eq!(Mark::of(1.0, &[3.0]), Some(Mark { x: 1.0, mean: 3.0, deviation: 0.0, runs: 1 }));
        let mark = Mark::of(1.0, &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((mark.mean, mark.deviation, mark.runs), (2.0, 1.0, 3));
    }
}
