// Compiles the accountant to WebAssembly and assembles the package in dist/. Needs cargo's wasm32
// target and Cargo.lock's version of wasm-bindgen, from WASM_BINDGEN, `cargo xtask dist` or PATH.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const out = join(here, "dist");
const version = /name = "wasm-bindgen"\nversion = "([^"]+)"/.exec(readFileSync(join(root, "Cargo.lock"), "utf8"))[1];
const cache = process.env.HUSHGRAD_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "hushgrad");
const candidates = [process.env.WASM_BINDGEN, join(cache, "tools", `wasm-bindgen-${version}`, "wasm-bindgen"), join(cache, "tools", `wasm-bindgen-${version}`, "bin", "wasm-bindgen"), "wasm-bindgen"];
const runs = (program) => {
  try {
    return execFileSync(program, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).includes(version);
  } catch {
    return false;
  }
};
const wasmBindgen = candidates.filter(Boolean).find(runs);
if (!wasmBindgen) throw new Error(`wasm-bindgen ${version} is not here: run \`cargo xtask dist\` once, or name it in WASM_BINDGEN`);

const run = (program, words, options = {}) => execFileSync(program, words, { cwd: root, stdio: "inherit", ...options });
run("cargo", ["build", "--locked", "--profile", "dist", "--target", "wasm32-unknown-unknown", "--package", "hushgrad-accountant"]);
const { target_directory: target } = JSON.parse(execFileSync("cargo", ["metadata", "--format-version", "1", "--no-deps"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 }));
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const wasm = join(target, "wasm32-unknown-unknown", "dist", "hushgrad_accountant.wasm");
run(wasmBindgen, ["--target", "web", "--no-typescript", "--out-name", "accountant", "--out-dir", out, wasm]);
const opt = join(cache, "tools");
const binaryen = existsSync(opt) && execFileSync("ls", [opt], { encoding: "utf8" }).split("\n").find((name) => name.startsWith("binaryen-"));
if (binaryen) {
  const program = join(out, "accountant_bg.wasm");
  const features = ["bulk-memory", "nontrapping-float-to-int", "sign-ext", "mutable-globals", "reference-types", "multivalue", "simd"];
  run("node", [join(opt, binaryen, "node_modules/binaryen/bin/wasm-opt"), "-O2", "--shrink-level=2", "--strip-producers", ...features.map((name) => `--enable-${name}`), program, "-o", program]);
}
for (const name of ["index.js", "index.d.ts", "node.js"]) cpSync(join(here, "js", name), join(out, name));
writeFileSync(join(out, "accountant.js"), `// Made by wasm-bindgen ${version}.\n${readFileSync(join(out, "accountant.js"), "utf8")}`);
console.log(`dist/accountant_bg.wasm: ${Math.round(statSync(join(out, "accountant_bg.wasm")).size / 1000)} kB`);
