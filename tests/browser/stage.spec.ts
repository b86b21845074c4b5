import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { accessible } from "./axe";
import { choose, distracted, expect, hook, open, test, tight, value } from "./fixtures";

const query = "?backend=cpu&preset=quick-linear&dataset=synthetic";

/** The ink of each pixel of a picture: its distance from the paper's colour. */
const ink = (page: Page, id: string, cell?: number) =>
  page.evaluate(
    ([id, cell]) => {
      const canvas = (id === "lot" ? document.querySelector(".lot-digits") : document.querySelector(`[data-testid="${id}"]`)) as HTMLCanvasElement;
      const [left, top] = cell === undefined ? [0, 0] : [(cell % 8) * 29, Math.floor(cell / 8) * 29];
      const { data } = canvas.getContext("2d")!.getImageData(left, top, 28, 28);
      const paper = cell === undefined ? [255, 255, 255] : [240, 240, 238];
      return [...Array(28 * 28).keys()].map((i) => Math.hypot(...[0, 1, 2].map((c) => data[4 * i + c] - paper[c])));
    },
    [id, cell] as const,
  );

function correlation(a: number[], b: number[]): number {
  const mean = (x: number[]) => x.reduce((sum, v) => sum + v, 0) / x.length;
  const [ma, mb] = [mean(a), mean(b)];
  const cross = (x: number[], mx: number, y: number[], my: number) => x.reduce((sum, v, i) => sum + (v - mx) * (y[i] - my), 0);
  return cross(a, ma, b, mb) / Math.sqrt(cross(a, ma, a, ma) * cross(b, mb, b, mb));
}

const ringed = (page: Page) => page.locator(".lot-buttons .ringed");
/** The index of the ringed digit. */
const place = (page: Page) => ringed(page).evaluate((button) => [...button.parentElement!.children].indexOf(button));

/** Asserts that the difference shows the ringed digit before the noise, and static after it. */
async function tells(page: Page) {
  const digit = await ink(page, "lot", await place(page));
  expect(correlation(await ink(page, "stage-difference-before"), digit)).toBeGreaterThan(0.8);
  expect(Math.abs(correlation(await ink(page, "stage-difference-after"), digit))).toBeLessThan(0.3);
}

test.use({ colorScheme: "light" });

/** The last line of a recorded run, with numbers as the page formats them. */
function recorded(file: string) {
  const [step, accuracy, , odds] = readFileSync(`../../www/${file}`, "utf8").trim().split("\n").pop()!.split(",");
  return { step, accuracy: `${(100 * Number(accuracy)).toFixed(1)}%`, found: odds };
}

test("the recorded run is shown only under its own settings, for either digits; the first run's end offers two more", async ({ page, site }) => {
  const [note, digits] = [page.getByTestId("recorded"), hook(page, "dataset")];
  await open(page, site, "?backend=cpu");

  await test.step("the recorded step shows the ringed digit before the noise and static after it, only under its own settings", async () => {
    await expect(page.getByTestId("stage-step")).toContainText("A recorded step");
    await expect(ringed(page)).toHaveCount(1);
    await tells(page);
    await expect(page.getByTestId("preset")).toHaveAttribute("data-value", "quick-linear");
    const lot = await hook(page, "lot").inputValue();
    for (const [size, title] of [["300", "What a first step would look like"], [lot, "A recorded step"]]) {
      await hook(page, "lot").fill(size);
      await hook(page, "lot").press("Enter");
      await expect(ringed(page)).toHaveCount(1);
      await expect(page.getByTestId("stage-step")).toContainText(title);
      await expect(ringed(page)).toHaveCount(1);
    }
  });

  await test.step("choosing drawn digits shows the run recorded on them", async () => {
    await expect(note).toContainText(process.env.HUSHGRAD_DATA === "mnist" ? "Recorded: MNIST" : "drawn by the program");
    const before = await digits.inputValue();
    await digits.selectOption("synthetic");
    await expect(note).toContainText("Recorded: digits drawn by the program");
    await expect(page.getByTestId("odds-found")).toHaveText(recorded("recorded-drawn.csv").found);
    await expect(ringed(page)).toHaveCount(1);
    await digits.selectOption(before);
    await expect(note).toContainText(process.env.HUSHGRAD_DATA === "mnist" ? "Recorded: MNIST" : "drawn by the program");
  });

  await test.step("a finished run offers the next two, and a click begins one", async () => {
    await expect(page.getByTestId("next-runs")).toHaveCount(0);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step"), { timeout: 120_000 }).toBe(400);
    const next = page.getByTestId("next-runs").locator("[data-testid^=next-]");
    await expect(next).toHaveCount(2);
    await expect(next.first()).toContainText("ε ≤ 0.55");
    await next.first().click();
    await expect(page.getByTestId("preset")).toHaveAttribute("data-value", "quick-cnn");
    // The first run's steps do not count.
    await expect.poll(() => value(page, "step")).toBeLessThan(400);
    await expect.poll(() => value(page, "step"), { timeout: 120_000 }).toBeGreaterThan(0);
  });
});

