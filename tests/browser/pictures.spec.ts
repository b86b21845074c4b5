import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, long, test } from "./fixtures";
import { type Boxes, differences, fileOf, PICTURES, pose, take } from "./pose";

const FOLDER = resolve("../../docs/pictures");
const PANELS: Record<string, Boxes> = JSON.parse(readFileSync(join(FOLDER, "panels.json"), "utf8"));

test.use({ settings: false });

test("the README's pictures show the page as it is", long(), async ({ page, site }) => {
  test.skip(process.env.HUSHGRAD_DATA !== "mnist", "the site carries no MNIST, and the pictures' curve is of MNIST");
  await pose(page, site);
  for (const picture of PICTURES) {
    const file = fileOf(picture);
    const kept = { png: readFileSync(join(FOLDER, file)), boxes: PANELS[file] };
    // The README promises the first one's size.
    expect([kept.png.readUInt32BE(16), kept.png.readUInt32BE(20)], file).toEqual(picture.slice(0, 2));
    expect(await differences(page, await take(page, picture), kept), `${file}: “cargo xtask pictures” takes it anew`).toEqual([]);
    // Each panel, hidden or moved away, makes a different picture.
    for (const [panel, selector] of [["stage", ".panel.stage"], ["odds", ".odds"], ["transport", ".transport"]]) {
      if (!kept.boxes[panel]) continue;
      for (const [name, value] of [["visibility", "hidden"], ["display", "none"], ["translate", "0 64px"]]) {
        const style = (value: string) => page.locator(selector).evaluate((element, [name, value]) => (element as HTMLElement).style.setProperty(name, value), [name, value] as const);
        await style(value);
        expect(await differences(page, await take(page, picture), kept), `${file} with ${name}: ${value} of ${panel}`).not.toEqual([]);
        await style("");
      }
    }
  }
});
