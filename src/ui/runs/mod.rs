//! RUNS: the list of earlier runs, and exports.
//!
//! | module | contents |
//! | --- | --- |
//! | `chart_files` | charts as files |
//! | [`export`] | curves as a file |
//! | `label` | the privacy label |
//! | `menu` | the export menu |
//! | `panel` | the panel |
//! | `share` | links and frames |
//! | `trade_off` | accuracy by ε |
//! | `verdict` | result of the last sweep |

#[cfg(target_arch = "wasm32")]
mod chart_files;
pub mod export;
#[cfg(target_arch = "wasm32")]
mod label;
#[cfg(target_arch = "wasm32")]
pub(super) mod menu;
#[cfg(target_arch = "wasm32")]
pub(super) mod panel;
#[cfg(target_arch = "wasm32")]
pub(super) mod share;
#[cfg(target_arch = "wasm32")]
mod trade_off;
#[cfg(target_arch = "wasm32")]
pub(super) mod verdict;
