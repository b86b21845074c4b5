import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { accessible, violations } from "./axe";
import { answered, expect, hook, open, rows, test, value } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic";

interface Step {
  /** As links name it: `why-noise.2`. */
  name: string;
  title: string;
  point?: string;
  /** Settings of the runs that stand beside it. */
  also: string[];
  asks: boolean;
}

/** The lessons as they are written. */
const LESSONS: { key: string; title: string; steps: Step[] }[] = [];
for (const line of readFileSync("../../www/lessons.txt", "utf8").split("\n")) {
  const lesson = LESSONS[LESSONS.length - 1];
  const step = lesson?.steps[lesson.steps.length - 1];
  if (line.startsWith("# ")) {
    const [key, title] = line.slice(2).split(" | ");
    LESSONS.push({ key, title, steps: [] });
  } else if (line.startsWith("## ")) lesson.steps.push({ name: `${lesson.key}.${lesson.steps.length + 1}`, title: line.slice(3), also: [], asks: false });
  else if (line.startsWith("@point ")) step.point = line.slice(7);
  else if (line.startsWith("@also ")) step.also.push(line.slice(6));
  else if (line.startsWith("@ask ")) step.asks = true;
}
const STEPS = LESSONS.flatMap((lesson) => lesson.steps);

const lesson = (page: Page) => page.getByTestId("lesson");

/** Until what the open step speaks of is there: no sentence waits for its numbers. */
async function ready(page: Page, step: Step) {
  await expect(lesson(page).getByRole("heading", { level: 3 }).first()).toHaveText(step.title);
  await expect(page.getByTestId("lesson-wait"), step.name).toBeHidden({ timeout: 120_000 });
}

/** Parts of the strip, and of what it points at, that are out of sight, covered, or scrolled away. */
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

/** A phone, a laptop, and a presentation on a small projector. */
const FRAMES = [[390, 844, false], [1440, 900, false], [1280, 720, true]] as const;

/** In every frame the step's text, Next and what it points at are in view at once. */
async function inView(page: Page, step: Step, when: string) {
  for (const [width, height, presented] of FRAMES) {
    await page.setViewportSize({ width, height });
    if (presented) await page.getByTestId("present").click();
    await expect.poll(() => hiddenParts(page, step.point), `${step.name}, ${step.title}, ${when} at ${width} by ${height}${presented ? ", presented" : ""}`).toEqual([]);
    if (presented) await page.getByTestId("present").click();
  }
  await page.setViewportSize({ width: 1440, height: 900 });
}

for (const [place, { title, key, steps }] of LESSONS.entries()) {
  test(`lesson “${title}” is clicked through, is in view and accessible, and ends with a question and a link`, async ({ page, site }) => {
    test.setTimeout(900_000);
    await open(page, site, query);
    await page.getByTestId("lessons").locator("summary").click();
    const item = page.getByTestId("lessons").getByRole("button").nth(place);
    await expect(item).toHaveText(`${place + 1}${title}`);
    await item.click();
    await expect(lesson(page).getByRole("heading", { level: 2 })).toHaveText(`Lesson ${place + 1} · ${title}`);
    expect(steps.length).toBeGreaterThan(4);
    for (const [at, step] of steps.entries()) {
      await expect(lesson(page).getByText(`${at + 1} of ${steps.length}`, { exact: true })).toBeVisible();
      await expect(lesson(page).getByRole("heading", { level: 3 }).first()).toBeFocused();
      await ready(page, step);
      await expect(lesson(page)).not.toContainText(/[{}]|–/);
      await expect(hook(page, "error")).toHaveText("");
      await expect(page).toHaveURL(new RegExp(`lesson=${key}\\.${at + 1}`));
      await inView(page, step, "as it opens");
      if (at === 0 || step.asks) await accessible(page, step.name);
      else expect(await violations(page), step.name).toEqual([]);
      if (step.asks) {
        for (const choice of await page.getByTestId("lesson-choices").getByRole("button").all()) {
          await choice.click();
          await inView(page, step, "answered,");
        }
      }
      if (at + 1 < steps.length) await page.getByTestId("lesson-next").click();
    }
    const link = await page.getByTestId("lesson-link").getAttribute("href");
    await page.goto(site.url + link + "&backend=cpu&dataset=synthetic");
    await ready(page, steps[steps.length - 1]);
    await page.getByTestId("lesson-back").click();
    await expect(lesson(page).getByText(`${steps.length - 1} of ${steps.length}`, { exact: true })).toBeVisible();
    // The last page turns to the next lesson, and the last lesson's closes it.
    await page.getByTestId("lesson-next").click();
    await expect(lesson(page).getByText(`${steps.length} of ${steps.length}`, { exact: true })).toBeVisible();
    await page.getByTestId("lesson-next").click();
    const next = LESSONS[place + 1];
    if (next) await expect(lesson(page).getByRole("heading", { level: 2 })).toHaveText(`Lesson ${place + 2} · ${next.title}`);
    else await expect(lesson(page)).toHaveCount(0);
  });
}

