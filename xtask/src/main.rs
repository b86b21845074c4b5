//! `cargo xtask serve | try | test | dist | deny | bench | pictures | text | bind`: tasks around cargo.

mod bench;
mod bytes;
mod checks;
mod error;
#[path = "../../crates/core/src/data/mnist_files.rs"]
mod mnist_files;
mod prelude;
mod project;
mod screen;
#[path = "../../crates/core/src/data/shard_writer.rs"]
mod shard_writer;
mod site;
mod texts;
mod tools;

use std::{path::PathBuf, process::ExitCode};

use clap::{CommandFactory, Parser, Subcommand, value_parser};

use bench::Bench;
use checks::{count::Count, deny};
use error::Result;
use project::Project;
use site::{
    Kind, build,
    bundle::{To, bind},
    pictures, serve,
    sharing::Address,
};

/// Everything that must be done around cargo
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", after_help = "Each installs what is missing: see docs/building.md.")]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, PartialEq, Subcommand)]
enum Task {
    /// Build the site and serve it on 127.0.0.1
    Serve {
        /// Show the page in the browser
        #[arg(long)]
        open: bool,
        /// Listen here; without it, on 8080 or the next free port
        #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
        port: Option<u16>,
        /// Serve the site as it ships, which takes longer
        #[arg(long)]
        dist: bool,
    },
    /// Write the site into a folder that any static host can serve
    Dist {
        #[arg(long, value_name = "DIR", default_value = "dist")]
        out: PathBuf,
        /// Where the site will stand, for what links to it show (https://…)
        #[arg(long, value_name = "URL")]
        address: Option<Address>,
    },
    /// Build and run the tests that a word names, and no other: a file of tests/browser, or a part of a native test's name
    Try {
        #[arg(value_name = "WORD")]
        word: String,
    },
    /// Set up and run every check that a change needs; the last line counts the tests
    Test {
        /// Check what ships instead: the site as it ships, documentation, benches, Burn, other browsers, packages
        #[arg(long)]
        shipped: bool,
    },
    /// Time the accountants, the engine natively, on a graphics card and in Chromium, beside their peers; write BENCHMARKS.md
    Bench {
        #[command(subcommand)]
        bench: Option<Bench>,
    },
    /// Take the README's pictures of the page, at every size
    Pictures {
        /// Take the first half minute of a visit instead, in strips
        #[arg(long)]
        film: bool,
    },
    /// Take new texts of the page into the tables of its languages (www/text)
    Text,
    /// Write wasm-bindgen's script and module for a compiled program
    Bind {
        #[arg(value_name = "WASM")]
        wasm: PathBuf,
        #[arg(value_name = "NAME")]
        name: String,
        #[arg(value_name = "DIR")]
        out: PathBuf,
    },
    /// Check licences, sources and known vulnerabilities of the dependencies
    Deny,
}

