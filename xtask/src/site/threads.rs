//! Loaders and names of the programs that the page starts as threads.

use super::Kind;
use crate::{bytes::digest, prelude::*};

pub const THREADS: [&str; 3] = ["worker", "accountant", "reader"];
/// The training thread with fused multiply-add, chosen by the loader if the browser supports it.
pub const RELAXED: &str = "worker-relaxed";
/// A program with one `f32x4.relaxed_madd` of zeros, valid in browsers that can run [`RELAXED`].
pub const PROBE: [u8; 40] = [
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 19, 1, 17, 0, 65, 0, 253, 15, 65, 0, 253, 15,
    65, 0, 253, 15, 253, 133, 2, 11,
];

/// Makes a helper (`src/worker/helping.rs`) run the training thread's program, sent by message.
const HELPER: &str = "const given = self.name === \"hushgrad-helper\" && new Promise((take) => addEventListener(\"message\", ({ data }) => take(data), { once: true }));
if (given) postMessage(\"program\");
";
/// Starts the program with the given module or its own file.
const START: &str = "await (given ? init({ module_or_path: await given }) : init());\n";

/// Writes loaders that act as Trunk's, but import dynamically, to report which file failed to load.
pub fn write_loaders(staging: &Path, kind: Kind) -> Result<()> {
    let import = |program: &str| format!("const {{ default: init }} = await import({program});\n");
    for thread in ["accountant", "reader"] {
        let loader = import(&format!("\"./{thread}.js\"")) + "await init();\n";
        fs::write(staging.join(format!("{thread}_loader.js")), loader)?;
    }
    let choosing = match kind {
        Kind::Quick => import("\"./worker.js\""),
        // Chooses the program by browser; a helper's browser is the same.
        Kind::Shipped => {
            let probe = serde_json::json!(PROBE.as_slice());
            format!(
                "// Valid where a program may multiply and add in one: the faster of two programs.\n\
                 const relaxed = WebAssembly.validate(new Uint8Array({probe}));\n"
            ) + &import(&format!("relaxed ? \"./{RELAXED}.js\" : \"./worker.js\""))
        }
    };
    Ok(fs::write(staging.join("worker_loader.js"), format!("{HELPER}{choosing}{START}"))?)
}

/// Renames the threads' files by content, so that no browser pairs an old thread with a new page.
pub fn name_all(staging: &Path, kind: Kind) -> Result<()> {
    if kind == Kind::Shipped {
        // First, because the loader's content, and so its name, depends on this name.
        name(staging, RELAXED, &["_bg.wasm", ".js"], "worker_loader.js")?;
    }
    THREADS.iter().try_for_each(|thread| name(staging, thread, &["_bg.wasm", ".js", "_loader.js"], "index.html"))
}

/// `ends` are the endings of a thread's files, each named in the next, the last in `named_in`.
fn name(staging: &Path, thread: &str, ends: &[&str], named_in: &str) -> Result<()> {
    let names: Vec<String> = ends.iter().map(|end| format!("{thread}{end}")).collect();
    let contents = names.iter().map(|name| fs::read(staging.join(name))).collect::<std::io::Result<Vec<_>>>()?;
    let key = &digest(&contents.iter().map(Vec::as_slice).collect::<Vec<_>>())[..16];
    let new = |old: &str| old.replacen(thread, &format!("{thread}-{key}"), 1);
    let holders = names[1..].iter().map(|name| (name.clone(), new(name)));
    for (old, (file, save_as)) in names.iter().zip(holders.chain([(named_in.to_owned(), named_in.to_owned())])) {
        let text = fs::read_to_string(staging.join(&file))?;
        if !text.contains(old) {
            return Err(wrong!("{file} as the build made it does not name {old}"));
        }
        remove(&staging.join(&file))?;
        fs::write(staging.join(save_as), text.replace(old, &new(old)))?;
    }
    Ok(fs::rename(staging.join(&names[0]), staging.join(new(&names[0])))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_files_and_references_are_renamed_by_content() {
        let folder = tempfile::tempdir().unwrap();
        let staging = folder.path();
        let write = |name: &str, text: &str| fs::write(staging.join(name), text).unwrap();
        for thread in ["worker", "worker-relaxed", "accountant", "reader"] {
            write(&format!("{thread}_bg.wasm"), thread);
            write(&format!("{thread}.js"), &format!("new URL('{thread}_bg.wasm')"));
        }
        write("index.html", "./worker_loader.js ./accountant_loader.js ./reader_loader.js");
        write_loaders(staging, Kind::Shipped).unwrap();
        name_all(staging, Kind::Shipped).unwrap();
        let mut names: Vec<_> = fs::read_dir(staging).unwrap().map(|file| file.unwrap().file_name()).collect();
        names.sort();
        let names: Vec<_> = names.iter().map(|name| name.to_str().unwrap()).collect();
        let ends = |start: &str, ends: &[&str]| {
            let its =
                names.iter().filter_map(|name| name.strip_prefix(start)).filter(|rest| !rest.starts_with("relaxed"));
            let (keys, rests): (Vec<&str>, Vec<&str>) = its.map(|rest| rest.split_at(16)).unzip();
            assert_eq!(rests, ends, "{names:?}");
            assert!(keys.iter().all(|key| *key == keys[0]), "{names:?}");
            keys[0].to_owned()
        };
        let [worker, accountant, reader] =
            ["worker-", "accountant-", "reader-"].map(|start| ends(start, &[".js", "_bg.wasm", "_loader.js"]));
        let relaxed = ends("worker-relaxed-", &[".js", "_bg.wasm"]);
        assert_eq!(names.len(), 12);
        let read = |name: &str| fs::read_to_string(staging.join(name)).unwrap();
        let named = [("worker", &worker), ("accountant", &accountant), ("reader", &reader)];
        assert_eq!(read("index.html"), named.map(|(name, key)| format!("./{name}-{key}_loader.js")).join(" "));
        let loader = read(&format!("worker-{worker}_loader.js"));
        for name in [format!("./worker-relaxed-{relaxed}.js"), format!("./worker-{worker}.js")] {
            assert!(loader.contains(&format!("\"{name}\"")), "{loader}");
        }
        assert_eq!(read(&format!("accountant-{accountant}.js")), format!("new URL('accountant-{accountant}_bg.wasm')"));
        // A page that names no thread is rejected.
        write("index.html", "");
        write("accountant.js", "new URL('accountant_bg.wasm')");
        write("accountant_bg.wasm", "");
        write("accountant_loader.js", "./accountant.js");
        assert!(name(staging, "accountant", &["_bg.wasm", ".js", "_loader.js"], "index.html").is_err());
    }
}
