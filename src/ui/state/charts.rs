//! The charts on the page, and when they are redrawn.

use gloo::timers::callback::Timeout;
use leptos::prelude::*;

use crate::{
    plot::{drawing::Drawing, series::Curve},
    ui::browser::Busy,
};

/// Minimum milliseconds between redraws.
const REDRAW_MS: u32 = 100;

/// CSS classes of curves that differ in colour and dashes.
pub const COLOURS: [&str; 9] =
    ["line-n0", "line-n1", "line-n2", "line-n3", "line-n4", "line-n5", "line-n6", "line-n7", "line-n8"];

/// Curves of one run by step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    pub accuracy: Curve,
    pub improved: Curve,
    pub classic: Curve,
    /// By tight accounting, if the accountant was asked.
    pub tight: Curve,
    /// Test accuracy of the same model, trained in parallel without privacy.
    pub baseline: Curve,
}

/// A chart that can be exported: file name, title and content.
pub type Exportable = (&'static str, &'static str, Memo<Drawing>);

#[derive(Clone, Copy)]
pub struct Charts {
    /// Changes when charts must read their curves again.
    pub tick: RwSignal<u32>,
    /// Whether the chart of ε has every bound, not only the one of the headline.
    pub compare: RwSignal<bool>,
    /// The charts on the page.
    pub exportable: StoredValue<Vec<Exportable>>,
    due: StoredValue<Option<Timeout>, LocalStorage>,
}

impl Charts {
    #[must_use]
    pub fn new() -> Self {
        Self {
            tick: RwSignal::new(0),
            compare: RwSignal::new(false),
            exportable: StoredValue::new(vec![]),
            due: StoredValue::new_local(None),
        }
    }

    /// Redraws all charts now.
    pub fn refresh(self) {
        self.tick.update(|tick| *tick += 1);
    }

    /// Redraws all charts soon.
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