test("a site without MNIST opens with the run recorded on drawn digits, and shows no number of MNIST", async ({ page, site, watched }) => {
  watched.allowed.push(/404/);
  site.missing.add("data/manifest.json");
  let answer = () => {};
  site.held.set("data/manifest.json", new Promise<void>((done) => (answer = done)));
  const [mnist, drawn] = [recorded("recorded.csv"), recorded("recorded-drawn.csv")];
  const [note, odds, found] = ["recorded", "odds", "odds-found"].map((id) => page.getByTestId(id));
  const last = page.locator(".results .chart").first().locator("tbody tr").last();
  await page.goto(`${site.url}?backend=cpu`);
  // The available digits are not known yet: everything shown is labelled with its own.
  await expect(note).toContainText("Recorded: MNIST");
  await expect(odds).toContainText("the recorded run released");
  await expect(found).toHaveText(mnist.found);
  await expect(page.getByTestId("stage-step")).toContainText("on synthetic digits");
  answer();
  await expect(page.getByTestId("digits-in-use")).toContainText("20,000 to train on");
  await expect(note).toContainText("Recorded: digits drawn by the program");
  await expect(page.getByTestId("stage-step")).toContainText("A recorded step on synthetic digits");
  await expect(ringed(page)).toHaveCount(1);
  await tells(page);
  await expect(page.locator(".results path.line-recorded")).toHaveCount(2);
  await page.locator(".results .chart").first().getByText("As a table").click();
  await expect(last).toContainText(drawn.step);
  await expect(last).toContainText(drawn.accuracy);
  await expect(odds).toContainText("planned steps");
  await expect(found).toHaveText(drawn.found);
  expect([mnist.found, mnist.accuracy]).not.toEqual([drawn.found, drawn.accuracy]);
  await expect(page.locator(".results")).not.toContainText("MNIST");
  await accessible(page, "a site without MNIST");
  // There is no recorded run for other settings.
  await hook(page, "learning-rate").fill("3");
  await hook(page, "learning-rate").press("Enter");
  await expect(note).toHaveCount(0);
  await expect(page.locator(".results path.line-recorded")).toHaveCount(0);
  await expect(page.getByTestId("stage-step")).toContainText("What a first step would look like");
  await tells(page);
});

/** Records the stations that are lit from now on, in order. */
async function walked(page: Page): Promise<() => Promise<string>> {
  await page.evaluate(() => {
    const seen: string[] = ((window as { seen?: string[] }).seen = []);
    new MutationObserver(() => {
      const at = [...document.querySelectorAll(".station")].findIndex((station) => station.classList.contains("lit"));
      if (at >= 0 && seen.at(-1) !== String(at)) seen.push(String(at));
    }).observe(document.querySelector(".stations")!, { attributes: true, subtree: true });
  });
  return () => page.evaluate(() => (window as { seen?: string[] }).seen!.join(""));
}

