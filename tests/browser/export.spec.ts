import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { expect, exported, hook, idle, measured, open, prefer, test, value } from "./fixtures";

const STEPS = 6;
const query = `?backend=cpu&dataset=synthetic&steps=${STEPS}`;

/** Plays a run to its end and waits for its result. */
async function complete(page: Page) {
  await hook(page, "play").click();
  await measured(page, STEPS);
}

test("the CSV export has a row for each reported step and ends with the values on the page", async ({ page, site }) => {
  await open(page, site, query);
  await complete(page);
  // Tight accounting answers a moment later.
  await page.getByTestId("epsilon-meaning").locator("summary").first().click();
  await expect(page.getByTestId("attack-source")).toContainText("From the whole privacy curve");
  const [file] = await exported(page, "Curves (CSV)");
  expect(file.suggestedFilename()).toBe("hushgrad-curves.csv");
  const [head, ...rows] = readFileSync(await file.path(), "utf8").trimEnd().split("\n").map((line) => line.split(","));
  expect(head).toEqual(["step", "accuracy", "improved", "classic", "tight"]);
  expect(rows.length).toBeGreaterThan(1);
  for (const row of rows) {
    expect(row).toHaveLength(5);
    for (const cell of row) expect(Number(cell)).not.toBeNaN();
  }
  const steps = rows.map((row) => Number(row[0]));
  expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
  const [step, accuracy, improved, classic, tight] = rows.at(-1)!.map(Number);
  expect([step, accuracy, improved]).toEqual([STEPS, await value(page, "accuracy"), await value(page, "epsilon")]);
  expect(classic).toBeGreaterThanOrEqual(improved);
  expect(tight).toBeLessThanOrEqual(improved);
  expect(tight).toBeGreaterThan(0);
});

test("the SVG export has one named and titled file per chart, with a legend and one colour per run", async ({ page, site }) => {
  await open(page, site, query);
  await complete(page);
  await hook(page, "reset").click();
  const runs = page.getByTestId("runs");
  await runs.getByRole("button", { name: /^Pin/ }).click();
  await runs.getByRole("textbox").fill("a < b & c");
  await runs.getByRole("textbox").press("Enter");
  await complete(page);
  await expect(page.locator(".results path.line-open")).toHaveCount(1);
  // Exported charts have the light theme's colours.
  await prefer(page, "theme", "dark");
  const files = new Map<string, string>();
  await idle(page);
  for (const file of await exported(page, "Charts (SVG)", 4)) files.set(file.suggestedFilename(), readFileSync(await file.path(), "utf8"));
  expect([...files.keys()].sort()).toEqual(["accuracy", "attacker", "epsilon", "trade-off"].map((name) => `hushgrad-${name}.svg`));

  // The page's own policy refuses to parse such markup.
  const reader = await page.context().newPage();
  const read = (name: string) =>
    reader.evaluate((text) => {
      const picture = new DOMParser().parseFromString(text, "image/svg+xml");
      const all = (selector: string) => [...picture.querySelectorAll(selector)];
      return {
        wrong: picture.querySelector("parsererror")?.textContent ?? "",
        size: ["width", "height"].map((side) => Number(picture.documentElement.getAttribute(side))),
        paper: picture.querySelector("rect")?.getAttribute("fill"),
        texts: all("text").map((element) => element.textContent),
        legend: all("svg > path, svg > circle").length,
        curves: all("svg > g > path").map((curve) => curve.getAttribute("stroke")),
        points: all("svg > g > circle").map((point) => point.getAttribute("fill")),
      };
    }, files.get(`hushgrad-${name}.svg`)!);
  for (const [name, title] of [["accuracy", "Test accuracy"], ["epsilon", "ε spent"], ["trade-off", "Accuracy against ε"], ["attacker", "What an attacker can do at most"]]) {
    const picture = await read(name);
    expect(picture.wrong, name).toBe("");
    expect(picture.texts, name).toContain(title);
    expect(picture.paper, name).toBe("rgb(255, 255, 255)");
    expect(picture.size[0], name).toBe(720);
  }
  const [pinned, ours, openly] = ["rgb(176, 65, 122)", "rgb(10, 94, 168)", "rgb(63, 125, 150)"];
  const accuracy = await read("accuracy");
  expect([...accuracy.curves].sort()).toEqual([ours, pinned, openly].sort());
  expect(accuracy.texts).toEqual(expect.arrayContaining(["a < b & c", "this run", "without privacy"]));
  expect(accuracy.legend).toBe(3);
  const prices = await read("trade-off");
  expect(prices.curves).toEqual([]);
  expect([...prices.points].sort()).toEqual([ours, pinned]);
  expect(prices.texts).toEqual(expect.arrayContaining(["a < b & c", "this run"]));
  // The temporary picture used to measure colours is gone.
  await expect(page.locator(".picture")).toHaveCount(0);
});

