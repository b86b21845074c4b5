import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Page } from "@playwright/test";
import { accessible } from "./axe";
import { expect, hook, installed, long, open, share, test, value } from "./fixtures";
import { decoded } from "./qr";

// The teacher's page: QR codes, solutions that agree with the page, equality in every language.

const file = (lang: string) => (lang === "en" ? "teach.html" : `teach.${lang}.html`);
const teach = (site: { url: string }, lang = "en") => `${site.url}${file(lang)}`;
/** The languages of the teacher's page; `titles` gives the keys and titles of their lessons. */
const LANGUAGES = readdirSync("../../www/text").map((name) => name.replace(".txt", "")).filter((lang) => existsSync(`../../www/${file(lang)}`));
const titles = (lang: string) =>
  [...readFileSync(`../../www/lessons${lang === "en" ? "" : `.${lang}`}.txt`, "utf8").matchAll(/^# ([\w-]+) \| (.+)$/gm)].map(([, key, title]) => [key, title.replace("'", "’")]);

/** The structure that all languages share: elements outside sentences, links, claims and names. */
const frame = (page: Page) =>
  page.locator("main").evaluate((main) => {
    const link = (href: string | null) => href?.replace(/([?&])lang=\w+/, "$1lang=") ?? null;
    const within = ["EM", "STRONG", "SUP"];
    const kept = ["id", "class", "type", "name", "scope", "data-run", "data-shows", "rel"];
    // Their order within a sentence may differ.
    const numbers = (run: Element) => [...run.querySelectorAll("[data-shows]")].map((each) => `${each.getAttribute("data-shows")} ${each.textContent}`).sort();
    return [...main.querySelectorAll(":not(.languages *, .qr, .qr *)")].filter((each) => !within.includes(each.tagName) && !each.matches("[data-shows]")).map((each) => {
      const attributes = kept.map((name) => each.getAttribute(name)).filter(Boolean).join(" ");
      return [each.tagName, attributes, link(each.getAttribute("href")), each.matches("[data-run]") ? numbers(each) : []];
    });
  });

test("the page shows what a solution says, with the task's own link", long(), async ({ page, site }) => {
  await page.goto(teach(site));
  // `src/ui/state/solutions_tests.rs` checks all of them by the accountant and on MNIST.
  const task = page.locator("#task-6");
  const link = new URL(await task.locator(".task-link").evaluate((link: HTMLAnchorElement) => link.href));
  const run = task.locator("li[data-run='steps=1000']");
  const says = (name: string) => run.locator(`[data-shows=${name}]`).first().textContent();
  const [epsilon, odds] = [await says("epsilon"), await says("odds")];
  link.searchParams.set("steps", "1000");
  link.searchParams.set("backend", "cpu");
  await open(page, site, link.search);
  await expect(page.getByTestId("task")).toBeVisible();
  const found = page.getByTestId("odds-found");
  await expect(found).toHaveText(odds!);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(1000);
  await expect(hook(page, "epsilon")).toHaveText(`≤ ${epsilon}`);
  await expect(found).toHaveText(odds!);
});

const numbers = (text: string, decimal: string, group: string) =>
  [...text.matchAll(/\d[\d.,]*\d|\d/g)].map(([number]) => number.replaceAll(group, "").replace(decimal, ".")).sort();

/** The parts that are compared with the English page. */
async function said(page: Page) {
  const texts = (selector: string) => page.locator(selector).allTextContents();
  return { frame: await frame(page), sentences: await texts(".task :is(h3, p, li)"), sections: await texts("h2, h3, .lesson-notes dl"), names: await texts("main em") };
}

/** Counts what is visible in print. */
async function printed(page: Page) {
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  const found = await page.evaluate(() => {
    const visible = (selector: string) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility() && each.getBoundingClientRect().height > 1).length;
    return { tasks: visible(".task"), codes: visible(".task .qr"), addresses: visible(".task figcaption"), solutions: visible(".task details li"), plan: visible("#lesson-why-noise, .facts"), choices: visible(".print-choice"), lines: visible(".answer-line") };
  });
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  return found;
}

test("the teacher's page is the same in every language: codes, sections, links, solutions, numbers, notes, width and print", async ({ page, site }) => {
  expect(LANGUAGES).toContain("en");
  expect(LANGUAGES.length).toBeGreaterThan(1);
  let english!: Awaited<ReturnType<typeof said>>;
  for (const lang of ["en", ...LANGUAGES.filter((lang) => lang !== "en")]) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(teach(site, lang));
    await expect(page.locator("html")).toHaveAttribute("lang", lang);
    const tasks = page.locator(".task");
    await expect(tasks).toHaveCount(6);
    await test.step(`${lang}: every task has a QR code of its link, wherever the site is hosted`, async () => {
      for (let at = 0; at < 6; at += 1) {
        const link = await tasks.nth(at).locator(".task-link").evaluate((link: HTMLAnchorElement) => link.href);
        expect(link.startsWith(`${site.url}?`)).toBe(true);
        expect(link.endsWith(`&lang=${lang}`), "a class reads the page that its teacher reads").toBe(true);
        await expect.poll(() => decoded(tasks.nth(at).locator(".qr"))).toBe(link);
      }
    });
    await test.step(`${lang}: sections, links, solutions and their numbers are those in English`, async () => {
      const own = await said(page);
      if (lang === "en") {
        english = own;
        expect(own.frame.length).toBeGreaterThan(200);
        return;
      }
      const table = readFileSync(`../../www/text/${lang}.txt`, "utf8");
      const [decimal, group] = ["decimal", "group"].map((name) => new RegExp(`^@${name} (.)`, "m").exec(table)![1]);
      const there = own.frame.map(([tag, attributes, href, shown]) => [tag, attributes, href, (shown as string[]).map((each) => each.replaceAll(group, "").replace(decimal, "."))]);
      expect(there, lang).toEqual(english.frame);
      // Including those within sentences.
      for (const [at, text] of own.sentences.entries()) expect(numbers(text, decimal, group), `${lang}: ${text}`).toEqual(numbers(english.sentences[at], ".", ","));
      for (const [at, text] of own.sections.entries()) expect(text, lang).not.toBe(english.sections[at]);
      // Names of parts of the page are those that the page itself has in this language.
      const texts = new Map([...table.matchAll(/^([^@#=\n].*)\n= (.*)$/gm)].map(([, own, translated]) => [own, translated]));
      const translated = (name: string) => texts.get(name) ?? texts.get(`${name}:`)?.replace(/:$/, "");
      const names = [...new Set(english.names)].filter(translated);
      expect(names.length).toBeGreaterThan(8);
      for (const name of names) expect(own.names, lang).toContain(translated(name));
    });
    await test.step(`${lang}: a hand-out prints the tasks without solutions, and a complete print everything`, async () => {
      // Even if one is open on the screen.
      const open = (now: boolean) => tasks.first().locator("details").evaluate((fold: HTMLDetailsElement, now) => void (fold.open = now), now);
      await open(true);
      expect(await printed(page)).toEqual({ tasks: 6, codes: 6, addresses: 6, solutions: 0, plan: 0, choices: 0, lines: 6 });
      await open(false);
      await page.locator("#print-all").check();
      const all = await printed(page);
      expect(all.solutions).toBeGreaterThan(15);
      expect(all).toMatchObject({ tasks: 6, codes: 6, plan: 2, choices: 0, lines: 0 });
      // Folds that were opened for printing are closed again.
      await expect(page.locator(".task details[open]")).toHaveCount(0);
    });
    await test.step(`${lang}: it has notes on every lesson, and fits a phone`, async () => {
      const asks = await page.locator("#lesson-why-noise dt").allTextContents();
      expect(new Set(asks).size).toBe(3);
      if (lang === "en") expect(asks.slice(1)).toEqual(["They should say", "They often say"]);
      for (const [key, title] of titles(lang)) {
        const notes = page.locator(`#lesson-${key}`);
        await expect(notes.getByRole("link", { name: title }), key).toHaveAttribute("href", `./?lesson=${key}&lang=${lang}`);
        await expect(notes.locator("dt"), key).toHaveText([/^\d+ · /, ...asks.slice(1)]);
      }
      await page.locator("details").evaluateAll((all) => all.forEach((fold) => ((fold as HTMLDetailsElement).open = true)));
      for (const width of [320, 390, 1440, 1920]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate(() => document.documentElement.scrollWidth), `${lang} ${width}`).toBeLessThanOrEqual(width);
      }
      await accessible(page, `the teacher's page in ${lang}, with its solutions`);
    });
  }
});

test("the teacher's page is readable without scripts", async ({ browser, site }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
  const plain = await context.newPage();
  await plain.goto(teach(site));
  await expect(plain.getByRole("heading", { level: 1 })).toBeVisible();
  await plain.locator("#task-1 summary").click();
  await expect(plain.locator("#task-1 details")).toContainText("90.5%");
  await plain.getByRole("link", { name: "Deutsch" }).click();
  await expect(plain.getByRole("heading", { level: 1 })).toContainText("Was ε ist");
  await context.close();
});

test("the teacher's page has the language of its link, the one chosen, or the visitor's, and never shows another first", async ({ browser, site }) => {
  const at = async (locale: string, path: string, chosen?: string) => {
    const context = await browser.newContext({ locale });
    const page = await context.newPage();
    if (chosen) await context.addInitScript((chosen) => localStorage.setItem("hushgrad-language", chosen), chosen);
    // Records whether a page that redirects was painted.
    await page.addInitScript(() => addEventListener("pagehide", () => sessionStorage.setItem("left", String(document.body?.checkVisibility() ?? false))));
    await page.goto(site.url + path);
    await expect(page.locator("#task-6 .qr")).toBeVisible();
    const found = await page.evaluate(() => ({ lang: document.documentElement.lang, file: location.pathname.split("/").pop(), rest: location.search + location.hash, left: sessionStorage.getItem("left") }));
    await context.close();
    return found;
  };
  expect(await at("en-GB", "teach.html")).toEqual({ lang: "en", file: "teach.html", rest: "", left: null });
  expect(await at("fr-FR", "teach.html")).toMatchObject({ lang: "en" });
  expect(await at("de-AT", "teach.html#task-3")).toEqual({ lang: "de", file: "teach.de.html", rest: "#task-3", left: "false" });
  expect(await at("de-AT", "teach.html?lang=en")).toMatchObject({ lang: "en", left: null });
  expect(await at("en-GB", "teach.html?lang=de")).toMatchObject({ lang: "de", left: "false" });
  expect(await at("en-GB", "teach.html", "de")).toMatchObject({ lang: "de" });
  expect(await at("de-AT", "teach.html", "en")).toMatchObject({ lang: "en" });
  expect(await at("en-GB", "teach.de.html")).toMatchObject({ lang: "de", left: null });
  expect(await at("de-DE", "teach.de.html?lang=en")).toMatchObject({ lang: "en", left: "false" });
  expect(await at("de-DE", "teach.html?lang=xx")).toMatchObject({ lang: "de" });
});

test("the site remembers a language chosen on the teacher's page, whose links open the page in its language", async ({ page, site }) => {
  await page.goto(teach(site));
  const others = page.locator("link[rel=alternate]");
  expect(await others.evaluateAll((all) => all.map((each) => (each as HTMLLinkElement).hreflang))).toEqual([...(await page.locator(".languages a").evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).lang))), "x-default"]);
  await page.getByRole("navigation", { name: "Language" }).getByRole("link", { name: "Deutsch" }).click();
  await expect(page).toHaveURL(`${teach(site, "de")}?lang=de`);
  await expect(page.getByRole("navigation", { name: "Sprache" }).getByRole("link", { name: "Deutsch" })).toHaveAttribute("aria-current", "page");
  await page.getByRole("link", { name: "hushgrad", exact: true }).click();
  await expect(hook(page, "play")).toContainText("Starten");
  await page.goto(`${site.url}?backend=cpu&dataset=synthetic`);
  await expect(hook(page, "play"), "it was chosen for the site").toContainText("Starten");
  await page.getByTestId("lessons").locator("summary").click();
  await page.getByTestId("lessons").getByRole("link", { name: "Für Lehrende" }).click();
  await expect(page).toHaveURL(`${teach(site, "de")}?lang=de`);
  await page.getByRole("navigation", { name: "Sprache" }).getByRole("link", { name: "English" }).click();
  await expect(page.locator("html")).toHaveAttribute("lang", "en");
  await expect(page.locator("#task-6 .qr")).toBeVisible();
  const elsewhere = await page.locator("main a[href^='./']").evaluateAll((all) => all.map((each) => new URL((each as HTMLAnchorElement).href).searchParams.get("lang")));
  expect(new Set(elsewhere)).toEqual(new Set(["en"]));
});

test.describe("kept for a visit without a network", () => {
  test.use({ serviceWorkers: "allow" });

  test("the teacher's page opens from the menu of lessons, and works offline", async ({ page, site, context }) => {
    await open(page, site, "?backend=cpu&dataset=synthetic");
    await page.getByTestId("lessons").locator("summary").click();
    await page.getByTestId("lessons").getByRole("link", { name: "For teachers" }).click();
    await expect(page).toHaveURL(`${teach(site)}?lang=en`);
    await expect(page.locator("#task-6 .qr")).toBeVisible();
    await installed(page);
    await context.setOffline(true);
    for (const lang of LANGUAGES) {
      await page.goto(`${teach(site)}?lang=${lang}`);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.locator("html")).toHaveAttribute("lang", lang);
      await expect(page.locator("#task-6 .qr")).toBeVisible();
    }
    await context.setOffline(false);
  });
});

