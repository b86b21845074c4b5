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

/// What is said where there is no run to export.
pub const NOTHING_YET: Text = text!("There is nothing to export before the first step.");

/// What the style sheet says of a picture's parts, for files that have none.
const STYLE: [&str; 8] =
    ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "font-family", "font-size", "font-weight"];

/// Hands every chart that shows something to `give`: name of the file without its ending, SVG, width and height.
pub fn charts(page: Page, give: fn(String, &str, (f64, f64))) {
    let mut given = false;
    for (name, title, drawing) in page.charts.exportable.get_value() {
        let mut drawing = drawing.get_untracked();
        // The recorded run is nobody's own.
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

/// A picture with what the page's style sheet says of each of its parts written into it.
fn styled(svg: &str) -> Result<String, JsValue> {
    let holder = document().create_element("div")?;
    holder.set_attribute("hidden", "")?;
    holder.set_inner_html(svg);
    // Only what stands in the page has a style.
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

/// Draws a picture on a canvas twice its size, and offers that.
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
