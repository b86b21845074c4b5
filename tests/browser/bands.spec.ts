/** Correlated noise: links and fields, price before and after Play, formula, continued runs. */
import { account, expect, exported, hook, long, loseDevice, open, openOnGpu, projected, rows, test, value, written } from "./fixtures";

const RUN = "&dataset=synthetic&lot=400&sigma=2&steps=100";

for (const [backend, label] of [
  ["cpu", "CPU"],
  ["gpu", "WebGPU"],
] as const) {
  test(`noise correlated over eight steps trains on ${label}, and a cycle costs one step`, long(backend === "gpu"), async ({ page, site }) => {
    await open(page, site, `?backend=${backend}&bands=8${RUN}`);
    await expect(hook(page, "backend")).toHaveText(label);
    await page.locator("details.advanced summary").click();
    await expect(page.locator("#number-bands")).toHaveValue("8");
    const spent: number[] = [];
    for (let step = 1; step <= 9; step++) {
      await hook(page, "step-once").click();
      await expect.poll(() => value(page, "step")).toBe(step);
      spent.push(await value(page, "epsilon"));
    }
    // The ninth step begins the second cycle.
    expect(spent[0]).toBeGreaterThan(0);
    expect(spent.slice(0, 8)).toEqual(Array(8).fill(spent[0]));
    expect(spent[8]).toBeGreaterThan(1.05 * spent[0]);
    const [file] = await exported(page, "Privacy ledger (JSON)");
    const priced = account(await file.path());
    expect(Math.abs(spent[8] - priced.improved.epsilon)).toBeLessThan(1e-9);
    await expect(page.locator("body")).toContainText("from one of 8 groups per step");
    const formulas = page.getByTestId("formulas");
    await formulas.locator("summary").first().click();
    await expect(formulas).toContainText("‖c‖·z");
    await expect(formulas).toContainText("one of b = 8 groups");
    await expect(formulas).not.toContainText("Each image takes part with probability");
  });
}

test("bands change the projected cost and the link, and one band changes neither", async ({ page, site }) => {
  await open(page, site, `?backend=cpu${RUN}`);
  await page.locator("details.advanced summary").click();
  const field = page.locator("#number-bands");
  await expect(field).toHaveValue("1");
  await expect(page).not.toHaveURL(/bands/);
  const will = page.getByTestId("projection");
  const before = await projected(page);
  await field.fill("4");
  await field.blur();
  await expect(page).toHaveURL(/bands=4/);
  await expect(will).not.toHaveText(before);
  await field.fill("1");
  await field.blur();
  await expect(page).not.toHaveURL(/bands/);
  await expect(will).toHaveText(before);
  // Proven only for Gaussian noise, clipping and Poisson sampling; otherwise hidden.
  await page.locator("#sampling").selectOption("shuffled");
  await expect(field).toBeHidden();
  await page.locator("#sampling").selectOption("poisson");
  await expect(field).toBeVisible();
  await page.locator("#noise-family").selectOption("laplace");
  await expect(field).toBeHidden();
});

test("a continued run starts a new noise sequence and pays for both", async ({ page, site }) => {
  await open(page, site, `?backend=cpu&bands=4${RUN}`);
  for (const step of [1, 2]) {
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(step);
  }
  const one = await value(page, "epsilon");
  await written(page);
  await page.reload();
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(2);
  expect(await value(page, "epsilon")).toBe(one);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(3);
  expect(await value(page, "epsilon")).toBeGreaterThan(1.05 * one);
  const [file] = await exported(page, "Privacy ledger (JSON)");
  expect(Math.abs((await value(page, "epsilon")) - account(await file.path()).improved.epsilon)).toBeLessThan(1e-9);
});

test("losing the graphics card starts a new noise sequence, which is paid for", async ({ page, site }) => {
  await openOnGpu(page, site, "&bands=4&sigma=2&steps=100");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const one = await value(page, "epsilon");
  await loseDevice(page);
  await hook(page, "step-once").click();
  await expect(hook(page, "backend")).toHaveText("CPU");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(one);
  const [file] = await exported(page, "Privacy ledger (JSON)");
  expect(Math.abs((await value(page, "epsilon")) - account(await file.path()).improved.epsilon)).toBeLessThan(1e-9);
  // The saved run counts no less.
  const [step, spent] = [await value(page, "step"), await value(page, "epsilon")];
  await page.reload();
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(step);
  expect(await value(page, "epsilon")).toBe(spent);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(spent);
});
