import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { Page } from "@playwright/test";
import { accessible } from "./axe";
import { expect, hook, open, share, test, value } from "./fixtures";
import { decoded } from "./qr";

// The teacher's page, its codes, and that the page shows every number of its solutions.

const teach = (site: { url: string }) => `${site.url}teach.html`;

/** What the solutions say: the link of the task, with what a run sets otherwise, and the numbers. */
async function claims(page: Page) {
  return page.locator(".task [data-run]").evaluateAll((all) =>
    all.map((run) => {
      const task = run.closest(".task")!;
      const query = new URLSearchParams(new URL(task.querySelector<HTMLAnchorElement>(".task-link")!.href).search);
      new URLSearchParams((run as HTMLElement).dataset.run).forEach((value, key) => query.set(key, value));
      query.set("backend", "cpu");
      const numbers = [...run.querySelectorAll<HTMLElement>("[data-shows]")].filter((each) => each.closest("[data-run]") === run);
      return { task: task.id, query: `?${query}`, shown: numbers.map((each) => [each.dataset.shows!, each.textContent!] as const) };
    }));
}

test("the page shows what every solution says, with the task's own link", async ({ page, site }) => {
  test.setTimeout(600_000);
  await page.goto(teach(site));
  const all = await claims(page);
  expect(all.length).toBeGreaterThan(15);
  expect(new Set(all.map(({ task }) => task)).size).toBe(6);
  for (const { task, query, shown } of all) {
    const what = `${task} ${query}`;
    expect(shown.length, what).toBeGreaterThan(0);
    await open(page, site, query);
    await expect(page.getByTestId("task"), what).toBeVisible();
    // What a task asks for is what it leaves free.
    const [base, free] = [new URL(await linkOf(page, site, task)), new URLSearchParams(query).get("controls")!.split(",")];
    const set = [...new URLSearchParams(query)].filter(([key, value]) => key !== "backend" && base.searchParams.get(key) !== value);
    expect(set.map(([key]) => key).filter((key) => !free.includes(key)), what).toEqual([]);
    const odds = page.getByTestId("odds-found");
    for (const [, number] of shown.filter(([name]) => name === "odds-planned")) await expect(odds, what).toHaveText(number);
    if (shown.every(([name]) => name === "odds-planned")) continue;
    const steps = Number(new URLSearchParams(query).get("steps"));
    await expect(hook(page, "play"), what).toHaveText("Play");
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step"), { timeout: 90_000, message: what }).toBe(steps);
    await expect(hook(page, "play")).toHaveClass(/primary/);
    for (const [name, number] of shown) {
      if (name === "epsilon") await expect(hook(page, "epsilon"), what).toHaveText(`≤ ${number}`);
      if (name === "odds") {
        await page.getByTestId("epsilon-meaning").locator("summary").first().click();
        await expect(odds, what).toHaveText(number);
      }
      if (name !== "accuracy") continue;
      // Equal runs differ: over four runs of each, by 0.6 points at most from their mean. The page says one run's number, and shows another's: three
      // times that, so that one of a dozen such pairs is not beyond it by chance.
      await expect.poll(async () => Math.abs(100 * (await value(page, "accuracy")) - Number.parseFloat(number)), { message: `${what}: ${number}` }).toBeLessThan(1.8);
    }
  }
});

const links = new Map<string, string>();
/** The link of a task, as the teacher's page has it. */
async function linkOf(page: Page, site: { url: string }, task: string): Promise<string> {
  if (!links.size) {
    const html = readFileSync(join(process.env.HUSHGRAD_SITE ?? "../../dist", "teach.html"), "utf8");
    for (const [, id, href] of html.matchAll(/<article class="task" id="([\w-]+)">[\s\S]*?class="task-link" href="([^"]+)"/g)) {
      links.set(id, new URL(href.replaceAll("&amp;", "&"), site.url).href);
    }
  }
  return links.get(task)!;
}

test("every task has a code that leads to it, wherever the site stands", async ({ page, site }) => {
  await page.goto(teach(site));
  const tasks = page.locator(".task");
  await expect(tasks).toHaveCount(6);
  for (let at = 0; at < 6; at += 1) {
    const link = await tasks.nth(at).locator(".task-link").evaluate((link: HTMLAnchorElement) => link.href);
    expect(link.startsWith(`${site.url}?`)).toBe(true);
    expect(await decoded(tasks.nth(at).locator(".qr"))).toBe(link);
  }
});

