/** Settings that change what a step releases: price, link, run, ledger, continuation; on both engines. */
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { account, expect, exported, hook, long, loseDevice, open, openOnGpu, projected, rows, test, value, written } from "./fixtures";

const RUN = "&dataset=synthetic&lot=400&sigma=2&steps=100";

interface Setting {
  /** The element's id. */
  id: string;
  /** What is set. */
  to: string;
  /** What it is without a choice. */
  from: string;
  /** Whether it is shown only once the settings before it are set. */
  appears?: boolean;
}

interface Way {
  name: string;
  /** The settings before. */
  run?: string;
  /** In this order; the last is reset first. */
  settings: Setting[];
  /** What the address has of them. */
  link: RegExp;
  steps: number;
  /** The privacy unit, or how lots are drawn, as the page says it. */
  unit: string;
  /** What else holds once all are set; `before` is the price without them. */
  priced(page: Page, before: string): Promise<void>;
  /** What else holds after the run. */
  ran?(page: Page, spent: number[], ledger: string): Promise<void>;
  /** Choices with which the settings are hidden: an element's id, the choice and the one before. */
  without: [string, string, string][];
  /** The least ratio by which a step of the continued run raises ε. */
  grows?: number;
}

/** The ε that a sentence names. */
const epsilons = async (page: Page, of: string) =>
  [...((await page.getByTestId(of).textContent()) ?? "").matchAll(/ε ≤ (\d+(?:\.\d+)?)/g)].map((found) => Number(found[1]));
const price = (text: string) => Number(/ε ≤ (\d+(?:\.\d+)?)/.exec(text)![1]);

async function set(page: Page, id: string, to: string) {
  const field = page.locator(`#${id}`);
  if ((await field.evaluate((element) => element.tagName)) === "SELECT") return void (await field.selectOption(to));
  await field.fill(to);
  await field.blur();
}

const advanced = (page: Page) => page.locator("details.advanced summary").click();

/** Does these steps one by one; returns ε after each. */
async function steps(page: Page, first: number, last: number): Promise<number[]> {
  const spent = [];
  for (let step = first; step <= last; step++) {
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(step);
    spent.push(await value(page, "epsilon"));
  }
  return spent;
}

/** ε is that of the exported ledger. */
async function isPriced(page: Page): Promise<string> {
  const ledger = await written(page);
  expect(Math.abs((await value(page, "epsilon")) - account(ledger).improved.epsilon)).toBeLessThan(1e-9);
  return ledger;
}

async function hasFormulas(page: Page, some: string[], none: string) {
  const formulas = page.getByTestId("formulas");
  await formulas.locator("summary").first().click();
  for (const text of some) await expect(formulas).toContainText(text);
  await expect(formulas).not.toContainText(none);
}

const LAYERS: Way = {
  name: "per-layer clipping",
  run: "&model=mlp",
  settings: [
    { id: "encoder", to: "layers", from: "clip" },
    { id: "clipping", to: "joint", from: "separate", appears: true },
    { id: "layer-noise", to: "dimension-adjusted", from: "proportional", appears: true },
    { id: "layer-norms", to: "0.5 2", from: "", appears: true },
  ],
  link: /encoder=layers.*clipping=joint&layer-norms=0.5(%20|\+| )2&layer-noise=dimension-adjusted/,
  steps: 3,
  unit: "one example",
  async priced(page, before) {
    // Per-layer norms replace the common one, and cost as much.
    await expect(page.locator("#number-clip")).toBeHidden();
    await expect(page.getByTestId("projection")).toHaveText(before);
  },
  async ran(page, _, ledger) {
    const release = JSON.parse(readFileSync(ledger, "utf8")).releases[0];
    expect(release.sensitivity).toEqual({ l2: { norm: 1 } });
    expect(release.noise).toEqual({ gaussian: { sigma: 2 } });
    const [file] = await exported(page, "Run (JSON)");
    const { encoder } = JSON.parse(readFileSync(await file.path(), "utf8")).run.config;
    expect(encoder).toEqual({ layers: { norms: [0.5, 2], clipping: "joint", strategy: "dimension-adjusted" } });
    await hasFormulas(page, ["lay(gᵢ)"], "clip(gᵢ)");
  },
  without: [],
};

const BANDS: Way = {
  name: "noise correlated over eight steps",
  settings: [{ id: "number-bands", to: "8", from: "1" }],
  link: /bands=8/,
  steps: 9,
  unit: "from one of 8 groups per step",
  priced: (page, before) => expect(page.getByTestId("projection")).not.toHaveText(before),
  async ran(page, spent) {
    // A cycle costs one step; the ninth step begins the second cycle.
    expect(spent.slice(0, 8)).toEqual(Array(8).fill(spent[0]));
    expect(spent[8]).toBeGreaterThan(1.05 * spent[0]);
    await hasFormulas(page, ["‖c‖·z", "one of b = 8 groups"], "Each image takes part with probability");
  },
  // Proven only for Gaussian noise, clipping and Poisson sampling.
  without: [["sampling", "shuffled", "poisson"], ["noise-family", "laplace", "gaussian"]],
  // A continued run starts a new noise sequence, and pays for both.
  grows: 1.05,
};

