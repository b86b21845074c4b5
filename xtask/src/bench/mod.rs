//! `cargo xtask bench`: each kind measures, and renders its template to a section of BENCHMARKS.md.

mod accounting;
mod browser;
pub mod build;
mod built;
mod gpu;
mod page;
mod peers;
mod report;
mod sections;
mod speed;
mod wasm;

use crate::prelude::*;

/// A kind of bench.
#[derive(Debug, PartialEq, clap::Subcommand)]
pub enum Bench {
    /// Time the accountants, natively and in Chromium, beside their peer
    Accounting,
    /// Time the engine natively, beside Opacus
    Speed,
    /// Time the WebGPU engine on a graphics card, beside what the card's memory and arithmetic allow
    Gpu {
        /// Take this adapter, software too: a name, a part of one, or a number
        #[arg(long, value_name = "NAME")]
        adapter: Option<String>,
        /// Make the section of what `gpu_bench` printed on another machine
        #[arg(long, value_name = "FILE", conflicts_with = "adapter")]
        said: Option<PathBuf>,
    },
    /// Time networks that somebody has built beside the models that have names, on both engines
    Built {
        /// Take this adapter: a name, a part of one, or a number
        #[arg(long, value_name = "NAME")]
        adapter: Option<String>,
    },
    /// Time the engine in Chromium, beside jax-js
    Browser,
    /// Time what a visitor of the page waits for, in Chromium over the site that ships
    Page {
        /// Take the site in this folder instead of building one
        #[arg(long, value_name = "DIR")]
        site: Option<PathBuf>,
    },
    /// Time a step of the page's CPU engine on one core and on several, in Chromium over the site that ships
    Cores {
        /// Take the site in this folder instead of building one
        #[arg(long, value_name = "DIR")]
        site: Option<PathBuf>,
    },
    /// Play the runs of the page's cards in Chromium, and write their seconds into www/presets.txt
    Cards {
        /// Take the site in this folder instead of building one
        #[arg(long, value_name = "DIR")]
        site: Option<PathBuf>,
    },
    /// Time what the commands make one wait for, from empty folders (two hours), or only these rows
    Build {
        #[arg(value_name = "ROW")]
        rows: Vec<build::Row>,
    },
}

/// Runs one kind, or all but builds, which take hours, and cards, which write no section.
pub fn run(project: &Project, bench: Option<Bench>) -> Result<()> {
    let all = || {
        vec![
            Bench::Accounting,
            Bench::Speed,
            Bench::Gpu { adapter: None, said: None },
            Bench::Built { adapter: None },
            Bench::Browser,
            Bench::Page { site: None },
            Bench::Cores { site: None },
        ]
    };
    bench.map_or_else(all, |one| vec![one]).into_iter().try_for_each(|bench| match bench {
        Bench::Accounting => accounting::run(project),
        Bench::Speed => speed::run(project),
        Bench::Gpu { adapter, said } => gpu::run(project, adapter.as_deref(), said.as_deref()),
        Bench::Built { adapter } => built::run(project, adapter.as_deref()),
        Bench::Browser => browser::run(project),
        Bench::Page { site } => page::run(project, site.as_deref()),
        Bench::Cores { site } => page::cores(project, site.as_deref()),
        Bench::Cards { site } => page::cards(project, site.as_deref()),
        Bench::Build { rows } => build::run(project, &rows),
    })
}
