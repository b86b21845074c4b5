import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { accessible, violations } from "./axe";
import { allControls, answered, edited, expect, hook, long, open, projected, rows, settings, test, value } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic";

interface Step {
  /** Name in links, such as `why-noise.2`. */
  name: string;
  title: string;
  point?: string;
  /** Settings and length of the run described; `same` if the step before has the same run. */
  set: string;
  run: string;
  same: boolean;
  /** Settings of the runs to compare with. */
  also: string[];
  /** Paragraphs of the source, with `{names}`. */
  texts: string[];
  asks: boolean;
}

interface Lesson {
  key: string;
  title: string;
  steps: Step[];
}

/** Parses the source of the lessons. */
function read(text: string): Lesson[] {
  const lessons: Lesson[] = [];
  for (const line of text.split("\n")) {
    const lesson = lessons[lessons.length - 1];
    const step = lesson?.steps[lesson.steps.length - 1];
    const [, word, rest] = /^(\S+) (.*)$/.exec(line) ?? [];
    if (word === "#") {
      const [key, title] = rest.split(" | ");
      lessons.push({ key, title, steps: [] });
    } else if (word === "##") {
      lesson.steps.push({ name: `${lesson.key}.${lesson.steps.length + 1}`, title: rest, set: step?.set ?? "", run: step?.run ?? "", same: true, also: step?.also ?? [], texts: [], asks: false });
    } else if (word === "@set") Object.assign(step, { set: rest, run: "", same: false, also: [] });
    else if (word === "@run") Object.assign(step, { run: rest, same: false });
    else if (word === "@also") step.also = [...step.also, rest];
    else if (word === "@point") step.point = rest;
    else if (word === "@ask") step.asks = true;
    else if (word && !/^[@%]/.test(word)) step.texts.push(line);
  }
  return lessons;
}

const WRITTEN = readFileSync("../../www/lessons.txt", "utf8");
const LESSONS = read(WRITTEN);
/** The same with a tenth of the training steps. */
const BRIEF = WRITTEN.replace(/(?<=[& ]steps=)\d+/g, (steps) => String(Math.ceil(Number(steps) / 10)));

const lesson = (page: Page) => page.getByTestId("lesson");
const next = (page: Page) => page.getByTestId("lesson-next").click();
const at = (page: Page, step: number, of: number) => expect(lesson(page).getByText(`${step} of ${of}`, { exact: true })).toBeVisible();
const paragraphs = (page: Page) => lesson(page).locator(".lesson-text > p:not(.lesson-wait, :has(a))");
const wait = (page: Page) => page.getByTestId("lesson-wait");

const tightOf = (projection: string) => /tight accounting: ε ≤ ([\d.]+)\./.exec(projection)![1];

async function close(page: Page) {
  await page.getByRole("button", { name: "Close the lesson" }).click();
  await expect(lesson(page)).toHaveCount(0);
}

/** Opens the lesson at this place of the menu. */
async function choose(page: Page, place: number) {
  await page.getByTestId("lessons").locator("summary").click();
  await page.getByTestId("lessons").getByRole("button").nth(place).click();
}

/** Waits for all paragraphs of the open step: those that lack numbers are not in the page. */
async function ready(page: Page, step: Step) {
  await expect(lesson(page).getByRole("heading", { level: 3 }).first()).toHaveText(step.title);
  await expect(paragraphs(page), step.name).toHaveCount(step.texts.length, { timeout: 120_000 });
  await expect(wait(page), step.name).toBeHidden();
}

