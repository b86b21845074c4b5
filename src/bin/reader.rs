//! The program in the browser that reads a visitor's own files.

#[cfg(target_arch = "wasm32")]
fn main() {
    console_error_panic_hook::set_once();
    hushgrad::worker::reader_thread::serve();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!(
        "This program reads files in a browser; build it for wasm32-unknown-unknown. Try `hushgrad train --data PATH`."
    );
}
