import type { Page } from "@playwright/test";
import { readdirSync } from "node:fs";
import { around, call, CPU, element, heard, inside } from "./around";
import { accessible, FRAME } from "./axe";
import { expect, test } from "./fixtures";

// The <hush-grad> element on its page: attributes, theme, height and print.

const set = (page: Page, name: string, value: string | null) =>
  page.evaluate(([name, value]) => {
    const element = document.querySelector("hush-grad")!;
    if (value === null) element.removeAttribute(name!);
    else element.setAttribute(name!, value);
  }, [name, value] as const);
const address = async (page: Page) => new URL((await page.locator("iframe").getAttribute("src"))!).searchParams;
/** Marks the current frame: a frame that is reused keeps its mark. */
const mark = (page: Page) => page.locator("iframe").evaluate((frame) => frame.setAttribute("data-mark", "1"));
const marked = (page: Page) => page.locator("iframe[data-mark]").count();

test("changed settings apply to the run, other attributes reload the frame, and unknown ones are refused", async ({ browser, site }) => {
  const listen = `<script>self.heard = []; addEventListener("error", ({ target, detail }) => target.localName === "hush-grad" && heard.push(detail.message), true)</script>`;
  const html = element(site, `${CPU} controls="sigma" theme="light" sgima="2" data-x="1" ng-version="1" @click="x" _ngcontent-a1=""`).replace("<script", `${listen}<script`);
  await around(browser, html, async (page) => {
    const alert = page.locator("hush-grad [role=alert]");

    await test.step("unknown attributes are refused on the page, in the console and by an event", async () => {
      const warned: string[] = [];
      page.on("console", (message) => message.type() === "warning" && warned.push(message.text()));
      await expect(alert).toHaveText("<hush-grad> has no attribute “sgima”.");
      expect(await page.evaluate(() => (self as unknown as { heard: string[] }).heard)).toEqual(["<hush-grad> has no attribute “sgima”."]);
      expect((await address(page)).has("sgima")).toBe(false);
      await set(page, "sgima", null);
      await expect(alert).toBeHidden();
      await set(page, "magic", "1");
      await expect(alert).toHaveText("<hush-grad> has no attribute “magic”.");
      await expect.poll(() => warned).toContainEqual(expect.stringContaining("“magic”"));
      await set(page, "magic", null);
      await expect(alert).toBeHidden();
    });

    await test.step("a height must be whole pixels within its range", async () => {
      for (const wrong of ["1e9", "-5", "100%", "39", "6001", ""]) {
        await set(page, "height", wrong);
        await expect(alert).toHaveText(`<hush-grad> has no height “${wrong}”: whole pixels from 40 to 6000.`);
      }
      for (const right of ["500", "600px"]) {
        await set(page, "height", right);
        await expect(alert).toBeHidden();
        await expect.poll(async () => (await page.locator("hush-grad").boundingBox())!.height).toBeGreaterThanOrEqual(Number.parseInt(right));
      }
      await set(page, "height", null);
    });

    await test.step("a theme set by the author stays", async () => {
      await page.evaluate(() => (document.documentElement.dataset.theme = "dark"));
      await call(page, "getState");
      await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "light");
    });

    await test.step("settings apply to the run, and other attributes reload the frame", async () => {
      await expect.poll(async () => (await call(page, "getState")).started).toBe(true);
      await mark(page);
      await set(page, "sigma", "2.5");
      await expect(inside(page).getByTestId("noise-scale")).toHaveValue("2.5");
      expect(await marked(page), "the frame stays").toBe(1);
      const refused = heard(page, "error");
      await set(page, "sigma", "-1");
      expect((await refused).message).toContain("Noise scale must be");
      await expect(alert).toContainText("Noise scale must be");
      await set(page, "sigma", "1.5");
      await expect(inside(page).getByTestId("noise-scale")).toHaveValue("1.5");
      await expect(alert).toBeHidden();

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

    await test.step("without the author's theme the frame follows the page's", async () => {
      await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "light");
      await set(page, "theme", null);
      await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "dark");
    });
  });
});

