//! RUNS: the last ones, what changed from one to the next, pinned, named, deleted, taken away as files; and what each
//! reached for what it cost.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement, XmlSerializer};

use super::{
    axis, browser,
    chart::{Drawing, Frame, Line, Range, Write, chart},
    export::{self, RunFile},
    format,
    state::{Curves, Page, Past},
};
use crate::{
    privacy::rdp::Epsilon,
    train::report::{Privacy, Report},
};

/// Colours of pinned runs, in the order of pinning.
const PINNED: [&str; 4] = ["line-pin-0", "line-pin-1", "line-pin-2", "line-pin-3"];

/// The class of a pinned run's curves.
#[must_use]
pub fn pin_class(past: &[Past], run: u32) -> Option<&'static str> {
    past.iter().filter(|past| past.pinned).position(|past| past.run == run).map(|place| PINNED[place % PINNED.len()])
}

/// The whole panel.
pub fn panel(page: Page) -> impl IntoView {
    let rows = move || {
        let past = page.past.get();
        past.iter().rev().map(|each| row(page, each, pin_class(&past, each.run))).collect_view()
    };
    let empty = move || page.past.with(Vec::is_empty);
    view! {
        <section class="panel runs" data-testid="runs" aria-label="Runs">
            <h2>"Runs"</h2>
            <p class="lead" hidden=move || !empty()>"Change anything, and the run that ends is kept here, to be compared with the next."</p>
            <div class="runs-row" hidden=empty>
                <div class="scroll" tabindex="0" role="region" aria-label="Earlier runs">
                    <table>
                        <thead><tr><th scope="col">"Run"</th><th scope="col">"What changed"</th><th scope="col">"Steps"</th>
                            <th scope="col">"Accuracy"</th><th scope="col">"ε ≤"</th><th scope="col"><span class="visually-hidden">"Actions"</span></th></tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
                {chart(Frame { title: "Accuracy for its price", height: 170.0, full: true }, move || trade_off(page))}
            </div>
        </section>
    }
    .into_any()
}

fn row(page: Page, past: &Past, class: Option<&'static str>) -> AnyView {
    let run = past.run;
    let edit = move |change: fn(&mut Past)| {
        page.past.update(|all| {
            if let Some(past) = all.iter_mut().find(|past| past.run == run) {
                change(past);
            }
        });
        page.chart_tick.update(|tick| *tick += 1);
    };
    let rename = move |name: String| {
        page.past.update(|all| {
            if let Some(past) = all.iter_mut().find(|past| past.run == run) {
                past.name = name.trim().chars().take(60).collect();
            }
        });
    };
    let delete = move |_| {
        page.past.update(|all| all.retain(|past| past.run != run));
        page.chart_tick.update(|tick| *tick += 1);
    };
    let again = {
        let settings = past.settings.clone();
        move |_| {
            let digits = page.settings.with_untracked(|now| now.digits);
            page.change(|now| *now = super::settings::Settings { digits, ..settings.clone() });
        }
    };
    let epsilon = match &past.last.privacy {
        Privacy::Bounded(bound) => format::epsilon(bound.improved.epsilon),
        Privacy::NoGuarantee { .. } => "none".to_owned(),
    };
    let accuracy = past.accuracy.map_or_else(|| "–".to_owned(), format::percent);
    let file = past.clone();
    let (pinned, name) = (past.pinned, past.name.clone());
    let label = format!("run {run}");
    view! {
        <tr>
            <th scope="row"><span class=format!("key swatch {}", class.unwrap_or("ghost"))></span>
                <input type="text" class="name" aria-label=format!("Name of {label}") prop:value=name
                    on:change=move |event| rename(event_target_value(&event)) /></th>
            <td>{past.note.clone()}</td>
            <td>{format::integer(past.last.step)}</td><td>{accuracy}</td><td>{epsilon}</td>
            <td class="actions">
                <button type="button" aria-pressed=pinned.to_string() aria-label=format!("Pin {label}") on:click=move |_| edit(|past| past.pinned = !past.pinned)>"Pin"</button>
                <button type="button" aria-label=format!("Set everything as in {label}") on:click=again>"Again"</button>
                <button type="button" aria-label=format!("Save {label} as a file") on:click=move |_| save(&run_file(&file))>"Save"</button>
                <button type="button" aria-label=format!("Delete {label}") on:click=delete>"Delete"</button>
            </td>
        </tr>
    }
    .into_any()
}

