import type { Browser, BrowserContextOptions, Page } from "@playwright/test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { serve, type Site } from "./server";

// Host pages of other origins around the embedded page.

/** Calls `use` with a temporary folder, then removes it. */
export async function within(use: (folder: string) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-embed-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface How {
  /** Headers of the host's responses. */
  headers?: Record<string, string>;
  context?: BrowserContextOptions;
}

/** Serves `folder` from another origin and opens a page of it in a new browser context. */
export async function hosted(browser: Browser, folder: string, path: string, use: (page: Page) => Promise<void>, how: How = {}) {
  const host = await serve(folder, "/docs/", how.headers);
  const context = await browser.newContext({ viewport: { width: 900, height: 1200 }, ...how.context });
  try {
    const page = await context.newPage();
    await page.goto(host.url + path);
    await use(page);
  } finally {
    await context.close();
    await host.close();
  }
}

/** As `hosted`, for a single page of HTML. */
export const around = (browser: Browser, html: string, use: (page: Page) => Promise<void>, how?: How) =>
  within(async (folder) => {
    writeFileSync(join(folder, "index.html"), html);
    await hosted(browser, folder, "", use, how);
  });

/** Serves the site with CORS, so that pages with an opaque origin can load its files. */
export async function shared(use: (site: Site) => Promise<void>) {
  const site = await serve(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"), undefined, { "access-control-allow-origin": "*" });
  try {
    await use(site);
  } finally {
    await site.close();
  }
}

export const element = (site: Site, attributes: string, children = "") =>
  `<!doctype html><title>host</title><script src="${site.url}element.js"></script><hush-grad ${attributes}>${children}</hush-grad>`;
export const inside = (page: Page, n = 0) => page.frameLocator("iframe").nth(n);
export const CPU = `preset="cpu" dataset="synthetic" backend="cpu"`;

/** Waits for the element's next event of this kind and returns its detail. */
export const heard = (page: Page, kind: string) =>
  page.evaluate(
    (kind) => new Promise<Record<string, unknown>>((done) => {
      document.querySelector("hush-grad")!.addEventListener(kind, (event) => done((event as CustomEvent).detail), { once: true });
    }),
    kind,
  );
/** Calls a method of the element. */
export const call = (page: Page, method: string, argument?: unknown) =>
  page.evaluate(
    ([method, argument]) => (document.querySelector("hush-grad") as unknown as Record<string, (a: unknown) => unknown>)[method as string](argument),
    [method, argument] as const,
  ) as Promise<Record<string, unknown>>;
