import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, hook, open, test, value } from "./fixtures";

const BACKENDS = [
  ["cpu", "CPU"],
  ["gpu", "WebGPU"],
] as const;

/** What the page starts with, as the native tool reads it. */
const CONFIG = {
  model: "linear",
  encoder: { clip: { norm: 1 } },
  noise: { gaussian: { sigma: 1.1 } },
  denoiser: "none",
  lot: 256,
  delta: 1e-5,
};

for (const [backend, label] of BACKENDS) {
  test(`a short private run of the linear model on ${label} reads four of five MNIST digits`, async ({ page, site }) => {
    test.skip(process.env.HUSHGRAD_DATA !== "mnist", "the site carries no MNIST");
    await open(page, site, `?backend=${backend}`);
    await expect(hook(page, "backend")).toHaveText(label);
    await expect(page.getByTestId("digits-in-use")).toContainText("MNIST");
    await hook(page, "play").click();
    await expect.poll(() => value(page, "accuracy"), { timeout: 40_000 }).toBeGreaterThan(0.8);
    await hook(page, "pause").click();
    expect(await value(page, "epsilon")).toBeGreaterThan(0);
  });

  test(`pausing on ${label} freezes step and ε; ε is the native tool's`, async ({ page, site }) => {
    await open(page, site, `?backend=${backend}`);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(2);
    await hook(page, "pause").click();
    // The step under way when the button was pressed is finished, and counted.
    let step = -1;
    await expect
      .poll(async () => {
        const before = step;
        step = await value(page, "step");
        return before === step;
      }, { intervals: [400] })
      .toBe(true);
    const epsilon = await value(page, "epsilon");
    await page.waitForTimeout(1_000);
    expect(await value(page, "step")).toBe(step);
    expect(await value(page, "epsilon")).toBe(epsilon);
    expect(Math.abs(epsilon - native(step)), `ε after ${step} steps`).toBeLessThan(1e-9);
  });
}

/** ε that the native tool reports after `steps` steps with the page's first settings. */
function native(steps: number): number {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-native-"));
  try {
    const config = join(folder, "run.json");
    writeFileSync(config, JSON.stringify({ ...CONFIG, steps }));
    const tool = process.env.HUSHGRAD_NATIVE;
    if (!tool) throw new Error("HUSHGRAD_NATIVE must name the native tool");
    const said = execFileSync(tool, ["train", "--json", "--config", config], { encoding: "utf8" });
    const last = JSON.parse(said.trim().split("\n").at(-1)!);
    return last.privacy.bounded.improved.epsilon;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