test("a question answers at once, by keyboard, and says why", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=composition.7`);
  const choices = page.getByTestId("lesson-choices").getByRole("button");
  const why = page.getByTestId("lesson-why");
  await expect(choices).toHaveCount(3);
  await expect(why).toHaveText("");
  await expect(lesson(page).getByText("An answer")).toBeHidden();
  await choices.first().focus();
  await page.keyboard.press("Enter");
  await expect(choices.first()).toHaveAttribute("aria-pressed", "true");
  await expect(why).toContainText("No. Nothing in ε knows of time.");
  await accessible(page, "a wrong answer");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await expect(choices.first()).toHaveAttribute("aria-pressed", "false");
  await expect(why).toContainText("Right. What was released stays released");
  await accessible(page, "the right answer");
  await lesson(page).getByText("An answer").click();
  await expect(lesson(page)).toContainText("a loss that forgets");
});

test("numbers and keys of lessons open what they always did", async ({ page, site }) => {
  const old = { "1": "why-noise", "2": "one-step", "3": "composition", "4": "denoising", "5": "shape-of-noise", "7": "claims", "8": "fairness", "9": "same-epsilon", "10": "what-helps", "11": "who-is-one", "12": "pay-once" };
  await open(page, site, query);
  for (const [number, key] of Object.entries(old)) {
    for (const name of [number, key]) {
      await page.goto(`${site.url}${query}&lesson=${name}`);
      await expect(page).toHaveURL(new RegExp(`lesson=${key}\\.1`));
      await expect(lesson(page).getByRole("heading", { level: 2 })).toContainText(`Lesson ${number} · `);
    }
  }
});

test("a lesson that is not there is named", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=nonsense`);
  await expect(hook(page, "error")).toContainText("“nonsense”");
});

test("closing a lesson puts back what was set before it, and so does its button", async ({ page, site }) => {
  await open(page, site, `${query}&sigma=2&lot=128&steps=40&speed=normal&lab=1`);
  const settings = async () => [await hook(page, "noise-scale").inputValue(), await hook(page, "lot").inputValue(), await hook(page, "noise-family").inputValue()];
  expect(await settings()).toEqual(["2", "128", "gaussian"]);
  await page.getByTestId("lessons").locator("summary").click();
  await page.getByTestId("lessons").getByRole("button").first().click();
  await ready(page, STEPS[0]);
  expect(await settings()).not.toEqual(["2", "128", "gaussian"]);
  await expect(page.getByTestId("lab")).toHaveCount(0);
  // In the midst of it: the step says that it is not shown any more, and takes its settings again.
  await page.getByTestId("lesson-restore").click();
  await expect.poll(settings).toEqual(["2", "128", "gaussian"]);
  await expect(page.getByTestId("lesson-wait")).toContainText("The settings are not those of this step.");
  await expect(lesson(page)).not.toContainText("of the test digits, which it was not trained on");
  await page.getByTestId("lesson-again").click();
  await ready(page, STEPS[0]);
  await expect(hook(page, "epsilon")).toHaveText("no guarantee");
  for (let i = 0; i < 3; i++) await page.getByTestId("lesson-next").click();
  await page.getByRole("button", { name: "Close the lesson" }).click();
  await expect(lesson(page)).toHaveCount(0);
  await expect.poll(settings).toEqual(["2", "128", "gaussian"]);
  await expect(page.getByTestId("lab")).toBeVisible();
  await expect(page.locator("#speed-normal")).toBeChecked();
  await expect(page).toHaveURL(/sigma=2/);
  await expect(page).not.toHaveURL(/lesson=/);
});

test("a step says nothing of a run that is not its own", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=composition.2`);
  await ready(page, STEPS.find(({ name }) => name === "composition.2")!);
  await expect(lesson(page)).toContainText("600 steps cost 600 times as much");
  await page.locator("#number-lot").fill("300");
  await page.locator("#number-lot").press("Enter");
  await expect(page.getByTestId("lesson-wait")).toContainText("The settings are not those of this step.");
  await expect(lesson(page)).not.toContainText("times as much");
  // The address keeps what was set, and a link with it stays the visitor's.
  await expect(page).toHaveURL(/lot=300/);
  await page.reload();
  await expect(page.getByTestId("lesson-wait")).toContainText("The settings are not those of this step.");
  await expect(hook(page, "lot")).toHaveValue("300");
  // Started anew, the step is not there until it is trained again.
  await page.getByTestId("lesson-again").click();
  await expect(page.getByTestId("lesson-wait")).toBeHidden();
  await hook(page, "reset").click();
  await expect(page.getByTestId("lesson-wait")).toContainText("It stands at step 0 of 600: press Play, and it goes on.");
  const said = answered(page, "lesson-wait", "It trains: step");
  await hook(page, "play").click();
  await said;
  await expect(page.getByTestId("lesson-wait")).toBeHidden();
  await expect(lesson(page)).toContainText("600 steps cost 600 times as much");
});

test("a finished run is not thrown away by the steps that speak of it", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=denoising.2`);
  await ready(page, STEPS.find(({ name }) => name === "denoising.2")!);
  const [accuracy, runs] = [await hook(page, "accuracy").textContent(), await rows(page).count()];
  for (const name of ["denoising.3", "denoising.4", "denoising.5"]) {
    await page.getByTestId("lesson-next").click();
    await ready(page, STEPS.find((step) => step.name === name)!);
    expect(await value(page, "step")).toBe(200);
    await expect(hook(page, "accuracy")).toHaveText(accuracy!);
    await expect(rows(page)).toHaveCount(runs);
  }
});

