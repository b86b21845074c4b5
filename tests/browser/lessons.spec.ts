import { readFileSync } from "node:fs";
import { accessible, violations } from "./axe";
import { expect, hook, open, test, value } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic";
const LESSONS = ["Why noise", "One step in slow motion", "Why ε only goes up", "Denoising is free", "The shape of noise", "The paper's claims"];

for (const [at, title] of LESSONS.entries()) {
  test(`lesson “${title}” is clicked through, is accessible, and ends with a question and a link`, async ({ page, site }) => {
    await open(page, site, query);
    await page.getByTestId("lessons").locator("summary").click();
    await page.getByTestId("lessons").getByRole("button").nth(at).click();
    const lesson = page.getByTestId("lesson");
    await expect(lesson.getByRole("heading", { level: 2 })).toContainText(title);
    const steps = Number((await lesson.getByText(/^1 of \d$/).textContent())?.at(-1));
    expect(steps).toBeGreaterThan(4);
    for (let step = 1; step <= steps; step++) {
      await expect(lesson.getByText(`${step} of ${steps}`)).toBeVisible();
      await expect(lesson.getByRole("heading", { level: 3 }).first()).toBeFocused();
      await expect(lesson).not.toContainText("{");
      await expect(hook(page, "error")).toHaveText("");
      await expect(page).toHaveURL(new RegExp(`lesson=[a-z-]+\\.${step}`));
      if (step === 1 || step === steps) await accessible(page, `${title}, step ${step}`);
      else expect(await violations(page), `${title}, step ${step}`).toEqual([]);
      if (step < steps) await page.getByTestId("lesson-next").click();
    }
    await expect(lesson.locator(".question")).toContainText("?");
    await lesson.getByText("An answer").click();
    const link = await page.getByTestId("lesson-link").getAttribute("href");
    await page.goto(site.url + link + "&backend=cpu&dataset=synthetic");
    await expect(page.getByTestId("lesson").getByText(`${steps} of ${steps}`)).toBeVisible();
    await page.getByTestId("lesson-back").click();
    await expect(page.getByTestId("lesson").getByText(`${steps - 1} of ${steps}`)).toBeVisible();
  });
}

test("a lesson sets the page up and plays; its formulas hold the run's numbers", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=why-noise`);
  await expect(page.getByTestId("lesson")).toBeVisible();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
  await expect(hook(page, "epsilon")).toHaveText("no guarantee");
  for (let i = 0; i < 3; i++) await page.getByTestId("lesson-next").click();
  await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(0);
  await page.getByTestId("lesson").locator(".formula summary").click();
  await expect(page.getByTestId("lesson").locator(".formula p")).toContainText("L = 256");
  await page.getByRole("button", { name: "Close the lesson" }).click();
  await expect(page.getByTestId("lesson")).toHaveCount(0);
});

test("a lesson that is not there is named", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=nonsense`);
  await expect(hook(page, "error")).toContainText("“nonsense”");
});

test("lessons are walked through by keyboard, and fit a phone", async ({ page, site }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, site, query);
  await page.getByTestId("lessons").locator("summary").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("lessons").getByRole("button").first()).toBeVisible();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("lesson").getByRole("heading", { level: 3 })).toBeFocused();
  await page.getByTestId("lesson-next").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("lesson").getByText("2 of 6")).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
});

test("on a phone each step of each lesson shows what it points at", async ({ page, site }) => {
  const steps: { title: string; point?: string }[] = [];
  for (const line of readFileSync("../../www/lessons.txt", "utf8").split("\n")) {
    if (line.startsWith("## ")) steps.push({ title: line.slice(3) });
    if (line.startsWith("@point ")) steps[steps.length - 1].point = line.slice(7);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, site, query);
  await page.getByTestId("lessons").locator("summary").click();
  await page.getByTestId("lessons").getByRole("button").first().press("Enter");
  for (const [at, { title, point }] of steps.entries()) {
    if (at > 0) await page.getByTestId("lesson-next").press("Enter");
    await expect(page.getByTestId("lesson").getByRole("heading", { level: 3 }).first()).toHaveText(title);
    if (!point) continue;
    const pointed = page.locator(`.pointed[data-testid="${point}"], .pointed:has([data-testid="${point}"])`);
    await expect(pointed, `${title}: ${point}`).toBeVisible();
  }
});
