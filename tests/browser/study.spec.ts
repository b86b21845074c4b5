import type { Locator, Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { accessible } from "./axe";
import { choose, distracted, expect, exported, hook, open, test, value } from "./fixtures";
import { small } from "./idx";

const query = "?backend=cpu&dataset=synthetic";
const { step } = test;

/** Types into a field and presses Enter. */
async function type(field: Locator, text: string) {
  await field.fill(text);
  await field.press("Enter");
}

/** Takes one step, and waits until the page shows that it is step `count`. */
async function stepTo(page: Page, count: number) {
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step"), { intervals: [20] }).toBe(count);
}

/** Names of all earlier runs, newest first, once there are `count` and no sweep is under way. */
async function runNames(page: Page, count: number): Promise<string[]> {
  const names = page.getByTestId("runs").getByRole("textbox");
  await expect(names).toHaveCount(count);
  await expect(page.getByTestId("sweep-status")).toBeHidden();
  return Promise.all((await names.all()).map((box) => box.inputValue()));
}

test("the page as it opens has a recorded run, keyboard access, the parts of a step and a baseline", async ({ page, site }) => {
  await open(page, site, "?backend=cpu");

  await step("the first charts show a recorded run", async () => {
    await expect(page.getByTestId("recorded")).toBeVisible();
    await expect(page.locator(".results .chart").first().locator("path.line-recorded")).toHaveCount(1);
    await accessible(page, "the page as it opens");
  });

  await step("every control is reachable by keyboard and has a name", async () => {
    await page.evaluate(() => document.body.focus());
    const seen = new Set<string>();
    for (let i = 0; i < 160; i++) {
      await page.keyboard.press("Tab");
      const [id, name, visible] = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        const labels = (element as HTMLInputElement).labels;
        const label = element.getAttribute("aria-label") ?? (labels?.length ? labels[0].textContent : element.textContent);
        return [element.dataset.testid ?? "", label?.trim() ?? "", element.matches(":focus-visible")] as const;
      });
      expect(visible).toBe(true);
      expect(name.length, id || "a control without a name").toBeGreaterThan(0);
      seen.add(id);
      if (name.startsWith("Draw an example 9")) break;
    }
    for (const id of ["preset", "play", "pause", "step-once", "reset", "share-menu", "noise-lab", "dataset", "model", "encoder", "noise-family", "noise-scale", "target-epsilon", "lot", "learning-rate", "sweep", "denoiser"]) {
      expect([...seen], id).toContain(id);
    }
  });

  await step("the visitor's run replaces the recorded run", async () => {
    await expect(page.getByTestId("recorded")).toHaveCount(1);
    await stepTo(page, 1);
    await expect(page.getByTestId("recorded")).toHaveCount(0);
  });

  await hook(page, "dataset").selectOption("synthetic");
  await choose(page, "dp-sgd");
  await expect.poll(() => value(page, "step")).toBe(0);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "no-preference" });

  await step("each examined step lights its tiles in the order of its stages, except under reduced motion", async () => {
    const tiles = page.locator(".tiles");
    const lights = () =>
      tiles.evaluate((tiles) =>
        [...tiles.children].map((tile) =>
          tile.getAnimations().map((light) => [(light as CSSAnimation).animationName, light.effect!.getTiming().delay]),
        ),
      );
    const dark = [[], [], [], []];
    expect(await lights()).toEqual(dark);
    for (const step of [1, 2, 3]) {
      await hook(page, "step-once").click();
      await expect(page.locator(".step .lead")).toContainText(`Step ${step},`);
      await expect.poll(lights).toEqual([0, 450, 900, 1350].map((delay) => [[`light-${step % 2}`, delay]]));
    }
    // At many steps a second nothing blinks.
    await hook(page, "play").click();
    await expect.poll(lights).toEqual(dark);
    await hook(page, "pause").click();
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.getByTestId("speed").getByText("Slow", { exact: true }).click();
    await hook(page, "step-once").click();
    await expect(tiles).toHaveClass(/lit-/);
    expect(await lights()).toEqual(dark);
  });

  const envelope = page.locator(".tile-1 path.line-envelope");
  const formulas = page.getByTestId("formulas");
  await choose(page, "student-t");
  await expect.poll(() => value(page, "step")).toBe(0);

  await step("the encoded sum is drawn under its envelope, where it has one", async () => {
    await hook(page, "step-once").click();
    await expect(envelope).toHaveAttribute("d", /^M[\d., L]+/);
    // A higher curve has a smaller y.
    const [over, under] = await page.locator(".tile-1").evaluate((tile) =>
      ["envelope", "encoded"].map((name) => tile.querySelector<SVGGraphicsElement>(`path.line-${name}`)!.getBBox().y),
    );
    expect(over).toBeLessThanOrEqual(under);
    await expect(page.locator(".tile-1 .says")).toContainText("the envelope times the lot");
  });

  await step("the formulas are those of the running mechanism", async () => {
    await formulas.locator("summary").first().click();
    await expect(formulas).toContainText("enc(gᵢ)");
    await expect(formulas).toContainText("Student-t with ν = 9");
    for (const other of ["N(0", "clip(", "C = ", "D of the last step"]) await expect(formulas).not.toContainText(other);
    await hook(page, "denoiser").selectOption("kolmogorov-smirnov");
    await expect(formulas).toContainText("D of the last step is –");
    await hook(page, "step-once").click();
    await expect(formulas).toContainText(/D of the last step is 0\.\d+;/);
    await expect(envelope).toHaveCount(1);
  });

  await step("choosing another mechanism changes the formulas and removes the envelope", async () => {
    await choose(page, "dp-sgd");
    await expect(formulas).toContainText("N(0, (σC)²)");
    for (const other of ["enc(", "Student", "D of the last step"]) await expect(formulas).not.toContainText(other);
    await hook(page, "step-once").click();
    await expect(page.locator(".tile-1 path.line-encoded")).toHaveCount(1);
    await expect(envelope).toHaveCount(0);
  });

  const baseline = page.getByTestId("baseline");
  const error = hook(page, "error");

  await step("a baseline that cannot be trained is cancelled, and can be requested again", async () => {
    // Its rate (rate × clip norm) is too small for a number, which a file allows and no field.
    await type(page.locator("#number-clip"), "0.1");
    await expect.poll(() => value(page, "step")).toBe(0);
    await stepTo(page, 1);
    const [run] = await exported(page, "Run (JSON)");
    const file = JSON.parse(readFileSync(await run.path(), "utf8"));
    [file.run.name, file.run.config["learning-rate"]] = ["small", 2e-38];
    await page.getByTestId("import").setInputFiles({ name: "small.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(file)) });
    await page.getByRole("button", { name: "Continue small" }).click();
    await expect(page.getByRole("button", { name: "Continue small" })).toHaveCount(0);
    await stepTo(page, 2);
    await expect(error).toBeEmpty();
    await baseline.click();
    await expect(error).toContainText("earning-rate");
    await expect(baseline).toBeEnabled();
    await expect(baseline).toContainText("Ask a non-private baseline");
  });

  await choose(page, "dp-sgd");
  await expect.poll(() => value(page, "step")).toBe(0);

  await step("the non-private baseline answers beside the private model", async () => {
    await stepTo(page, 1);
    await page.getByRole("button", { name: "Draw an example 3" }).click();
    await baseline.click();
    const other = page.getByTestId("prediction-other");
    await expect(other).toHaveAttribute("data-value", /^[0-9]$/);
    await expect(other).toContainText("without privacy");
    await expect(other.locator(".teaching")).toBeVisible();
    expect(await value(page, "step")).toBe(1);
  });
});

