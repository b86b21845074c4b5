import type { Browser, Page } from "@playwright/test";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { expect, hook, installed, long, open, test, value } from "./fixtures";
import { serve, type Fault, type Site } from "./server";

// Whatever a host does, the page says so and offers a way back that works once the host does.

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
/** What the visitor's browser may have of what came: as long as it pleases. */
const FOR_EVER = { "cache-control": "max-age=31536000, immutable" };

const failed = (page: Page) => page.locator("#failed");

/** A host of its own and a visitor of its own, whose browser reports what the test provokes. */
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

/** The page and its training thread have started. */
async function opens(page: Page) {
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(failed(page)).toBeHidden();
}

/** The page works as if nothing had been. */
async function works(page: Page) {
  await expect(page.getByTestId("digits-in-use")).toContainText("to train on");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await expect(hook(page, "epsilon")).toHaveAttribute("data-value", /\d/);
  await expect(failed(page)).toBeHidden();
}

/** Pressed the moment the host has changed: by itself the page starts a thread again with the next question for it, and hides the button. */
const again = (page: Page) =>
  Promise.all([page.waitForEvent("load"), page.getByRole("button", { name: "Try again" }).dispatchEvent("click")]);

const FAULTS: [Fault, RegExp][] = [
  [404, /the host answers 404/],
  ["bytes", /damaged|magic word|version|did not start|10 seconds/],
  ["page", /another page|damaged|Incorrect response MIME|magic word|doesn't parse/],
];

for (const [what, file] of Object.entries(PARTS)) {
  test(`${what}: a host that answers wrongly, one way after another, is named, and Try again mends it`, long(what !== "the training thread"), async ({ browser }) => {
    await visited(browser, async (page, site) => {
      // A browser that was told to keep what came keeps the wrong answer, too.
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

test("a host that answers wrongly for everything but the page leaves a sentence and a button", async ({ browser }) => {
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

test("a host that hangs is named, whatever hangs, and the page goes on once it answers", async ({ browser }) => {
  // All at once, as each waits for ten seconds.
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

test("pre-trained parameters come when a run begins with them; where they do not, it is said and nothing is lost", async ({ browser }) => {
  await visited(browser, async (page, site) => {
    const asked: string[] = [];
    page.on("request", (request) => void asked.push(request.url()));
    const NAME = "cnn_tanh.pretrained";
    await open(page, site, `${CPU}&model=cnn-tanh&lot=16`);
    await works(page);
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

test("lessons that do not come are named, and come when they are opened again", async ({ browser }) => {
  await visited(browser, async (page, site) => {
    await open(page, site, CPU);
    const menu = page.getByTestId("lessons");
    for (const fault of ["page", 404, undefined] as (Fault | undefined)[]) {
      site.fault = (path) => (path === "lessons.txt" ? fault : undefined);
      const before = site.asked.length;
      await menu.locator("summary").click();
      // What came before was not taken for the lessons.
      await expect.poll(() => site.asked.slice(before)).toContain("lessons.txt");
      if (!fault) break;
      await expect(hook(page, "error")).toContainText("The lessons could not be fetched");
      await page.keyboard.press("Escape");
    }
    await expect(menu.getByRole("button").first()).toBeVisible();
  });
});

test("a program that stops as it starts says so", async ({ browser }) => {
  await visited(browser, async (page, site) => {
    // The program builds the page into #app, which something has taken away.
    await page.addInitScript(() => {
      const create = Document.prototype.createElement;
      Document.prototype.createElement = function (this: Document, ...how: Parameters<typeof create>) {
        if (/^(main|section)$/.test(how[0])) throw new Error("broken by the test");
        return create.apply(this, how);
      } as typeof create;
    });
    await page.goto(site.url + CPU);
    await expect(failed(page)).toContainText("The page cannot open. Its program stopped as it started");
    await expect(page.getByRole("button", { name: "Try again" })).toBeVisible();
  });
});

test("a browser that lacks what the page needs is told what that is", async ({ browser }) => {
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
  // Searches by text leave out what stands in `noscript`.
  const said = page.locator("noscript p");
  await expect(said).toBeVisible();
  await expect(page.getByText("Opening…")).toBeHidden();
  await expect(failed(page)).toBeHidden();
  await page.goto(`${site.url}embed.html`);
  await expect(said).toBeVisible();
  await context.close();
});

/** As {@link visited}, by a browser that keeps the site for a visit without a network. */
const kept = (browser: Browser, use: (page: Page, site: Site) => Promise<void>) => visited(browser, use, { serviceWorkers: "allow" });

/** A visit after which everything is kept. */
async function settled(page: Page, site: Site, query: string) {
  await open(page, site, query);
  await installed(page);
}

test("a host that answers wrongly for everything is not needed on the second visit", async ({ browser }) => {
  await kept(browser, async (page, site) => {
    await settled(page, site, CPU);
    const notice = page.getByTestId("notice");
    for (const fault of [503, 404, 401, 403, 410, "page", "sign-in", "hang"] as Fault[]) {
      site.fault = () => fault;
      await page.goto(site.url + CPU);
      await (fault === 503 ? works(page) : opens(page));
      // A host that is not there is what the copy is for.
      if (fault === "hang") await expect(notice).toBeHidden();
      else await expect(notice).toContainText(typeof fault === "number" ? `answers ${fault}` : "gives another page");
      await page.goto(`${site.url}embed.html${CPU}`);
      await expect(page.getByTestId("noise-scale").or(page.getByTestId("step")).first()).toBeVisible();
    }
    // A way to the site itself is the browser's to go.
    site.fault = () => "folder";
    await page.goto(`${site.url}index.html${CPU}`);
    await opens(page);
    await expect(notice).toBeHidden();
    await expect(page).toHaveURL(site.url + CPU);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
  });
});

test("one wrong answer for a program or a shard is never kept", async ({ browser }) => {
  await kept(browser, async (page, site) => {
    site.headers = () => FOR_EVER;
    // Once, of each file that an address with a digest names.
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

test("what is kept and wrong is dropped, and fetched anew", async ({ browser }) => {
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
    // What this visit did not need is looked at when it is needed: an image set, other texts, the program that reads files.
    expect(spoilt.filter((url) => asked.has(url)).length).toBeGreaterThan(10);
    expect(left.filter((url) => asked.has(url))).toEqual([]);
  });
});
