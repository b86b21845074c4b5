import { readFileSync } from "node:fs";
import type { Locator, Page } from "@playwright/test";
import { accessible } from "./axe";
import { allControls, edited, expect, hook, idle, long, open, test, value } from "./fixtures";
import type { Site } from "./server";

// A right-to-left language needs only a table that says so. None exists yet, so one is made up.

const query = "?backend=cpu&dataset=synthetic&preset=quick-linear&steps=20";

/** English texts between Arabic letters; a button's text still begins its accessible name. */
const table = readFileSync("../../www/text/en.txt", "utf8")
  .replace("@name English", "@name العربية")
  .replace("@dir ltr", "@dir rtl")
  .replace(/^(?!@|# )(.+)$/gm, (english: string) => `${english}\n= ${english.split(" | ").map((form) => `و ${form.replace(/([.?!:…])$/, " ع$1")}`).join(" | ")}`);

/** Opens the page as a build with such a table would make it. */
async function openRightToLeft(page: Page, site: Site, query: string) {
  const meta = '<meta name="hushgrad-text-ar" content="./text/ar.txt">\n  <meta name="hushgrad-text-en"';
  await edited(page, site, (html) => html.replace('<meta name="hushgrad-text-en"', meta));
  await page.route("**/text/ar.txt", (route) => route.fulfill({ contentType: "text/plain; charset=utf-8", body: table }));
  await open(page, site, `${query}&lang=ar`);
  await expect(page.locator("html")).toHaveAttribute("dir", "rtl");
  await expect(hook(page, "play")).toContainText("و Play");
}

/** Lists elements outside the window, scroll boxes excepted; to the right none can be reached. */
const beyond = (page: Page) =>
  page.evaluate(() => {
    const all = [...document.querySelectorAll("body *")].filter((each) => each.checkVisibility() && !each.closest(".scroll, .visually-hidden, .skip, svg *, .overlay"));
    const out = all.filter((each) => {
      const { left, right, width } = each.getBoundingClientRect();
      return width > 1 && (left < -1 || right > innerWidth + 1);
    });
    return [document.documentElement.scrollWidth - innerWidth > 0 ? "it scrolls" : "", ...out.map((each) => `${each.tagName} ${each.className}: ${each.textContent?.slice(0, 40)}`)].filter(Boolean);
  });

/** True if `one` is further right than `other`. */
async function after(one: Locator, other: Locator): Promise<boolean> {
  const [a, b] = await Promise.all([one, other].map((each) => each.boundingBox()));
  return a!.x + a!.width / 2 > b!.x + b!.width / 2;
}

for (const [what, sizes] of [["a phone", [[320, 700], [390, 844]]], ["a desk", [[1440, 900], [1920, 1080]]]] as const) {
  test(`in a right-to-left language everything on ${what} is within the window and accessible`, long(what === "a desk"), async ({ page, site }) => {
    const resized = ([width, height]: readonly [number, number]) => page.setViewportSize({ width, height });
    await resized(sizes[0]);
    await openRightToLeft(page, site, query);
    for (const size of sizes) {
      await resized(size);
      expect(await beyond(page), `${size}`).toEqual([]);
    }
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBe(20);
    await allControls(page);
    for (const size of sizes) {
      await resized(size);
      expect(await beyond(page), `${size}, trained`).toEqual([]);
    }
    // Folds, each panel of a phone, and menus.
    await page.evaluate(() => document.querySelectorAll<HTMLDetailsElement>("details:not(.menu, .badge)").forEach((each) => (each.open = true)));
    const tabs = what === "a phone" ? await page.locator(".tabs button").all() : [];
    for (const tab of [null, ...tabs]) {
      await tab?.click();
      for (const size of sizes) {
        await resized(size);
        expect(await beyond(page), `${size}, a panel`).toEqual([]);
        await accessible(page, `${size}, from right to left`);
      }
    }
    await expect(page.locator(".badge summary")).toBeVisible();
    for (const menu of await page.locator(".menu > summary, .badge summary").all()) {
      const name = await menu.textContent();
      if (!(await menu.isVisible())) continue;
      await menu.click();
      for (const size of sizes) {
        await resized(size);
        expect(await beyond(page), `${size}, ${name}`).toEqual([]);
      }
      await page.keyboard.press("Escape");
    }
    await page.goto(page.url() + "&lesson=one-step.2");
    await expect(page.getByTestId("lesson").locator("h3")).toBeVisible();
    for (const size of sizes) {
      await resized(size);
      expect(await beyond(page), `${size}, a lesson`).toEqual([]);
      await accessible(page, `${size}, a lesson from right to left`);
    }
  });
}

test("the page is mirrored, and charts and numbers are not", async ({ page, site }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await openRightToLeft(page, site, query);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(20);
  expect(await after(page.locator(".bar h1"), page.getByTestId("more"))).toBe(true);
  expect(await after(page.locator(".panel.setup"), page.locator(".panel.results"))).toBe(true);
  expect(await after(page.locator(".buttons"), page.locator(".readouts"))).toBe(true);
  const stations = page.locator(".station");
  expect(await after(stations.nth(0), stations.nth(1))).toBe(true);
  expect(await after(page.locator(".control.number .label").first(), page.locator(".control.number input[type=text]").first())).toBe(true);

  const chart = page.locator(".results .chart").first();
  // The scale's labels are left of its axis, and later steps further right.
  const scale = await chart.locator(".plot").evaluate((plot) => {
    const box = (each: Element) => each.getBoundingClientRect();
    const labels = [...plot.querySelectorAll("text.tick")];
    const axis = Math.min(...[...plot.querySelectorAll(".grid, .axis")].map((each) => box(each).left));
    const own = labels.filter((each) => each.getAttribute("dy"));
    const along = labels.filter((each) => !each.getAttribute("dy")).map((each) => [Number.parseFloat(each.textContent!.replace(",", "")), box(each).left]);
    return { beyond: own.filter((each) => box(each).right > axis + 4).length, labels: own.length, along, outside: labels.filter((each) => box(each).right > box(plot).right + 2).length };
  });
  expect(scale.labels).toBeGreaterThan(1);
  expect(scale).toMatchObject({ beyond: 0, outside: 0 });
  const rising = [...scale.along].sort(([a], [b]) => a - b);
  expect(scale.along.map(([, left]) => left)).toEqual(rising.map(([, left]) => left).sort((a, b) => a - b));

  // The ≤ of a bound is left of its number.
  const signs = await hook(page, "epsilon").evaluate((epsilon) => {
    const text = document.createTreeWalker(epsilon, NodeFilter.SHOW_TEXT).nextNode()!;
    const place = (at: number) => {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      return range.getBoundingClientRect().left;
    };
    return { text: text.textContent!, sign: place(0), digit: place(text.textContent!.search(/\d/)) };
  });
  expect(signs.text).toMatch(/^≤ \d/);
  expect(signs.sign).toBeLessThan(signs.digit);
  for (const field of ["noise-scale", "learning-rate", "delta"] as const) {
    expect(await hook(page, field).evaluate((input) => [getComputedStyle(input).direction, getComputedStyle(input).textAlign]), field).toEqual(["ltr", "right"]);
  }
});

test("arrow keys follow their direction in sliders, the lot's pictures and a presented lesson", async ({ page, site }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await openRightToLeft(page, site, query);
  const field = hook(page, "noise-scale");
  const slider = page.locator(".control.number", { has: field }).locator(".slider");
  const ends = page.locator(".control.number", { has: field }).locator(".ends span");
  expect(await after(ends.nth(0), ends.nth(1)), "the low end is at the right").toBe(true);
  const number = async () => Number(await field.inputValue());
  const first = await number();
  await slider.focus();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(number).not.toBe(first);
  const [moved, share] = [await number(), await slider.evaluate((each: HTMLInputElement) => Number(each.value))];
  await page.keyboard.press("ArrowRight");
  await expect.poll(number).toBeCloseTo(first, 6);
  expect(await slider.evaluate((each: HTMLInputElement) => Number(each.value)), "left is towards the high end").toBeLessThan(share);
  // In every direction, up is more.
  await field.focus();
  await page.keyboard.press("ArrowUp");
  await expect.poll(number).toBeGreaterThan(first);
  expect(moved).not.toBe(first);

  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const ringed = page.locator(".lot-buttons .ringed");
  await expect(ringed).toBeVisible();
  await page.locator(".lot-buttons button").nth(2).click();
  await expect(page.locator(".lot-buttons button").nth(2)).toHaveClass(/ringed/);
  const before = await ringed.boundingBox();
  // The button lies on its picture: the third from the left.
  const lot = (await page.locator(".lot-digits").boundingBox())!;
  expect(before!.x - lot.x).toBeLessThan(lot.width / 2);
  await page.keyboard.press("ArrowRight");
  await expect.poll(async () => (await ringed.boundingBox())!.x).toBeGreaterThan(before!.x);

  await page.setViewportSize({ width: 1920, height: 1080 });
  await page.goto(`${site.url}?backend=cpu&dataset=synthetic&lesson=one-step.1&present=1&lang=ar`);
  const lesson = page.getByTestId("lesson");
  await expect(lesson).toContainText("2");
  await expect(page.locator("html")).toHaveAttribute("data-present", "");
  expect((await lesson.boundingBox())!.x, "beside the page, where lines end").toBeLessThan(100);
  const place = () => lesson.locator(".lesson-turn span").textContent();
  const started = await place();
  await page.keyboard.press("ArrowLeft");
  await expect.poll(place).not.toBe(started);
  await page.keyboard.press("ArrowRight");
  await expect.poll(place).toBe(started);
});

test("a word's explanation is aligned with the start of its line", async ({ page, site }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await openRightToLeft(page, site, query);
  await idle(page);
  const word = page.locator("[data-word]:visible").first();
  await word.click();
  const explained = page.locator(".explained");
  await expect(explained).toBeVisible();
  const [at, own] = [(await word.boundingBox())!, (await explained.boundingBox())!];
  const right = Math.max(own.width + 8, Math.min(at.x + at.width, 1440 - 8));
  expect(Math.abs(own.x + own.width - right)).toBeLessThan(20);
  await accessible(page, "an explanation from right to left");
});