test("results have charts with tables, enlarged tiles, who pays, and a sweep on the visitor's own digits", async ({ page, site }) => {
  await open(page, site, `${query}&steps=60`);
  const accuracy = page.locator(".results .chart").first();
  const runs = page.getByTestId("runs");
  const whoPays = page.getByTestId("who-pays");
  const error = hook(page, "error");

  await step("the chart of ε names each of its lines", async () => {
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBe(60);
    const chart = page.locator(".chart").filter({ has: page.getByRole("heading", { name: "ε spent" }) });
    const legend = chart.locator(".legend .key");
    await expect(legend.filter({ hasText: /^tight$/ })).toBeVisible();
    await page.getByTestId("compare").check();
    await expect(legend.filter({ hasText: /^classic$/ })).toBeVisible();
    const drawn = await chart.locator("svg path").evaluateAll((all) => all.map((each) => each.getAttribute("class") ?? "").filter((name) => name.startsWith("line-")));
    const named = await legend.evaluateAll((all) => all.map((each) => each.className.replace("key ", "")));
    expect(drawn.length).toBeGreaterThan(2);
    for (const line of drawn) expect(named, line).toContain(line);
  });

  await step("a table has a dash where a curve has ended, and a row for each run's price", async () => {
    await hook(page, "reset").click();
    await stepTo(page, 1);

    const prices = runs.locator(".runs-row .chart");
    await prices.locator(".as-table summary").click();
    await expect(prices.locator("thead th")).toHaveText(["run", "ε", "accuracy"]);
    await expect(prices.locator("tbody th")).toHaveText(["Run 1", "this run"]);
    const epsilon = await prices.locator("tbody tr td:nth-child(2)").allTextContents();
    expect(Number(epsilon[0])).toBeGreaterThan(Number(epsilon[1]));
    // The legend names only what has a colour.
    await expect(prices.locator(".legend .key")).toHaveText(["this run"]);

    await runs.getByRole("button", { name: "Pin Run 1" }).click();
    const summary = accuracy.locator(".as-table summary");
    await summary.click();
    await expect(accuracy.locator("thead th")).toHaveText(["step", "Run 1", "this run"]);
    await expect(accuracy.locator("tbody tr").last().locator("th, td")).toHaveText(["60", /%$/, "–"]);
    await summary.click();
    await runs.getByRole("button", { name: "Pin Run 1" }).click();
  });

  await step("Enter and a click enlarge a tile and a chart, and Escape restores them", async () => {
    const tile = page.locator(".tile-1");
    const height = (of: Locator) => of.locator(".plot").evaluate((plot) => Math.round(plot.getBoundingClientRect().height));
    for (const [name, of] of [["2 Encoded", tile], ["Test accuracy", accuracy]] as const) {
      const button = of.getByRole("button", { name: `Enlarge: ${name}` });
      const small = await height(of);
      await button.press("Enter");
      await expect(button).toHaveAttribute("aria-expanded", "true");
      await expect.poll(() => height(of)).toBeGreaterThan(small + 100);
      const box = (await of.boundingBox())!;
      expect(Math.min(box.x, box.y, 1440 - box.x - box.width, 900 - box.y - box.height), "room on every side").toBeGreaterThan(0);
      await accessible(page, `${name}, enlarged`);
      await page.keyboard.press("Escape");
      await expect(button).toHaveAttribute("aria-expanded", "false");
      await expect(button).toBeFocused();
      await expect.poll(() => height(of)).toBe(small);
    }
    const button = tile.getByRole("button", { name: "Enlarge" });
    await tile.locator(".weights").click();
    await expect(button).toHaveAttribute("aria-expanded", "true");
    await page.mouse.click(5, 5);
    await expect(button).toHaveAttribute("aria-expanded", "false");
  });

  await step("the confusion matrix counts every test digit", async () => {
    await whoPays.locator("summary").first().click();
    const matrix = page.getByTestId("confusion");
    await matrix.locator("summary").click();
    await expect(matrix.locator("tbody tr")).toHaveCount(10);
    const counts = await matrix.locator("tbody td").allTextContents();
    expect(counts.map(Number).reduce((a, b) => a + b)).toBe(5000);
    await expect(whoPays).toContainText("on public test digits.");
    await page.getByTestId("formulas").locator("summary").first().click();
    await page.getByTestId("epsilon-meaning").locator("summary").first().click();
    await accessible(page, "results, opened");
  });

  await choose(page, "dp-sgd");

  await step("the confusion matrix and the accuracy say whose digits they count", async () => {
    const mark = page.locator(".readouts .accuracy .teaching");
    await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0);
    await expect(mark).toHaveCount(0);
    for (const [files, set, says] of [
      [small(), "The test images are yours too", "on your own test digits: ε does not cover"],
      [small().slice(0, 2), "About one image in six", "on one in six of your digits, kept for testing: ε does not cover"],
    ] as const) {
      await page.getByTestId("files").setInputFiles([...files]);
      await expect(page.getByTestId("digits-in-use")).toContainText(set);
      await expect(whoPays).toContainText(says);
      await expect(mark).toBeVisible();
    }
  });

  await step("a sweep of lots stays within the visitor's own digits, and restores all settings", async () => {
    await page.getByTestId("files").setInputFiles(small());
    await expect(page.getByTestId("digits-in-use")).toContainText("400 to train on");
    const before = await runs.getByRole("textbox").count();
    await page.getByRole("button", { name: "Sweep Lot size: four runs" }).click();
    const made = await runNames(page, before + 4);
    expect(made.slice(0, 4)).toEqual([368, 256, 128, 64].map((lot) => `lot size ${lot}`));
    await expect(error).toBeEmpty();
    await expect(hook(page, "lot")).toHaveValue("256");
    await expect(page.locator("#number-steps")).toHaveValue("");
    // A lot too large for other images is reduced.
    await page.getByTestId("files").setInputFiles(small(100));
    await expect(hook(page, "lot")).toHaveValue("12");
    await expect(error).toBeEmpty();
  });
});

