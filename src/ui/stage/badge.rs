//! The backend in use.

use leptos::prelude::*;

use super::webgpu_advice;
use crate::{
    engine::{Backend, Timings},
    plot::format,
    ui::{
        browser,
        size::closures::{bool_fn, text_fn},
        state::Page,
        text::{heard, named, t},
        widgets::word::word,
    },
    worker::protocol::{BackendChoice, Fallback},
};

/// The backend in use; if it is not the requested one, why, and what helps.
pub fn badge(page: Page) -> impl IntoView {
    let kind = move || {
        page.device.engine.with(|engine| match engine {
            Some((info, _)) if info.backend == Backend::Gpu => ("gpu", "WebGPU"),
            Some(_) => ("cpu", "CPU"),
            None if page.device.stopped.get() => ("", t!("Stopped")),
            None => ("", t!("Starting…")),
        })
    };
    let device = move || {
        page.device.engine.with(|engine| engine.as_ref().map(|(info, _)| named(&info.device)).unwrap_or_default())
    };
    let reason = move || {
        page.device.engine.with(|engine| match engine {
            Some((_, Some(Fallback { reason, webgpu }))) => {
                let help = if *webgpu { "" } else { webgpu_advice::how_to_get_webgpu(&browser::user_agent()) };
                Some(format!("{} {help}", t!("The CPU trains here. Reason: {reason}.", reason = heard(reason))))
            }
            Some((info, None)) if info.backend == Backend::Cpu && browser::gpu_is_taken() => Some(
                t!("The CPU trains here because another frame on this page is using the graphics card.").to_owned(),
            ),
            Some((info, None)) if info.backend == Backend::Cpu && page.device.choice == BackendChoice::Cpu => {
                Some(t!("The CPU trains here because the address says backend=cpu.").to_owned())
            }
            Some((info, None)) if info.backend == Backend::Gpu => {
                Some(t!("WebGPU was checked: known steps matched the CPU to four digits.").to_owned())
            }
            None if page.device.stopped.get() => Some(
                t!("The training thread failed several times and will not be restarted. Reload the page.").to_owned(),
            ),
            _ => None,
        })
    };
    let timed = move || {
        page.device.timed.get().map(|Timings { cpu, gpu }| {
            let [cpu, gpu] = [cpu, gpu].map(|time| format::decimals_of(time, if time < 10.0 { 1 } else { 0 }));
            t!(
                "A step of this run, timed on made-up images: CPU {cpu} ms, WebGPU {gpu} ms. The faster one trains.",
                cpu = cpu,
                gpu = gpu
            )
        })
    };
    view! {
        <details class="badge">
            <summary><span class="dot" class:gpu=bool_fn(move || kind().0 == "gpu")></span>
                <span data-testid="backend" data-value=text_fn(move || kind().0)>{text_fn(move || kind().1)}</span></summary>
            <div class="badge-text"><p>{text_fn(device)}</p><p data-testid="backend-reason">{text_fn(move || reason().unwrap_or_default())}</p><p data-testid="backend-timed">{text_fn(move || timed().unwrap_or_default())}</p><p>{word("webgpu", t!("What is WebGPU?"))}</p></div>
        </details>
    }
    .into_any()
}
