import type { Page } from "@playwright/test";
import { expect, HOOKS, hook, installed, open, pace, test, value } from "./fixtures";

/** Where a test's script stores its measurement, in milliseconds. */
type Clocked = { took?: number };
const took = async (page: Page) => {
  const read = () => page.evaluate(() => (window as Clocked).took ?? NaN);
  await expect.poll(read).not.toBeNaN();
  return read();
};

test("the page loads under any path, without an error, and has its hooks", async ({ page, site }) => {
  await open(page, site);
  for (const name of HOOKS) {
    await expect(hook(page, name), name).toHaveCount(1);
  }
  await expect(hook(page, "error")).toHaveText("");
});

test("the hooks exist for every noise and encoder, and δ can be set as the page opens", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await hook(page, "delta").fill("1e-6");
  await hook(page, "delta").press("Enter");
  await expect(page).toHaveURL(/delta=1e-6/);
  for (const choice of ["encoder", "noise-family"] as const) {
    const keys = await hook(page, choice).locator("option").evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
    expect(keys.length).toBeGreaterThan(2);
    for (const key of keys) {
      await hook(page, choice).selectOption(key);
      const scale = expect(hook(page, "noise-scale"), key);
      await (choice === "noise-family" && key === "none" ? scale.toBeDisabled() : scale.toBeEnabled());
      for (const name of HOOKS) await expect(hook(page, name), `${name}, ${key}`).toHaveCount(1);
    }
  }
});

test("the first model is the linear one", async ({ page, site }) => {
  await open(page, site);
  await expect(hook(page, "model").locator("option").first()).toHaveText(/linear/i);
});

test("after loading, a run sends no request", async ({ page, site, watched }) => {
  await open(page, site);
  await installed(page);
  const before = watched.requests.length;
  await hook(page, "play").click();
  await expect(hook(page, "step")).not.toHaveAttribute("data-value", "0");
  await hook(page, "pause").click();
  expect(watched.requests.slice(before)).toEqual([]);
});

/** The minimum of up to five measurements, or the first below `limit`: other load only adds. */
async function least(limit: number, measure: () => Promise<number>): Promise<number> {
  let best = Infinity;
  for (let i = 0; i < 5 && best >= limit; i++) best = Math.min(best, await measure());
  return best;
}

test("a recorded run is drawn within the first second", async ({ browser, site }) => {
  const drawn = async () => {
    // A first visit each time, with an empty cache.
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.addInitScript(() => {
      const look = () => {
        if (!document.querySelector(".results path.line-recorded")) return void requestAnimationFrame(look);
        // After the frame that shows it.
        requestAnimationFrame(() => setTimeout(() => ((window as Clocked).took = performance.now())));
      };
      look();
    });
    await page.goto(`${site.url}?backend=cpu`);
    // Since navigation began.
    const time = (await took(page)) / (await pace(page));
    await context.close();
    return time;
  };
  expect(await least(1_000, drawn)).toBeLessThan(1_000);
});

test("the first step follows Play within half a second on the CPU, once everything is loaded", async ({ page, site }) => {
  const first = async () => {
    await open(page, site, "?backend=cpu");
    await page.evaluate(() => {
      const [play, step] = ["play", "step"].map((name) => document.querySelector<HTMLElement>(`[data-testid=${name}]`)!);
      let clicked = NaN;
      play.addEventListener("click", (event) => (clicked = event.timeStamp), { once: true });
      new MutationObserver((_, observer) => {
        if (!(Number(step.dataset.value) > 0)) return;
        observer.disconnect();
        (window as Clocked).took = performance.now() - clicked;
      }).observe(step, { attributeFilter: ["data-value"] });
    });
    await hook(page, "play").click();
    const time = await took(page);
    await hook(page, "pause").click();
    return time / (await pace(page));
  };
  expect(await least(500, first)).toBeLessThan(500);
});

// A service worker would serve the loader past the test's route.
test.describe("without a service worker", () => {
  test.use({ serviceWorkers: "block" });

  for (const relaxed of [true, false]) {
    test(`a browser ${relaxed ? "with relaxed SIMD" : "without relaxed SIMD"} gets the program it can run`, async ({ page, site }) => {
      const programs: string[] = [];
      page.context().on("request", (request) => programs.push(request.url().match(/\/(worker[^/]*)_bg\.wasm$/)?.[1] ?? ""));
      if (!relaxed)
        await page.route(/\/worker-[0-9a-f]+_loader\.js$/, async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: `WebAssembly.validate = () => false;\n${await response.text()}` });
        });
      await open(page, site, "?backend=cpu&dataset=synthetic");
      await hook(page, "step-once").click();
      await expect.poll(() => value(page, "step")).toBe(1);
      await expect(hook(page, "error")).toBeEmpty();
      const fetched = programs.filter(Boolean);
      expect(fetched).toHaveLength(1);
      expect(fetched[0]).toMatch(relaxed ? /^worker-relaxed-[0-9a-f]+$/ : /^worker-[0-9a-f]+$/);
    });
  }
});
