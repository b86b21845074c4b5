import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "./fixtures";
import { type Boxes, fileOf, PICTURES, pose, take } from "./pose";

const FOLDER = resolve("../../docs/pictures");

test("the page as it opens, at every size", async ({ page, site }) => {
  await pose(page, site);
  const boxes: Record<string, Boxes> = {};
  for (const picture of PICTURES) boxes[fileOf(picture)] = (await take(page, picture, join(FOLDER, fileOf(picture)))).boxes;
  const lines = Object.entries(boxes).map(([file, boxes]) => `  ${JSON.stringify(file)}: ${JSON.stringify(boxes)}`);
  writeFileSync(join(FOLDER, "panels.json"), `{\n${lines.join(",\n")}\n}\n`);
});