test("settings and themes changed while the program loads reach the existing frame", async ({ browser, site }) => {
  const program = readdirSync(process.env.HUSHGRAD_SITE ?? "../../dist").find((name) => /^app.*\.wasm$/.test(name))!;
  let come = () => {};
  const before = site.asked.length;
  site.held.set(program, new Promise<void>((done) => (come = done)));
  // The frame's message as it starts.
  const listen = `<script>addEventListener("message", ({ data }) => data?.type === "hello" && data.started && (self.begun = true))</script>`;
  // Changes the theme after it was sent and before the frame answers.
  const change = `<script>document.querySelector("hush-grad").shadowRoot.querySelector("iframe").addEventListener("load", () => (document.documentElement.dataset.theme = "dark"))</script>`;
  await around(browser, element(site, `${CPU} controls="sigma"`).replace("<script", `${listen}<script`) + change, async (page) => {
    await expect.poll(() => site.asked.slice(before).includes(program)).toBe(true);
    await expect.poll(() => page.evaluate(() => (self as unknown as { begun?: boolean }).begun)).toBe(true);
    await mark(page);
    await set(page, "sigma", "2.5");
    come();
    await expect(inside(page).getByTestId("noise-scale")).toHaveValue("2.5");
    expect(await marked(page), "the frame stays").toBe(1);
    await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
    await expect(inside(page).locator("html")).toHaveAttribute("data-theme", "dark");
  });
});

const THEMES: [string, string, string, string][] = [
  ["data-theme", `document.documentElement.dataset.theme = "light"`, `document.documentElement.dataset.theme = "dark"`, `delete document.documentElement.dataset.theme`],
  ["a class", `document.body.className = "light"`, `document.body.className = "theme-dark"`, `document.body.className = ""`],
  ["color-scheme", `document.documentElement.style.colorScheme = "light"`, `document.documentElement.style.colorScheme = "dark"`, `document.documentElement.style.colorScheme = ""`],
  ["its paper", `document.body.style.background = "#fff"`, `document.body.style.background = "#14161a"`, `document.body.style.background = ""`],
];
test("the frame follows the page's theme before and during a run; children replace it in print and where the element is undefined", async ({ browser, site }) => {
  await around(browser, element(site, `${CPU} poster="1"`, "<p>A live run, on the web alone.</p>"), async (page) => {
    const theme = (value: string) => expect(inside(page).locator("html")).toHaveAttribute("data-theme", value);
    for (const [how, light, dark, neither] of THEMES) {
      await test.step(`a frame that does not run yet follows the page's theme by ${how}`, async () => {
        await page.evaluate(dark);
        await theme("dark");
        await page.evaluate(light);
        await theme("light");
        await page.evaluate(neither);
      });
    }

    await test.step("children replace the frame in print until a run has begun", async () => {
      const children = page.getByText("A live run, on the web alone.");
      await expect(children).toBeHidden();
      await expect(page.locator("iframe")).toBeVisible();
      await page.emulateMedia({ media: "print" });
      await expect(children).toBeVisible();
      await expect(page.locator("hush-grad .print")).toContainText(`${site.url}?preset=cpu`);
      await expect(page.locator("hush-grad svg")).toBeVisible();
      // There is no run to print yet.
      await expect(page.locator("iframe")).toBeHidden();
      await page.emulateMedia({ media: "screen" });
      const stepped = heard(page, "step");
      await call(page, "step");
      await stepped;
      await page.emulateMedia({ media: "print" });
      await expect(page.locator("iframe")).toBeVisible();
      await expect(page.locator("hush-grad svg")).toBeHidden();
      await page.emulateMedia({ media: "screen" });
    });

    for (const [at, [how, light, dark, neither]] of THEMES.entries()) {
      await test.step(`a frame that runs follows the page's theme by ${how}`, async () => {
        await page.evaluate(dark);
        await theme("dark");
        await page.evaluate(light);
        await theme("light");
        await call(page, "setState", { sigma: 2 + at });
        await theme("light");
        await page.evaluate(dark);
        await theme("dark");
        // The theme is the page's, not a setting, so the link omits it.
        await expect(inside(page).locator(".embed-foot a")).not.toHaveAttribute("href", /theme/);
        await page.evaluate(neither);
        await theme("light");
      });
    }
  });
  await around(browser, element(site, CPU, "<p>A live run, on the web alone.</p>").replace(/<script.*?<\/script>/, ""), async (page) => {
    await expect(page.getByText("A live run, on the web alone.")).toBeVisible();
  });
});