/** Lists parts of the strip and its target that are out of view, covered or scrolled away. */
const hiddenParts = (page: Page, point: string | undefined) =>
  page.evaluate((point) => {
    const strip = document.querySelector(".lesson")!;
    const wrong: string[] = [];
    const look = (element: Element, what: string, within: Element) => {
      const box = element.getBoundingClientRect();
      if (box.width === 0 || box.height === 0) return void wrong.push(`${what} is not there`);
      if (box.left < 0 || box.top < 0 || box.right > innerWidth + 0.5 || box.bottom > innerHeight + 0.5)
        wrong.push(`${what} is out of the window: ${[box.left, box.top, box.right, box.bottom].map(Math.round)}`);
      for (const x of [0.05, 0.5, 0.95]) {
        for (const y of [0.05, 0.5, 0.95]) {
          const top = document.elementFromPoint(box.left + x * box.width, box.top + y * box.height);
          if (!top || !(within.contains(top) || top.contains(element))) return void wrong.push(`${what} is covered by ${top?.outerHTML.slice(0, 80)}`);
        }
      }
    };
    const body = strip.querySelector(".lesson-body")!;
    if (body.scrollHeight > body.clientHeight + 1) wrong.push(`the text scrolls: ${body.scrollHeight} in ${body.clientHeight}`);
    for (const each of strip.querySelectorAll("h2, h3, p, .formula, .choice, .chart, button")) {
      if ((each as HTMLElement).checkVisibility() && each.textContent !== "") look(each, (each.textContent ?? "").trim().slice(0, 30) || each.className, strip);
    }
    const pointed = document.querySelector(".pointed");
    if (point) {
      const named = document.querySelector(`[data-testid="${point}"]`);
      if (!pointed) wrong.push(`nothing is framed for ${point}`);
      else {
        if (!named || !(pointed.contains(named) || named.contains(pointed))) wrong.push(`what is framed is not ${point}`);
        look(pointed, `what is framed (${point})`, pointed);
      }
    } else if (pointed) wrong.push("something is framed that no text speaks of");
    return wrong;
  }, point);

/** A laptop, a phone, and a presentation on a small projector. */
const FRAMES = [[1440, 900, false], [390, 844, false], [1280, 720, true]] as const;

/** Asserts that text, Next and target are in view in every frame, also with each answer given. */
async function inView(page: Page, step: Step) {
  const choices = await page.getByTestId("lesson-choices").getByRole("button").all();
  const look = async ([width, height, presented]: (typeof FRAMES)[number], when: string, act = async () => {}) => {
    await act();
    await expect.poll(() => hiddenParts(page, step.point), `${step.name}, ${step.title}, ${when} at ${width} by ${height}${presented ? ", presented" : ""}`).toEqual([]);
  };
  const within = async (frame: (typeof FRAMES)[number], looks: () => Promise<void>) => {
    await page.setViewportSize({ width: frame[0], height: frame[1] });
    if (frame[2]) await allControls(page);
    if (frame[2]) await page.getByTestId("present").click();
    await looks();
    if (frame[2]) await page.getByTestId("present").click();
  };
  for (const frame of FRAMES) await within(frame, () => look(frame, "as it opens"));
  if (choices.length === 0) return page.setViewportSize({ width: FRAMES[0][0], height: FRAMES[0][1] });
  for (const frame of [...FRAMES].reverse()) await within(frame, async () => {
    for (const choice of choices) await look(frame, "answered,", () => choice.click());
  });
}

/** Values that the page has shown of runs, by their settings. */
interface Known {
  accuracy: Record<string, string>;
  epsilon: Record<string, string>;
  found: Record<string, string>;
  mu: Record<string, string>;
}

const number = (text: string) => Number(text.replace(/[,%]/g, ""));

