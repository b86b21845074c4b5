import { expect, HOOKS, hook, open, test } from "./fixtures";

test("the page loads under any path, without an error, and has its hooks", async ({ page, site }) => {
  await open(page, site);
  for (const name of HOOKS) {
    await expect(hook(page, name), name).toHaveCount(1);
  }
  await expect(hook(page, "error")).toHaveText("");
});

test("the first model is the linear one", async ({ page, site }) => {
  await open(page, site);
  await expect(hook(page, "model").locator("option").first()).toHaveText(/linear/i);
});

test("after the load nothing is asked for but the training thread and the digits", async ({ page, site, watched }) => {
  await open(page, site);
  const before = watched.requests.length;
  await hook(page, "play").click();
  await expect(hook(page, "step")).not.toHaveAttribute("data-value", "0");
  await hook(page, "pause").click();
  expect(watched.requests.slice(before)).toEqual([]);
});
