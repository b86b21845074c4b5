import type { Page } from "@playwright/test";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { around, call, CPU, element, heard, inside, shared } from "./around";
import { expect, test } from "./fixtures";

// Frames with an opaque origin (learning platforms, notebooks) and pages from a file: they work, or
// say at once why not.

const QUERY = "preset=cpu&dataset=synthetic&backend=cpu";
const sandboxed = (url: string, query = QUERY, sandbox = "allow-scripts") =>
  `<iframe sandbox="${sandbox}" width="640" height="520" src="${url}embed.html?${query}"></iframe>`;
const page = (...frames: string[]) => `<!doctype html><title>host</title>${frames.join("")}`;
/** Steps that the n-th frame has done. */
const steps = async (host: Page, n = 0) => Number(await inside(host, n).getByTestId("step").getAttribute("data-value"));
/** The time within which a message must appear. */
const AT_ONCE = { timeout: 5_000 };

test("a sandboxed frame trains where the host allows it", async ({ browser }) => {
  await shared((site) => around(browser, page(sandboxed(site.url)), async (host) => {
    const frame = host.frames().find((each) => each.url().includes("embed.html"))!;
    expect(await frame.evaluate(() => self.origin), "it has no origin").toBe("null");
    await inside(host).getByTestId("play").click();
    await expect.poll(() => steps(host)).toBeGreaterThanOrEqual(20);
    await expect(inside(host).getByTestId("epsilon")).toHaveText(/≤ 0\.\d/);
    await inside(host).getByTestId("pause").click();
    await expect(inside(host).getByTestId("error")).toBeEmpty();
    await expect(inside(host).locator("#failed")).toBeHidden();
  }));
});

test("a sandboxed frame that the host does not allow says so at once, and names both remedies", async ({ browser, site }) => {
  await around(browser, page(sandboxed(site.url)), async (host) => {
    const failed = inside(host).locator("#failed");
    await expect(failed).toContainText("allow-same-origin is missing in the frame", AT_ONCE);
    await expect(failed).toContainText("Access-Control-Allow-Origin in the host's answers");
    await expect(inside(host).getByText("Starting…")).toHaveCount(0);
  });
  await around(browser, page(sandboxed(site.url, QUERY, "allow-scripts allow-same-origin")), async (host) => {
    await expect(inside(host).getByTestId("step")).toHaveAttribute("data-value", "0");
    await expect(inside(host).locator("#failed")).toBeHidden();
  });
});

test("a sandboxed frame names the file that its host lacks", async ({ browser }) => {
  await shared((site) => {
    site.fault = (path) => (/^worker.*_loader\.js$/.test(path) ? 404 : undefined);
    return around(browser, page(sandboxed(site.url)), async (host) => {
      await expect(inside(host).locator("#failed")).toContainText(/The training thread \(worker-\w+_loader\.js\) did not come: /);
    });
  });
});

test("the element works in a sandboxed page", async ({ browser }) => {
  await shared((site) => around(browser, element(site, CPU), async (host) => {
    expect(await host.evaluate(() => self.origin)).toBe("null");
    expect((await call(host, "getState")).query).toContain("preset=cpu");
    const complete = heard(host, "complete");
    await call(host, "setState", { steps: 20 });
    await call(host, "play");
    expect(await complete).toMatchObject({ step: 20, guarantee: true });
    expect((await host.locator("hush-grad").boundingBox())!.height).toBeGreaterThanOrEqual(400);
  }, { headers: { "content-security-policy": "sandbox allow-scripts" } }));
});

test("only one of several frames has the graphics card, also without storage", async ({ browser }) => {
  await shared((site) => around(browser, page(sandboxed(site.url, "dataset=synthetic"), sandboxed(site.url, "dataset=synthetic"), `<iframe width="640" height="520" src="${site.url}embed.html?dataset=synthetic"></iframe>`), async (host) => {
    const reasons = await Promise.all([0, 1, 2].map(async (n) => {
      await inside(host, n).locator("html").evaluate((root) => root.scrollIntoView());
      await expect(inside(host, n).getByTestId("backend")).toHaveText(/CPU|WebGPU/);
      return inside(host, n).getByTestId("backend-reason").textContent();
    }));
    expect(reasons.filter((text) => text?.includes("another frame on this page")), String(reasons)).toHaveLength(2);
  }, { context: { viewport: { width: 900, height: 1800 } } }));
});

test("the whole page in a sandbox, framed or in a tab, says that it has no origin", async ({ browser }) => {
  await shared(async (site) => {
    await around(browser, page(`<iframe sandbox="allow-scripts allow-popups" src="${site.url}?backend=cpu"></iframe>`), async (host) => {
      await expect(inside(host).locator("#failed")).toContainText("does not run in a sandbox without an origin of its own", AT_ONCE);
      // In the page's own style, which such a frame can load only with CORS.
      await expect(inside(host).locator("body")).toHaveCSS("margin", "0px");
      const opened = host.context().waitForEvent("page");
      await inside(host).getByRole("link", { name: "Open it in a tab of its own" }).click();
      const tab = await opened;
      // The tab inherits the sandbox, and names the right reason.
      await expect(tab.locator("#failed")).toContainText("This tab was opened from a sandbox", AT_ONCE);
      await expect(tab.getByTestId("play")).toHaveCount(0);
      await expect(tab.getByRole("link")).toHaveAttribute("href", /backend=cpu/);
    });
  });
});

for (const name of ["index.html", "embed.html"]) {
  test(`${name} opened as a file is refused at once`, async ({ page, watched }) => {
    watched.allowed.push(/CORS policy|Failed to load resource|file:\/\//);
    await page.goto(pathToFileURL(resolve(process.env.HUSHGRAD_SITE ?? "../../dist", name)).href, { waitUntil: "commit" });
    await expect(page.locator("#failed")).toContainText("opened as a file", AT_ONCE);
    await expect(page.locator("#failed")).toContainText("http.server");
    await expect(page.getByText("Opening…")).toBeHidden();
    // No other message replaces it later.
    await page.waitForTimeout(500);
    await expect(page.locator("#failed")).toContainText("opened as a file");
    watched.requests.length = 0;
  });
}
