import type { Browser, Page } from "@playwright/test";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { expect, hook, installed, long, open, settings, test, value } from "./fixtures";
import { serve, type Fault, type Site } from "./server";

// Whatever a host does wrong, the page reports it and recovers once the host works.

const FOLDER = resolve(process.env.HUSHGRAD_SITE ?? "../../dist");
const CPU = "?backend=cpu&dataset=synthetic";
const FILES = readdirSync(FOLDER);
const named = (...patterns: RegExp[]) => patterns.map((pattern) => FILES.find((file) => pattern.test(file))).find(Boolean)!;
const PARTS: Record<string, string> = {
  "its start": "start.js",
  "the program's script": named(/^app-.*[0-9a-f]\.js$/),
  "the program": named(/^app-.*_bg\.wasm$/),
  "the style sheet": named(/^style-.*\.css$/),
  "the training thread": named(/^worker-(?!relaxed).*_loader\.js$/),
  "the training thread's script": named(/^worker-relaxed-.*[0-9a-f]\.js$/, /^worker-[0-9a-f]+\.js$/),
  "the training thread's program": named(/^worker-relaxed-.*_bg\.wasm$/, /^worker-.*_bg\.wasm$/),
  "the accountant": named(/^accountant-.*_loader\.js$/),
  "the accountant's script": named(/^accountant-[0-9a-f]+\.js$/),
  "the accountant's program": named(/^accountant-.*_bg\.wasm$/),
};
/** Lets the browser cache responses as long as it likes. */
const FOR_EVER = { "cache-control": "max-age=31536000, immutable" };

const failed = (page: Page) => page.locator("#failed");

/** Opens a page with its own host and browser context, whose errors do not fail the test. */
async function visited(
  browser: Browser,
  use: (page: Page, site: Site) => Promise<void>,
  options?: { serviceWorkers: "allow" },
) {
  const site = await serve(FOLDER);
  const context = await browser.newContext(options);
  try {
    await use(await context.newPage(), site);
  } finally {
    await context.close();
    await site.close();
  }
}

/** Waits until the page and its training thread have started. */
async function opens(page: Page) {
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(failed(page)).toBeHidden();
}

/** Asserts that the page trains without a failure. */
async function works(page: Page) {
  await expect(page.getByTestId("digits-in-use")).toContainText("to train on");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await expect(hook(page, "epsilon")).toHaveAttribute("data-value", /\d/);
  await expect(failed(page)).toBeHidden();
}

/** Presses Try again at once: the next request restarts a thread and hides the button. */
const again = (page: Page) =>
  Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Try again" }).dispatchEvent("click")]);