const results = ["accuracy", "epsilon"];
for (const [where, more, width, tab, charts] of [
  ["beside the open noise lab, and those of the lab", "&lab=gaussian", 1440, "", [...results, "noise-density", "noise-orders", "noise-tail"]],
  ["on a phone that shows the settings", "", 360, "Settings", results],
] as const) {
  test(`exported PNG charts have the same size and are not empty ${where}`, async ({ page, site }) => {
    await page.setViewportSize({ width, height: 800 });
    await open(page, site, query + more);
    if (tab) await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: tab }).click();
    await expect(page.locator(".panel.results")).toBeHidden();
    if (more) await expect(page.getByTestId("lab-table").locator("tbody tr")).toHaveCount(1);
    await idle(page);
    const files = await exported(page, "Charts (PNG)", charts.length);
    expect(files.map((file) => file.suggestedFilename()).sort()).toEqual(charts.map((name) => `hushgrad-${name}.png`));
    for (const file of files) {
      const bytes = readFileSync(await file.path());
      expect(bytes.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
      expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], file.suggestedFilename()).toEqual([1440, 800]);
      const inked = await page.evaluate(async (base64) => {
        const image = new Image();
        image.src = `data:image/png;base64,${base64}`;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.width, image.height];
        const context = canvas.getContext("2d")!;
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height).data.filter((value, i) => i % 4 === 0 && value < 160).length;
      }, bytes.toString("base64"));
      expect(inked, file.suggestedFilename()).toBeGreaterThan(1_000);
    }
  });
}

test("the safetensors export has the right names, types, shapes and size", async ({ page, site }) => {
  await open(page, site, query);
  await complete(page);
  const [file] = await exported(page, "Weights (safetensors)");
  expect(file.suggestedFilename()).toBe("hushgrad-model.safetensors");
  const bytes = readFileSync(await file.path());
  const length = Number(bytes.readBigUInt64LE(0));
  expect(length % 8).toBe(0);
  const { __metadata__: made, ...tensors } = JSON.parse(bytes.subarray(8, 8 + length).toString("utf8"));
  expect(made).toEqual({ "made-by": "hushgrad" });
  expect(tensors).toEqual({
    "dense.weight": { dtype: "F32", shape: [10, 784], data_offsets: [0, 31_360] },
    "dense.bias": { dtype: "F32", shape: [10], data_offsets: [31_360, 31_400] },
  });
  expect(bytes.length).toBe(8 + length + 31_400);
  const values = Array.from({ length: 7850 }, (_, i) => bytes.readFloatLE(8 + length + 4 * i));
  expect(values.every(Number.isFinite)).toBe(true);
  expect(new Set(values).size).toBeGreaterThan(1_000);
});

test("the recorded run is not exported", async ({ page, site }) => {
  await open(page, site, "?backend=cpu");
  for (const item of ["Curves (CSV)", "Run (JSON)", "Privacy label (HTML)"]) {
    await page.getByTestId("notice").evaluateAll((all) => all.forEach((each) => each.parentElement?.querySelector("button")?.click()));
    await exported(page, item, 0);
    await expect(page.getByTestId("notice"), item).toContainText("nothing to export before the first step");
  }
  await expect(page.locator(".results path.line-recorded").first()).toBeAttached();
  // The untrained model's accuracy and the projected cost are the visitor's own.
  await idle(page);
  for (const file of await exported(page, "Charts (SVG)", 2)) {
    const picture = readFileSync(await file.path(), "utf8");
    expect(picture).not.toContain("recorded");
    expect(picture).toContain(file.suggestedFilename().includes("accuracy") ? "Test accuracy" : "planned");
  }
});
