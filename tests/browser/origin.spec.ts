import { chromium } from "@playwright/test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, hook, installed, open, test, value } from "./fixtures";
import { drop, small } from "./idx";
import { requests } from "./netlog";
import { FLAGS, SHELL } from "./playwright.config";

test("no request leaves the page's origin, even when dropped files are trained on", async ({ site }) => {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-netlog-"));
  const log = join(folder, "netlog.json");
  const browser = await chromium.launch({
    executablePath: SHELL,
    args: [...FLAGS, `--log-net-log=${log}`],
  });
  // With the service worker, as visitors have it: the reader comes from its cache.
  const page = await browser.newPage({ serviceWorkers: "allow" });
  await open(page, site, "?backend=cpu");
  await installed(page);
  const loaded = site.asked.length;

  const files = small().map(({ name, buffer }) => {
    writeFileSync(join(folder, name), buffer);
    return join(folder, name);
  });
  await drop(page, files);
  await expect(page.getByTestId("digits-in-use")).toContainText("400");
  await hook(page, "reset").click();
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(3);
  await hook(page, "pause").click();
  // Chromium itself may fetch the icon late, and look for a newer service worker at any time.
  const later = site.asked.slice(loaded).filter((path) => !/^(icon-.*|favicon\.ico|sw\.js)$/.test(path));
  expect(later, "requests to the own host after the load").toEqual([]);
  await browser.close();

  const all = requests(log);
  const origin = new URL(site.url).origin;
  expect(all.some(({ url }) => url.startsWith(site.url)), "the log saw the page itself").toBe(true);
  // Chromium's own requests have no page as initiator.
  const pages = all.filter(({ initiator }) => initiator !== "not an origin");
  expect(pages.length).toBeGreaterThan(2);
  expect(pages.filter(({ url }) => !/^(data|blob):/.test(url) && !url.startsWith(`${origin}/`))).toEqual([]);
  rmSync(folder, { recursive: true });
});
