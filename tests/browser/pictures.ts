import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { contactSheet } from "./contact-sheet";
import { expect, idle, test } from "./fixtures";
import { type Boxes, fileOf, PICTURES, pose, take } from "./pose";

const FOLDER = resolve("../../docs/pictures");

test.use({ settings: false });

test("the page as it opens, at every size", async ({ page, site }) => {
  await pose(page, site);
  const boxes: Record<string, Boxes> = {};
  for (const picture of PICTURES) boxes[fileOf(picture)] = (await take(page, picture, join(FOLDER, fileOf(picture)))).boxes;
  const lines = Object.entries(boxes).map(([file, boxes]) => `  ${JSON.stringify(file)}: ${JSON.stringify(boxes)}`);
  writeFileSync(join(FOLDER, "panels.json"), `{\n${lines.join(",\n")}\n}\n`);
});

/** Settings of one step each: noise from none to enough to hide an image, and other runs. */
const SAID = [
  ["no noise", "noise=none"],
  ["σ 0.02", "sigma=0.02"],
  ["σ 0.1", "sigma=0.1"],
  ["σ 0.35", "sigma=0.35"],
  ["σ 1.4", "sigma=1.4"],
  ["600 users, σ 1.4", "sigma=1.4&users=600"],
  ["micro-batches of 8, σ 1.4", "sigma=1.4&micro-batch=8"],
  ["CNN, σ 1.1", "sigma=1.1&model=cnn-tanh&lot=256"],
  ["half the noise that is claimed, σ 1.4", "sigma=1.4&canaries=1000&break=half-noise"],
];

test("what is said after one step", async ({ page, site }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  const frames = [];
  for (const [name, set] of SAID) {
    await page.goto(`${site.url}?${new URLSearchParams("backend=cpu&model=linear&encoder=clip&clip=1&noise=gaussian&lot=512&rate=4&" + set)}`);
    await page.getByTestId("step-once").click();
    await expect(page.getByTestId("step")).toHaveAttribute("data-value", "1");
    await idle(page);
    const [epsilon, odds] = [page.getByTestId("epsilon"), page.getByTestId("odds-found")];
    const said = `${name}: ε ${await epsilon.textContent()}, found ${await odds.textContent()} of 100`;
    const png = await page.locator(".panel.stage").screenshot({ animations: "disabled" });
    frames.push({ name: said, png: png.toString("base64") });
  }
  const rows = [frames.slice(0, 3), frames.slice(3, 6), frames.slice(6)];
  writeFileSync(join(FOLDER, "what-is-said.webp"), await contactSheet(page, rows, 620, 400_000));
});
