import { readFileSync } from "node:fs";
import { accessible } from "./axe";
import { account, expect, hook, long, open, test, value } from "./fixtures";
import type { Page } from "@playwright/test";

const DRAWN = "?backend=cpu&dataset=synthetic";

const fold = (page: Page) => page.getByTestId("pay-once");
const paid = (page: Page) => page.getByTestId("paid");

/** Returns the steps trained on the release and the accuracy after them, in percent. */
async function trained(page: Page): Promise<{ steps: number; accuracy: number }> {
  const [, steps, accuracy] = /([\d,]+) steps? so far, 0 in the ledger: ([\d.]+)%/.exec((await paid(page).textContent()) ?? "") ?? [];
  return { steps: Number(steps?.replace(",", "")), accuracy: Number(accuracy) };
}

/** Releases, and waits for the training on it. */
async function release(page: Page) {
  await page.getByTestId("pay").click();
  await expect(page.getByTestId("train-on")).toBeEnabled({ timeout: 60_000 });
}

/** The numbers of a chart's table: a row for each step, a column for each curve. */
async function rows(page: Page, title: string): Promise<number[][]> {
  const chart = page.locator("figure.chart", { has: page.getByRole("heading", { name: title, exact: true }) });
  const table = chart.locator("details.as-table");
  if (!(await table.evaluate((details: HTMLDetailsElement) => details.open))) await table.locator("summary").click();
  return table.locator("tbody tr").evaluateAll((rows) =>
    rows.map((row) => [...row.children].map((cell) => Number(cell.textContent!.replace(/[,%]/g, "")))));
}

test("a release is paid once: training on it costs nothing, while DP-SGD costs more with every step", async ({ page, site }) => {
  await open(page, site, `${DRAWN}&steps=300&lot=64&pay-once=pixels-14&pay-once-epsilon=3`);
  await expect(fold(page)).toHaveAttribute("open", "");
  await expect(fold(page)).toBeInViewport();
  await expect(page.getByTestId("train-on")).toBeDisabled();
  const bar = page.locator(".readouts .epsilon dt");
  await expect(bar).toHaveText(/^ε spent\s*$/);
  await release(page);
  // What the steps cost is not all that was spent.
  await expect(bar).toContainText("ε spent by this run");
  await expect(paid(page)).toContainText("Paid: ε ≤ 3.00 at δ = 1e-5, once, for 197 features and ten outputs.");
  const first = await trained(page);
  expect(first.steps).toBe(300);
  expect(first.accuracy).toBeGreaterThan(50);

  // The native tool prices the saved ledger: one release, and no step.
  const saving = page.waitForEvent("download");
  await page.getByTestId("once-ledger").click();
  const path = await (await saving).path();
  const ledger = JSON.parse(readFileSync(path, "utf8"));
  expect(ledger.events).toEqual([{ release: 0, count: 1 }]);
  expect(Math.abs(account(path).tight.value / 3 - 1)).toBeLessThan(1e-6);

  await page.getByTestId("train-on").click();
  await expect.poll(async () => (await trained(page)).steps).toBe(600);
  await expect(paid(page)).toContainText("ε ≤ 3.00 at");
  // One curve is flat and one rises: the run as set, before its first step.
  await expect(fold(page)).toContainText("DP-SGD, current settings");
  // A table is filled once it is open, and redrawn with each part of the curve.
  await expect(async () => {
    const spent = (await rows(page, "ε spent: once, and step by step")).filter((row) => row.length > 2);
    const [run, once] = [1, 2].map((column) => spent.map((row) => row[column]).filter((value) => value > 0));
    expect(new Set(once)).toEqual(new Set([3]));
    expect(run.length).toBeGreaterThan(3);
    expect(run.every((value, at) => at === 0 || value >= run[at - 1])).toBe(true);
    expect(run.at(-1)!).toBeGreaterThan(1.2 * run[0]);
  }).toPass();

  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(300);
  await expect(paid(page)).toContainText("All 2 runs on these digits that this browser remembers, together: ε ≤ ");
});

test("a second release is paid for again, and the books keep both across visits", async ({ page, site }) => {
  await open(page, site, `${DRAWN}&pay-once=pixels-14`);
  await release(page);
  await expect(paid(page)).toContainText("ε ≤ 1.00 at");
  await hook(page, "step-once").click();
  const together = page.getByTestId("together");
  await expect(together).toContainText("All 2 runs on these digits");
  await expect(page.getByTestId("pay")).toHaveText("Release again, and pay again");
  await release(page);
  await expect(together).toContainText("All 3 runs on these digits");
  const sum = Number(/ε ≤ ([\d.]+)/.exec((await together.textContent())!)![1]);
  // Two Gaussian releases of ε = 1 compose to 1.465.
  expect(sum).toBeGreaterThan(1.46);
  await page.reload();
  await hook(page, "step-once").click();
  await expect(together).toContainText("All 4 runs on these digits");
});

