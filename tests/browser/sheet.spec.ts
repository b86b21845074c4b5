import type { Page } from "@playwright/test";
import { accessible } from "./axe";
import { allControls, expect, hook, open, test, value } from "./fixtures";

const query = "?backend=cpu&preset=quick-linear&dataset=synthetic";

const { step } = test;

test.use({ settings: false });

const opener = (page: Page) => page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: "Settings" });
const sheet = (page: Page) => page.getByTestId("set-up");

/** The fraction of an element that is visible: within the window and not covered. */
const seen = (page: Page, selector: string) =>
  page.locator(selector).evaluate((element) => {
    const box = element.getBoundingClientRect();
    let count = 0;
    for (let x = 0.05; x < 1; x += 0.1) {
      for (let y = 0.05; y < 1; y += 0.1) {
        const top = document.elementFromPoint(box.left + x * box.width, box.top + y * box.height);
        if (top && (element.parentElement!.contains(top) || element.contains(top))) count += 1;
      }
    }
    return count / 100;
  });

for (const [width, height] of [[390, 844], [320, 640]] as const) {
  test(`on a phone of ${width} pixels the settings are a sheet over the stage's lower half, and on a desktop a drawer`, async ({ page, site }) => {
    await page.setViewportSize({ width, height });
    await open(page, site, query);

    await step("it opens and closes by keyboard, and the focus returns", async () => {
      await hook(page, "step-once").click();
      await expect(page.getByTestId("stage-step")).toContainText("Step 1.");
      await expect(sheet(page)).toBeHidden();
      // From any panel, it opens over the stage.
      await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: "Results" }).click();
      await opener(page).focus();
      await page.keyboard.press("Enter");
      await expect(sheet(page)).toBeVisible();
      await expect(opener(page)).toHaveAttribute("aria-expanded", "true");
      await expect(page.getByTestId("set-up-close")).toBeFocused();
      const [box, bar] = [(await sheet(page).boundingBox())!, (await page.locator(".transport").boundingBox())!];
      expect(box.y).toBeGreaterThanOrEqual(height / 2 - 1);
      expect(Math.abs(box.y + box.height - bar.y), "it lies on the transport").toBeLessThanOrEqual(1);
      expect(bar.height).toBeLessThanOrEqual(66);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      await expect(page.getByTestId("stage")).toBeVisible();
      await expect.poll(() => seen(page, '[data-testid="stage-released"]')).toBe(1);
      // Content under the sheet can be scrolled above it.
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await page.getByTestId("stage-says").scrollIntoViewIfNeeded();
      expect((await page.getByTestId("stage-says").boundingBox())!.y).toBeLessThan(height / 2);
      await page.evaluate(() => scrollTo(0, 0));
      await accessible(page, "the sheet");
      // Its last control can be reached, and is not under the transport.
      const last = sheet(page).locator("details.advanced summary");
      await last.focus();
      const place = (await last.boundingBox())!;
      expect(place.y).toBeGreaterThanOrEqual(box.y);
      expect(place.y + place.height).toBeLessThanOrEqual(bar.y + 1);
      await page.keyboard.press("Escape");
      await expect(sheet(page)).toBeHidden();
      await expect(opener(page)).toBeFocused();
      await expect(opener(page)).toHaveAttribute("aria-expanded", "false");
      await page.keyboard.press("Enter");
      await page.getByTestId("set-up-close").click();
      await expect(sheet(page)).toBeHidden();
      await expect(opener(page)).toBeFocused();
    });

    await step("with the sheet open a setting changes the stage above it, and the transport works", async () => {
      await opener(page).click();
      await hook(page, "model").selectOption("mlp");
      await expect(page).toHaveURL(/model=mlp/);
      await expect.poll(() => value(page, "step")).toBe(0);
      await hook(page, "step-once").click();
      await expect.poll(() => value(page, "step")).toBe(1);
      await expect(page.getByTestId("stage-step")).toContainText("Step 1.");
      await expect(sheet(page)).toBeVisible();
      // Whatever the transport's height, the sheet lies on it.
      await allControls(page);
      const bottom = async () => {
        const [box, bar] = [(await sheet(page).boundingBox())!, (await page.locator(".transport").boundingBox())!];
        return Math.abs(box.y + box.height - bar.y);
      };
      await expect.poll(bottom).toBeLessThanOrEqual(1);
      await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: "Stage" }).click();
      await expect(sheet(page)).toBeHidden();
    });

    await step("on a desktop it is a drawer that stays over a reload, until it is closed", async () => {
      await page.setViewportSize({ width: 1440, height: 900 });
      const settings = page.getByTestId("settings");
      await expect(sheet(page)).toBeHidden();
      await settings.press("Enter");
      await expect(page.getByTestId("set-up-close")).toBeFocused();
      const [left, drawer, right] = [page.getByTestId("stage"), sheet(page), page.locator(".results")].map((part) => part.boundingBox());
      expect((await left)!.x + (await left)!.width).toBeLessThanOrEqual((await drawer)!.x);
      expect((await drawer)!.x + (await drawer)!.width).toBeLessThanOrEqual((await right)!.x);
      await page.reload();
      await expect(sheet(page)).toBeVisible();
      await expect(settings).toHaveAttribute("aria-expanded", "true");
      await page.keyboard.press("Escape");
      await expect(sheet(page)).toBeHidden();
      await expect(settings).toBeFocused();
      await page.reload();
      await expect(settings).toBeVisible();
      await expect(sheet(page)).toBeHidden();
    });
  });
}

test("a lesson opens the sheet for steps about the set-up, and closes it afterwards", async ({ page, site }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, site, `${query}&lesson=composition.4`);
  await expect(sheet(page)).toBeVisible();
  const pointed = sheet(page).locator(".pointed");
  await expect(pointed).toHaveAttribute("data-testid", "projection");
  await expect(pointed).toBeInViewport({ ratio: 1 });
  await accessible(page, "a lesson over the sheet");
  await page.getByTestId("lesson-next").click();
  await expect(sheet(page)).toBeHidden();
  await page.getByTestId("lesson-back").click();
  await expect(sheet(page)).toBeVisible();
  await page.getByRole("button", { name: "Close the lesson" }).click();
  await expect(sheet(page)).toBeHidden();
});
