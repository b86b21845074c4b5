import { test, type Browser, type Page } from "@playwright/test";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeThread, KEEP_MEMORY, programBytes } from "./fixtures";
import { hostOver, type Line } from "./line";

// Times what a visitor waits for (`cargo xtask bench page`). Each line is a row of its table.

const FOLDER = resolve(process.env.HUSHGRAD_SITE ?? "../../dist");
const RUNS = 5;
/** Marks an event that never happened. */
const NEVER = 9999;
const SLOW: Line = { megabitsPerSecond: 10, latency: 40 };

interface Row {
  who: string;
  label: string;
  /** One measurement per run. */
  samples: number[];
  unit: string;
  goal?: number;
}
const say = (row: Row) => console.log(JSON.stringify(row));

/** Milliseconds since the HTML arrived, as measured by the page itself. */
interface Seen {
  /** The recorded step's pictures, its curve and the odds are drawn. */
  paint?: number;
  /** Play, pressed at that moment, shows that it starts. */
  heard?: number;
  /** The first step after that press. */
  step?: number;
}

/** Runs first in a page: records in `seen` when each part appears. */
function watch() {
  const seen: Seen = ((window as { seen?: Seen }).seen = {});
  const arrived = () => (performance.getEntriesByType("navigation")[0] as PerformanceNavigationTiming).responseEnd;
  const find = (id: string) => document.querySelector<HTMLElement>(`[data-testid="${id}"]`);
  const painted = (canvas: HTMLCanvasElement | null) => {
    const data = canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data;
    return !!data?.some((value, at) => at % 4 < 3 && Math.abs(value - data[at % 4]) > 8);
  };
  const whole = () =>
    document.querySelector(".results path.line-recorded") &&
    /^\d+$/.test(find("odds-found")?.textContent ?? "") &&
    document.querySelector(".lot-buttons .ringed") &&
    painted(document.querySelector<HTMLCanvasElement>(".lot-digits")) &&
    ["stage-alone", "stage-sum", "stage-difference-before"].every((id) => painted(find(id) as HTMLCanvasElement));
  const look = () => {
    if (!whole()) return void requestAnimationFrame(look);
    // After the frame that shows it.
    requestAnimationFrame(() =>
      setTimeout(() => {
        seen.paint = performance.now() - arrived();
        const play = find("play")!;
        const after = new MutationObserver(() => {
          const started = Number(find("step")!.dataset.value) > 0;
          if (started || play.textContent?.includes("Starting")) seen.heard ??= performance.now() - arrived();
          if (started) seen.step ??= performance.now() - arrived();
        });
        after.observe(document.querySelector(".top")!, { subtree: true, childList: true, characterData: true, attributes: true });
        play.click();
      }),
    );
  };
  look();
}

/** Times a first visit, with an empty cache. */
async function first(browser: Browser, url: string): Promise<Required<Seen>> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const page = await context.newPage();
    await page.addInitScript(watch);
    await page.goto(`${url}?backend=cpu`);
    const seen = await page.waitForFunction(() => {
      const { seen } = window as { seen?: Seen };
      return seen?.step !== undefined && seen;
    });
    return (await seen.jsonValue()) as Required<Seen>;
  } finally {
    await context.close();
  }
}

/** Opens the page and waits for all its digits. */
async function ready(page: Page, address: string) {
  await page.goto(address);
  await page.getByTestId("digits-in-use").getByText("to train on").waitFor({ state: "attached" });
  await page.waitForFunction(() => !document.querySelector("progress"));
}

/** Returns the processor's seconds in all of the browser's processes. */
async function processor(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
}

/** Returns the processor's seconds of a first visit, until its threads have nothing to do. */
async function visit(browser: Browser, address: string): Promise<number> {
  const before = await processor(browser);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await ready(page, address);
  await page.waitForFunction(() => !document.documentElement.hasAttribute("data-busy"));
  // What is put off until a pause is part of the visit.
  await page.waitForTimeout(3000);
  const after = await processor(browser);
  await context.close();
  return after - before;
}

/** A dump of Chromium's allocators: the fields that are read here. */
interface Dump {
  pid: number;
  args?: { dumps?: { allocators?: Record<string, { attrs: Record<string, { value: string } | undefined> }> } };
}

