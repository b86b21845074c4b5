import type { ElementHandle, Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { expect, hook, long, noticed, rows, test, thread, value, written } from "./fixtures";

/** Default numbers of actions; `tests/agent/monkey.rs` makes thousands of requests natively. */
const ACTIONS = { cpu: 60, webgpu: 250 };
const SEED = Number(process.env.HUSHGRAD_MONKEY_SEED ?? 1);
/** Not pressed: they save files, open a picker, leave the page or change the language. */
const LEFT_ALONE = 'a[href], input[type="file"], [data-testid="export"] *, [data-testid="open-file"], [data-testid="language"], [disabled], [aria-disabled="true"]';

/** A seeded generator of numbers from 0 to 1 (mulberry32). */
function seeded(seed: number) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Texts for fields: numbers at and beyond their limits, and texts that are no number. */
const TEXTS = ["0", "1", "-1", "3", "64", "1.5", "1e-300", "1e300", "1e39", "0.0001", "NaN", "Infinity", "", "abc", "1/(1+x^4)", "60000", "½", "9".repeat(400)];
const KEYS = ["Space", "Enter", "Escape", "Tab", "ArrowRight", "ArrowUp", "Home", "End", "s", "r", "?"];

/** The run as the page shows it: step, ε (NaN while there is none), and all settings. */
interface Shown {
  step: number;
  epsilon: number;
  set: string;
}

async function shown(page: Page): Promise<Shown> {
  return page.evaluate(() => {
    const read = (name: string) => {
      const text = document.querySelector(`[data-testid="${name}"]`)?.getAttribute("data-value");
      return text ? Number(text) : NaN;
    };
    const fields = document.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select");
    return { step: read("step"), epsilon: read("epsilon"), set: [...fields].map((field) => `${field.value} ${(field as HTMLInputElement).checked}`).join("|") };
  });
}

/** Performs a random action of a visitor and returns its description. */
async function act(page: Page, random: () => number): Promise<string> {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)];
  const dice = random();
  if (dice < 0.06) {
    await page.keyboard.press(pick(KEYS));
    return "a key";
  }
  if (dice < 0.09) {
    await page.setViewportSize(pick([{ width: 390, height: 844 }, { width: 1440, height: 900 }, { width: 1920, height: 1080 }]));
    return "another size";
  }
  if (dice < 0.3) {
    const name = pick(["play", "pause", "step-once", "play"] as const);
    const button = hook(page, name);
    if (!(await button.isEnabled())) return `${name}, which rests`;
    // A click on a covered button is skipped.
    await button.click({ timeout: 1_000 }).catch(() => {});
    return name;
  }
  const elements = await page.$$("button, summary, select, input, textarea, canvas, [role=slider], [role=tab]");
  const able: ElementHandle<HTMLElement>[] = [];
  for (const element of elements) able.push(element as ElementHandle<HTMLElement>);
  const element = pick(able);
  if (!element) return "nothing";
  const what = await element.evaluate((element, leftAlone) => {
    const box = element.getBoundingClientRect();
    if (element.matches(leftAlone) || element.closest(leftAlone) || box.width === 0) return null;
    const kind = element.tagName === "INPUT" ? (element as HTMLInputElement).type : element.tagName.toLowerCase();
    return { kind, name: (element.getAttribute("data-testid") ?? element.getAttribute("aria-label") ?? element.textContent ?? "").slice(0, 40) };
  }, LEFT_ALONE);
  if (!what) return "nothing";
  const text = pick(TEXTS);
  const part = random();
  // Dispatches the events of real input, but does not wait for animations to end.
  await element.evaluate((element, [text, part]) => {
    const say = (...names: string[]) => names.forEach((name) => element.dispatchEvent(new Event(name, { bubbles: true })));
    if (element instanceof HTMLSelectElement) {
      element.selectedIndex = Math.floor(part * element.options.length);
      say("input", "change");
    } else if (element instanceof HTMLInputElement && element.type === "range") {
      element.value = String(Number(element.min) + part * (Number(element.max) - Number(element.min)));
      say("input", "change");
    } else if ((element instanceof HTMLInputElement && !["checkbox", "radio"].includes(element.type)) || element instanceof HTMLTextAreaElement) {
      element.focus();
      element.value = text;
      say("input", "change");
    } else {
      element.click();
    }
  }, [text, part] as const);
  return `${what.kind} ${what.name.trim()}${/text|number/.test(what.kind) ? ` = ${text.slice(0, 12)}` : ""}`;
}

