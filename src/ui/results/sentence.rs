//! Sentences with elements in them.

use leptos::prelude::*;

/// Renders a sentence with `*strong*` parts; elements replace their `{names}`, in any order.
pub fn sentence(text: &str, mut elements: Vec<(&'static str, AnyView)>) -> AnyView {
    let mut pieces = vec![];
    for (strong, part) in text.split('*').enumerate() {
        for (at, piece) in part.split(['{', '}']).enumerate() {
            let known = elements.iter().position(|(known, _)| at % 2 == 1 && *known == piece);
            pieces.push(match known {
                Some(at) => elements.swap_remove(at).1,
                None if strong % 2 == 1 => view! { <strong>{piece.to_owned()}</strong> }.into_any(),
                None => piece.to_owned().into_any(),
            });
        }
    }
    pieces.into_any()
}
