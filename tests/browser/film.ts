import { test } from "@playwright/test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { contactSheet } from "./contact-sheet";
import { serve } from "./server";

// Films what a visitor sees in the first 20 seconds (`cargo xtask pictures --film`): the opening, the noise dragged
// to its end and back, and Play, in light and in dark.

const FOLDER = resolve("../../docs/film");
const SIZES = [[390, 844], [1440, 900], [1920, 1080]] as const;
/** Seconds after the page was opened. */
const OPENING = [0.5, 1.5, 3, 4.5, 6];
/** Shares of the slider's length to which it is dragged. */
const DRAG = [0.5, 0.25, 0, 0.8];
/** Seconds after Play was pressed. */
const PLAY = [1, 3, 8];
/** Pixels of a frame's width in the sheet, by the width of the window. */
const FRAME = { 390: 230, 1440: 460, 1920: 520 };
const LARGEST = 400_000;

test("film strips", async ({ browser }) => {
  mkdirSync(FOLDER, { recursive: true });
  const site = await serve(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"));
  for (const [width, height] of SIZES) {
    const rows = [];
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.newPage({ viewport: { width, height }, colorScheme });
      const row: { name: string; png: string }[] = [];
      const take = async (name: string) => void row.push({ name, png: (await page.screenshot()).toString("base64") });
      await page.goto(site.url);
      await page.getByTestId("play").waitFor();
      const opened = Date.now();
      for (const seconds of OPENING) {
        await page.waitForTimeout(Math.max(0, opened + 1000 * seconds - Date.now()));
        await take(`${seconds} s`);
      }
      const slider = page.locator(".knob .slider");
      for (const share of DRAG) {
        await slider.evaluate((input: HTMLInputElement, share) => {
          input.value = String(1000 * share);
          input.dispatchEvent(new Event("input", { bubbles: true }));
        }, share);
        await page.waitForTimeout(700);
        await take(`dragged to ${100 * share}%`);
      }
      // Let go: what runs then has this noise.
      await slider.dispatchEvent("change");
      await page.getByTestId("reset").evaluate((button: HTMLElement) => button.click());
      await page.getByTestId("play").click();
      const start = Date.now();
      for (const seconds of PLAY) {
        await page.waitForTimeout(Math.max(0, start + 1000 * seconds - Date.now()));
        await take(`${seconds} s after Play`);
      }
      await page.close();
      rows.push(row.slice(0, 6), row.slice(6));
    }
    const page = await browser.newPage();
    const strip = await contactSheet(page, rows, FRAME[width], LARGEST);
    writeFileSync(join(FOLDER, `film-${width}.webp`), strip);
    await page.close();
  }
  await site.close();
});
