import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = (name) => readFileSync(join(root, "dist", name), "utf8");
const source = readFileSync(join(root, "../../www/element.js"), "utf8");
const here = (name) => existsIn("node_modules", name);
function existsIn(...parts) {
  try {
    readFileSync(join(root, ...parts, "package.json"));
    return true;
  } catch {
    return false;
  }
}

test("the module is the site's own script, and no server falls over it", async () => {
  assert.ok(dist("hush-grad.js").startsWith(source));
  assert.equal(dist("hush-grad.classic.js"), source);
  const { HushGrad } = await import("../dist/hush-grad.js");
  assert.equal(HushGrad, undefined);
});

test("types and manifest name every attribute that the element observes", () => {
  const [{ declarations: [{ attributes, events, members, tagName }] }] = JSON.parse(dist("custom-elements.json")).modules;
  const names = attributes.map(({ name }) => name);
  assert.equal(tagName, "hush-grad");
  assert.equal(new Set(names).size, names.length);
  for (const name of ["sigma", "preset", "view", "theme", "height", "src", "lab-density", "pre-scale"]) assert.ok(names.includes(name), name);
  for (const name of names) assert.match(dist("hush-grad.d.ts"), new RegExp(`\\n  "?${name}"?\\?: `), name);
  assert.deepEqual(events.map(({ name }) => name), /const EVENTS = (\[.*?\]);/.exec(source)[1].match(/\w+/g));
  for (const { name, kind } of members) if (kind === "method") assert.match(source, new RegExp(`\\n    (async )?${name}\\(`), name);
});

test("digests are those of the files, under an address with the version in it", () => {
  const { version, files } = JSON.parse(dist("integrity.json"));
  assert.equal(version, JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version);
  for (const [name, { url, integrity }] of Object.entries(files)) {
    assert.equal(integrity, `sha384-${createHash("sha384").update(dist(name)).digest("base64")}`);
    assert.ok(url.includes(`@${version}/`) && url.endsWith(name));
  }
  assert.ok(files["hush-grad.classic.js"]);
});

test("npm packs what package.json exports", () => {
  const [{ files }] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  const packed = files.map(({ path }) => path);
  const named = (value) => (typeof value === "string" ? [value] : Object.values(value).flatMap(named));
  const { exports, main, types, customElements } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const path of [...named(exports), main, types, customElements]) assert.ok(packed.includes(path.replace("./", "")), path);
  assert.ok(packed.includes("README.md") && packed.includes("LICENSE-MIT"));
  assert.ok(!packed.some((path) => /test|build\.mjs|src\//.test(path)), String(packed));
});

test("React renders the element on a server, and passes attributes on", { skip: !here("react-dom") && "npm install brings react" }, async () => {
  const { createElement } = await import("react");
  const { renderToString } = await import("react-dom/server");
  const { HushGrad } = await import("../dist/react.js");
  const html = renderToString(createElement(HushGrad, { preset: "cpu", sigma: 1.5, className: "wide", onStep() {} }, "A live run."));
  assert.equal(html, '<hush-grad preset="cpu" sigma="1.5" class="wide">A live run.</hush-grad>');
});

test("the types hold", { skip: !here("typescript") && "npm install brings typescript" }, () => {
  const folder = mkdtempSync(join(tmpdir(), "hush-grad-types-"));
  try {
    const file = join(folder, "use.tsx");
    writeFileSync(file, `
      import { HushGrad as Element } from "${join(root, "dist/hush-grad.js")}";
      import { HushGrad } from "${join(root, "dist/react.js")}";
      const element = document.querySelector("hush-grad")!;
      element.addEventListener("step", ({ detail }) => { const step: number | undefined = detail.step; void step; });
      element.setState({ sigma: 2 }).then(({ query }) => query.length);
      Element.site = "https://example.org/";
      export const page = HushGrad({ preset: "cpu", "pre-scale": 1, onError: ({ message }) => message.length });
      // @ts-expect-error: no such attribute.
      export const wrong = HushGrad({ sgima: 2 });
    `);
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "--typeRoots", join(root, "node_modules/@types"), "--types", "react", file], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    assert.fail(String(error.stdout || error));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