const MICRO: Way = {
  name: "micro-batches",
  settings: [
    { id: "number-micro-batch", to: "8", from: "1" },
    { id: "protects", to: "example", from: "example", appears: true },
  ],
  link: /micro-batch=8/,
  steps: 3,
  unit: "one example (inside a micro-batch: one vector turns into another)",
  async priced(page, before) {
    await expect(page.getByTestId("projection-shared")).toContainText("for a whole micro-batch");
    const [one, whole] = await epsilons(page, "projection-shared");
    // A micro-batch costs what a digit did alone; a digit within one costs more.
    await expect.poll(async () => (await epsilons(page, "projection"))[0]).toBe(one);
    expect(Math.abs(whole - price(before))).toBeLessThan(0.02 * price(before));
    expect(one).toBeGreaterThan(1.5 * price(before));
    // The privacy unit can be chosen, and the headline then shows its ε.
    await set(page, "protects", "micro-batch");
    await expect(page).toHaveURL(/protects=micro-batch/);
    await expect.poll(async () => (await epsilons(page, "projection"))[0]).toBe(whole);
    await set(page, "protects", "example");
  },
  without: [],
};

const USERS: Way = {
  name: "users by federated averaging",
  run: "&lot=60&sigma=1.3&rate=1&clip=0.5&steps=20&local-rate=0.5",
  settings: [
    { id: "number-users", to: "600", from: "" },
    { id: "number-user-skew", to: "1", from: "", appears: true },
    { id: "number-local-steps", to: "4", from: "1", appears: true },
  ],
  link: /users=600.*user-skew=1.*local-steps=4/,
  steps: 12,
  unit: "one user, with all their examples",
  async priced(page) {
    await expect(page.getByTestId("projection-shared")).toContainText("for one user with all their digits");
    const few = await epsilons(page, "projection-shared");
    expect(few[1]).toBeGreaterThan(few[0]);
    // With more users each is drawn less often; local steps cost nothing.
    await set(page, "number-users", "2000");
    await expect.poll(async () => (await epsilons(page, "projection-shared"))[0]).toBeLessThan(0.7 * few[0]);
    await set(page, "number-users", "600");
    await set(page, "number-local-steps", "1");
    await expect.poll(() => epsilons(page, "projection-shared")).toEqual(few);
    await set(page, "number-local-steps", "4");
    await expect.poll(() => epsilons(page, "projection-shared")).toEqual(few);
    // With users there are no micro-batches and no correlated noise.
    for (const other of ["micro-batch", "bands"]) await expect(page.locator(`#number-${other}`)).toBeHidden();
  },
  async ran(page, spent) {
    await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0.2);
    // One model, two numbers: one digit of a user costs more than the user.
    await page.getByTestId("epsilon-meaning").locator("summary").first().click();
    await expect(page.getByTestId("of-one")).toContainText("for a single example ε ≤ ");
    expect((await epsilons(page, "of-one"))[0]).toBeGreaterThan(spent.at(-1)!);
  },
  without: [],
};

const COUNTS: Way = {
  name: "a clip norm that follows the gradients, and counted accuracy",
  run: "&clip=0.1",
  settings: [
    { id: "number-clip-quantile", to: "0.5", from: "" },
    { id: "number-metrics", to: "0.05", from: "" },
    { id: "number-clip-count-noise", to: "0.05", from: "0.05", appears: true },
  ],
  link: /clip-quantile=0\.5.*metrics=0\.05/,
  steps: 12,
  unit: "including whether the gradient is within the clip",
  async priced(page, before) {
    const said = page.getByTestId("projection-counted");
    // (2⁻² − (2·20)⁻² − (5/4)/20²)^{−1/2}
    await expect(said).toContainText("noise of scale 2.015, not 2");
    // Less noise on the counts means more on the gradient.
    await set(page, "number-clip-count-noise", "0.005");
    await expect(said).toContainText("noise of scale 2.329, not 2");
    expect(price(await projected(page))).toBe(price(before));
    await set(page, "number-clip-count-noise", "0.05");
    await expect(page.getByTestId("counted")).toHaveText("The clip norm follows the gradients and is now 0.1.");
  },
  async ran(page) {
    const said = page.getByTestId("counted");
    await expect(said).toContainText(/Accuracy on the training digits, released with the steps and covered by ε: -?\d+\.\d ± \d+\.\d%/);
    const text = (await said.textContent())!;
    // Starting at 0.1, below all norms, it grows by e^{0.1} a step, apart from its noise.
    const clip = Number(/is now (\d+(?:\.\d+)?)\./.exec(text)![1]);
    expect(clip).toBeGreaterThan(0.25);
    expect(clip).toBeLessThan(0.45);
    const [accuracy, error] = /ε: (-?\d+\.\d) ± (\d+\.\d)%/.exec(text)!.slice(1).map(Number);
    expect(error).toBeGreaterThan(1);
    expect(error).toBeLessThan(6);
    // The test accuracy is that of the same kind of digits.
    await expect.poll(async () => Math.abs(accuracy - 100 * (await value(page, "accuracy")))).toBeLessThan(45);
  },
  without: [["encoder", "envelope", "clip"]],
};

