//! Boxed closures, which keep the program small: a view is compiled for every type of closure in
//! it, and each unboxed closure has its own type.

use leptos::{
    ev::{Event, MouseEvent},
    prelude::{AnyView, Effect, Memo},
};

/// A click handler.
pub fn on_click(act: impl FnMut(MouseEvent) + 'static) -> Box<dyn FnMut(MouseEvent)> {
    Box::new(act)
}

/// A handler of a change, an input or a toggle.
pub fn on_event(act: impl FnMut(Event) + 'static) -> Box<dyn FnMut(Event)> {
    Box::new(act)
}

/// A boolean attribute.
pub fn bool_fn(read: impl Fn() -> bool + Send + 'static) -> Box<dyn Fn() -> bool + Send> {
    Box::new(read)
}

/// The value of an attribute, or a text.
pub fn text_fn<T: Into<String>>(read: impl Fn() -> T + Send + 'static) -> Box<dyn Fn() -> String + Send> {
    Box::new(move || read().into())
}

/// An optional part of the page, replaced as a whole.
pub fn view_fn(read: impl Fn() -> Option<AnyView> + Send + 'static) -> Box<dyn Fn() -> Option<AnyView> + Send> {
    Box::new(read)
}

/// Runs `act` now, and again whenever a signal that it reads changes.
pub fn effect(act: impl FnMut() + 'static) {
    let mut act: Box<dyn FnMut()> = Box::new(act);
    Effect::new(move |_: Option<()>| act());
}

/// A boolean whose readers are notified only of changes.
pub fn bool_memo(read: impl Fn() -> bool + Send + Sync + 'static) -> Memo<bool> {
    let read: Box<dyn Fn() -> bool + Send + Sync> = Box::new(read);
    Memo::new(move |_| read())
}

/// A text whose readers are notified only of changes, so that text typed into a field stays until
/// the field's value changes.
pub fn text_memo<T: Into<String>>(read: impl Fn() -> T + Send + Sync + 'static) -> Memo<String> {
    let read: Box<dyn Fn() -> String + Send + Sync> = Box::new(move || read().into());
    Memo::new(move |_| read())
}
