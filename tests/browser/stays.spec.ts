import type { Page } from "@playwright/test";
import { expect, hook, long, open, test, value } from "./fixtures";

/**
 * Watches visible controls frame by frame; the result returns those that moved since its last call,
 * on the page or, in the transport bar, relative to the bar. A control that moves away between a
 * visitor's press and release is not clicked.
 */
async function watch(page: Page): Promise<() => Promise<string[]>> {
  await page.evaluate(() => {
    const moved: string[] = [];
    let before = new Map<Element, [number, number]>();
    const look = () => {
      const now = new Map<Element, [number, number]>();
      const bar = document.querySelector(".transport")!;
      for (const one of document.querySelectorAll("button, a, select, input, summary")) {
        if (!one.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })) continue;
        const place = one.getBoundingClientRect();
        const within = bar.contains(one) ? bar.getBoundingClientRect() : new DOMRect(-scrollX, -scrollY);
        const [x, y] = [place.x - within.x, place.y - within.y];
        const [left, top] = before.get(one) ?? [x, y];
        if (Math.abs(x - left) > 2 || Math.abs(y - top) > 2) {
          const name = one.getAttribute("aria-label") ?? (one.textContent || one.id);
          moved.push(`${name.trim()}: ${Math.round(x - left)}, ${Math.round(y - top)}`);
        }
        now.set(one, [x, y]);
      }
      before = now;
      requestAnimationFrame(look);
    };
    look();
    Object.assign(window, { moved });
  });
  // A change made just now is visible in the second frame from here.
  return () =>
    page.evaluate(async () => {
      for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
      return (window as unknown as { moved: string[] }).moved.splice(0);
    });
}

const drawn = "?backend=cpu&dataset=synthetic";
const first = "?backend=cpu";
// The drawer stays in the window while the page scrolls.
test.use({ settings: false });

for (const [query, width, language] of [
  [drawn, 390, "en"], [drawn, 390, "de"], [drawn, 1440, "en"], [drawn, 1440, "de"], [drawn, 1920, "en"], [drawn, 1920, "de"],
  [first, 390, "en"], [first, 1440, "en"], [first, 1440, "de"], [first, 1920, "en"],
] as const) {
  test(`controls stay in place while a run begins, plays and rests; ${query}, ${width} pixels (${language})`, long(query === first ? width !== 390 : width !== 1440 || language !== "de"), async ({ page, site }) => {
    await page.setViewportSize({ width, height: 900 });
    await open(page, site, `${query}&lang=${language}`);
    await expect(page.getByTestId("projection")).toContainText(/ε ≤ \d[^]*ε ≤ \d/);
    const moved = await watch(page);
    const tight = () => expect(hook(page, "epsilon")).toHaveAttribute("data-tight", /\d/);
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
    await tight();
    await expect(page.getByTestId("recorded")).toHaveCount(0);
    const step = await moved();
    // The very first step replaces the recorded run and its text.
    if (query !== first) expect(step, "after a step").toEqual([]);
    await hook(page, "play").click();
    // The first page's run has an end, after which others are offered; it is paused long before.
    await expect.poll(() => value(page, "step"), { intervals: [50] }).toBeGreaterThan(query === first ? 10 : 200);
    await hook(page, "pause").click();
    await tight();
    expect(await moved(), "while it plays").toEqual([]);
    if (width < 720) await page.locator(".tabs button").nth(1).click();
    await moved();
    // Whether a gradient is cut is random: both sentences take the same space.
    for (const end of query === first ? [] : [". Its length, 0.0888, is short enough to stay whole.", ", cut from length 1.2 to 1."]) {
      const said = `How it would change the model${end}`;
      await page.getByTestId("stage-length").locator("span").evaluate((span, said) => void ((span.firstChild as Text).data = said), said);
      expect(await moved(), said).toEqual([]);
    }
    await page.getByTestId("digit-pad").locator(".examples button").nth(3).click();
    await expect(page.getByTestId("prediction")).toHaveAttribute("data-value", /^[0-9]$/);
    expect(await moved(), "after a drawing").toEqual([]);
  });
}

test("a button held down while a step's numbers arrive is clicked", async ({ page, site }) => {
  await open(page, site, drawn);
  const example = page.getByRole("button", { name: "Draw an example 3" });
  await example.hover();
  await page.mouse.down();
  await page.keyboard.press("s");
  await expect(hook(page, "epsilon")).toHaveAttribute("data-tight", /\d/);
  await expect(hook(page, "accuracy")).toHaveAttribute("data-value", /\d/);
  await page.mouse.up();
  await expect(page.getByTestId("prediction")).toHaveAttribute("data-value", /^[0-9]$/);
});
