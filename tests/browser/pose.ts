import type { Page } from "@playwright/test";
import { expect } from "./fixtures";
import type { Site } from "./server";

// The README's pictures, and whether two of them show the same page. Fonts differ between machines:
// pictures are compared by the luminance of their blocks and the positions of their panels.

/** Width, height and theme of each. */
export const PICTURES = [
  [1440, 900, "light"],
  [1440, 900, "dark"],
  [1024, 900, "light"],
  [768, 1024, "dark"],
  [360, 740, "light"],
] as const;
export type Picture = (typeof PICTURES)[number];

export const fileOf = ([width, , theme]: Picture) => `page-${width}-${theme}.png`;

/** Left, top, width and height of each visible panel, by its name. */
export type Boxes = Record<string, number[]>;
const PANELS = { header: "header", transport: ".transport", stage: ".panel.stage", lot: ".lot", odds: ".odds", curve: ".results .chart" };

/** Opens the page in its reproducible first state: the recorded step, its curve and its odds. */
export async function pose(page: Page, site: Site) {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(`${site.url}?backend=cpu`);
  await expect(page.getByTestId("digits-in-use")).toContainText("60,000 to train on");
  await expect(page.getByRole("progressbar", { name: "Loading digits" })).toHaveCount(0);
  await expect(page.getByTestId("stage-step")).toContainText("A recorded step");
  await expect(page.locator(".lot-buttons .ringed")).toHaveCount(1);
  await expect(page.locator(".results path.line-recorded")).toHaveCount(2);
  await expect(page.getByTestId("projection")).toContainText("tight accounting");
  await expect(page.getByTestId("odds-found")).toHaveText(/^\d+$/);
}

/** Takes one picture of it. */
export async function take(page: Page, [width, height, theme]: Picture, path?: string): Promise<{ png: Buffer; boxes: Boxes }> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.evaluate(() => scrollTo(0, 0));
  // Charts adapt to the size of their container one frame later.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const png = await page.screenshot({ path, animations: "disabled" });
  const boxes = await page.evaluate((panels) => {
    const found: Boxes = {};
    for (const [name, selector] of Object.entries(panels)) {
      const element = document.querySelector(selector);
      const box = element?.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.getBoundingClientRect();
      // Only what is in the picture.
      if (box && box.height > 0 && box.top < innerHeight - 40) found[name] = [box.left, box.top, box.width, Math.min(box.bottom, innerHeight) - box.top].map(Math.round);
    }
    return found;
    type Boxes = Record<string, number[]>;
  }, PANELS);
  return { png, boxes };
}

/** Pixels by which another font may move a panel. */
const MOVED = 32;
/** Limits: mean luminance difference, percentage of outlier blocks, outlier threshold (of 255). */
const [LIGHT, BLOCKS, OTHER] = [5, 4, 42];
const BLOCK = 16;

/** Returns how two pictures differ; empty if they show the same. */
export async function differences(page: Page, a: { png: Buffer; boxes: Boxes }, b: { png: Buffer; boxes: Boxes }): Promise<string[]> {
  const wrong: string[] = [];
  for (const name of new Set([...Object.keys(a.boxes), ...Object.keys(b.boxes)])) {
    const [one, other] = [a.boxes[name], b.boxes[name]];
    if (!one || !other) wrong.push(`${name} is in only one of them`);
    else if (one.some((edge, at) => Math.abs(edge - other[at]) > MOVED)) wrong.push(`${name} is at ${one} in one, at ${other} in the other`);
  }
  const { sizes, mean, share } = await page.evaluate(
    async ([pictures, block, other]) => {
      const read = async (base64: string) => {
        const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
        const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
        const canvas = new OffscreenCanvas(picture.width, picture.height);
        const context = canvas.getContext("2d")!;
        context.drawImage(picture, 0, 0);
        const { data, width, height } = context.getImageData(0, 0, picture.width, picture.height);
        const columns = Math.ceil(width / block);
        const [sums, counts] = [new Float64Array(columns * Math.ceil(height / block)), new Float64Array(columns * Math.ceil(height / block))];
        for (let y = 0; y < height; y++) {
          for (let x = 0; x < width; x++) {
            const [at, into] = [4 * (y * width + x), Math.floor(y / block) * columns + Math.floor(x / block)];
            sums[into] += 0.2126 * data[at] + 0.7152 * data[at + 1] + 0.0722 * data[at + 2];
            counts[into] += 1;
          }
        }
        return { size: `${width} × ${height}`, light: sums.map((sum, at) => sum / counts[at]) };
      };
      const [a, b] = await Promise.all((pictures as string[]).map(read));
      const apart = [...a.light].map((light, at) => Math.abs(light - (b.light[at] ?? 0)));
      return {
        sizes: [a.size, b.size],
        mean: apart.reduce((sum, one) => sum + one, 0) / apart.length,
        share: (100 * apart.filter((one) => one > (other as number)).length) / apart.length,
      };
    },
    [[a.png.toString("base64"), b.png.toString("base64")], BLOCK, OTHER] as const,
  );
  if (sizes[0] !== sizes[1]) wrong.push(`one is ${sizes[0]}, the other ${sizes[1]}`);
  if (mean > LIGHT) wrong.push(`blocks differ by ${mean.toFixed(1)} of 255 on average`);
  if (share > BLOCKS) wrong.push(`${share.toFixed(1)} % of the blocks are quite another`);
  return wrong;
}