/** Returns the megabytes of a tab's process after the first run, in all and by owner. */
async function memory(browser: Browser, address: string): Promise<Record<string, number>> {
  // A first visit also installs the files for offline use, in the same process.
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, serviceWorkers: "block" });
  await context.addInitScript(KEEP_MEMORY);
  await beforeThread(context, KEEP_MEMORY, /_loader\.js$/);
  const page = await context.newPage();
  await ready(page, address);
  await page.getByTestId("play").click();
  await page.waitForFunction(() => document.querySelector<HTMLElement>("[data-testid=step]")!.dataset.value === "400");
  await page.waitForTimeout(3000);
  const held: Record<string, number> = { "program of the page": (await page.evaluate(programBytes)) / 2 ** 20 };
  for (const thread of page.workers()) {
    held[`program of the ${thread.url().includes("accountant") ? "accountant" : "training thread"}`] = (await thread.evaluate(programBytes)) / 2 ** 20;
  }
  const session = await browser.newBrowserCDPSession();
  const events: Dump[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as Dump[])));
  const traceConfig = { includedCategories: ["disabled-by-default-memory-infra"], excludedCategories: ["*"], memoryDumpConfig: { triggers: [] } };
  await session.send("Tracing.start", { traceConfig, transferMode: "ReportEvents" });
  await session.send("Tracing.requestMemoryDump", { levelOfDetail: "detailed" });
  const ended = new Promise((done) => session.once("Tracing.tracingComplete", done));
  await session.send("Tracing.end");
  await ended;
  await session.detach();
  const dump = events.find((event) => event.args?.dumps?.allocators?.["blink_gc/main"])!;
  for (const [name, owner] of [["malloc", "malloc"], ["partition_alloc", "buffers and strings"], ["blink_gc", "document and layout"], ["v8", "JavaScript"]]) {
    const { size, effective_size } = dump.args!.dumps!.allocators![name].attrs;
    held[owner] = parseInt((size ?? effective_size)!.value, 16) / 2 ** 20;
  }
  // Linux alone says which of a process's memory is its own.
  const rollup = `/proc/${dump.pid}/smaps_rollup`;
  const own = existsSync(rollup) ? Number(/^Pss_Anon: +(\d+)/m.exec(readFileSync(rollup, "utf8"))![1]) / 1024 : NEVER;
  await context.close();
  return { "in all, shared files of Chromium aside": own, ...held };
}

/** Plays a run to its end; returns the seconds to each accuracy, the best one and the tight ε. */
async function reach(page: Page, url: string, query: string, goals: number[]) {
  await ready(page, `${url}?backend=cpu${query}`);
  await page.evaluate((goals) => {
    const found: Record<string, number> = {};
    let best = 0;
    const find = (id: string) => document.querySelector<HTMLElement>(`[data-testid="${id}"]`)!;
    const [accuracy, play] = [find("accuracy"), find("play")];
    const start = performance.now();
    new MutationObserver(() => {
      const now = Number(accuracy.dataset.value);
      best = Math.max(best, now);
      for (const goal of goals) if (now >= goal) found[goal] ??= (performance.now() - start) / 1000;
    }).observe(accuracy, { attributes: true });
    Object.assign(window, { reached: () => ({ found, best }) });
    play.click();
  }, goals);
  // Waits for the planned end.
  await page.waitForFunction(() => {
    const [step, planned] = document.querySelector("[data-testid=step]")!.textContent!.split(" / ");
    const epsilon = document.querySelector<HTMLElement>("[data-testid=epsilon]")!.dataset.tight;
    return step === planned && !!epsilon;
  });
  await page.waitForTimeout(1500);
  const tight = Number(await page.getByTestId("epsilon").getAttribute("data-tight"));
  const { found, best } = await page.evaluate(() => (window as unknown as { reached(): { found: Record<string, number>; best: number } }).reached());
  return { seconds: goals.map((goal) => found[goal] ?? NEVER), best, tight };
}

/** Returns how many clicks bring the odds into view, from the page as it opens. */
async function clicks(browser: Browser, url: string, width: number, height: number): Promise<number> {
  const page = await browser.newPage({ viewport: { width, height } });
  await page.goto(`${url}?backend=cpu`);
  await page.waitForFunction(() => /^\d+$/.test(document.querySelector("[data-testid=odds-found]")?.textContent ?? ""));
  const inWindow = () =>
    page.getByTestId("odds").evaluate((odds) => {
      const box = odds.getBoundingClientRect();
      return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
    });
  let count = 0;
  if (!(await inWindow())) {
    count = 1;
    await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: "Results" }).click();
    if (!(await inWindow())) count = NEVER;
  }
  await page.close();
  return count;
}