test("the stage fits its screen, walks in slow motion, shows any digit of the visitor's step, and says if there is no noise", async ({ page, site }) => {
  await open(page, site, query);

  for (const width of [320, 390, 1440, 2560]) {
    await test.step(`the stage fits a screen ${width} pixels wide`, async () => {
      await page.setViewportSize({ width, height: 900 });
      await expect(page.getByTestId("stage")).toBeVisible();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      const lot = (await page.locator(".lot-digits").boundingBox())!;
      expect(lot.width / 8).toBeGreaterThanOrEqual(24);
      // On a phone what is released and its knob come first, in view with the odds.
      const [first, bottom] = await Promise.all([width < 720 ? page.getByTestId("stage-released") : page.locator(".lot-digits"), page.getByTestId("stage-says")].map(async (one) => (await one.boundingBox())!));
      expect(first.y).toBeLessThan(320);
      if (width >= 390) expect(bottom.y + bottom.height).toBeLessThan(width < 720 ? 836 : 900);
      if (width < 720) {
        const bar = (await page.locator(".transport").boundingBox())!;
        expect(bar.height).toBeLessThanOrEqual(66);
        expect((await page.locator(".bar").boundingBox())!.height).toBeLessThanOrEqual(60);
        await expect(page.getByTestId("preset")).toBeHidden();
        await page.getByTestId("more").click();
        await expect(page.getByTestId("preset")).toBeVisible();
        await expect(hook(page, "reset")).toBeVisible();
        await page.getByTestId("more").click();
      }
    });
  }

  await test.step("slow motion walks the stations to the noise, and is off under reduced motion", async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    const seen = await walked(page);
    await expect(page.locator(".station.lit")).toHaveCount(0);
    await hook(page, "step-once").click();
    await expect.poll(seen).toMatch(/0123$/);
    await expect(page.locator(".station.lit")).toHaveCount(0);
    await page.emulateMedia({ reducedMotion: "reduce" });
    const before = await seen();
    await hook(page, "step-once").click();
    await expect(page.getByTestId("stage-step")).toContainText("Step 2.");
    await page.waitForTimeout(800);
    expect(await seen()).toBe(before);
  });

  await test.step("any digit of the visitor's step can be ringed by click and by arrow keys, and the difference shows it", async () => {
    await hook(page, "reset").click();
    await expect.poll(() => value(page, "step")).toBe(0);
    await hook(page, "step-once").click();
    await expect(page.getByTestId("stage-step")).toContainText("Step 1.");
    await expect(page.getByTestId("stage-lot")).toContainText("drawn at random");
    await tells(page);
    const buttons = page.locator(".lot-buttons button");
    const other = ((await place(page)) + 9) % 38;
    await buttons.nth(other).click();
    await expect.poll(() => place(page)).toBe(other);
    await tells(page);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => place(page)).toBe(other + 1);
    await tells(page);
    await expect(page.getByTestId("stage-length")).toHaveText(/, cut from length [\d.]+ to (1|0\.99\d*)\.$/);
  });

  await test.step("leaving out the ringed image changes the sum and redraws the noise", async () => {
    await expect(ringed(page)).toHaveCount(1);
    const [sum, released] = [await ink(page, "stage-sum"), await ink(page, "stage-released")];
    await page.getByText("Without it", { exact: true }).click();
    await expect.poll(async () => correlation(await ink(page, "stage-released"), released)).toBeLessThan(0.5);
    const without = await ink(page, "stage-sum");
    expect(without).not.toEqual(sum);
    expect(correlation(without, sum)).toBeGreaterThan(0.7);
  });

  await test.step("preset cards show accuracy, ε, steps and time, and a click chooses one", async () => {
    await page.getByTestId("preset").click();
    const cards = page.locator(".cards .card");
    await expect(cards.first()).toBeVisible();
    expect(await cards.count()).toBeGreaterThanOrEqual(5);
    await expect(page.getByTestId("card-quick-linear")).toContainText(/9\d\.\d% of test digits, ε ≤ 0\.53\d, 400 steps/);
    await expect(page.getByTestId("card-no-privacy")).toContainText("no guarantee");
    for (const card of await cards.filter({ hasText: " of test digits" }).all()) await expect(card).toContainText(/, about \d+ (s|minutes) on our test machine/);
    await accessible(page, "the cards");
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await page.getByTestId("card-quick-cnn").click();
    await expect(page.locator(".cards-dialog")).toBeHidden();
    await expect(page.getByTestId("preset")).toHaveAttribute("data-value", "quick-cnn");
    await page.getByTestId("preset").click();
    await page.keyboard.press("Escape");
    await expect(page.locator(".cards-dialog")).toBeHidden();
  });

  await test.step("without noise the release shows the digit, and no guarantee is claimed", async () => {
    await choose(page, "no-privacy");
    await expect(page.getByTestId("stage-step")).toContainText("What a first step would look like");
    await hook(page, "step-once").click();
    await expect(page.getByTestId("stage-step")).toContainText("Step 1.");
    await expect(ringed(page)).toHaveCount(1);
    const digit = await ink(page, "lot", await place(page));
    expect(correlation(await ink(page, "stage-difference-after"), digit)).toBeGreaterThan(0.8);
    await expect(page.getByTestId("stage-says")).toContainText("no privacy guarantee");
    await expect(page.getByTestId("odds-found")).toHaveText("100");
    await expect(page.getByTestId("odds")).toContainText("Nothing bounds");
  });
});

