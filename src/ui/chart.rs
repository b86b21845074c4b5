//! A small line chart: axes, curves, a read-out under the pointer, and the same numbers as a table.

use leptos::{html, prelude::*};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{PointerEvent, ResizeObserver};

use super::{
    axis::{self, Axis},
    closures::{on_event, wording},
    format,
    series::{self, Point, decimate, path},
};

/// Points of a drawn curve; a screen shows no more.
const BUDGET: usize = 400;
/// Rows of the table.
const ROWS: usize = 20;

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its CSS class: colour and dashes.
    pub class: &'static str,
    /// In the legend, the read-out and the table; empty for ghosts.
    pub name: String,
    pub points: Vec<Point>,
}

/// All that a chart draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    pub lines: Vec<Line>,
    pub x: Range,
    pub y: Range,
    /// One sentence for those who do not see it.
    pub summary: String,
}

/// An axis without its pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    pub logarithmic: bool,
    pub label: &'static str,
    /// How values are written, on ticks and in the read-out.
    pub write: Write,
}

/// How the values of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Whole,
    Percent,
    /// Four decimals at most.
    Number,
}

impl Write {
    fn value(self, x: f64) -> String {
        match self {
            Self::Whole => format::integer(x.max(0.0).round() as u64),
            Self::Percent => {
                let text = format::percent(x);
                // Ticks are round: no decimals where there are none.
                text.strip_suffix(".0%").map(|whole| format!("{whole}%")).unwrap_or(text)
            }
            Self::Number => axis::label((x * 1e4).round() / 1e4),
        }
    }
}

/// What stands still about a chart.
#[derive(Clone, Copy)]
pub struct Frame {
    pub title: &'static str,
    pub height: f64,
    /// Legend, hover and table: what a large chart has and a small plot in a tile has not.
    pub full: bool,
}

/// The width of an element, kept up to date.
pub fn width_of<E>(node: NodeRef<E>, first: f64) -> RwSignal<f64>
where
    E: html::ElementType + 'static,
    E::Output: JsCast + Clone + 'static,
{
    let width = RwSignal::new(first);
    Effect::new(move |_| {
        let Some(element) = node.get() else { return };
        let element: web_sys::Element = element.unchecked_into();
        let measured = element.clone();
        let measure = Closure::<dyn Fn()>::new(move || {
            let now = f64::from(measured.client_width());
            if now > 0.0 && (now - width.get_untracked()).abs() >= 1.0 {
                width.set(now);
            }
        });
        if let Ok(observer) = ResizeObserver::new(measure.as_ref().unchecked_ref()) {
            observer.observe(&element);
            let kept = StoredValue::new_local((observer, measure));
            on_cleanup(move || kept.with_value(|(observer, _)| observer.disconnect()));
        }
    });
    width
}

/// The chart. `drawing` is asked anew whenever its signals change.
pub fn chart(frame: Frame, drawing: impl Fn() -> Drawing + Send + Sync + 'static) -> AnyView {
    draw(frame, Box::new(drawing))
}

