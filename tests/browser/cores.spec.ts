import { readFileSync } from "node:fs";
import { expect, exported, helpers, hook, long, measured, noticed, open, test, value } from "./fixtures";
import type { Page } from "@playwright/test";

// A step on several cores equals the step on one: helper threads compute shares of it.

const RUN = "?backend=cpu&dataset=synthetic&model=cnn-tanh&lot=256&replay=7&rate=1";

/** Waits for the helpers of `cores` cores, since a short run could end before they are counted. */
async function helped(page: Page, cores: number) {
  await expect.poll(() => helpers(page).length).toBe(cores - 1);
  // Each helper listens once its program has loaded.
  for (const helper of helpers(page)) await expect.poll(() => helper.evaluate(() => self.onmessage !== null)).toBe(true);
}

/** Plays to the planned end. */
async function played(page: Page, steps: number) {
  await hook(page, "play").click();
  return learned(page, steps);
}

/** Waits for the planned end of a playing run; returns its accuracy and parameters. */
async function learned(page: Page, steps: number) {
  await expect.poll(() => value(page, "step")).toBe(steps);
  await measured(page, steps);
  await expect(hook(page, "play")).toBeVisible();
  const [file] = await exported(page, "Weights (safetensors)");
  return { accuracy: await value(page, "accuracy"), parameters: readFileSync(await file.path()).toString("base64") };
}

/** Returns the badge's sentence about the processor. */
async function threads(page: Page): Promise<string> {
  return (await page.locator(".badge-text p").first().textContent()) ?? "";
}

for (const [noise, name] of [["", "with noise"], ["&noise=none&encoder=none&rate=0.1", "without noise and bound"]]) {
  test(`one, two and four cores learn the same model ${name}`, long(noise !== ""), async ({ page, site }) => {
    const found = [];
    for (const cores of [1, 2, 4]) {
      await open(page, site, `${RUN}${noise}&steps=12&cores=${cores}`);
      await helped(page, cores);
      found.push(await played(page, 12));
      expect(await threads(page)).toContain(cores === 1 ? "1 thread" : `${cores} threads`);
    }
    expect(found[0].parameters.length).toBeGreaterThan(100_000);
    expect(found[1]).toEqual(found[0]);
    expect(found[2]).toEqual(found[0]);
  });
}

test("ending a helper during a run loses no step, and the page reports it once", async ({ page, site, watched }) => {
  watched.allowed.push(/killed/);
  const notices = await noticed(page);
  const query = `${RUN}&steps=60`;
  await open(page, site, `${query}&cores=1`);
  const alone = await played(page, 60);
  await open(page, site, `${query}&cores=3`);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(10);
  expect(helpers(page).length).toBe(2);
  // `close` raises no event: the helper just stops answering.
  await helpers(page)[0].evaluate(() => self.close());
  await expect.poll(() => learned(page, 60)).toEqual(alone);
  // A helper that throws is noticed at once, and the training thread does not fail.
  await hook(page, "reset").click();
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(5);
  await helpers(page).at(-1)!.evaluate(() => void setTimeout(() => { throw new Error("killed"); }));
  await expect.poll(() => learned(page, 60)).toEqual(alone);
  const said = () => notices.filter((notice) => notice.includes("A thread that computed part of each step has stopped")).length;
  await expect.poll(said).toBeGreaterThan(0);
  expect(said(), notices.join(" | ")).toBe(1);
});

test("helpers reuse the loaded program: no file is fetched twice", async ({ page, site }) => {
  // As a host should: files with a digest in their name never change.
  site.headers = (path) => (/-[0-9a-f]{16}[._]/.test(path) ? { "cache-control": "max-age=31536000, immutable" } : {}) as Record<string, string>;
  const files = () => site.asked.filter((path) => /worker/.test(path)).sort();
  site.asked.length = 0;
  await open(page, site, `${RUN}&steps=5&cores=4`);
  await helped(page, 4);
  await played(page, 5);
  expect(await threads(page)).toContain("4 threads");
  const asked = files();
  expect(asked.length).toBeGreaterThan(2);
  expect(new Set(asked).size, asked.join(" ")).toBe(asked.length);
});

test("the number of cores can be changed during a run, and the link has it", async ({ page, site }) => {
  await open(page, site, `${RUN}&steps=4000`);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(2);
  await page.locator("details.advanced > summary").click();
  await page.getByTestId("cores").selectOption("2");
  await expect(page).toHaveURL(/[?&]cores=2(&|$)/);
  await expect.poll(() => threads(page)).toContain("2 threads");
  const before = await value(page, "step");
  await expect.poll(() => value(page, "step")).toBeGreaterThan(before + 2);
  await page.getByTestId("cores").selectOption("1");
  await expect.poll(() => threads(page)).toContain("1 thread");
  await expect(page).toHaveURL(/[?&]cores=1(&|$)/);
  await page.getByTestId("cores").selectOption("auto");
  await expect(page).not.toHaveURL(/cores=/);
});

test("the faster of two engines trains, and the badge gives both times", async ({ page, site }) => {
  await open(page, site, "?backend=gpu&dataset=synthetic&model=linear&lot=64");
  test.skip((await hook(page, "backend").textContent()) !== "WebGPU", "this build has no WebGPU engine, or no adapter was found");
  await expect(page.getByTestId("backend-timed")).toHaveText("");
  await page.goto(`${site.url}?dataset=synthetic&model=linear&lot=64`);
  const timed = page.getByTestId("backend-timed");
  await expect(timed).toHaveText(/CPU [\d.]+ ms, WebGPU [\d.,]+ ms\. The faster one trains\./);
  const [cpu, gpu] = /CPU ([\d.]+) ms, WebGPU ([\d.,]+) ms/.exec((await timed.textContent())!)!.slice(1).map((time) => Number(time.replace(",", "")));
  // The adapter is software.
  expect(cpu).toBeLessThan(gpu);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(20);
  await page.goto(`${site.url}?backend=cpu&dataset=synthetic&model=linear&lot=64`);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(timed).toHaveText("");
});
