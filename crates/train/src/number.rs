//! Numbers as text. In a browser, the browser reads and writes them, with the same digits: Rust's own
//! parser and formatter would add 25 kB of code and tables to the page.

/// Parses `1.5` or `-2e3` as the nearest f64.
#[cfg(not(target_arch = "wasm32"))]
#[must_use]
pub fn parse(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[cfg(not(target_arch = "wasm32"))]
pub use crate::accounting::decimal::quoted;

/// Parses `1.5` or `-2e3` as the nearest f64.
#[cfg(target_arch = "wasm32")]
#[must_use]
pub fn parse(text: &str) -> Option<f64> {
    // The browser also accepts hexadecimal numbers, and an empty text as 0.
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
        && text.contains(|c: char| c.is_ascii_digit());
    plain.then(|| wasm_bindgen::JsValue::from_str(text).unchecked_into_f64()).filter(|value| !value.is_nan())
}

/// Writes a number with as few digits as identify it, as a power of ten where it would be mostly
/// zeros.
#[cfg(target_arch = "wasm32")]
#[must_use]
pub fn quoted(x: f64) -> String {
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        type Number;
        #[wasm_bindgen(method, js_name = toString)]
        fn to_string(this: &Number) -> String;
        #[wasm_bindgen(method, js_name = toExponential)]
        fn to_exponential(this: &Number) -> String;
    }
    let number = JsValue::from_f64(x).unchecked_into::<Number>();
    match x == 0.0 || (1e-4..1e15).contains(&x.abs()) {
        true => number.to_string(),
        false => number.to_exponential().replace('+', ""),
    }
}
