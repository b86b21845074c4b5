/** Counts released with the steps: a clip that follows the gradients, and the training accuracy. */
import { account, expect, exported, hook, long, open, projected, rows, test, value } from "./fixtures";

const RUN = "&dataset=synthetic&lot=400&sigma=2&steps=100";
const COUNTS = "&clip-quantile=0.5&metrics=0.05";

test("counts leave ε unchanged, and the page shows the gradient's higher noise before Play", async ({ page, site }) => {
  await open(page, site, `?backend=cpu${RUN}`);
  await page.locator("details.advanced summary").click();
  const epsilon = async () => Number((await projected(page)).match(/ε ≤ (\d+(?:\.\d+)?)/)?.[1]);
  const alone = await epsilon();
  const said = page.getByTestId("projection-counted");
  await expect(said).toBeHidden();
  await expect(page.locator("#number-clip-count-noise")).toBeHidden();
  for (const [key, number] of [
    ["clip-quantile", "0.5"],
    ["metrics", "0.05"],
  ]) {
    await page.locator(`#number-${key}`).fill(number);
    await page.locator(`#number-${key}`).blur();
    await expect(page).toHaveURL(new RegExp(`${key}=${number}`));
  }
  await expect(said).toBeVisible();
  expect(await epsilon()).toBe(alone);
  // (2⁻² − (2·20)⁻² − (5/4)/20²)^{−1/2}
  await expect(said).toContainText("noise of scale 2.015, not 2");
  // Less noise on the counts means more on the gradient.
  await page.locator("#number-clip-count-noise").fill("0.005");
  await page.locator("#number-clip-count-noise").blur();
  await expect(said).toContainText("noise of scale 2.329, not 2");
  expect(await epsilon()).toBe(alone);
  await page.reload();
  await page.locator("details.advanced summary").click();
  await expect(page.locator("#number-clip-quantile")).toHaveValue("0.5");
  await expect(page.locator("#number-clip-count-noise")).toHaveValue("0.005");
  await expect(page.locator("#number-metrics")).toHaveValue("0.05");
  // Only for clipping with Gaussian noise.
  await page.locator("#encoder").selectOption("envelope");
  for (const key of ["clip-quantile", "clip-count-noise", "metrics"]) await expect(page.locator(`#number-${key}`)).toBeHidden();
  await expect(said).toBeHidden();
});

for (const [backend, name] of [["cpu", "CPU"], ["gpu", "WebGPU"]])
  test(`a run on ${name} reports its training accuracy with an error and its clip norm, and restores both after a reload`, long(backend === "gpu"), async ({ page, site }) => {
    await open(page, site, `?backend=${backend}${RUN.replace("steps=100", "steps=12")}${COUNTS}&clip=0.1`);
    await expect(page.getByTestId("counted")).toHaveText("The clip norm follows the gradients and is now 0.1.");
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(12);
    await expect(hook(page, "backend")).toHaveText(name);
    const said = page.getByTestId("counted");
    await expect(said).toContainText(/Accuracy on the training digits, released with the steps and covered by ε: -?\d+\.\d ± \d+\.\d%/);
    const clip = async () => Number(((await said.textContent()) ?? "").match(/is now (\d+(?:\.\d+)?)\./)?.[1]);
    // Starting at 0.1, below all norms, it grows by e^{0.1} a step, apart from its noise.
    expect(await clip()).toBeGreaterThan(0.25);
    expect(await clip()).toBeLessThan(0.45);
    const [, told, error] = ((await said.textContent()) ?? "").match(/ε: (-?\d+\.\d) ± (\d+\.\d)%/) ?? [];
    expect(Number(error)).toBeGreaterThan(1);
    expect(Number(error)).toBeLessThan(6);
    // The test accuracy is that of the same kind of digits, at the end of the run.
    await expect.poll(async () => Math.abs(Number(told) - 100 * (await value(page, "accuracy")))).toBeLessThan(45);
    await expect(page.locator("body")).toContainText("including whether the gradient is within the clip");
    const spent = await value(page, "epsilon");
    const [file] = await exported(page, "Privacy ledger (JSON)");
    expect(Math.abs(spent - account(await file.path()).improved.epsilon)).toBeLessThan(1e-9);
    const before = await said.textContent();
    await page.reload();
    await rows(page).getByRole("button", { name: /^Continue/ }).click();
    await expect.poll(() => value(page, "step")).toBe(12);
    await expect(said).toHaveText(before ?? "");
    expect(await value(page, "epsilon")).toBe(spent);
  });
