import { test } from "@playwright/test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { contactSheet } from "./contact-sheet";
import { serve } from "./server";

// Films what a visitor sees in the first 30 seconds (`cargo xtask pictures --film`).

const FOLDER = resolve("../../docs/film");
const SIZES = [[390, 844], [1440, 900], [1920, 1080]] as const;
/** Seconds after Play was pressed. */
const TIMES = [0, 2, 5, 10, 30];
/** Pixels of a frame's width in the sheet, by the width of the window. */
const FRAME = { 390: 300, 1440: 620, 1920: 720 };
const LARGEST = 400_000;

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
      // As it opens: a second after navigation.
      await page.waitForTimeout(1000);
      frames.push((await page.screenshot()).toString("base64"));
      await page.getByTestId("play").click();
      const start = Date.now();
      for (const seconds of TIMES.slice(1)) {
        await page.waitForTimeout(Math.max(0, start + 1000 * seconds - Date.now()));
        frames.push((await page.screenshot()).toString("base64"));
      }
      await page.close();
      rows.push(frames.map((png, at) => ({ name: `${TIMES[at]} s, ${name}`, png })));
    }
    const page = await browser.newPage();
    const strip = await contactSheet(page, rows, FRAME[width], LARGEST);
    writeFileSync(join(FOLDER, `film-${width}.webp`), strip);
    await page.close();
  }
  await site.close();
});
