//! RUNS: the last ones, what changed from one to the next, pinned, named, deleted, taken away as files; and what each
//! reached for what it cost.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement, XmlSerializer};

use super::export;
use crate::{
    plot::{axis, drawing::GHOST, format, picture},
    train::report::{Privacy, Report},
    ui::{
        browser,
        results::teaching,
        size::closures::{on_click, on_event, piece, whether, wording},
        state::{Curves, Page, Past},
        widgets::chart::{Drawing, Frame, Line, Range, Write, chart},
    },
    worker::protocol::Request,
};

/// Colours of pinned runs, in the order of pinning.
const PINNED: [&str; 4] = ["line-pin-0", "line-pin-1", "line-pin-2", "line-pin-3"];

/// The largest ε may be so many times the least where both can be read off a straight axis.
const TOGETHER: f64 = 30.0;

/// The class of a pinned run's curves.
#[must_use]
pub fn pin_class(past: &[Past], run: u32) -> Option<&'static str> {
    past.iter().filter(|past| past.pinned).position(|past| past.run == run).map(|place| PINNED[place % PINNED.len()])
}

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    let rows = move || {
        let past = page.past.get();
        Some(past.iter().rev().map(|each| row(page, each, pin_class(&past, each.run))).collect_view().into_any())
    };
    let empty = move || page.past.with(Vec::is_empty);
    view! {
        <section class="panel runs" data-testid="runs" aria-label="Runs">
            <h2>"Runs"</h2>
            <p class="lead" hidden=whether(move || !empty())>"Change anything, and the run that ends is kept here, to be compared with the next."</p>
            <div class="runs-row" hidden=whether(empty)>
                <div class="scroll" tabindex="0" role="region" aria-label="Earlier runs">
                    <table>
                        <thead><tr><th scope="col">"Run"</th><th scope="col">"What changed"</th><th scope="col">"Steps"</th>
                            <th scope="col">"Accuracy"</th><th scope="col">"ε ≤"</th><th scope="col"><span class="visually-hidden">"Actions"</span></th></tr></thead>
                        <tbody>{piece(rows)}</tbody>
                    </table>
                </div>
                {chart(page, Frame { title: "Accuracy for its price", file: "trade-off", height: 170.0, full: true }, move || trade_off(page))}
            </div>
            <p class="small-label" hidden=whether(empty)>"Each ε is that of one run: who sees several on the same digits may learn as much as they add up to."</p>
            // While a run plays it costs more than was added up.
            <p class="small-label" data-testid="together" hidden=whether(move || page.playing.get() || page.together.with(String::is_empty))>
                {wording(move || page.together.get())}" "
                <button type="button" title="For digits that are public: the runs before count no more" on:click=on_click(move |_| page.send(Request::Forget))>"Forget them"</button></p>
        </section>
    }
    .into_any()
}

fn row(page: Page, past: &Past, class: Option<&'static str>) -> AnyView {
    let run = past.run;
    let again = {
        let settings = past.settings.clone();
        move |_| {
            let digits = page.settings.with_untracked(|now| now.digits);
            page.change(|now| *now = crate::ui::settings::Settings { digits, ..settings.clone() });
        }
    };
    let epsilon = match &past.last.privacy {
        Privacy::Bounded(bound) => format::epsilon(bound.improved.epsilon),
        Privacy::NoGuarantee { .. } => "none".to_owned(),
    };
    let accuracy = past.accuracy.map_or_else(|| "–".to_owned(), format::percent);
    let (key, file) = (past.info.key.clone(), past.info.key.clone());
    let steps = match past.info.beyond {
        0 => format::integer(past.last.step),
        beyond => format!("{} ({} counted)", format::integer(past.last.step), format::integer(past.last.step + beyond)),
    };
    let (pinned, name) = (past.pinned, past.name.clone());
    let label = past.name.clone();
    let letters = label.chars().count().clamp(10, 40).to_string();
    let rename = move |name: String| page.label_run(run, |past| past.name = name.trim().chars().take(60).collect());
    let arriving = move || page.digits.with(|digits| digits.as_ref().is_none_or(|digits| !digits.complete));
    view! {
        <tr>
            <th scope="row"><span class=format!("key swatch {}", class.unwrap_or(GHOST))></span>
                <input type="text" class="name" size=letters aria-label=format!("Name of {label}") prop:value=name
                    on:change=on_event(move |event| rename(event_target_value(&event))) /></th>
            <td>{past.note.clone()}</td>
            <td>{steps}</td><td>{accuracy}{past.last.tests_private_images().then(|| view! { " " {teaching()} })}</td><td>{epsilon}</td>
            <td class="actions">
                <button type="button" aria-pressed=pinned.to_string() aria-label=format!("Pin {label}") on:click=on_click(move |_| page.label_run(run, |past| past.pinned = !past.pinned))>"Pin"</button>
                <button type="button" disabled=whether(arriving) title="Go on where it stood" aria-label=format!("Continue {label}") on:click=on_click(move |_| page.send(Request::Continue { key: key.clone() }))>"Continue"</button>
                <button type="button" aria-label=format!("Again: set everything as in {label}") on:click=on_click(again)>"Again"</button>
                <button type="button" aria-label=format!("Save {label} as a file") on:click=on_click(move |_| page.send(Request::ExportRun { key: file.clone() }))>"Save"</button>
                <button type="button" aria-label=format!("Delete {label}") on:click=on_click(move |_| page.delete_run(run))>"Delete"</button>
            </td>
        </tr>
    }
    .into_any()
}

