import type { Page } from "@playwright/test";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { around, hosted, inside, within } from "./around";
import { expect, test } from "./fixtures";
import type { Site } from "./server";

// The packages and the examples as others use them, built by their own tools.

const ROOT = resolve("../..");
const EXAMPLES = join(ROOT, "examples/embed");
const ELEMENT = join(ROOT, "packages/element");
/** A Python with MkDocs, nbconvert and what the package needs. */
const PYTHON = process.env.HUSHGRAD_PYTHON;
/** A folder with Docusaurus, which is large. */
const DOCUSAURUS = process.env.HUSHGRAD_DOCUSAURUS;
const addressed = (path: string, site: Site) => writeFileSync(path, readFileSync(path, "utf8").replaceAll("https://hushgrad.example/", site.url));
const trains = async (page: Page, n = 0) => {
  await inside(page, n).locator("#poster").click();
  await expect(inside(page, n).getByTestId("step")).not.toHaveAttribute("data-value", "0");
};

test("the npm package works as a module with a chosen site, and as a script with a digest", async ({ browser, site }) => {
  execFileSync("node", [join(ELEMENT, "build.mjs")]);
  // Its own tests; those of React and of types need `npm install`, and are skipped without it.
  execFileSync("node", ["--test", "test/"], { cwd: ELEMENT, stdio: "pipe" });
  const { files } = JSON.parse(readFileSync(join(ELEMENT, "dist/integrity.json"), "utf8"));
  await within(async (folder) => {
    cpSync(join(ELEMENT, "dist"), join(folder, "dist"), { recursive: true });
    writeFileSync(join(folder, "index.html"), `<!doctype html><title>host</title><div id="here"></div><script type="module">
      import { HushGrad } from "./dist/hush-grad.js";
      HushGrad.site = "${site.url}";
      document.title = HushGrad === customElements.get("hush-grad") ? "the element" : "another";
      document.getElementById("here").innerHTML = '<hush-grad preset="cpu" dataset="synthetic" backend="cpu" poster="1"></hush-grad>';
    </script>`);
    writeFileSync(join(folder, "classic.html"), `<!doctype html><title>host</title>
      <script src="dist/hush-grad.classic.js" integrity="${files["hush-grad.classic.js"].integrity}" crossorigin="anonymous"></script>
      <hush-grad src="${site.url}" preset="cpu" dataset="synthetic" backend="cpu" poster="1"></hush-grad>`);
    await hosted(browser, folder, "", async (page) => {
      await expect(page).toHaveTitle("the element");
      await trains(page);
    });
    await hosted(browser, folder, "classic.html", (page) => trains(page));
  });
});

test("the accountant's npm package computes the same ε in a browser as in Node", { tag: "@packages" }, async ({ browser }) => {
  const dist = join(ROOT, "packages/accountant/dist");
  test.skip(!existsSync(join(dist, "accountant_bg.wasm")), "packages/accountant is not built (node build.mjs)");
  await within(async (folder) => {
    cpSync(dist, join(folder, "dist"), { recursive: true });
    writeFileSync(join(folder, "index.html"), `<!doctype html><title>host</title>
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; connect-src 'self'">
      <script type="module">
        import { load, release } from "./dist/index.js";
        const accountant = await load();
        const step = release({ rate: 256 / 60000, noiseMultiplier: 1.1 });
        document.title = accountant.account([{ release: step, count: 3515 }], { delta: 1e-5 }).epsilon.toFixed(3);
      </script>`);
    await hosted(browser, folder, "", (page) => expect(page).toHaveTitle("1.134"));
  });
});

test("the Python widget's script shows a frame, applies settings, plays and reports", async ({ browser, site }) => {
  const source = readFileSync(join(ROOT, "packages/python/src/hushgrad/widget.py"), "utf8");
  const render = /RENDER = """([\s\S]*?)"""/.exec(source)![1];
  await within(async (folder) => {
    writeFileSync(join(folder, "widget.js"), readFileSync(join(ROOT, "www/element.js"), "utf8") + render);
    // As anywidget loads it, from a module without an address.
    writeFileSync(join(folder, "index.html"), `<!doctype html><title>host</title><div id="cell"></div><script type="module">
      const { default: widget } = await import(URL.createObjectURL(await (await fetch("widget.js")).blob().then((blob) => new Blob([blob], { type: "text/javascript" }))));
      const ears = {};
      const values = { site: "${site.url}", settings: { preset: "cpu", dataset: "synthetic", backend: "cpu", controls: "sigma" }, state: {} };
      self.saved = [];
      self.model = {
        get: (name) => values[name],
        set: (name, value) => (values[name] = value),
        save_changes: () => saved.push({ ...values }),
        on: (name, hear) => (ears[name] = hear),
        off: (name) => delete ears[name],
        change: (settings) => { values.settings = settings; ears["change:settings"](); },
        message: (message) => ears["msg:custom"](message),
      };
      self.end = widget.render({ model, el: document.getElementById("cell") });
    </script>`);
    await hosted(browser, folder, "", async (page) => {
      type Hosted = typeof globalThis & { model: { change(settings: object): void; message(message: object): void }; saved: { state: { step?: number }; problem?: string }[]; end(): void };
      await expect(inside(page).getByTestId("noise-scale")).toBeVisible();
      await page.evaluate(() => (self as Hosted).model.change({ preset: "cpu", dataset: "synthetic", backend: "cpu", controls: "sigma", sigma: "2.5" }));
      await expect(inside(page).getByTestId("noise-scale")).toHaveValue("2.5");
      await page.evaluate(() => (self as Hosted).model.message({ type: "play" }));
      await expect.poll(() => page.evaluate(() => (self as Hosted).saved.at(-1)?.state.step ?? 0)).toBeGreaterThan(0);
      await page.evaluate(() => (self as Hosted).model.change({ preset: "cpu", dataset: "synthetic", backend: "cpu", controls: "sigma", sigma: "-1" }));
      await expect.poll(() => page.evaluate(() => (self as Hosted).saved.at(-1)?.problem)).toContain("Noise scale must be");
      await page.evaluate(() => (self as Hosted).end());
      await expect(page.locator("hush-grad")).toHaveCount(0);
    });
  });
});

