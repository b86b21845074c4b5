import type { Page } from "@playwright/test";
import axe from "axe-core";
import { expect } from "./fixtures";

/** Only the WCAG rules: headings and landmarks of a frame belong to its host page. */
export const FRAME = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** Returns axe-core's violations in the page or `within` it, by all rules or those with `tags`. */
export async function violations(page: Page, tags?: string[], within?: string): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  return page.evaluate(
    async ([tags, within]) => {
      const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(within ?? document, tags ? { runOnly: tags } : {});
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).slice(0, 4).join("; ")}`);
    },
    [tags, within] as const,
  );
}

/** Asserts that axe-core finds no violation, in light and in dark. */
export async function accessible(page: Page, what: string, tags?: string[], within?: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    expect(await violations(page, tags, within), `${what}, ${colorScheme}`).toEqual([]);
  }
}