test("the page", async ({ browser }) => {
  console.log(JSON.stringify({ browser: browser.version(), runs: RUNS }));
  for (const [line, where, goal] of [
    [undefined, "on the machine itself", 0.6],
    [SLOW, "at 10 Mbit/s and 40 ms, nothing cached", 1.5],
  ] as const) {
    const host = await hostOver(FOLDER, line);
    // The first visit makes the host compress its files.
    await first(browser, host.url);
    const all: Required<Seen>[] = [];
    for (let run = 0; run < RUNS; run++) all.push(await first(browser, host.url));
    const seconds = (of: (seen: Required<Seen>) => number) => all.map((seen) => of(seen) / 1000);
    const who = line ? "line" : "here";
    say({ who: `paint ${who}`, label: `from the HTML to the full first paint, ${where}`, unit: "s", samples: seconds((seen) => seen.paint), goal });
    say({ who: `heard ${who}`, label: `… until *Play*, pressed then, says that it starts`, unit: "s", samples: seconds((seen) => seen.heard - seen.paint), goal: 0.1 });
    say({ who: `step ${who}`, label: `… until its first step is done`, unit: "s", samples: seconds((seen) => seen.step - seen.paint) });
    await host.close();
  }

  const host = await hostOver(FOLDER);
  for (const [width, height] of [[1440, 900], [390, 844]] as const) {
    const samples = [await clicks(browser, host.url, width, height)];
    say({ who: `clicks ${width}`, label: `clicks from the page as it opens to the odds, ${width} × ${height}`, unit: "", samples, goal: 1 });
  }
  const real = existsSync(join(FOLDER, "data", "manifest.json"));
  for (const [digits, goal] of [["synthetic", 1.5], ...(real ? [["mnist", 2] as const] : [])] as const) {
    const samples = [];
    for (let run = 0; run < RUNS; run++) samples.push(await visit(browser, `${host.url}?backend=cpu&dataset=${digits}`));
    const name = digits === "mnist" ? "MNIST" : "synthetic digits";
    say({ who: `visit ${digits}`, label: `processor of a first visit until it is idle, ${name}`, unit: "s", samples, goal });
  }
  const all: Record<string, number>[] = [];
  for (let run = 0; run < RUNS; run++) all.push(await memory(browser, `${host.url}?backend=cpu`));
  for (const [at, part] of Object.keys(all[0]).entries()) {
    const goal = real && at === 0 ? 200 : undefined;
    say({ who: `memory ${part}`, label: `memory of a tab after the first run: ${part}`, unit: "MB", samples: all.map((one) => one[part]), goal });
  }
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const runs = async (who: string, name: string, query: string, goals: [accuracy: number, seconds: number][], epsilon?: number) => {
    const all = [];
    for (let run = 0; run < RUNS; run++) all.push(await reach(page, host.url, query, goals.map(([accuracy]) => accuracy)));
    for (const [at, [accuracy, seconds]] of goals.entries()) {
      say({ who: `${who} ${accuracy}`, label: `${name}: from *Play* to ${Math.round(100 * accuracy)} %`, unit: "s", samples: all.map((one) => one.seconds[at]), goal: seconds });
    }
    say({ who: `${who} best`, label: `${name}: best accuracy on the way`, unit: "%", samples: all.map((one) => 100 * one.best) });
    if (epsilon) say({ who: `${who} epsilon`, label: `${name}: tight ε in the end`, unit: "", samples: all.map((one) => one.tight), goal: epsilon });
  };
  if (real) {
    await runs("default", "the first run, MNIST", "", [[0.88, 2], [0.9, 5]], 0.6);
    await runs("cnn", "`preset=quick-cnn`, MNIST", "&preset=quick-cnn", [[0.9, 3], [0.95, 10]], 1);
  }
  await runs("synthetic", "the first run, synthetic digits", "&preset=quick-linear&dataset=synthetic", [[0.85, 5]]);
  await page.close();
  await host.close();
});
