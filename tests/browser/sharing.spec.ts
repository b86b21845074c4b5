import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { around } from "./around";
import { expect, hook, test } from "./fixtures";

// Previews of links to the site. Programs that make them run no scripts: they read the files.

const FOLDER = resolve(process.env.HUSHGRAD_SITE ?? "../../dist");
const read = (name: string) => readFileSync(join(FOLDER, name), "utf8");
const property = (html: string, name: string) => new RegExp(`<meta property="og:${name}" content="([^"]*)">`).exec(html)?.[1];
/** The address that the site was built for. */
const ADDRESS = property(read("index.html"), "url") ?? "";
const LESSONS = [...read("lessons.txt").matchAll(/^# ([\w-]+) \|/gm)].map(([, key]) => key);
/** The site's file at an address. */
const named = (address: string) => {
  expect(address.startsWith(ADDRESS), address).toBe(true);
  return join(FOLDER, address.slice(ADDRESS.length).split("?")[0] || "index.html");
};

test("the page and every lesson have metadata for link previews", () => {
  expect(ADDRESS, "the site was built with an address").toMatch(/^https?:\/\/.*\/$/);
  expect(LESSONS.length).toBeGreaterThan(4);
  const titles = ["index.html", ...LESSONS.map((key) => `lessons/${key}.html`)].map((name) => {
    const html = read(name);
    for (const each of ["title", "description", "type", "site_name", "image:alt"]) expect(property(html, each), `${name}: ${each}`).toBeTruthy();
    expect(existsSync(named(property(html, "image")!)), `${name}: its picture is there`).toBe(true);
    expect(existsSync(named(property(html, "url")!)), `${name}: it is where it says`).toBe(true);
    expect(property(html, "description")).not.toMatch(/[{}*@]/);
    return property(html, "title");
  });
  expect(new Set(titles).size, "each by a title of its own").toBe(titles.length);
});

test("oEmbed gives a frame that works in a page of another site", async ({ browser, site }) => {
  for (const page of ["index.html", ...LESSONS.map((key) => `lessons/${key}.html`)]) {
    const link = /<link rel="alternate" type="application\/json\+oembed" href="([^"]+)"/.exec(read(page))?.[1];
    const oembed = JSON.parse(readFileSync(named(link!), "utf8"));
    expect(oembed).toMatchObject({ version: "1.0", type: "rich", provider_url: ADDRESS });
    expect(existsSync(named(oembed.thumbnail_url))).toBe(true);
    if (page !== "index.html" && page !== `lessons/${LESSONS[0]}.html`) continue;
    await around(browser, `<!doctype html><title>host</title>${oembed.html.replaceAll(ADDRESS, site.url)}`, async (host) => {
      const frame = host.frameLocator("iframe");
      await frame.locator("#poster").click();
      if (page === "index.html") await expect(frame.getByTestId("step")).not.toHaveAttribute("data-value", "0");
      else await expect(frame.getByText("Lesson 1")).toBeVisible();
    });
  }
});

test("a lesson's page redirects to the lesson, and is readable without scripts", async ({ page, browser, site }) => {
  await page.goto(`${site.url}lessons/${LESSONS[1]}.html`);
  await page.waitForURL((url) => url.searchParams.get("lesson")?.startsWith(LESSONS[1]) === true);
  await expect(page.getByTestId("lesson")).toBeVisible();
  // In a browser that does not follow the redirect.
  const html = read(`lessons/${LESSONS[1]}.html`).replace(/<meta http-equiv="refresh"[^>]*>/, "");
  await around(browser, html, async (plain) => {
    await expect(plain.getByRole("heading", { level: 1 })).toContainText("hushgrad");
    await expect(plain.getByRole("link", { name: "Open the lesson" })).toHaveAttribute("href", `../?lesson=${LESSONS[1]}`);
  });
});

test("the web app manifest names the app, and files that exist", async ({ page, site }) => {
  await page.goto(site.url);
  await expect(hook(page, "play")).toBeVisible();
  const link = page.locator("link[rel=manifest]");
  const manifest = await page.evaluate(async (href) => (await fetch(href)).json(), await link.evaluate((link: HTMLLinkElement) => link.href));
  expect(manifest).toMatchObject({ short_name: "hushgrad", start_url: "./", scope: "./", display: "standalone" });
  for (const { src } of manifest.icons) expect(existsSync(join(FOLDER, src))).toBe(true);
  const { errors } = await (await page.context().newCDPSession(page)).send("Page.getAppManifest");
  expect(errors, "the browser has nothing to say against it").toEqual([]);
});

test("files that only other sites need are not cached for offline visits", () => {
  const kept = Object.keys(JSON.parse(/const FILES = (\{.*?\});/.exec(read("sw.js"))![1]));
  expect(kept).toContain("manifest.webmanifest");
  expect(kept.filter((name) => /^(lessons|share)\//.test(name))).toEqual([]);
  expect(Object.keys(JSON.parse(read("files.json")).files)).toContain("share/picture.png");
});
