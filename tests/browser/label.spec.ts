import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { violations } from "./axe";
import { expect, exported, hook, idle, open, test, tight, value } from "./fixtures";

const STEPS = 30;
const query = `?backend=cpu&dataset=synthetic&steps=${STEPS}`;

test("a run's privacy label in HTML, Markdown and YAML agrees with the page", async ({ page, site }) => {
  await open(page, site, query);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(STEPS);
  await expect.poll(() => tight(page)).toBeGreaterThan(0);
  await idle(page);
  const bound = await tight(page);
  const files: Record<string, string> = {};
  for (const [item, name] of [["HTML", "html"], ["Markdown", "md"], ["YAML", "yaml"]]) {
    const [file] = await exported(page, `Privacy label (${item})`);
    expect(file.suggestedFilename()).toBe(`hushgrad-label.${name}`);
    files[name] = readFileSync(await file.path(), "utf8");
  }
  const epsilon = (Math.ceil(bound * 1000 - 1e-9) / 1000).toFixed(3);
  const found = Number(/at most (\d+)\./.exec(files.md)?.[1]);
  expect(found).toBeGreaterThan(5);
  expect(found).toBeLessThanOrEqual(Math.ceil(100 * (Math.exp(bound) * 0.05 + 1e-5)));
  for (const [name, text] of Object.entries(files)) {
    expect(text, name).toContain(`ε ≤ ${epsilon} at δ = 1e-5`);
    expect(text, name).toContain(`of 100 whose example was, at most ${found}.`);
    expect(text, name).toContain("one example");
    expect(text, name).toContain("Teaching views");
    expect(text, name).toContain("Poisson, rate 0.0128");
  }
  expect(Number(/^ +epsilon: (\S+)$/m.exec(files.yaml)?.[1])).toBeCloseTo(bound, 5);

  // The HTML label is a complete page, and accessible.
  const other = await page.context().newPage();
  await other.setContent(files.html);
  await expect(other.getByRole("heading", { level: 1 })).toContainText("Privacy label: Run 1");
  await expect(other.getByRole("img")).toHaveCount(2);
  expect(await violations(other)).toEqual([]);
  expect(await other.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  await other.close();

  // The native tool makes the same label from the run's file.
  const tool = process.env.HUSHGRAD_NATIVE;
  if (tool) {
    const [file] = await exported(page, "Run (JSON)");
    const native = execFileSync(tool, ["label", await file.path(), "--format", "md"], { encoding: "utf8" });
    expect(native.trim()).toBe(files.md.trim());
  }
});

test("the label of a run without a guarantee has no ε", async ({ page, site }) => {
  await open(page, site, `${query}&noise=none`);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const [file] = await exported(page, "Privacy label (Markdown)");
  const text = readFileSync(await file.path(), "utf8");
  expect(text).toContain("**No guarantee**");
  expect(text).not.toContain("ε ≤");
});
