//! RESULTS: curves, numbers, what ε says, the drawn digit.
//!
//! | module | what it is |
//! | --- | --- |
//! | `answer` | what the model says of a drawing |
//! | `attack` | what an attacker finds out of the run that stands |
//! | `attacker` | what an attacker can do at most |
//! | `attacks` | attacks that people recognise |
//! | `candidates` | which of a few candidates was in |
//! | `confusion` | which digits are taken for which |
//! | `curves` | accuracy and ε by step |
//! | `counted` | what counts told that were released with the steps |
//! | [`digit`] | a drawing made into the picture that models know |
//! | `fold` | a fold that a link may have opened |
//! | `gauge` | numbers as bars under one another |
//! | `gradient` | an image from one gradient |
//! | `meaning` | what ε says |
//! | `numbers` | where the run stands in numbers |
//! | `odds` | the attacker's odds, in images of a hundred |
//! | `pad` | the pad to draw on |
//! | `panel` | the panel |
//! | `pay_once` | a release that is paid once, and the training on it |
//! | `sentence` | sentences with elements in them |
//! | `town` | who was trained on, by the loss |
//! | `who_pays` | which digits pay for privacy |

#[cfg(target_arch = "wasm32")]
mod answer;
#[cfg(target_arch = "wasm32")]
pub(super) mod attack;
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
mod gradient;
#[cfg(target_arch = "wasm32")]
pub(super) mod meaning;
#[cfg(target_arch = "wasm32")]
mod numbers;
#[cfg(target_arch = "wasm32")]
mod odds;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
pub(super) mod panel;
#[cfg(target_arch = "wasm32")]
mod pay_once;
#[cfg(target_arch = "wasm32")]
mod sentence;
#[cfg(target_arch = "wasm32")]
mod town;
#[cfg(target_arch = "wasm32")]
mod who_pays;
