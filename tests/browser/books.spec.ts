import type { BrowserContext, Page } from "@playwright/test";
import { beforeThread, counted, database, expect, hook, long, loseDevice, open, openOnGpu, rows, test, thread, value, written } from "./fixtures";
import type { Site } from "./server";

const query = "?backend=cpu&dataset=synthetic&lot=64";

/** Tracks the largest step that the page shows. */
async function watch(page: Page): Promise<{ step: number }> {
  const shown = { step: 0 };
  await page.exposeFunction("shown", (step: number) => void (shown.step = Math.max(shown.step, step)));
  await page.evaluate(() => {
    const step = document.querySelector("[data-testid=step]")!;
    const tell = () => (window as unknown as { shown(step: number): void }).shown(Number(step.getAttribute("data-value")));
    new MutationObserver(tell).observe(step, { attributes: true });
    tell();
  });
  return shown;
}

const play = (page: Page) => hook(page, "play").click();
const beyond = (page: Page, step: number) => expect.poll(() => value(page, "step"), { intervals: [20] }).toBeGreaterThan(step);

/** Plays past the first step, within a block of reserved releases. */
async function begun(page: Page) {
  await play(page);
  await beyond(page, 0);
}

/** The same for a continued run. */
async function continued(page: Page) {
  await hook(page, "step-once").click();
  await beyond(page, 0);
  await hook(page, "reset").click();
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect(rows(page)).toHaveCount(0);
  await play(page);
  await beyond(page, 3);
}

/** Failures at difficult moments (`tests/agent/books.rs` has all), which an open page reports. */
const failures: Record<string, [(page: Page) => Promise<void>, (page: Page, context: BrowserContext, site: Site) => Promise<void>]> = {
  "the thread fails": [continued, async (page) => {
    await thread(page).evaluate(() => void setTimeout(() => { throw new Error("out of luck"); }));
    await expect(hook(page, "error")).toContainText(/out of luck.*started/);
  }],
  "the tab is closed": [begun, (page) => page.close()],
  "the device is lost": [continued, async (page) => {
    await loseDevice(page);
    await expect(hook(page, "error")).toContainText("continues on the CPU from its last checkpoint");
    await written(page);
  }],
  "storage is refused": [begun, async (page) => {
    await thread(page).evaluate(() => {
      const refuse = () => { throw new DOMException("no", "InvalidStateError"); };
      IDBDatabase.prototype.transaction = refuse;
      IDBFactory.prototype.open = refuse;
    });
    await expect(hook(page, "error")).toContainText("could not be written");
    await written(page);
  }],
  "the tab is duplicated": [continued, async (page, context, site) => {
    const other = await context.newPage();
    await open(other, site, query);
    await hook(other, "step-once").click();
    await beyond(other, 0);
    // A run open in the first tab cannot be taken over.
    await rows(other).last().getByRole("button", { name: /^Continue/ }).click();
    await expect(hook(other, "error")).toContainText("another tab is using it");
    await other.close();
  }],
};

for (const [failure, [reach, fail]] of Object.entries(failures))
  test(`${failure}: the books count every step shown`, long(!/device|duplicated/.test(failure)), async ({ page, context, site, watched }) => {
    watched.allowed.push(/out of luck|device|GPU/i);
    if (failure === "the device is lost") await openOnGpu(page, site);
    else await open(page, site, query);
    const shown = await watch(page);
    await reach(page);
    await fail(page, context, site);
    if (!page.isClosed()) await page.close();
    expect(shown.step).toBeGreaterThan(0);

    const next = await context.newPage();
    await open(next, site, query);
    await expect(rows(next)).toHaveCount(failure === "the tab is duplicated" ? 2 : 1);
    const sum = async () => (await counted(next)).reduce((sum, count) => sum + count, 0);
    const books = await sum();
    expect(books, "what the books say").toBeGreaterThanOrEqual(shown.step);

    // Continuing the run loses nothing.
    await rows(next).last().getByRole("button", { name: /^Continue/ }).click();
    await expect.poll(() => value(next, "epsilon")).toBeGreaterThan(0);
    const before = await value(next, "step");
    await hook(next, "step-once").click();
    await beyond(next, before);
    await expect(hook(next, "error")).toBeEmpty();
    await open(next, site, query);
    await expect.poll(sum).toBe(books + 1);
  });

test("an older version's database is migrated and deleted", async ({ page, site }) => {
  await open(page, site, query);
  await hook(page, "step-once").click();
  await beyond(page, 0);
  const epsilon = await value(page, "epsilon");
  await written(page);
  await page.evaluate((name) => new Promise<void>((done) => {
    const now = indexedDB.open(name);
    now.onsuccess = () => {
      const change = now.result.transaction(["runs", "files", "books", "ahead"], "readwrite");
      const [run, file] = [change.objectStore("runs").getAll(), change.objectStore("files").getAll()];
      file.onsuccess = () => {
        for (const store of change.objectStoreNames) change.objectStore(store).clear();
        const old = indexedDB.open("hushgrad", 1);
        old.onupgradeneeded = () => {
          old.result.createObjectStore("runs").put(run.result[0], "0000000000001-1");
          old.result.createObjectStore("files").put(file.result[0], "0000000000001-1");
        };
        old.onsuccess = () => {
          old.result.close();
          now.result.close();
          done();
        };
      };
    };
  }), await database(page));
  await open(page, site, query);
  await expect(rows(page)).toHaveCount(1);
  await expect.poll(() => page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name))).toEqual([await database(page)]);
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(1);
  expect(await value(page, "epsilon")).toBe(epsilon);
});

test("a database that never answers is reported, and a run trains without it", async ({ page, site }) => {
  await beforeThread(page, "IDBFactory.prototype.open = () => new EventTarget();\n");
  await open(page, site, query);
  await expect(hook(page, "error")).toContainText("cannot be listed, because this browser's storage has not answered for 5 seconds");
  await play(page);
  await expect(page.getByTestId("notice")).toContainText("has not answered for 5 seconds: this run and its books are kept only while the page is open");
  await beyond(page, 3);
  await hook(page, "pause").click();
});
