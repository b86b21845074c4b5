//! The number of CPU cores.

use leptos::prelude::*;

use crate::ui::{
    link::CORES,
    size::closures::{bool_fn, on_event},
    state::{Page, Threads},
    text::t,
    widgets::hint::labelled,
};

/// The choice of cores. It is not a setting of the run: it affects only the duration of a step.
pub fn cores(page: Page) -> AnyView {
    let place = move || page.device.cores.get().unwrap_or(0) as usize;
    let option = |(at, key): (usize, &'static str)| {
        let label = if at == 0 { t!("automatic") } else { key };
        view! { <option value=key selected=bool_fn(move || place() == at)>{label}</option> }
    };
    let list = CORES.into_iter().enumerate().map(option).collect_view();
    let choose = move |event: web_sys::Event| {
        let chosen = event_target_value(&event);
        let place = CORES.iter().position(|&key| key == chosen).filter(|&place| place > 0);
        Threads(page).set_cores(place.map(|place| place as u32));
    };
    labelled(
        "cores",
        "label".to_owned(),
        t!("Cores").into_any(),
        [
            t!("Cores"),
            t!(
                "How many of this machine's cores compute a step. Automatic: as many as make a step faster, up to eight, leaving one for the page. Whatever you choose, the run is the same to the last bit."
            ),
        ],
        view! { <select id="cores" data-testid="cores" on:change=on_event(choose)>{list}</select> }.into_any(),
    )
}
