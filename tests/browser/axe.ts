import type { Page } from "@playwright/test";
import axe from "axe-core";
import { expect } from "./fixtures";

/** The rules of WCAG alone: of a frame, headings and landmarks are the affair of the page around it. */
export const FRAME = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** What axe-core finds wrong with the page as it stands, or with an element of it, by all of its rules or those of some tags: rule and elements. */
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

/** Nothing to find, in dark and in light. */
export async function accessible(page: Page, what: string, tags?: string[], within?: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    expect(await violations(page, tags, within), `${what}, ${colorScheme}`).toEqual([]);
  }
}
