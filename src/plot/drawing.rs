//! Charts as plain data: curves, axes, read-outs, and table rows of the same numbers.

use super::{
    axis::{Axis, power_label},
    format,
    series::{Point, at, in_order, nearest},
};

/// Rows of a table, besides those at the ends of curves.
const ROWS: usize = 20;
/// The table cell where a curve has no value.
const NOTHING: &str = "–";
/// The class of runs without a colour of their own.
pub const GHOST: &str = "ghost";
/// The class of a lower bound in a chart of upper bounds; its values are rounded down.
pub const AT_LEAST: &str = "ghost at-least";
/// The class of the recorded run that ships with the page.
pub const RECORDED: &str = "line-recorded";
/// The class of an infeasible region; its points are the outline.
pub const FORBIDDEN: &str = "forbidden";
/// The class of a value set by the user, which is not a bound.
pub const BUDGET: &str = "line-budget";

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The CSS class, which sets colour and dashes.
    pub class: &'static str,
    /// The name in the legend, the read-out and the table; empty to omit the curve from all three.
    pub name: String,
    /// (x, y), in ascending order of x.
    pub points: Vec<Point>,
}

impl Line {
    /// Returns the value at the first point at or after `x`.
    fn next(&self, x: f64) -> Option<f64> {
        Some(self.points.get(self.points.partition_point(|point| point.0 < x))?.1)
    }
}

/// How the points of a curve are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// By straight lines.
    Lines,
    /// By steps, for upper bounds that do not fall: between two points, the second holds.
    Stairs,
    /// Not at all; the table has a row for each point.
    Scatter,
}

/// The contents of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// The curves; later ones are drawn over earlier ones.
    pub lines: Vec<Line>,
    /// The horizontal axis.
    pub x: Range,
    /// The vertical axis.
    pub y: Range,
    /// How the points of a curve are joined.
    pub shape: Shape,
    /// One sentence for screen readers.
    pub summary: String,
}

/// An axis without pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest value shown.
    pub low: f64,
    /// The largest value shown.
    pub high: f64,
    /// True for a logarithmic scale.
    pub logarithmic: bool,
    /// The label of the axis.
    pub label: &'static str,
    /// How values are written on ticks and in the read-out.
    pub write: Write,
}

/// How the values of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// A whole number.
    Whole,
    /// A share, as a percentage.
    Percent,
    /// An upper bound on a share, as a percentage rounded up.
    PercentAtMost,
    /// ε, rounded up.
    Epsilon,
    /// To a ten-thousandth of the axis's order of magnitude, or, on a logarithmic axis, to a few
    /// significant digits.
    Number,
}

/// The read-out of a chart at one x.
#[derive(Clone, Debug, PartialEq)]
pub struct Readout {
    /// In data units, not pixels.
    pub x: f64,
    /// One line of text.
    pub text: String,
    /// The CSS class and the point of each curve in the text.
    pub marks: Vec<(&'static str, Point)>,
}

impl Range {
    /// Formats a value.
    #[must_use]
    pub fn value(&self, x: f64) -> String {
        match self.write {
            Write::Whole => format::integer(x.max(0.0).round() as u64),
            // Drop the decimals of whole percentages.
            Write::Percent => whole_percent(format::percent(x)),
            Write::PercentAtMost => whole_percent(format::percent_at_most(x)),
            Write::Epsilon => format::epsilon(x),
            Write::Number if self.logarithmic => format::number(x),
            Write::Number => {
                let unit = 10f64.powf((self.high - self.low).log10().floor() - 4.0);
                format::number((x / unit).round() * unit)
            }
        }
    }

    /// Formats a tick label, which is a position on the axis and not a bound.
    #[must_use]
    pub fn tick(&self, x: f64) -> String {
        let write = match self.write {
            Write::PercentAtMost => Write::Percent,
            Write::Epsilon => Write::Number,
            other => other,
        };
        if self.logarithmic { power_label(x) } else { Self { write, ..*self }.value(x) }
    }

    /// True if the values are upper bounds that do not fall along the other axis.
    fn bounds(&self) -> bool {
        matches!(self.write, Write::PercentAtMost | Write::Epsilon)
    }

    /// Returns the axis on these pixels.
    #[must_use]
    pub fn axis(&self, start: f64, end: f64) -> Axis {
        Axis { low: self.low, high: self.high, start, end, logarithmic: self.logarithmic }
    }
}

fn whole_percent(text: String) -> String {
    let whole = text.strip_suffix("0%").and_then(|rest| rest.strip_suffix(|sign: char| !sign.is_ascii_digit()));
    whole.map(|whole| format!("{whole}%")).unwrap_or(text)
}

impl Drawing {
    fn named(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter().filter(|line| !line.name.is_empty())
    }

    /// True if no named curve has points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named().all(|line| line.points.is_empty())
    }