/// Each run a point: how well it reads digits for the ε it spent.
fn trade_off(page: Page) -> Drawing {
    page.chart_tick.track();
    let point = |report: &Report, accuracy: Option<f64>| match &report.privacy {
        Privacy::Bounded(bound) => Some((bound.improved.epsilon, accuracy?)),
        Privacy::NoGuarantee { .. } => None,
    };
    let mut lines: Vec<Line> = page.past.with(|past| {
        past.iter()
            .filter_map(|each| {
                let class = pin_class(past, each.run);
                let name = if class.is_some() { each.name.clone() } else { String::new() };
                Some(Line { class: class.unwrap_or("ghost"), name, points: vec![point(&each.last, each.accuracy)?] })
            })
            .collect()
    });
    let now = page
        .report
        .with_untracked(|report| report.as_ref().and_then(|report| point(report, page.accuracy.get_untracked())));
    if let Some(now) = now {
        lines.push(Line { class: "line-accuracy", name: "this run".to_owned(), points: vec![now] });
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|p| p.0).fold(0.0, f64::max);
    let high = if highest > 0.0 { axis::nice_end(highest * 1.1, 4) } else { 1.0 };
    Drawing {
        summary: format!("Test accuracy against epsilon, a point for each of {} runs.", lines.len()),
        lines,
        x: Range { low: 0.0, high, logarithmic: false, label: "ε", write: Write::Number },
        y: Range { low: 0.0, high: 1.0, logarithmic: false, label: "accuracy", write: Write::Percent },
    }
}

fn run_file(past: &Past) -> RunFile {
    let Curves { accuracy, improved, classic } = &*past.curves;
    RunFile::new(
        past.name.clone(),
        past.info.config.clone(),
        past.info.engine.clone(),
        past.info.data.clone(),
        (past.info.train, past.info.test),
        past.last.clone(),
        past.accuracy,
        [accuracy, improved, classic].map(|curve| super::series::decimate(curve.points(), 1000)),
    )
}

fn save(run: &RunFile) {
    browser::download("hushgrad-run.json", "application/json", run.to_json().as_bytes());
}

/// EXPORT: what can be taken away of the run that stands.
pub fn export_menu(page: Page) -> impl IntoView {
    let item = move |name: &'static str, act: fn(Page)| {
        view! { <button type="button" on:click=move |event| { act(page); close_menu(&event); }>{name}</button> }
    };
    view! {
        <details class="menu" data-testid="export">
            <summary>"Export"</summary>
            <div class="menu-items">
                {item("Run (JSON)", |page| with_current(page, |past| save(&run_file(past))))}
                {item("Curves (CSV)", |page| with_current(page, |past| {
                    let Curves { accuracy, improved, classic } = &*past.curves;
                    let text = export::csv([("accuracy", accuracy.points()), ("improved", improved.points()), ("classic", classic.points())]);
                    browser::download("hushgrad-curves.csv", "text/csv", text.as_bytes());
                }))}
                {item("Privacy ledger (JSON)", |page| page.send(crate::worker::protocol::Request::ExportLedger))}
                {item("Weights (safetensors)", Page::export_weights)}
                {item("Charts (SVG)", |_| charts(|name, svg, _| browser::download(name, "image/svg+xml", svg.as_bytes())))}
                {item("Charts (PNG)", |_| charts(|_, svg, size| png(&svg, size)))}
                <label class="file-button" for="import-run">"Open a run file…"</label>
                <input type="file" id="import-run" class="visually-hidden" data-testid="import" accept=".json,application/json"
                    on:change=move |event| {
                        let input: web_sys::HtmlInputElement = event_target(&event);
                        if let Some(file) = input.files().and_then(|files| files.get(0)) {
                            open_file(page, file);
                        }
                        input.set_value("");
                    } />
            </div>
        </details>
    }
    .into_any()
}

fn close_menu(event: &web_sys::MouseEvent) {
    let button: web_sys::Element = event_target(event);
    if let Ok(Some(menu)) = button.closest("details") {
        menu.unchecked_into::<web_sys::HtmlDetailsElement>().set_open(false);
    }
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
        let read = match browser::read_files(vec![file]).await {
            Ok(mut files) => files.pop().ok_or_else(|| "No file was chosen.".to_owned()),
            Err(sentence) => Err(sentence),
        };
        let run = read.and_then(|(name, bytes)| RunFile::from_json(&name, &bytes).map_err(|error| format!("{error}.")));
        match run {
            Ok(run) => page.take_run_file(run),
            Err(sentence) => page.put_problem(None, sentence),
        }
    });
}

