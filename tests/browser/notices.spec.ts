import type { Page } from "@playwright/test";
import { accessible } from "./axe";
import { allControls, expect, hook, open, rows, share, test, value, written } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic&preset=cpu";

/** Positions of everything but messages. */
const places = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("header, main, .transport, .panel, footer")].map((each) => {
      const { x, y, width, height } = each.getBoundingClientRect();
      return [each.className, x, y + scrollY, width, height].join(" ");
    }),
  );

/** True if the message covers the focused element. */
const covered = (page: Page) =>
  page.evaluate(() => {
    const [a, b] = [document.querySelector(".overlay")!, document.activeElement!].map((each) => each.getBoundingClientRect());
    return a.height > 0 && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  });

for (const [width, height] of [[1440, 900], [390, 844]] as const) {
  test(`a notice moves nothing and never covers the focused element, at ${width}`, async ({ page, site }) => {
    await page.setViewportSize({ width, height });
    await open(page, site, query);
    await expect(page.getByTestId("projection")).toContainText("tight accounting");
    await allControls(page);
    // Waits until the layout is stable.
    let before = await places(page);
    await expect.poll(async () => {
      const last = before;
      before = await places(page);
      return JSON.stringify(before) === JSON.stringify(last);
    }, { intervals: [500] }).toBe(true);
    await share(page);
    await expect(page.getByTestId("notice")).toBeVisible();
    expect(await places(page)).toEqual(before);
    // For several focused fields, at each scroll position.
    const fields = page.locator("main :is(button, input, select):visible");
    for (const field of [fields.first(), fields.nth(4), fields.nth(9), fields.last()]) {
      for (const block of ["start", "center", "end"] as const) {
        await field.evaluate((element, block) => {
          (element as HTMLElement).focus({ preventScroll: true });
          element.scrollIntoView({ block });
        }, block);
        await expect.poll(() => covered(page), `${await field.getAttribute("aria-label")} at the ${block}`).toBe(false);
      }
    }
    await accessible(page, "a notice over the page");
    await page.getByRole("button", { name: "Dismiss the notice" }).click();
    await expect(page.getByTestId("notice")).toHaveCount(0);
  });
}

test("a deleted run can be restored for a while, in its place, and its ε stays counted", async ({ page, site }) => {
  await page.clock.install();
  await open(page, site, query);
  for (let run = 0; run < 3; run++) {
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
    await hook(page, "reset").click();
    await expect.poll(() => value(page, "step")).toBe(0);
  }
  const names = () => rows(page).getByRole("textbox").evaluateAll((all) => all.map((each) => (each as HTMLInputElement).value));
  await expect(rows(page)).toHaveCount(3);
  const before = await names();
  await expect(page.getByTestId("together")).toContainText("All 3 runs");
  const together = await page.getByTestId("together").textContent();
  await rows(page).nth(1).getByRole("button", { name: /^Delete/ }).click();
  await expect(rows(page)).toHaveCount(2);
  const undo = page.getByTestId("undo");
  await expect(undo).toContainText(`“${before[1]}” was deleted. Its releases still count.`);
  // The countdown stops while the message has the pointer or the focus.
  await undo.hover();
  await page.clock.runFor(11_000);
  await accessible(page, "a run that can be had back");
  await undo.getByRole("button", { name: "Undo" }).click();
  await expect(undo).toHaveCount(0);
  expect(await names()).toEqual(before);
  // It is saved again, and counted once.
  await written(page);
  await open(page, site, query);
  await expect(rows(page)).toHaveCount(3);
  await expect(page.getByTestId("together")).toHaveText(together ?? "");
  await rows(page).first().getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(1);
  // The next action makes it final, and so does the timeout.
  await rows(page).first().getByRole("button", { name: /^Delete/ }).click();
  await expect(undo).toBeVisible();
  await hook(page, "reset").click();
  await expect(undo).toHaveCount(0);
  await rows(page).first().getByRole("button", { name: /^Delete/ }).click();
  await expect(undo).toBeVisible();
  await page.clock.runFor(11_000);
  await expect(undo).toHaveCount(0);
  await expect(rows(page)).toHaveCount(1);
});
