import { join, resolve } from "node:path";
import { expect, hook, open, test, value } from "./fixtures";

const FOLDER = resolve("../../docs/pictures");
/** Width, height and theme of each. */
const PICTURES = [
  [1440, 900, "light"],
  [1440, 900, "dark"],
  [1024, 900, "light"],
  [768, 1024, "dark"],
  [360, 740, "light"],
] as const;

test("the page after a private run, at every size", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&preset=quick-linear&dataset=synthetic");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(400);
  await expect(page.locator(".results path.line-open")).toHaveCount(1);
  await page.getByRole("button", { name: "Draw an example 7" }).click();
  await expect(page.getByTestId("prediction")).toHaveAttribute("data-value", /^[0-9]$/);
  // However fast the run was, its tiles are there.
  await expect(page.locator(".tile-3 path.line-noisy")).toHaveCount(1);
  await expect(page.locator(".station.lit")).toHaveCount(0);
  for (const [width, height, theme] of PICTURES) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    await page.evaluate(() => scrollTo(0, 0));
    // Charts follow the size of their place one frame later.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.screenshot({ path: join(FOLDER, `page-${width}-${theme}.png`), animations: "disabled" });
  }
});