test("a sweep compares four runs, starts from a number's name, and ends when a setting changes", async ({ page, site }) => {
  await open(page, site, query);
  const status = page.getByTestId("sweep-status");
  const steps = page.locator("#number-steps");
  const sweep = (what: string) => page.getByRole("button", { name: `Sweep ${what}: four runs` });

  await step("after a long run it makes four runs named by what changed, and restores all settings", async () => {
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(400);
    await hook(page, "pause").click();
    // Catches the status, however short the sweep is.
    const told = page.waitForFunction(() => /run [1-4] of 4/.test(document.querySelector<HTMLElement>("[data-testid=sweep-status]:not([hidden])")?.innerText ?? ""));
    await sweep("Noise scale").click();
    await told;
    const names = await runNames(page, 5);
    for (const name of names.slice(0, 4)) expect(name).toMatch(/^noise scale [0-9.]+$/);
    await expect(page.getByTestId("runs").getByRole("button", { name: /^Pin/, pressed: true })).toHaveCount(4);
    await expect(hook(page, "noise-scale")).toHaveValue("1.1");
    // The composed cost of all runs, and that of the best alone if their number had been random.
    const price = page.getByTestId("sweep-price");
    await expect(price).toContainText("4 on average");
    const [, all, best] = /costs ε ≤ (\S+)\. .*it would be ε ≤ (\S+) \(Papernot/.exec((await price.textContent())!)!;
    for (const epsilon of [all, best]) expect(Number(epsilon.replace(",", ""))).toBeGreaterThan(0);
    await accessible(page, "after a sweep");
  });

  await step("the charts leave out the long run", async () => {
    const ticks = (title: string) => page.locator("figure", { has: page.getByRole("heading", { name: title, exact: true }) }).locator(".plot text").allTextContents();
    const steps = (await ticks("Test accuracy")).filter((tick) => /^[0-9,]+$/.test(tick)).map((tick) => Number(tick.replace(",", "")));
    expect(Math.max(...steps), "the runs of the sweep take 120 steps").toBeLessThanOrEqual(120);
    expect(await ticks("Accuracy against ε"), "their ε is between a hundredth and a hundred").toContainEqual(expect.stringMatching(/^10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]/));
  });

  await step("a number's name starts its sweep, by a click and by Enter, and still labels the field", async () => {
    // Slow enough that no run ends before it is stopped.
    await page.getByTestId("speed").getByText("Normal", { exact: true }).click();
    const stop = async () => {
      await status.getByRole("button", { name: "Stop" }).click();
      await expect(status).toBeHidden();
    };
    await sweep("Learning rate").press("Enter");
    await expect(status).toContainText("learning rate");
    await stop();
    const scale = page.getByRole("textbox", { name: "Noise scale", exact: true });
    await expect(scale).toHaveValue("1.1");
    await page.locator(".control", { has: scale }).getByText("Noise scale", { exact: true }).click();
    await expect(status).toContainText("noise scale");
    await stop();
    await expect(scale).toHaveValue("1.1");
    // The label of a number without a sweep focuses its field.
    await page.getByText("Advanced", { exact: true }).click();
    await page.locator("label", { hasText: /^Model seed$/ }).click();
    await expect(page.getByRole("textbox", { name: "Model seed" })).toBeFocused();
  });

  await step("changing a setting during a sweep ends it, and restores all others", async () => {
    await expect(hook(page, "lot")).toHaveValue("256");
    await sweep("Noise scale").click();
    await expect(hook(page, "noise-scale")).not.toHaveValue("1.1");
    await expect.poll(() => value(page, "step"), { intervals: [20] }).toBeGreaterThan(0);
    await type(hook(page, "lot"), "64");
    await expect(status).toBeHidden();
    await expect(hook(page, "lot")).toHaveValue("64");
    await expect(hook(page, "noise-scale")).toHaveValue("1.1");
    await expect(steps).toHaveValue("");
    await hook(page, "pause").click();
  });
});

