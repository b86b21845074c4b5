/** User-level privacy: links and fields, ε before Play, federated SGD and averaging, refusals. */
import { account, expect, exported, hook, long, open, rows, test, value } from "./fixtures";

const RUN = "&dataset=synthetic&lot=60&sigma=1.3&steps=100&rate=1&clip=0.5";

test("users change the projected ε per user and per digit, and are in the link", async ({ page, site }) => {
  await open(page, site, `?backend=cpu${RUN}`);
  await page.locator("details.advanced summary").click();
  const field = page.locator("#number-users");
  await expect(field).toHaveValue("");
  for (const hidden of ["user-skew", "user-seed", "local-steps", "local-rate"]) await expect(page.locator(`#number-${hidden}`)).toBeHidden();
  const both = page.getByTestId("projection-shared");
  await expect(both).toBeHidden();
  const epsilons = async () => [...((await both.textContent()) ?? "").matchAll(/ε ≤ (\d+(?:\.\d+)?)/g)].map((found) => Number(found[1]));
  await field.fill("600");
  await field.blur();
  await expect(page).toHaveURL(/users=600/);
  await expect(both).toContainText("for one user with all their digits");
  await expect.poll(async () => (await epsilons()).length).toBe(2);
  const few = await epsilons();
  expect(few[1]).toBeGreaterThan(few[0]);
  // With more users each is drawn less often.
  await field.fill("2000");
  await field.blur();
  await expect.poll(async () => (await epsilons())[0]).toBeLessThan(0.7 * few[0]);
  // Local steps cost nothing.
  const many = await epsilons();
  await page.locator("#number-local-steps").fill("5");
  await page.locator("#number-local-steps").blur();
  await page.locator("#number-user-skew").fill("0.3");
  await page.locator("#number-user-skew").blur();
  await expect(page).toHaveURL(/user-skew=0.3/);
  await expect(page).toHaveURL(/local-steps=5/);
  await expect.poll(epsilons).toEqual(many);
  // With users there are no micro-batches and no correlated noise.
  await expect(page.locator("#number-micro-batch")).toBeHidden();
  await expect(page.locator("#number-bands")).toBeHidden();
  await page.reload();
  await page.locator("details.advanced summary").click();
  await expect(field).toHaveValue("2000");
  await expect(page.locator("#number-local-steps")).toHaveValue("5");
  await field.fill("");
  await field.blur();
  await expect(page).not.toHaveURL(/users=/);
  await expect(both).toBeHidden();
});

for (const [name, steps] of [
  ["federated SGD", 1],
  ["federated averaging", 4],
] as const) {
  test(`a run by ${name} learns, names its privacy unit, and continues after a reload`, async ({ page, site }) => {
    await open(page, site, `?backend=cpu${RUN}&users=600&user-skew=1&local-steps=${steps}&local-rate=0.5&steps=12`);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(12);
    await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0.2);
    const spent = await value(page, "epsilon");
    await expect(page.locator("body")).toContainText("one user, with all their examples");
    // One model, two numbers: one digit of a user costs more than the user.
    await page.getByTestId("epsilon-meaning").locator("summary").first().click();
    await expect(page.getByTestId("of-one")).toContainText("for a single example ε ≤ ");
    const one = Number(/ε ≤ ([\d.]+)/.exec((await page.getByTestId("of-one").textContent())!)![1]);
    expect(one).toBeGreaterThan(spent);
    const [file] = await exported(page, "Privacy ledger (JSON)");
    expect(Math.abs(spent - account(await file.path()).improved.epsilon)).toBeLessThan(1e-9);
    await page.reload();
    await rows(page).getByRole("button", { name: /^Continue/ }).click();
    await expect.poll(() => value(page, "step")).toBe(12);
    expect(await value(page, "epsilon")).toBe(spent);
    await page.locator("details.advanced summary").click();
    await expect(page.locator("#number-users")).toHaveValue("600");
    await expect(page.locator("#number-local-steps")).toHaveValue(String(steps));
  });
}

test("federated SGD trains on the graphics card; local steps go to the CPU, and the page says why", long(), async ({ page, site }) => {
  const run = `${RUN}&users=600&user-skew=1&local-rate=0.5&steps=12`;
  await open(page, site, `?backend=gpu${run}&local-steps=1`);
  await expect(hook(page, "backend")).toHaveText("WebGPU");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(12);
  await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0.2);
  await open(page, site, `?backend=gpu${run}&local-steps=4`);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(page.locator("body")).toContainText("several local steps of a user");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
});

test("an impossible run is refused with an error before its first step", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&steps=100&lot=60&users=50");
  await hook(page, "step-once").click();
  await expect(hook(page, "error")).toContainText("between 1 and the 50 users");
  expect(await value(page, "step")).toBe(0);
});
