import type { Page } from "@playwright/test";
import { accessible } from "./axe";
import { allControls, expect, hook, long, open, test, value } from "./fixtures";

test.use({ settings: false });

const query = "?backend=cpu&preset=quick-linear&dataset=synthetic";
const presented = `${query}&present=1`;

/** What a teacher shows; `outside` lists what of it is not entirely in the window. */
const SHOWN = [".stage-head", ".station-lot .lot", '[data-testid="stage-alone"]', '[data-testid="stage-sum"]', '[data-testid="stage-released"]', '[data-testid="stage-difference-before"]', '[data-testid="stage-difference-after"]', ".knob", ".marks", ".odds", ".odds-grids", ".results .chart", ".transport", ".readouts .epsilon"];
const outside = (page: Page, shown: string[]) =>
  page.evaluate((shown) => {
    const wrong: string[] = [];
    for (const selector of shown) {
      const element = [...document.querySelectorAll(selector)].find((each) => each.checkVisibility());
      if (!element) {
        wrong.push(`${selector} is not there`);
        continue;
      }
      const box = element.getBoundingClientRect();
      if (box.left < 0 || box.top < 0 || box.right > innerWidth + 0.5 || box.bottom > innerHeight + 0.5)
        wrong.push(`${selector}: ${[box.left, box.top, box.right, box.bottom].map(Math.round)} in ${innerWidth} × ${innerHeight}`);
      const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
      if (!top || !(element.contains(top) || element.parentElement!.contains(top))) wrong.push(`${selector} is covered by ${top?.outerHTML.slice(0, 80)}`);
    }
    const body = document.querySelector(".lesson-body");
    if (body && body.scrollHeight > body.clientHeight + 1) wrong.push(`the lesson scrolls: ${body.scrollHeight} in ${body.clientHeight}`);
    if (document.documentElement.scrollWidth > innerWidth) wrong.push("the page is wider than the window");
    return wrong;
  }, shown);

/** Font sizes of each selector's first match, in pixels; null while a chart is redrawn. */
const sizes = (page: Page) =>
  page.evaluate((selectors) => selectors.map((selector) => {
    const element = document.querySelector<Element & { currentCSSZoom?: number }>(selector);
    return element && Number.parseFloat(getComputedStyle(element).fontSize) * element.currentCSSZoom!;
  }), ["body", ".stage-title", ".odds-lead", ".readouts dd", ".results .plot .tick"]);

for (const [width, height] of [[1920, 1080], [1280, 720]] as const) {
  test(`presenting at ${width} by ${height} enlarges type by half, and fits the window`, long(width > 1280), async ({ page, site }) => {
    await page.setViewportSize({ width, height });
    await open(page, site, query);
    await expect.poll(async () => (await sizes(page)).includes(null)).toBe(false);
    const usual = await sizes(page);
    // German names are the longest.
    await open(page, site, `${presented}&lang=de`);
    await expect(page.locator(".knob .slider")).toBeVisible();
    await expect.poll(async () => (await sizes(page)).map((large, at) => (large! / usual[at]!).toFixed(2))).toEqual(usual.map(() => "1.50"));
    await expect(page.getByTestId("odds-found")).toHaveText(/^\d+$/);
    await expect.poll(() => outside(page, SHOWN)).toEqual([]);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step"), { timeout: 120_000 }).toBe(400);
    await expect(page.locator(".station.lit")).toHaveCount(0);
    await expect.poll(() => outside(page, SHOWN)).toEqual([]);
    await accessible(page, "presented");
    expect(await page.evaluate(() => scrollY)).toBe(0);
  });

  test(`a lesson presented at ${width} by ${height} is beside its subject, and arrow keys turn its pages`, long(width > 1280), async ({ page, site }) => {
    await page.setViewportSize({ width, height });
    await open(page, site, `${query}&present=1&lesson=why-noise.4`);
    const at = (step: number) => expect(page.getByTestId("lesson").getByText(`${step} of 8`, { exact: true })).toBeVisible();
    await at(4);
    await expect(page.getByTestId("lesson-wait")).toBeHidden({ timeout: 120_000 });
    const shown = [...SHOWN, ".lesson-text", ".lesson h3", '[data-testid="lesson-next"]'];
    await page.evaluate(() => scrollTo(0, 0));
    await expect.poll(() => outside(page, shown)).toEqual([]);
    await accessible(page, "a lesson presented");
    await page.keyboard.press("ArrowRight");
    await at(5);
    await page.keyboard.press("PageDown");
    await at(6);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("PageUp");
    await at(4);
    await expect(page).toHaveURL(/present=1/);
    await expect(page).toHaveURL(/lesson=why-noise\.4/);
    // In the lot, arrow keys ring another digit; the step's runs have to finish first.
    await expect(page.getByTestId("lesson-wait")).toBeHidden({ timeout: 120_000 });
    // The complete run restarts; the old lot may stay until the first new step is examined.
    await page.keyboard.press("s");
    await expect.poll(() => value(page, "step")).toBe(1);
    await expect(page.locator(".station.lit")).toHaveCount(0);
    await expect(page.locator(".lot-buttons .ringed")).toHaveCount(1);
    await page.locator(".lot-buttons .ringed").focus();
    const place = () => page.locator(".lot-buttons .ringed").evaluate((button) => [...button.parentElement!.children].indexOf(button));
    const before = await place();
    await page.keyboard.press(before === 0 ? "ArrowRight" : "ArrowLeft");
    await expect.poll(place).toBe(before === 0 ? 1 : before - 1);
    await at(4);
  });
}

test("presenting survives a reload and is in the link; Escape ends it, and its button begins and ends it", async ({ page, site }) => {
  await open(page, site, query);
  const control = page.getByTestId("present");
  await allControls(page);
  await expect(control).toHaveAttribute("aria-pressed", "false");
  await control.click();
  await expect(control).toHaveAttribute("aria-pressed", "true");
  await expect(page).toHaveURL(/present=1/);
  await page.reload();
  await expect(control).toHaveAttribute("aria-pressed", "true");
  // The page's keys work.
  await expect(page.getByTestId("digits-in-use")).toContainText("to train on");
  await page.keyboard.press("s");
  await expect.poll(() => value(page, "step")).toBe(1);
  await page.keyboard.press("Space");
  await expect.poll(() => value(page, "step")).toBeGreaterThan(20);
  await page.keyboard.press("Space");
  await page.keyboard.press("r");
  await expect.poll(() => value(page, "step")).toBe(0);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  // An overlay has the key first.
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await expect(control).toHaveAttribute("aria-pressed", "true");
  await page.getByTestId("lessons").locator("summary").click();
  await page.keyboard.press("Escape");
  await expect(control).toHaveAttribute("aria-pressed", "true");
  await page.keyboard.press("Escape");
  await expect(control).toHaveAttribute("aria-pressed", "false");
  await expect(page).not.toHaveURL(/present/);
  await allControls(page);
  await control.click();
  await control.click();
});

test("arrow keys turn no page outside a presentation, and a wrong value gets an error", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=why-noise.1&present=perhaps`);
  await expect(hook(page, "error")).toContainText("perhaps");
  await expect(page.getByTestId("lesson").getByText("1 of 8", { exact: true })).toBeVisible();
  await page.keyboard.press("ArrowRight");
  await page.waitForTimeout(300);
  await expect(page.getByTestId("lesson").getByText("1 of 8", { exact: true })).toBeVisible();
});
