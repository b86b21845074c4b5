//! Charts as SVG: on the page, and as a complete picture to save. CSS classes set the colours.

use std::fmt::Write as _;

use super::{
    axis::Axis,
    drawing::{Drawing, Readout, Shape},
    format::{exact, fixed},
    series::{decimate, path, stairs},
};
use crate::train::label::escaped;

/// Points drawn of a curve; a screen shows no more.
const BUDGET: usize = 400;
/// Width of a picture and height of its chart, in pixels.
const SIZE: (f64, f64) = (720.0, 346.0);
const MARGIN: f64 = 14.0;
/// Margin to the right of an axis.
const RIGHT: f64 = 10.0;
/// Line height of the legend, and width allowed for a letter; few letters are wider.
const LINE: f64 = 18.0;
const LETTER: f64 = 7.5;
/// Width and height of the axes for each tick.
const TICK_ROOM: (f64, f64) = (120.0, 60.0);

/// Returns the x and y axes of a chart of this width and height.
#[must_use]
pub fn axes(drawing: &Drawing, (width, height): (f64, f64), full: bool) -> (Axis, Axis) {
    let left = if full { 44.0 } else { 30.0 };
    (drawing.x.axis(left, (width - RIGHT).max(left + 20.0)), drawing.y.axis(height - 18.0, 8.0))
}

