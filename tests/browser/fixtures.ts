import { execFileSync } from "node:child_process";
import { test as base, expect, type BrowserContext, type Download, type Page, type Worker } from "@playwright/test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { serve, type Site } from "./server";

export { expect };

/** Stable hooks for other tools; each is a `data-testid` of the page. */
export const HOOKS = [
  "play",
  "pause",
  "step-once",
  "reset",
  "step",
  "accuracy",
  "epsilon",
  "backend",
  "dataset",
  "model",
  "noise-family",
  "noise-scale",
  "encoder",
  "denoiser",
  "lot",
  "learning-rate",
  "delta",
  "error",
] as const;
export type Hook = (typeof HOOKS)[number];

/** What was observed of a page during a test. */
export interface Watched {
  /** Console errors of the page and its threads, and uncaught exceptions. */
  errors: string[];
  /** Provoked errors; all others fail the test. Allow them beforehand: they may come late. */
  allowed: RegExp[];
  /** Addresses of all requests, except `data:` and `blob:`. */
  requests: string[];
}

interface TestFixtures {
  watched: Watched;
  /** Errors that all tests of a file provoke. */
  allowed: RegExp[];
  /** Whether the settings are open from the start, as they stay for a visitor who opened them; a phone closes them. */
  settings: boolean;
}
interface WorkerFixtures {
  site: Site;
}

