import { readFileSync } from "node:fs";
import { account, accountant, expect, exported, hook, long, open, openOnGpu, projected, test, tight, value } from "./fixtures";
import type { Page } from "@playwright/test";

interface Event {
  release: number;
  count: number;
}

/** The exported ledger's events and releases, and their cost. */
async function ledger(page: Page) {
  const [file] = await exported(page, "Privacy ledger (JSON)");
  const path = await file.path();
  const { events, releases } = JSON.parse(readFileSync(path, "utf8"));
  return { events: events as Event[], releases, cost: account(path) };
}

const CHOSEN = "?backend=cpu&dataset=synthetic&lot=1000&steps=30";

test("each phase of a run has its own noise, its price counts them, and the link has the phases", async ({ page, site }) => {
  await open(page, site, `${CHOSEN}&phases=exponential&phase-count=3&noise-end=0.5`);
  await accountant(page);
  await projected(page);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(30);
  const { events, releases, cost } = await ledger(page);
  expect(events.map((event) => event.count)).toEqual([10, 10, 10]);
  const scales = events.map((event) => releases[event.release].noise.gaussian.sigma);
  expect(scales[1] / scales[0]).toBeCloseTo(Math.SQRT1_2, 6);
  expect(scales[2] / scales[0]).toBeCloseTo(0.5, 6);
  expect(Math.abs((await value(page, "epsilon")) - cost.improved.epsilon)).toBeLessThan(1e-9);
  await expect.poll(async () => Math.abs((await tight(page)) - cost.tight.value)).toBeLessThan(1e-3);
  await expect(page).toHaveURL(/phases=exponential/);
  await expect(page).toHaveURL(/phase-count=3/);
});

test("the formulas have the numbers of the current phase", async ({ page, site }) => {
  const list = encodeURIComponent("3; 3 noise 2 rate 0.25; 3 clip 0.5 lot 500");
  await open(page, site, `?backend=cpu&dataset=synthetic&sigma=1.1&clip=1&lot=1000&rate=2&steps=9&phases=list&phase-list=${list}`);
  const formulas = page.getByTestId("formulas");
  await formulas.locator("summary").first().click();
  const says = (sigma: string, clip: string, noise: string, lot: string, rate: string) =>
    Promise.all([
      expect(formulas).toContainText(`σ = ${sigma}, C = ${clip}: the standard deviation of the noise in every coordinate is ${noise}.`),
      expect(formulas).toContainText(`L = ${lot}, the expected lot; η = ${rate}, the learning rate.`),
    ]);
  await says("1.1", "1", "1.1", "1,000", "2");
  const steps = async (to: number) => {
    for (let at = await value(page, "step"); at < to; at++) {
      await hook(page, "step-once").click();
      await expect.poll(() => value(page, "step")).toBe(at + 1);
    }
  };
  await steps(3);
  await says("1.1", "1", "1.1", "1,000", "2");
  await steps(4);
  await says("2.2", "1", "2.2", "1,000", "0.5");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(9);
  await says("1.1", "0.5", "0.55", "500", "2");
});

test("annealing the phases' noise shows its progress, can be stopped, and gives noise of the same ε", async ({ page, site }) => {
  test.setTimeout(600_000);
  await open(page, site, "?backend=cpu&dataset=synthetic&lot=200&rate=1&steps=30&phases=exponential&phase-count=3&noise-end=0.5");
  await page.locator("details.advanced summary").click();
  const [button, take, cooled] = ["anneal", "take-annealed", "cooled"].map((id) => page.getByTestId(id));
  await expect(take).toBeHidden();
  await expect(cooled).toContainText("tries 100 schedules at this ε");
  const proposal = async () => Number(/Proposal (\d+) of 100/.exec((await cooled.textContent()) ?? "")?.[1] ?? "-1");
  const line = page.getByTestId("noise-over-run").locator("svg .line-n3");
  const before = await projected(page);
  const epsilon = Number(/ε ≤ ([\d.]+\d)/.exec(before)![1]);
  await button.click();
  await expect(button).toHaveText("Stop");
  await expect.poll(proposal, { timeout: 60_000 }).toBeGreaterThan(2);
  await expect(line).toHaveCount(1);
  // A run trains at the same time.
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await button.click();
  await expect(button).toHaveText("Anneal on drawn digits");
  const stopped = await proposal();
  expect(stopped).toBeLessThan(100);
  const temperature = async () => Number(/temperature ([\d.]+\d)/.exec((await cooled.textContent())!)![1]);
  const hot = await temperature();
  // Any pending proposal has arrived by then.
  await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0);
  expect(await proposal()).toBe(stopped);
  // Anneals again, from beginning to end.
  await button.click();
  await expect.poll(proposal, { timeout: 400_000 }).toBe(100);
  await expect(button).toHaveText("Anneal on drawn digits");
  await expect(cooled).toContainText("The lowest loss of many tries is partly luck");
  // Each proposal lowers the temperature by 3%.
  expect(await temperature()).toBeCloseTo(hot * 0.97 ** (100 - stopped), 4);
  const [, least, first] = /lowest ([\d.]+\d), ([\d.]+\d) with/.exec((await cooled.textContent())!)!.map(Number);
  expect(least).toBeLessThanOrEqual(first);
  await take.click();
  await expect(page.locator("#phases")).toHaveValue("list");
  await expect(page.locator("#phase-list")).toHaveValue(/^10 noise [\d.]+; 10 noise [\d.]+; 10 noise [\d.]+$/);
  await expect(page.getByTestId("annealing")).toHaveCount(0);
  await expect.poll(async () => Number(/ε ≤ ([\d.]+\d)/.exec(await projected(page))![1])).toBeLessThanOrEqual(epsilon);
  expect(Number(/ε ≤ ([\d.]+\d)/.exec(await projected(page))![1])).toBeGreaterThan(0.98 * epsilon);
  await expect(page).toHaveURL(/phases=list/);
});

