import type { Browser, BrowserContextOptions, Page } from "@playwright/test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copied } from "./deploy";
import { expect, hook, open, test, value } from "./fixtures";
import { serve, type Site } from "./server";

// Who may frame a page, what a frame may do, and what the page's policies block.

const QUERY = "?backend=cpu&dataset=synthetic";

/** Opens a page of another origin with this HTML. */
async function around(browser: Browser, html: string, use: (page: Page, host: Site) => Promise<void>, options: BrowserContextOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-frames-"));
  writeFileSync(join(folder, "index.html"), html);
  const host = await serve(folder, "/docs/");
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  try {
    const page = await context.newPage();
    await page.goto(host.url);
    await use(page, host);
  } finally {
    await context.close();
    await host.close();
    rmSync(folder, { recursive: true });
  }
}
const frame = (url: string, more = "") => `<!doctype html><title>host</title><iframe width="1100" height="800" src="${url}" ${more}></iframe>`;

test("in a frame of another site the whole page shows a link instead of its controls", async ({ browser, site }) => {
  await around(browser, frame(site.url + QUERY), async (page) => {
    const inner = page.frameLocator("iframe");
    await expect(inner.locator("#failed")).toContainText("does not run within a page of another site");
    const link = inner.getByRole("link", { name: "Open it in a tab of its own" });
    const opened = page.context().waitForEvent("page");
    await link.click();
    await expect((await opened).getByTestId("digits-in-use")).toContainText("to train on");
    await expect(inner.getByTestId("play")).toHaveCount(0);
    await expect(inner.getByText("Opening…")).toBeHidden();
  });
});

test("a host may allow the whole page in frames of other sites", async ({ browser }) => {
  await copied(async (folder) => {
    const index = join(folder, "index.html");
    writeFileSync(index, readFileSync(index, "utf8").replace("<html ", '<html data-frames="any" '));
    const site = await serve(folder);
    await around(browser, frame(site.url + QUERY), async (page) => {
      await expect(page.frameLocator("iframe").getByTestId("digits-in-use")).toContainText("to train on");
    });
    await site.close();
  });
});