test("a budget finds its noise in a sweep of budgets, with a pending step, and by both accountants", async ({ page, site }) => {
  await open(page, site, `${query}&steps=20&epsilon=2`);
  const scale = hook(page, "noise-scale");
  const projection = page.getByTestId("projection");

  await step("a sweep of budgets finds the noise for each; one of δ shows four curves of ε, and trains nothing", async () => {
    // The noise for the budget is set.
    await expect(scale).not.toHaveValue("1.1");
    await expect(projection).toContainText("The 20 planned steps");
    await page.getByRole("button", { name: "Sweep δ: four curves of ε" }).click();
    await expect(page.getByTestId("notice")).toContainText("the same steps at four δ");
    const deltas = page.locator(".results .chart").nth(1).locator(".legend .key", { hasText: "δ = " });
    await expect(deltas).toHaveText(["δ = 1e-7", "δ = 1e-6", "δ = 1e-5", "δ = 1e-4"]);
    await expect(page.getByTestId("sweep-status")).toBeHidden();
    expect(await value(page, "step")).toBe(0);
    const found = await scale.inputValue();
    await page.getByRole("button", { name: "Sweep Budget ε: four runs" }).click();
    const names = await runNames(page, 4);
    const budgets = [8, 3.2, 1.3, 0.5];
    expect(names).toEqual(budgets.map((budget) => `budget ε ${budget}`));
    const spent = await page.getByTestId("runs").locator("tbody td:nth-child(5)").allTextContents();
    spent.forEach((epsilon, at) => {
      expect(Number.parseFloat(epsilon), names[at]).toBeLessThanOrEqual(budgets[at]);
      // The noise is found by Rényi accounting; tight accounting, once there, gives less.
      if (epsilon.includes("Rényi")) expect(Number.parseFloat(epsilon), names[at]).toBeGreaterThan(0.9 * budgets[at]);
    });
    await expect(page.getByTestId("target-epsilon")).toHaveValue("2");
    await expect(scale).toHaveValue(found);
    // The curves at other δ were those of other settings.
    await expect(deltas).toHaveCount(0);
  });

  await choose(page, "dp-sgd");
  await expect(page.getByTestId("target-epsilon")).toHaveValue("");
  await type(page.locator("#number-steps"), "200");
  await expect(scale).toHaveValue("1.1");
  await expect.poll(() => value(page, "step")).toBe(0);

  await step("a step requested while the noise for a budget is sought is done by the run that follows", async () => {
    /** Sets a budget and clicks, before the accountant can answer. */
    const ask = (budget: string, hooks: string[]) =>
      page.evaluate(
        ([budget, hooks]) => {
          const find = (id: string) => document.querySelector<HTMLElement>(`[data-testid="${id}"]`)!;
          const field = find("target-epsilon") as HTMLInputElement;
          field.value = budget as string;
          for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, { bubbles: true }));
          for (const id of hooks) find(id as string).click();
        },
        [budget, hooks] as const,
      );
    await ask("1", ["step-once"]);
    await expect(scale).not.toHaveValue("1.1");
    await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(0);
    await expect.poll(() => value(page, "step")).toBe(1);
    // No noise meets this budget: the current run does the step.
    await ask("1e-9", ["step-once"]);
    await expect(hook(page, "error")).toContainText("ε");
    await expect.poll(() => value(page, "step")).toBe(2);
    await ask("2", ["play", "pause"]);
    await expect.poll(() => value(page, "step")).toBe(0);
    await ask("1.5", ["play"]);
    await expect.poll(() => value(page, "step")).toBeGreaterThan(2);
    await hook(page, "pause").click();
  });

  await step("the noise found meets the budget, and both accountants give its cost", async () => {
    await type(page.getByTestId("target-epsilon"), "1");
    await expect(projection).toContainText(/ε ≤ (1\.000?|0\.9\d+) by Rényi/);
    const tight = (await projection.textContent())?.match(/tight accounting: ε ≤ ([0-9.]+?)\.?$/);
    expect(Number(tight?.[1])).toBeLessThan(1);
    await expect(page.locator(".results path.line-tight")).toHaveCount(1);
  });
});