test("features and ε are set by keyboard and restored by a link, and invalid values get an error", async ({ page, site }) => {
  await open(page, site, DRAWN);
  await fold(page).locator("> summary").focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/pay-once=pixels-14/);
  await page.getByTestId("once-features").selectOption("cosines");
  await expect(page).toHaveURL(/pay-once=cosines/);
  await page.getByTestId("once-epsilon").fill("0.3");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/pay-once-epsilon=0\.3/);
  await page.reload();
  await expect(page.getByTestId("once-features")).toHaveValue("cosines");
  await expect(page.getByTestId("once-epsilon")).toHaveValue("0.3");
  await page.getByTestId("once-epsilon").fill("nothing");
  await page.keyboard.press("Enter");
  await expect(hook(page, "error")).toContainText("Budget ε");
  // Above the largest supported ε.
  await page.getByTestId("once-epsilon").fill("500");
  await page.keyboard.press("Enter");
  await page.getByTestId("pay").click();
  await expect(hook(page, "error")).toContainText("Epsilon is 500; it must be from 0.001 to 100");
  await expect(paid(page)).toHaveCount(0);
  await expect(page.getByTestId("pay")).toBeEnabled();
  await fold(page).locator("> summary").click();
  await expect(page).not.toHaveURL(/pay-once/);
  await open(page, site, `${DRAWN}&pay-once=magic`);
  await expect(hook(page, "error")).toContainText("pay-once must be one of pixels-14, pixels-28, cosines, scattering");
});

test("the noise of a release can be chosen, and Laplace noise needs no δ", async ({ page, site }) => {
  await open(page, site, `${DRAWN}&pay-once=pixels-14&pay-once-noise=laplace&pay-once-epsilon=3`);
  const noise = page.getByTestId("once-noise");
  await expect(noise).toHaveValue("laplace");
  await release(page);
  await expect(paid(page)).toContainText("Paid: ε ≤ 3.00 at δ = 0, once");
  const laplace = await trained(page);
  await noise.selectOption("relevance");
  await expect(page).toHaveURL(/pay-once-noise=relevance/);
  await release(page);
  await expect(paid(page)).toContainText("Paid: ε ≤ 3.00 at δ = 1e-5, once");
  expect((await trained(page)).accuracy).toBeGreaterThan(laplace.accuracy);
  await noise.selectOption("gaussian");
  await expect(page).not.toHaveURL(/pay-once-noise/);
  await open(page, site, `${DRAWN}&pay-once=pixels-14&pay-once-noise=magic`);
  await expect(hook(page, "error")).toContainText("pay-once-noise must be one of gaussian, relevance, laplace");
});

test("changing the digits discards the release", async ({ page, site }) => {
  await open(page, site, `${DRAWN}&pay-once=pixels-14`);
  await release(page);
  await expect(paid(page)).toHaveCount(1);
  await hook(page, "dataset").selectOption("mnist");
  await expect(paid(page)).toHaveCount(0, { timeout: 60_000 });
  await expect(page.getByTestId("train-on")).toBeDisabled();
});

test("the published mechanism is marked as without a guarantee, with reasons and the shared noise that a difference removes", async ({ page, site }) => {
  await open(page, site, `${DRAWN}&pay-once=pixels-14`);
  await hook(page, "step-once").click();
  const published = page.getByTestId("adlm");
  await expect(published.locator("summary")).toContainText("claimed ε = 0.30, no guarantee");
  await expect(published.locator("summary .teaching")).toBeVisible();
  await published.locator("summary").click();
  await expect(published.locator("ol > li")).toHaveCount(5);
  await expect(published.locator("canvas")).toHaveCount(3);
  // The pictures are drawn with the step.
  await expect(published.locator(".shared-noise")).toBeVisible();
  // In the difference, pixels blank in both digits share one grey; under noise no grey dominates.
  const most = await published.locator("canvas").evaluateAll((all) =>
    (all as HTMLCanvasElement[]).map((canvas) => {
      const { data } = canvas.getContext("2d")!.getImageData(0, 0, 28, 28);
      const counts = new Map<number, number>();
      for (let at = 0; at < data.length; at += 4) counts.set(data[at], (counts.get(data[at]) ?? 0) + 1);
      return Math.max(...counts.values()) / 784;
    }));
  expect(most[2]).toBeGreaterThan(0.3);
  expect(Math.max(most[0], most[1])).toBeLessThan(0.3);
});

for (const [what, width] of [["a phone", 390], ["a narrow window", 320], ["a desk", 1440]] as const) {
  test(`on ${what} every control is reachable, and the page accessible in dark and in light`, long(width > 320), async ({ page, site }) => {
    await page.setViewportSize({ width, height: 844 });
    await open(page, site, `${DRAWN}&pay-once=pixels-14`);
    await release(page);
    await page.getByTestId("adlm").locator("summary").click();
    await accessible(page, what);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wide).toBeLessThanOrEqual(0);
    for (const control of await fold(page).locator("button, select, input, summary").all()) {
      if (!(await control.isVisible())) continue;
      const box = (await control.boundingBox())!;
      expect(Math.min(box.width, box.height), await control.evaluate((element) => element.outerHTML)).toBeGreaterThanOrEqual(24);
      expect(box.x + box.width).toBeLessThanOrEqual(width);
    }
  });
}