test("a change of the settings ends the search, which is offered only where a hundred runs are short", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&lot=200&steps=30&phases=exponential&phase-count=3&noise-end=0.5");
  await page.locator("details.advanced summary").click();
  await page.getByTestId("anneal").click();
  await expect(page.getByTestId("cooled")).toContainText("Proposal", { timeout: 60_000 });
  await page.locator("#number-noise-end").fill("0.7");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("anneal")).toHaveText("Anneal on drawn digits");
  await expect(page.getByTestId("cooled")).toContainText("tries 100 schedules");
  await expect(page.getByTestId("take-annealed")).toBeHidden();
  for (const gone of ["model=cnn-tanh", "users=600", "phases=list&phase-list=10;20"]) {
    await open(page, site, `?backend=cpu&dataset=synthetic&lot=200&steps=30&phases=exponential&phase-count=3&noise-end=0.5&${gone}`);
    await page.locator("details.advanced summary").click();
    await expect(page.locator("#phases")).toBeVisible();
    await expect(page.getByTestId("annealing")).toHaveCount(0);
  }
});

test("the WebGPU engine continues with the next phase's noise", long(), async ({ page, site }) => {
  await openOnGpu(page, site, "&steps=9&phases=list&phase-list=" + encodeURIComponent("3; 3 noise 2 rate 0.5; 3 clip 0.5 lot 32"));
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(9);
  const { events, releases, cost } = await ledger(page);
  expect(events.map((event) => event.count)).toEqual([3, 3, 3]);
  expect(releases[events[1].release].noise.gaussian.sigma).toBe(2 * releases[events[0].release].noise.gaussian.sigma);
  expect(releases[events[2].release].sensitivity).toEqual({ l2: { norm: 0.5 } });
  expect(releases[events[2].release].sampling.poisson.rate).toBeCloseTo(releases[events[0].release].sampling.poisson.rate / 2, 12);
  expect(Math.abs((await value(page, "epsilon")) - cost.improved.epsilon)).toBeLessThan(1e-9);
});

test("phases are set in the advanced settings, and an invalid list gets an error and loses nothing", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.locator("details.advanced summary").click();
  const [choice, list, steps] = ["phases", "phase-list", "number-steps"].map((id) => page.locator(`#${id}`));
  await expect(list).toHaveCount(0);
  await choice.selectOption("time");
  // Phases need a run with an end.
  await expect(steps).toHaveValue("600");
  await expect(page.locator("#number-phase-count")).toHaveValue("6");
  await page.locator("#number-noise-end").fill("2");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/noise-end=2/);
  await choice.selectOption("list");
  await expect(page.locator("#number-phase-count")).toHaveCount(0);
  await expect(steps).toHaveValue("600");
  await list.fill("4; 5 noise 0.5");
  await list.press("Enter");
  await expect(steps).toHaveValue("9");
  await expect(page.getByTestId("error")).toBeEmpty();
  await list.fill("4; 5 loud");
  await list.press("Enter");
  await expect(page.getByTestId("error")).toContainText("“5 loud” in phase 2");
  await list.fill("4; 5 noise 0.5");
  await list.press("Enter");
  await expect(page.getByTestId("error")).toBeEmpty();
  await steps.fill("10");
  await steps.press("Enter");
  await expect(page.getByTestId("error")).toContainText("2 phases of 9 steps in all; it must be as many steps as the run has, 10");
  await steps.fill("9");
  await steps.press("Enter");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(9);
  expect((await ledger(page)).events.map((event) => event.count)).toEqual([4, 5]);
});