test("it is read without scripts, speaks of every lesson, and nothing in it is wider than a phone", async ({ browser, page, site }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 360, height: 740 } });
  const plain = await context.newPage();
  await plain.goto(teach(site));
  await expect(plain.getByRole("heading", { level: 1 })).toBeVisible();
  await plain.locator("#task-1 summary").click();
  await expect(plain.locator("#task-1 details")).toContainText("90.5%");
  await context.close();
  await page.goto(teach(site));
  const lessons = [...readFileSync("../../www/lessons.txt", "utf8").matchAll(/^# ([\w-]+) \| (.+)$/gm)].map(([, key, title]) => [key, title]);
  for (const [key, title] of lessons) {
    const notes = page.locator(`#lesson-${key}`);
    await expect(notes.getByRole("link", { name: title.replace("'", "’") }), key).toHaveAttribute("href", `./?lesson=${key}`);
    await expect(notes.locator("dt"), key).toHaveText([/^\d · /, "They should say", "They often say"]);
  }
  for (const width of [320, 390, 1440, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth), String(width)).toBeLessThanOrEqual(width);
  }
  await page.locator("details").evaluateAll((all) => all.forEach((fold) => ((fold as HTMLDetailsElement).open = true)));
  await accessible(page, "the teacher's page, with its solutions");
});

test("a hand-out is the tasks without solutions; all of it is everything with them", async ({ page, site }) => {
  await page.goto(teach(site));
  await expect(page.locator("#task-6 .qr")).toBeVisible();
  const seen = async () => {
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print", colorScheme: "light" });
    const found = await page.evaluate(() => {
      const visible = (selector: string) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility() && each.getBoundingClientRect().height > 1).length;
      return { tasks: visible(".task"), codes: visible(".task .qr"), addresses: visible(".task figcaption"), solutions: visible(".task details li"), plan: visible("#lesson-why-noise, .facts"), choices: visible(".print-choice"), lines: visible(".answer-line") };
    });
    await page.emulateMedia({ media: "screen" });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    return found;
  };
  expect(await seen()).toEqual({ tasks: 6, codes: 6, addresses: 6, solutions: 0, plan: 0, choices: 0, lines: 6 });
  await page.getByLabel("everything, with solutions").check();
  const all = await seen();
  expect(all.solutions).toBeGreaterThan(15);
  expect(all).toMatchObject({ tasks: 6, codes: 6, plan: 2, choices: 0, lines: 0 });
  // What a print has opened is folded again.
  await expect(page.locator(".task details[open]")).toHaveCount(0);
});

test("it is reached from the menu of lessons, and is there without a network", async ({ page, site, context }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.getByTestId("lessons").locator("summary").click();
  await page.getByTestId("lessons").getByRole("link", { name: "For teachers" }).click();
  await expect(page).toHaveURL(teach(site));
  await expect(page.locator("#task-6 .qr")).toBeVisible();
  await context.setOffline(true);
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.locator("#task-6 .qr")).toBeVisible();
  await context.setOffline(false);
});

test("the page's own address as a code, for a projector", async ({ page, site }) => {
  await page.setViewportSize({ width: 1920, height: 1080 });
  await open(page, site, "?backend=cpu&dataset=synthetic&sigma=2");
  await share(page, "share-code");
  const dialog = page.getByTestId("share-dialog");
  await expect(dialog).toBeVisible();
  const code = dialog.locator(".qr");
  expect(await decoded(code)).toBe(page.url());
  expect((await code.boundingBox())!.height, "it is read from the last row").toBeGreaterThan(700);
  await accessible(page, "the code of the address");
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 390, height: 844 });
  await share(page, "share-code");
  await expect(dialog).toBeVisible();
  expect(await decoded(code)).toBe(page.url());
});

test("on paper a lesson is its text, its question, the pictures, and the address as a code", async ({ page, site }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(page, site, "?backend=cpu&dataset=synthetic&lesson=one-step.6");
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
  expect(await decoded(code)).toBe(page.url());
});

test("the library that draws codes is the very one that its project gives out", () => {
  const require = createRequire(import.meta.url);
  const folder = dirname(require.resolve("lean-qr"));
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const ours = readFileSync("../../www/lean_qr.js", "utf8");
  expect(ours.startsWith(`/*! lean-qr ${version}, `)).toBe(true);
  expect(ours).toContain(readFileSync(join(folder, "LICENSE"), "utf8").trim());
  expect(ours.endsWith(readFileSync(join(folder, "index.mjs"), "utf8"))).toBe(true);
});
