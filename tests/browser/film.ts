import { test, type Page } from "@playwright/test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { serve } from "./server";

// What a visitor sees in the first half minute: `cargo xtask pictures --film`.

const FOLDER = resolve("../../docs/film");
const SIZES = [[390, 844], [1440, 900], [1920, 1080]] as const;
/** Seconds after Play was pressed. */
const TIMES = [0, 2, 5, 10, 30];
/** Pixels of a frame's width in the sheet. */
const FRAME = { 390: 300, 1440: 620, 1920: 720 };
const LARGEST = 400_000;

/** The frames in rows under their names, as WebP. */
async function sheet(page: Page, rows: { name: string; frames: string[] }[], width: number): Promise<Buffer> {
  await page.goto("about:blank");
  const [largest, times] = [LARGEST, TIMES];
  const base64 = await page.evaluate(
    async ({ rows, width, largest, times }) => {
      const read = async (base64: string) => createImageBitmap(new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]));
      const pictures = await Promise.all(rows.map(({ frames }) => Promise.all(frames.map(read))));
      const height = Math.round((width * pictures[0][0].height) / pictures[0][0].width);
      const [gap, head] = [12, 34];
      const canvas = new OffscreenCanvas(times.length * (width + gap) + gap, rows.length * (height + head + gap));
      const context = canvas.getContext("2d")!;
      context.fillStyle = "#8a8f98";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.fillStyle = "#000000";
      context.font = "18px sans-serif";
      context.imageSmoothingQuality = "high";
      for (const [row, frames] of pictures.entries()) {
        const top = row * (height + head + gap);
        for (const [column, frame] of frames.entries()) {
          const left = gap + column * (width + gap);
          context.fillText(`${times[column]} s, ${rows[row].name}`, left, top + 23, width);
          context.drawImage(frame, left, top + head, width, height);
        }
      }
      for (let quality = 0.9; ; quality -= 0.1) {
        const blob = await canvas.convertToBlob({ type: "image/webp", quality });
        if (blob.size >= largest && quality > 0.2) continue;
        const bytes = new Uint8Array(await blob.arrayBuffer());
        let text = "";
        for (const byte of bytes) text += String.fromCharCode(byte);
        return btoa(text);
      }
    },
    { rows, width, largest, times },
  );
  return Buffer.from(base64, "base64");
}

test("film strips", async ({ browser }) => {
  mkdirSync(FOLDER, { recursive: true });
  const site = await serve(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"));
  for (const [width, height] of SIZES) {
    const rows = [];
    for (const name of ["MNIST", "no MNIST"]) {
      if (name === "no MNIST") site.missing.add("data/manifest.json");
      else site.missing.clear();
      const page = await browser.newPage({ viewport: { width, height }, colorScheme: "light" });
      await page.goto(`${site.url}?backend=cpu`);
      await page.getByTestId("play").waitFor();
      const frames = [];
      // As it opens: what is there a second after the address was entered.
      await page.waitForTimeout(1000);
      frames.push((await page.screenshot()).toString("base64"));
      await page.getByTestId("play").click();
      const start = Date.now();
      for (const seconds of TIMES.slice(1)) {
        await page.waitForTimeout(Math.max(0, start + 1000 * seconds - Date.now()));
        frames.push((await page.screenshot()).toString("base64"));
      }
      await page.close();
      rows.push({ name, frames });
    }
    const page = await browser.newPage();
    const strip = await sheet(page, rows, FRAME[width]);
    if (strip.length >= LARGEST) throw new Error(`the sheet of ${width} has ${strip.length} bytes`);
    writeFileSync(join(FOLDER, `film-${width}.webp`), strip);
    await page.close();
  }
  await site.close();
});