test("a lesson opens the release that is paid once as it speaks of it, and closes it with itself", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=pay-once.2`);
  await ready(page, STEPS.find(({ name }) => name === "pay-once.2")!);
  const fold = page.getByTestId("pay-once");
  await expect(fold).not.toHaveAttribute("open");
  await page.getByTestId("lesson-next").click();
  await ready(page, STEPS.find(({ name }) => name === "pay-once.3")!);
  await expect(fold).toHaveAttribute("open", "");
  await expect(page.getByTestId("once-features")).toHaveValue("pixels-14");
  await expect(page.getByTestId("once-epsilon")).toHaveValue("1");
  await page.getByTestId("pay").click();
  await expect(page.getByTestId("paid")).toContainText("300 steps so far, 0 in the ledger", { timeout: 60_000 });
  await page.getByTestId("train-on").click();
  await expect(page.getByTestId("paid")).toContainText("600 steps so far, 0 in the ledger");
  // The steps after it find it as it is, and so does who closes the lesson and opens the fold.
  await page.getByTestId("lesson-next").click();
  await expect(page.getByTestId("paid")).toContainText("600 steps so far");
  await page.getByRole("button", { name: "Close the lesson" }).click();
  await expect(fold).not.toHaveAttribute("open");
  await expect(page).not.toHaveURL(/pay-once/);
  await fold.locator("summary").first().click();
  await expect(page.getByTestId("paid")).toContainText("600 steps so far");
});

test("a product stays one, and emphasis is shown", async ({ page, site }) => {
  await open(page, site, `${query}&lesson=shape-of-noise.4`);
  await expect(lesson(page)).toContainText("exp(-abs(x)^1.5)+0.1*exp(-x^2/9)");
  await page.getByTestId("lesson-back").click();
  await expect(lesson(page).locator("em")).toHaveText("one");
});

test("lessons are walked through by keyboard, and fit a small phone", async ({ page, site }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await open(page, site, query);
  await page.getByTestId("lessons").locator("summary").focus();
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("lessons").getByRole("button").first()).toBeVisible();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect(lesson(page).getByRole("heading", { level: 3 })).toBeFocused();
  await page.getByTestId("lesson-next").focus();
  await page.keyboard.press("Enter");
  await expect(lesson(page).getByText(`2 of ${LESSONS[0].steps.length}`, { exact: true })).toBeVisible();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  // However small the screen: what turns the page is in sight.
  for (const button of ["lesson-back", "lesson-next"]) {
    const box = (await page.getByTestId(button).boundingBox())!;
    expect(box.y >= 0 && box.y + box.height <= 640 && box.height >= 24, button).toBe(true);
  }
});

/** Where else the page shows a number that a step says. */
async function shown(page: Page, what: string): Promise<string> {
  const [kind, at] = what.split(":");
  const text = async (id: string) => (await page.getByTestId(id).first().textContent()) ?? "";
  const bound = async (row: string, cell: number) => {
    const meaning = page.getByTestId("epsilon-meaning");
    if ((await meaning.getAttribute("open")) === null) await meaning.locator("summary").first().click();
    return (await meaning.getByRole("row", { name: row }).getByRole("cell").nth(cell).textContent()) ?? "";
  };
  switch (kind) {
    case "step":
    case "accuracy":
      return (await text(kind)).split(" / ")[0];
    case "epsilon":
      return (await text("epsilon")).replace("≤ ", "");
    case "also": {
      // The list of runs has Rényi's ε: what the page says of these settings before they are trained.
      const [settings] = STEPS.find(({ name }) => name === at)!.also;
      const other = await page.context().newPage();
      await other.goto(`${page.url().split("?")[0]}${digits}&${settings}`);
      await expect(other.getByTestId("projection")).toContainText("tight accounting");
      const said = /tight accounting: ε ≤ ([\d.]+)\./.exec((await other.getByTestId("projection").textContent())!)![1];
      await other.close();
      return said;
    }
    case "run":
      return (await rows(page).nth(Number(at)).locator("td").nth(2).textContent())!.replace(/[^\d.%]/g, "");
    case "group":
      return (await page.getByTestId("groups").locator("tbody td").nth(Number(at)).textContent()) ?? "";
    case "pays-most":
      return /The (\d) pays most/.exec(await text("pays-most"))![1];
    case "norm":
      return text(`norm-${at}`);
    case "found": {
      const meaning = page.getByTestId("epsilon-meaning");
      if ((await meaning.getAttribute("open")) === null) await meaning.locator("summary").first().click();
      await expect(page.getByTestId("attack-source")).toContainText("By the whole privacy curve");
      return text("attack-found");
    }
    case "mu": {
      const meaning = page.getByTestId("epsilon-meaning");
      if ((await meaning.getAttribute("open")) === null) await meaning.locator("summary").first().click();
      return /μ ≤ ([\d.]+):/.exec(await text("mu"))![1];
    }
    case "of-one":
    case "of-all": {
      // First of a user and then of a digit of theirs, or first of a digit and then of its micro-batch.
      const shared = await text("projection-shared");
      const [first, second] = [...shared.matchAll(/ε ≤ ([\d.]+\d)/g)].map(([, epsilon]) => epsilon);
      return shared.startsWith("For one user") === (kind === "of-all") ? first : second;
    }
    case "improved":
      return bound("improved", 0);
    case "order":
      return bound("improved", 1);
    case "projected":
      return /ε ≤ ([\d.]+) by Rényi/.exec(await text("projection"))![1];
    case "tight":
      return /tight accounting: ε ≤ ([\d.]+)\./.exec(await text("projection"))![1];
    default:
      return page.locator(`#number-${kind}`).inputValue();
  }
}

