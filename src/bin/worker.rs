//! The training thread's program in the browser.

#[cfg(target_arch = "wasm32")]
unsafe extern "C" {
    /// Makes what CubeCL registers at start known. A program that does not call it itself is linked so that every call from
    /// JavaScript does: thousands of registrations, hundreds of times a step.
    safe fn __wasm_call_ctors();
}

#[cfg(target_arch = "wasm32")]
fn main() {
    use gloo_worker::Registrable;

    __wasm_call_ctors();
    console_error_panic_hook::set_once();
    hushgrad::worker::browser::Trainer::registrar().encoding::<hushgrad::worker::codec::Postcard>().register();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!(
        "This program is the browser's training thread; build it for wasm32-unknown-unknown. Try `hushgrad train`."
    );
}
