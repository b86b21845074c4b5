/** Per-layer clipping: controls, ε before Play, runs on both engines, links and files. */
import { account, expect, exported, hook, long, open, projected, rows, test, value } from "./fixtures";
import { readFileSync } from "node:fs";

const RUN = "&dataset=synthetic&model=mlp&lot=400&sigma=2&steps=100";
const LAYERS = "&encoder=layers&clipping=joint&layer-noise=dimension-adjusted&layer-norms=0.5%202";

for (const [backend, label] of [
  ["cpu", "CPU"],
  ["gpu", "WebGPU"],
] as const) {
  test(`per-layer clipping on ${label} costs as much as one clip`, long(backend === "gpu"), async ({ page, site }) => {
    await open(page, site, `?backend=${backend}${RUN}${LAYERS}`);
    await expect(hook(page, "backend")).toHaveText(label);
    for (const step of [1, 2, 3]) {
      await hook(page, "step-once").click();
      await expect.poll(() => value(page, "step")).toBe(step);
    }
    const spent = await value(page, "epsilon");
    const [ledger] = await exported(page, "Privacy ledger (JSON)");
    expect(Math.abs(spent - account(await ledger.path()).improved.epsilon)).toBeLessThan(1e-9);
    const release = JSON.parse(readFileSync(await ledger.path(), "utf8")).releases[0];
    expect(release.sensitivity).toEqual({ l2: { norm: 1 } });
    expect(release.noise).toEqual({ gaussian: { sigma: 2 } });
    const formulas = page.getByTestId("formulas");
    await formulas.locator("summary").first().click();
    await expect(formulas).toContainText("lay(gᵢ)");
    await expect(formulas).not.toContainText("clip(gᵢ)");
    // The same run with one clip costs as much.
    await open(page, site, `?backend=${backend}${RUN}`);
    for (const step of [1, 2, 3]) {
      await hook(page, "step-once").click();
      await expect.poll(() => value(page, "step")).toBe(step);
    }
    expect(await value(page, "epsilon")).toBe(spent);
  });
}

test("per-layer clipping is in the set-up and the link, and leaves the projected ε unchanged", async ({ page, site }) => {
  await open(page, site, `?backend=cpu${RUN}`);
  const will = page.getByTestId("projection");
  const before = await projected(page);
  await page.locator("details.advanced summary").click();
  const [clipping, noise, norms] = ["clipping", "layer-noise", "layer-norms"].map((id) => page.locator(`#${id}`));
  for (const field of [clipping, noise, norms]) await expect(field).toBeHidden();
  await page.locator("#encoder").selectOption("layers");
  await expect(page).toHaveURL(/encoder=layers/);
  await expect(will).toHaveText(before);
  await clipping.selectOption("joint");
  await noise.selectOption("dimension-adjusted");
  await expect(page.locator("#number-clip")).toBeVisible();
  await norms.fill("0.5 2");
  await norms.blur();
  // Per-layer norms replace the common one.
  await expect(page.locator("#number-clip")).toBeHidden();
  await expect(page).toHaveURL(/clipping=joint&layer-norms=0.5(%20|\+| )2&layer-noise=dimension-adjusted/);
  await expect(will).toHaveText(before);
  await page.reload();
  await page.locator("details.advanced summary").click();
  await expect(norms).toHaveValue("0.5 2");
  await expect(clipping).toHaveValue("joint");
  await expect(noise).toHaveValue("dimension-adjusted");
  await page.locator("#encoder").selectOption("clip");
  for (const field of [clipping, noise, norms]) await expect(field).toBeHidden();
  await expect(will).toHaveText(before);
});

test("a run with per-layer clipping continues after a reload, and its file has the settings", async ({ page, site }) => {
  await open(page, site, `?backend=cpu${RUN}${LAYERS}`);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const one = await value(page, "epsilon");
  const [file] = await exported(page, "Run (JSON)");
  const config = JSON.parse(readFileSync(await file.path(), "utf8")).run.config;
  expect(config.encoder).toEqual({ layers: { norms: [0.5, 2], clipping: "joint", strategy: "dimension-adjusted" } });
  await page.reload();
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(1);
  expect(await value(page, "epsilon")).toBe(one);
  await expect(page).toHaveURL(/encoder=layers/);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(2);
  expect(await value(page, "epsilon")).toBeGreaterThan(one);
});