const FAULTS: [Fault, RegExp][] = [
  [404, /the host answers 404/],
  ["bytes", /damaged|magic word|version|did not start|10 seconds/],
  ["page", /another page|damaged|Incorrect response MIME|magic word|doesn't parse/],
];

for (const [what, file] of Object.entries(PARTS)) {
  test(`${what}: wrong responses of the host are reported, and Try again recovers`, long(what !== "the training thread"), async ({ browser }) => {
    await visited(browser, async (page, site) => {
      // A browser that may cache everything also caches the wrong response.
      site.headers = () => FOR_EVER;
      for (const [fault, cause] of FAULTS) {
        site.fault = (path) => (path === file ? fault : undefined);
        await (fault === 404 ? page.goto(site.url + CPU) : again(page));
        await expect(failed(page)).toBeVisible();
        await expect(failed(page)).toContainText(cause);
        await expect(failed(page)).toContainText(file.replace(/(\.js|_bg\.wasm)$/, "").replace(/^(worker|accountant)-.*/, "$1"));
        await expect(page.getByText("Opening…")).toBeHidden();
      }
      site.fault = () => undefined;
      await again(page);
      await works(page);
    });
  });
}

test("if every file but the page fails, the page shows an error and a button that recovers", async ({ browser }) => {
  await visited(browser, async (page, site) => {
    for (const fault of ["hang", 404, 503, "page"] as Fault[]) {
      site.fault = (path) => (path === "index.html" ? undefined : fault);
      await (fault === "hang" ? page.goto(site.url + CPU, { waitUntil: "commit" }) : again(page));
      await expect(failed(page)).toContainText(fault === "hang" ? /10 seconds/ : "did not come");
    }
    site.fault = () => undefined;
    await again(page);
    await works(page);
  });
});

test("a hanging host is reported, and the page continues once it answers", async ({ browser }) => {
  // In parallel, as each waits for ten seconds.
  await Promise.all(["its start", "the program", "the style sheet", "the accountant", "the training thread's program"].map((what) =>
    visited(browser, async (page, site) => {
      const file = PARTS[what];
      let answer = () => {};
      site.held.set(file, new Promise<void>((done) => (answer = done)));
      await page.goto(site.url + CPU, { waitUntil: "commit" });
      await expect.poll(() => site.asked.includes(file), what).toBe(true);
      await expect(failed(page), what).toContainText(/10 seconds/);
      answer();
      await (/accountant|thread/.test(what) ? works(page) : opens(page));
    })));
});

test("pre-trained parameters load when a run begins with them, and a failure is reported and loses nothing", async ({ browser }) => {
  await visited(browser, async (page, site) => {
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(request.url()));
    const NAME = "cnn_tanh.pretrained";
    await open(page, site, `${CPU}&model=cnn-tanh&lot=16`);
    await works(page);
    await settings(page);
    await page.locator("details.advanced summary").click();
    const start = page.locator("#start");
    for (const [fault, why] of [[404, "404"], ["page", "the file is damaged"]] as [Fault, string][]) {
      site.fault = (path) => (path === NAME ? fault : undefined);
      await start.selectOption("pretrained");
      await expect(page.getByTestId("error")).toContainText("The pre-trained parameters did not arrive");
      await expect(page.getByTestId("error")).toContainText(why);
      expect(await value(page, "step")).toBe(1);
      await start.selectOption("random");
      await expect(page.getByTestId("error")).toBeEmpty();
    }
    site.fault = () => undefined;
    await start.selectOption("pretrained");
    await expect.poll(() => value(page, "step")).toBe(0);
    await works(page);
    expect(asked.some((url) => new URL(url).pathname.endsWith(NAME) && url.includes("?is="))).toBe(true);
  });
});

test("lessons that fail to load are reported, and load when opened again", async ({ browser }) => {
  await visited(browser, async (page, site) => {
    await open(page, site, CPU);
    const menu = page.getByTestId("lessons");
    for (const fault of ["page", 404, undefined] as (Fault | undefined)[]) {
      site.fault = (path) => (path === "lessons.txt" ? fault : undefined);
      const before = site.asked.length;
      await menu.locator("summary").click();
      // The wrong response was not taken for the lessons.
      await expect.poll(() => site.asked.slice(before)).toContain("lessons.txt");
      if (!fault) break;
      await expect(hook(page, "error")).toContainText("The lessons could not be loaded");
      await page.keyboard.press("Escape");
    }
    await expect(menu.getByRole("button").first()).toBeVisible();
  });
});

test("a program that fails as it starts is reported", async ({ browser }) => {
  await visited(browser, async (page, site) => {
    // The program cannot create its first elements.
    await page.addInitScript(() => {
      const create = Document.prototype.createElement;
      Document.prototype.createElement = function (this: Document, ...how: Parameters<typeof create>) {
        if (/^(main|section)$/.test(how[0])) throw new Error("broken by the test");
        return create.apply(this, how);
      } as typeof create;
    });
    await page.goto(site.url + CPU);
    await expect(failed(page)).toContainText("The page cannot open. Its program failed at startup");
    await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
  });
});

test("a browser that cannot run the page is told what it lacks", async ({ browser }) => {
  const lacks: [string, () => void][] = [
    ["WebAssembly with SIMD", () => Reflect.deleteProperty(globalThis, "WebAssembly")],
    ["WebAssembly with SIMD", () => (WebAssembly.validate = () => false)],
    ["JavaScript modules", () => Reflect.deleteProperty(HTMLScriptElement.prototype, "noModule")],
  ];
  for (const [what, take] of lacks) {
    await visited(browser, async (page, site) => {
      await page.addInitScript(take);
      await page.goto(site.url + CPU);
      await expect(failed(page)).toContainText(`it lacks ${what}`);
    });
  }
});