/** Waits for the page's engine; reloads a page that has given up restarting its thread. */
async function there(page: Page) {
  const backend = hook(page, "backend");
  await expect(backend).toHaveText(/CPU|WebGPU|Stopped/i);
  if (/Stopped/i.test((await backend.textContent()) ?? "")) {
    await page.reload();
    await expect(backend).toHaveText(/CPU|WebGPU/i);
  }
}

/** Lost but counted releases that the page has reported, one number per continued run. */
function losses(notices: readonly string[]): number[] {
  const said = notices.map((text) => /(One|[\d,]+) steps? (?:was|were) released or reserved after the last save/.exec(text)?.[1]);
  return said.filter((count) => count !== undefined).map((count) => (count === "One" ? 1 : Number(count.replaceAll(",", ""))));
}

/** The counts that a ledger may have: the step shown, plus any of the reported losses. */
function accountsFor(step: number, lost: readonly number[]): Set<number> {
  const counts = new Set([step]);
  for (const more of lost) for (const count of [...counts]) counts.add(count + more);
  return counts;
}

for (const backend of ["cpu", "webgpu"] as const) {
  const actions = Number(process.env.HUSHGRAD_MONKEY ?? ACTIONS[backend]);
  test(`${actions} random actions on ${backend}: the page responds, ε never falls within a run, the ledger counts each step`, long(), async ({ page, site, watched }, info) => {
    test.setTimeout(240_000 + actions * 2_000);
    // Errors that the monkey itself causes.
    watched.allowed.push(/a monkey/);
    page.on("dialog", (dialog) => void dialog.accept());
    const random = seeded(SEED + (backend === "cpu" ? 0 : 1_000_003));
    const query = `?backend=${backend}&dataset=synthetic&model=linear`;
    const notices = await noticed(page);
    await page.goto(site.url + query);
    await there(page);
    const done: string[] = [];
    const story = () => `seed ${SEED}, after: ${done.slice(-12).join(" | ")}`;
    let [slowest, runs, steps, compared, checked] = [0, 0, 0, 0, 0];
    let before: Shown = { step: NaN, epsilon: NaN, set: "" };
    for (let count = 0; count < actions; count++) {
      const dice = random();
      // The previous run may continue as another one, or be gone.
      let broken = true;
      if (dice < 0.01) {
        done.push("reload");
        await page.reload();
        await there(page);
      } else if (dice < 0.02) {
        const thread = page.workers().find((worker) => /\/worker[^/]*$/.test(worker.url()));
        await thread?.evaluate(() => void setTimeout(() => { throw new Error("a monkey threw"); })).catch(() => {});
        done.push("the training thread dies");
      } else if (dice < 0.03) {
        // The next query restarts a dead accountant.
        const thread = page.workers().find((worker) => /\/accountant[^/]*$/.test(worker.url()));
        await thread?.evaluate(() => void setTimeout(() => { throw new Error("a monkey threw"); })).catch(() => {});
        done.push("the accountant dies");
      } else {
        broken = false;
        done.push(await act(page, random));
      }
      const start = Date.now();
      const now = await shown(page);
      slowest = Math.max(slowest, Date.now() - start);
      if (broken || !(now.step >= before.step)) runs++;
      // At equal settings more steps never cost less, except in a kept run, which had its own.
      else if (now.set === before.set && !/continue|run/i.test(done.at(-1)!)) {
        expect(now.epsilon < before.epsilon, `ε fell from ${before.epsilon} to ${now.epsilon} at step ${now.step}, ${story()}`).toBe(false);
        compared++;
      }
      steps += Math.max(0, (now.step || 0) - (before.step || 0));
      before = now;
      if (count % 20 === 19) checked += await ledgerCounts(page, notices, story);
    }
    const numbers = `${actions} actions, ${runs} runs, ${steps} steps seen, ε compared ${compared} times, ${checked} ledgers, slowest answer ${slowest} ms`;
    info.annotations.push({ type: "counts", description: numbers });
    console.log(`  ${backend}: ${numbers}`);
    // Without a comparison nothing was tested.
    expect(compared).toBeGreaterThan(0);
    await there(page);
  });
}