/** What the page shows elsewhere for a step's `{name}`, or what that follows from; or undefined. */
async function shown(page: Page, step: Step, name: string, known: Known): Promise<string | number | undefined> {
  const text = async (id: string) => (await page.getByTestId(id).first().textContent()) ?? "";
  const setting = async (key: string) => number(await page.locator(`#number-${key}`).inputValue());
  const group = (cell: number) => page.getByTestId("groups").locator("tbody td").nth(cell).textContent();
  const parameters = async () => number(/([\d,]+) parameters/.exec((await hook(page, "model").locator("option:checked").textContent())!)![1]);
  const noise = async () => (await setting("sigma")) * (await setting("clip"));
  const train = async () => number(/([\d,]+) to train on/.exec(await text("digits-in-use"))![1]);
  const meaning = async () => {
    const fold = page.getByTestId("epsilon-meaning");
    if ((await fold.getAttribute("open")) === null) await fold.locator("summary").first().click();
    return fold;
  };
  const bound = async (cell: number) => (await meaning()).getByRole("row", { name: "improved" }).getByRole("cell").nth(cell).textContent();
  const [, what, place] = /^(accuracy|epsilon|found|mu)-(\d)$/.exec(name) ?? [];
  if (place) return known[what as keyof Known][step.also[Number(place) - 1]];
  switch (name) {
    case "steps":
      return (await text("step")).split(" / ")[0];
    case "accuracy":
      return text("accuracy");
    case "epsilon":
      return (await text("epsilon")).replace("≤ ", "");
    case "accuracy-open":
      return (await group(1))!;
    case "turned":
      return (await group(3))!;
    case "turned-open":
      return (await group(4))!;
    case "pays-most":
      return /the (\d) pays most/.exec(await text("pays-most"))![1];
    case "norm-0":
    case "norm-1":
      return text(name);
    case "found":
      await meaning();
      await expect(page.getByTestId("attack-source")).toContainText("From the whole privacy curve");
      return text("attack-found");
    case "mu":
      await meaning();
      return /μ ≤ ([\d.]+):/.exec(await text("mu"))![1];
    case "of-one":
    case "of-all": {
      // First ε of a user and then of a digit, or first of a digit and then of a micro-batch.
      const shared = await text("projection-shared");
      const [first, second] = [...shared.matchAll(/ε ≤ ([\d.]+\d)/g)].map(([, epsilon]) => epsilon);
      return shared.includes("for one user") === (name === "of-all") ? first : second;
    }
    case "improved":
      return (await bound(0))!;
    case "order":
      return (await bound(1))!;
    case "projected":
      return /ε ≤ ([\d.]+) by Rényi/.exec(await projected(page))![1];
    case "tight":
      return tightOf(await projected(page));
    case "exp-epsilon":
      return Math.exp(Number(known.epsilon[step.set]));
    case "planned":
      return setting("steps");
    case "sigma":
    case "clip":
    case "rate":
    case "lot":
    case "delta":
    case "users":
      return setting(name);
    case "train":
      return train();
    case "q":
      return (await setting("lot")) / (await train());
    case "parameters":
      return parameters();
    case "noise":
      return noise();
    case "noise-length":
      return (await noise()) * Math.sqrt(await parameters());
    case "floor":
      return 0.8687 / Math.sqrt(await parameters());
    case "hidden":
      return /^Paid: ε ≤ ([\d.]+) /.exec(await text("paid"))![1];
    case "hidden-accuracy":
      return /It reads ([\d.]+%)/.exec(await text("paid"))![1];
    case "if-shown":
    case "factor":
    case "projected-classic":
      return undefined;
    default:
      throw new Error(`{${name}} of ${step.name} is not looked for`);
  }
}

/** Relative tolerances of numbers that are rounded, or derived from rounded ones. */
const ROUNDED: Record<string, number> = { q: 0.005, "noise-length": 0.005, floor: 0.005, "exp-epsilon": 0.01 };

/** Asserts that the open step has its source's text and the page's numbers; returns those. */
async function says(page: Page, step: Step, known: Known): Promise<Record<string, number>> {
  const said: Record<string, number> = {};
  for (const [place, written] of step.texts.entries()) {
    const parts = written.replace(/(?<![\w)])\*([^*]+)\*/g, "$1").split(/\{(.+?)\}/);
    const pattern = parts.map((part, at) => (at % 2 ? "(\\S+?)" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))).join("");
    const text = (await paragraphs(page).nth(place).textContent())!;
    expect(text, step.name).toMatch(new RegExp(`^${pattern}$`));
    const numbers = new RegExp(`^${pattern}$`).exec(text)!.slice(1);
    for (const [at, name] of parts.filter((_, at) => at % 2).entries()) {
      const there = await shown(page, step, name, known);
      said[name] = number(numbers[at]);
      const what = `${step.name}: {${name}} in “${text}”`;
      if (typeof there === "number") expect(Math.abs(said[name] / there - 1), what).toBeLessThan(ROUNDED[name] ?? 1e-9);
      // An order is shown with one decimal.
      else if (name === "order") expect(Math.abs(said[name] - Number(there)), what).toBeLessThanOrEqual(0.051);
      else if (there !== undefined) expect(numbers[at], what).toBe(there);
    }
  }
  return said;
}

