//! The page's state, and its reactions to the visitor and the threads.
//!
//! `Page` holds a struct of signals for each concern. What affects one concern is a method of its
//! struct; what affects several is a method of the page.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`lesson_set`] | the file of lessons and formulas |
//! | [`lesson_text`] | names in braces and emphasis in its text |
//! | [`answered`] | the accountant's answer on a run, and when it holds |
//! | `messages` | problems, notices, words for the screen reader |
//! | `appearance` | theme, language, and what a phone shows |
//! | `device` | the backend |
//! | `digits` | the loaded digits, and those on their way |
//! | `run` | the current run |
//! | `following` | one image followed through the network |
//! | `snapshots` | single steps in detail |
//! | `cards` | cards of presets |
//! | `charts` | charts and curves |
//! | `run_list` | earlier runs |
//! | `projection` | the projected cost of the settings |
//! | `planned` | the questions behind it |
//! | `spending` | the run's privacy loss, by tight accounting |
//! | `knob` | the noise knob |
//! | `guarantee` | the run's guarantee, as every panel shows it |
//! | `pad` | the drawn digit |
//! | `pay_once` | the pay-once release |
//! | `attack` | an attack on the current run |
//! | `annealing` | the search for the noise of a run's phases |
//! | `attacks` | demonstrations of attacks, on synthetic digits |
//! | `who_pays` | which digits pay for privacy |
//! | `lessons`, `noise_lab`, `own_training`, `sweeps` | the lesson, the lab's query, a training elsewhere, the sweep |
//! | `submission` | a run submitted by a link |
//! | [`recorded`] | recorded runs, for empty charts |
//! | `page` | all of them |
//! | `connection` | methods of the page: both threads start, and fail |
//! | `events` | … the training thread speaks |
//! | `play` | … the visitor plays |
//! | `changes` | … settings change |
//! | `digit_choice` | … digits are chosen and arrive |
//! | `handed_in` | … a submission is checked, or made |
//! | `task` | … a task fixes settings |
//! | `visit` | … another address is opened in the loaded page |
//! | `sweep_runs` | … a sweep's runs start and end |
//! | `lesson_steps`, `lesson_runs` | … a lesson's step is opened, and its runs trained |
//! | `names` | … its text needs numbers |
//! | `run_files` | … a run file is opened |
//! | `recorded_step` | … the recorded step is fetched |

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
mod knob;
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
mod own_training;
#[cfg(target_arch = "wasm32")]
mod pad;
#[cfg(target_arch = "wasm32")]
mod page;
#[cfg(target_arch = "wasm32")]
pub mod pay_once;
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
    annealing::NoiseSearch,
    appearance::{ATTACK_VERDICT, Panel, SETTINGS, SHEET_CLOSE, SHEET_OPENER},
    charts::{COLOURS, Curves},
    connection::Threads,
    digit_choice::DigitChoice,
    digits::LoadedDigits,
    following::Place,
    guarantee::{Guarantee, Odds},
    handed_in::{HandedInRun, broken_promise},
    lesson_runs::LessonProgress,
    lesson_steps::LessonPlayer,
    messages::{Origin, as_sentence},
    names::Figures,
    pad::OtherModel,
    page::Page,
    planned::{OPEN_EPOCHS, planned_steps},
    run_list::{Past, pin_class},
    snapshots::{InspectedStep, StepOf},
    sweep_runs::SweepRuns,
    task::TaskLock,
};
