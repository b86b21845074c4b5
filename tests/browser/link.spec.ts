import type { Page } from "@playwright/test";
import { expect, hook, long, open, prefer, share, test } from "./fixtures";

/** A seeded stream of numbers in [0, 1): the same links on every machine. */
function stream(seed: number) {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

/** A value for each link key that these choices use, and the selector of its control. */
function randomState(random: () => number, model: string, noise: string): Record<string, [string, string]> {
  const pick = (values: string[]) => values[Math.floor(random() * values.length)];
  const digits = (low: number, high: number) => (low + (high - low) * random()).toPrecision(3);
  const whole = (low: number, high: number) => String(Math.round(low + (high - low) * random()));
  const shape: Record<string, [string, string]> =
    noise === "gaussian"
      ? {
          encoder: ["layers", "#encoder"],
          clipping: ["joint", "#clipping"],
          "layer-noise": ["dimension-adjusted", "#layer-noise"],
          "layer-norms": [digits(0.1, 3), "#layer-norms"],
        }
      : {
          encoder: ["envelope", "#encoder"],
          shape: [pick(["heavy-tailed", "sparse", "mixed"]), "#envelope-shape"],
          vectors: [whole(2, 9), "#number-vectors"],
          "pre-scale": [digits(1.1, 3), "#number-pre-scale"],
          "envelope-seed": [whole(1, 99), "#number-envelope-seed"],
        };
  const families: Record<string, Record<string, [string, string]>> = {
    gaussian: { replay: [whole(1, 99), "#number-replay"] },
    custom: { density: ["1/cosh(x)", "#density"] },
    "student-t": { nu: [digits(3, 8), "#number-nu"] },
    "generalized-gaussian": { exponent: [digits(2, 3), "#number-exponent"] },
  };
  const shared: Record<string, Record<string, [string, string]>> = {
    mlp: { "micro-batch": [whole(2, 16), "#number-micro-batch"], protects: ["micro-batch", "#protects"] },
    "cnn-tanh": {
      users: [whole(300, 9000), "#number-users"],
      "user-skew": [digits(0.05, 50), "#number-user-skew"],
      "user-seed": [whole(1, 99), "#number-user-seed"],
      "local-steps": [whole(2, 9), "#number-local-steps"],
      "local-rate": [digits(0.3, 2), "#number-local-rate"],
    },
  };
  return {
    dataset: ["synthetic", "#dataset"],
    model: [model, "#model"],
    ...shape,
    noise: [noise, "#noise-family"],
    ...families[noise],
    denoiser: ["kolmogorov-smirnov", "#denoiser"],
    sigma: [digits(2, 5), "#number-sigma"],
    lot: [whole(16, 250), "#number-lot"],
    rate: [digits(0.01, 0.4), "#number-rate"],
    // Lots of a fixed size exclude users and micro-batches.
    sampling: [pick([...(model === "linear" ? ["fixed-size"] : []), "shuffled", "random-allocation"]), "#sampling"],
    ...shared[model],
    schedule: [pick(["linear", "cosine"]), "#schedule"],
    "rate-end": [digits(0.2, 0.9), "#number-rate-end"],
    phases: [pick(["time", "exponential", "step", "polynomial"]), "#phases"],
    "phase-count": [whole(7, 12), "#number-phase-count"],
    "noise-end": [digits(0.3, 3), "#number-noise-end"],
    momentum: [digits(0.1, 0.9), "#number-momentum"],
    steps: [whole(10, 900), "#number-steps"],
    delta: [pick(["3e-7", "1e-6", "0.001"]), "#number-delta"],
    ...(model === "cnn-tanh" ? { start: ["pretrained", "#start"] } : { seed: [whole(1, 99), "#number-seed"] }),
    speed: [pick(["slow", "normal"]), ".speed input:checked"],
    theme: ["dark", "[data-testid=theme]"],
    lab: ["laplace,cauchy", ""],
    "lab-envelope": [pick(["260", "26", "1"]), "#lab-psi"],
    "lab-epsilon": [digits(1.1, 3), "#lab-epsilon"],
    "lab-exponent": [pick(["1.5", "4"]), "#lab-exponent"],
    "lab-density": ["exp(-x^4)", "#lab-formula"],
    lesson: ["shape-of-noise.2", ""],
  };
}

/** The address as the page writes it after a change; two changes are made here. */
async function written(page: Page) {
  await prefer(page, "theme", "light");
  await expect(page).toHaveURL(/theme=light/);
  await prefer(page, "theme", "dark");
  await expect(page).toHaveURL(/theme=dark/);
  return new URL(page.url()).search;
}

for (const [seed, model, noise, count] of [
  [1, "mlp", "gaussian", 4],
  [2, "linear", "custom", 10],
  [3, "cnn-tanh", "student-t", 10],
] as const) {
  test(`${count} random links (${model}, ${noise}) show the same in the page, by Back and on a fresh visit`, long(seed > 1), async ({ page, site, watched }) => {
    const random = stream(seed);
    const states = Array.from({ length: count }, () => Object.entries(randomState(random, model, noise)));
    const shown = async (state: (typeof states)[number]) => {
      await expect(page.getByTestId("lesson")).toBeVisible();
      for (const [key, [value, element]] of state) {
        if (!element) continue;
        // An unknown key would be ignored silently.
        await expect(async () => {
          const now = await page.locator(element).inputValue();
          expect(Number(now) || now, key).toBe(Number(value) || value);
        }).toPass({ timeout: 20_000 });
      }
      await expect(hook(page, "error")).toBeEmpty();
      const ticked = page.locator(".lab-questions input:checked");
      expect(await ticked.evaluateAll((all) => all.map((box) => box.id))).toEqual(["lab-3", "lab-4"]);
    };
    const visits = () => watched.requests.filter((url) => new URL(url).pathname === new URL(site.url).pathname).length;
    await open(page, site, "?backend=cpu&dataset=synthetic");
    const before = visits();
    const links: string[] = [];
    for (const state of states) {
      const query = new URLSearchParams([["backend", "cpu"], ...state.map(([key, [value]]) => [key, value])]);
      await page.evaluate((href) => {
        const link = Object.assign(document.createElement("a"), { href });
        document.body.append(link);
        link.click();
        link.remove();
      }, `?${query}`);
      await shown(state);
      const link = await written(page);
      links.push(link);
      // All keys appear, except for defaults.
      const said = [...new URLSearchParams(link).keys()].filter((key) => key !== "v");
      const unsaid = [...query.keys()].filter((key) => !said.includes(key));
      expect(unsaid.filter((key) => !["model", "encoder", "noise"].includes(key))).toEqual([]);
    }
    for (let at = states.length - 2; at >= 0; at -= 1) {
      await page.goBack();
      await expect(page.getByTestId("lesson")).toBeVisible();
      expect(await written(page)).toBe(links[at]);
    }
    await page.goForward();
    await shown(states[1]);
    expect(visits(), "nothing was loaded").toBe(before);
    for (const [at, state] of states.entries()) {
      await open(page, site, links[at]);
      await shown(state);
      expect(await written(page)).toBe(links[at]);
    }
  });
}

test("lesson steps are history entries; an in-page link changes nothing, and another backend reloads the page", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&model=mlp&lot=32");
  await page.evaluate(() => Object.assign(window, { mark: "here" }));
  await page.getByTestId("lessons").locator("summary").click();
  await page.getByTestId("lessons").getByRole("button").first().click();
  const title = page.getByTestId("lesson").getByRole("heading", { level: 3 });
  const first = await title.textContent();
  await page.getByTestId("lesson-next").click();
  await expect(title).not.toHaveText(first!);
  await page.goBack();
  await expect(title).toHaveText(first!);
  await page.goBack();
  await expect(page.getByTestId("lesson")).toBeHidden();
  await expect(page.locator(".panel.step"), "what a phone shows at first").toHaveClass(/shown/);
  await expect(hook(page, "model")).toHaveValue("mlp");
  await expect(hook(page, "lot")).toHaveValue("32");
  await page.goForward();
  await expect(title).toHaveText(first!);
  await page.locator(".skip").evaluate((link: HTMLAnchorElement) => link.click());
  await expect(page).toHaveURL(/#results$/);
  await page.goBack();
  await expect(title).toHaveText(first!);
  expect(await page.evaluate(() => "mark" in window)).toBe(true);
  // In one task: in between, the page could overwrite the first link with its own.
  await page.evaluate(() => {
    history.pushState(null, "", "?backend=gpu&dataset=synthetic");
    history.pushState(null, "", "?backend=cpu");
  });
  await page.goBack();
  await expect(async () => expect(await page.evaluate(() => "mark" in window)).toBe(false)).toPass();
});

test("a training elsewhere is priced by a link's numbers, by others, and by its accountant's file", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&steps=50&own=1&own-epochs=30");
  const found = page.getByTestId("own-epsilon-found");
  await expect(found).toHaveText("ε ≤ 1.64 at δ = 1e-5, after 7,032 steps");
  await page.getByTestId("own-lot").fill("0");
  await page.getByTestId("own-lot").press("Enter");
  await expect(page.getByTestId("own-problem")).toContainText("Batch size (lot) must be a whole number from 1");
  await page.getByTestId("own-lot").fill("70000");
  await page.getByTestId("own-lot").press("Enter");
  await expect(page.getByTestId("own-price")).toHaveText("Lot is 70000; it must be from 1 to the number of training examples.");
  await page.getByTestId("own-lot").fill("512");
  await page.getByTestId("own-epsilon").fill("1");
  await page.getByTestId("own-epsilon").press("Enter");
  await expect(page.getByTestId("own-multiplier")).toContainText("a noise multiplier of");
  await page.getByTestId("own-multiplier").getByRole("button").click();
  await expect(found).toContainText("ε ≤ 1.00");
  await expect(page).toHaveURL(/own-noise-multiplier=\d\.\d+&own-lot=512&own-epochs=30&own-epsilon=1/);
  await expect(page.getByTestId("own")).toContainText("--lot 512 --examples 60000 --epochs 30 --delta 1e-5");
  const state = JSON.stringify({ history: [[1.1, 256 / 60000, 3516]], mechanism: "prv" });
  await page.getByTestId("own-record").setInputFiles({ name: "state.json", mimeType: "application/json", buffer: Buffer.from(state) });
  await expect(found).toHaveText("ε ≤ 1.14 at δ = 1e-5, after 3,516 steps");
  await page.getByTestId("own-record").setInputFiles({ name: "cat.png", mimeType: "image/png", buffer: Buffer.from([137, 80, 78, 71]) });
  await expect(page.getByTestId("own-price")).toContainText("cat.png: it is not text");
  await page.setViewportSize({ width: 320, height: 700 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth), "it fits").toBeLessThanOrEqual(320);
  await page.getByTestId("own").getByText("Back to the numbers").click();
  await expect(found).toContainText("ε ≤ 1.00");
});

