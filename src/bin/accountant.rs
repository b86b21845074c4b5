//! The accountant's program in the browser.

#[cfg(target_arch = "wasm32")]
fn main() {
    use gloo_worker::Registrable;

    console_error_panic_hook::set_once();
    hushgrad::worker::accountant::Accountant::registrar().encoding::<hushgrad::worker::codec::Postcard>().register();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("This program is the browser's accountant; build it for wasm32-unknown-unknown. Try `hushgrad account`.");
}
