//! `cargo xtask serve | test | dist | deny | bench | pictures`: everything that must be done around cargo.

mod bench_accounting;
mod bench_browser;
mod bench_build;
mod bench_gpu;
mod bench_speed;
mod benchmarks;
mod browser;
mod checks;
mod debian;
mod deny;
#[cfg(test)]
mod documents;
mod engines;
mod error;
mod lints;
mod mnist;
#[path = "../../src/data/mnist_files.rs"]
mod mnist_files;
mod pages;
mod peers;
mod pictures;
mod project;
mod screen;
mod sections;
mod serve;
#[path = "../../src/data/shard_writer.rs"]
mod shard_writer;
mod site;
mod sizes;
mod tools;
mod wasm_target;

use std::{path::PathBuf, process::ExitCode};

use bench_build::Row;
use error::{At, Error, Result};
use project::Project;
use screen::Screen;
use site::Kind;

const HELP: &str = "\
cargo xtask serve [--open] [--port N] [--dist]
                                        build the site and serve it on 127.0.0.1 (port 8080, or the next free one);
                                        with --dist as it ships, which takes longer
cargo xtask dist [--out DIR]            write the site into a folder (dist) that any static host can serve
cargo xtask test                        set up and run every check; the last line counts the tests
cargo xtask bench [accounting | speed | gpu [--adapter NAME] | browser]
                                        time the accountants, the engine natively, on a graphics adapter or in Chromium,
                                        or all, beside their peers; write BENCHMARKS.md
cargo xtask bench build [serve | watch | train | line | test | test-again]...
                                        time what the commands make one wait for, from empty folders (two hours), or only
                                        these rows; write BENCHMARKS.md
cargo xtask pictures                    take the README's pictures of the page, at every size
cargo xtask deny                        check licences, sources and known vulnerabilities of the dependencies

Each installs what is missing: see docs/building.md.
";

/// Sections of BENCHMARKS.md.
#[derive(Clone, Debug, PartialEq)]
enum Bench {
    Accounting,
    Speed,
    /// On this adapter; without a name, on one that is not software.
    Gpu(Option<String>),
    Browser,
}

/// What was asked for.
#[derive(Debug, PartialEq)]
enum Task {
    Serve {
        open: bool,
        port: Option<u16>,
        kind: Kind,
    },
    Dist {
        out: PathBuf,
    },
    Test,
    Pictures,
    Deny,
    Bench(Vec<Bench>),
    /// These rows; none named, all of them. It takes hours, so `bench` alone does not run it.
    BenchBuild(Vec<Row>),
    Help,
}

