/** Micro-batches: links and fields, their effect on ε before Play, a run, and its file. */
import { account, expect, exported, hook, long, open, projected, rows, test, value } from "./fixtures";

const RUN = "&dataset=synthetic&lot=400&sigma=2&steps=100";

test("micro-batches change the projected ε per digit and per micro-batch, and are in the link", async ({ page, site }) => {
  await open(page, site, `?backend=cpu${RUN}`);
  await page.locator("details.advanced summary").click();
  const field = page.locator("#number-micro-batch");
  await expect(field).toHaveValue("1");
  await expect(page.locator("#protects")).toBeHidden();
  const [will, both] = [page.getByTestId("projection"), page.getByTestId("projection-shared")];
  await projected(page);
  await expect(both).toBeHidden();
  const epsilons = async (of: typeof will) => [...((await of.textContent()) ?? "").matchAll(/ε ≤ (\d+(?:\.\d+)?)/g)].map((found) => Number(found[1]));
  const [alone] = await epsilons(will);
  await field.fill("8");
  await field.blur();
  await expect(page).toHaveURL(/micro-batch=8/);
  await expect(both).toContainText("for a whole micro-batch");
  const [one, whole] = await epsilons(both);
  // A micro-batch costs what a digit did alone; a digit within one costs more.
  await expect.poll(async () => (await epsilons(will))[0]).toBe(one);
  expect(Math.abs(whole - alone)).toBeLessThan(0.02 * alone);
  expect(one).toBeGreaterThan(1.5 * alone);
  // The privacy unit can be chosen, and the headline then shows its ε.
  await page.locator("#protects").selectOption("micro-batch");
  await expect(page).toHaveURL(/protects=micro-batch/);
  await expect.poll(async () => (await epsilons(will))[0]).toBe(whole);
  await page.reload();
  await page.locator("details.advanced summary").click();
  await expect(field).toHaveValue("8");
  await expect(page.locator("#protects")).toHaveValue("micro-batch");
  await field.fill("1");
  await field.blur();
  await expect(page).not.toHaveURL(/micro-batch=8/);
  await expect(both).toBeHidden();
});

for (const [backend, label] of [
  ["cpu", "CPU"],
  ["gpu", "WebGPU"],
] as const) test(`a run with micro-batches trains on ${label}, names its privacy unit, and continues after a reload`, long(backend === "gpu"), async ({ page, site }) => {
  await open(page, site, `?backend=${backend}&micro-batch=8${RUN}`);
  const will = (await projected(page)).match(/ε ≤ (\d+(?:\.\d+)?)/)?.[1];
  for (const step of [1, 2, 3]) {
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(step);
  }
  await expect(hook(page, "backend")).toHaveText(label);
  const spent = await value(page, "epsilon");
  expect(spent).toBeGreaterThan(0);
  expect(spent).toBeLessThan(Number(will));
  await expect(page.locator("body")).toContainText("one example (inside a micro-batch: one vector turns into another)");
  const [file] = await exported(page, "Privacy ledger (JSON)");
  const priced = account(await file.path());
  expect(Math.abs(spent - priced.improved.epsilon)).toBeLessThan(1e-9);
  await page.reload();
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(3);
  expect(await value(page, "epsilon")).toBe(spent);
  await page.locator("details.advanced summary").click();
  await expect(page.locator("#number-micro-batch")).toHaveValue("8");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(4);
  expect(await value(page, "epsilon")).toBeGreaterThan(spent);
});