/** Records each ε and odds of the headlines, from now on. */
async function headlines(page: Page): Promise<() => Promise<number[][]>> {
  await page.evaluate(() => {
    const [epsilon, found] = ["epsilon", "odds-found"].map((id) => document.querySelector(`[data-testid="${id}"]`)!);
    const shown: number[][] = ((window as unknown as { shown: number[][] }).shown = []);
    const look = () => {
      const now = [epsilon, found].map((element) => Number(element.textContent!.replace(/[≤,\s]/g, "")));
      if (now[0] > 0 && now.join() !== shown.at(-1)?.join()) shown.push(now);
    };
    for (const element of [epsilon, found]) new MutationObserver(look).observe(element, { characterData: true, childList: true, subtree: true });
  });
  return () => page.evaluate(() => (window as unknown as { shown: number[][] }).shown);
}

test("the text on the ringed image follows from the guarantee, ε, the odds and the picture", async ({ page, site }) => {
  const [caption, says] = ["stage-hidden", "stage-says"].map((id) => page.getByTestId(id));
  const step = async () => {
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
  };
  const noise = async (sigma: string) => {
    await hook(page, "noise-scale").fill(sigma);
    await hook(page, "noise-scale").press("Enter");
    await expect.poll(() => value(page, "step")).toBe(0);
  };
  await open(page, site, `${query}&sigma=0.02&steps=50`);
  // Before the first step they are of a step that is not taken.
  await expect(page.getByTestId("stage-step")).toContainText("What a first step would look like");
  await expect(caption).toContainText("too weak to hide it");
  await step();
  await expect(caption).toContainText("too weak to hide it");
  await expect(says).toContainText("a computer finds it in what is released");
  // ε is 1,000 or more, but sampling alone lets an attacker use little of it.
  await expect(says).toContainText("Being found is unlikely only because few are drawn into a lot");
  await noise("0.7");
  await step();
  await expect(caption).toContainText("only static, to the eye");
  await expect(says).toContainText("An attacker's computer may");
  await noise("1.1");
  await step();
  await expect(caption).toHaveText("Minus all others: only static.");
  await expect(says).toContainText(/finds at most \d; guessing finds 5/);
  await open(page, site, `${query}&steps=50&canaries=500&break=half-noise`);
  await expect(caption).toContainText("breaks its promise");
  await step();
  await expect(says).toContainText("not true");
  // With users, picture and words are of a user; with micro-batches the odds may be of one image.
  for (const [set, title, odds] of [
    ["users=1000&lot=600", "Is this user in it?", "Of 100 users that were in"],
    ["micro-batch=4&lot=400&sigma=4", "Is this micro-batch in it?", "Of 100 images that were in"],
    ["micro-batch=4&lot=400&sigma=4&protects=micro-batch", "Is this micro-batch in it?", "Of 100 micro-batches that were in"],
  ]) {
    await open(page, site, `${query}&steps=50&${set}`);
    await step();
    await expect(page.getByTestId("stage-step")).toContainText(title);
    await expect(says).toContainText(odds);
    expect(correlation(await ink(page, "stage-difference-before"), await ink(page, "lot", await place(page)))).toBeGreaterThan(0.3);
  }
});