    /// Returns the curves in the legend: those drawn as lines; in a scatter chart, those with a
    /// colour of their own.
    pub fn legend(&self) -> impl Iterator<Item = &Line> {
        self.named().filter(move |line| match self.shape {
            Shape::Scatter => line.class != GHOST,
            // Of a run without steps there is only the untrained model.
            _ => line.points.last().is_some_and(|last| line.points.len() > 1 || last.0 != 0.0),
        })
    }

    /// Returns the x of the nearest point of any named curve; they may have points at different x.
    fn place(&self, x: f64) -> Option<f64> {
        let places = self.named().filter_map(|line| nearest(&line.points, x).map(|point| point.0));
        places.min_by(|a, b| (a - x).abs().total_cmp(&(b - x).abs()))
    }

    fn value(&self, line: &Line, x: f64) -> Option<f64> {
        let between = at(&line.points, x, self.y.logarithmic)?;
        Some(line.next(x).filter(|_| self.shape == Shape::Stairs).unwrap_or(between))
    }

    /// Formats a line's value; a bound between two points is at most that of the second.
    fn said(&self, line: &Line, x: f64, value: f64) -> String {
        match line.class {
            AT_LEAST => return format::lower(value, 4),
            BUDGET => return format::budget(value),
            _ => {}
        }
        self.y.value(line.next(x).filter(|_| self.y.bounds()).unwrap_or(value))
    }

    /// Returns the read-out near `x`, without curves that do not reach there.
    #[must_use]
    pub fn read(&self, x: f64) -> Option<Readout> {
        let x = self.place(x)?;
        let (mut said, mut marks) = (vec![], vec![]);
        for line in self.named() {
            if let Some(value) = self.value(line, x) {
                said.push(format!("{} {}", line.name, self.said(line, x, value)));
                marks.push((line.class, (x, value)));
            }
        }
        let text = format!("{} {}: {}", self.x.label, self.x.value(x), said.join(", "));
        Some(Readout { x, text, marks })
    }