/** Every test fails on a console error that is not allowed and on a request to another origin. */
export const test = base.extend<TestFixtures, WorkerFixtures>({
  site: [
    async ({}, use) => {
      const site = await serve(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"));
      await use(site);
      await site.close();
    },
    { scope: "worker" },
  ],
  allowed: [[], { option: true }],
  settings: [true, { option: true }],
  watched: [
    async ({ page, context, site, allowed, settings }, use) => {
      // A sandboxed frame has no storage.
      if (settings) await context.addInitScript(() => { try { sessionStorage.setItem("hushgrad-settings", ""); } catch {} });
      const watched: Watched = { errors: [], allowed: [...allowed], requests: [] };
      context.on("request", (request) => {
        if (!/^(data|blob):/.test(request.url())) watched.requests.push(request.url());
      });
      context.on("console", (message) => {
        if (message.type() === "error") watched.errors.push(`${message.text()} (${message.location().url})`);
      });
      context.on("weberror", (error) => watched.errors.push(String(error.error())));
      page.on("crash", () => watched.errors.push("the page crashed"));
      await use(watched);
      site.missing.clear();
      site.held.clear();
      const elsewhere = watched.requests.filter((url) => !url.startsWith(`${site.origin}/`));
      expect(elsewhere, "requests that leave the page's origin").toEqual([]);
      const unexpected = watched.errors.filter((error) => !watched.allowed.some((pattern) => pattern.test(error)));
      expect(unexpected, "errors on the console").toEqual([]);
    },
    { auto: true },
  ],
});

/** Tags a variant (engine, width or random draw) that only `cargo xtask test --shipped` runs. */
export const long = (is = true) => ({ tag: is ? "@long" : [] });

/** The element of a hook. */
export const hook = (page: Page, name: Hook) => page.getByTestId(name);

/** Runs the native tool on a ledger's file, at the page's default δ. */
export function account(file: string): { tight: { value: number }; improved: { epsilon: number } } {
  const tool = process.env.HUSHGRAD_NATIVE;
  if (!tool) throw new Error("HUSHGRAD_NATIVE must name the native tool, target/debug/hushgrad");
  return JSON.parse(execFileSync(tool, ["account", "--json", "--delta", "1e-5", file], { encoding: "utf8" }));
}

/** The tight ε of the page's headline; NaN while it shows another bound. */
export async function tight(page: Page): Promise<number> {
  const text = await page.getByTestId("epsilon").getAttribute("data-tight");
  return text ? Number(text) : NaN;
}

/** Returns the projected cost, once both bounds have been computed. */
export async function projected(page: Page): Promise<string> {
  const projection = page.getByTestId("projection");
  await expect(projection).toContainText(/ε ≤ \d[^]*tight accounting: ε ≤ \d/);
  return (await projection.textContent())!;
}

/** The bare number that `step`, `accuracy` and `epsilon` carry; NaN while they carry none. */
export async function value(page: Page, name: "step" | "accuracy" | "epsilon"): Promise<number> {
  const text = await hook(page, name).getAttribute("data-value");
  return text === null || text === "" ? NaN : Number(text);
}

/** The accountant's thread of an open page. */
export async function accountant(page: Page): Promise<Worker> {
  const find = () => page.workers().find((worker) => /\/accountant[^/]*$/.test(worker.url()));
  await expect.poll(() => find() !== undefined).toBe(true);
  return find()!;
}

/** Blocks the accountant's thread for three seconds; then it continues, or throws `failure`. */
export async function distracted(page: Page, failure?: string) {
  await (await accountant(page)).evaluate((failure) => void setTimeout(() => {
    for (const end = Date.now() + 3_000; Date.now() < end;);
    if (failure) throw new Error(failure);
  }), failure);
}

/** Opens the settings, if they are closed. */
export async function settings(page: Page) {
  const opener = page.getByTestId("settings");
  if ((await opener.isVisible()) && (await opener.getAttribute("aria-expanded")) === "false") await opener.click();
}

/** Chooses a preset. */
export async function choose(page: Page, preset: string) {
  await page.getByTestId("preset").click();
  await page.getByTestId(`card-${preset}`).click();
}

/** Shows the less used controls of the header and, on a phone, of the transport. */
export async function allControls(page: Page) {
  const more = page.getByTestId("more");
  if ((await more.isVisible()) && (await more.getAttribute("aria-expanded")) === "false") await more.click();
}

/** Chooses a theme or a language. */
export async function prefer(page: Page, what: "theme" | "language", value: string) {
  await allControls(page);
  await page.getByTestId(what).selectOption(value);
}

/** Clicks an item of the *Share* menu, by its hook. */
export async function share(page: Page, item: "share" | "share-code" | "hand-in" = "share", within?: { timeout: number }) {
  await allControls(page);
  await page.getByTestId("share-menu").click(within);
  await page.getByTestId(item).click(within);
}

/** Exports by a menu item and returns the `count` files that it saves. */
export async function exported(page: Page, item: string, count = 1): Promise<Download[]> {
  const files: Download[] = [];
  const take = (file: Download) => void files.push(file);
  page.on("download", take);
  await allControls(page);
  await page.getByTestId("export").locator("summary").click();
  await page.getByTestId("export").getByText(item).click();
  await expect.poll(() => files.length).toBe(count);
  page.off("download", take);
  return files;
}

/** How much slower a core is now, through other load, than the limits assume; at least 1. */
export async function pace(page: Page): Promise<number> {
  const sum = () => {
    const before = performance.now();
    let h = 1;
    for (let i = 0; i < 1e8; i++) h = Math.imul(h ^ i, 0x01000193);
    (window as { h?: number }).h = h;
    return performance.now() - before;
  };
  return Math.max(1, (await page.evaluate(sum)) / 200);
}

/**
 * Returns the milliseconds until the text of this hook's element changes to one with `text`. Call
 * it before the triggering action and await it afterwards. Neither polling nor other load counts.
 */
export async function answered(page: Page, name: string, text: string): Promise<number> {
  const time = await page.evaluate(
    ([name, text]) =>
      new Promise<number>((done) => {
        const said = () => document.querySelector(`[data-testid="${name}"]`)?.textContent ?? "";
        const [before, start] = [said(), performance.now()];
        const seen = new MutationObserver(() => {
          if (said() === before || !said().includes(text)) return;
          seen.disconnect();
          done(performance.now() - start);
        });
        seen.observe(document.body, { subtree: true, childList: true, characterData: true });
      }),
    [name, text] as const,
  );
  return time / (await pace(page));
}

/**
 * Pauses, and waits until everything under way is done and shown. The training thread answers in
 * order, so a ledger exported after the pause has the last step; on a slow engine, two equal step
 * numbers prove nothing.
 */
export async function paused(page: Page): Promise<{ step: number; ledger: string }> {
  await hook(page, "pause").click();
  return rested(page);
}

/** Waits until all is saved, as the training thread answers in order; returns the ledger's file. */
export async function written(page: Page): Promise<string> {
  const [file] = await exported(page, "Privacy ledger (JSON)");
  return file.path();
}

/** As {@link paused}, for a run that is already at rest. */
export async function rested(page: Page): Promise<{ step: number; ledger: string }> {
  const ledger = await written(page);
  const { events } = JSON.parse(readFileSync(ledger, "utf8")) as { events: { count: number }[] };
  const step = events.reduce((sum, event) => sum + event.count, 0);
  await expect.poll(() => value(page, "step")).toBe(step);
  return { step, ledger };
}

/** Serves the site's page as changed by `edit`. */
export const edited = (page: Page, site: Site, edit: (html: string) => string) =>
  page.route((url) => url.href.split(/[?#]/)[0] === site.url, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: edit(await response.text()) });
  });

/** Waits until a run has ended at this step and its result is shown. */
export const measured = (page: Page, step: number) => expect(page.locator("p.visually-hidden[role=status]")).toContainText(`complete at step ${step}: `);

/** Waits until the accountant has answered and the charts are drawn. */
export const idle = (page: Page) => expect(page.locator("html")).not.toHaveAttribute("data-busy");

/** Waits until any pending request to the training thread would have begun and been shown. */
export async function quiet(page: Page) {
  for (let turn = 0; turn < 5; turn++) {
    await thread(page).evaluate(() => new Promise((done) => void setTimeout(done)));
    await idle(page);
  }
}

/** Opens the page and waits for its engine, files and digits; prices may follow ({@link idle}). */
export async function open(page: Page, site: Site, query = "") {
  await page.goto(site.url + query);
  await expect(hook(page, "backend")).toHaveText(/CPU|WebGPU/i);
  await expect(page.getByTestId("digits-in-use")).toContainText(/to train on|zum Trainieren/);
  await expect(page.getByRole("progressbar", { name: "Loading digits", includeHidden: true })).toHaveCount(0);
}

/** Waits until the files for an offline visit are cached. */
export const installed = (page: Page) =>
  expect.poll(() => page.evaluate(async () => !!(await navigator.serviceWorker.getRegistration())?.active)).toBe(true);

/** Collects every notice from the next load on, in order, as each soon gives way to another. */
export async function noticed(page: Page): Promise<string[]> {
  const notices: string[] = [];
  await page.exposeFunction("noticed", (text: string) => void notices.push(text));
  await page.addInitScript(() => {
    let last: Element | null = null;
    new MutationObserver(() => {
      const notice = document.querySelector("[data-testid=notice]");
      if (notice && notice !== last) (window as unknown as { noticed(text: string): void }).noticed(notice.textContent ?? "");
      last = notice;
    }).observe(document, { childList: true, subtree: true });
  });
  return notices;
}

/** The helper threads of the training thread. */
export const helpers = (page: Page): Worker[] => page.workers().filter((worker) => worker.url().endsWith("#helper"));

/** The training thread of an open page. */
export const thread = (page: Page): Worker => {
  const found = page.workers().filter((worker) => /\/worker[^/#]*$/.test(worker.url()));
  if (found.length === 0) throw new Error("there is no training thread");
  return found[found.length - 1];
};

/** Runs `code` before the program of the training thread, or of others whose script is named so. */
export async function beforeThread(page: Page | BrowserContext, code: string, script = /\/worker(-relaxed)?(-[0-9a-f]+)?\.js$/) {
  await page.route(script, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: code + (await response.text()) });
  });
}

/** Run before a program: keeps its memory for {@link programBytes}. */
export const KEEP_MEMORY = `for (const how of ["instantiate", "instantiateStreaming"]) {
  const make = WebAssembly[how];
  WebAssembly[how] = async (...what) => {
    const made = await make.apply(WebAssembly, what);
    globalThis.memory = (made.instance ?? made).exports.memory;
    return made;
  };
}\n`;

/** Bytes of a program's memory, evaluated in its page or thread. */
export const programBytes = () => (globalThis as { memory?: WebAssembly.Memory }).memory?.buffer.byteLength ?? 0;

/** Opens the page on WebGPU and keeps the thread's device, so that the test can destroy it. */
export async function openOnGpu(page: Page, site: Site, more = "") {
  await beforeThread(
    page,
    `const ask = GPUAdapter.prototype.requestDevice;
     GPUAdapter.prototype.requestDevice = async function (...how) { return (globalThis.lastDevice = await ask.apply(this, how)); };\n`,
  );
  await open(page, site, `?backend=gpu&dataset=synthetic&lot=64${more}`);
  test.skip((await hook(page, "backend").textContent()) !== "WebGPU", "this build has no WebGPU engine, or no adapter was found");
}

/** Destroys the device kept by {@link openOnGpu} and waits until the thread is told. */
export const loseDevice = (page: Page) =>
  thread(page).evaluate(async () => {
    const { lastDevice } = globalThis as unknown as { lastDevice: { destroy(): void; lost: Promise<unknown> } };
    lastDevice.destroy();
    await lastDevice.lost;
  });

/** The name of this site's database of runs, which contains the site's path. */
export const database = (page: Page) => page.evaluate(() => "hushgrad" + new URL(".", location.href).pathname);

/** The rows of the list of earlier runs. */
export const rows = (page: Page) =>
  page.getByTestId("runs").getByRole("row").filter({ has: page.getByRole("textbox") });

/** The number of releases in each earlier run's books, oldest first. */
export async function counted(page: Page): Promise<number[]> {
  const cells = await rows(page).locator("td:nth-child(3)").allTextContents();
  return cells.reverse().map((text) => Number((/\((.+) charged\)/.exec(text)?.[1] ?? text).replace(/\D/g, "")));
}