test("a link restores the noise lab; its invalid values get an error, and its theme stays in it", async ({ page, site }) => {
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

  await open(page, site, "?backend=cpu&dataset=synthetic&lab=gaussian,magic&lab-epsilon=-3&theme=dark");
  await expect(page.getByTestId("lab")).toBeVisible();
  for (const wrong of ["“magic” is not", "lab-epsilon", "“-3” is not"]) await expect(hook(page, "error")).toContainText(wrong);
  await hook(page, "model").selectOption("mlp");
  await expect(page).toHaveURL(/[?&]model=mlp&.*theme=dark/);
  await prefer(page, "theme", "light");
  await expect(page).toHaveURL(/[?&]theme=light/);
});

test("an address of 100 KB gets an error, and the page works", async ({ page, site }) => {
  await open(page, site, `?backend=cpu&dataset=synthetic&sigma=${"1".repeat(100_000)}`);
  await expect(hook(page, "error")).toContainText("characters long");
  await expect(hook(page, "noise-scale")).toHaveValue("1.4");
});

test("the theme is remembered, set by a link and added to none; the share button copies or shows the address", async ({ page, site, context }) => {
  const query = "?backend=cpu&dataset=synthetic";
  const html = page.locator("html");
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site, query);

  await test.step("the visitor's own theme is not put in the address, which is copied", async () => {
    await prefer(page, "theme", "dark");
    await hook(page, "model").selectOption("mlp");
    await expect(page).toHaveURL(/[?&]model=mlp/);
    expect(page.url()).not.toContain("theme");
    await hook(page, "lot").fill("32");
    await hook(page, "lot").press("Enter");
    await share(page);
    await expect(page.getByTestId("notice")).toContainText("copied");
    expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/[?&]lot=32/);
  });

  await test.step("a link sets the theme without changing the visitor's choice", async () => {
    await open(page, site, `${query}&theme=light`);
    await expect(html).toHaveAttribute("data-theme", "light");
    // From here on there is no clipboard, as over plain HTTP.
    await page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
    await open(page, site, query);
    await expect(html, "a link changes nobody's choice").toHaveAttribute("data-theme", "dark");
  });

  await test.step("without a clipboard the link is shown", async () => {
    await share(page);
    await expect(page.getByTestId("notice")).toContainText(`copy it from here: ${page.url()}`);
  });
});