test("the Python package passes its own tests, and both distributions are built", { tag: "@packages" }, () => {
  test.skip(!PYTHON, "HUSHGRAD_PYTHON names no Python with anywidget, pytest, build and hatchling");
  const said = execFileSync(PYTHON!, ["-m", "pytest", "-q", "-p", "no:cacheprovider"], { cwd: join(ROOT, "packages/python"), encoding: "utf8" });
  expect(said).toMatch(/\d+ passed/);
  expect(said).not.toMatch(/skipped|failed/);
});

test("the MkDocs example trains, and is readable without scripts", { tag: "@packages" }, async ({ browser, site }) => {
  test.skip(!PYTHON, "HUSHGRAD_PYTHON names no Python with MkDocs");
  await within(async (folder) => {
    cpSync(join(EXAMPLES, "mkdocs"), folder, { recursive: true });
    for (const file of ["mkdocs.yml", "docs/index.md"]) addressed(join(folder, file), site);
    execFileSync(PYTHON!, ["-m", "mkdocs", "build", "--quiet", "--strict"], { cwd: folder, stdio: "pipe" });
    await hosted(browser, join(folder, "site"), "", async (page) => {
      await expect(page.getByRole("link", { name: "The run in the playground" })).toBeHidden();
      await trains(page);
      await expect(inside(page).getByTestId("noise-family")).toBeVisible();
    });
    await hosted(browser, join(folder, "site"), "", async (page) => {
      await expect(page.getByRole("link", { name: "The run in the playground" })).toHaveAttribute("href", `${site.url}?preset=cpu&dataset=synthetic`);
      await expect(page.getByRole("link", { name: "The run in the playground" })).toBeVisible();
    }, { context: { javaScriptEnabled: false } });
  });
});

test("the Jupyter example, executed and exported, trains in its frame and has its widget", { tag: "@packages" }, async ({ browser, site }) => {
  test.skip(!PYTHON, "HUSHGRAD_PYTHON names no Python with nbconvert");
  await within(async (folder) => {
    const notebook = join(folder, "private-run.ipynb");
    cpSync(join(EXAMPLES, "jupyter/private-run.ipynb"), notebook);
    addressed(notebook, site);
    const env = { ...process.env, PYTHONPATH: join(ROOT, "packages/python/src"), JUPYTER_CONFIG_DIR: folder, JUPYTER_DATA_DIR: folder, IPYTHONDIR: folder };
    execFileSync(PYTHON!, ["-m", "nbconvert", "--to", "html", "--execute", "--ExecutePreprocessor.kernel_name=python3", "--output", "index.html", notebook], { cwd: folder, stdio: "pipe", env });
    const html = readFileSync(join(folder, "index.html"), "utf8");
    const state = JSON.parse(/<script type="application\/vnd.jupyter.widget-state\+json">([\s\S]*?)<\/script>/.exec(html)![1]);
    const models = Object.values(state.state) as { state: { site?: string; settings?: Record<string, string> } }[];
    expect(models.find((model) => model.state.site)?.state).toMatchObject({ site: site.url, settings: { preset: "cpu", sigma: "2" } });
    // Tests fetch nothing from elsewhere, and the frame does not need it.
    const alone = html.replace(/<script[^>]*src="https?:[^"]*"[^>]*><\/script>/g, "");
    await around(browser, alone, async (page) => {
      await page.locator("iframe").first().scrollIntoViewIfNeeded();
      await trains(page);
    });
  });
});

test("the Docusaurus example trains, and follows the page's theme", { tag: "@packages" }, async ({ browser, site }) => {
  test.skip(!DOCUSAURUS, "HUSHGRAD_DOCUSAURUS names no folder in which the example's packages are installed");
  await within(async (folder) => {
    cpSync(join(EXAMPLES, "docusaurus"), folder, { recursive: true });
    symlinkSync(join(DOCUSAURUS!, "node_modules"), join(folder, "node_modules"));
    addressed(join(folder, "src/components/HushGrad.jsx"), site);
    execFileSync("node", [join(DOCUSAURUS!, "node_modules/@docusaurus/core/bin/docusaurus.mjs"), "build", "--out-dir", "site"], { cwd: folder, stdio: "pipe", env: { ...process.env, CI: "1" } });
    await hosted(browser, join(folder, "site"), "", async (page) => {
      await trains(page);
      const theme = () => page.evaluate(() => document.documentElement.dataset.theme!);
      await expect(inside(page).locator("html")).toHaveAttribute("data-theme", await theme());
      await page.evaluate(() => (document.documentElement.dataset.theme = "dark"));
      await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "dark");
    });
  });
});