/** Claims in words about results on MNIST; `cargo test --lib lesson` checks those about prices. */
const HOLDS: Record<string, (said: Record<string, number>) => boolean> = {
  "why-noise.4": (said) => said["accuracy-1"] - said.accuracy > 3,
  "why-noise.5": (said) => Math.abs(said["accuracy-1"] - said.accuracy) < 2,
  "why-noise.6": (said) => said.accuracy - said["accuracy-1"] > 2 && said["accuracy-2"] - said.accuracy < 4,
  "one-step.1": (said) => said["norm-0"] > 36,
  "one-step.3": (said) => said["norm-1"] > 10,
  "one-step.6": (said) =>
    said["accuracy-2"] - said["accuracy-1"] > 6 && said.accuracy - said["accuracy-1"] > 6 && Math.abs(said.accuracy - said["accuracy-2"]) < 2,
  "composition.5": (said) => Math.abs(said.accuracy - said["accuracy-1"]) < 1,
  "composition.6": (said) => said["if-shown"] > 1.2 * said.hidden && said["hidden-accuracy"] > 75,
  // Kolmogorov's distribution over its mean: pure noise is beyond these limits once in 100,000
  // times, and beyond 0.5 and 1.5 once in 13.
  "denoising.4": (said) => said.factor / said.floor > 0.33 && said.factor / said.floor < 3,
  "bigger.1": (said) => said.accuracy - said["accuracy-1"] > 0.5,
  "bigger.3": (said) => said["accuracy-1"] - said.accuracy > 3,
  "bigger.4": (said) => said.accuracy - said["accuracy-1"] < said["accuracy-2"] - said["accuracy-3"] - 0.3,
  "fairness.1": (said) => said.accuracy - said.turned > 30,
  "fairness.2": (said) => said["turned-open"] - said.turned > 2 * (said["accuracy-open"] - said.accuracy) && said.accuracy > 80,
  "fairness.4": (said) => Math.abs(said.accuracy - said["accuracy-1"]) < 3 && said.turned < 30,
  "what-helps.2": (said) => Math.min(said.accuracy, said["accuracy-1"]) - said["accuracy-2"] > 4 && Math.abs(said.accuracy - said["accuracy-1"]) < 4,
  "what-helps.3": (said) => Math.abs(said.accuracy - said["accuracy-1"]) < 3,
  "what-helps.4": (said) => said.accuracy - said["accuracy-1"] > 0.5,
  "what-helps.6": (said) => Math.abs(said.accuracy - said["accuracy-1"]) < 3 && said.accuracy - said["accuracy-2"] > 2,
  "what-helps.7": (said) => said.accuracy - said["accuracy-1"] > 0.1,
  "who-is-one.2": (said) => said["accuracy-1"] - said.accuracy > 1.5,
  "who-is-one.4": (said) => said.accuracy - said["accuracy-1"] > 2,
  "who-is-one.5": (said) => said.accuracy - said["accuracy-1"] > 0.1,
  "pay-once.2": (said) => said.accuracy - said["accuracy-1"] > 0.1,
  "pay-once.4": (said) => said.accuracy > 87,
};

