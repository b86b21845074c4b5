import type { Page } from "@playwright/test";
import axe from "axe-core";
import { expect } from "./fixtures";

/** The rules of WCAG alone: of a frame, headings and landmarks are the affair of the page around it. */
export const FRAME = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** What axe-core finds wrong with the page as it stands, by all of its rules or those of some tags: rule and elements. */
export async function violations(page: Page, tags?: string[]): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async (tags) => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, tags ? { runOnly: tags } : {});
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).slice(0, 4).join("; ")}`);
  }, tags);
}

/** Nothing to find, in dark and in light. */
export async function accessible(page: Page, what: string, tags?: string[]): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    expect(await violations(page, tags), `${what}, ${colorScheme}`).toEqual([]);
  }
}
