import { execFileSync } from "node:child_process";
import { test as base, expect, type Download, type Page, type Worker } from "@playwright/test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { serve, type Site } from "./server";

export { expect };

/** What other tools rely on; each is a `data-testid` of the page. */
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

/** What a page did behind its own back. */
export interface Watched {
  /** Errors on the console, of the page and of its threads, and exceptions that nobody caught. */
  errors: string[];
  /** Errors that are provoked; all others fail the test. They may come late, so they are allowed before, and not forgotten after. */
  allowed: RegExp[];
  /** Addresses of all requests, `data:` and `blob:` left out. */
  requests: string[];
}

interface TestFixtures {
  watched: Watched;
  /** Errors that all tests of a file provoke. */
  allowed: RegExp[];
}
interface WorkerFixtures {
  site: Site;
}

/** Every test: no error on the console but those allowed, and no request to anywhere but the page's own origin. */
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
  watched: [
    async ({ page, context, site, allowed }, use) => {
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

/** Whether a test is for `cargo xtask test --shipped` alone: it shows on another engine, at another width or of another draw what one beside it shows. */
export const long = (is = true) => ({ tag: is ? "@long" : [] });

/** The element of a hook. */
export const hook = (page: Page, name: Hook) => page.getByTestId(name);

/** What the native tool computes from a ledger's file, at the page's first δ. */
export function account(file: string): { tight: { value: number }; improved: { epsilon: number } } {
  const tool = process.env.HUSHGRAD_NATIVE;
  if (!tool) throw new Error("HUSHGRAD_NATIVE must name the native tool, target/debug/hushgrad");
  return JSON.parse(execFileSync(tool, ["account", "--json", "--delta", "1e-5", file], { encoding: "utf8" }));
}

/** The tight bound that the page shows large; NaN while it shows another. */
export async function tight(page: Page): Promise<number> {
  const text = await page.getByTestId("epsilon").getAttribute("data-tight");
  return text ? Number(text) : NaN;
}

/** What the settings will cost, once both bounds are there: each comes when its computation is done. */
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

/** The accountant's thread of a page that is open. */
export async function accountant(page: Page): Promise<Worker> {
  const find = () => page.workers().find((worker) => /\/accountant[^/]*$/.test(worker.url()));
  await expect.poll(() => find() !== undefined).toBe(true);
  return find()!;
}

/** Keeps the accountant's thread from the page's next questions for three seconds; then it goes on, or fails. */
export async function distracted(page: Page, failure?: string) {
  await (await accountant(page)).evaluate((failure) => void setTimeout(() => {
    for (const end = Date.now() + 3_000; Date.now() < end;);
    if (failure) throw new Error(failure);
  }), failure);
}

/** On a phone, shows what is seldom wanted of header and transport. */
export async function allControls(page: Page) {
  const more = page.getByTestId("more");
  if ((await more.isVisible()) && (await more.getAttribute("aria-expanded")) === "false") await more.click();
}

/** Presses an item of the menu *Share*, by its hook. */
export async function share(page: Page, item: "share" | "share-code" | "hand-in" = "share", within?: { timeout: number }) {
  await allControls(page);
  await page.getByTestId("share-menu").click(within);
  await page.getByTestId(item).click(within);
}

/** What an item of the export menu saves: so many files. */
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

/**
 * How much slower a core is just now than the one that the limits are for, and at least 1: other work on the machine,
 * and other machines on the same cores, are not the page's.
 */
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
 * How many milliseconds the page itself takes from now until the element of this hook says something else than it does, which
 * has `text` in it: begun before what brings it about, awaited after, and free of how often a test asks and of other work on the machine.
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
 * Pauses, and waits until what was under way is done and shown. The training thread answers in order, so the ledger that it
 * gives out after the pause has the run's last step: a pause between two equal numbers proves nothing on a slow engine.
 */
export async function paused(page: Page): Promise<{ step: number; ledger: string }> {
  await hook(page, "pause").click();
  return rested(page);
}

/** Waits until what was done so far is written, and gives the ledger's file: the training thread answers in order. */
export async function written(page: Page): Promise<string> {
  const [file] = await exported(page, "Privacy ledger (JSON)");
  return file.path();
}

/** The same as {@link paused} of a run that stands still already. */
export async function rested(page: Page): Promise<{ step: number; ledger: string }> {
  const ledger = await written(page);
  const { events } = JSON.parse(readFileSync(ledger, "utf8")) as { events: { count: number }[] };
  const step = events.reduce((sum, event) => sum + event.count, 0);
  await expect.poll(() => value(page, "step")).toBe(step);
  return { step, ledger };
}

/** Has the site's page come as `edit` makes it. */
export const edited = (page: Page, site: Site, edit: (html: string) => string) =>
  page.route((url) => url.href.split(/[?#]/)[0] === site.url, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: edit(await response.text()) });
  });

/** Waits until a run has come to its end at this step, and shows what it has learned. */
export const measured = (page: Page, step: number) => expect(page.locator("p.visually-hidden[role=status]")).toContainText(`complete at step ${step}: `);

/** Waits until the accountant has answered and charts are drawn: what the page shows stays. */
export const idle = (page: Page) => expect(page.locator("html")).not.toHaveAttribute("data-busy");

/** Waits until whatever the training thread was asked would have begun, and what it tells of that would be shown. */
export async function quiet(page: Page) {
  for (let turn = 0; turn < 5; turn++) {
    await thread(page).evaluate(() => new Promise((done) => void setTimeout(done)));
    await idle(page);
  }
}

/** Opens the page and waits until its training thread has chosen its engine and all files and digits are there; prices may still come ({@link idle}). */
export async function open(page: Page, site: Site, query = "") {
  await page.goto(site.url + query);
  await expect(hook(page, "backend")).toHaveText(/CPU|WebGPU/i);
  await expect(page.getByTestId("digits-in-use")).toContainText(/to train on|zum Trainieren/);
  await expect(page.getByRole("progressbar", { name: "Loading digits" })).toHaveCount(0);
}

/** Waits until what a visit without a network needs is kept. */
export const installed = (page: Page) =>
  expect.poll(() => page.evaluate(async () => !!(await navigator.serviceWorker.getRegistration())?.active)).toBe(true);

/**
 * Every notice that the page says from its next load on, in order: each is shown in the place of the one before, and an act of the
 * visitor may take it away.
 */
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

/** The threads that help the training thread to compute. */
export const helpers = (page: Page): Worker[] => page.workers().filter((worker) => worker.url().endsWith("#helper"));

/** The training thread of a page that is open. */
export const thread = (page: Page): Worker => {
  const found = page.workers().filter((worker) => /\/worker[^/#]*$/.test(worker.url()));
  if (found.length === 0) throw new Error("there is no training thread");
  return found[found.length - 1];
};

/** Puts `code` in front of the training thread's program. */
export async function beforeThread(page: Page, code: string) {
  await page.route(/\/worker(-relaxed)?(-[0-9a-f]+)?\.js$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: code + (await response.text()) });
  });
}

/** Opens the page on WebGPU; the thread's device is kept where the test can end it. */
export async function openOnGpu(page: Page, site: Site, more = "") {
  await beforeThread(
    page,
    `const ask = GPUAdapter.prototype.requestDevice;
     GPUAdapter.prototype.requestDevice = async function (...how) { return (globalThis.lastDevice = await ask.apply(this, how)); };\n`,
  );
  await open(page, site, `?backend=gpu&dataset=synthetic&lot=64${more}`);
  test.skip((await hook(page, "backend").textContent()) !== "WebGPU", "this build has no WebGPU engine, or no adapter was found");
}

/** Ends the device that {@link openOnGpu} has kept, and waits until the browser has told the thread. */
export const loseDevice = (page: Page) =>
  thread(page).evaluate(async () => {
    const { lastDevice } = globalThis as unknown as { lastDevice: { destroy(): void; lost: Promise<unknown> } };
    lastDevice.destroy();
    await lastDevice.lost;
  });

/** Where this site's runs are kept: the database has the site's path in its name. */
export const database = (page: Page) => page.evaluate(() => "hushgrad" + new URL(".", location.href).pathname);

/** The rows of the list of earlier runs. */
export const rows = (page: Page) =>
  page.getByTestId("runs").getByRole("row").filter({ has: page.getByRole("textbox") });

/** How many releases each earlier run's books count, oldest first. */
export async function counted(page: Page): Promise<number[]> {
  const cells = await rows(page).locator("td:nth-child(3)").allTextContents();
  return cells.reverse().map((text) => Number((/\((.+) counted\)/.exec(text)?.[1] ?? text).replace(/\D/g, "")));
}
