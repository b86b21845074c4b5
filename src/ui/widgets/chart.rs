//! A small chart: axes, curves, a read-out under the pointer, and the same numbers as a table.

use leptos::{html, prelude::*};
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{PointerEvent, ResizeObserver};

use super::word::named;
use crate::{
    plot::{
        drawing::{Drawing, Shape},
        format, picture,
    },
    ui::{
        browser,
        size::closures::{bool_fn, effect, on_event, text_fn, text_memo, view_fn},
        state::Page,
        text::t,
    },
};

/// The fixed properties of a chart.
#[derive(Clone, Copy)]
pub struct Frame {
    pub title: &'static str,
    /// Stem of its file name.
    pub file: &'static str,
    pub height: f64,
    /// True for a chart with legend, read-out and table; false for a small plot in a tile.
    pub full: bool,
}

/// Returns the width of an element, kept up to date.
pub fn width_of<E>(node: NodeRef<E>, first: f64) -> RwSignal<f64>
where
    E: html::ElementType + 'static,
    E::Output: JsCast + Clone + 'static,
{
    let width = RwSignal::new(first);
    effect(move || {
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

/// A chart, redrawn whenever a signal that `drawing` reads changes.
pub fn chart(page: Page, frame: Frame, drawing: impl Fn() -> Drawing + Send + Sync + 'static) -> AnyView {
    draw(page, frame, Box::new(drawing))
}

/// One function for all charts keeps the program small.
fn draw(page: Page, frame: Frame, drawing: Box<dyn Fn() -> Drawing + Send + Sync>) -> AnyView {
    let drawing = Memo::new(move |_| drawing());
    if frame.full {
        page.charts.exportable.update_value(|charts| charts.push((frame.file, frame.title, drawing)));
        on_cleanup(move || {
            page.charts.exportable.update_value(|charts| charts.retain(|(file, ..)| *file != frame.file))
        });
    }
    let node = NodeRef::<html::Div>::new();
    let width = width_of(node, 360.0);
    let hover = RwSignal::new(None::<f64>);
    let size = move || {
        let width = width.get();
        let large = node.get_untracked().is_some_and(|node| matches!(node.closest(":popover-open"), Ok(Some(_))));
        let height =
            if page.appearance.present.get() { frame.height * browser::share_of_height() } else { frame.height };
        (width, if large { height.max(0.45 * width) } else { height })
    };
    let axes = move || drawing.with(|d| picture::axes(d, size(), frame.full));
    let plot = move || {
        let axes = axes();
        drawing.with(|d| picture::plot(d, &axes, frame.full))
    };
    let reading = move || {
        let at = hover.get()?;
        drawing.with(|d| d.read(at))
    };
    let marks = move || reading().map_or_else(String::new, |reading| picture::marks(&reading, &axes()));
    let hovered = move |event: PointerEvent| {
        let Some(node) = node.get_untracked() else { return };
        let place = node.get_bounding_client_rect();
        let (x, _) = untrack(axes);
        // Presentation mode enlarges the page.
        let scale = place.width() / width.get_untracked();
        hover.set(Some(x.value((f64::from(event.client_x()) - place.left()) / scale)));
    };
    // Rebuilt only if the names change, so that a word being explained stays.
    let keys = Memo::new(move |_| {
        drawing.with(|d| d.legend().map(|line| (line.class, line.name.clone())).collect::<Vec<_>>())
    });
    let legend = move || {
        keys.with(|keys| {
            keys.iter()
                .map(|(class, name)| view! { <span class=format!("key {class}")>{named(name)}</span> })
                .collect_view()
                .into_any()
        })
    };
    let read = text_memo(move || reading().map_or_else(String::new, |reading| reading.text));
    let plotted = view! {
        <svg class="plot" role="img" width=text_fn(move || format::exact(size().0)) height=text_fn(move || format::exact(size().1)) aria-label=text_fn(move || drawing.with(|d| d.summary.clone()))
            on:pointermove=hovered on:pointerleave=move |_| hover.set(None)>
            <g inner_html=text_fn(plot)></g>
            <g inner_html=text_fn(marks)></g>
        </svg>
    };
    if !frame.full {
        return view! { <div class="small-chart" node_ref=node>{plotted}</div> }.into_any();
    }
    view! {
        <figure class="chart" data-chart=frame.file>
            <figcaption><h3>{frame.title}</h3>{enlarge(frame.title)}
                <span class="legend"><span class="line-names" class:away=bool_fn(move || !read.with(String::is_empty))>{view_fn(move || Some(legend()))}</span>
                    {view_fn(move || Some(read.get()).filter(|text| !text.is_empty()).map(|text| view! { <span class="readout">{text}</span> }.into_any()))}</span>
            </figcaption>
            <div node_ref=node>{plotted}</div>
            {table(frame.title, drawing)}
        </figure>
    }
    .into_any()
}

/// A button by which `www/start.js` enlarges the tile or chart around it.
pub fn enlarge(title: &'static str) -> AnyView {
    view! { <button type="button" class="quiet enlarge" title=t!("Enlarge") aria-expanded="false" aria-label=t!("Enlarge: {title}", title = title)>
        <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="M14 3h7v7h-2V6.4l-4.3 4.3-1.4-1.4L17.6 5H14zM10 21H3v-7h2v3.6l4.3-4.3 1.4 1.4L6.4 19H10z"></path></svg></button> }
        .into_any()
}

/// The same numbers in rows, built only while it is open.
fn table(title: &'static str, drawing: Memo<Drawing>) -> impl IntoView {
    let open = RwSignal::new(false);
    let rows = move || {
        open.get().then(|| {
            drawing.with(|d| {
                let (mut head, rows) = d.rows();
                if let Some(run) = head.first_mut().filter(|_| d.shape == Shape::Scatter) {
                    t!("run").clone_into(run);
                }
                let body = rows
                    .into_iter()
                    .map(|row| {
                        let mut cells = row.into_iter();
                        let first = cells.next();
                        let cells = cells.map(|cell| view! { <td>{cell}</td> }).collect_view();
                        view! { <tr><th scope="row">{first}</th>{cells}</tr> }
                    })
                    .collect_view();
                let head = head.into_iter().map(|name| view! { <th scope="col">{name}</th> }).collect_view();
                view! {
                    <table><caption class="visually-hidden">{title}</caption>
                        <thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>
                }
                .into_any()
            })
        })
    };
    view! {
        <details class="as-table" on:toggle=on_event(move |event| {
            let details: web_sys::HtmlDetailsElement = event_target(&event);
            open.set(details.open());
        })><summary>{t!("As a table")}</summary><div class="scroll" tabindex="0" role="region" aria-label=t!("{title}, table", title = title)>{view_fn(rows)}</div></details>
    }
    .into_any()
}