test("the frame needs no scrolling at any width", async ({ browser, site }) => {
  await around(browser, `<meta name="viewport" content="width=device-width"><style>body { margin: 0 }</style>${element(site, `${CPU} controls="sigma,clip,lot,rate"`)}`, async (page) => {
    const stepped = heard(page, "step");
    await call(page, "step");
    await stepped;
    const frame = page.frames().find((each) => each.url().includes("embed.html"))!;
    const rest = () => frame.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return [scrollWidth - innerWidth, scrollHeight - innerHeight];
    });
    const high = async () => (await page.locator("iframe").boundingBox())!.height;
    let before = 0;
    // As it opens, then ever narrower: a frame of constant height would fail.
    for (const width of [360, 1200, 900, 720, 640, 360]) {
      await page.setViewportSize({ width, height: 1200 });
      await expect.poll(() => frame.evaluate(() => innerWidth)).toBe(width);
      // A wider frame is less high.
      if (width === 1200) await expect.poll(high).toBeLessThan(before);
      await expect.poll(rest, `${width}`).toEqual([0, 0]);
      before = await high();
      expect(before, `${width}`).toBeGreaterThanOrEqual(400);
      // Narrower, it is higher; wider again, it shrinks back.
      if (width !== 900) continue;
      await page.setViewportSize({ width: 360, height: 1200 });
      await expect.poll(high).toBeGreaterThan(before + 50);
      await expect.poll(rest).toEqual([0, 0]);
      await page.setViewportSize({ width: 900, height: 1200 });
      await expect.poll(high).toBeLessThan(before + 20);
    }
  }, { context: { viewport: { width: 360, height: 1200 } } });
});

test("a plain iframe keeps the height set by its author", async ({ browser, site }) => {
  await around(browser, `<!doctype html><title>host</title><iframe width="640" height="300" style="border: 0" src="${site.url}embed.html?preset=cpu&dataset=synthetic&backend=cpu"></iframe>`, async (page) => {
    await expect(inside(page).getByTestId("step")).toHaveAttribute("data-value", "0");
    expect((await page.locator("iframe").boundingBox())!.height).toBe(300);
    await expect(inside(page).locator("html[data-fit]")).toHaveCount(0);
  });
});

const VIEWS: [string, string][] = [
  [`view="run"`, "Test accuracy"], [`view="stage"`, "One person, in or out"], [`view="results"`, "Draw a digit"], [`view="lesson" lesson="why-noise"`, "Lesson 1"], [`view="lab"`, "Design your own"], [`view="attack"`, "Attack your own run"],
];
for (const [view, text] of VIEWS) {
  test(`${view}: the frame shows it and is accessible`, async ({ browser, site }) => {
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

test("without src the element asks for the playground's address", async ({ browser, site }) => {
  const script = await (await fetch(`${site.url}element.js`)).text();
  await around(browser, `<!doctype html><title>host</title><script>${script}</script><hush-grad preset="cpu"></hush-grad>`, async (page) => {
    await expect(page.locator("hush-grad [role=alert]")).toContainText("needs the playground's address");
    await set(page, "src", site.url);
    await set(page, "poster", "1");
    await expect(inside(page).locator("#poster")).toBeVisible();
    await expect(page.locator("hush-grad [role=alert]")).toBeHidden();
  });
});
