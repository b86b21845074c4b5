import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible } from "./axe";
import { expect, hook, open, projected, test, value } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic&steps=6";

/** Maps each entry's word to its title. */
const entries = new Map(
  readFileSync("../../www/glossary.txt", "utf8").trim().split("\n\n").map((entry) => {
    const [head, ...text] = entry.split("\n");
    const [key, ...title] = head.split(": ");
    expect(text, key).toHaveLength(1);
    return [key, title.join(": ")] as const;
  }),
);

test("every word that can be pressed has an entry", () => {
  const sources = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((each) =>
      each.isDirectory() ? sources(join(folder, each.name)) : [readFileSync(join(folder, each.name), "utf8")],
    );
  const text = sources("../../src/ui").join("\n");
  const doors = /DOORS[^=]*= \[([^;]*)\];/.exec(text)?.[1] ?? "";
  const named = /NAMES[^=]*= \[([^;]*)\];/.exec(text)?.[1] ?? "";
  const keys = [...doors.matchAll(/\("[^"]+", "([a-z-]+)"\)/g), ...named.matchAll(/\(text!\("[^"]+"\), "([a-z-]+)"\)/g), ...text.matchAll(/\bword\("([a-z-]+)"/g)].map((found) => found[1]);
  expect(keys.length).toBeGreaterThan(24);
  for (const key of keys) expect([...entries.keys()], key).toContain(key);
});

test("every language has the same glossary entries", () => {
  const keys = (text: string) => text.trim().split("\n\n").map((entry) => entry.split(": ")[0]);
  const english = keys(readFileSync("../../www/glossary.txt", "utf8"));
  for (const file of readdirSync("../../www").filter((name) => /^glossary\.\w+\.txt$/.test(name))) expect(keys(readFileSync(join("../../www", file), "utf8"))).toEqual(english);
});

test("a word is explained beside it by keyboard, and the glossary is fetched only then", async ({ page, site, watched }) => {
  await open(page, site, query);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(6);
  await page.getByTestId("epsilon-meaning").locator("summary").first().click();
  // Until the accountant's last answer, rows and the words in them are rewritten.
  await expect(page.getByTestId("mu")).toBeVisible();
  const asked = () => watched.requests.filter((url) => url.includes("glossary.txt") && !url.includes("sw.js")).length;
  // The offline copy has all files.
  const before = asked();
  const dialog = page.getByRole("dialog");
  for (const word of ["classic", "improved", "tight", "order α"]) {
    const door = page.getByTestId("epsilon-meaning").getByRole("button", { name: word, exact: true });
    await door.focus();
    await page.keyboard.press("Enter");
    await expect(dialog).toBeVisible();
    const key = await door.getAttribute("data-word");
    await expect(dialog.getByRole("heading")).toHaveText(entries.get(key ?? "") ?? "");
    await expect(dialog).toBeFocused();
    const [a, b] = [await door.boundingBox(), await dialog.boundingBox()];
    expect(Math.min(Math.abs(a!.y + a!.height - b!.y), Math.abs(b!.y + b!.height - a!.y)), "beside the word").toBeLessThan(20);
    if (word === "classic") await accessible(page, "a word that is explained");
    await page.keyboard.press("Escape");
    await expect(dialog).toBeHidden();
    await expect(door).toBeFocused();
  }
  expect(asked()).toBeLessThanOrEqual(before + 1);
});

test("every word of every panel opens, at 390 and at 1440 pixels", async ({ page, site }) => {
  await open(page, site, query);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(6);
  // Some words appear with computed results.
  await projected(page);
  await page.evaluate(() => document.querySelectorAll<HTMLDetailsElement>("details:not(.menu)").forEach((each) => (each.open = true)));
  await page.locator(".hint").evaluateAll((all) => all.forEach((hint) => (hint as HTMLElement).click()));
  const words = [...new Set(await page.locator("[data-word]").evaluateAll((all) => all.map((each) => (each as HTMLElement).dataset.word!)))];
  expect(words).toEqual(expect.arrayContaining(["classic", "improved", "tight", "order", "lot", "encoder", "renyi", "webgpu", "epoch", "sampling"]));
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 });
    for (const word of words) {
      const door = page.locator(`[data-word="${word}"]:visible`).first();
      if ((await door.count()) === 0) continue;
      await door.click();
      const dialog = page.getByRole("dialog");
      await expect(dialog.getByRole("heading")).toHaveText(entries.get(word) ?? "");
      const box = (await dialog.boundingBox())!;
      expect(box.x, word).toBeGreaterThanOrEqual(0);
      expect(box.x + box.width, word).toBeLessThanOrEqual(width);
      await dialog.getByRole("button", { name: "Close" }).click();
      await expect(dialog).toBeHidden();
    }
  }
});

test("a glossary that fails to load is reported and loads at the next press, even if the word is gone by then", async ({ page, site, watched }) => {
  watched.allowed.push(/glossary/, /404/);
  // Wide enough for an explanation at the word's own place.
  await page.setViewportSize({ width: 1720, height: 900 });
  await open(page, site, query);
  site.missing.add("glossary.txt");
  const door = page.locator("[data-word=epoch]");
  await door.click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("did not load");
  await page.keyboard.press("Escape");
  site.missing.delete("glossary.txt");
  const pressed = (await door.boundingBox())!;
  await page.route("**/glossary.txt", async (route) => {
    await door.evaluate((word) => word.remove());
    await route.continue();
  });
  await door.click();
  await expect(dialog.getByRole("heading")).toHaveText("epoch");
  const told = (await dialog.boundingBox())!;
  expect(Math.abs(told.x - pressed.x), "where the word was").toBeLessThan(20);
});
