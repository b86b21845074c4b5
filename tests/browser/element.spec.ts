import type { Page } from "@playwright/test";
import { readdirSync } from "node:fs";
import { around, call, CPU, element, heard, inside } from "./around";
import { accessible, FRAME } from "./axe";
import { expect, test } from "./fixtures";

// <hush-grad> as an element of its page: attributes, theme, height, paper.

const set = (page: Page, name: string, value: string | null) =>
  page.evaluate(([name, value]) => {
    const element = document.querySelector("hush-grad")!;
    if (value === null) element.removeAttribute(name!);
    else element.setAttribute(name!, value);
  }, [name, value] as const);
const address = async (page: Page) => new URL((await page.locator("iframe").getAttribute("src"))!).searchParams;
/** Frames that were made so far: a frame that stays keeps its mark. */
const mark = (page: Page) => page.locator("iframe").evaluate((frame) => frame.setAttribute("data-mark", "1"));
const marked = (page: Page) => page.locator("iframe[data-mark]").count();

test("attributes are observed: settings are set in the run, all else is another frame", async ({ browser, site }) => {
  await around(browser, element(site, `${CPU} controls="sigma"`), async (page) => {
    await expect.poll(async () => (await call(page, "getState")).started).toBe(true);
    await mark(page);
    await set(page, "sigma", "2.5");
    await expect(inside(page).getByTestId("noise-scale")).toHaveValue("2.5");
    expect(await marked(page), "the frame stays").toBe(1);
    const refused = heard(page, "error");
    await set(page, "sigma", "-1");
    expect((await refused).message).toContain("Noise scale must be");
    await expect(page.locator("hush-grad [role=alert]")).toContainText("Noise scale must be");
    await set(page, "sigma", "1.5");
    await expect(inside(page).getByTestId("noise-scale")).toHaveValue("1.5");
    await expect(page.locator("hush-grad [role=alert]")).toBeHidden();

    await set(page, "controls", "clip");
    await expect(inside(page).getByTestId("clip-norm").or(inside(page).getByLabel("Clip norm")).first()).toBeVisible();
    expect(await marked(page)).toBe(0);
    await mark(page);
    await set(page, "sigma", null);
    await expect.poll(async () => (await address(page)).has("sigma")).toBe(false);
    expect((await call(page, "getState")).query).not.toContain("sigma=1.5");
    await set(page, "title", "A run");
    await expect(page.locator("iframe")).toHaveAttribute("title", "A run");
  });
});

test("what is set while the program is on its way is set in the frame that stands", async ({ browser, site }) => {
  const program = readdirSync(process.env.HUSHGRAD_SITE ?? "../../dist").find((name) => /^app.*\.wasm$/.test(name))!;
  let come = () => {};
  const before = site.asked.length;
  site.held.set(program, new Promise<void>((done) => (come = done)));
  // What the frame says of itself as it starts.
  const listen = `<script>addEventListener("message", ({ data }) => data?.type === "hello" && data.started && (self.begun = true))</script>`;
  await around(browser, element(site, `${CPU} controls="sigma"`).replace("<script", `${listen}<script`), async (page) => {
    await expect.poll(() => site.asked.slice(before).includes(program)).toBe(true);
    await expect.poll(() => page.evaluate(() => (self as unknown as { begun?: boolean }).begun)).toBe(true);
    await mark(page);
    await set(page, "sigma", "2.5");
    come();
    await expect(inside(page).getByTestId("noise-scale")).toHaveValue("2.5");
    expect(await marked(page), "the frame stays").toBe(1);
  });
});