/** Checks of single steps. */
const ALONE: Record<string, (page: Page) => Promise<void>> = {
  "composition.7": async (page) => {
    const choices = page.getByTestId("lesson-choices").getByRole("button");
    const why = page.getByTestId("lesson-why");
    await expect(choices).toHaveCount(3);
    await expect(why).toHaveText("");
    await expect(lesson(page).getByText("An answer")).toBeHidden();
    await choices.first().focus();
    await page.keyboard.press("Enter");
    await expect(choices.first()).toHaveAttribute("aria-pressed", "true");
    await expect(why).toContainText("No. Nothing in ε knows of time.");
    await accessible(page, "a wrong answer", undefined, ".lesson");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await expect(choices.first()).toHaveAttribute("aria-pressed", "false");
    await expect(why).toContainText("Right. What was released stays released");
    await accessible(page, "the right answer", undefined, ".lesson");
    await lesson(page).getByText("An answer").click();
    await expect(lesson(page)).toContainText("a loss that forgets");
  },
  // Dragged and let go, the knob changes the picture, and neither the settings nor the step's text.
  "attacked.2": async (page) => {
    await page.locator(".knob .slider").fill("0");
    await expect(page.getByTestId("stage-hidden")).toContainText("it is visible");
    await expect(lesson(page)).toContainText("the image is left");
  },
  // Content inserted above moves the framed element down.
  "what-helps.2": (page) => page.evaluate(() => {
    document.querySelector("main > .runs")!.before(Object.assign(document.createElement("div"), { style: "height: 300px" }));
  }),
  "shape-of-noise.3": (page) => expect(lesson(page).locator("em")).toHaveText("one"),
  "shape-of-noise.4": (page) => expect(lesson(page)).toContainText("exp(-abs(x)^1.5)+0.1*exp(-x^2/9)"),
  "pay-once.2": (page) => expect(page.getByTestId("pay-once")).not.toHaveAttribute("open"),
  "pay-once.3": async (page) => {
    await expect(page.getByTestId("pay-once")).toHaveAttribute("open", "");
    await expect(page.getByTestId("once-features")).toHaveValue("pixels-14");
    await expect(page.getByTestId("once-epsilon")).toHaveValue("1");
    await page.getByTestId("pay").click();
    await expect(page.getByTestId("paid")).toContainText("300 steps so far, 0 in the ledger");
    await page.getByTestId("train-on").click();
    await expect(page.getByTestId("paid")).toContainText("600 steps so far, 0 in the ledger");
  },
  // The release is kept for the steps after it.
  "pay-once.4": (page) => expect(page.getByTestId("paid")).toContainText("600 steps so far"),
};

/** True if the site carries MNIST, on which steps are then trained. */
const real = process.env.HUSHGRAD_DATA === "mnist";

/** Lessons per page: every kept run makes the next ones slower. */
const ON_A_PAGE = 2;

