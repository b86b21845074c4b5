import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { accessible } from "./axe";
import { allControls, expect, exported, hook, long, open, test, tight, value } from "./fixtures";
import { small } from "./idx";

const query = "?backend=cpu&dataset=synthetic";
const minority = `${query}&minority=turned`;

const fold = (page: Page) => page.getByTestId("who-pays");
const share = (text: string) => Number(/^([\d.]+)%$/.exec(text.trim())?.[1] ?? NaN);

/** Opens the fold, and retries if content added at a run's end moves it. */
async function unfold(page: Page) {
  await expect(async () => {
    if ((await fold(page).getAttribute("open")) === null) await fold(page).locator("summary").first().click();
    expect(await fold(page).getAttribute("open")).not.toBeNull();
  }).toPass();
}

/** Opens the fold of a finished run and waits for its baseline. */
async function opened(page: Page) {
  await expect.poll(async () => (await hook(page, "step").textContent())?.replace(/\D/g, "")).toMatch(/^(\d+)\1$/);
  await unfold(page);
  await expect(page.getByTestId("by-digit").locator("thead th")).toHaveCount(3);
  // The complete baseline, and the run's last step.
  await expect(page.getByTestId("pays-most")).toContainText("The same without bound or noise: 60 steps");
  await expect(page.getByTestId("pays-most")).toContainText("After step 40,");
}

async function played(page: Page) {
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(40);
}

/** Returns the confusion matrix: rows are digits as drawn, columns as read. */
async function matrix(page: Page): Promise<number[][]> {
  const confusion = page.getByTestId("confusion");
  if ((await confusion.getAttribute("open")) === null) await confusion.locator("summary").click();
  const cells = (await confusion.locator("tbody td").allTextContents()).map(Number);
  return Array.from({ length: 10 }, (_, row) => cells.slice(10 * row, 10 * row + 10));
}

test("who pays for privacy: bars, sentence and pictures agree with the counts", async ({ page, site }) => {
  await open(page, site, `${query}&steps=40&speed=normal`);
  await played(page);
  await opened(page);
  const counts = await matrix(page);
  expect(counts.flat().reduce((a, b) => a + b)).toBe(5000);
  const rows = page.getByTestId("by-digit").locator("tbody tr");
  await expect(rows).toHaveCount(10);
  const lost: number[] = [];
  for (let digit = 0; digit < 10; digit++) {
    const right = (100 * counts[digit][digit]) / counts[digit].reduce((a, b) => a + b);
    const row = rows.nth(digit);
    await expect(row.getByRole("rowheader")).toHaveText(String(digit));
    const [run, bare] = (await row.locator("td").allTextContents()).map(share);
    expect(Math.abs(run - right), `digit ${digit}: ${run} and ${right}`).toBeLessThan(0.06);
    const widths = await row.locator("rect").evaluateAll((bars) => bars.map((bar) => Number(bar.getAttribute("width"))));
    expect(Math.abs(widths[0] - run) + Math.abs(widths[1] - bare)).toBeLessThan(0.21);
    lost.push(bare - run);
  }
  const most = Math.max(...lost);
  const said = /^In these counts the (\d) pays most: ([\d.]+)% are read right, against ([\d.]+)% without privacy\./.exec((await page.getByTestId("pays-most").textContent())!)!;
  expect(lost[Number(said[1])]).toBeGreaterThan(most - 0.11);
  expect(Math.abs(Number(said[3]) - Number(said[2]) - most)).toBeLessThan(0.21);
  await expect(rows.nth(Number(said[1]))).toHaveClass(/most/);
  const all = counts.flat().reduce((a, b) => a + b) - counts.reduce((sum, row, digit) => sum + row[digit], 0);
  const pictures = page.getByTestId("misread").locator("li");
  await expect(pictures).toHaveCount(Math.min(24, all));
  let before = 100;
  for (const text of await pictures.allTextContents()) {
    const [, drawn, read, sure] = /^(\d) read as (\d) ([\d.]+)% sure$/.exec(text)!.map(Number);
    expect(drawn !== read && counts[drawn][read] > 0, text).toBe(true);
    expect(sure, "the surest first").toBeLessThanOrEqual(before);
    before = sure;
  }
  // Slow enough for each step to be taken apart.
  const pulls = page.getByTestId("pulls").locator("li");
  await expect(pulls).toHaveCount(12);
  await expect(page.getByTestId("pulls").locator(".teaching")).toHaveCount(1);
  const norms = (await pulls.allTextContents()).map((text) => Number(/^\d length ([\d.]+)$/.exec(text)![1]));
  expect(norms).toEqual([...norms].sort((a, b) => b - a));
  expect(norms[0]).toBeGreaterThan(norms[11]);
  // The pictures show digits: ink and paper differ.
  for (const picture of await page.locator(".pictures canvas").all()) {
    const contrast = await picture.evaluate((canvas: HTMLCanvasElement) => {
      const grey = canvas.getContext("2d")!.getImageData(0, 0, 28, 28).data.filter((_, at) => at % 4 === 0);
      return Math.max(...grey) - Math.min(...grey);
    });
    expect(contrast).toBeGreaterThan(120);
  }
});

