//! A custom network: layers are added, removed, changed and moved, with their shapes.

use hushgrad_message::ToMessage;
use leptos::prelude::*;
use web_sys::{DragEvent, KeyboardEvent};

use crate::{
    model::{
        Architecture,
        layers::{LayerList, LayerSpec, LayersError, Placed, Shape, place, read},
    },
    plot::format,
    ui::{
        settings::{Encoder, Family, Settings},
        size::closures::{bool_fn, bool_memo, effect, on_click, on_event, text_fn, view_fn},
        state::{Page, TaskLock},
        text::{Text, heard, t, text},
    },
};

/// Layers on offer, each with its initial text.
const OFFERED: [(&str, Text); 14] = [
    ("conv 8 3x3 same", text!("convolution")),
    ("maxpool 2", text!("max-pooling")),
    ("avgpool 2", text!("average pooling")),
    ("dense 32", text!("dense layer")),
    ("tanh", text!("tanh")),
    ("relu", text!("ReLU")),
    ("elu", text!("ELU")),
    ("sigmoid", text!("sigmoid")),
    ("tempered 1.58 3 0.71", text!("tempered sigmoid")),
    ("groupnorm 4", text!("group normalisation")),
    ("batchnorm", text!("private batch normalisation")),
    ("flatten", text!("flatten")),
    ("scattering", text!("scattering features, in front")),
    ("extractor", text!("features of a fixed network, in front")),
];

/// True if the layer computes fixed features.
fn is_features(row: &str) -> bool {
    read(row).is_ok_and(|(_, specs)| matches!(specs[..], [LayerSpec::Features(_)]))
}

/// The layers as typed, whether they fit together or not.
#[derive(Clone, Copy)]
struct Draft {
    page: Page,
    rows: RwSignal<Vec<String>>,
}

impl Draft {
    /// Returns the network of these rows for the current images and classes, or why there is none.
    fn judged(self, rows: &[String]) -> Result<LayerList, LayersError> {
        let (picture, classes) = self.page.digits.images();
        let (input, specs) = read(&rows.join(", "))?;
        if let Some(found) = input.filter(|input| *input != picture) {
            return Err(LayersError::OtherImages { found, there: picture });
        }
        LayerList::on(picture, &specs).and_then(|list| match list.classes() {
            found if found == classes => Ok(list),
            found => Err(LayersError::OtherClasses { found, there: classes }),
        })
    }

    /// Edits the rows; if they form a network, the run uses it.
    fn edit(self, edit: impl FnOnce(&mut Vec<String>)) {
        self.rows.update(edit);
        if let Ok(list) = self.rows.with_untracked(|rows| self.judged(rows)) {
            self.page.change(|settings| settings.model = Architecture::Built(list));
        }
    }

    fn step(self, from: usize, to: usize) {
        self.edit(|rows| {
            if from < rows.len() && to < rows.len() {
                let row = rows.remove(from);
                rows.insert(to, row);
            }
        });
    }
}

fn list_of(settings: &Settings) -> Option<LayerList> {
    match settings.model {
        Architecture::Built(list) => Some(list),
        _ => None,
    }
}

fn rows_of(list: &LayerList) -> Vec<String> {
    list.specs().iter().map(ToString::to_string).collect()
}

/// The builder, while the model is custom.
pub fn builder(page: Page) -> AnyView {
    let there = bool_memo(move || page.settings.with(|settings| list_of(settings).is_some()));
    view_fn(move || there.get().then(|| inside(page))).into_any()
}

fn inside(page: Page) -> AnyView {
    let set = Memo::new(move |_| page.settings.with(list_of));
    let draft = Draft { page, rows: RwSignal::new(set.get_untracked().as_ref().map(rows_of).unwrap_or_default()) };
    // A link, a lesson or an earlier run may set another list.
    effect(move || {
        if let Some(list) = set.get()
            && draft.rows.with_untracked(|rows| draft.judged(rows).ok() != Some(list))
        {
            draft.rows.set(rows_of(&list));
        }
    });
    let fixed = move || TaskLock(page).is_fixed("model");
    let problem = move || match draft.rows.with(|rows| draft.judged(rows)) {
        Ok(_) => String::new(),
        Err(error) => {
            t!(
                "{problem}. Until this is fixed, the run keeps the last valid layers.",
                problem = heard(&error.to_message())
            )
        }
    };
    let rows = move || {
        let rows = draft.rows.get();
        let picture = page.digits.images().0;
        // Shapes up to the first layer that does not fit.
        let shapes: Vec<Option<Placed>> = (1..=rows.len())
            .map(|count| {
                let (_, specs) = read(&rows[..count].join(", ")).ok()?;
                place(picture.into(), &specs).ok()?.last().copied()
            })
            .collect();
        let count = rows.len();
        let row = |(at, (text, placed))| row(draft, (at, count), text, placed);
        rows.into_iter().zip(shapes).enumerate().map(row).collect::<Vec<_>>()
    };
    let offered = OFFERED.map(|(text, name)| view! { <option value=text>{name.get()}</option> }.into_any());
    let add = move |event: leptos::ev::Event| {
        let text = event_target_value(&event);
        if !text.is_empty() {
            event_target::<web_sys::HtmlSelectElement>(&event).set_selected_index(0);
            draft.edit(|rows| {
                if is_features(&text) {
                    rows.retain(|row| !is_features(row));
                    rows.insert(0, text);
                } else {
                    // Before the output layer.
                    rows.insert(rows.len().saturating_sub(1), text);
                }
            });
        }
    };
    view! {
        <div class="builder" data-testid="builder">
            <p class="small-label">{t!("The image")}" "{text_fn(move || Shape::from(page.digits.images().0).to_string())}</p>
            <ol>{move || rows()}</ol>
            <p class="field-error" role="status" data-testid="builder-error">{text_fn(problem)}</p>
            <select aria-label=t!("Add a layer") data-testid="builder-add" disabled=bool_fn(fixed) on:change=on_event(add)><option value="">{t!("Add a layer …")}</option>{Vec::from(offered)}</select>
            <p class="small-label" data-testid="builder-size">{text_fn(move || size(page))}</p>
        </div>
    }
    .into_any()
}

