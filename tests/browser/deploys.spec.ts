import type { Page } from "@playwright/test";
import { readdirSync } from "node:fs";
import { copied, redeploy } from "./deploy";
import { expect, hook, open, test, value } from "./fixtures";
import { serve, type Site } from "./server";

// A page never gets files of another version, whatever is deployed while it is open.

const QUERY = "?backend=cpu&dataset=synthetic";

const worker = (page: Page, which: "active" | "waiting") => () =>
  page.evaluate(async (which) => !!(await navigator.serviceWorker.getRegistration())?.[which], which);
const caches = (page: Page) => page.evaluate(async () => (await globalThis.caches.keys()).filter((name) => name.startsWith("hushgrad-page")));

/** Deploys the next version: a new title, a renamed style sheet, and a renamed lesson. */
function next(folder: string) {
  const sheet = readdirSync(folder).find((file) => /^style-.*\.css$/.test(file))!;
  redeploy(folder, "next000000000000", {
    "lessons.txt": (text) => text.replace("| Why noise", "| Renewed lesson"),
    "index.html": (text) => text.replace(/<title>.*<\/title>/, "<title>the next deploy</title>"),
  }, { [sheet]: "style-0123456789abcdef.css" });
}

async function lesson(page: Page) {
  await page.getByTestId("lessons").locator("summary").click();
  return page.getByTestId("lessons").getByRole("button").first();
}

async function visited(browser: import("@playwright/test").Browser, workers: "allow" | "block", use: (page: Page, site: Site, folder: string) => Promise<void>) {
  await copied(async (folder) => {
    const site = await serve(folder);
    const context = await browser.newContext({ serviceWorkers: workers });
    try {
      await use(await context.newPage(), site, folder);
    } finally {
      await context.close();
      await site.close();
    }
  });
}

test("an open page keeps its own files across a deploy, and a page opened afterwards has the new ones", async ({ browser }) => {
  await visited(browser, "allow", async (page, site, folder) => {
    await open(page, site, QUERY);
    await expect.poll(worker(page, "active")).toBe(true);
    next(folder);
    await expect(await lesson(page)).toContainText("Why noise");

    const after = await page.context().newPage();
    await open(after, site, QUERY);
    await expect(after).toHaveTitle("the next deploy");
    expect(await after.evaluate(() => document.styleSheets[0].href)).toContain("style-0123456789abcdef.css");
    await expect(await lesson(after)).toContainText("Renewed lesson");
    await expect(after.locator("#failed")).toBeHidden();

    // Both versions stay cached while their pages are open.
    await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())!.update());
    await expect.poll(worker(page, "waiting")).toBe(true);
    expect((await caches(page)).length).toBe(2);
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
    await expect(page.locator("#failed")).toBeHidden();
  });
});

test("the next version's service worker serves pages of both versions their own files", async ({ browser }) => {
  await visited(browser, "allow", async (page, site, folder) => {
    await open(page, site, QUERY);
    await expect.poll(worker(page, "active")).toBe(true);
    next(folder);
    await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())!.update());
    await expect.poll(worker(page, "waiting")).toBe(true);
    // As Try again does in another tab.
    await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())!.waiting!.postMessage("hushgrad-now"));
    await expect.poll(worker(page, "waiting")).toBe(false);
    await expect(await lesson(page)).toContainText("Why noise");
    // The old version's files stay cached, for threads started later.
    expect((await caches(page)).length).toBe(2);
    await page.reload();
    await expect(page).toHaveTitle("the next deploy");
    await expect(await lesson(page)).toContainText("Renewed lesson");
  });
});

test("without a service worker, files of another version are refused, and Try again loads the new version", async ({ browser }) => {
  await visited(browser, "block", async (page, site, folder) => {
    await open(page, site, QUERY);
    next(folder);
    await page.getByTestId("lessons").locator("summary").click();
    await expect(hook(page, "error")).toContainText("the file received is not the one this page expects");
    // The page comes from the browser's cache, and its style sheet is gone.
    site.headers = (path) => ({ "cache-control": path === "index.html" ? "max-age=31536000" : "no-store" });
    await page.reload();
    await expect(page).toHaveTitle("the next deploy");
    redeploy(folder, "third00000000000", { "index.html": (text) => text.replace("the next deploy", "the third deploy") }, { "style-0123456789abcdef.css": "style-fedcba9876543210.css" });
    const again = await page.context().newPage();
    await again.goto(site.url + QUERY);
    await expect(again).toHaveTitle("the next deploy");
    await expect(again.locator("#failed")).toContainText("The style sheet (style-0123456789abcdef.css) did not come: the host answers 404");
    await again.getByRole("button", { name: "Try again" }).click();
    await expect(again).toHaveTitle("the third deploy");
    await expect(again.locator("#failed")).toBeHidden();
  });
});

test("caches of earlier versions are removed, and those of other sites of the origin are not", async ({ browser }) => {
  await visited(browser, "allow", async (page, site) => {
    await page.goto(`${site.url}element.js`);
    await page.evaluate(async (scope) => {
      const put = async (name: string, urls: string[]) => {
        const cache = await globalThis.caches.open(name);
        for (const url of urls) await cache.put(url, new Response("old"));
      };
      await put(`hushgrad ${scope} 0123456789abcdef`, [`${scope}index.html`]);
      await put(`hushgrad-page ${scope} 0123456789abcdef`, [`${scope}index.html`]);
      await put(`hushgrad ${new URL("/other/", scope)} 0123456789abcdef`, [new URL("/other/index.html", scope).href]);
      await put("hushgrad-digits", [`${scope}data/train-00.0123456789ab.shard`, new URL("/other/data/train-00.0123456789ab.shard", scope).href]);
      await put("somebody-else", [`${scope}index.html`]);
    }, site.url);
    await open(page, site, QUERY);
    await expect.poll(worker(page, "active")).toBe(true);
    const context = page.context();
    await page.close();
    const later = await context.newPage();
    await open(later, site, QUERY);
    const names = () => later.evaluate(async () => (await globalThis.caches.keys()).map((name) => name.replace(location.origin, "")).sort());
    await expect.poll(names).toEqual([
      "hushgrad /other/ 0123456789abcdef",
      "hushgrad-digits",
      expect.stringMatching(/^hushgrad-page \/some\/path\/ [0-9a-f]{16}$/),
      "somebody-else",
    ]);
    const digits = await later.evaluate(async () => (await (await globalThis.caches.open("hushgrad-digits")).keys()).map(({ url }) => new URL(url).pathname));
    expect(digits).toEqual(["/other/data/train-00.0123456789ab.shard"]);
  });
});
