import type { Page } from "@playwright/test";
import { beforeThread, expect, hook, idle, quiet, test, tight, value } from "./fixtures";
import type { Site } from "./server";

/** Holds back the last shards of the site's digits; returns the function that releases them. */
async function holdBack(page: Page, site: Site) {
  const manifest = await (await page.request.get(`${site.url}data/manifest.json`)).text();
  const shards = [...new Set(manifest.match(/train-[0-9a-z.-]+\.shard/g) ?? [])];
  test.skip(shards.length < 2, "this site carries no digits");
  let letGo = () => {};
  const gate = new Promise<void>((done) => (letGo = done));
  for (const shard of shards.slice(1)) site.held.set(`data/${shard}`, gate);
  return letGo;
}

/** Opens the page with its last shards held back; returns the function that releases them. */
async function openSlowly(page: Page, site: Site, query: string) {
  const letGo = await holdBack(page, site);
  await page.goto(site.url + query);
  await expect(page.getByTestId("digits-in-use")).toContainText("10,000 to train on");
  return letGo;
}

for (const act of ["play", "step-once"] as const) {
  test(`a run begun while digits load waits for all of them: ${act}`, async ({ page, site }) => {
    const letGo = await openSlowly(page, site, "?backend=cpu&steps=40");
    const play = hook(page, "play");
    await expect(play).toHaveText("Play");
    await hook(page, act).click();
    await expect(play).toHaveText("Starting…");
    await quiet(page);
    expect(await value(page, "step")).toBe(0);
    letGo();
    await expect.poll(() => value(page, "step")).toBe(act === "play" ? 40 : 1);
    await expect(play).toHaveText("Play");
    // 256 of 60,000, and not of 10,000.
    await expect(page.getByTestId("drawn")).toHaveText("0.427%");
    await expect(page.getByTestId("digits-in-use")).not.toContainText("The current run uses");
    await expect(page.getByTestId("runs").getByRole("row").filter({ has: page.getByRole("textbox") })).toHaveCount(0);
  });
}

test("a failure that is not the run's keeps a pending Play", async ({ page, site }) => {
  await beforeThread(page, "IDBFactory.prototype.open = () => new EventTarget();\n");
  const letGo = await openSlowly(page, site, "?backend=cpu&steps=40");
  await hook(page, "play").click();
  await expect(hook(page, "error")).toContainText("cannot be listed");
  await expect(hook(page, "play")).toHaveText("Starting…");
  letGo();
  await expect.poll(() => value(page, "step")).toBe(40);
});

test("Pause ends the wait", async ({ page, site }) => {
  const letGo = await openSlowly(page, site, "?backend=cpu");
  await hook(page, "play").click();
  await expect(hook(page, "play")).toHaveText("Starting…");
  await hook(page, "pause").click();
  await expect(hook(page, "play")).toHaveText("Play");
  await page.keyboard.press("Space");
  await expect(hook(page, "play")).toHaveText("Starting…");
  await page.keyboard.press("Space");
  await expect(hook(page, "play")).toHaveText("Play");
  letGo();
  await expect(page.getByTestId("digits-in-use")).toContainText("60,000 to train on");
  await quiet(page);
  expect(await value(page, "step")).toBe(0);
});

test("a run started by a lesson's link has the ε of all digits", async ({ page, site }) => {
  const letGo = await openSlowly(page, site, "?backend=cpu&lesson=composition");
  await quiet(page);
  expect(await value(page, "step")).toBe(0);
  letGo();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(20);
  await expect(page.getByTestId("drawn")).toHaveText("0.427%");
  // With 10,000 digits it ended at 3.65.
  await hook(page, "pause").click();
  await expect.poll(() => tight(page)).toBeLessThan(1);
});

test("a budget plans its steps and its noise for all digits", async ({ page, site }) => {
  const letGo = await openSlowly(page, site, "?backend=cpu&epsilon=1");
  await hook(page, "play").click();
  letGo();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(5);
  await hook(page, "pause").click();
  await expect(page).toHaveURL(/steps=1171\b/);
  await expect(page.getByTestId("drawn")).toHaveText("0.427%");
});

test("an embed that plays at once waits for all digits, and says so", async ({ page, site }) => {
  const letGo = await holdBack(page, site);
  await page.setViewportSize({ width: 640, height: 400 });
  await page.goto(`${site.url}embed.html?backend=cpu&steps=30`);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await hook(page, "play").click();
  await expect(hook(page, "play").getByText("Starting…")).toBeVisible();
  await quiet(page);
  expect(await value(page, "step")).toBe(0);
  letGo();
  await expect.poll(() => value(page, "step")).toBe(30);
  // By Rényi accounting for 60,000 digits; for 10,000 it is 1.2.
  expect(await value(page, "epsilon")).toBeLessThan(0.8);
});

test("Play before anything has loaded says that it starts, and starts", async ({ page, site }) => {
  let letGo = () => {};
  const gate = new Promise<void>((done) => (letGo = done));
  await page.route(/manifest\.json/, async (route) => {
    await gate;
    await route.continue();
  });
  await page.goto(`${site.url}?backend=cpu&steps=5`);
  await hook(page, "play").click();
  await expect(hook(page, "play")).toHaveText("Starting…");
  letGo();
  await expect.poll(() => value(page, "step")).toBe(5);
  await expect(hook(page, "play")).toHaveText("Play");
});

test("ε before, during and after play is of the same steps: Student-t", async ({ page, site }) => {
  await page.goto(`${site.url}?backend=cpu&preset=student-t&steps=200`);
  await expect(page.getByTestId("digits-in-use")).toContainText("to train on");
  await expect(page.getByRole("progressbar", { name: "Loading digits" })).toHaveCount(0);
  const end = page.getByTestId("epsilon-end");
  // Rényi's bound comes first, the tight one a moment later.
  await expect(page.getByTestId("projection")).toContainText("tight accounting");
  const before = Number(/[\d.]+/.exec((await end.textContent()) ?? "")?.[0]);
  const shown: number[] = [];
  await page.exposeFunction("shows", (text: string) => void shown.push(Number(/[\d.]+/.exec(text)?.[0])));
  await page.evaluate(() => {
    const epsilon = document.querySelector("[data-testid=epsilon]")!;
    const look = () => {
      if ((epsilon as HTMLElement).dataset.tight) (window as unknown as { shows(text: string): void }).shows(epsilon.textContent!);
    };
    new MutationObserver(look).observe(epsilon, { characterData: true, childList: true, subtree: true, attributes: true });
  });
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(200);
  await idle(page);
  await expect.poll(async () => Number(/[\d.]+/.exec((await hook(page, "epsilon").textContent()) ?? "")?.[0])).toBe(before);
  expect(shown.length).toBeGreaterThan(0);
  expect(Math.max(...shown)).toBe(before);
});
