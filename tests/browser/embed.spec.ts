import type { Page } from "@playwright/test";
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { around, call, CPU, element, heard, hosted, inside, within } from "./around";
import { accessible } from "./axe";
import { allControls, expect, hook, open, test } from "./fixtures";
import type { Site } from "./server";

const EXAMPLES = resolve("../../examples/embed");
const ADDRESS = /https:\/\/hushgrad\.example\//g;

const example = (file: string, site: Site) => readFileSync(join(EXAMPLES, file), "utf8").replace(ADDRESS, site.url);

test("the plain HTML example exchanges events and commands across origins", { tag: "@journey" }, async ({ browser, site }) => {
  const html = example("html/index.html", site).replace("preset=", 'backend="cpu" preset=');
  await around(browser, html, async (page) => {
    expect((await page.locator("hush-grad").boundingBox())!.height, "its place is kept").toBeGreaterThanOrEqual(400);
    const state = await call(page, "getState");
    expect(state.query).toContain("preset=cpu");
    await expect(inside(page).getByTestId("noise-scale")).toHaveValue("1.3");

    const stepped = heard(page, "step");
    await call(page, "step");
    const first = await stepped;
    expect(first).toMatchObject({ step: 1, guarantee: true, backend: "cpu", delta: 1e-5 });
    expect(first.epsilon).toBeGreaterThan(0);
    await expect(page.locator("#report")).toContainText("Step 1: ε ≤");

    const played = heard(page, "step");
    await call(page, "play");
    await played;
    const paused = heard(page, "paused");
    await call(page, "pause");
    expect(await paused).toMatchObject({ playing: false, complete: false });

    expect((await call(page, "setState", { sigma: 2, steps: 5 })).query).toContain("sigma=2");
    await expect(inside(page).getByTestId("noise-scale")).toHaveValue("2");
    const refused = await page.evaluate(() => (document.querySelector("hush-grad") as any).setState("sigma=-1").catch(String));
    expect(refused).toContain("Noise scale must be");
    const complete = heard(page, "complete");
    await call(page, "play");
    expect(await complete).toMatchObject({ step: 5, steps: 5, complete: true });
    const reset = heard(page, "state");
    await call(page, "reset");
    await reset;
  });
});

