//! Handlers and readers of one type each. A kind of view is compiled again for every type of closure in it, and each closure
//! has a type of its own; behind these, a view is compiled once. That keeps the page small.

use leptos::{
    ev::{Event, MouseEvent},
    prelude::{AnyView, Effect, Memo},
};

/// What a click does.
pub fn on_click(act: impl FnMut(MouseEvent) + 'static) -> Box<dyn FnMut(MouseEvent)> {
    Box::new(act)
}

/// What a change, an input or a toggle does.
pub fn on_event(act: impl FnMut(Event) + 'static) -> Box<dyn FnMut(Event)> {
    Box::new(act)
}

/// An attribute that is there or not.
pub fn bool_fn(read: impl Fn() -> bool + Send + 'static) -> Box<dyn Fn() -> bool + Send> {
    Box::new(read)
}

/// An attribute's value, or a text.
pub fn text_fn<T: Into<String>>(read: impl Fn() -> T + Send + 'static) -> Box<dyn Fn() -> String + Send> {
    Box::new(move || read().into())
}

/// A piece of the page that is there or not, or changes as a whole.
pub fn view_fn(read: impl Fn() -> Option<AnyView> + Send + 'static) -> Box<dyn Fn() -> Option<AnyView> + Send> {
    Box::new(read)
}

/// Does something now, and again whenever a signal changes that it reads.
pub fn effect(act: impl FnMut() + 'static) {
    let mut act: Box<dyn FnMut()> = Box::new(act);
    Effect::new(move |_: Option<()>| act());
}

/// Whether something is so: those who read it hear only of a change.
pub fn bool_memo(read: impl Fn() -> bool + Send + Sync + 'static) -> Memo<bool> {
    let read: Box<dyn Fn() -> bool + Send + Sync> = Box::new(read);
    Memo::new(move |_| read())
}

/// A text: those who read it hear only of a change. What is typed into a field lasts until the field's own value changes.
pub fn text_memo<T: Into<String>>(read: impl Fn() -> T + Send + Sync + 'static) -> Memo<String> {
    let read: Box<dyn Fn() -> String + Send + Sync> = Box::new(move || read().into());
    Memo::new(move |_| read())
}
