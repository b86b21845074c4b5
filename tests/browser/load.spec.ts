import { expect, HOOKS, hook, open, test } from "./fixtures";

test("the page loads under any path, without an error, and has its hooks", async ({ page, site }) => {
  await open(page, site);
  for (const name of HOOKS) {
    await expect(hook(page, name), name).toHaveCount(1);
  }
  await expect(hook(page, "error")).toHaveText("");
});

test("the hooks stay for every noise and encoder, and δ can be filled as the page opens", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await hook(page, "delta").fill("1e-6");
  await hook(page, "delta").press("Enter");
  await expect(page).toHaveURL(/delta=1e-6/);
  for (const choice of ["encoder", "noise-family"] as const) {
    const keys = await hook(page, choice).locator("option").evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
    expect(keys.length).toBeGreaterThan(2);
    for (const key of keys) {
      await hook(page, choice).selectOption(key);
      const scale = expect(hook(page, "noise-scale"), key);
      await (choice === "noise-family" && key === "none" ? scale.toBeDisabled() : scale.toBeEnabled());
      for (const name of HOOKS) await expect(hook(page, name), `${name}, ${key}`).toHaveCount(1);
    }
  }
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