/// One layer.
fn row(draft: Draft, (at, count): (usize, usize), text: String, placed: Option<Placed>) -> AnyView {
    let (page, name) = (draft.page, text.clone());
    let fixed = move || TaskLock(page).is_fixed("model");
    let typed = move |event: leptos::ev::Event| {
        let typed = event_target_value(&event).trim().to_owned();
        draft.edit(|rows| {
            if let Some(row) = rows.get_mut(at) {
                *row = typed;
            }
        });
    };
    let keyed = move |event: KeyboardEvent| {
        let to = match event.key().as_str() {
            "ArrowUp" if event.alt_key() => at.checked_sub(1),
            "ArrowDown" if event.alt_key() => Some(at + 1),
            _ => return,
        };
        event.prevent_default();
        to.into_iter().for_each(|to| draft.step(at, to));
    };
    let dragged = move |event: DragEvent| {
        if let Some(data) = event.data_transfer() {
            drop(data.set_data("text/plain", &at.to_string()));
        }
    };
    let dropped = move |event: DragEvent| {
        event.prevent_default();
        let from = event.data_transfer().and_then(|data| data.get_data("text/plain").ok()?.parse().ok());
        from.into_iter().for_each(|from: usize| draft.step(from, at));
    };
    let shape = placed.map_or_else(|| "?".to_owned(), |placed| placed.output.to_string());
    let parameters = placed
        .and_then(|placed| placed.layer)
        .map(|layer| t!("{n} parameters", n = format::integer((layer.outputs * (layer.fan_in + 1)) as u64)));
    let wide = placed.map_or(0, |placed| bar(placed.output));
    view! {
        <li draggable="true" on:dragstart=dragged on:dragover=move |event: DragEvent| event.prevent_default() on:drop=dropped>
            <input type="text" spellcheck="false" autocomplete="off" aria-label=t!("Layer {n}", n = at + 1) data-testid="layer" disabled=bool_fn(fixed) prop:value=text on:change=on_event(typed) on:keydown=keyed />
            <span class="shape"><svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width=wide.to_string() height="4"></rect></svg><span>{shape}</span><span class="small-label">{parameters}</span></span>
            <button type="button" aria-label=t!("Move {layer} up", layer = name) disabled=bool_fn(move || at == 0 || fixed()) on:click=on_click(move |_| draft.step(at, at - 1))>"↑"</button>
            <button type="button" aria-label=t!("Move {layer} down", layer = name) disabled=bool_fn(move || at + 1 == count || fixed()) on:click=on_click(move |_| draft.step(at, at + 1))>"↓"</button>
            <button type="button" aria-label=t!("Remove {layer}", layer = name) disabled=bool_fn(fixed) on:click=on_click(move |_| draft.edit(|rows| drop((at < rows.len()).then(|| rows.remove(at)))))>"×"</button>
        </li>
    }
    .into_any()
}

/// Returns the width of a shape's bar, logarithmic in its number of values (784 for an image).
fn bar(shape: Shape) -> u32 {
    (8 * shape.values().max(1).ilog2()).clamp(4, 100)
}

/// Returns the size of the network, and the length of the noise relative to the clip.
fn size(page: Page) -> String {
    let Some((list, settings)) = page.settings.with(|settings| Some((list_of(settings)?, settings.clone()))) else {
        return String::new();
    };
    let placed = list.placed();
    let work: u64 = placed.iter().map(Placed::work).sum();
    let parameters = settings.model.parameters();
    let size = t!(
        "{parameters} parameters, {work} multiplications per image.",
        parameters = format::integer(parameters as u64),
        work = format::integer(work)
    );
    let sigma = (settings.family == Family::Gaussian && settings.encoder == Encoder::Clip).then_some(settings.scale);
    match sigma {
        Some(sigma) => {
            // √P·σC over C.
            let times = format::number(((parameters as f64).sqrt() * sigma).round());
            let noise = t!(
                "Each step's noise is about {times} times as long as the most one image may add; more parameters make it longer.",
                times = times
            );
            [size, noise].join(" ")
        }
        None => size,
    }
}