/// One function for all charts keeps the page small.
fn draw(frame: Frame, drawing: Box<dyn Fn() -> Drawing + Send + Sync>) -> AnyView {
    let drawing = Memo::new(move |_| drawing());
    let node = NodeRef::<html::Div>::new();
    let width = width_of(node, 360.0);
    let hover = RwSignal::new(None::<f64>);
    let axes = move || {
        drawing.with(|d| {
            let bottom = frame.height - 18.0;
            let left = if frame.full { 44.0 } else { 30.0 };
            let make = |range: &Range, start: f64, end: f64| Axis {
                low: range.low,
                high: range.high,
                start,
                end,
                logarithmic: range.logarithmic,
            };
            (make(&d.x, left, (width.get() - 10.0).max(left + 20.0)), make(&d.y, bottom, 8.0))
        })
    };
    let plot = move || {
        let (x, y) = axes();
        drawing.with(|d| {
            let labels = if frame.full { (6, 4) } else { (3, 3) };
            let y_ticks = y.ticks(labels.1).into_iter().map(|tick| {
                let at = format!("{:.1}", y.pixel(tick));
                view! {
                    <line class="grid" x1=x.start x2=x.end y1=at.clone() y2=at.clone()></line>
                    <text class="tick" x=x.start - 5.0 y=at dy="0.32em" text-anchor="end">{write(&d.y, tick)}</text>
                }
            });
            // Labels need room: about 70 pixels each.
            let room = (((x.end - x.start) / 70.0) as usize).clamp(2, labels.0);
            let x_ticks = x.ticks(room).into_iter().map(|tick| {
                view! { <text class="tick" x=format!("{:.1}", x.pixel(tick)) y=y.start + 14.0 text-anchor="middle">{write(&d.x, tick)}</text> }
            });
            let lines = d.lines.iter().map(|line| {
                let thin = decimate(&line.points, BUDGET);
                let shape = path(thin.iter().map(|&(a, b)| (x.pixel(a), y.pixel(b))));
                let dot = (thin.len() == 1).then(|| {
                    view! { <circle class=line.class cx=x.pixel(thin[0].0) cy=y.pixel(thin[0].1) r="2.5"></circle> }
                });
                view! { <path class=line.class d=shape></path>{dot} }
            });
            view! {
                <g>{y_ticks.collect_view()}{x_ticks.collect_view()}</g>
                <line class="axis" x1=x.start x2=x.end y1=y.start y2=y.start></line>
                <g>{lines.collect_view()}</g>
                {frame.full.then(|| view! { <text class="axis-label" x=x.end y=y.start - 5.0 text-anchor="end">{d.x.label}</text> })}
            }
            .into_any()
        })
    };
    let readout = move || {
        let at = hover.get()?;
        let (x, y) = axes();
        drawing.with(|d| {
            let found: Vec<(&Line, Point)> = d
                .lines
                .iter()
                .filter(|line| !line.name.is_empty())
                .filter_map(|line| series::nearest(&line.points, at).map(|point| (line, point)))
                .collect();
            // The curves may have their points at different places: the one under the pointer gives the place.
            let first = found.iter().map(|(_, point)| *point).min_by(|a, b| (a.0 - at).abs().total_cmp(&(b.0 - at).abs()))?;
            let pixel = x.pixel(first.0);
            let text = found.iter().map(|(line, point)| format!("{} {}", line.name, d.y.write.value(point.1))).collect::<Vec<_>>().join(", ");
            let text = format!("{} {}: {text}", d.x.label, d.x.write.value(first.0));
            let dots = found
                .iter()
                .map(|(line, point)| view! { <circle class=format!("{} dot", line.class) cx=x.pixel(point.0) cy=y.pixel(point.1) r="3.5"></circle> })
                .collect_view();
            Some((text, view! { <line class="cursor" x1=pixel x2=pixel y1=y.end y2=y.start></line>{dots} }.into_any()))
        })
    };
    let hovered = move |event: PointerEvent| {
        let Some(node) = node.get_untracked() else { return };
        let left = node.get_bounding_client_rect().left();
        let (x, _) = untrack(axes);
        hover.set(Some(x.value(f64::from(event.client_x()) - left)));
    };
    let legend = move || {
        drawing.with(|d| {
            d.lines
                .iter()
                .filter(|line| !line.name.is_empty())
                .map(|line| view! { <span class=format!("key {}", line.class)>{line.name.clone()}</span> })
                .collect_view()
        })
    };
    let plotted = view! {
        <svg class="plot" role="img" width=move || width.get() height=frame.height aria-label=wording(move || drawing.with(|d| d.summary.clone()))
            on:pointermove=hovered on:pointerleave=move |_| hover.set(None)>
            {plot}
            {move || readout().map(|(_, marks)| marks)}
        </svg>
    };
    if !frame.full {
        return view! { <div class="small-chart" node_ref=node>{plotted}</div> }.into_any();
    }
    view! {
        <figure class="chart">
            <figcaption><h3>{frame.title}</h3>
                <span class="legend">{move || match readout() {
                    Some((text, _)) => view! { <span class="readout">{text}</span> }.into_any(),
                    None => legend().into_any(),
                }}</span>
            </figcaption>
            <div node_ref=node>{plotted}</div>
            {table(frame.title, drawing)}
        </figure>
    }
    .into_any()
}

fn write(range: &Range, tick: f64) -> String {
    if range.logarithmic { axis::power_label(tick) } else { range.write.value(tick) }
}

/// The same numbers in rows. Built only while it is open.
fn table(title: &'static str, drawing: Memo<Drawing>) -> impl IntoView {
    let open = RwSignal::new(false);
    let rows = move || {
        open.get().then(|| {
            drawing.with(|d| {
                let named: Vec<&Line> = d.lines.iter().filter(|line| !line.name.is_empty()).collect();
                let longest = named
                    .iter()
                    .max_by_key(|line| line.points.len())
                    .map(|line| line.points.as_slice())
                    .unwrap_or_default();
                let every = longest.len().div_ceil(ROWS).max(1);
                let picked: Vec<f64> = longest.iter().rev().step_by(every).map(|p| p.0).collect();
                let body = picked
                    .into_iter()
                    .rev()
                    .map(|at| {
                        let cells = named
                            .iter()
                            .map(|line| {
                                let value =
                                    series::nearest(&line.points, at).map(|p| d.y.write.value(p.1)).unwrap_or_default();
                                view! { <td>{value}</td> }
                            })
                            .collect_view();
                        view! { <tr><th scope="row">{d.x.write.value(at)}</th>{cells}</tr> }
                    })
                    .collect_view();
                let head = named.iter().map(|line| view! { <th scope="col">{line.name.clone()}</th> }).collect_view();
                view! {
                    <table><caption class="visually-hidden">{title}</caption>
                        <thead><tr><th scope="col">{d.x.label}</th>{head}</tr></thead><tbody>{body}</tbody></table>
                }
                .into_any()
            })
        })
    };
    view! {
        <details class="as-table" on:toggle=on_event(move |event| {
            let details: web_sys::HtmlDetailsElement = event_target(&event);
            open.set(details.open());
        })><summary>"As a table"</summary><div class="scroll" tabindex="0" role="region" aria-label=format!("{title}, table")>{rows}</div></details>
    }
    .into_any()
}