/// Returns ticks, axes and curves as SVG. None of its text is user input.
#[must_use]
pub fn plot(drawing: &Drawing, (x, y): &(Axis, Axis), full: bool) -> String {
    let [first, last, bottom] = [x.start, x.end, y.start].map(exact);
    let mut out = String::new();
    // Writing into a string cannot fail, here and below.
    for tick in y.ticks((((y.start - y.end) / TICK_ROOM.1) as usize).clamp(2, 5)) {
        let (at, label) = (fixed(y.pixel(tick), 1), drawing.y.tick(tick));
        _ = write!(out, r#"<line class="grid" x1="{first}" x2="{last}" y1="{at}" y2="{at}"/>"#);
        let left = exact(x.start - 5.0);
        _ = write!(out, r#"<text class="tick" x="{left}" y="{at}" dy="0.32em" text-anchor="end">{label}</text>"#);
    }
    let room = (((x.end - x.start) / TICK_ROOM.0) as usize).clamp(2, 6);
    let below = exact(y.start + 14.0);
    for tick in x.ticks(room) {
        let (at, label) = (x.pixel(tick), drawing.x.tick(tick));
        // A long label ends at the picture's edge.
        let edge = x.end + RIGHT;
        let cut = at + 0.5 * LETTER * label.chars().count() as f64 > edge;
        let (at, anchor) = if cut { (edge, "end") } else { (at, "middle") };
        _ = write!(out, r#"<text class="tick" x="{}" y="{below}" text-anchor="{anchor}">{label}</text>"#, fixed(at, 1));
    }
    _ = write!(out, r#"<line class="axis" x1="{first}" x2="{last}" y1="{bottom}" y2="{bottom}"/>"#);
    for line in &drawing.lines {
        let thin = match decimate(&line.points, BUDGET) {
            thin if drawing.shape == Shape::Stairs => stairs(&thin),
            thin => thin,
        };
        let pixels: Vec<_> = thin.into_iter().map(|(a, b)| (x.pixel(a), y.pixel(b))).collect();
        if let [point] = pixels[..] {
            // A path through a single point has no length.
            dot(&mut out, line.class, point, "3");
        } else {
            _ = write!(out, r#"<path class="{}" d="{}"/>"#, line.class, path(pixels));
        }
    }
    if full {
        let (above, label) = (exact(y.start - 5.0), drawing.x.label);
        _ = write!(out, r#"<text class="axis-label" x="{last}" y="{above}" text-anchor="end">{label}</text>"#);
    }
    out
}

fn dot(out: &mut String, class: &str, (x, y): (f64, f64), radius: &str) {
    _ = write!(out, r#"<circle class="{class}" cx="{}" cy="{}" r="{radius}"/>"#, fixed(x, 1), fixed(y, 1));
}

/// Returns the cursor and a dot at each point of `reading`, as SVG.
#[must_use]
pub fn marks(reading: &Readout, (x, y): &(Axis, Axis)) -> String {
    let (at, mut out) = (fixed(x.pixel(reading.x), 1), String::new());
    let [top, bottom] = [y.end, y.start].map(exact);
    _ = write!(out, r#"<line class="cursor" x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>"#);
    for (class, point) in &reading.marks {
        dot(&mut out, &format!("{class} dot"), (x.pixel(point.0), y.pixel(point.1)), "3.5");
    }
    out
}

/// Returns a picture with title and legend, whatever the page's layout, and its width and height.
#[must_use]
pub fn svg(title: &str, drawing: &Drawing) -> (String, (f64, f64)) {
    let (mut legend, mut left, mut top) = (String::new(), MARGIN, MARGIN + 2.0 * LINE);
    for line in drawing.legend() {
        let wide = 24.0 + LETTER * line.name.chars().count() as f64;
        if left > MARGIN && left + wide > SIZE.0 - MARGIN {
            (left, top) = (MARGIN, top + LINE);
        }
        let middle = top - 4.0;
        if drawing.shape == Shape::Scatter {
            dot(&mut legend, line.class, (left + 9.0, middle), "3");
        } else {
            _ = write!(legend, r#"<path class="{}" d="M{} {}h18"/>"#, line.class, fixed(left, 1), exact(middle));
        }
        let (at, down, name) = (fixed(left + 24.0, 1), exact(top), escaped(&line.name));
        _ = write!(legend, r#"<text class="tick" x="{at}" y="{down}">{name}</text>"#);
        left += wide + MARGIN;
    }
    let (width, height) = (SIZE.0, top + 4.0 + SIZE.1);
    let inside = plot(drawing, &axes(drawing, SIZE, true), true);
    let [w, h, down, margin, line] = [width, height, top + 4.0, MARGIN, MARGIN + 10.0].map(exact);
    let text = format!(
        r#"<svg class="plot picture" width="{w}" height="{h}" viewBox="0 0 {w} {h}"><title>{}</title><rect width="{w}" height="{h}"/><text class="title" x="{margin}" y="{line}">{}</text>{legend}<g transform="translate(0 {down})">{inside}</g></svg>"#,
        escaped(&drawing.summary),
        escaped(title),
    );
    (text, (width, height))
}

/// Returns [`svg`] as a standalone file that includes the CSS in `style`.
#[must_use]
pub fn file(title: &str, drawing: &Drawing, style: &str) -> String {
    let (text, _) = svg(title, drawing);
    let text = text.replacen("<svg ", r#"<svg xmlns="http://www.w3.org/2000/svg" "#, 1);
    text.replacen("<title>", &format!("<style>{style}</style><title>"), 1) + "\n"
}

#[cfg(test)]
mod tests {
    use super::{
        super::drawing::{GHOST, Line, Range, Write},
        *,
    };

    fn drawing(shape: Shape, names: &[&str]) -> Drawing {
        let line = |(i, name): (usize, &&str)| Line {
            class: if name.is_empty() { GHOST } else { "line-pin-0" },
            name: (*name).to_owned(),
            points: if shape == Shape::Scatter { vec![(i as f64, 0.5)] } else { vec![(0.0, 0.1), (10.0, 0.5)] },
        };
        Drawing {
            lines: names.iter().enumerate().map(line).collect(),
            x: Range { low: 0.0, high: 10.0, logarithmic: false, label: "step", write: Write::Whole },
            y: Range { low: 0.0, high: 1.0, logarithmic: false, label: "accuracy", write: Write::Percent },
            shape,
            summary: "accuracy & more".to_owned(),
        }
    }

    /// Between two steps, the bound is drawn at the value of the second.
    #[test]
    fn bounds_are_drawn_as_stairs() {
        let drawn = |shape| svg("ε", &drawing(shape, &["ε"])).0;
        let d =
            |text: &str| text.split(r#"class="line-pin-0" d=""#).nth(2).unwrap().split('"').next().unwrap().to_owned();
        assert_eq!(d(&drawn(Shape::Lines)).matches('L').count(), 1);
        assert_eq!(d(&drawn(Shape::Stairs)).matches('L').count(), 2);
    }

    #[test]
    fn a_picture_has_title_legend_and_every_curve() {
        let (text, size) = svg("Test accuracy", &drawing(Shape::Lines, &["σ < 1", "", "this run"]));
        assert_eq!(size, (720.0, 400.0));
        assert!(text.contains(r#"width="720" height="400""#), "{text}");
        assert!(
            text.contains(">Test accuracy</text>") && text.contains("<title>accuracy &amp; more</title>"),
            "{text}"
        );
        assert!(text.contains(">σ &lt; 1</text>") && text.contains(">this run</text>"), "{text}");
        // Three curves, and legend marks for the two with names.
        assert_eq!(text.matches("<path ").count(), 5);
        assert_eq!(text.matches(r#"<path class="ghost""#).count(), 1);
    }

    #[test]
    fn a_file_has_its_namespace_and_style() {
        let text = file("Test accuracy", &drawing(Shape::Lines, &["a"]), ".line-pin-0 { stroke: #111 }");
        assert!(text.starts_with(r#"<svg xmlns="http://www.w3.org/2000/svg" class="#), "{text}");
        assert!(text.contains("<style>.line-pin-0 { stroke: #111 }</style><title>accuracy"), "{text}");
    }

    #[test]
    fn single_points_are_dots() {
        let (text, _) = svg("Accuracy against ε", &drawing(Shape::Scatter, &["a", "", "b"]));
        assert_eq!((text.matches("<path ").count(), text.matches("<circle ").count()), (0, 5));
    }

    #[test]
    fn a_long_legend_makes_the_picture_higher_not_the_chart_smaller() {
        let names = ["a rather long name of a run, as some give it"; 9];
        let (text, (_, height)) = svg("", &drawing(Shape::Lines, &names));
        assert!(height >= 400.0 + 4.0 * LINE, "{height}");
        assert!(text.contains(&format!(r#"<g transform="translate(0 {})">"#, height - SIZE.1)), "{text}");
    }

    #[test]
    fn no_label_is_cut_at_the_edge() {
        let mut chart = drawing(Shape::Lines, &["a"]);
        let label = |chart: &Drawing| plot(chart, &axes(chart, (360.0, 165.0), true), true);
        assert!(label(&chart).contains(r#"x="350.0" y="161" text-anchor="middle">10</text>"#), "{}", label(&chart));
        (chart.x.high, chart.x.write) = (1.0, Write::Percent);
        assert!(label(&chart).contains(r#"x="360.0" y="161" text-anchor="end">100%</text>"#), "{}", label(&chart));
    }

    #[test]
    fn a_reading_is_marked_on_each_curve_that_it_names() {
        let chart = drawing(Shape::Lines, &["a", "", "b"]);
        let axes = axes(&chart, (360.0, 165.0), true);
        let text = marks(&chart.read(9.0).unwrap(), &axes);
        assert_eq!((text.matches(r#"class="cursor""#).count(), text.matches("dot\"").count()), (1, 2));
    }
}