/// What a file says its run cost, against what its configuration costs in `epsilon`; a sentence where they differ.
#[must_use]
pub fn difference(stated: &Privacy, epsilon: Option<&Epsilon>) -> Option<String> {
    match (stated, epsilon) {
        (Privacy::Bounded(bound), Some(epsilon)) => {
            let (stated, now) = (bound.improved.epsilon, epsilon.improved.epsilon);
            // Envelopes are looked at in part here.
            ((stated - now).abs() > 0.01 * now).then(|| {
                format!(
                    "The file says ε ≤ {}, and its settings and steps cost ε ≤ {}: it was changed by hand.",
                    format::epsilon(stated),
                    format::epsilon(now)
                )
            })
        }
        (Privacy::Bounded(_), None) => {
            Some("The file claims an ε, and its settings give no guarantee: it was changed by hand.".to_owned())
        }
        (Privacy::NoGuarantee { .. }, _) => None,
    }
}

/// The light page's colours, inside the picture itself.
const PICTURE_STYLE: &str = "<style>text{font:11px system-ui,sans-serif;fill:#575d66}path{fill:none;stroke:#a7abb2;stroke-width:2;stroke-linejoin:round}circle{fill:#a7abb2}.grid{stroke:#dcdde0}.axis{stroke:#80858e}.line-accuracy{stroke:#0a5ea8}circle.line-accuracy{fill:#0a5ea8}.line-epsilon{stroke:#b84a00}.line-classic{stroke:#8a6a00;stroke-dasharray:5 4}.line-projected{stroke:#80858e;stroke-width:1.5;stroke-dasharray:2 4}.line-budget{stroke:#a92222;stroke-width:1.2}</style><rect width='100%' height='100%' fill='#fff'/>";

/// Hands every chart of the results to `give`: file name, SVG, width and height.
fn charts(give: fn(&str, String, (f64, f64))) {
    let Ok(found) = document().query_selector_all(".results .chart svg.plot") else { return };
    let Ok(serializer) = XmlSerializer::new() else { return };
    for i in 0..found.length().min(2) {
        let Some(node) = found.get(i) else { continue };
        let Ok(text) = serializer.serialize_to_string(&node) else { continue };
        let element: web_sys::Element = node.unchecked_into();
        let size = (f64::from(element.client_width()), f64::from(element.client_height()));
        let inside = text.find('>').map_or(0, |at| at + 1);
        let svg = format!("{}{PICTURE_STYLE}{}", &text[..inside], &text[inside..]);
        give(["hushgrad-accuracy.svg", "hushgrad-epsilon.svg"][i as usize], svg, size);
    }
}

/// Draws a chart on a canvas twice its size, and offers that.
fn png(svg: &str, (width, height): (f64, f64)) {
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
            browser::follow("hushgrad-chart.png", &url);
        }
    });
    image.set_onload(Some(ready.unchecked_ref()));
    let encoded: String = js_sys::encode_uri_component(svg).into();
    image.set_src(&format!("data:image/svg+xml;charset=utf-8,{encoded}"));
}

/// Copies the address, which says everything that is set.
pub fn share(page: Page) {
    leptos::task::spawn_local(async move {
        let address = window().location().href().unwrap_or_default();
        let copied = wasm_bindgen_futures::JsFuture::from(window().navigator().clipboard().write_text(&address)).await;
        page.notice.set(Some(match copied {
            Ok(_) => "The link is copied: it says everything that is set here, and nothing of your data.".to_owned(),
            Err(_) => format!("This browser does not let the page copy; take the link from here: {address}"),
        }));
    });
}

/// A past run made of a file.
#[must_use]
pub fn past_of(run: u32, file: RunFile, settings: super::settings::Settings) -> Past {
    let curve = |points: Vec<super::series::Point>| {
        let mut curve = super::series::Curve::default();
        points.into_iter().for_each(|point| curve.push(point));
        curve
    };
    let rate = f64::from(file.config.lot) / f64::from(file.train);
    Past {
        run,
        name: file.name,
        note: "from a file".to_owned(),
        pinned: true,
        settings,
        info: crate::worker::protocol::RunInfo {
            run,
            parameters: file.config.model.parameters() as u32,
            config: file.config,
            engine: file.engine,
            train: file.train,
            test: file.test,
            data: file.data,
            sampling_rate: rate,
        },
        curves: Arc::new(Curves {
            accuracy: curve(file.accuracy_curve),
            improved: curve(file.improved_curve),
            classic: curve(file.classic_curve),
        }),
        last: file.report,
        accuracy: file.accuracy,
    }
}
