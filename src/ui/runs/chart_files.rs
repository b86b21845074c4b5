//! Charts as files: SVG and PNG.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement, XmlSerializer};

use crate::{
    plot::{drawing::RECORDED, picture},
    ui::{
        browser,
        state::Page,
        text::{Text, text},
    },
};

/// Notice if there is no run to export.
pub const NOTHING_YET: Text = text!("There is nothing to export before the first step.");

/// CSS properties copied into exported files, which have no style sheet.
const STYLE: [&str; 8] =
    ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "font-family", "font-size", "font-weight"];

/// Calls `give` with file stem, SVG, and width and height of each chart that is not empty.
pub fn charts(page: Page, give: fn(String, &str, (f64, f64))) {
    let mut given = false;
    for (name, title, drawing) in page.charts.exportable.get_value() {
        let mut drawing = drawing.get_untracked();
        // The recorded run is not the visitor's.
        drawing.lines.retain(|line| line.class != RECORDED);
        if drawing.is_empty() {
            continue;
        }
        given = true;
        let (svg, size) = picture::svg(title, &drawing);
        match styled(&svg) {
            Ok(svg) => give(format!("hushgrad-{name}"), &svg, size),
            Err(error) => leptos::logging::error!("{name} could not be drawn: {error:?}"),
        }
    }
    if !given {
        page.messages.notify(NOTHING_YET.get().to_owned());
    }
}

/// Returns an SVG with the page's styles written into each of its elements.
fn styled(svg: &str) -> Result<String, JsValue> {
    let holder = document().create_element("div")?;
    holder.set_attribute("hidden", "")?;
    holder.set_inner_html(svg);
    // Only elements in the document have computed styles.
    document().body().map(|body| body.append_child(&holder)).transpose()?;
    let parts = holder.query_selector_all("*")?;
    for part in (0..parts.length()).filter_map(|i| parts.get(i)?.dyn_into::<web_sys::Element>().ok()) {
        if let Some(style) = window().get_computed_style(&part)? {
            for name in STYLE {
                part.set_attribute(name, &style.get_property_value(name)?)?;
            }
        }
    }
    holder.remove();
    let picture = holder.first_element_child().ok_or(JsValue::NULL)?;
    XmlSerializer::new()?.serialize_to_string(&picture)
}

/// Draws an SVG on a canvas of twice its size, and saves that as PNG.
pub fn png(name: String, svg: &str, (width, height): (f64, f64)) {
    const SCALE: f64 = 2.0;
    let Ok(image) = HtmlImageElement::new() else { return };
    let drawn = image.clone();
    let ready = Closure::once_into_js(move || {
        let Ok(canvas) = document().create_element("canvas") else { return };
        let canvas: HtmlCanvasElement = canvas.unchecked_into();
        canvas.set_width((width * SCALE) as u32);
        canvas.set_height((height * SCALE) as u32);
        let context =
            canvas.get_context("2d").ok().flatten().and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok());
        let Some(context) = context else { return };
        let done =
            context.draw_image_with_html_image_element_and_dw_and_dh(&drawn, 0.0, 0.0, width * SCALE, height * SCALE);
        if let (Ok(()), Ok(url)) = (done, canvas.to_data_url()) {
            browser::save_link(&name, &url);
        }
    });
    image.set_onload(Some(ready.unchecked_ref()));
    let encoded: String = js_sys::encode_uri_component(svg).into();
    image.set_src(&format!("data:image/svg+xml;charset=utf-8,{encoded}"));
}