/** What steps say of their runs, and where the page shows the same. */
const SAYS: [step: string, says: RegExp, shown: string[]][] = [
  ["why-noise.1", /After (\d+) steps it reads (\d+(?:\.\d+)?%)/, ["step", "accuracy"]],
  ["why-noise.4", /length (\d+), so[^]*?(\d+(?:\.\d+)?%), where it was (\d+(?:\.\d+)?%) without the cut/, ["clip", "accuracy", "run:0"]],
  ["why-noise.5", /scale (\d+(?:\.\d+)?) [^]*?ε ≤ (\d+(?:\.\d+)?)\.(\d+(?:\.\d+)?%) with the noise, (\d+(?:\.\d+)?%) with the cut alone/, ["sigma", "epsilon", "accuracy", "run:0"]],
  ["why-noise.6", /rate is (\S+) instead of 0\.5[^]*?(\d+(?:\.\d+)?%) instead of (\d+(?:\.\d+)?%), at the same ε ≤ (\d+(?:\.\d+)?)\. In the open it was (\d+(?:\.\d+)?%)/, ["rate", "accuracy", "run:1", "epsilon", "run:0"]],
  ["why-noise.7", /ε ≤ (\d+(?:\.\d+)?) after (\d+) steps/, ["epsilon", "step"]],
  ["one-step.1", /all pulls, (\d+(?:\.\d+)?) long/, ["norm:0"]],
  ["one-step.2", /is (\d+(?:\.\d+)?) long instead of (\d+(?:\.\d+)?)\./, ["norm:1", "norm:0"]],
  ["one-step.3", /of size (\d+(?:\.\d+)?) falls[^]*?share, (\d+(?:\.\d+)?) long/, ["sigma", "norm:1"]],
  ["one-step.5", /Steps so far: (\d+); ε ≤ (\d+(?:\.\d+)?), as much/, ["step", "of:one-step.1"]],
  ["one-step.6", /the model reads (\d+(?:\.\d+)?%); with the bound 1, (\d+(?:\.\d+)?%)\.[^]*?So it reads (\d+(?:\.\d+)?%)\. ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) without/, ["run:1", "run:0", "accuracy", "epsilon", "epsilon"]],
  ["composition.1", /ε ≤ (\d+(?:\.\d+)?) after (\d+) steps/, ["epsilon", "step"]],
  ["composition.2", /: (\d+) steps cost (\d+) times[^]*?α = (\d+(?:\.\d+)?), and says ε ≤ (\d+(?:\.\d+)?)\. [^]*?ε ≤ (\d+(?:\.\d+)?)\./, ["step", "step", "order", "improved", "epsilon"]],
  ["composition.3", /(\d+) steps cost ε ≤ (\d+(?:\.\d+)?); with 256 images it was (\d+(?:\.\d+)?)/, ["step", "epsilon", "of:composition.1"]],
  ["composition.4", /will cost ε ≤ (\d+(?:\.\d+)?) by tight accounting, and ≤ (\d+(?:\.\d+)?) by[^]*?600 steps cost (\d+(?:\.\d+)?):/, ["tight", "projected", "of:composition.1"]],
  ["composition.5", /ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) without: a[^]*?noise (\d+(?:\.\d+)?%) of[^]*?counts it was (\d+(?:\.\d+)?%)\./, ["epsilon", "epsilon", "accuracy", "run:0"]],
  ["denoising.1", /≤ (\d+(?:\.\d+)?) after (\d+) steps\.[^]*?: (\d+(?:\.\d+)?%)\./, ["epsilon", "step", "accuracy"]],
  ["denoising.2", /ε ≤ (\d+(?:\.\d+)?); without the denoiser it was (\d+(?:\.\d+)?)\./, ["epsilon", "epsilon"]],
  ["denoising.4", /: (\d+(?:\.\d+)?%) with the denoiser, (\d+(?:\.\d+)?%) without/, ["accuracy", "run:0"]],
  ["bigger.1", /reads (\d+(?:\.\d+)?%) of the test digits after (\d+) steps\.[^]*?reads (\d+(?:\.\d+)?%)\./, ["accuracy", "step", "run:0"]],
  ["bigger.2", /tile 2 is (\d+(?:\.\d+)?) long/, ["norm:1"]],
  ["bigger.3", /≤ (\d+(?:\.\d+)?) for the large model, ≤ (\d+(?:\.\d+)?) for[^]*?: (\d+(?:\.\d+)?%) and (\d+(?:\.\d+)?%), at the same/, ["epsilon", "epsilon", "accuracy", "run:0"]],
  ["bigger.4", /large model reads (\d+(?:\.\d+)?%), the linear one (\d+(?:\.\d+)?%)\.In the open it was (\d+(?:\.\d+)?%) against (\d+(?:\.\d+)?%)\./, ["accuracy", "run:2", "run:1", "run:0"]],
  ["claims.3", /(\d+) steps with[^]*?: (\d+(?:\.\d+)?%) at ε ≤ (\d+(?:\.\d+)?)\./, ["step", "accuracy", "epsilon"]],
  ["claims.4", /σ = (\d+(?:\.\d+)?),[^]*?: (\d+(?:\.\d+)?%) at ε ≤ (\d+(?:\.\d+)?)\. The run before had (\d+(?:\.\d+)?%) at (\d+(?:\.\d+)?)\./, ["sigma", "accuracy", "epsilon", "run:0", "of:claims.3"]],
  ["claims.5", /the improved one gives (\d+(?:\.\d+)?)\.Tight accounting gives (\d+(?:\.\d+)?),/, ["projected", "tight"]],
  ["fairness.1", /reads (\d+(?:\.\d+)?%) of the test digits as they are, and (\d+(?:\.\d+)?%) of the same/, ["accuracy", "group:3"]],
  ["fairness.2", /ε ≤ (\d+(?:\.\d+)?)\. [^]*?As they are: (\d+(?:\.\d+)?%), and (\d+(?:\.\d+)?%) without privacy\. Turned: (\d+(?:\.\d+)?%), and (\d+(?:\.\d+)?%) without/, ["epsilon", "group:0", "group:1", "group:3", "group:4"]],
  ["fairness.4", /(\d+(?:\.\d+)?%) as they are, (\d+(?:\.\d+)?%) turned\. With the noise it was (\d+(?:\.\d+)?%)/, ["accuracy", "group:3", "run:0"]],
  ["same-epsilon.1", /(\d+) steps with little noise, σ = (\d+(?:\.\d+)?): ε ≤ (\d+(?:\.\d+)?) at[^]*?(\d+(?:\.\d+)?%) of the test[^]*?at most (\d+(?:\.\d+)?%) of those/, ["step", "sigma", "epsilon", "accuracy", "found"]],
  ["same-epsilon.2", /(\d+) steps of larger lots, with σ = (\d+(?:\.\d+)?): ε ≤ (\d+(?:\.\d+)?), where the few steps had (\d+(?:\.\d+)?)\. [^]*?at most (\d+(?:\.\d+)?%) now, and (\d+(?:\.\d+)?%) after/, ["step", "sigma", "epsilon", "of:same-epsilon.1", "found", "found-of:same-epsilon.1"]],
  ["same-epsilon.3", /Of the many steps μ ≤ (\d+(?:\.\d+)?), of/, ["mu"]],
  ["same-epsilon.4", /ε ≤ (\d+(?:\.\d+)?) for the many steps, (\d+(?:\.\d+)?) for the few/, ["epsilon", "also:same-epsilon.4"]],
  ["what-helps.1", /ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) with the same[^]*?rate of (\d+) the model reads (\d+(?:\.\d+)?%); with[^]*?(\d+(?:\.\d+)?%)\./, ["epsilon", "also:what-helps.1", "rate", "accuracy", "run:0"]],
  ["what-helps.2", /instead of 16: (\d+(?:\.\d+)?%) with noise that falls, (\d+(?:\.\d+)?%) with[^]*?latter was (\d+(?:\.\d+)?%)\./, ["accuracy", "run:1", "run:0"]],
  ["what-helps.3", /(\d+(?:\.\d+)?%) with noise that grows, (\d+(?:\.\d+)?%) with/, ["accuracy", "run:0"]],
  ["what-helps.4", /ε ≤ (\d+(?:\.\d+)?), with or without it\.[^]*?(\d+(?:\.\d+)?%) with it, (\d+(?:\.\d+)?%) without/, ["epsilon", "accuracy", "run:0"]],
  ["what-helps.5", /ε ≤ (\d+(?:\.\d+)?); with a coin for each step it was (\d+(?:\.\d+)?)\./, ["epsilon"]],
  ["what-helps.6", /noise scale (\d+(?:\.\d+)?), so ε ≤ (\d+(?:\.\d+)?), as[^]*?(\d+(?:\.\d+)?%) layer by layer, (\d+(?:\.\d+)?%) with one cut[^]*?decide: (\d+(?:\.\d+)?%)\./, ["sigma", "epsilon", "accuracy", "run:1", "run:0"]],
  ["what-helps.7", /larger, (\d+(?:\.\d+)?) instead of 0\.778[^]*?ε ≤ (\d+(?:\.\d+)?), and \d+(?:\.\d+)? with[^]*?(\d+(?:\.\d+)?%) with it, (\d+(?:\.\d+)?%) without/, ["sigma", "epsilon", "accuracy", "run:0"]],
  ["who-is-one.1", /ε ≤ (\d+(?:\.\d+)?) after (\d+) steps, and (\d+(?:\.\d+)?%) of/, ["epsilon", "step", "accuracy"]],
  ["who-is-one.2", /cut to (\d+)\.[^]*?ε ≤ (\d+(?:\.\d+)?) and ≤ (\d+(?:\.\d+)?)\. (\d+(?:\.\d+)?%) is read, and (\d+(?:\.\d+)?%) with/, ["clip", "of-one", "of-all", "accuracy", "run:0"]],
  ["who-is-one.3", /A step draws about (\d+) of[^]*?length (\d+(?:\.\d+)?)\. [^]*?ε ≤ (\d+(?:\.\d+)?) for a user, ≤ (\d+(?:\.\d+)?) for one image/, ["lot", "clip", "of-all", "of-one"]],
  ["who-is-one.4", /each, and (\d+) of them in[^]*?ε ≤ (\d+(?:\.\d+)?); before it was (\d+(?:\.\d+)?)\. [^]*?: (\d+(?:\.\d+)?%) instead of (\d+(?:\.\d+)?%)\./, ["lot", "epsilon", "epsilon", "accuracy", "run:0"]],
  ["who-is-one.5", /ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) with one step\.(\d+(?:\.\d+)?%) instead of (\d+(?:\.\d+)?%),/, ["epsilon", "epsilon", "accuracy", "run:0"]],
  ["pay-once.1", /ε ≤ (\d+(?:\.\d+)?) after (\d+) steps, and (\d+(?:\.\d+)?%) are/, ["epsilon", "step", "accuracy"]],
  ["pay-once.2", /(\d,\d+) steps read (\d+(?:\.\d+)?%), and 300 read (\d+(?:\.\d+)?%)\.[^]*?ε ≤ (\d+(?:\.\d+)?), where it was (\d+(?:\.\d+)?)\./, ["step", "accuracy", "run:0", "epsilon", "of:pay-once.1"]],
  ["pay-once.4", /the run above reads (\d+(?:\.\d+)?%) at ε ≤ (\d+(?:\.\d+)?)\./, ["accuracy", "epsilon"]],
  ["fairness.5", /(\d+(?:\.\d+)?%) instead of (\d+(?:\.\d+)?%), and (\d+(?:\.\d+)?%) of the turned[^]*?digits the (\d) has lost/, ["accuracy", "run:0", "group:3", "pays-most"]],
];

