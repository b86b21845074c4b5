import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { around, CPU, element, inside } from "./around";
import { accessible } from "./axe";
import { allControls, expect, hook, open, test, value } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic&preset=quick-linear&steps=20";

/** German by English. */
const german = new Map([...readFileSync("../../www/text/de.txt", "utf8").matchAll(/^([^@#=\n].*)\n= (.*)\n/gm)].map(([, english, own]) => [english, own]));
/** What is only English, with something to tell it by. */
const english = [...german].filter(([text, own]) => text !== own && /[a-z]{3}/.test(text) && !text.includes("{")).map(([text]) => text);

/** Texts of the page, also those of screen readers, that are English while it speaks German. */
const leftovers = (page: Page) =>
  page.evaluate((english) => {
    const known = new Set(english);
    const found: string[] = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      if (node instanceof Element) {
        for (const name of ["aria-label", "title", "placeholder"]) found.push(node.getAttribute(name)?.trim() ?? "");
      } else if (!node.parentElement?.closest("script, style, noscript, #failed")) found.push(node.textContent!.trim());
    }
    return [...new Set(found)].filter((text) => known.has(text));
  }, english);

test("in German nothing of the page is English, from the first sight to the end of a run", async ({ page, site }) => {
  await open(page, site, `${query}&lang=de`);
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
  await expect(hook(page, "play")).toContainText(german.get("Play")!);
  expect(await leftovers(page)).toEqual([]);
  await accessible(page, "in German");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(20);
  await page.evaluate(() => document.querySelectorAll<HTMLDetailsElement>("details:not(.menu)").forEach((each) => (each.open = true)));
  await page.getByTestId("noise-lab").click();
  await page.locator(".hint").evaluateAll((all) => all.forEach((hint) => (hint as HTMLElement).click()));
  await expect.poll(() => leftovers(page)).toEqual([]);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  expect(await leftovers(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByTestId("cards").click();
  await expect(page.getByRole("dialog").locator(".card, [data-preset]").first()).toBeVisible();
  expect(await leftovers(page)).toEqual([]);
  await page.keyboard.press("Escape");
});

test("numbers are written as the language has it, and read in its way and in the other", async ({ page, site }) => {
  await open(page, site, `${query}&lang=de`);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(20);
  await expect(hook(page, "accuracy")).toContainText(/^\d+,\d%/);
  await expect(hook(page, "epsilon")).toContainText(/0,\d+/);
  expect(await value(page, "accuracy"), "programs read it as ever").toBeLessThan(1);
  for (const typed of ["0,25", "0.25"]) {
    await hook(page, "learning-rate").fill(typed);
    await hook(page, "learning-rate").press("Enter");
    await expect(page).toHaveURL(/rate=0\.25/);
    await expect(hook(page, "learning-rate")).toHaveValue("0,25");
    await hook(page, "learning-rate").fill("4");
    await hook(page, "learning-rate").press("Enter");
  }
});

test("another language is chosen in the header: the run stays, the choice is kept, and a link's goes before it", async ({ page, site }) => {
  await open(page, site, query);
  await expect(page.locator("html")).toHaveAttribute("lang", "en");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(20);
  const accuracy = await value(page, "accuracy");
  const chosen = page.getByTestId("language");
  await expect(chosen.locator("option")).toHaveText(["English", "Deutsch"]);
  await chosen.focus();
  await chosen.selectOption("de");
  await expect(hook(page, "play")).toContainText(german.get("Play")!);
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
  expect([await value(page, "step"), await value(page, "accuracy")]).toEqual([20, accuracy]);
  expect(await leftovers(page)).toEqual([]);
  await expect(page.getByTestId("language")).toBeFocused();
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await open(page, site, query);
  await expect(hook(page, "play")).toContainText(german.get("Play")!);
  await open(page, site, `${query}&lang=en`);
  await expect(hook(page, "play")).toContainText("Play");
  await expect(page).toHaveURL(/lang=en/);
  await open(page, site, `${query}&lang=xx`);
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
});

test("the browser's own language is spoken, where the page has it", async ({ browser, site }) => {
  for (const [locale, lang] of [["de-AT", "de"], ["fr-FR", "en"]]) {
    const context = await browser.newContext({ locale });
    const page = await context.newPage();
    await page.goto(site.url + query);
    await expect(hook(page, "backend")).toContainText("CPU");
    await expect(page.locator("html")).toHaveAttribute("lang", lang);
    await context.close();
  }
});

test("an open lesson goes on in the other language, with its numbers", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&lesson=why-noise.1");
  const lesson = page.getByTestId("lesson");
  await expect(lesson).toContainText("Train in the open");
  await page.getByTestId("language").selectOption("de");
  const title = /^## (.*)$/m.exec(readFileSync("../../www/lessons.de.txt", "utf8"))![1];
  await expect(lesson).toContainText(title);
  await expect(lesson).not.toContainText(/[{}]/);
  await expect(page).toHaveURL(/lesson=why-noise\.1/);
  await page.getByTestId("lesson-next").click();
  await expect(lesson.getByText("2 / 8").or(lesson.getByText("2 von 8"))).toBeVisible();
  expect(await leftovers(page)).toEqual([]);
});

test("a word is explained in the page's language", async ({ page, site }) => {
  await open(page, site, `${query}&lang=de`);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(20);
  await page.locator("[data-word=epoch]").click();
  const text = /^epoch: (.*)\n(.*)$/m.exec(readFileSync("../../www/glossary.de.txt", "utf8"))!;
  await expect(page.getByRole("dialog").getByRole("heading")).toHaveText(text[1]);
  await expect(page.getByRole("dialog")).toContainText(text[2]);
});

for (const [width, height] of [[320, 700], [390, 844], [1440, 900]]) {
  test(`German fits into ${width} by ${height}`, async ({ page, site }) => {
    await page.setViewportSize({ width, height });
    await open(page, site, `${query}&lang=de`);
    const beyond = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(await beyond()).toBeLessThanOrEqual(0);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBe(20);
    await allControls(page);
    expect(await beyond()).toBeLessThanOrEqual(0);
    const rows = await page.locator("header.bar").evaluate((bar) => bar.getBoundingClientRect().height);
    if (width === 1440) expect(rows, "the header is one row").toBeLessThan(80);
  });
}

test("a frame speaks as the page around it, or as its element says", async ({ browser, site }) => {
  for (const [attributes, lang, spoken] of [["", "de", "de"], [`lang="en"`, "de", "en"], ["", "fr", "en"]]) {
    await around(browser, `<div lang="${lang}">${element(site, `${CPU} ${attributes}`)}</div>`, async (page) => {
      await expect(inside(page).getByTestId("play")).toContainText(spoken === "de" ? german.get("Play")! : "Play");
    });
  }
});

// A service worker would have the file.
test.describe("without a service worker", () => {
  test.use({ serviceWorkers: "block" });

  test("texts that do not come are named; another language's leave the page as it is", async ({ page, site, watched }) => {
    watched.allowed.push(/text\/(en|de)\.txt/, /404/, /Failed to fetch/);
    site.missing.add("text/en.txt");
    await page.goto(site.url + query);
    await expect(page.locator("#failed")).toContainText("en.txt");
    await expect(page.locator("#failed")).toBeVisible();
    site.missing.clear();
    await open(page, site, query);
    site.missing.add("text/de.txt");
    await page.getByTestId("language").selectOption("de");
    await expect(page.locator("#failed")).toContainText("de.txt");
    await expect(hook(page, "play")).toContainText("Play");
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
  });
});