fn main() -> ExitCode {
    let done = match Arguments::try_parse() {
        Ok(Arguments { task }) => run(task).map_err(|error| eprintln!("\nerror: {error}")),
        // `--help` arrives as an error, too.
        Err(error) => error.print().map(|()| true).ok().filter(|_| !error.use_stderr()).ok_or(()),
    };
    // The last line of `test` is always a count.
    if done.is_err() && std::env::args().nth(1).as_deref() == Some("test") {
        println!("{}", Count { failed: 1, ..Count::default() });
    }
    if done == Ok(true) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// True if everything succeeded.
fn run(task: Option<Task>) -> Result<bool> {
    let Some(task) = task else {
        return Ok(Arguments::command().print_help().map(|()| true)?);
    };
    let project = &Project::find()?;
    match task {
        Task::Serve { open, port, dist } => {
            // First, so that a port in use is reported at once.
            let listener = serve::listen(port)?;
            let kind = if dist { Kind::Shipped } else { Kind::Quick };
            let out = project.target()?.join(kind.folder());
            let address = format!("http://{}/", listener.local_addr()?);
            build::with_set_up(project, kind, &out, address.parse().ok().as_ref())?;
            println!("\nhushgrad is at {address}  (Ctrl-C ends it)");
            if open && open::that_detached(&address).is_err() {
                eprintln!("  nothing here opens a browser; please open the address yourself");
            }
            serve::serve(listener, &out)?;
        }
        Task::Dist { out, address } => {
            let out = std::path::absolute(&out)?;
            let site = build::with_set_up(project, Kind::Shipped, &out, address.as_ref())?;
            println!("\n{}", site.table());
            println!("The site is in {}: copy it to any static host, under any path.", out.display());
            println!("It is {}.", site.check()?);
        }
        Task::Try { word } => return checks::attempt::run(project, &word),
        Task::Test { shipped } => return checks::run::run(project, shipped),
        Task::Pictures { film } => pictures::run(project, film)?,
        Task::Text => texts::write(project)?,
        Task::Bind { wasm, name, out } => bind(&wasm, &name, To::Modules, &out)?,
        Task::Deny => deny::run(project)?,
        Task::Bench { bench } => bench::run(project, bench)?,
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::build::Row;

    fn parsed(line: &str) -> Option<Task> {
        Arguments::try_parse_from(["xtask"].into_iter().chain(line.split_whitespace())).unwrap().task
    }

    #[test]
    fn the_command_line_is_read_or_refused() {
        assert_eq!(parsed("serve --open --port 9000"), Some(Task::Serve { open: true, port: Some(9000), dist: false }));
        assert_eq!(parsed("serve --dist"), Some(Task::Serve { open: false, port: None, dist: true }));
        assert_eq!(parsed("dist --out x/y"), Some(Task::Dist { out: "x/y".into(), address: None }));
        let address = "https://example.org/play/".parse().ok();
        assert_eq!(parsed("dist --address https://example.org/play"), Some(Task::Dist { out: "dist".into(), address }));
        assert_eq!(parsed("try stage"), Some(Task::Try { word: "stage".into() }));
        assert_eq!(parsed("test"), Some(Task::Test { shipped: false }));
        assert_eq!(parsed("test --shipped"), Some(Task::Test { shipped: true }));
        assert_eq!(parsed("pictures"), Some(Task::Pictures { film: false }));
        assert_eq!(parsed("pictures --film"), Some(Task::Pictures { film: true }));
        assert_eq!(parsed("deny"), Some(Task::Deny));
        assert_eq!(parsed("text"), Some(Task::Text));
        let bound = Task::Bind { wasm: "a.wasm".into(), name: "a".into(), out: "x/y".into() };
        assert_eq!(parsed("bind a.wasm a x/y"), Some(bound));
        assert_eq!(parsed(""), None);
        for (line, bench) in [
            ("bench", None),
            ("bench browser", Some(Bench::Browser)),
            ("bench gpu --adapter RTX", Some(Bench::Gpu { adapter: Some("RTX".into()), said: None })),
            ("bench gpu --said x/y.log", Some(Bench::Gpu { adapter: None, said: Some("x/y.log".into()) })),
            ("bench page", Some(Bench::Page { site: None })),
            ("bench cores", Some(Bench::Cores { site: None })),
            ("bench cards --site dist", Some(Bench::Cards { site: Some("dist".into()) })),
            ("bench build", Some(Bench::Build { rows: vec![] })),
            ("bench build serve test-again", Some(Bench::Build { rows: vec![Row::Serve, Row::TestWarm] })),
        ] {
            assert_eq!(parsed(line), Some(Task::Bench { bench }), "{line}");
        }
        for wrong in [
            "bench build all",
            "bench speed serve",
            "sreve",
            "bench all",
            "bench --adapter 0",
            "bench speed --adapter 0",
            "bench gpu --adapter",
            "bench gpu --adapter 0 --said x",
            "serve --port",
            "serve --port 0",
            "serve --port 70000",
            "test --open",
            "dist --out",
            "dist --address example.org",
        ] {
            let words = ["xtask"].into_iter().chain(wrong.split_whitespace());
            assert!(Arguments::try_parse_from(words).is_err_and(|error| error.use_stderr()), "{wrong}");
        }
    }
}