test("the noise knob redraws the released picture, the bells, the odds and the words while it is dragged, and nothing goes blank", async ({ page, site }) => {
  await open(page, site, `${query}&sigma=1.1&steps=50`);
  await expect(page.getByTestId("stage-step")).toContainText("What a first step would look like");
  const slider = page.locator(".control:has(#number-sigma) .slider");
  const apart = async () => Number(await page.getByTestId("bells").getAttribute("data-apart"));
  /** Moves the slider to this share of its length, as a pointer does. */
  const drag = (share: number, event = "input") =>
    slider.evaluate(
      (input: HTMLInputElement, [share, event]) => {
        input.value = String(1000 * (share as number));
        input.dispatchEvent(new Event(event as string, { bubbles: true }));
      },
      [share, event] as const,
    );
  const [found, says, caption] = ["odds-found", "stage-says", "stage-hidden"].map((id) => page.getByTestId(id));
  await expect(found).toHaveText(/^\d+$/);
  const before = [await ink(page, "stage-released"), Number(await found.textContent()), await apart()] as const;
  const digit = await ink(page, "lot", await place(page));

  await test.step("little noise: the digit shows, the bells part, nearly everyone is found", async () => {
    await drag(0);
    await expect.poll(apart).toBeGreaterThan(before[2] + 2);
    expect(await ink(page, "stage-released")).not.toEqual(before[0]);
    expect(correlation(await ink(page, "stage-difference-after"), digit)).toBeGreaterThan(0.75);
    await expect(caption).toContainText("too weak to hide it");
    await expect(page.getByTestId("odds")).toContainText("With this noise");
    await expect.poll(async () => Number(await found.textContent())).toBeGreaterThan(before[1] + 20);
    await expect(page.getByTestId("odds-epsilon")).toContainText("ε ≤ ");
    await expect(hook(page, "noise-scale")).toHaveValue("0.01");
  });

  await test.step("much noise: static, and a bound of less noise holds until its own is known", async () => {
    await drag(0.8);
    expect(await apart()).toBeLessThan(0.5);
    await expect(found).toHaveText(/^\d+$/);
    expect(Math.abs(correlation(await ink(page, "stage-difference-after"), digit))).toBeLessThan(0.3);
    await expect.poll(async () => Number(await found.textContent())).toBeLessThanOrEqual(before[1]);
    await expect(caption).toHaveText("Minus all others: only static.");
    expect(await value(page, "step")).toBe(0);
  });

  await test.step("where it is let go, a run begins, and the pictures stay until its own come", async () => {
    await drag(0.8, "change");
    await expect(hook(page, "noise-scale")).not.toHaveValue("1.1");
    await expect(ringed(page)).toHaveCount(1);
    await expect(says).toContainText(/finds at most \d; guessing finds 5/);
    for (const model of ["cnn-tanh", "scattering", "linear"]) {
      await hook(page, "model").selectOption(model);
      await expect(ringed(page)).toHaveCount(1);
      await expect(page.getByTestId("stage-step")).toContainText(model === "scattering" ? "A step of an earlier run" : "What a first step would look like");
    }
  });
});