test("a run continued after its thread died counts the lost steps, and the page reports their number", async ({ page, site, watched }) => {
  watched.allowed.push(/a monkey/);
  const notices = await noticed(page);
  await page.goto(`${site.url}?backend=cpu&dataset=synthetic&model=linear`);
  await there(page);
  const story = () => `said: ${notices.join(" ")}`;
  for (const deaths of [1, 2]) {
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
    const before = await value(page, "step");
    // Saves the step, from which the run continues.
    await written(page);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step"), { intervals: [20] }).toBeGreaterThan(before);
    await thread(page).evaluate(() => void setTimeout(() => { throw new Error("a monkey threw"); }));
    await rows(page).last().getByRole("button", { name: /^Continue/ }).click();
    await expect.poll(() => losses(notices).length, story()).toBe(deaths);
    await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
    expect(await ledgerCounts(page, notices, story)).toBe(1);
  }
  expect(Math.min(...losses(notices))).toBeGreaterThan(0);
});

/** Compares a paused run's ledger with the steps shown and lost; returns 1 if there was one. */
async function ledgerCounts(page: Page, notices: readonly string[], story: () => string, again = 1): Promise<number> {
  await page.keyboard.press("Escape");
  const pause = hook(page, "pause");
  let last = NaN;
  await expect.poll(async () => {
    // Clicks even if covered, and again: a run that was starting may play after the first click.
    await pause.evaluate((element: HTMLElement) => element.click());
    const same = (await value(page, "step")) === last;
    last = await value(page, "step");
    return same || Number.isNaN(last);
  }, { intervals: [300] }).toBe(true);
  if (!(last > 0) || Number.isNaN(await value(page, "epsilon"))) return 0;
  const menu = page.getByTestId("export");
  const saved = page.waitForEvent("download", { timeout: 20_000 });
  // A run that has replaced it may have no ledger, and one that breaks a promise is not exported.
  const refused = hook(page, "error").filter({ hasText: /no ledger to export|no run to export|neither it nor its ledger can be saved/ }).waitFor({ timeout: 20_000 }).then(() => null);
  refused.catch(() => {});
  try {
    // Clicks even if the menu is covered: only its content matters here.
    for (const item of [menu.locator("summary"), menu.getByText("Privacy ledger (JSON)")]) await item.evaluate((element: HTMLElement) => element.click(), undefined, { timeout: 20_000 });
  } catch (error) {
    await saved.catch(() => {});
    throw new Error(`the ledger cannot be saved, ${story()}`, { cause: error });
  }
  const file = await Promise.race([saved, refused]);
  saved.catch(() => {});
  if (!file) return 0;
  const ledger = JSON.parse(readFileSync(await file.path(), "utf8"));
  const counted = ledger.events.reduce((sum: number, event: { count: number }) => sum + event.count, 0);
  // A step is in the books before it runs, and it may still be running.
  try {
    const counts = async () => [...accountsFor(await value(page, "step"), losses(notices))];
    await expect.poll(counts, `the step of as many releases as the ledger has, less those of ${losses(notices)} that were lost, ${story()}`).toContain(counted);
  } catch (error) {
    // A run that was starting may have replaced the one of this ledger; a wrong ledger fails again.
    if (again === 0) throw error;
    return ledgerCounts(page, notices, story, again - 1);
  }
  return 1;
}
