import { resolve } from "node:path";
import { expect, hook, installed, open, test, value } from "./fixtures";
import { serve } from "./server";

// With the service worker, whose requests are listed, too.
test.use({ serviceWorkers: "allow" });

test("the page lists its requests: its own files, and none since they were loaded", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await installed(page);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const panel = page.getByTestId("requests");
  await panel.locator("summary").click();
  await expect(page.getByTestId("requests-count")).toHaveText(/^\d+ requests so far; to sites other than .*: none; after loading finished: none\.$/);
  // The page's program, and what its threads fetched themselves.
  for (const file of [/app-.*_bg\.wasm/, /worker-.*_bg\.wasm/, /accountant-.*_bg\.wasm/]) await expect(panel.getByRole("cell", { name: file }).first()).toBeVisible();
  await expect(panel).toContainText("connect-src 'self'");
  await expect(panel).toContainText("for offline use");
});

for (const [what, path] of [["the page", "?backend=cpu&dataset=synthetic"], ["the embed", "embed.html?poster=1"]]) {
  test(`${what} can reach no other origin, and runs no script but its own files`, async ({ browser, site }) => {
    // The other origin answers, so that only the policy stops the request. In a separate context,
    // as Chromium reports the attempt.
    const elsewhere = await serve(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"));
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      await page.goto(site.url + path);
      const outcome = await page.evaluate(async (url) => {
        const broken: string[] = [];
        document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => broken.push(effectiveDirective));
        const fetched = await fetch(url, { mode: "no-cors" }).then(() => true, () => false);
        const script = document.createElement("script");
        // As a text node, which would run at once: Trusted Types would refuse its `text` earlier.
        script.append("document.documentElement.dataset.ran = 'inline'");
        document.head.append(script);
        const deadline = performance.now() + 5_000;
        while (!broken.includes("connect-src") && performance.now() < deadline) await new Promise((done) => setTimeout(done, 20));
        return { fetched, ran: document.documentElement.dataset.ran ?? "nothing", broken };
      }, elsewhere.url);
      expect(outcome).toEqual({ fetched: false, ran: "nothing", broken: expect.arrayContaining(["connect-src"]) });
      expect(elsewhere.asked).toEqual([]);
    } finally {
      await context.close();
      await elsewhere.close();
    }
  });
}