/// Each run a point: how well it reads digits for the ε it spent.
fn trade_off(page: Page) -> Drawing {
    page.chart_tick.track();
    // Before its first step a run has bought nothing; what has no bound has no place.
    let point = |report: &Report, accuracy: Option<f64>| match &report.privacy {
        Privacy::Bounded(bound) if report.step > 0 && bound.improved.epsilon.is_finite() => {
            Some((bound.improved.epsilon, accuracy?))
        }
        _ => None,
    };
    let mut lines: Vec<Line> = page.past.with(|past| {
        past.iter()
            .filter_map(|each| {
                let class = pin_class(past, each.run).unwrap_or(GHOST);
                Some(Line { class, name: each.name.clone(), points: vec![point(&each.last, each.accuracy)?] })
            })
            .collect()
    });
    let now = page
        .report
        .with_untracked(|report| report.as_ref().and_then(|report| point(report, page.accuracy.get_untracked())));
    if let Some(now) = now {
        lines.push(Line { class: "line-accuracy", name: "this run".to_owned(), points: vec![now] });
    }
    let spent = || lines.iter().flat_map(|line| &line.points).map(|p| p.0);
    let (least, most) = (spent().fold(f64::INFINITY, f64::min), spent().fold(0.0, f64::max));
    let logarithmic = most > TOGETHER * least && least > 0.0;
    let (low, high) = match logarithmic {
        true => (10f64.powf(least.log10().floor()), 10f64.powf(most.log10().ceil())),
        false if most > 0.0 => (0.0, axis::nice_end(most * 1.1, 4)),
        false => (0.0, 1.0),
    };
    Drawing {
        summary: format!("Test accuracy against epsilon, a point for each of {} runs.", lines.len()),
        lines,
        scatter: true,
        x: Range { low, high, logarithmic, label: "ε", write: Write::Epsilon },
        y: Range { low: 0.0, high: 1.0, logarithmic: false, label: "accuracy", write: Write::Percent },
    }
}

/// EXPORT: what can be taken away of the run that stands.
pub fn export_menu(page: Page) -> impl IntoView {
    let item = move |name: &'static str, act: fn(Page)| {
        view! { <button type="button" on:click=on_click(move |_| act(page))>{name}</button> }
    };
    view! {
        <details class="menu" data-testid="export">
            <summary>"Export"</summary>
            <div class="menu-items">
                {item("Run (JSON)", |page| with_current(page, |_| page.export_run()))}
                {item("Curves (CSV)", |page| with_current(page, |past| {
                    let Curves { accuracy, improved, classic } = &*past.curves;
                    // A column by this name is what ε does not cover.
                    let tested = if past.last.tests_private_images() { "accuracy-not-covered-by-epsilon" } else { "accuracy" };
                    let text = export::csv([(tested, accuracy.points()), ("improved", improved.points()), ("classic", classic.points())]);
                    browser::download("hushgrad-curves.csv", "text/csv", text.as_bytes());
                }))}
                {item("Privacy ledger (JSON)", |page| page.send(Request::ExportLedger))}
                {item("Weights (safetensors)", Page::export_weights)}
                {item("Charts (SVG)", |page| charts(page, |name, svg, _| browser::download(&(name + ".svg"), "image/svg+xml", svg.as_bytes())))}
                {item("Charts (PNG)", |page| charts(page, |name, svg, size| png(name + ".png", svg, size)))}
                <label class="file-button" for="import-run">"Open a run file…"</label>
                <input type="file" id="import-run" class="visually-hidden" data-testid="import" accept=".json,application/json"
                    on:change=on_event(move |event| {
                        let input: web_sys::HtmlInputElement = event_target(&event);
                        if let Some(file) = input.files().and_then(|files| files.get(0)) {
                            open_file(page, file);
                        }
                        input.set_value("");
                    }) />
            </div>
        </details>
    }
    .into_any()
}