test("the whole page runs in a frame of its own site", async ({ browser }) => {
  await copied(async (folder) => {
    writeFileSync(join(folder, "around.html"), frame(`./${QUERY}`));
    const site = await serve(folder);
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${site.url}around.html`);
    await expect(page.frameLocator("iframe").getByTestId("digits-in-use")).toContainText("to train on");
    await context.close();
    await site.close();
  });
});

test("the element's frame has minimal permissions and trains", async ({ browser, site }) => {
  const html = `<!doctype html><title>host</title><script src="${site.url}element.js"></script><hush-grad preset="cpu" dataset="synthetic" backend="cpu"></hush-grad>`;
  await around(browser, html, async (page) => {
    const given = await page.locator("iframe").evaluate((frame: HTMLIFrameElement) => [frame.sandbox.value, frame.referrerPolicy, frame.allow]);
    expect(given).toEqual(["allow-scripts allow-same-origin allow-popups allow-popups-to-escape-sandbox allow-downloads", "no-referrer", "clipboard-write"]);
    const inner = page.frameLocator("iframe");
    await inner.getByTestId("play").click();
    await expect(inner.getByTestId("step")).not.toHaveAttribute("data-value", "0");
    const opened = page.context().waitForEvent("page");
    await inner.getByRole("link", { name: "Open the whole playground" }).click();
    await expect((await opened).getByTestId("digits-in-use")).toContainText("to train on");
    // A frame may not navigate its host page.
    const frame = page.frames().find((each) => each.url().includes("embed.html"))!;
    await frame.evaluate(() => {
      try {
        top!.location.href = "about:blank";
      } catch {
        // Refused.
      }
    });
    await page.waitForTimeout(300);
    await expect(page).toHaveTitle("host");
  });
});

test("an embed that has loaded once works without its server", async ({ browser }) => {
  await copied(async (folder) => {
    const site = await serve(folder);
    await around(browser, frame(`${site.url}embed.html${QUERY}`), async (page) => {
      const inner = page.frameLocator("iframe");
      await expect(inner.getByTestId("play")).toBeVisible();
      const embed = () => page.frames().find((each) => each.url().includes("embed.html"))!;
      await expect.poll(() => embed().evaluate(async () => !!(await navigator.serviceWorker.getRegistration())?.active)).toBe(true);
      site.fault = () => 503;
      await page.reload();
      await inner.getByTestId("play").click();
      await expect(inner.getByTestId("step")).not.toHaveAttribute("data-value", "0");
    }, { serviceWorkers: "allow" });
    await site.close();
  });
});

test("an embed that cannot start tells its reader and its host page", async ({ browser }) => {
  await copied(async (folder) => {
    const site = await serve(folder);
    const html = `<!doctype html><title>host</title><script src="${site.url}element.js"></script><hush-grad preset="cpu" dataset="synthetic" backend="cpu"></hush-grad>
      <script>document.querySelector("hush-grad").addEventListener("error", (event) => (document.title = event.detail?.message ?? "no sentence"))</script>`;
    for (const broken of [/_bg\.wasm$/, /^embed\.js$/, /^start\.js$/]) {
      site.fault = (path) => (broken.test(path) ? 404 : undefined);
      await around(browser, html, async (page) => {
        const inner = page.frameLocator("iframe");
        await expect(inner.locator("#failed")).toContainText("did not come: the host answers 404");
        await expect(page).toHaveTitle(/did not come: the host answers 404/);
        site.fault = () => undefined;
        await inner.getByRole("button", { name: "Try again" }).click();
        await inner.getByTestId("play").click();
        await expect(inner.getByTestId("step")).not.toHaveAttribute("data-value", "0");
      });
    }
    await site.close();
  });
});

for (const path of [QUERY, `embed.html${QUERY}`]) {
  test(`${path}: text cannot become a script or the address of one`, async ({ browser, site }) => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(site.url + path);
    await expect(page.getByTestId("play")).toBeVisible();
    const refused = await page.evaluate((own) => {
      const throws = (act: () => unknown) => {
        try {
          act();
          return false;
        } catch {
          return true;
        }
      };
      const box = document.createElement("div");
      return {
        script: throws(() => (document.createElement("script").src = "https://elsewhere.example/x.js")),
        text: throws(() => (document.createElement("script").text = "1")),
        worker: throws(() => new Worker("https://elsewhere.example/x.js", { type: "module" })),
        // A sandboxed embed starts its threads only from scripts that it has made itself.
        made: throws(() => new Worker(URL.createObjectURL(new Blob(["1"], { type: "text/javascript" })))),
        beside: throws(() => new Worker(new URL("/elsewhere.js", location.href), { type: "module" })),
        handlers: ["<img src=x onerror='1'>", "<img/src=x/onerror=1>", "<svg/onload=1>", "<svg onload='1'></svg>"].every((html) => throws(() => (box.innerHTML = html))),
        frame: throws(() => (box.innerHTML = "<iframe srcdoc=x></iframe>")),
        // Markup of charts is allowed.
        chart: throws(() => (box.innerHTML = "<text>on = 1 &lt;script&gt;</text>")),
        own: throws(() => (document.createElement("script").src = `${own}start.js`)),
        policy: throws(() => (window as unknown as { trustedTypes: { createPolicy(name: string, rules: object): void } }).trustedTypes.createPolicy("mine", {})),
      };
    }, site.url);
    expect(refused).toEqual({ script: true, text: true, worker: true, made: true, beside: true, handlers: true, frame: true, chart: false, own: false, policy: true });
    await context.close();
  });
}

for (const headers of [{}, { "referrer-policy": "no-referrer" }]) {
  const header = Object.keys(headers).length > 0;
  test(`no request has the page as its referrer${header ? ", and with the header none has a script" : ""}`, ({ browser }) => copied(async (folder) => {
    const site = await serve(folder, undefined, headers);
    const context = await browser.newContext();
    const page = await context.newPage();
    const told: string[] = [];
    context.on("request", (request) => {
      const { referer } = request.headers();
      // A thread's referrer policy is its script's, which only a host can set.
      if (referer && (header || !/\.js$/.test(referer))) told.push(`${request.url()}: ${referer}`);
    });
    await open(page, site, QUERY);
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
    expect(told).toEqual([]);
    await context.close();
    await site.close();
  }));
}
