import { account, expect, exported, hook, open, paused, test, value } from "./fixtures";

const BACKENDS = [
  ["cpu", "CPU"],
  ["gpu", "WebGPU"],
] as const;

for (const [backend, label] of BACKENDS) {
  test(`a short private run of the linear model on ${label} exceeds 80% accuracy on MNIST`, async ({ page, site }) => {
    test.skip(process.env.HUSHGRAD_DATA !== "mnist", "the site carries no MNIST");
    await open(page, site, `?backend=${backend}`);
    await expect(hook(page, "backend")).toHaveText(label);
    await expect(page.getByTestId("digits-in-use")).toContainText("MNIST");
    await hook(page, "play").click();
    await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0.8);
    await hook(page, "pause").click();
    expect(await value(page, "epsilon")).toBeGreaterThan(0);
  });

  test(`pausing on ${label} freezes step and ε, and ε is the native tool's`, async ({ page, site }) => {
    await open(page, site, `?backend=${backend}`);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(2);
    const { step, ledger } = await paused(page);
    const epsilon = await value(page, "epsilon");
    await page.waitForTimeout(1_000);
    expect(await value(page, "step")).toBe(step);
    expect(await value(page, "epsilon")).toBe(epsilon);
    expect(Math.abs(epsilon - account(ledger).improved.epsilon), `ε after ${step} steps`).toBeLessThan(1e-9);
  });
}

test("each sampling scheme is used, named and priced as by the native tool", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&lot=1000");
  await page.locator("details.advanced summary").click();
  for (const [policy, neighbours, drawn] of [
    ["shuffled", "add or remove one", /^Batches, one release per epoch\d+$/],
    ["random-allocation", "add or remove one", /^Batches per epoch\d+$/],
    ["fixed-size", "replace one", /^Sampling rate[0-9.]+%$/],
    ["poisson", "add or remove one", /^Sampling rate[0-9.]+%$/],
  ] as const) {
    await page.getByTestId("sampling").selectOption(policy);
    if (policy !== "poisson") await expect(page).toHaveURL(new RegExp(`sampling=${policy}`));
    else await expect(page).not.toHaveURL(/sampling/);
    for (const step of [1, 2]) {
      await hook(page, "step-once").click();
      await expect.poll(() => value(page, "step")).toBe(step);
    }
    const epsilon = await value(page, "epsilon");
    const [file] = await exported(page, "Privacy ledger (JSON)");
    expect(Math.abs(epsilon - account(await file.path()).improved.epsilon), policy).toBeLessThan(1e-9);
    await expect(page.locator("body")).toContainText(`neighbours: ${neighbours}`);
    const counted = page.getByText("the number of training examples is public");
    await expect(counted).toHaveCount(policy === "fixed-size" ? 0 : 1);
    await expect(page.locator(".numbers > div", { has: page.getByTestId("drawn") })).toHaveText(drawn);
    // The times of a step depend on how many examples it drew.
    for (const timed of ["training-time", "examples-per-second"]) {
      await expect(page.locator(".numbers > div", { has: page.getByTestId(timed) }).locator(".teaching")).toHaveCount(1);
    }
  }
});

test("a run with sums on a grid trains on the CPU, says why, and pays for the rounding", async ({ page, site }) => {
  await open(page, site, "?backend=gpu&dataset=synthetic&lot=1000&grid-bits=10");
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(page.getByTestId("notice")).toContainText("sums on a grid");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const epsilon = await value(page, "epsilon");
  const [file] = await exported(page, "Privacy ledger (JSON)");
  expect(Math.abs(epsilon - account(await file.path()).improved.epsilon)).toBeLessThan(1e-9);
  await expect(page.locator("body")).toContainText("rounded to the grid 2^-10");
});