/** What steps say in words of numbers of MNIST, which come in the order of the text. */
const HOLDS: [step: string, says: RegExp, holds: (...numbers: number[]) => boolean][] = [
  ["why-noise.4", /(\d+(?:\.\d+)?)%, where it was (\d+(?:\.\d+)?)%/, (cut, open) => open - cut > 3],
  ["why-noise.5", /(\d+(?:\.\d+)?)% with the noise, (\d+(?:\.\d+)?)% with the cut alone/, (noisy, cut) => Math.abs(cut - noisy) < 2],
  ["why-noise.6", /(\d+(?:\.\d+)?)% instead of (\d+(?:\.\d+)?)%[^]*?open it was (\d+(?:\.\d+)?)%/, (longer, short, open) => longer - short > 2 && open - longer < 4],
  ["why-noise.7", /ε ≤ (\d+(?:\.\d+)?) [^]*?e\^ε = (\d+(?:\.\d+)?) times/, (epsilon, factor) => Math.abs(factor / Math.exp(epsilon) - 1) < 0.01],
  ["one-step.1", /(\d+(?:\.\d+)?) long/, (length) => length > 36],
  ["one-step.3", /, (\d+(?:\.\d+)?) long in all[^]*?share, (\d+(?:\.\d+)?) long/, (noise, sum) => Math.abs(noise - 1.1 * Math.sqrt(7850)) < 0.5 && sum > 10],
  ["one-step.6", /model reads (\d+(?:\.\d+)?)%; with the bound 1, (\d+(?:\.\d+)?)%\.[^]*?So it reads (\d+(?:\.\d+)?)%\. ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) without/, (large, right, follows, epsilon, without) => right - large > 6 && follows - large > 6 && Math.abs(follows - right) < 2 && epsilon === without],
  ["composition.5", /ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) without: a[^]*?noise (\d+(?:\.\d+)?)% of[^]*?counts it was (\d+(?:\.\d+)?)%/, (epsilon, without, counted, plain) => epsilon === without && Math.abs(counted - plain) < 1],
  ["composition.4", /ε ≤ (\d+(?:\.\d+)?) by tight[^]*?600 steps cost (\d+(?:\.\d+)?):/, (all, quarter) => Math.abs(all / quarter - 2) < 0.1],
  // Kolmogorov's distribution over its mean: of pure noise beyond these once in 100,000 times, which half and one and a half are in one of 13.
  ["denoising.4", /factor is (\d+(?:\.\d+)?); of pure noise it would be about (\d+(?:\.\d+)?)\./, (factor, floor) => factor / floor > 0.33 && factor / floor < 3],
  ["bigger.1", /reads (\d+(?:\.\d+)?)%[^]*?reads (\d+(?:\.\d+)?)%/, (large, linear) => large - linear > 0.5],
  ["bigger.3", /: (\d+(?:\.\d+)?)% and (\d+(?:\.\d+)?)%/, (large, linear) => linear - large > 3],
  ["bigger.4", /reads (\d+(?:\.\d+)?)%, the linear one (\d+(?:\.\d+)?)%[^]*?was (\d+(?:\.\d+)?)% against (\d+(?:\.\d+)?)%/, (a, b, c, d) => a - b < c - d - 0.3],
  ["claims.4", /% at ε ≤ (\d+(?:\.\d+)?)\.[^]*?% at (\d+(?:\.\d+)?)\./, (gaussian, student) => gaussian !== student && Math.abs(student / gaussian - 1) < 0.15],
  ["claims.5", /gives (\d+(?:\.\d+)?) here; the improved one gives (\d+(?:\.\d+)?)\.Tight accounting gives (\d+(?:\.\d+)?),/, (classic, improved, tight) => classic > improved && improved > tight && Math.abs(classic - 3.2) < 0.3],
  ["same-epsilon.2", /ε ≤ (\d+(?:\.\d+)?), where the few steps had (\d+(?:\.\d+)?)\. [^]*?at most (\d+(?:\.\d+)?)% now, and (\d+(?:\.\d+)?)% after/, (many, few, found, foundOfFew) => many === few && Math.abs((found - 5) / (foundOfFew - 5) - 2) < 0.3 && found < 10],
  ["same-epsilon.3", /Of the many steps μ ≤ (\d+(?:\.\d+)?), of the few μ ≤ (\d+(?:\.\d+)?):/, (many, few) => few > many && many > 0.5 && few < 1],
  ["same-epsilon.4", /ε ≤ (\d+(?:\.\d+)?) for the many steps, (\d+(?:\.\d+)?) for the few/, (many, few) => few - many > 0.5],
  ["what-helps.2", /instead of 16: (\d+(?:\.\d+)?)% with noise that falls, (\d+(?:\.\d+)?)% with[^]*?latter was (\d+(?:\.\d+)?)%/, (falling, even, long) => Math.min(falling, even) - long > 4 && Math.abs(falling - even) < 4],
  ["what-helps.4", /(\d+(?:\.\d+)?)% with it, (\d+(?:\.\d+)?)% without/, (smooth, plain) => smooth - plain > 0.5],
  ["what-helps.5", /ε ≤ (\d+(?:\.\d+)?); with a coin for each step it was (\d+(?:\.\d+)?)\./, (allocated, poisson) => poisson > 1.08 * allocated],
  ["what-helps.6", /(\d+(?:\.\d+)?)% layer by layer, (\d+(?:\.\d+)?)% with one cut[^]*?decide: (\d+(?:\.\d+)?)%/, (layers, whole, adjusted) => Math.abs(layers - whole) < 3 && layers - adjusted > 2],
  ["what-helps.7", /ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) with[^]*?(\d+(?:\.\d+)?)% with it, (\d+(?:\.\d+)?)% without/, (epsilon, own, banded, plain) => Math.abs(epsilon / own - 1) < 0.01 && banded - plain > 0.1],
  ["who-is-one.2", /ε ≤ (\d+(?:\.\d+)?) and ≤ (\d+(?:\.\d+)?)\. (\d+(?:\.\d+)?)% is read, and (\d+(?:\.\d+)?)% with/, (one, all, shared, alone) => one > 2 * all && alone - shared > 1.5],
  ["who-is-one.3", /ε ≤ (\d+(?:\.\d+)?) for a user, ≤ (\d+(?:\.\d+)?) for one image/, (user, image) => image > 1.5 * user],
  ["who-is-one.4", /ε ≤ (\d+(?:\.\d+)?); before it was (\d+(?:\.\d+)?)\. [^]*?: (\d+(?:\.\d+)?)% instead of (\d+(?:\.\d+)?)%/, (epsilon, before, many, few) => epsilon === before && many - few > 2],
  ["who-is-one.5", /ε ≤ (\d+(?:\.\d+)?), and (\d+(?:\.\d+)?) with one step\.(\d+(?:\.\d+)?)% instead of (\d+(?:\.\d+)?)%/, (epsilon, one, averaged, single) => epsilon === one && averaged - single > 0.1],
  ["pay-once.2", /steps read (\d+(?:\.\d+)?)%, and 300 read (\d+(?:\.\d+)?)%\.[^]*?ε ≤ (\d+(?:\.\d+)?), where it was (\d+(?:\.\d+)?)/, (long, short, epsilon, before) => long - short > 0.1 && Math.abs(epsilon / before - 2) < 0.2],
  ["pay-once.4", /reads (\d+(?:\.\d+)?)% at ε ≤ (\d+(?:\.\d+)?)\./, (accuracy, epsilon) => accuracy > 87 && epsilon < 0.5],
  ["fairness.1", /reads (\d+(?:\.\d+)?)% [^]*?and (\d+(?:\.\d+)?)% of the same/, (usual, turned) => usual - turned > 30],
  ["fairness.2", /are: (\d+(?:\.\d+)?)%, and (\d+(?:\.\d+)?)% [^]*?Turned: (\d+(?:\.\d+)?)%, and (\d+(?:\.\d+)?)%/, (run, bare, turned, bareTurned) => bareTurned - turned > 2 * (bare - run) && run > 80],
  ["fairness.4", /(\d+(?:\.\d+)?)% as they are, (\d+(?:\.\d+)?)% turned\. With the noise it was (\d+(?:\.\d+)?)%/, (cut, turned, noisy) => Math.abs(cut - noisy) < 3 && turned < 30],
];