test("without scripts the page says what it needs, and not that it is opening", async ({ browser, site }) => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(site.url);
  // Text locators ignore `noscript`.
  const said = page.locator("noscript p");
  await expect(said).toBeVisible();
  await expect(page.getByText("Opening…")).toBeHidden();
  await expect(failed(page)).toBeHidden();
  await page.goto(`${site.url}embed.html`);
  await expect(said).toBeVisible();
  await context.close();
});

/** As {@link visited}, with the service worker. */
const kept = (browser: Browser, use: (page: Page, site: Site) => Promise<void>) => visited(browser, use, { serviceWorkers: "allow" });

/** Opens the page and waits until everything is cached. */
async function settled(page: Page, site: Site, query: string) {
  await open(page, site, query);
  await installed(page);
}

test("a second visit works if the host answers everything wrongly", async ({ browser }) => {
  await kept(browser, async (page, site) => {
    await settled(page, site, CPU);
    const notice = page.getByTestId("notice");
    for (const fault of [503, 404, 401, 403, 410, "page", "sign-in", "hang"] as Fault[]) {
      site.fault = () => fault;
      await page.goto(site.url + CPU);
      await (fault === 503 ? works(page) : opens(page));
      // A host that does not answer needs no notice.
      if (fault === "hang") await expect(notice).toBeHidden();
      else await expect(notice).toContainText(typeof fault === "number" ? `answers ${fault}` : "returns a different page");
      await page.goto(`${site.url}embed.html${CPU}`);
      await expect(page.getByTestId("noise-scale").or(page.getByTestId("step")).first()).toBeVisible();
    }
    // The browser follows a redirect within the site.
    site.fault = () => "folder";
    await page.goto(`${site.url}index.html${CPU}`);
    await opens(page);
    await expect(notice).toBeHidden();
    await expect(page).toHaveURL(site.url + CPU);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
  });
});

test("a wrong response for a program or a shard is never cached", async ({ browser }) => {
  await kept(browser, async (page, site) => {
    site.headers = () => FOR_EVER;
    // Once for each file with a digest in its address.
    const wronged = new Set<string>();
    site.fault = (path) => {
      if (!/_bg\.wasm$|\.shard$/.test(path) || wronged.has(path)) return undefined;
      wronged.add(path);
      return "page";
    };
    await page.goto(`${site.url}?backend=cpu`);
    await expect(failed(page)).toBeVisible();
    await again(page);
    await works(page);
    if (process.env.HUSHGRAD_DATA === "mnist") await expect(page.getByTestId("digits-in-use")).toContainText("60,000");
    await installed(page);
    const found = await page.evaluate(async () => {
      const { files } = await (await fetch("files.json")).json();
      const wrong: string[] = [];
      let count = 0;
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) {
          const bytes = await (await cache.match(request))!.arrayBuffer();
          const digest = Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (b) => b.toString(16).padStart(2, "0")).join("");
          const file = request.url.slice(new URL(".", location.href).href.length);
          count++;
          if (files[file]?.sha256 !== digest) wrong.push(file);
        }
      }
      return { wrong, count };
    });
    expect(found.wrong).toEqual([]);
    expect(found.count).toBeGreaterThan(10);
  });
});

test("wrong files in the cache are dropped and fetched again", async ({ browser }) => {
  await kept(browser, async (page, site) => {
    await settled(page, site, "?backend=cpu");
    const spoilt = await page.evaluate(async () => {
      const all: string[] = [];
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) {
          await cache.put(request, new Response("<!doctype html><p>Sign in", { headers: { "content-type": "text/html" } }));
          all.push(request.url);
        }
      }
      return all;
    });
    expect(spoilt.length).toBeGreaterThan(10);
    const asked = new Set<string>();
    page.on("request", (request) => void asked.add(request.url()));
    await page.goto(`${site.url}?backend=cpu`);
    await works(page);
    const left = await page.evaluate(async () => {
      const wrong: string[] = [];
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) {
          const found = await cache.match(request);
          if ((await found!.text()).includes("Sign in")) wrong.push(request.url);
        }
      }
      return wrong;
    });
    // Files not needed here are checked when they are: an image set, other texts, the reader.
    expect(spoilt.filter((url) => asked.has(url)).length).toBeGreaterThan(10);
    expect(left.filter((url) => asked.has(url))).toEqual([]);
  });
});
