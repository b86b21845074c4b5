import type { Page } from "@playwright/test";
import axe from "axe-core";
import { expect } from "./fixtures";

/** What axe-core finds wrong with the page as it stands: rule and elements. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).slice(0, 4).join("; ")}`);
  });
}

/** Nothing to find, in dark and in light. */
export async function accessible(page: Page, what: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    expect(await violations(page), `${what}, ${colorScheme}`).toEqual([]);
  }
}
