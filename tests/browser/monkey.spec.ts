import type { ElementHandle, Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { expect, hook, long, noticed, rows, test, thread, value, written } from "./fixtures";

/** Actions; by hand any number, and any other seed. Thousands of requests to the training thread are in `tests/agent/monkey.rs`. */
const ACTIONS = { cpu: 60, webgpu: 250 };
const SEED = Number(process.env.HUSHGRAD_MONKEY_SEED ?? 1);
/** What a monkey does not press: it saves a file to the disk, opens the system's chooser of files, or leaves the page. */
const LEFT_ALONE = 'a[href], input[type="file"], [data-testid="export"] *, [data-testid="open-file"], [data-testid="language"], [disabled], [aria-disabled="true"]';

/** Numbers from 0 to 1 that a seed gives again (mulberry32). */
function seeded(seed: number) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Texts for fields: numbers at and beyond their edges, and what is none. */
const TEXTS = ["0", "1", "-1", "3", "64", "1.5", "1e-300", "1e300", "1e39", "0.0001", "NaN", "Infinity", "", "abc", "1/(1+x^4)", "60000", "½", "9".repeat(400)];
const KEYS = ["Space", "Enter", "Escape", "Tab", "ArrowRight", "ArrowUp", "Home", "End", "s", "r", "?"];

/** What the page shows of its run: its step, its ε (NaN while there is none), and all that is set. */
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

/** One thing that a visitor may do; says what it was. */
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
    // What covers it (a dialogue, say) is a monkey's next tree.
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
  // Events as a hand gives them, but without the wait for an animation to end.
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

/** A page that is there, however slowly: its engine is chosen. A monkey may have ended the thread so often that the page starts no other, says so, and
 * asks to be loaded anew. */
async function there(page: Page) {
  const backend = hook(page, "backend");
  await expect(backend).toHaveText(/CPU|WebGPU|Stopped/i);
  if (/Stopped/i.test((await backend.textContent()) ?? "")) {
    await page.reload();
    await expect(backend).toHaveText(/CPU|WebGPU/i);
  }
}

/** Releases that the page has said to be counted and lost: one number for each run that was continued after its thread had ended under it. */
function losses(notices: readonly string[]): number[] {
  const said = notices.map((text) => /(One|[\d,]+) steps? (?:was|were) released or reserved after the last save/.exec(text)?.[1]);
  return said.filter((count) => count !== undefined).map((count) => (count === "One" ? 1 : Number(count.replaceAll(",", ""))));
}

/** A ledger counts the steps that the page shows, and what it has said to be lost of this run and of those that it goes on from. */
function accountsFor(step: number, lost: readonly number[]): Set<number> {
  const counts = new Set([step]);
  for (const more of lost) for (const count of [...counts]) counts.add(count + more);
  return counts;
}

for (const backend of ["cpu", "webgpu"] as const) {
  const actions = Number(process.env.HUSHGRAD_MONKEY ?? ACTIONS[backend]);
  test(`${actions} actions of a monkey on ${backend}: the page answers, ε never falls within a run, the ledger counts each step`, long(), async ({ page, site, watched }, info) => {
    test.setTimeout(240_000 + actions * 2_000);
    // What the monkey itself breaks, and what the browser says of it.
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
      // A run of before this may go on as another one, or be gone.
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
        // One that is dead is hired again with the next question.
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
      // With the same settings more steps never cost less, whichever run they are of; but for one that was kept, which had its own.
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
    // A monkey that found no run to look at has tested nothing.
    expect(compared).toBeGreaterThan(0);
    await there(page);
  });
}

test("a run that goes on after its thread has died: its ledger counts what was lost, and the page says how much that is", async ({ page, site, watched }) => {
  watched.allowed.push(/a monkey/);
  const notices = await noticed(page);
  await page.goto(`${site.url}?backend=cpu&dataset=synthetic&model=linear`);
  await there(page);
  const story = () => `said: ${notices.join(" ")}`;
  for (const deaths of [1, 2]) {
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
    const before = await value(page, "step");
    // The step is saved, and it goes on from there.
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

/** At rest, the ledger of the run has as many releases as the page says steps, and those that it has said to be lost; 1 if there was one to look at. */
async function ledgerCounts(page: Page, notices: readonly string[], story: () => string, again = 1): Promise<number> {
  await page.keyboard.press("Escape");
  const pause = hook(page, "pause");
  let last = NaN;
  await expect.poll(async () => {
    // Whatever covers it; and again, as what was starting begins to play after it was pressed for the first time.
    await pause.evaluate((element: HTMLElement) => element.click());
    const same = (await value(page, "step")) === last;
    last = await value(page, "step");
    return same || Number.isNaN(last);
  }, { intervals: [300] }).toBe(true);
  if (!(last > 0) || Number.isNaN(await value(page, "epsilon"))) return 0;
  const menu = page.getByTestId("export");
  const saved = page.waitForEvent("download", { timeout: 20_000 });
  // A run that took the place of the one that was looked at may have no ledger, and of one that breaks a promise no file is made.
  const refused = hook(page, "error").filter({ hasText: /no ledger to export|no run to export|no file is made of it/ }).waitFor({ timeout: 20_000 }).then(() => null);
  refused.catch(() => {});
  try {
    // Whatever covers the menu: what it says is looked at here, not where it is.
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
  // A step is in the books before it runs, and it may be running.
  try {
    const counts = async () => [...accountsFor(await value(page, "step"), losses(notices))];
    await expect.poll(counts, `the step of as many releases as the ledger has, less those of ${losses(notices)} that were lost, ${story()}`).toContain(counted);
  } catch (error) {
    // A run that was still starting may have taken the place of the one whose ledger this is; a ledger that is wrong is so again.
    if (again === 0) throw error;
    return ledgerCounts(page, notices, story, again - 1);
  }
  return 1;
}
