// Compiles the accountant to WebAssembly and assembles the package in dist/. Needs cargo with the
// wasm32 target.
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

const run = (program, words, options = {}) => execFileSync(program, words, { cwd: root, stdio: "inherit", ...options });
run("cargo", ["build", "--locked", "--profile", "dist", "--target", "wasm32-unknown-unknown", "--package", "hushgrad-accountant"]);
const { target_directory: target } = JSON.parse(execFileSync("cargo", ["metadata", "--format-version", "1", "--no-deps"], { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 }));
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const wasm = join(target, "wasm32-unknown-unknown", "dist", "hushgrad_accountant.wasm");
run("cargo", ["xtask", "bind", wasm, "accountant", out]);
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