test("what nobody knows is refused on the page, in the console and by an event", async ({ browser, site }) => {
  const listen = `<script>self.heard = []; addEventListener("error", ({ target, detail }) => target.localName === "hush-grad" && heard.push(detail.message), true)</script>`;
  const html = element(site, `${CPU} sgima="2" data-x="1" ng-version="1" @click="x" _ngcontent-a1=""`).replace("<script", `${listen}<script`);
  await around(browser, html, async (page) => {
    const warned: string[] = [];
    page.on("console", (message) => message.type() === "warning" && warned.push(message.text()));
    const alert = page.locator("hush-grad [role=alert]");
    await expect(alert).toHaveText("<hush-grad> has no attribute “sgima”.");
    expect(await page.evaluate(() => (self as unknown as { heard: string[] }).heard)).toEqual(["<hush-grad> has no attribute “sgima”."]);
    expect((await address(page)).has("sgima")).toBe(false);
    await set(page, "sgima", null);
    await expect(alert).toBeHidden();
    await set(page, "magic", "1");
    await expect(alert).toHaveText("<hush-grad> has no attribute “magic”.");
    await expect.poll(() => warned).toContainEqual(expect.stringContaining("“magic”"));
  });
});

for (const [how, light, dark] of [
  ["data-theme", `document.documentElement.dataset.theme = "light"`, `document.documentElement.dataset.theme = "dark"`],
  ["a class", `document.body.className = "light"`, `document.body.className = "theme-dark"`],
  ["color-scheme", `document.documentElement.style.colorScheme = "light"`, `document.documentElement.style.colorScheme = "dark"`],
  ["its paper", `document.body.style.background = "#fff"`, `document.body.style.background = "#14161a"`],
]) {
  test(`the frame follows the page's theme by ${how}`, async ({ browser, site }) => {
    await around(browser, element(site, `${CPU} poster="1"`), async (page) => {
      const theme = (value: string) => expect(inside(page).locator("html")).toHaveAttribute("data-theme", value);
      await page.evaluate(dark);
      await theme("dark");
      await page.evaluate(light);
      await theme("light");
      await call(page, "setState", { sigma: 2 });
      await theme("light");
      await page.evaluate(dark);
      await theme("dark");
      // It is the page's, and no setting: the link goes on without.
      await expect(inside(page).locator(".embed-foot a")).not.toHaveAttribute("href", /theme/);
    });
  });
}

test("a theme that changes as the frame comes, after it was said and before there is an answer, is told", async ({ browser, site }) => {
  const change = `<script>document.querySelector("hush-grad").shadowRoot.querySelector("iframe").addEventListener("load", () => (document.documentElement.dataset.theme = "dark"))</script>`;
  await around(browser, element(site, CPU) + change, async (page) => {
    await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
    await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "dark");
  });
});

test("a theme that the author names stays", async ({ browser, site }) => {
  await around(browser, element(site, `${CPU} theme="light"`), async (page) => {
    await page.evaluate(() => (document.documentElement.dataset.theme = "dark"));
    await call(page, "getState");
    await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "light");
    await set(page, "theme", null);
    await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "dark");
  });
});

for (const width of [360, 640, 720, 900, 1200]) {
  test(`at ${width} px nothing in the frame has to be scrolled`, async ({ browser, site }) => {
    await around(browser, `<meta name="viewport" content="width=device-width"><style>body { margin: 0 }</style>${element(site, `${CPU} controls="sigma,clip,lot,rate"`)}`, async (page) => {
      const stepped = heard(page, "step");
      await call(page, "step");
      await stepped;
      const frame = page.frames().find((each) => each.url().includes("embed.html"))!;
      const rest = () => frame.evaluate(() => {
        const { scrollWidth, scrollHeight } = document.documentElement;
        return [scrollWidth - innerWidth, scrollHeight - innerHeight];
      });
      await expect.poll(rest).toEqual([0, 0]);
      const { height } = (await page.locator("iframe").boundingBox())!;
      expect(height).toBeGreaterThanOrEqual(400);
      // Narrower, it is higher; wider again, it is not.
      if (width !== 900) return;
      await page.setViewportSize({ width: 360, height: 1200 });
      await expect.poll(async () => (await page.locator("iframe").boundingBox())!.height).toBeGreaterThan(height + 50);
      await expect.poll(rest).toEqual([0, 0]);
      await page.setViewportSize({ width: 900, height: 1200 });
      await expect.poll(async () => (await page.locator("iframe").boundingBox())!.height).toBeLessThan(height + 20);
    }, { context: { viewport: { width, height: 1200 } } });
  });
}

