//! What leaves this page: all requests of the page and its threads, as recorded by the browser.

use gloo::timers::callback::Interval;
use leptos::prelude::*;

use super::network_log::{ask_service_worker, listen, own_requests};
use crate::{
    plot::format,
    ui::{
        browser,
        size::closures::{on_event, text_fn, view_fn},
        state::Page,
        text::t,
    },
    worker::{
        accounts::{Answer, Question},
        protocol::{NetworkRequest, Request},
    },
};

/// Milliseconds between updates of the open list.
const LOOK_MS: u32 = 2000;

/// Builds the panel, initially closed; opening it builds the list.
pub fn panel(page: Page) -> impl IntoView {
    let open = RwSignal::new(false);
    let own = RwSignal::new(vec![]);
    let accountant = RwSignal::new(vec![]);
    let cached = RwSignal::new(vec![]);
    let look = StoredValue::new_local(None::<Interval>);
    listen(page, cached);
    let toggle = move |event: leptos::ev::Event| {
        let details: web_sys::HtmlDetailsElement = event_target(&event);
        open.set(details.open());
        let refresh = move || {
            own.set(own_requests());
            page.trainer.send(Request::Requests);
            page.accountant.ask(Question::Requests, move |answer| {
                if let Answer::Requests(mut requests) = answer {
                    requests.extend(page.accountant.readers_requests());
                    accountant.set(requests);
                }
            });
        };
        look.set_value(details.open().then(|| {
            refresh();
            ask_service_worker();
            Interval::new(LOOK_MS, refresh)
        }));
    };
    view! {
        <details class="leaves" data-testid="requests" on:toggle=on_event(toggle)>
            <summary>{t!("What leaves this page")}</summary>
            {view_fn(move || open.get().then(|| list(page, [own, accountant, page.requests], cached).into_any()))}
        </details>
    }
    .into_any()
}

fn list(page: Page, of: [RwSignal<Vec<NetworkRequest>>; 3], cached: RwSignal<Vec<NetworkRequest>>) -> impl IntoView {
    let origin = window().location().origin().unwrap_or_default();
    let opened = window().performance().map_or(0.0, |clock| clock.time_origin());
    let all = Memo::new(move |_| {
        let mut all: Vec<NetworkRequest> = vec![];
        for asked in of.into_iter().flat_map(|asked| asked.get()) {
            all.insert(all.partition_point(|other| other.at <= asked.at), asked);
        }
        all
    });
    let own_origin = format!("{origin}/");
    let elsewhere = {
        let own_origin = own_origin.clone();
        move |url: &str| !url.starts_with(&own_origin) && !url.starts_with("blob:") && !url.starts_with("data:")
    };
    let count = {
        let elsewhere = elsewhere.clone();
        move || {
            all.with(|all| {
                let foreign = all.iter().filter(|asked| elsewhere(&asked.url)).count();
                let late =
                    all.iter().filter(|asked| page.digits.ready_at.get().is_some_and(|ready| asked.at > ready)).count();
                let count = |n: usize| format::integer(n as u64);
                let none = |n: usize| if n == 0 { t!("none").to_owned() } else { count(n) };
                t!(
                    "{n} requests so far; to sites other than {origin}: {elsewhere}; after loading finished: {later}.",
                    n = count(all.len()),
                    origin = origin,
                    elsewhere = none(foreign),
                    later = none(late)
                )
            })
        }
    };
    let row = move |each: &NetworkRequest, what: &'static str| {
        let name = each.url.strip_prefix(&own_origin).unwrap_or(&each.url).to_owned();
        let size = if each.bytes == 0 { t!("from this machine").to_owned() } else { format::bytes(each.bytes) };
        let when = format::decimals_of((each.at - opened) / 1000.0, 1) + " s";
        view! { <tr class:foreign=elsewhere(&each.url)><td>{name}</td><td>{size}</td><td>{when}</td><td>{what}</td></tr> }
    };
    let rows = {
        let row = row.clone();
        move || {
            let ready = page.digits.ready_at.get().unwrap_or(f64::INFINITY);
            let what = move |at: f64| if at > ready { t!("later") } else { t!("load") };
            Some(all.with(|all| all.iter().map(|each| row(each, what(each.at))).collect_view()).into_any())
        }
    };
    let offline = move || {
        let what = t!("for offline use");
        let rows = cached.with(|cached| cached.iter().map(|each| row(each, what)).collect_view());
        Some(rows.into_any())
    };
    let policy = browser::content_policy();
    view! {
        <p data-testid="requests-count">{text_fn(count)}</p>
        <p>{t!("They only fetch files; the program sends none of your data. The browser enforces part of this: by the rule below, the page may connect only to its own address. Developer tools show the same under Network.")}</p>
        <p><code>{policy}</code></p>
        <div class="scroll" tabindex="0" role="region" aria-label=t!("Requests")>
            <table><thead><tr><th scope="col">{t!("File")}</th><th scope="col">{t!("Size")}</th><th scope="col">{t!("When")}</th><th scope="col">{t!("What for")}</th></tr></thead>
            <tbody>{view_fn(rows)}{view_fn(offline)}</tbody></table>
        </div>
    }
}