    /// Returns the column heads and the rows; the first column is x, or the run of a scatter chart.
    #[must_use]
    pub fn rows(&self) -> (Vec<String>, Vec<Vec<String>>) {
        if self.shape == Shape::Scatter {
            let row =
                |line: &Line, point: &Point| vec![line.name.clone(), self.x.value(point.0), self.y.value(point.1)];
            let head = vec!["run".to_owned(), self.x.label.to_owned(), self.y.label.to_owned()];
            let rows = self.named().flat_map(|line| line.points.iter().map(move |point| row(line, point)));
            return (head, rows.collect());
        }
        let ends: Vec<f64> = self.named().filter_map(|line| line.points.last().map(|point| point.0)).collect();
        let low = self.named().filter_map(|line| line.points.first()).map(|p| p.0).fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let evenly = (0..ROWS).map(|i| low + (high - low) * i as f64 / (ROWS - 1) as f64);
        let places = in_order(evenly.filter_map(|x| self.place(x)).chain(ends.iter().copied()).collect());
        let row = |x: f64| -> Vec<String> {
            let cell =
                |line: &Line| self.value(line, x).map_or_else(|| NOTHING.to_owned(), |value| self.said(line, x, value));
            std::iter::once(self.x.value(x)).chain(self.named().map(cell)).collect()
        };
        let head = std::iter::once(self.x.label.to_owned()).chain(self.named().map(|line| line.name.clone())).collect();
        (head, places.into_iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: Range = Range { low: 0.0, high: 480.0, logarithmic: false, label: "step", write: Write::Whole };
    const SHARE: Range = Range { low: 0.0, high: 1.0, logarithmic: false, label: "accuracy", write: Write::Percent };

    fn line(class: &'static str, name: &str, points: &[Point]) -> Line {
        Line { class, name: name.to_owned(), points: points.to_vec() }
    }

    fn drawing(lines: Vec<Line>) -> Drawing {
        Drawing { lines, x: STEPS, y: SHARE, shape: Shape::Lines, summary: String::new() }
    }

    #[test]
    fn read_and_rows_omit_a_curve_beyond_its_end() {
        let long: Vec<Point> = (0..=40).map(|i| (f64::from(i) * 12.0, 0.5)).collect();
        let chart = drawing(vec![
            line("line-pin-0", "first", &long),
            line("line-accuracy", "this run", &[(0.0, 0.1), (12.0, 0.45)]),
        ]);
        assert_eq!(chart.read(5.0).unwrap().text, "step 0: first 50%, this run 10%");
        assert_eq!(chart.read(480.0).unwrap().text, "step 480: first 50%");
        assert_eq!(chart.read(9000.0).unwrap().marks, [("line-pin-0", (480.0, 0.5))]);

        let (head, rows) = chart.rows();
        assert_eq!(head, ["step", "first", "this run"]);
        assert_eq!(rows[0], ["0", "50%", "10%"]);
        // The short curve has a value at its end and none after it.
        assert_eq!(rows[1], ["12", "50%", "45%"]);
        assert!(rows[2..].iter().all(|row| row[2] == NOTHING), "{rows:?}");
        assert_eq!(rows.last().unwrap(), &["480", "50%", NOTHING]);
        assert!(rows.len() <= ROWS + 2, "{rows:?}");
        assert_eq!(drawing(vec![]).rows(), (vec!["step".to_owned()], vec![]));
        assert!(!chart.is_empty() && drawing(vec![line("a", "this run", &[]), line(GHOST, "", &long)]).is_empty());
        assert_eq!(drawing(vec![line(GHOST, "", &long)]).read(12.0), None);
    }

    #[test]
    fn read_interpolates_between_points() {
        let chart = drawing(vec![
            line("a", "measured", &[(0.0, 0.2), (120.0, 0.9), (480.0, 0.9)]),
            line("b", "guess", &[(0.0, 0.0), (480.0, 1.0)]),
        ]);
        assert_eq!(chart.read(118.0).unwrap().text, "step 120: measured 90%, guess 25%");
    }

    #[test]
    fn text_of_a_bound_is_never_below_it() {
        let epsilon = Range { low: 0.0, high: 4.0, label: "ε", write: Write::Epsilon, ..STEPS };
        let root: Vec<Point> = [0.0, 100.0, 400.0].map(|x: f64| (x, 0.05 * x.sqrt())).to_vec();
        let steps: Vec<Point> = (0..5).map(|i| f64::from(i) * 100.0).map(|x| (x, 0.1234)).collect();
        let chart = Drawing { y: epsilon, ..drawing(vec![line("a", "run", &steps), line("b", "projected", &root)]) };
        // The chord is 0.667 at 200, where the bound is 0.7071.
        let reading = chart.read(200.0).unwrap();
        assert_eq!(reading.text, "step 200: run 0.124, projected 1.00");
        assert!((reading.marks[1].1.1 - 2.0 / 3.0).abs() < 1e-9, "{reading:?}");
        assert!(chart.rows().1.contains(&["200", "0.124", "1.00"].map(str::to_owned).to_vec()), "{:?}", chart.rows());
        assert_eq!([epsilon.tick(0.6000000000000001), epsilon.value(0.6000000000000001)], ["0.6", "0.601"]);
        let least = Drawing { lines: vec![line(AT_LEAST, "at least", &[(0.0, 0.12349)])], ..chart };
        assert_eq!(least.read(0.0).unwrap().text, "step 0: at least 0.1234");
        let set = Drawing { lines: vec![line(BUDGET, "budget", &[(0.0, 2.6)])], ..least };
        assert_eq!(set.read(0.0).unwrap().text, "step 0: budget 2.60");
        let share = Range { write: Write::PercentAtMost, ..SHARE };
        assert_eq!([share.tick(0.05), share.value(0.1234), share.value(1.0)], ["5%", "12.4%", "100%"]);
        format::speak(',', '.');
        assert_eq!([share.tick(0.05), share.value(0.1234), share.value(1.0)], ["5%", "12,4%", "100%"]);
        format::speak('.', ',');
    }

    #[test]
    fn each_run_of_a_scatter_chart_has_a_row() {
        let epsilon = Range { high: 4.0, label: "ε", write: Write::Number, ..STEPS };
        let lines = vec![
            line(GHOST, "Run 1", &[(0.5, 0.4)]),
            line("line-pin-0", "Run 2", &[(1.25, 0.8)]),
            line("line-accuracy", "this run", &[(3.0, 0.91)]),
        ];
        let chart = Drawing { x: epsilon, shape: Shape::Scatter, ..drawing(lines) };
        let (head, rows) = chart.rows();
        assert_eq!(head, ["run", "ε", "accuracy"]);
        assert_eq!(rows, [["Run 1", "0.5", "40%"], ["Run 2", "1.25", "80%"], ["this run", "3", "91%"]]);
        assert_eq!(chart.read(0.6).unwrap().text, "ε 0.5: Run 1 40%");
        let legend: Vec<_> = chart.legend().map(|line| line.name.as_str()).collect();
        assert_eq!(legend, ["Run 2", "this run"]);
    }

    #[test]
    fn small_values_keep_their_digits() {
        let chance = Range { low: 1e-9, high: 1.0, logarithmic: true, label: "chance", write: Write::Number };
        assert_eq!(chance.value(3.2e-7), "3.2e-7");
        assert_eq!(chance.value(0.25), "0.25");
        let linear = Range { low: 0.0, high: 1.0, logarithmic: false, ..chance };
        assert_eq!(linear.value(3.2e-7), "0");
        assert_eq!(linear.value(0.6000000000000001), "0.6");
        assert_eq!(Range { high: 0.002, ..linear }.value(0.0001234), "1.23e-4");
        assert_eq!(Range { low: 0.0, high: 30_000.0, ..linear }.tick(20_000.0), "20,000");

        let tails = [(1.0, 1e-3), (3.0, 1e-7)];
        let chart =
            Drawing { y: chance, ..drawing(vec![line("a", "tail", &tails), line("b", "other", &[(2.0, 1e-4)])]) };
        assert_eq!(chart.read(2.0).unwrap().text, "step 2: tail 1e-5, other 1e-4");
    }
}
