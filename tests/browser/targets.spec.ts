import type { Page } from "@playwright/test";
import { allControls, expect, hook, idle, long, open, share, test, value } from "./fixtures";

/** Lists visible controls under 24 px wide or high, except sentence links (WCAG 2.2, 2.5.8). */
const small = (page: Page) =>
  page.evaluate(() => {
    const found: string[] = [];
    for (const each of document.querySelectorAll<HTMLElement>("button, a[href], summary, select, input, textarea, [role=button], [tabindex='0']")) {
      if (!each.checkVisibility({ visibilityProperty: true, opacityProperty: true, contentVisibilityAuto: true })) continue;
      if (each.matches("p a, li a, .skip, .visually-hidden")) continue;
      const label = (each as HTMLInputElement).labels?.[0];
      // A choice that is shown as its label.
      const hidden = each.matches("input") && each.getBoundingClientRect().width <= 2;
      const { width, height } = (hidden && label ? label : each).getBoundingClientRect();
      if (width === 0 || (width >= 24 && height >= 24)) continue;
      found.push(`${each.tagName} “${each.getAttribute("aria-label") ?? each.textContent?.trim().slice(0, 30)}” ${width.toFixed(1)} × ${height.toFixed(1)}`);
    }
    return found;
  });

/** Opens every fold of the page except its menus. */
const unfold = (page: Page) =>
  page.evaluate(() => document.querySelectorAll<HTMLDetailsElement>("details:not(.menu, .badge)").forEach((each) => (each.open = true)));

for (const [width, height] of [[390, 844], [1440, 900]] as const) {
  test(`every control is at least 24 px, at ${width}`, long(width > 390), async ({ page, site }) => {
    await page.setViewportSize({ width, height });
    await open(page, site, "?backend=cpu&dataset=synthetic&encoder=envelope&noise=student-t&schedule=linear&steps=8");
    await allControls(page);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBe(8);
    await hook(page, "reset").click();
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
    await share(page);
    await expect(page.getByTestId("notice")).toBeVisible();
    await unfold(page);
    await idle(page);
    await unfold(page);
    await page.locator(".hint").evaluateAll((all) => all.forEach((hint) => (hint as HTMLElement).click()));
    const tabs = page.getByRole("navigation", { name: "Panels" }).getByRole("button");
    const count = (await tabs.first().isVisible().catch(() => false)) ? await tabs.count() : 0;
    for (let tab = 0; tab < Math.max(1, count); tab++) {
      // Hints may cover it.
      if (count > 0) await tabs.nth(tab).evaluate((each) => (each as HTMLElement).click());
      expect(await small(page), `panel ${tab}`).toEqual([]);
    }
    for (const menu of ["lessons", "export"]) {
      await page.getByTestId(menu).locator("summary").evaluate((each) => (each as HTMLElement).click());
      await expect(page.getByTestId(menu).getByRole("button").first()).toBeVisible();
      expect(await small(page), menu).toEqual([]);
      await page.keyboard.press("Escape");
    }
    await page.locator("details.badge summary").evaluate((each) => (each as HTMLElement).click());
    expect(await small(page), "badge").toEqual([]);
    await page.getByTestId("noise-lab").evaluate((each) => (each as HTMLElement).click());
    await expect(page.getByTestId("lab-table").locator("tbody tr").first()).toBeVisible();
    await unfold(page);
    expect(await small(page), "noise lab").toEqual([]);
    await open(page, site, "?backend=cpu&dataset=synthetic&lesson=why-noise");
    await expect(page.getByTestId("lesson")).toBeVisible();
    await unfold(page);
    expect(await small(page), "lesson").toEqual([]);
  });
}

test("every control in a frame is at least 24 px", async ({ page, site }) => {
  await page.setViewportSize({ width: 640, height: 400 });
  await page.goto(`${site.url}embed.html?backend=cpu&dataset=synthetic&controls=preset,dataset,sigma,noise,denoiser`);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await page.locator(".hint").evaluateAll((all) => all.forEach((hint) => (hint as HTMLElement).click()));
  expect(await small(page)).toEqual([]);
});
