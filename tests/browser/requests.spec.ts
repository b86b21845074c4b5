import { expect, hook, open, test, value } from "./fixtures";

test("the page lists what it asked for: its own files, and nothing since they were there", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const panel = page.getByTestId("requests");
  await panel.locator("summary").click();
  await expect(page.getByTestId("requests-count")).toHaveText(/^\d+ requests so far, to other places than .*: none; since everything was loaded: none\.$/);
  // The page itself, its program, and what its threads fetched in their own name.
  for (const file of [/app-.*_bg\.wasm/, /worker-.*_bg\.wasm/, /accountant-.*_bg\.wasm/]) await expect(panel.getByRole("cell", { name: file }).first()).toBeVisible();
  await expect(panel).toContainText("connect-src 'self'");
  await expect(panel).toContainText("for a visit without a network");
});