// Claims about MNIST need all training steps; the rest does not. Native tests also check all of
// them against the accountant.
for (const full of [false, true]) for (let first = 0; first < LESSONS.length; first += ON_A_PAGE) test(`the lessons from “${LESSONS[first].title}” on are in view, accessible, and true of the page${full ? " and of MNIST" : ""}`, long(full || first > 0), async ({ page, site }) => {
  test.setTimeout(900_000);
  const names = LESSONS.flatMap(({ steps }) => steps.map(({ name }) => name));
  expect(Object.keys({ ...HOLDS, ...ALONE }).filter((name) => !names.includes(name)), "steps that are not there").toEqual([]);
  const known: Known = { accuracy: {}, epsilon: {}, found: {}, mu: {} };
  const accuracy = async () => (await hook(page, "accuracy").textContent())!;
  const left = async () => [await rows(page).count(), await value(page, "step"), await accuracy()];
  if (!full) {
    await edited(page, site, (html) => html.replace(/(?<=<meta name="hushgrad-lessons" content=")[^"]*/, "./brief.txt"));
    await page.route("**/brief.txt", (route) => route.fulfill({ contentType: "text/plain; charset=utf-8", body: BRIEF }));
  }
  await open(page, site, full && real ? "?backend=cpu" : query);
  await page.getByTestId("lessons").locator("summary").click();
  await expect(page.getByTestId("lessons").getByRole("button")).toHaveText(LESSONS.map(({ title }, place) => `${place + 1}${title}`));
  await page.getByTestId("lessons").getByRole("button").nth(first).click();
  let before = await left();
  const end = first + ON_A_PAGE;
  const walked = (full ? LESSONS : read(BRIEF)).slice(first, end);
  for (const [place, { title, key, steps }] of walked.entries()) {
    expect(steps.length).toBeGreaterThan(4);
    for (const [number, step] of steps.entries()) await test.step(step.name, async () => {
      await expect(lesson(page).getByRole("heading", { level: 2 })).toHaveText(`Lesson ${first + place + 1} · ${title}`);
      await at(page, number + 1, steps.length);
      await expect(lesson(page).getByRole("heading", { level: 3 }).first()).toBeFocused();
      await ready(page, step);
      await expect(lesson(page)).not.toContainText(/[{}]|–/);
      await expect(hook(page, "error")).toHaveText("");
      await expect(page).toHaveURL(new RegExp(`lesson=${key}\\.${number + 1}`));
      // Steps about a finished run do not discard it.
      if (step.same) expect(await left(), step.name).toEqual(before);
      // New runs to compare with were trained in turn, and are the newest of the list.
      const fresh = step.also.filter((also) => !(also in known.accuracy)).reverse();
      for (const [row, also] of fresh.entries()) {
        known.accuracy[also] = (await rows(page).nth(row).locator("td").nth(2).textContent())!.replace(/[^\d.%]/g, "");
        if (!step.texts.some((text) => text.includes(`{epsilon-${step.also.indexOf(also) + 1}}`))) continue;
        // The list has Rényi's ε; the tight one is the projected cost. The step's own run stays.
        await rows(page).nth(row).getByRole("button", { name: "Again" }).click();
        await expect(wait(page)).toContainText("The settings differ from this step's.");
        known.epsilon[also] = tightOf(await projected(page));
        await page.getByTestId("lesson-again").click();
        await ready(page, step);
      }
      if (step.run === "all") known.accuracy[step.set] = await accuracy();
      if (step.run && step.run !== "once") known.epsilon[step.set] = (await shown(page, step, "epsilon", known)) as string;
      if (step.texts.some((text) => /\{(found|mu)/.test(text))) {
        for (const name of ["found", "mu"] as const) known[name][step.set] = (await shown(page, step, name, known)) as string;
      }
      const said = await says(page, step, known);
      if (full && real && HOLDS[step.name]) expect(HOLDS[step.name](said), `${step.name}: ${JSON.stringify(said)}`).toBe(true);
      await ALONE[step.name]?.(page);
      await inView(page, step);
      if (number === 0 && place === 0) await accessible(page, step.name);
      else expect(await violations(page, undefined, step.asks ? undefined : ".lesson"), step.name).toEqual([]);
      before = await left();
      if (number + 1 < steps.length) await next(page);
    });
    await expect(page.getByTestId("lesson-link")).toHaveAttribute("href", `?lesson=${key}.${steps.length}`);
    await page.getByTestId("lesson-back").click();
    await at(page, steps.length - 1, steps.length);
    await next(page);
    await at(page, steps.length, steps.length);
    // The last step turns to the next lesson, and in the last lesson closes it.
    await next(page);
  }
  if (end < LESSONS.length) await expect(lesson(page).getByRole("heading", { level: 2 })).toHaveText(`Lesson ${end + 1} · ${LESSONS[end].title}`);
  else await expect(lesson(page)).toHaveCount(0);
  test.skip(full && !real, "whether what steps say of MNIST holds: the site carries no MNIST");
});

test("a link opens a step by number or key; a step describes only its own run, and closes what it opened", async ({ page, site }) => {
  // `cargo test --lib lesson` checks the numbers and keys of all lessons.
  await open(page, site, `${query}&lesson=3.2`);
  await expect(page).toHaveURL(/lesson=composition\.2/);
  await expect(lesson(page).getByRole("heading", { level: 2 })).toContainText("Lesson 3 · ");
  await ready(page, LESSONS[2].steps[1]);
  await expect(lesson(page)).toContainText("600 steps cost 600 times as much");
  await settings(page);
  await page.locator("#number-lot").fill("300");
  await page.locator("#number-lot").press("Enter");
  await expect(wait(page)).toContainText("The settings differ from this step's.");
  await expect(lesson(page)).not.toContainText("times as much");
  // The address keeps the visitor's settings, also over a reload.
  await expect(page).toHaveURL(/lot=300/);
  await page.reload();
  await expect(wait(page)).toContainText("The settings differ from this step's.");
  await expect(hook(page, "lot")).toHaveValue("300");
  // After a reset, the step waits until it is trained again.
  await page.getByTestId("lesson-again").click();
  await expect(wait(page)).toBeHidden();
  await hook(page, "reset").click();
  await expect(wait(page)).toContainText("Paused at step 0 of 600: press Play to continue.");
  const said = answered(page, "lesson-wait", "Training: step");
  await hook(page, "play").click();
  await said;
  await expect(wait(page)).toBeHidden();
  await expect(lesson(page)).toContainText("600 steps cost 600 times as much");

  // A fold opened by a step closes with the lesson, and the release stays.
  const fold = page.getByTestId("pay-once");
  await choose(page, LESSONS.findIndex(({ key }) => key === "pay-once"));
  for (let i = 0; i < 2; i++) await next(page);
  await expect(fold).toHaveAttribute("open", "");
  await page.getByTestId("pay").click();
  await expect(page.getByTestId("paid")).toContainText("300 steps so far, 0 in the ledger");
  await close(page);
  await expect(fold).not.toHaveAttribute("open");
  await expect(page).not.toHaveURL(/pay-once/);
  await fold.locator("summary").first().click();
  await expect(page.getByTestId("paid")).toContainText("300 steps so far");
});

test("closing a lesson and its restore button bring back the earlier settings; lessons work by keyboard and on a small phone", async ({ page, site }) => {
  await open(page, site, `${query}&sigma=2&lot=128&steps=40&speed=normal&lab=1&lesson=nonsense`);
  await expect(hook(page, "error")).toContainText("“nonsense”");
  await page.getByRole("button", { name: "Dismiss the message" }).click();
  const settings = async () => [await hook(page, "noise-scale").inputValue(), await hook(page, "lot").inputValue(), await hook(page, "noise-family").inputValue()];
  const [first] = LESSONS[0].steps;
  expect(await settings()).toEqual(["2", "128", "gaussian"]);
  await choose(page, 0);
  await ready(page, first);
  expect(await settings()).not.toEqual(["2", "128", "gaussian"]);
  await expect(page.getByTestId("lab")).toHaveCount(0);
  // During the lesson: the step hides its text, and can set its settings again.
  await page.getByTestId("lesson-restore").click();
  await expect.poll(settings).toEqual(["2", "128", "gaussian"]);
  await expect(wait(page)).toContainText("The settings differ from this step's.");
  await expect(lesson(page)).not.toContainText("of the test digits, which it was not trained on");
  await page.getByTestId("lesson-again").click();
  await ready(page, first);
  await expect(hook(page, "epsilon")).toHaveText("no guarantee");
  for (let i = 0; i < 3; i++) await next(page);
  await close(page);
  await expect.poll(settings).toEqual(["2", "128", "gaussian"]);
  await expect(page.getByTestId("lab")).toBeVisible();
  await expect(page.locator("#speed-normal")).toBeChecked();
  await expect(page).toHaveURL(/sigma=2/);
  await expect(page).not.toHaveURL(/lesson=/);

  await page.setViewportSize({ width: 320, height: 640 });
  await page.getByTestId("lessons").locator("summary").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("lessons").getByRole("button").first()).toBeVisible();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(lesson(page).getByRole("heading", { level: 3 })).toBeFocused();
  await page.getByTestId("lesson-next").focus();
  await page.keyboard.press("Enter");
  await at(page, 2, LESSONS[0].steps.length);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  // The buttons that turn the page are in view even on a small screen.
  for (const button of ["lesson-back", "lesson-next"]) {
    const box = (await page.getByTestId(button).boundingBox())!;
    expect(box.y >= 0 && box.y + box.height <= 640 && box.height >= 24, button).toBe(true);
  }
});