test("the mdBook example loads nothing until its poster is clicked", { tag: "@packages" }, async ({ browser, site }) => {
  const mdbook = process.env.HUSHGRAD_MDBOOK;
  if (!mdbook) throw new Error("HUSHGRAD_MDBOOK must name mdBook's program");
  const before = site.asked.length;
  const read = async (page: Page) => {
    await expect(inside(page).locator("#poster")).toBeVisible();
    const instead = page.getByRole("link", { name: "the run in the playground" });
    await expect(instead).toHaveAttribute("href", `${site.url}?preset=cpu&dataset=synthetic`);
    await page.waitForTimeout(300);
    const loaded = site.asked.slice(before);
    expect(loaded.filter((path) => /wasm|worker|accountant|data\//.test(path))).toEqual([]);
    await inside(page).locator("#poster").click();
    await expect(inside(page).getByTestId("step")).not.toHaveAttribute("data-value", "0");
    await expect(inside(page).getByTestId("noise-family")).toBeVisible();
    await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "light");
  };
  await within(async (book) => {
    cpSync(join(EXAMPLES, "mdbook"), book, { recursive: true });
    for (const file of readdirSync(join(book, "src"))) writeFileSync(join(book, "src", file), example(`mdbook/src/${file}`, site));
    execFileSync(mdbook, ["build", book], { stdio: "pipe" });
    await hosted(browser, join(book, "book"), "private-run.html", read);
  });
});

test("two embeds on a page: one has the GPU, the other trains on the CPU and says why", async ({ browser, site }) => {
  const two = `<!doctype html><title>two</title>${["a", "b"].map((id) => `<iframe id="${id}" width="640" height="400" src="${site.url}embed.html?dataset=synthetic"></iframe>`).join("")}`;
  await around(browser, two, async (page) => {
    const reason = (n: number) => inside(page, n).getByTestId("backend-reason");
    for (const n of [0, 1]) await expect(inside(page, n).getByTestId("backend")).toHaveText(/CPU|WebGPU/);
    const reasons = [await reason(0).textContent(), await reason(1).textContent()];
    expect(reasons.filter((text) => text?.includes("another frame on this page")), String(reasons)).toHaveLength(1);
    // This is not a setting: neither link asks for the CPU.
    for (const link of await page.locator("iframe").all()) {
      await expect(link.contentFrame().locator(".embed-foot a")).not.toHaveAttribute("href", /backend=/);
    }
  });
});

test("embeds on the CPU or in another tab do not take this page's graphics card", async ({ browser, site }) => {
  const frame = (query: string) => `<iframe width="640" height="400" src="${site.url}embed.html?dataset=synthetic${query}"></iframe>`;
  const reason = async (page: Page, n: number) => {
    await expect(inside(page, n).getByTestId("backend")).toHaveText(/CPU|WebGPU/);
    return (await inside(page, n).getByTestId("backend-reason").textContent()) ?? "";
  };
  await around(browser, `<!doctype html><title>one</title>${frame("&backend=cpu")}`, async (page) => {
    expect(await reason(page, 0)).toContain("backend=cpu");
    const other = await page.context().newPage();
    await other.goto(page.url());
    expect(await reason(other, 0)).toContain("backend=cpu");
    for (const tab of [page, other]) {
      await tab.bringToFront();
      await tab.evaluate((html) => document.body.insertAdjacentHTML("beforeend", html), frame(""));
      expect(await reason(tab, 1)).not.toContain("another frame");
    }
  });
});

test("setting state behind a poster loads the program, which checks and applies it", async ({ browser, site }) => {
  await around(browser, element(site, `${CPU} poster="1"`), async (page) => {
    expect(await call(page, "getState")).toMatchObject({ started: false });
    await expect(inside(page).locator("#poster")).toBeVisible();
    const refused = await page.evaluate(() => (document.querySelector("hush-grad") as any).setState("sigma=-1").catch(String));
    expect(refused).toContain("Noise scale must be");
    const state = await call(page, "setState", { sigma: 2 });
    expect(state).toMatchObject({ started: true, step: 0, playing: false });
    expect(state.query).toContain("sigma=2");
    await expect(inside(page).locator("#poster")).toBeHidden();
  });
});

test("setting keys reach the frame, and global HTML attributes do not", async ({ browser, site }) => {
  const any = `class="wide" data-note="x" aria-label="x" onclick="" tabindex="0"`;
  await around(browser, element(site, `${any} ${CPU} pre-scale="0.5" controls="rate"`), async (page) => {
    const { searchParams } = new URL((await page.locator("iframe").getAttribute("src"))!);
    expect([...searchParams.keys()]).toEqual(["preset", "dataset", "backend", "pre-scale", "controls"]);
    await expect(inside(page).getByTestId("learning-rate")).toBeVisible();
    await expect(inside(page).getByTestId("error")).toBeEmpty();
    await expect(inside(page).getByTestId("sweep"), "a frame has no list for the runs of a sweep").toHaveCount(0);
    expect((await call(page, "getState")).query).toContain("dataset=synthetic");
  });
});

test("the element emits ready and error events", async ({ browser, site }) => {
  // Listens before the element exists, since the first event may come at any time.
  const listen = `<script>
    self.heard = [];
    for (const kind of ["ready", "error"]) addEventListener(kind, ({ target, detail }) => target.localName === "hush-grad" && heard.push({ kind, ...detail }), true);
  </script>`;
  await around(browser, element(site, `${CPU} controls="sigma"`).replace("<script", `${listen}<script`), async (page) => {
    const told = () => page.evaluate(() => (self as unknown as { heard: Record<string, unknown>[] }).heard);
    const ready = { kind: "ready", step: 0, playing: false, complete: false, backend: "cpu", started: true, resting: false };
    await expect.poll(told).toEqual([expect.objectContaining(ready)]);
    const scale = inside(page).getByTestId("noise-scale");
    await scale.fill("-1");
    await scale.press("Enter");
    const error = { kind: "error", message: expect.stringContaining("Noise scale must be") };
    await expect.poll(told).toContainEqual(expect.objectContaining(error));

    const badge = inside(page).locator("details.badge");
    await badge.locator("summary").click();
    await expect(badge).toHaveAttribute("open");
    await page.keyboard.press("Escape");
    await expect(badge).not.toHaveAttribute("open");
  });
});

test("the Embed button opens a dialog with a preview, choices and both snippets to copy", async ({ page, context, browser, site, watched }) => {
  // Each choice replaces the preview, and Chromium reports what the old one was still fetching.
  watched.allowed.push(/^Fetch API cannot load \S+\.\s+\(\S+\/embed_dialog\.js\?is=\w+\)$/);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site, "?backend=cpu&dataset=synthetic&theme=dark");
  await hook(page, "noise-scale").fill("2.5");
  await hook(page, "noise-scale").press("Enter");
  await allControls(page);
  await page.getByTestId("embed").click();
  const dialog = page.getByRole("dialog", { name: "Embed in your page" });
  await expect(dialog).toBeVisible();
  await expect(dialog.frameLocator("iframe").locator("#poster")).toBeVisible();
  await accessible(page, "the dialog");
  await page.getByTestId("embed-poster").uncheck();
  await page.getByTestId("embed-size").selectOption("360 560");
  await page.getByTestId("embed-controls").selectOption("sigma");
  await expect(dialog.frameLocator("iframe").getByTestId("noise-scale"), "the preview is live").toHaveValue("2.5");
  expect((await dialog.locator("iframe").boundingBox())!.width).toBe(360);
  await page.getByTestId("embed-view").selectOption("results");
  await expect(dialog.frameLocator("iframe").getByText("Draw a digit").first()).toBeVisible();

  await page.getByTestId("embed-copy-frame").click();
  await expect(page.getByTestId("embed-said")).toContainText("Iframe copied");
  const frame = await page.evaluate(() => navigator.clipboard.readText());
  await page.getByTestId("embed-copy-element").click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).not.toBe(frame);
  const tag = await page.evaluate(() => navigator.clipboard.readText());
  for (const snippet of [frame, tag]) {
    expect(snippet).toContain(site.url);
    expect(snippet).not.toContain("hushgrad.example");
  }
  await around(browser, `<!doctype html><title>host</title>${frame}`, async (host) => {
    const whole = inside(host).getByRole("link", { name: "Open the whole playground" });
    await expect(whole).toHaveAttribute("href", /\?v=1&dataset=synthetic&sigma=2\.5&backend=cpu&theme=dark$/);
    await expect(inside(host).locator("html")).toHaveAttribute("data-theme", "dark");
    expect((await host.locator("iframe").boundingBox())!.width).toBe(360);
  });
  await around(browser, `<!doctype html><title>host</title>${tag}`, async (host) => {
    await expect(inside(host).getByTestId("noise-scale")).toHaveValue("2.5");
    await expect(host.locator("hush-grad [role=alert]")).toBeHidden();
  });
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(dialog.locator("iframe"), "nothing trains unseen").toHaveCount(0);
  await expect(page.getByTestId("embed")).toBeFocused();
});