/** Where there is MNIST, steps are trained on it. */
const real = process.env.HUSHGRAD_DATA === "mnist";
const digits = real ? "?backend=cpu" : query;

const spokenOf = new Set([...SAYS, ...HOLDS].map(([name]) => name));
const spoken = LESSONS.map(({ title, steps }) => ({ title, names: steps.map(({ name }) => name).filter((name) => spokenOf.has(name)) }));

for (const { title, names } of spoken.filter(({ names }) => names.length > 0)) test(`each number that a step of “${title}” says by link is the one that the page shows, and what it says of MNIST holds`, async ({ page, site }) => {
  test.setTimeout(900_000);
  const [epsilons, founds]: Record<string, string>[] = [{}, {}];
  await open(page, site, digits);
  for (const name of names) {
    // Nothing is left of the steps before.
    await page.evaluate(async () => {
      for (const { name } of await indexedDB.databases()) if (name) indexedDB.deleteDatabase(name);
    });
    await page.goto("about:blank");
    await page.goto(`${site.url}${digits}&lesson=${name}`);
    await ready(page, STEPS.find((step) => step.name === name)!);
    // A run that began while digits came would be of fewer.
    if (real) await expect(page.getByTestId("digits-in-use")).toContainText("60,000 to train on");
    const text = (await lesson(page).locator(".lesson-text").textContent()) ?? "";
    for (const [, pattern, sources] of SAYS.filter(([of]) => of === name)) {
      expect(text, name).toMatch(pattern);
      const said = pattern.exec(text)!.slice(1);
      for (const [at, source] of sources.entries()) {
        const [kind, of] = source.split(":");
        const there = kind === "of" ? epsilons[of] : kind === "found-of" ? founds[of] : await shown(page, source);
        if (kind === "found") founds[name] = there;
        // An order is shown with one decimal.
        if (source === "order") expect(Math.abs(Number(said[at]) - Number(there)), `${name}: ${source}`).toBeLessThanOrEqual(0.051);
        else expect(said[at], `${name}: ${source}`).toBe(there);
      }
      epsilons[name] = await shown(page, "epsilon");
    }
    for (const [, pattern, holds] of HOLDS.filter(([of]) => real && of === name)) {
      expect(text, name).toMatch(pattern);
      expect(holds(...pattern.exec(text)!.slice(1).map(Number)), `${name}: ${text}`).toBe(true);
    }
  }
  test.skip(!real && HOLDS.some(([of]) => names.includes(of)), "whether what it says of MNIST holds: the site carries no MNIST");
});