test("the meaning of ε is that of the steps done, by every accountant, while a run is at rest", async ({ page, site }) => {
  await open(page, site, `${query}&steps=20`);
  const meaning = page.getByTestId("epsilon-meaning");
  const bound = async (conversion: string) => meaning.getByRole("row", { name: new RegExp(`^${conversion}`) }).locator("td").first().textContent();

  await step("μ is shown once the whole privacy curve is known, and bounds it", async () => {
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBe(20);
    const stands = page.getByTestId("mu");
    await meaning.locator("summary").first().click();
    await expect(stands).toContainText("a share of false alarms of 1e-10 or more");
    const said = (await stands.textContent())!;
    const [mu, regret] = [/μ ≤ ([\d.]+):/, /error rates at most ([\d.e-]+) too low/].map((number) => Number(number.exec(said)![1]));
    // A Gaussian release of this μ has ε ≤ μ²/2 + μ·√(2 ln 1e5) at 1e-5, and the run has no more.
    expect(Number(await bound("tight"))).toBeLessThan((mu * mu) / 2 + mu * Math.sqrt(2 * Math.log(1e5)));
    expect(regret).toBeLessThan(0.5);
    // It is that of the current step: another step changes it.
    await hook(page, "step-once").click();
    await expect(stands).toContainText("μ ≤");
  });

  await step("both bounds are of the same step", async () => {
    await type(page.locator("#number-steps"), "");
    await type(hook(page, "lot"), "16");
    await expect.poll(() => value(page, "step")).toBe(0);
    const above = page.locator(".readouts .epsilon");
    // The third digits of both change at different steps.
    for (let step = 1; step <= 12; step++) {
      await stepTo(page, step);
      await expect(async () => {
        expect(await above.textContent(), `step ${step}`).toContain(`Rényi ${await bound("improved")}≤ ${await bound("tight")}`);
      }).toPass({ timeout: 10_000, intervals: [20] });
    }
  });

  for (const [name, preset] of [
    ["clipping and Gaussian noise", "dp-sgd"],
    ["an envelope and Student-t noise", "student-t"],
  ] as const) {
    await step(`a run at rest has a tight ε, too: ${name}`, async () => {
      await choose(page, preset);
      await hook(page, "model").selectOption("linear");
      await expect.poll(() => value(page, "step")).toBe(0);
      const tight = page.getByTestId("epsilon-tight");
      await expect(tight).toHaveCount(0);
      await stepTo(page, 1);
      await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(0);
      await expect(tight).toHaveText(/^[0-9.]+(e-[0-9]+)?$/);
      expect(Number(await tight.textContent())).toBeLessThanOrEqual(await value(page, "epsilon"));
      const share = async (what: string) => parseFloat((await page.getByTestId(`attack-${what}`).textContent())!);
      const source = page.getByTestId("attack-source");
      const [alarms, before] = ["False alarms", "Believed before"].map((name) => page.getByRole("combobox", { name }));
      await alarms.selectOption("5%");
      await before.selectOption("50%");
      await expect(source).toContainText("From the whole privacy curve");
      const [found, sure] = [await share("found"), await share("sure")];
      expect(found).toBeGreaterThan(5);
      expect(sure).toBeGreaterThan(50);
      expect(found - 5).toBeLessThanOrEqual(await share("advantage"));
      await alarms.selectOption("1%");
      expect(await share("found")).toBeLessThan(found);
      await before.selectOption("10%");
      expect(await share("sure")).toBeLessThan(sure);
      if (preset === "dp-sgd") await accessible(page, "what an ε says");
      await hook(page, "play").click();
      await expect.poll(() => value(page, "step")).toBeGreaterThan(3);
      // During play the bound is shown, and the curve waits.
      await expect(source).toContainText("From ε and δ alone");
      await expect(tight).toHaveCount(1);
      await hook(page, "pause").click();
      await expect(source).toContainText("From the whole privacy curve");
      await expect(tight).toHaveCount(1);
    });
  }
});