test("a minority shows both groups' accuracy, with and without privacy, and leaves ε unchanged", async ({ page, site }) => {
  await open(page, site, `${query}&steps=40`);
  await played(page);
  await expect.poll(() => tight(page)).toBeGreaterThan(0);
  const epsilon = await tight(page);
  await unfold(page);
  await expect(page.getByTestId("by-digit").locator("tbody tr")).toHaveCount(10);
  await expect(page.getByTestId("groups")).toHaveText("");
  await page.locator("details.advanced summary").click();
  await page.locator("#minority").selectOption("turned");
  await expect(page).toHaveURL(/minority=turned/);
  await expect.poll(() => value(page, "step")).toBe(0);
  await played(page);
  await expect.poll(() => tight(page)).toBe(epsilon);
  const groups = page.getByTestId("groups").locator("tbody tr");
  await expect(groups).toHaveCount(2);
  await expect(page.getByTestId("pays-most")).toContainText("60 steps");
  await expect(page.getByTestId("pays-most")).toContainText("After step 40,");
  const [usual, turned] = await groups.evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent!)));
  await expect(hook(page, "accuracy")).toContainText(usual[0]);
  for (const [run, bare, lost] of [usual, turned].map((row) => row.map((text) => Number(text.replace("%", "").replace("−", "-"))))) {
    expect(Math.abs(bare - run - lost), `${run} ${bare} ${lost}`).toBeLessThan(0.11);
  }
  expect(share(turned[0])).toBeLessThan(share(usual[0]));
  const [file] = await exported(page, "Run (JSON)");
  const { run } = JSON.parse(readFileSync((await file.path())!, "utf8"));
  expect([run.config.minority, run.note]).toEqual(["turned", "minority: one image in fifty, turned"]);
  // A link restores it.
  await page.goto(page.url());
  await expect(page.locator("#minority")).toHaveValue("turned");
});

test("a minority of too few images is refused with an error", async ({ page, site }) => {
  await open(page, site, minority);
  await page.locator("#number-lot").fill("8");
  await page.locator("#number-lot").press("Enter");
  await page.getByTestId("files").setInputFiles(small(40, 20));
  await expect(hook(page, "error")).toContainText("there are fewer than fifty");
});

test("the baseline on the visitor's own digits is trained only on request", async ({ page, site }) => {
  await open(page, site, `${query}&steps=40&lot=32`);
  await page.getByTestId("files").setInputFiles(small());
  await expect(page.getByTestId("digits-in-use")).toContainText("400");
  await played(page);
  await unfold(page);
  await expect(page.getByTestId("pays-most")).toContainText("on your own test digits: ε does not cover");
  const rest = page.getByTestId("by-digit").locator("thead th");
  await expect(rest).toHaveCount(2);
  await page.getByTestId("baseline-beside").click();
  await expect(rest).toHaveCount(3);
  await expect(page.getByTestId("baseline-beside")).toHaveCount(0);
});

for (const [width, height] of [[390, 844], [1440, 900]]) {
  test(`who pays for privacy fits at ${width} px and is accessible`, long(width > 390), async ({ page, site }) => {
    await page.setViewportSize({ width, height });
    await open(page, site, `${minority}&steps=40&speed=normal`);
    if (width < 900) await page.getByRole("tab", { name: "Results" }).or(page.getByRole("button", { name: "Results", exact: true })).first().click();
    await allControls(page);
    await played(page);
    await opened(page);
    await matrix(page);
    await expect(page.getByTestId("groups").locator("tbody tr")).toHaveCount(2);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    const sides = await fold(page).evaluate((fold) => {
      const { right } = fold.getBoundingClientRect();
      const parts = [...fold.querySelectorAll(":is(.groups, .digits-table, .pictures li, p)")];
      return parts.filter((part) => part.getBoundingClientRect().right > right + 1).map((part) => part.outerHTML.slice(0, 80));
    });
    expect(sides).toEqual([]);
    await accessible(page, "who pays for privacy");
  });
}
