//! The page's program: it builds the page into the element `#app`.

#[cfg(target_arch = "wasm32")]
fn main() {
    use wasm_bindgen::JsCast;

    console_error_panic_hook::set_once();
    let root = leptos::prelude::document().get_element_by_id("app").and_then(|root| root.dyn_into().ok());
    match root {
        Some(root) => hushgrad::ui::app::start(root),
        None => leptos::logging::error!("the page has no element #app to be built into"),
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("this is the page's program: it runs in a browser (cargo xtask serve)");
}