test("a plain frame is not measured, and is as high as its author says", async ({ browser, site }) => {
  await around(browser, `<!doctype html><title>host</title><iframe width="640" height="300" style="border: 0" src="${site.url}embed.html?preset=cpu&dataset=synthetic&backend=cpu"></iframe>`, async (page) => {
    await expect(inside(page).getByTestId("step")).toHaveAttribute("data-value", "0");
    expect((await page.locator("iframe").boundingBox())!.height).toBe(300);
    await expect(inside(page).locator("html[data-fit]")).toHaveCount(0);
  });
});

test("children stand in where the element is unknown, and on paper", async ({ browser, site }) => {
  await around(browser, element(site, `${CPU} poster="1"`, "<p>A live run, on the web alone.</p>"), async (page) => {
    const children = page.getByText("A live run, on the web alone.");
    await expect(children).toBeHidden();
    await expect(page.locator("iframe")).toBeVisible();
    await page.emulateMedia({ media: "print" });
    await expect(children).toBeVisible();
    await expect(page.locator("hush-grad .print")).toContainText(`${site.url}?preset=cpu`);
    await expect(page.locator("hush-grad svg")).toBeVisible();
    // Nothing was run that could be printed.
    await expect(page.locator("iframe")).toBeHidden();
    await page.emulateMedia({ media: "screen" });
    const stepped = heard(page, "step");
    await call(page, "step");
    await stepped;
    await page.emulateMedia({ media: "print" });
    await expect(page.locator("iframe")).toBeVisible();
    await expect(page.locator("hush-grad svg")).toBeHidden();
  });
  await around(browser, element(site, CPU, "<p>A live run, on the web alone.</p>").replace(/<script.*?<\/script>/, ""), async (page) => {
    await expect(page.getByText("A live run, on the web alone.")).toBeVisible();
  });
});

const VIEWS: [string, string][] = [
  [`view="run"`, "Test accuracy"], [`view="stage"`, "One person, in or out"], [`view="results"`, "Draw a digit"], [`view="lesson" lesson="why-noise"`, "Lesson 1"], [`view="lab"`, "Design your own"], [`view="attack"`, "Attack your own run"],
];
for (const [view, text] of VIEWS) {
  test(`${view}: the frame shows it, and nobody is kept out`, async ({ browser, site }) => {
    await around(browser, element(site, `${CPU} ${view}`), async (page) => {
      await expect(inside(page).getByText(text).first()).toBeVisible();
      await expect(inside(page).getByTestId("play")).toBeVisible();
      await expect(inside(page).getByTestId("error")).toBeEmpty();
    });
    const context = await browser.newContext({ viewport: { width: 640, height: 900 } });
    const frame = await context.newPage();
    await frame.goto(`${site.url}embed.html?${view.replaceAll('"', "").replace(" ", "&")}&preset=cpu&dataset=synthetic&backend=cpu`);
    await expect(frame.getByText(text).first()).toBeVisible();
    await expect(frame.getByTestId("backend")).toHaveText("CPU");
    await accessible(frame, view, FRAME);
    await context.close();
  });
}

test("without an address the element says what it needs", async ({ browser, site }) => {
  const script = await (await fetch(`${site.url}element.js`)).text();
  await around(browser, `<!doctype html><title>host</title><script>${script}</script><hush-grad preset="cpu"></hush-grad>`, async (page) => {
    await expect(page.locator("hush-grad [role=alert]")).toContainText("needs the playground's address");
    await set(page, "src", site.url);
    await set(page, "poster", "1");
    await expect(inside(page).locator("#poster")).toBeVisible();
    await expect(page.locator("hush-grad [role=alert]")).toBeHidden();
  });
});
