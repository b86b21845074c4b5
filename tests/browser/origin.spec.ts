import { chromium } from "@playwright/test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, hook, installed, open, test, value } from "./fixtures";
import { drop, small } from "./idx";
import { requests } from "./netlog";
import { FLAGS, SHELL } from "./playwright.config";

test("nothing leaves the page's origin, not even when files are dropped and trained on", async ({ site }) => {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-netlog-"));
  const log = join(folder, "netlog.json");
  const browser = await chromium.launch({
    executablePath: SHELL,
    args: [...FLAGS, `--log-net-log=${log}`],
  });
  // With all that a first visit keeps, as visitors have it: what reads files comes from there.
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
  // Chromium may fetch the icon late, and looks for a newer service worker when it pleases; that is the browser's affair.
  const later = site.asked.slice(loaded).filter((path) => !/^(icon-.*|favicon\.ico|sw\.js)$/.test(path));
  expect(later, "requests to the own host after the load").toEqual([]);
  await browser.close();

  const all = requests(log);
  const origin = new URL(site.url).origin;
  expect(all.some(({ url }) => url.startsWith(site.url)), "the log saw the page itself").toBe(true);
  // What Chromium does on its own behalf has no page for an initiator.
  const pages = all.filter(({ initiator }) => initiator !== "not an origin");
  expect(pages.length).toBeGreaterThan(2);
  expect(pages.filter(({ url }) => !/^(data|blob):/.test(url) && !url.startsWith(`${origin}/`))).toEqual([]);
  rmSync(folder, { recursive: true });
});