test("the opening raises the noise from none to its setting, whatever the engine does, and invites to turn it back", async ({ page, site }) => {
  // Each distance between the bells, and all odds.
  await page.addInitScript(() => {
    const seen = ((window as unknown as { opening: number[][] }).opening = [[], []] as number[][]);
    new MutationObserver(() => {
      const [bells, found] = ["bells", "odds-found"].map((id) => document.querySelector<HTMLElement>(`[data-testid="${id}"]`));
      [bells?.dataset.apart, found?.textContent].forEach((text, at) => {
        if (text && seen[at].at(-1) !== Number(text)) seen[at].push(Number(text));
      });
    }).observe(document, { attributes: true, characterData: true, childList: true, subtree: true });
  });
  await page.goto(site.url);
  await expect(page.getByTestId("stage-says")).toContainText("Turn the noise back");
  await expect(page.getByTestId("backend")).not.toHaveAttribute("data-value", "");
  const [apart, odds] = await page.evaluate(() => (window as unknown as { opening: number[][] }).opening);
  const glide = apart.slice(apart.indexOf(8));
  expect(glide.length).toBeGreaterThan(2);
  expect(glide, "it never goes back").toEqual([...glide].sort((a, b) => b - a));
  expect(glide.at(-1)).toBeLessThan(1);
  expect(odds).toContain(100);
  await expect(page.getByTestId("odds-found")).toHaveText(recorded(process.env.HUSHGRAD_DATA === "mnist" ? "recorded.csv" : "recorded-drawn.csv").found);
  await expect(hook(page, "noise-scale")).toHaveValue("1.4");
  await page.locator(".control:has(#number-sigma) .slider").focus();
  await page.keyboard.press("ArrowLeft");
  await expect(page.getByTestId("stage-says")).not.toContainText("Turn the noise back");
});

test("a finished run shows its last step, its odds and the same model without privacy", async ({ page, site }) => {
  const chart = page.locator(".results .chart").first();
  const found = page.getByTestId("odds-found");
  await open(page, site, `${query}&steps=100`);
  await expect(chart.locator("path.line-open")).toHaveCount(0);
  await expect(page.getByTestId("odds")).toContainText("planned steps");
  await expect(found).toHaveText(/^\d+$/);
  const planned = Number(await found.textContent());
  expect(planned).toBeGreaterThan(5);
  const seen = await walked(page);
  const shown = await headlines(page);
  // Until the accountant answers, the plan is shown, and not Rényi accounting.
  await distracted(page);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(100);

  await test.step("neither ε nor the odds fall during the run or exceed the plan", async () => {
    await expect.poll(() => tight(page)).toBeGreaterThan(0);
    const end = Number.parseFloat((await page.getByTestId("epsilon-end").textContent())!.replace("/", ""));
    const all = await shown();
    expect(all.length).toBeGreaterThan(2);
    expect(all).toEqual([0, 1].reduce((rows, at) => [...rows].sort((a, b) => a[at] - b[at]), all));
    expect(all.at(-1)).toEqual([end, planned]);
  });

  await test.step("the stage shows the last step, and does not walk through it", async () => {
    await expect(page.getByTestId("stage-step")).toContainText("Step 100.");
    await tells(page);
    // A walk begins a quarter of a second after the step.
    await page.waitForTimeout(1_000);
    expect(await seen()).toBe("");
  });

  await test.step("the odds are of the plan, then of the releases, and come from the privacy curve", async () => {
    await expect(page.getByTestId("odds")).toContainText("released so far");
    await page.getByTestId("epsilon-meaning").locator("summary").first().click();
    await expect(page.getByTestId("attack-source")).toContainText("From the whole privacy curve");
    const share = Number.parseFloat((await page.getByTestId("attack-found").textContent())!);
    await expect(found).toHaveText(String(Math.ceil(share)));
    expect(Number(await found.textContent())).toBeLessThanOrEqual(planned);
    await expect(page.locator(".people.right .accused")).toHaveCount(Math.ceil(share));
  });

  await test.step("the same model without privacy is drawn beside a private run, from its first steps on", async () => {
    await expect(chart.locator("path.line-open")).toHaveCount(1);
    await chart.locator(".as-table summary").click();
    const head = chart.locator("thead th");
    await expect(head.filter({ hasText: "without privacy" })).toHaveCount(1);
    const column = (await head.allTextContents()).findIndex((text) => text.includes("without privacy"));
    const rows = await chart.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent!)));
    expect(rows.at(-1)![0]).toBe("100");
    // It has no measurement before its first step.
    expect(rows.filter((row) => row[column] === "–").map((row) => row[0])).toEqual(["0"]);
    // A run without privacy is its own baseline.
    await choose(page, "no-privacy");
    await expect.poll(() => value(page, "step")).toBe(0);
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBeGreaterThan(20);
    await hook(page, "pause").click();
    await expect(chart.locator("path.line-open")).toHaveCount(0);
  });
});
