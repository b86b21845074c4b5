//! What the page knows, and what follows from what the visitor does and the threads say.
//!
//! `Page` holds a struct of signals for each concern. What one concern can do is a method of its struct; what concerns several is a
//! method of the page.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`lesson_set`] | lessons and formulas as they are written |
//! | [`lesson_text`] | the names and the emphasis in their text |
//! | [`answered`] | what the accountant has said of a run, and what it holds for |
//! | `messages` | problems, notices, words for the screen reader |
//! | `appearance` | theme, size, and what a phone shows |
//! | `device` | the backend |
//! | `digits` | the digits at hand and on their way |
//! | `run` | the run that stands |
//! | `following` | one image that is followed through the network |
//! | `snapshots` | steps taken apart |
//! | `cards` | cards of ready-made runs |
//! | `charts` | charts and curves |
//! | `run_list` | earlier runs |
//! | `projection` | what the settings will cost |
//! | `spending` | what the run gives away, by tight accounting |
//! | `guarantee` | what it guarantees, as every panel shows it |
//! | `pad` | the drawn digit |
//! | `pay_once` | a release that is paid once |
//! | `attack` | an attack on the run that stands |
//! | `annealing` | the search for the noise of a run's phases |
//! | `attacks` | attacks that people recognise, on drawn digits |
//! | `who_pays` | which digits pay for privacy |
//! | `lessons`, `noise_lab`, `sweeps` | the lesson, the lab's query, the sweep |
//! | `submission` | a run that was handed in by a link |
//! | [`recorded`] | runs made before, for empty charts |
//! | `page` | all of them |
//! | `connection` | methods of the page: both threads start, and fail |
//! | `events` | … the training thread speaks |
//! | `play` | … the visitor plays |
//! | `paying` | … something is paid once |
//! | `cooling` | … the noise of phases is sought |
//! | `changes` | … settings change |
//! | `digit_choice` | … digits are chosen and come |
//! | `handed_in` | … such a run is held against what the page computes; one is handed in |
//! | `task` | … what a task fixes stays |
//! | `visit` | … another address is opened in the page that stands |
//! | `sweep_runs` | … the runs of a sweep |
//! | `lesson_steps`, `lesson_runs` | … a lesson's step is opened; the runs that it speaks of |
//! | `names` | … the numbers in its text |
//! | `run_files` | … a run file is opened |
//! | `recorded_step` | … the step is fetched that was made before |

#[cfg(target_arch = "wasm32")]
pub mod annealing;
pub mod answered;
#[cfg(target_arch = "wasm32")]
mod appearance;
#[cfg(target_arch = "wasm32")]
pub mod attack;
#[cfg(target_arch = "wasm32")]
pub mod attacks;
#[cfg(target_arch = "wasm32")]
mod cards;
#[cfg(target_arch = "wasm32")]
mod changes;
#[cfg(target_arch = "wasm32")]
mod charts;
#[cfg(target_arch = "wasm32")]
mod connection;
#[cfg(target_arch = "wasm32")]
mod cooling;
#[cfg(target_arch = "wasm32")]
mod device;
#[cfg(target_arch = "wasm32")]
mod digit_choice;
#[cfg(target_arch = "wasm32")]
mod digits;
#[cfg(target_arch = "wasm32")]
mod events;
#[cfg(target_arch = "wasm32")]
mod following;
#[cfg(target_arch = "wasm32")]
mod guarantee;
#[cfg(target_arch = "wasm32")]
mod handed_in;
#[cfg(target_arch = "wasm32")]
mod lesson_runs;
pub mod lesson_set;
#[cfg(target_arch = "wasm32")]
mod lesson_steps;
pub mod lesson_text;
#[cfg(target_arch = "wasm32")]
mod lessons;
#[cfg(target_arch = "wasm32")]
mod messages;
#[cfg(target_arch = "wasm32")]
mod names;
#[cfg(target_arch = "wasm32")]
mod noise_lab;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
pub mod pay_once;
#[cfg(target_arch = "wasm32")]
mod paying;
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "the page asks"))]
mod planned;
#[cfg(target_arch = "wasm32")]
mod play;
#[cfg(target_arch = "wasm32")]
mod projection;
pub mod recorded;
#[cfg(target_arch = "wasm32")]
mod recorded_step;
#[cfg(target_arch = "wasm32")]
mod run;
#[cfg(target_arch = "wasm32")]
mod run_files;
#[cfg(target_arch = "wasm32")]
mod run_list;
#[cfg(target_arch = "wasm32")]
mod snapshots;
#[cfg(target_arch = "wasm32")]
mod spending;
#[cfg(target_arch = "wasm32")]
mod submission;
#[cfg(target_arch = "wasm32")]
mod sweep_runs;
#[cfg(target_arch = "wasm32")]
mod sweeps;
#[cfg(target_arch = "wasm32")]
mod task;
#[cfg(target_arch = "wasm32")]
mod visit;
#[cfg(target_arch = "wasm32")]
mod who_pays;

#[cfg(target_arch = "wasm32")]
pub(super) use self::{
    appearance::{Panel, SHEET_CLOSE, SHEET_OPENER},
    charts::{COLOURS, Curves},
    following::Place,
    guarantee::{Guarantee, Odds},
    handed_in::broken_promise,
    lesson_runs::Standing,
    messages::{Origin, as_sentence},
    pad::OtherModel,
    page::Page,
    planned::{OPEN_EPOCHS, planned_steps},
    run_list::{Past, pin_class},
    snapshots::People,
};