fn with_current(page: Page, act: impl FnOnce(&Past)) {
    match page.current() {
        Some(past) => act(&past),
        None => page.notice.set(Some("There is nothing to export before the first step.".to_owned())),
    }
}

/// A run from a file joins the list; its settings are taken over, and its ε is computed anew.
fn open_file(page: Page, file: web_sys::File) {
    leptos::task::spawn_local(async move {
        match browser::read_run_file(file).await {
            Ok((name, bytes)) => page.open_run(name, bytes),
            Err(sentence) => page.put_problem(None, sentence),
        }
    });
}

/// What the style sheet says of a picture's parts, for files that have none.
const STYLE: [&str; 8] =
    ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "font-family", "font-size", "font-weight"];

/// Hands every chart that shows something to `give`: name of the file without its ending, SVG, width and height.
fn charts(page: Page, give: fn(String, &str, (f64, f64))) {
    for (name, title, drawing) in page.charts.get_value() {
        let drawing = drawing.get_untracked();
        if drawing.is_empty() {
            continue;
        }
        let (svg, size) = picture::svg(title, &drawing);
        match styled(&svg) {
            Ok(svg) => give(format!("hushgrad-{name}"), &svg, size),
            Err(error) => leptos::logging::error!("{name} could not be drawn: {error:?}"),
        }
    }
}

/// A picture with what the page's style sheet says of each of its parts written into it.
fn styled(svg: &str) -> Result<String, JsValue> {
    let holder = document().create_element("div")?;
    holder.set_attribute("hidden", "")?;
    holder.set_inner_html(svg);
    // Only what stands in the page has a style.
    document().body().map(|body| body.append_child(&holder)).transpose()?;
    let parts = holder.query_selector_all("*")?;
    for part in (0..parts.length()).filter_map(|i| parts.get(i)?.dyn_into::<web_sys::Element>().ok()) {
        if let Some(style) = window().get_computed_style(&part)? {
            for name in STYLE {
                part.set_attribute(name, &style.get_property_value(name)?)?;
            }
        }
    }
    holder.remove();
    let picture = holder.first_element_child().ok_or(JsValue::NULL)?;
    XmlSerializer::new()?.serialize_to_string(&picture)
}

/// Draws a picture on a canvas twice its size, and offers that.
fn png(name: String, svg: &str, (width, height): (f64, f64)) {
    const SCALE: f64 = 2.0;
    let Ok(image) = HtmlImageElement::new() else { return };
    let drawn = image.clone();
    let ready = Closure::once_into_js(move || {
        let Ok(canvas) = document().create_element("canvas") else { return };
        let canvas: HtmlCanvasElement = canvas.unchecked_into();
        canvas.set_width((width * SCALE) as u32);
        canvas.set_height((height * SCALE) as u32);
        let context =
            canvas.get_context("2d").ok().flatten().and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok());
        let Some(context) = context else { return };
        let done =
            context.draw_image_with_html_image_element_and_dw_and_dh(&drawn, 0.0, 0.0, width * SCALE, height * SCALE);
        if let (Ok(()), Ok(url)) = (done, canvas.to_data_url()) {
            browser::follow(&name, &url);
        }
    });
    image.set_onload(Some(ready.unchecked_ref()));
    let encoded: String = js_sys::encode_uri_component(svg).into();
    image.set_src(&format!("data:image/svg+xml;charset=utf-8,{encoded}"));
}

/// Copies the address, which says everything that is set.
pub fn share(page: Page) {
    let address = window().location().href().unwrap_or_default();
    let copied = "The link is copied: it says everything that is set here, and nothing of your data.";
    copy(page, address, copied.to_owned());
}

/// Copies a frame for another page to hold, in which everything is set as here.
pub fn embed(page: Page) {
    let query = untrack(move || page.link().write()).replace('&', "&amp;");
    let address = browser::address("embed.html");
    let frame = format!(
        r#"<iframe src="{address}?{query}" title="hushgrad" width="640" height="400" style="border: 0"></iframe>"#
    );
    let copied = format!("Copied, to stand in a page of yours (docs/embedding.md says what else it can do): {frame}");
    copy(page, frame, copied);
}

/// Copies a text, and says so, or shows it.
fn copy(page: Page, text: String, copied: String) {
    leptos::task::spawn_local(async move {
        let done = browser::copy(&text).await;
        page.notice.set(Some(match done {
            Ok(()) => copied,
            Err(_) => format!("This browser does not let the page copy; take it from here: {text}"),
        }));
    });
}