fn main() -> ExitCode {
    if let Some(code) = lints::stand_in() {
        return code;
    }
    let task = parse(std::env::args().skip(1));
    let counts = matches!(task, Ok(Task::Test));
    match task.and_then(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("\nerror: {error}");
            // Its last line is a count, whatever happens.
            if counts {
                println!("{}", checks::Count { failed: 1, ..Default::default() });
            }
            ExitCode::FAILURE
        }
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Task> {
    let mut task = match words.next().as_deref() {
        Some("serve") => Task::Serve { open: false, port: None, kind: Kind::Quick },
        Some("dist") => Task::Dist { out: "dist".into() },
        Some("test") => Task::Test,
        Some("pictures") => Task::Pictures,
        Some("deny") => Task::Deny,
        Some("bench") => match words.next().as_deref() {
            None => Task::Bench(vec![Bench::Accounting, Bench::Speed, Bench::Gpu(None), Bench::Browser]),
            Some("accounting") => Task::Bench(vec![Bench::Accounting]),
            Some("speed") => Task::Bench(vec![Bench::Speed]),
            Some("gpu") => Task::Bench(vec![Bench::Gpu(None)]),
            Some("browser") => Task::Bench(vec![Bench::Browser]),
            Some("build") => Task::BenchBuild(Vec::new()),
            Some(other) => {
                return Err(Error::Usage(format!(
                    "bench what? accounting, speed, gpu, browser or build, not `{other}`"
                )));
            }
        },
        None | Some("help" | "--help" | "-h") => Task::Help,
        Some(other) => return Err(Error::Usage(format!("no such task: {other}\n\n{HELP}"))),
    };
    while let Some(word) = words.next() {
        match (&mut task, word.as_str()) {
            (_, "--help" | "-h") => return Ok(Task::Help),
            (Task::Serve { open, .. }, "--open") => *open = true,
            (Task::Serve { kind, .. }, "--dist") => *kind = Kind::Shipped,
            (Task::Serve { port, .. }, "--port") => {
                let number = words.next().unwrap_or_default();
                let wrong = || Error::Usage(format!("--port takes a number from 1 to 65535, not `{number}`"));
                *port = Some(number.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?);
            }
            (Task::Dist { out }, "--out") => {
                *out = words.next().ok_or_else(|| Error::Usage("--out takes a folder".into()))?.into();
            }
            (Task::Bench(benches), "--adapter") => {
                let [Bench::Gpu(adapter)] = benches.as_mut_slice() else {
                    return Err(Error::Usage("--adapter goes with `bench gpu` alone".into()));
                };
                let wrong = || Error::Usage("--adapter takes a name, a part of one, or a number".into());
                *adapter = Some(words.next().ok_or_else(wrong)?);
            }
            (Task::BenchBuild(rows), word) if Row::of(word).is_some() => rows.extend(Row::of(word)),
            (_, other) => return Err(Error::Usage(format!("not understood here: {other}\n\n{HELP}"))),
        }
    }
    Ok(task)
}

/// Whether all went well.
fn run(task: Task) -> Result<bool> {
    if task == Task::Help {
        print!("{HELP}");
        return Ok(true);
    }
    let mut project = Project::find()?;
    let screen = Screen::new(project.cache.join("logs"))?;
    match task {
        Task::Help => {}
        Task::Serve { open, port, kind } => {
            // Before the work: a port that is taken is told at once.
            let listener = serve::listen(port)?;
            let out = project.target()?.join(kind.folder());
            build_site(&mut project, &screen, kind, &out)?;
            let address = format!("http://{}/", listener.local_addr().at("listen on", &out)?);
            println!("\nhushgrad is at {address}  (Ctrl-C ends it)");
            if open {
                serve::open(&address);
            }
            serve::serve(&listener, &out);
        }
        Task::Dist { out } => {
            let out = std::path::absolute(&out).at("find", &out)?;
            let site = build_site(&mut project, &screen, Kind::Shipped, &out)?;
            println!("\n{}", site.table());
            println!("The site is in {}: copy it to any static host, under any path.", out.display());
            println!("It is {}.", site.check()?);
        }
        Task::Test => return checks::run(&mut project, &screen),
        Task::Pictures => pictures::run(&mut project, &screen)?,
        Task::Deny => deny::run(&mut project, &screen)?,
        Task::BenchBuild(rows) if rows.is_empty() => bench_build::run(&mut project, &screen, &Row::ALL)?,
        Task::BenchBuild(rows) => bench_build::run(&mut project, &screen, &rows)?,
        Task::Bench(benches) => {
            for bench in benches {
                match bench {
                    Bench::Accounting => bench_accounting::run(&mut project, &screen)?,
                    Bench::Speed => bench_speed::run(&mut project, &screen)?,
                    Bench::Gpu(adapter) => bench_gpu::run(&mut project, &screen, adapter.as_deref())?,
                    Bench::Browser => bench_browser::run(&mut project, &screen)?,
                }
            }
        }
    }
    Ok(true)
}

fn build_site(project: &mut Project, screen: &Screen, kind: Kind, out: &std::path::Path) -> Result<site::Site> {
    screen.say("Set-up");
    project.claim(screen)?;
    let wasm = wasm_target::ensure(project, screen)?;
    let digits = mnist::ensure(project, screen)?;
    screen.say("Site");
    let site = site::build(project, screen, kind, &wasm, &digits, out)?;
    project.release();
    Ok(site)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_line_is_read_or_refused() {
        let quick = Task::Serve { open: true, port: Some(9000), kind: Kind::Quick };
        assert_eq!(parsed("serve --open --port 9000").unwrap(), quick);
        assert_eq!(parsed("serve --dist").unwrap(), Task::Serve { open: false, port: None, kind: Kind::Shipped });
        assert_eq!(parsed("dist --out x/y").unwrap(), Task::Dist { out: "x/y".into() });
        assert_eq!(parsed("test").unwrap(), Task::Test);
        assert_eq!(parsed("pictures").unwrap(), Task::Pictures);
        assert_eq!(parsed("").unwrap(), Task::Help);
        assert_eq!(
            parsed("bench").unwrap(),
            Task::Bench(vec![Bench::Accounting, Bench::Speed, Bench::Gpu(None), Bench::Browser])
        );
        assert_eq!(parsed("bench browser").unwrap(), Task::Bench(vec![Bench::Browser]));
        assert_eq!(parsed("bench gpu --adapter RTX").unwrap(), Task::Bench(vec![Bench::Gpu(Some("RTX".into()))]));
        assert_eq!(parsed("bench build").unwrap(), Task::BenchBuild(vec![]));
        let two = vec![Row::Serve, Row::TestWarm];
        assert_eq!(parsed("bench build serve test-again").unwrap(), Task::BenchBuild(two));
        for wrong in [
            "bench build all",
            "bench speed serve",
            "sreve",
            "bench all",
            "bench --adapter 0",
            "bench speed --adapter 0",
            "bench gpu --adapter",
            "serve --port",
            "serve --port 0",
            "serve --port 70000",
            "test --open",
            "dist --out",
        ] {
            assert!(matches!(parsed(wrong), Err(Error::Usage(_))), "{wrong}");
        }
    }
}