test("an embed pauses out of sight and resumes when visible", async ({ browser, site }) => {
  await around(browser, `${element(site, CPU)}<div style="height: 4000px"></div>`, async (page) => {
    await expect(inside(page).getByTestId("step")).toBeVisible();
    const stepped = heard(page, "step");
    await call(page, "play");
    await stepped;
    const paused = heard(page, "paused");
    await page.evaluate(() => scrollTo(0, 3000));
    expect(await paused).toMatchObject({ resting: true, playing: false });
    const again = heard(page, "step");
    await page.evaluate(() => scrollTo(0, 0));
    await again;
  });
});

test("invalid values in the address get an error in the frame, and unknown keys are ignored", async ({ browser, site }) => {
  const wrong = `${CPU} sigma="-3" controls="sigma,magic" hide="epsilon,speed" utm_source="x"`;
  await around(browser, element(site, wrong), async (page) => {
    const error = inside(page).getByTestId("error");
    for (const words of ["Noise scale must be", "“magic” is none of them", "“epsilon” is none of them"]) {
      await expect(error).toContainText(words);
    }
    await expect(error).not.toContainText("utm_source");
    await expect(inside(page).getByTestId("speed")).toBeHidden();
    await expect(inside(page).getByTestId("epsilon")).toBeVisible();
  });
});

test("a frame accepts messages only from its host page", async ({ browser, site }) => {
  await around(browser, element(site, CPU), async (page) => {
    await expect(inside(page).getByTestId("step")).toHaveAttribute("data-value", "0");
    // From a window that is not its parent: the frame itself.
    const frame = page.frames().find((frame) => frame.url().includes("embed.html"))!;
    await frame.evaluate(() => postMessage({ source: "hushgrad", v: 1, type: "step" }, "*"));
    // From the parent, but of another version.
    await page.evaluate(() => document.querySelector("hush-grad")!.shadowRoot!.querySelector("iframe")!.contentWindow!.postMessage({ source: "hushgrad", v: 2, type: "step" }, "*"));
    await page.waitForTimeout(500);
    expect((await call(page, "getState")).step).toBe(0);
  });
});

