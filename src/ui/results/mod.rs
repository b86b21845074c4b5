//! RESULTS: curves, numbers, the meaning of ε, attacks, the drawn digit.
//!
//! | module | contents |
//! | --- | --- |
//! | `answer` | the model's answer to a drawing |
//! | `attack` | attack on the current run by canaries |
//! | `attacker` | bounds on any attacker |
//! | `attacks` | well-known attacks |
//! | `candidates` | which of a few candidates was in |
//! | `confusion` | the confusion matrix |
//! | `curves` | accuracy and ε by step |
//! | `counted` | paid metrics and adaptive clip |
//! | [`digit`] | from a drawing to a model's input |
//! | `fold` | a fold that a link may open |
//! | `gauge` | numbers as bars |
//! | `meaning` | what ε says |
//! | `numbers` | the run in numbers |
//! | `odds` | the attacker's odds, in images of a hundred |
//! | `pad` | the drawing pad |
//! | `panel` | the panel |
//! | `pay_once` | the functional mechanism: one release, and training on it |
//! | `sentence` | sentences with elements in them |
//! | `town` | membership inference by the loss |
//! | `who_pays` | which digits pay for privacy |

#[cfg(target_arch = "wasm32")]
mod answer;
#[cfg(target_arch = "wasm32")]
mod attack;
#[cfg(target_arch = "wasm32")]
mod attacker;
#[cfg(target_arch = "wasm32")]
pub(super) mod attacks;
#[cfg(target_arch = "wasm32")]
mod candidates;
#[cfg(target_arch = "wasm32")]
mod confusion;
#[cfg(target_arch = "wasm32")]
mod counted;
#[cfg(target_arch = "wasm32")]
pub(super) mod curves;
pub mod digit;
#[cfg(target_arch = "wasm32")]
mod fold;
#[cfg(target_arch = "wasm32")]
mod gauge;
#[cfg(target_arch = "wasm32")]
pub(super) mod meaning;
#[cfg(target_arch = "wasm32")]
mod numbers;
#[cfg(target_arch = "wasm32")]
pub(super) mod odds;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
pub(super) mod panel;
#[cfg(target_arch = "wasm32")]
mod pay_once;
#[cfg(target_arch = "wasm32")]
pub(super) mod sentence;
#[cfg(target_arch = "wasm32")]
mod town;
#[cfg(target_arch = "wasm32")]
mod who_pays;
