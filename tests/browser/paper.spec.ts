import { expect, hook, open, share, test, value } from "./fixtures";

for (const colorScheme of ["light", "dark"] as const) {
  test(`the printed page has text, pictures, charts, numbers and its address, and no controls; screen ${colorScheme}`, async ({ page, site }) => {
    await page.emulateMedia({ colorScheme });
    await open(page, site, "?backend=cpu&dataset=synthetic&steps=6");
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBe(6);
    await hook(page, "reset").click();
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
    await page.getByTestId("epsilon-meaning").locator("summary").first().click();
    await share(page);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print", colorScheme });
    const seen = await page.evaluate(() => {
      const visible = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)].filter((each) => each.checkVisibility() && each.getBoundingClientRect().height > 1);
      const picture = document.querySelector("canvas.weights, .stage canvas");
      return {
        pressed: visible("button:not(.word), select, input:not(.name), details:not([open])").filter((each) => !each.matches(".meaning p select")).map((each) => each.outerHTML.slice(0, 80)),
        charts: visible(".chart .plot").length,
        pictures: visible("canvas").length,
        // A picture painted for a dark screen is inverted.
        turned: picture ? getComputedStyle(picture).filter !== "none" : null,
        said: visible(".overlay *").length,
        ink: getComputedStyle(document.body).color,
        paper: getComputedStyle(document.documentElement).backgroundColor,
        address: getComputedStyle(document.body, "::after").content,
        wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      };
    });
    // Explained words and choices within a sentence are part of the text.
    await expect(page.getByTestId("epsilon-meaning").getByRole("row").nth(1)).toContainText("tight");
    await expect(page.getByTestId("epsilon-meaning").getByRole("combobox").first()).toBeVisible();
    expect(seen.pressed).toEqual([]);
    expect(seen.charts).toBeGreaterThan(1);
    expect(seen.pictures).toBeGreaterThan(0);
    if (seen.turned !== null) expect(seen.turned).toBe(colorScheme === "dark");
    expect(seen.said).toBe(0);
    expect(seen.paper).toBe("rgb(255, 255, 255)");
    expect(seen.ink).toBe("rgb(29, 33, 39)");
    expect(seen.address).toBe(`"${page.url()}"`);
    expect(seen.wide).toBeLessThanOrEqual(0);
    await expect(hook(page, "epsilon")).toBeVisible();
    await expect(hook(page, "accuracy")).toBeVisible();
  });
}
