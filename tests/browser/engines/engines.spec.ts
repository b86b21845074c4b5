import { expect, test as base } from "@playwright/test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { copied } from "../deploy";
import { serve, type Site } from "../server";
import type { Driver, Tab } from "./driver";
import { firefox } from "./firefox";
import { webkit } from "./webkit";

const QUERY = "?backend=cpu&dataset=synthetic";
const CONTINUE = `[data-testid="runs"] button[aria-label^="Continue "]`;
const hook = (name: string) => `[data-testid="${name}"]`;

const test = base.extend<{ driver: Driver; site: Site; tab: Tab }>({
  driver: [firefox, { option: true }],
  site: async ({}, use) => {
    const site = await serve(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"));
    await use(site);
    await site.close();
  },
  tab: async ({ driver }, use) => {
    const tab = await driver.open();
    await use(tab);
    await tab.close();
  },
});

const attribute = (tab: Tab, selector: string, name: string) =>
  tab.evaluate((selector, name) => document.querySelector(selector)?.getAttribute(name) ?? null, selector, name);
const text = (tab: Tab, name: string) => tab.evaluate((selector) => document.querySelector(selector)?.textContent ?? "", hook(name));
/** True if an element stays in place for a third of a second. */
const steady = (tab: Tab, selector: string) =>
  tab.evaluate(async (selector) => {
    const place = () => JSON.stringify(document.querySelector(selector)?.getBoundingClientRect());
    const before = place();
    for (let look = 0; look < 3; look++) {
      await new Promise((done) => setTimeout(done, 120));
      if (place() !== before) return false;
    }
    return true;
  }, selector);
const count = (tab: Tab, selector: string) => tab.evaluate((selector) => document.querySelectorAll(selector).length, selector);
const value = async (tab: Tab, name: string) => Number((await attribute(tab, hook(name), "data-value")) || NaN);

/** Waits until the page can train. */
async function ready(tab: Tab) {
  await expect.poll(() => text(tab, "backend")).toBe("CPU");
  await expect.poll(() => text(tab, "digits-in-use")).toContain("to train on");
}

/** Asserts that neither the page nor its console shows an error. */
async function nothingFailed(tab: Tab) {
  expect(await text(tab, "error")).toBe("");
  expect(tab.errors, "errors on the console").toEqual([]);
}

/** A paused run's step, equal in four looks 1 s apart: its last report follows the evaluation. */
async function rest(tab: Tab): Promise<number> {
  let [step, looks] = [NaN, 0];
  await expect.poll(async () => {
    const before = step;
    step = await value(tab, "step");
    looks = step === before ? looks + 1 : 0;
    return looks;
  }, { intervals: [1_000] }).toBeGreaterThanOrEqual(3);
  return step;
}

for (const driver of [firefox, webkit]) {
  test.describe(driver.name, () => {
    test.use({ driver });
    test.skip(driver.missing !== undefined, `${driver.name} is not here: ${driver.missing}`);

    test("a saved run continues after fifty steps, a pause and a reload", async ({ tab, site }) => {
      await tab.goto(site.url + QUERY);
      await ready(tab);
      await tab.click(hook("play"));
      await expect.poll(() => value(tab, "step")).toBeGreaterThanOrEqual(50);
      await tab.click(hook("pause"));
      await expect.poll(() => value(tab, "accuracy")).toBeGreaterThan(0.2);
      // Reports of steps done before the pause may still arrive; then the run is saved.
      const step = await rest(tab);
      const epsilon = await value(tab, "epsilon");
      expect(epsilon).toBeGreaterThan(0);
      await expect.poll(() => count(tab, ".results path.line-accuracy")).toBeGreaterThan(0);

      // Saving takes a moment, and a reload could come first.
      await expect.poll(async () => {
        await tab.reload();
        await ready(tab);
        // The list comes from the training thread, a moment after the digits.
        for (let tries = 0; tries < 20 && (await count(tab, CONTINUE)) === 0; tries++) await new Promise((done) => setTimeout(done, 150));
        return count(tab, CONTINUE);
      }, { intervals: [1_000] }).toBe(1);
      await expect.poll(() => attribute(tab, CONTINUE, "disabled")).toBeNull();
      // Arriving content moves the list, and a driver clicks at the old position.
      await expect.poll(() => steady(tab, CONTINUE)).toBe(true);
      await tab.click(CONTINUE);
      await expect.poll(() => value(tab, "step")).toBeGreaterThan(0);
      // A reload may precede the last save: steps may be lost, but every step shown is counted.
      const [again, counted] = [await value(tab, "step"), await value(tab, "epsilon")];
      expect(again).toBeLessThanOrEqual(step);
      expect(counted).toBeGreaterThanOrEqual(epsilon);
      await tab.click(hook("step-once"));
      await expect.poll(() => value(tab, "step")).toBe(again + 1);
      expect(await value(tab, "epsilon")).toBeGreaterThan(counted);
      await nothingFailed(tab);
    });

    test("training goes on while the page's own thread is busy", async ({ tab, site }) => {
      await tab.goto(site.url + QUERY);
      await ready(tab);
      await tab.click(hook("play"));
      await expect.poll(() => value(tab, "step")).toBeGreaterThan(50);
      // Pauses in the same task: steps done while the page was busy count, whenever reported.
      const before = await tab.evaluate((step, pause) => {
        const before = Number(document.querySelector(step)!.getAttribute("data-value"));
        for (const end = Date.now() + 4_000; Date.now() < end;);
        (document.querySelector(pause) as HTMLElement).click();
        return before;
      }, hook("step"), hook("pause"));
      const step = await rest(tab);
      expect(step - before).toBeGreaterThan(20);
      await nothingFailed(tab);
    });

    test("a page of another origin plays, pauses and listens to its frame", async ({ tab, site }) => {
      const folder = mkdtempSync(join(tmpdir(), "hushgrad-host-"));
      const example = readFileSync(resolve("../../examples/embed/html/index.html"), "utf8");
      writeFileSync(join(folder, "index.html"), example.replaceAll("https://hushgrad.example/", site.url).replace("preset=", 'backend="cpu" preset='));
      const host = await serve(folder, "/docs/");
      try {
        await tab.goto(host.url);
        await tab.evaluate(() => (document.querySelector("hush-grad") as unknown as Playground).play());
        await expect.poll(() => tab.evaluate(() => document.querySelector("output")!.value)).toMatch(/^Step [1-9][0-9]*: ε ≤ [0-9.]+/);
        await tab.evaluate(() => (document.querySelector("hush-grad") as unknown as Playground).pause());
        const state = () => tab.evaluate(() => (document.querySelector("hush-grad") as unknown as Playground).getState());
        await expect.poll(async () => (await state()).playing).toBe(false);
        const { step, epsilon, guarantee, backend } = await state();
        expect(step).toBeGreaterThan(0);
        expect(epsilon).toBeGreaterThan(0);
        expect({ guarantee, backend }).toEqual({ guarantee: true, backend: "cpu" });
        expect(tab.errors, "errors on the console").toEqual([]);
      } finally {
        await host.close();
        rmSync(folder, { recursive: true });
      }
    });

    test("a frame in a sandbox with an opaque origin trains, or tells its page why not", async ({ tab }) => copied(async (folder) => {
      const own = await serve(folder, undefined, { "access-control-allow-origin": "*" });
      const around = join(folder, "around");
      mkdirSync(around);
      writeFileSync(join(around, "index.html"), `<!doctype html><title>host</title><script src="${own.url}element.js"></script>
        <hush-grad preset="cpu" dataset="synthetic" backend="cpu"></hush-grad><output></output>
        <script>
          const say = ({ detail }) => (document.querySelector("output").value = detail.message ?? detail.step);
          for (const kind of ["step", "error"]) document.querySelector("hush-grad").addEventListener(kind, say);
        </script>`);
      const host = await serve(around, "/docs/", { "content-security-policy": "sandbox allow-scripts" });
      const said = async () => {
        await tab.goto(host.url);
        expect(await tab.evaluate(() => self.origin)).toBe("null");
        await tab.evaluate(() => (document.querySelector("hush-grad") as unknown as Playground).play());
        const output = () => tab.evaluate(() => document.querySelector("output")!.value);
        await expect.poll(output).not.toBe("");
        return output();
      };
      try {
        // A site that knows its address (`dist --address`) names it in the frame's policy.
        const embed = join(folder, "embed.html");
        const built = readFileSync(embed, "utf8");
        writeFileSync(embed, built.replaceAll("'self'", `'self' ${own.url}`));
        expect(await said()).toMatch(/^[1-9]/);
        writeFileSync(embed, built);
        // Without it, WebKit does not treat the site's files as the page's own.
        expect(await said()).toMatch(driver.name === "WebKit" ? /this browser lets a sandbox without an origin of its own load nothing/ : /^[1-9]/);
      } finally {
        await host.close();
        await own.close();
      }
    }));

    test("the second visit needs no server", async ({ tab, site }) => {
      await tab.goto(site.url + QUERY);
      await ready(tab);
      const state = () => tab.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.active?.state);
      await expect.poll(state).toBe("activated");
      await nothingFailed(tab);
      await site.close();
      await tab.reload();
      await ready(tab);
      await tab.click(hook("step-once"));
      await expect.poll(() => value(tab, "step")).toBe(1);
      expect(await value(tab, "epsilon")).toBeGreaterThan(0);
      expect(await text(tab, "error")).toBe("");
    });
  });
}

/** The embed's element, as docs/embedding.md describes it. */
interface Playground {
  play(): void;
  pause(): void;
  getState(): Promise<{ step: number; epsilon: number; guarantee: boolean; backend: string; playing: boolean }>;
}
