//! The help dialog.

use leptos::{html, prelude::*};

use crate::ui::{browser::right_to_left, size::closures::on_click, text::t};

/// Opens the help dialog, unless it is open.
pub fn open(dialog: NodeRef<html::Dialog>) {
    if let Some(dialog) = dialog.get_untracked()
        && !dialog.open()
    {
        // Fails only if the dialog is no longer in the page.
        drop(dialog.show_modal());
    }
}

pub fn help_dialog(dialog: NodeRef<html::Dialog>) -> impl IntoView {
    let close = move |_| {
        if let Some(dialog) = dialog.get_untracked() {
            dialog.close();
        }
    };
    let [back, on] = if right_to_left() { ["→", "←"] } else { ["←", "→"] };
    view! {
        <dialog class="help-dialog" node_ref=dialog aria-labelledby="help-title">
            <h2 id="help-title">{t!("How this works")}</h2>
            <p>{t!("A model learns to read digits. In every step the gradients of a random lot of examples are bounded one by one, added up, and hidden under noise; only that noisy sum changes the model. ε limits how much anybody could learn about one image from all of this, and it grows with every step.")}</p>
            <dl class="keys">
                <div><dt><kbd>{t!("space")}</kbd></dt><dd>{t!("play, pause")}</dd></div>
                <div><dt><kbd>"s"</kbd></dt><dd>{t!("one step, taken apart")}</dd></div>
                <div><dt><kbd>"r"</kbd></dt><dd>{t!("start again")}</dd></div>
                <div><dt><kbd>"?"</kbd></dt><dd>{t!("this help")}</dd></div>
                <div><dt><kbd>{back}</kbd>" "<kbd>{on}</kbd></dt><dd>{t!("in a presented lesson: back, next")}</dd></div>
                <div><dt><kbd>"↑"</kbd>" "<kbd>"↓"</kbd></dt><dd>{t!("in a number field: increase, decrease")}</dd></div>
                <div><dt><kbd>{t!("Esc")}</kbd></dt><dd>{t!("revert a number, close an enlarged chart, or leave presentation mode")}</dd></div>
            </dl>
            <button type="button" class="primary" on:click=on_click(close)>{t!("Close")}</button>
        </dialog>
    }
    .into_any()
}
