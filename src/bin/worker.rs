//! The training thread's program in the browser, and its helpers'.

#[cfg(target_arch = "wasm32")]
fn main() {
    use gloo_worker::Registrable;

    console_error_panic_hook::set_once();
    if hushgrad::worker::helping::serve() {
        return;
    }
    hushgrad::worker::browser::Trainer::registrar().encoding::<hushgrad::worker::codec::Postcard>().register();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!(
        "This program is the browser's training thread; build it for wasm32-unknown-unknown. Try `hushgrad train`."
    );
}
