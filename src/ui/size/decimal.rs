//! Reading a decimal number.

/// `1.5`, `-2e3` → the nearest f64.
#[cfg(not(target_arch = "wasm32"))]
pub fn decimal(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// `1.5`, `-2e3` → the nearest f64, as the browser reads it: Rust's own reader brings 10 kB of tables that no compressor
/// makes smaller.
#[cfg(target_arch = "wasm32")]
pub fn decimal(text: &str) -> Option<f64> {
    // The browser takes hexadecimal for a number, too, and nothing for 0.
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
        && text.contains(|c: char| c.is_ascii_digit());
    plain.then(|| wasm_bindgen::JsValue::from_str(text).unchecked_into_f64()).filter(|value| !value.is_nan())
}