test("an invalid state is refused with an error and changes nothing", async ({ browser, site }) => {
  await around(browser, element(site, CPU), async (page) => {
    // The number of images is known once they have loaded.
    await call(page, "setState", { backend: "cpu" });
    await expect.poll(async () => (await call(page, "getState")).train).toBeGreaterThan(0);
    // Without the version, which the page adds when it rewrites its link.
    const query = async () => (await call(page, "getState")).query.replace(/^v=1&/, "");
    const before = await query();
    const refused = (state: unknown) =>
      page.evaluate((state) => (document.querySelector("hush-grad") as any).setState(state).then(JSON.stringify, String), state) as Promise<string>;
    for (const [state, says] of [
      ["noise=custom&density=1%2B%2B", "Error: "],
      ["noise=custom&density=x", "Error: "],
      ["backend=gpu", "one backend"],
      ["backend=auto&sigma=2", "one backend"],
      ["dataset=files", "no place to pick files"],
      ["lot=1000000", "Lot size is 1,000,000"],
      ["sigma=1e-300", "Noise scale must be"],
      ["x".repeat(1_000_000), "characters long"],
    ] as const) {
      await test.step(state.slice(0, 40), async () => {
        const answer = await refused(state);
        expect(answer).toMatch(/^Error: /);
        expect(answer).toContain(says);
        expect(answer.length).toBeLessThan(400);
        expect(await query()).toBe(before);
        await expect(inside(page).getByTestId("error")).toBeEmpty();
      });
    }
    const state = await call(page, "setState", { noise: "custom", density: "1/cosh(x)", backend: "cpu" });
    expect(state.query).toContain("density=1%2Fcosh");
  });
});

test("no message makes the frame throw", async ({ browser, site }) => {
  await around(browser, element(site, CPU), async (page) => {
    await call(page, "getState");
    const thrown: string[] = [];
    page.on("pageerror", (error) => thrown.push(String(error)));
    const answers = await page.evaluate(async () => {
      const errors: string[] = [];
      addEventListener("message", ({ data }) => data?.type === "error" && errors.push(data.message));
      const frame = document.querySelector("hush-grad")!.shadowRoot!.querySelector("iframe")!.contentWindow!;
      const as = (more: object) => ({ source: "hushgrad", v: 1, ...more });
      const { port1 } = new MessageChannel();
      for (const message of [
        null, 7, "hello", [], [1, [2]], {}, as({}), as({ type: null }), as({ type: { toString: 1 } }), as({ type: ["play"] }),
        as({ type: "x".repeat(1 << 20) }), as({ type: "getState", id: { deep: [] } }), as({ type: "setState", query: { toString: 1 } }),
        as({ type: "setState", query: "y".repeat(1 << 22) }), as({ type: "__proto__" }), as({ type: 1n }),
      ]) frame.postMessage(message, "*");
      frame.postMessage(as({ type: "none", id: port1 }), "*", [port1]);
      // Waits at least a second, and until the frame has handled the messages.
      for (let tenths = 0; tenths < 10 || (errors.length <= 5 && tenths < 600); tenths++) await new Promise((done) => setTimeout(done, 100));
      return errors;
    });
    expect(thrown).toEqual([]);
    expect(answers.length).toBeGreaterThan(5);
    for (const answer of answers) expect(answer.length).toBeLessThan(200);
    expect((await call(page, "getState")).step).toBe(0);
  });
});

test("a lesson of private runs shows its numbers in a frame, too", async ({ page, site }) => {
  await page.setViewportSize({ width: 720, height: 700 });
  await page.goto(`${site.url}embed.html?backend=cpu&dataset=synthetic&view=lesson&lesson=same-epsilon.2`);
  // These sentences need the accountant's answer about the run.
  await expect(page.locator(".lesson-text")).toContainText(/ε ≤ [\d.]+, where the few steps had [\d.]+\. /, { timeout: 60_000 });
  await expect(page.locator(".lesson-text")).toContainText(/at most [\d.]+% now, and [\d.]+% after the few steps/);
});
