//! How to get WebGPU in each browser.

use crate::ui::text::t;

/// Returns a sentence on how to get WebGPU in the browser with this user agent.
#[must_use]
pub fn how_to_get_webgpu(user_agent: &str) -> &'static str {
    let has = |name: &str| user_agent.contains(name);
    if has("iPhone") || has("iPad") || (has("Safari/") && !has("Chrome/") && !has("Chromium/")) {
        t!("Safari has WebGPU from version 26 on (iOS 26, macOS 26); in Safari 18 it is a feature flag under Develop.")
    } else if has("Firefox/") && has("Windows") {
        t!("Firefox has WebGPU on Windows from version 141 on; update it, or set dom.webgpu.enabled in about:config.")
    } else if has("Firefox/") && has("Mac OS X") {
        t!("Firefox has WebGPU on Macs with Apple chips from version 145 on; elsewhere use Chrome, Edge or Safari 26.")
    } else if has("Firefox/") {
        t!("Firefox has no WebGPU on this system yet; Chrome or Edge may, or Firefox Nightly.")
    } else if has("Android") {
        t!("Chrome has WebGPU on Android 12 and later, from version 121 on, with most Qualcomm and ARM graphics.")
    } else if has("Linux") {
        t!(
            "On Linux, enable WebGPU in Chrome: open chrome://flags/#enable-unsafe-webgpu, or start it with --enable-unsafe-webgpu --enable-features=Vulkan."
        )
    } else if has("Chrome/") {
        t!(
            "Chrome and Edge have WebGPU from version 113 on; update the browser, and check that graphics acceleration is on in its settings."
        )
    } else {
        t!("Chrome and Edge 113, Safari 26 and Firefox 141 on Windows have WebGPU.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_browser_gets_its_own_advice() {
        let advice = |agent| how_to_get_webgpu(agent);
        let chrome_linux =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
        let safari = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15";
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let pixel = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36";
        assert!(advice(chrome_linux).contains("chrome://flags"));
        assert!(advice(safari).starts_with("Safari"));
        assert!(advice(firefox).starts_with("Firefox has no WebGPU"));
        assert!(advice(pixel).contains("Android"));
        assert!(!advice("").is_empty());
    }
}
