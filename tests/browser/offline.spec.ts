import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { copied, redeploy } from "./deploy";
import { expect, hook, installed, open, test, value } from "./fixtures";
import { small } from "./idx";
import { serve } from "./server";

const FOLDER = resolve(process.env.HUSHGRAD_SITE ?? "../../dist");
const query = "?backend=cpu&dataset=synthetic";
test.use({ serviceWorkers: "allow", allowed: [/ERR_CONNECTION_REFUSED|Failed to load resource|ERR_FAILED/] });

async function trains(page: Page) {
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
}

test("the second visit works without a network", { tag: "@journey" }, async ({ browser }) => {
  const site = await serve(FOLDER);
  const context = await browser.newContext();
  const page = await context.newPage();
  // With the site's own digits, where it carries some.
  await open(page, site, "?backend=cpu");
  if (process.env.HUSHGRAD_DATA === "mnist") {
    // The manifest and seven shards; the last may be used before it is written.
    const cache = `hushgrad-digits ${site.url}`;
    const written = () => page.evaluate(async (cache) => (await (await caches.open(cache)).keys()).length, cache);
    await expect.poll(written).toBe(8);
  }
  await installed(page);
  await site.close();
  await page.goto(`${site.url}?backend=cpu`);
  await expect(page.getByTestId("digits-in-use")).toContainText("to train on");
  if (process.env.HUSHGRAD_DATA === "mnist") await expect(page.getByTestId("digits-in-use")).toContainText("60,000");
  await trains(page);
  // The rarely used reader is cached as well.
  await page.getByTestId("files").setInputFiles(small());
  await expect(page.getByTestId("digits-in-use")).toContainText("your files");
  await context.close();
});

test("a new deploy is never stale", ({ browser }) => copied(async (folder) => {
  const site = await serve(folder);
  const context = await browser.newContext();
  const page = await context.newPage();
  await open(page, site, query);
  // True if the registration has this worker.
  const has = (which: "active" | "waiting") => () =>
    page.evaluate(async (which) => !!(await navigator.serviceWorker.getRegistration())?.[which], which);
  await expect.poll(has("active")).toBe(true);

  // The next deploy: a renamed style sheet, another title, another version.
  const style = /style-[0-9a-f]+\.css/.exec(readFileSync(join(folder, "index.html"), "utf8"))![0];
  redeploy(folder, "next-0123456789a", {
    "index.html": (text) => text.replace(/<title>.*<\/title>/, "<title>the next deploy</title>"),
  }, { [style]: "style-0123456789abcdef.css" });

  await open(page, site, query);
  await expect(page).toHaveTitle("the next deploy");
  expect(await page.evaluate(() => document.styleSheets[0].href)).toContain("style-0123456789abcdef.css");
  await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())!.update());
  await expect.poll(has("waiting")).toBe(true);
  // Once the last page of the old version is closed, the new one is used offline. Chromium may hang
  // a visit at the moment of the change, so each has its own time limit.
  await page.close();
  const kept = async () => {
    const next = await context.newPage();
    const names = next.goto(site.url, { waitUntil: "commit" }).then(() => next.evaluate(() => caches.keys()));
    const limit = new Promise<string[]>((done) => setTimeout(() => done(["hushgrad-page: no answer"]), 10_000));
    const first = await Promise.race([names.catch((error) => [`hushgrad-page: ${error}`]), limit]);
    await next.close();
    return first.filter((name) => name.startsWith("hushgrad-page"));
  };
  await expect.poll(kept).toEqual([expect.stringContaining("next-")]);
  await site.close();
  const offline = await context.newPage();
  await offline.goto(site.url + query);
  await expect(offline).toHaveTitle("the next deploy");
  await expect(offline.getByTestId("digits-in-use")).toContainText("to train on");
  await trains(offline);
  await context.close();
}));
