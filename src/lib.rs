//! hushgrad trains a small model to read handwritten digits, with differential privacy, in a browser tab or from a shell.
//!
//! An example's gradient is bounded ([`mechanism`]: clipped to a norm, or clamped by rank into an envelope), the gradients of a sampled lot are
//! summed, the sum gets noise, and the model moves by it. What each step releases is recorded in a ledger before it runs; the accountant
//! ([`accounting`], a crate of its own) says from the ledger what the whole training costs: (ε, δ).
//!
//! # A private training
//!
//! What is set ([`RunConfig`](train::config::RunConfig)) is checked once against the training set ([`Plan`](train::plan::Plan)). A
//! [`Session`](train::session::Session) then takes the plan's steps on an [`Engine`](engine::Engine).
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
//! `gpu` (default) adds the WebGPU engine; `page` (default) adds the page, [`ui`]. Without both, nothing of wgpu or Leptos is compiled.
//!
//! # Modules
//!
//! | module | what it is | may use |
//! | --- | --- | --- |
//! | [`rng`] | ChaCha20 keyed by the system; a replayable stream, which protects nobody | none of these |
//! | [`accounting`] | the crate `hushgrad-accounting`: noise families, bounds, accountants, ledger | none of these |
//! | [`data`] | IDX files, synthetic digits, datasets | [`rng`] |
//! | [`mechanism`] | encode, clip, add noise, denoise: the plain reference on slices | the above |
//! | [`model`] | architectures and their per-example gradients | the above |
//! | [`engine`] | one trait; the plain reference, the CPU engine and the WebGPU engine | the above |
//! | [`train`] | configuration, plan, session, report | the above |
//! | [`attack`] | attacks that people recognise, on a run's own release: membership, the candidate game, an image from a gradient | the above |
//! | [`plot`] | charts as plain data and as SVG, for the page and the native tool | the type of a point of [`train`] |
//! | [`worker`] | the page's threads, and what may be asked of them | the above |
//! | [`ui`] | the page (feature `page`): plain logic everywhere, Leptos in the browser | [`worker`]'s messages, [`plot`], plain data of the rest |
//!
//! No module uses one below it in this table. [`rng`], [`data`], [`mechanism`] and [`model`] are the crate `hushgrad-core`, [`engine`] is `hushgrad-engine`,
//! [`train`] and [`attack`] are `hushgrad-train`: cargo holds the arrows between them. Nothing in [`accounting`] knows a tensor; nothing that computes
//! gradients knows ε.

pub use hushgrad_accounting as accounting;
pub use hushgrad_core::{data, mechanism, model, rng};
pub use hushgrad_engine as engine;
pub use hushgrad_train::{self as train, attack};

pub mod plot;
#[cfg(feature = "page")]
pub mod ui;
pub mod worker;