test("the noise lab compares noise at equal privacy, judges the visitor's own, and trains with it", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&lot=512&lab=gaussian");
  const lab = page.getByTestId("lab");
  const table = page.getByTestId("lab-table");
  const verdict = page.getByTestId("lab-verdict");
  const budget = page.getByTestId("target-epsilon");
  const box = (name: string) => page.getByRole("checkbox", { name });
  /** The page's width on a screen of this size, once it is redrawn. */
  const widthAt = async (width: number, height: number) => {
    await page.setViewportSize({ width, height });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return page.evaluate(() => document.documentElement.scrollWidth);
  };

  await step("“Train with it” sets the number of steps of the comparison", async () => {
    await expect(table.locator("tbody tr")).toHaveCount(1);
    const steps = /For ([\d,]+) steps/.exec((await lab.textContent()) ?? "")?.[1];
    await lab.getByRole("button", { name: /^Train with it/ }).last().click();
    await expect(page.getByTestId("notice")).toContainText(`the scale at which ${steps} steps stay within`);
    await expect(page).toHaveURL(new RegExp(`steps=${steps?.replace(",", "")}\\b`));
  });

  await page.getByTestId("noise-lab").click();
  for (const name of ["Laplace", "Student-t, ν = 9"]) await box(name).check();
  const exponent = page.locator("#lab-exponent");
  await exponent.fill(await exponent.inputValue());
  await expect(table.locator("tbody tr")).toHaveCount(4);
  await page.getByTestId("noise-lab").click();
  await expect(lab).toBeHidden();
  await choose(page, "dp-sgd");
  await expect(budget).toHaveValue("");
  await type(page.locator("#number-steps"), "50");

  await step("families that are ticked and unticked during a comparison are judged with the rest", async () => {
    await distracted(page);
    await page.getByTestId("noise-lab").click();
    await expect(table).toHaveAttribute("aria-busy", "true");
    await box("Laplace").uncheck();
    await box("Cauchy").check();
    await box("hyperbolic secant").check();
    await expect(table).toHaveAttribute("aria-busy", "false");
    const names = ["Gaussian", "Student-t, ν = 9", "Cauchy", "hyperbolic secant", "generalised Gaussian"];
    await expect(table.locator("tbody th")).toHaveText(names);
    await expect(verdict).toContainText("smallest mean error");
  });

  await step("none of the first four families beats the best", async () => {
    await box("Laplace").check();
    await box("Cauchy").uncheck();
    await box("hyperbolic secant").uncheck();
    await expect(table).toHaveAttribute("aria-busy", "false");
    await expect(table.locator("tbody tr")).toHaveCount(4);
    await expect(verdict).toContainText("none beats it");
    await accessible(page, "noise lab");
  });

  await step("at 400% zoom and on a phone nothing is wider than the screen", async () => {
    const drawn = await widthAt(360, 740);
    await expect(lab).toBeVisible();
    expect(drawn).toBeLessThanOrEqual(360);
    await accessible(page, "noise lab on a phone");
    expect(await widthAt(320, 256), "with the noise lab").toBeLessThanOrEqual(320);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  await step("an invalid density is refused, and a valid one can be trained with", async () => {
    const [formula, refusal] = [page.getByTestId("lab-formula"), page.getByTestId("lab-refusal")];
    await type(formula, "exp(-(x-1)^2)");
    await expect(refusal).toContainText("not symmetric");
    await type(formula, "exp(-y)");
    await expect(refusal).toContainText("character 6");
    await type(formula, "1/cosh(x)");
    await page.getByRole("button", { name: "Train with it: your formula" }).click();
    await expect(hook(page, "noise-family")).toHaveValue("custom");
    await expect(page.getByTestId("density")).toHaveValue("1/cosh(x)");
    await expect(page).toHaveURL(/density=1%2Fcosh/);
    await expect(budget).toHaveValue("1");
    await expect(page.getByTestId("projection")).toContainText(/planned steps will cost ε ≤ (1\.00|0\.9)/);
    await stepTo(page, 1);
    await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(0);
    await page.goto(page.url());
    await stepTo(page, 1);
    await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(0);
  });

  await hook(page, "encoder").selectOption("clip");
  await page.getByTestId("noise-lab").click();
  await expect(table).toHaveAttribute("aria-busy", "false");

  await step("a formula being typed survives the accountant's answers and all other changes", async () => {
    for (const field of ["lab-formula", "lab-epsilon", "density"]) {
      const typed = page.getByTestId(field);
      await typed.fill("7");
      // A script sets something else: the field keeps its focus.
      await page.locator("#number-clip").evaluate((clip: HTMLInputElement) => {
        clip.value = String(Number(clip.value) / 2);
        for (const kind of ["input", "change"]) clip.dispatchEvent(new Event(kind, { bubbles: true }));
      });
      await page.evaluate(() => (document.querySelector(".noise-lab input[type=checkbox]") as HTMLElement).click());
      await expect(table).toHaveAttribute("aria-busy", "false");
      await page.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true), 50))));
      await expect(typed).toHaveValue("7");
      await typed.press("Escape");
    }
  });

  await step("every control has a hint, and every slider labels at its ends", async () => {
    await hook(page, "encoder").selectOption("envelope");
    await page.getByText("Advanced", { exact: true }).click();
    await page.locator("#schedule").selectOption("linear");
    await expect(page.getByTestId("density")).toBeVisible();
    const [mute, endless] = await page.evaluate(() => {
      const name = (element: Element) => element.id || element.className;
      const fields = document.querySelectorAll(".preset select, .speed, :is(.setup, .noise-lab) :is(select, input[type=text], input[type=range])");
      const mute = [...fields].filter((field) => !field.closest(".control, .preset, .speed")?.querySelector(".hint"));
      const endless = [...document.querySelectorAll(".control.number")].filter((control) => {
        const ends = [...control.querySelectorAll(".slider + .ends > span")];
        return ends.length !== 2 || ends.some((end) => !end.textContent);
      });
      return [mute.map(name), endless.map((control) => name(control.querySelector("input")!))];
    });
    expect(mute).toEqual([]);
    // Seeds have no better or worse end; copies, a grid and canaries are off until set.
    expect(endless.sort()).toEqual(["number-copies", "number-envelope-seed", "number-grid-bits", "number-micro-batch", "number-replay", "number-seed"]);
    for (const [name, id] of [["Speed", "speed"], ["Density formula in x", "density"], ["Exponent", "lab-exponent"], ["1 ÷ √J", "lab-fisher"]]) {
      const about = page.locator(`button[aria-controls="${id}-hint"]`);
      await expect(about).toHaveAccessibleName(`About: ${name}`);
      await about.click();
      await expect(page.locator(`#${id}-hint`), name).toBeVisible();
      await about.click();
    }
  });

  await step("without the lab, too, nothing is wider than the screen at 400% zoom", async () => {
    await page.getByTestId("noise-lab").click();
    await expect(lab).toBeHidden();
    expect(await widthAt(320, 256)).toBeLessThanOrEqual(320);
  });
});