test("the page's own address is shown as a QR code for a projector", async ({ page, site }) => {
  await page.setViewportSize({ width: 1920, height: 1080 });
  await open(page, site, "?backend=cpu&dataset=synthetic&sigma=2");
  await share(page, "share-code");
  const dialog = page.getByTestId("share-dialog");
  await expect(dialog).toBeVisible();
  const code = dialog.locator(".qr");
  await expect.poll(() => decoded(code)).toBe(page.url());
  expect((await code.boundingBox())!.height, "it is read from the last row").toBeGreaterThan(700);
  await accessible(page, "the code of the address");
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 390, height: 844 });
  await share(page, "share-code");
  await expect(dialog).toBeVisible();
  await expect.poll(() => decoded(code)).toBe(page.url());
});

test("a printed lesson has its text, its question, the pictures, and the address as a QR code", async ({ page, site }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, site, "?backend=cpu&dataset=synthetic&lesson=one-step.7");
  await expect(page.getByTestId("lesson")).toContainText("Your turn");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.setViewportSize({ width: 700, height: 990 });
  await expect(page.locator(".lesson h3")).toBeVisible();
  await expect(page.locator(".lesson-question")).toContainText("Why must each image's gradient be cut");
  await expect(page.locator(".lesson-question")).toContainText("It saves time");
  await expect(page.locator(".stage canvas").first()).toBeVisible();
  expect(await page.locator(".lesson").evaluate((lesson) => getComputedStyle(lesson).position), "once, and not on every sheet").toBe("static");
  const code = page.locator(".paper-code");
  await code.scrollIntoViewIfNeeded();
  await expect.poll(() => decoded(code)).toBe(page.url());
});

test("the QR code library is identical to its published version", () => {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve("lean-qr"));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const ours = readFileSync("../../www/lean_qr.js", "utf8");
  expect(ours.startsWith(`/*! lean-qr ${version}, `)).toBe(true);
  expect(ours).toContain(readFileSync(join(folder, "LICENSE"), "utf8").trim());
  expect(ours.endsWith(readFileSync(join(folder, "index.mjs"), "utf8"))).toBe(true);
});