const WAYS = [LAYERS, BANDS, MICRO, USERS, COUNTS];

for (const way of WAYS) {
  test(`${way.name}: the price before Play, the link, a run, its ledger and its continuation`, async ({ page, site }) => {
    await open(page, site, `?backend=cpu${RUN}${way.run ?? ""}`);
    await advanced(page);
    const before = await projected(page);
    const fields = way.settings.map((setting) => ({ ...setting, field: page.locator(`#${setting.id}`) }));
    for (const { field, from, appears } of fields) await (appears ? expect(field).toBeHidden() : expect(field).toHaveValue(from));
    for (const { id, to } of way.settings) await set(page, id, to);
    await expect(page).toHaveURL(way.link);
    await way.priced(page, before);

    const spent = await steps(page, 1, way.steps);
    await expect(page.locator("body")).toContainText(way.unit);
    await way.ran?.(page, spent, await isPriced(page));
    const said = (await page.getByTestId("counted").allTextContents()).join();

    await page.reload();
    await advanced(page);
    for (const { field, to } of fields) await expect(field).toHaveValue(to);
    await rows(page).getByRole("button", { name: /^Continue/ }).click();
    await expect.poll(() => value(page, "step")).toBe(way.steps);
    expect(await value(page, "epsilon")).toBe(spent.at(-1));
    expect((await page.getByTestId("counted").allTextContents()).join()).toBe(said);
    for (const { field, to } of fields) await expect(field).toHaveValue(to);
    const [more] = await steps(page, way.steps + 1, way.steps + 1);
    expect(more).toBeGreaterThan((way.grows ?? 1) * spent.at(-1)!);
    await isPriced(page);

    for (const [id, other, back] of way.without) {
      await set(page, id, other);
      for (const { field } of fields) await expect(field).toBeHidden();
      await set(page, id, back);
      await expect(fields[0].field).toBeVisible();
    }
    for (const { id, from } of way.settings.toReversed()) await set(page, id, from);
    for (const { field, appears } of fields) if (appears) await expect(field).toBeHidden();
    await expect(page).not.toHaveURL(way.link);
    await expect(page.getByTestId("projection")).toHaveText(before);
  });

  test(`${way.name}: on WebGPU`, long(), async ({ page, site }) => {
    const set = way.settings.filter(({ to, from }) => to !== from).map(({ id, to }) => `${id.replace("number-", "")}=${encodeURIComponent(to)}`);
    // Local steps go to the CPU, which has a test of its own.
    const link = set.filter((setting) => !setting.startsWith("local-steps")).join("&");
    await open(page, site, `?backend=gpu${RUN}${way.run ?? ""}&${link}`);
    await expect(hook(page, "backend")).toHaveText("WebGPU");
    const spent = await steps(page, 1, way.steps);
    await expect(page.locator("body")).toContainText(way.unit);
    await way.ran?.(page, spent, await isPriced(page));
  });
}

test("several local steps of a user go to the CPU, and the page says why", long(), async ({ page, site }) => {
  await open(page, site, `?backend=gpu${RUN}${USERS.run}&users=600&local-steps=4`);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(page.locator("body")).toContainText("several local steps of a user");
  await steps(page, 1, 1);
});

test("losing the graphics card starts a new noise sequence, which is paid for", async ({ page, site }) => {
  await openOnGpu(page, site, "&bands=4&sigma=2&steps=100");
  const [one] = await steps(page, 1, 1);
  await loseDevice(page);
  await hook(page, "step-once").click();
  await expect(hook(page, "backend")).toHaveText("CPU");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(one);
  await isPriced(page);
  // The saved run counts no less.
  const [step, spent] = [await value(page, "step"), await value(page, "epsilon")];
  await page.reload();
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(step);
  expect(await value(page, "epsilon")).toBe(spent);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(spent);
});
