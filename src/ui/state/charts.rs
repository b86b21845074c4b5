//! The charts that the page has now, and when they look at their data again.

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use crate::{
    plot::{drawing::Drawing, series::Curve},
    ui::browser::Busy,
};

/// Charts are drawn anew at most this often.
const REDRAW_MS: u32 = 100;

/// The classes of curves that are told apart by colour and dashes.
pub const COLOURS: [&str; 9] =
    ["line-n0", "line-n1", "line-n2", "line-n3", "line-n4", "line-n5", "line-n6", "line-n7", "line-n8"];

/// Curves of one run by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    pub accuracy: Curve,
    pub improved: Curve,
    pub classic: Curve,
    /// By tight accounting, where the accountant was asked.
    pub tight: Curve,
    /// Test accuracy of the same model, trained beside it without privacy.
    pub baseline: Curve,
}

/// A chart that can be exported: what it is called as a file, its title, and what it shows.
pub type Exportable = (&'static str, &'static str, Memo<Drawing>);

/// The charts. Copied freely.
#[derive(Clone, Copy)]
pub struct Charts {
    /// Changes whenever charts are to look at their curves again.
    pub tick: RwSignal<u32>,
    /// Those that the page has now.
    pub exportable: StoredValue<Vec<Exportable>>,
    due: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Charts {
    /// No chart yet.
    #[must_use]
    pub fn new() -> Self {
        Self { tick: RwSignal::new(0), exportable: StoredValue::new(vec![]), due: StoredValue::new_local(None) }
    }

    /// Draws all charts anew, now.
    pub fn refresh(self) {
        self.tick.update(|tick| *tick += 1);
    }

    /// Draws all charts anew, soon.
    pub fn schedule(self) {
        self.due.update_value(|due| {
            due.get_or_insert_with(|| {
                Busy::until(REDRAW_MS, move || {
                    self.due.set_value(None);
                    self.refresh();
                })
            });
        });
    }
}
