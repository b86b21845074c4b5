import type { Page } from "@playwright/test";
import { expect, hook, open, test } from "./fixtures";

/** A stream of numbers in [0, 1) from a seed: the same links on every machine. */
function stream(seed: number) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

function randomState(random: () => number): Record<string, string> {
  const pick = (values: string[]) => values[Math.floor(random() * values.length)];
  return {
    model: pick(["linear", "mlp"]),
    encoder: pick(["clip", "envelope"]),
    noise: pick(["gaussian", "laplace", "student-t"]),
    denoiser: pick(["none", "kolmogorov-smirnov"]),
    sigma: (0.5 + 4 * random()).toPrecision(3),
    lot: String(16 + Math.floor(500 * random())),
    rate: (0.01 + random()).toPrecision(3),
    delta: pick(["1e-5", "1e-6", "0.001"]),
    vectors: String(1 + Math.floor(9 * random())),
    steps: String(1 + Math.floor(900 * random())),
  };
}

const shown = async (page: Page) => ({
  model: await hook(page, "model").inputValue(),
  encoder: await hook(page, "encoder").inputValue(),
  noise: await hook(page, "noise-family").inputValue(),
  denoiser: await hook(page, "denoiser").inputValue(),
  sigma: await hook(page, "noise-scale").inputValue(),
  lot: await hook(page, "lot").inputValue(),
  rate: await hook(page, "learning-rate").inputValue(),
});

/** The address as the page itself writes it. */
async function written(page: Page) {
  await page.getByTestId("speed").getByText("Slow", { exact: true }).click();
  await page.getByTestId("speed").getByText("Max", { exact: true }).click();
  await expect(page).not.toHaveURL(/speed=/);
  return new URL(page.url()).search;
}

for (const seed of [1, 2, 3]) {
  test(`a state of random values (${seed}) goes through its link and back`, async ({ page, site }) => {
    const state = randomState(stream(seed));
    await open(page, site, `?backend=cpu&dataset=synthetic&${new URLSearchParams(state)}`);
    await expect(hook(page, "error")).toBeEmpty();
    const before = await shown(page);
    // A key that the page does not know would be left aside without a word.
    for (const [key, value] of Object.entries(before)) expect(Number(value) || value, key).toBe(Number(state[key]) || state[key]);
    const link = await written(page);
    expect(link.length).toBeLessThan(220);
    await open(page, site, link);
    expect(await shown(page)).toEqual(before);
    expect(await written(page)).toBe(link);
  });
}

test("what the noise lab is asked goes through its link and back; what is wrong in one is named", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&steps=50&lab=gaussian,laplace&lab-envelope=26");
  const asked = async () => ({
    ticked: await page.locator(".lab-questions input:checked").evaluateAll((all) => all.map((box) => box.id)),
    psi: await page.getByTestId("lab-psi").inputValue(),
    epsilon: await page.getByTestId("lab-epsilon").inputValue(),
    formula: await page.getByTestId("lab-formula").inputValue(),
  });
  await page.getByRole("checkbox", { name: "Laplace" }).uncheck();
  await page.getByTestId("lab-epsilon").fill("2");
  await page.getByTestId("lab-epsilon").press("Enter");
  await page.getByTestId("lab-formula").fill("1/cosh(x)");
  await page.getByTestId("lab-formula").press("Enter");
  await page.getByTestId("lab-psi").selectOption("one coordinate");
  await expect(page).toHaveURL(/lab=gaussian,density&lab-envelope=1&lab-epsilon=2&lab-density=1%2Fcosh\(x\)$/);
  const before = await asked();
  expect(before).toEqual({ ticked: ["lab-0"], psi: "1", epsilon: "2", formula: "1/cosh(x)" });
  await open(page, site, new URL(page.url()).search);
  expect(await asked()).toEqual(before);
  await expect(hook(page, "error")).toBeEmpty();
  const table = page.getByTestId("lab-table");
  await expect(table.locator("tbody th")).toHaveText(["Gaussian", "your formula"]);
  await page.getByRole("button", { name: "Close the noise lab" }).click();
  await expect(page).not.toHaveURL(/lab/);
  await page.getByTestId("noise-lab").click();
  await expect(page.getByTestId("lab")).toBeVisible();
  expect(await asked(), "the page remembers").toEqual(before);

  await open(page, site, "?backend=cpu&dataset=synthetic&lab=gaussian,magic&lab-epsilon=-3");
  await expect(page.getByTestId("lab")).toBeVisible();
  for (const wrong of ["“magic” is not", "lab-epsilon", "“-3” is not"]) await expect(hook(page, "error")).toContainText(wrong);
});

test("an address of 100 KB gets a sentence, and the page works", async ({ page, site }) => {
  await open(page, site, `?backend=cpu&dataset=synthetic&sigma=${"1".repeat(100_000)}`);
  await expect(hook(page, "error")).toContainText("characters long");
  await expect(hook(page, "noise-scale")).toHaveValue("1.1");
});

test("the share button copies the address, or shows it", async ({ page, site, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await hook(page, "lot").fill("32");
  await hook(page, "lot").press("Enter");
  await page.getByTestId("share").click();
  await expect(page.getByTestId("notice")).toContainText("copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/[?&]lot=32/);
});

test("where the browser has no clipboard for the page, the link is shown", async ({ page, site }) => {
  // As at an address of plain http.
  await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.getByTestId("share").click();
  await expect(page.getByTestId("notice")).toContainText(`take it from here: ${page.url()}`);
});

test("the theme is chosen, kept, and set by a link", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.getByTestId("theme").selectOption("dark");
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await open(page, site, "?backend=cpu&dataset=synthetic&theme=light");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await expect(page.locator("html"), "a link changes nobody's choice").toHaveAttribute("data-theme", "dark");
});

test("a theme that the link names stays in it; the visitor's own is not put there", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&theme=dark");
  await hook(page, "model").selectOption("mlp");
  await expect(page).toHaveURL(/[?&]model=mlp&.*theme=dark/);
  await page.getByTestId("theme").selectOption("light");
  await expect(page).toHaveURL(/[?&]theme=light/);
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.getByTestId("theme").selectOption("dark");
  await hook(page, "model").selectOption("mlp");
  await expect(page).toHaveURL(/[?&]model=mlp/);
  expect(page.url()).not.toContain("theme");
});
