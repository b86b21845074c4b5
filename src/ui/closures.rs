//! Handlers and readers of one type each. A kind of view is compiled again for every type of closure in it, and each closure
//! has a type of its own; behind these, a view is compiled once. That keeps the page small.

use leptos::ev::{Event, MouseEvent};

/// What a click does.
pub fn on_click(act: impl FnMut(MouseEvent) + 'static) -> Box<dyn FnMut(MouseEvent)> {
    Box::new(act)
}

/// What a change, an input or a toggle does.
pub fn on_event(act: impl FnMut(Event) + 'static) -> Box<dyn FnMut(Event)> {
    Box::new(act)
}

/// An attribute that is there or not.
pub fn whether(read: impl Fn() -> bool + Send + 'static) -> Box<dyn Fn() -> bool + Send> {
    Box::new(read)
}

/// An attribute's value.
pub fn wording<T: Into<String>>(read: impl Fn() -> T + Send + 'static) -> Box<dyn Fn() -> String + Send> {
    Box::new(move || read().into())
}
