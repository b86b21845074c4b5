//! Parsing of decimal numbers.

/// Parses `1.5` or `-2e3` as the nearest f64.
#[cfg(not(target_arch = "wasm32"))]
pub fn decimal(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// Parses `1.5` or `-2e3` as the nearest f64, by the browser: Rust's parser adds 10 kB of
/// incompressible tables.
#[cfg(target_arch = "wasm32")]
pub fn decimal(text: &str) -> Option<f64> {
    // The browser also accepts hexadecimal numbers, and an empty text as 0.
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
        && text.contains(|c: char| c.is_ascii_digit());
    plain.then(|| wasm_bindgen::JsValue::from_str(text).unchecked_into_f64()).filter(|value| !value.is_nan())
}
