//! hushgrad trains a small model to read digits with differential privacy, in a browser or a shell.
//!
//! Per-example gradients are bounded ([`mechanism`]: clipped, or clamped by rank into an envelope)
//! and summed over a sampled lot; noise is added, and the model is updated. Each release is first
//! recorded in a ledger, from which the accountant ([`accounting`]) computes (ε, δ).
//!
//! # A private training
//!
//! [`Plan::new`](train::plan::Plan::new) checks a [`RunConfig`](train::config::RunConfig); a
//! [`Session`](train::session::Session) takes the plan's steps on an [`Engine`](engine::Engine).
//!
//! ```
//! use hushgrad::{
//!     accounting::{books::account, noise::NoiseSpec},
//!     data::synthetic,
//!     engine::{Performance, cpu::CpuEngine},
//!     mechanism::EncoderSpec,
//!     model::Architecture,
//!     train::{config::RunConfig, plan::Plan, session::Session},
//! };
//!
//! // Digits that the program draws itself: 600 to train on, 100 to test with.
//! let digits = synthetic::digits(1, 600, 100);
//! let config = RunConfig {
//!     model: Architecture::Linear,
//!     encoder: EncoderSpec::Clip { norm: 1.0 },
//!     noise: Some(NoiseSpec::Gaussian { sigma: 1.5 }),
//!     lot: 60, // expected: each example takes part with probability 60/600
//!     steps: Some(5),
//!     ..RunConfig::default()
//! };
//! let plan = Plan::new(config, 600)?;
//! let start = plan.initial_parameters();
//! let engine = CpuEngine::new(plan.task.clone(), digits.train, &start, Performance::default())?;
//! let mut session = Session::new(plan, engine)?;
//! pollster::block_on(async {
//!     while !session.complete() {
//!         session.step().await?;
//!     }
//!     Ok::<_, Box<dyn std::error::Error>>(())
//! })?;
//!
//! let ledger = session.ledger().ok_or("a run without noise has no guarantee")?;
//! println!("{}", account(ledger, 1e-5)?); // ε, with every assumption, a line each
//! # assert_eq!(ledger.steps(), 5);
//! # assert!(account(ledger, 1e-5)?.improved.epsilon < 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `gpu` (default) adds wgpu and its engine; `page` (default) adds Leptos and the page, [`ui`].
//!
//! # Modules
//!
//! | module | contents | may use |
//! | --- | --- | --- |
//! | [`rng`] | ChaCha20 keyed by the system; a replayable stream without privacy | none of these |
//! | [`accounting`] | the crate `hushgrad-accounting`: noise families, bounds, accountants, ledger | none of these |
//! | [`data`] | IDX files, synthetic digits, datasets | [`rng`] |
//! | [`mechanism`] | encode, clip, add noise, denoise: the plain reference on slices | the above |
//! | [`model`] | architectures and their per-example gradients | the above |
//! | [`engine`] | one trait; the plain reference, the CPU engine and the WebGPU engine | the above |
//! | [`train`] | configuration, plan, session, report | the above |
//! | [`attack`] | known attacks on a run's release: membership, candidate game, gradient inversion | the above |
//! | [`plot`] | charts as plain data and SVG, for the page and the native tool | [`accounting`], [`train`] |
//! | [`worker`] | the page's threads and their messages | the above |
//! | [`ui`] | the page (feature `page`): plain logic everywhere, Leptos in the browser | [`worker`]'s messages, [`plot`], plain data of the rest |
//!
//! No module uses one below it. [`rng`], [`data`], [`mechanism`] and [`model`] are `hushgrad-core`,
//! [`engine`] is `hushgrad-engine`, [`train`] and [`attack`] are `hushgrad-train`; cargo enforces
//! this order. [`accounting`] knows no tensors; code that computes gradients knows no ε.

pub use hushgrad_accounting as accounting;
pub use hushgrad_core::{data, mechanism, model, rng};
pub use hushgrad_engine as engine;
pub use hushgrad_train::{self as train, attack};

pub mod plot;
#[cfg(feature = "page")]
pub mod ui;
pub mod worker;
