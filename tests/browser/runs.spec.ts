import type { Page } from "@playwright/test";
import { readFileSync, writeFileSync } from "node:fs";
import { account, beforeThread, database, expect, exported, hook, long, open, paused, rows, test, tight, value, written } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic&preset=cpu";

async function oneStep(page: Page) {
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
}

/** Waits until the browser has written `n` runs. */
const kept = (page: Page, n: number) =>
  expect.poll(async () => page.evaluate((name) => new Promise<number>((done) => {
    const request = indexedDB.open(name);
    request.onsuccess = () => {
      const stores = [...request.result.objectStoreNames];
      if (!stores.includes("files")) return done(0);
      const count = request.result.transaction("files").objectStore("files").count();
      count.onsuccess = () => done(count.result);
    };
  }), await database(page))).toBe(n);

/** Names of the saved runs, oldest first; pinned ones end in a star. */
const names = async (page: Page) =>
  page.evaluate((name) => new Promise<string[]>((done) => {
    const request = indexedDB.open(name);
    request.onsuccess = () => {
      const all = request.result.transaction("runs").objectStore("runs").getAll();
      all.onsuccess = () => done(all.result.map(([name, , pinned]) => name + (pinned ? "*" : "")));
    };
  }), await database(page));

/** Saves `count` older copies of the one saved run, as earlier visits would have left them. */
const copies = async (page: Page, count: number, pinned: boolean) =>
  page.evaluate(([name, count, pinned]) => new Promise<void>((done) => {
    const request = indexedDB.open(name);
    request.onsuccess = () => {
      const change = request.result.transaction(["runs", "files"], "readwrite");
      const [runs, files] = [change.objectStore("runs"), change.objectStore("files")];
      const [run, file] = [runs.getAll(), files.getAll()];
      // Both reads are done when the second is.
      file.onsuccess = () => {
        const [, note, , card] = run.result[0];
        for (let i = 0; i < count; i++) {
          const key = `0000000000000-${String(i).padStart(3, "0")}`;
          runs.put([`copy ${i}`, note, pinned, card], key);
          files.put(file.result[0], key);
        }
      };
      change.oncomplete = () => done();
    };
  }), [await database(page), count, pinned] as const);

test("a run keeps its name over a reload, continues where it stopped, and can be deleted", { tag: "@journey" }, async ({ page, site }) => {
  await open(page, site, query);
  await oneStep(page);
  const epsilon = await value(page, "epsilon");
  await kept(page, 1);
  await written(page);
  await open(page, site, query);
  await expect(rows(page)).toHaveCount(1);
  await rows(page).getByRole("textbox").fill("the first");
  await rows(page).getByRole("textbox").press("Enter");
  // A reload could come before the name is saved.
  await expect.poll(() => names(page)).toEqual(["the first"]);
  await open(page, site, query);
  await expect(rows(page).getByRole("textbox")).toHaveValue("the first");

  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(1);
  expect(await value(page, "epsilon")).toBe(epsilon);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(2);
  expect(await value(page, "epsilon")).toBeGreaterThan(epsilon);
  const [file] = await exported(page, "Privacy ledger (JSON)");
  const ledger = JSON.parse(readFileSync(await file.path(), "utf8"));
  expect(ledger.events).toEqual([{ release: 0, count: 2 }]);

  await hook(page, "reset").click();
  await expect(rows(page)).toHaveCount(1);
  await rows(page).getByRole("button", { name: /^Delete/ }).click();
  await kept(page, 0);
  await open(page, site, query);
  await expect(rows(page)).toHaveCount(0);
});

test("an exported run is imported in another browser, its ε is recomputed, and it continues", async ({ page, site, browser }) => {
  await open(page, site, query);
  await oneStep(page);
  const epsilon = await value(page, "epsilon");
  const [saved] = await exported(page, "Run (JSON)");
  const file = readFileSync(await saved.path(), "utf8");
  const dropped = (name: string, text: string) => ({ name, mimeType: "application/json", buffer: Buffer.from(text) });

  const other = await (await browser.newContext()).newPage();
  await open(other, site, "?backend=cpu&dataset=synthetic");
  await other.getByTestId("import").setInputFiles(dropped("run.json", file));
  await expect(rows(other)).toHaveCount(1);
  await expect(hook(other, "noise-scale")).toHaveValue("1.3");
  await rows(other).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(other, "step")).toBe(1);
  expect(await value(other, "epsilon")).toBe(epsilon);

  // Edited, newer and broken files get an error each, and the run stays.
  const bound = JSON.parse(file).run.report.privacy.bounded.improved.epsilon;
  for (const [text, says] of [
    [file.replaceAll(String(bound), String(bound / 2)), /changed by hand/],
    [file.replace(/"version":\d+/, '"version":9'), /later version/],
    [file.slice(0, 999), /not a run file/],
  ] as const) {
    await other.getByTestId("import").setInputFiles(dropped("wrong.json", text));
    await expect(hook(other, "error")).toContainText("wrong.json");
    await expect(hook(other, "error")).toContainText(says);
    expect(await value(other, "step")).toBe(1);
  }
  await other.context().close();
});

test("without storage a notice says so, and the runs stay while the page is open", async ({ page, site }) => {
  await beforeThread(page, "Object.defineProperty(self, 'indexedDB', { value: undefined });\n");
  await open(page, site, query);
  await oneStep(page);
  await expect(page.getByTestId("notice")).toContainText("does not let the page store anything");
  await hook(page, "reset").click();
  await expect(rows(page)).toHaveCount(1);
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect.poll(() => value(page, "step")).toBe(1);
});

test("with full storage a notice says so, and the run can still be saved as a file", async ({ page, site }) => {
  await open(page, site, query);
  const browser = await page.context().newCDPSession(page);
  await browser.send("Storage.overrideQuotaForOrigin", { origin: site.origin, quotaSize: 1 });
  await oneStep(page);
  await expect(page.getByTestId("notice")).toContainText("storage for the page is full");
  expect(await value(page, "step")).toBe(1);
  await hook(page, "reset").click();
  await expect(rows(page)).toHaveCount(1);
  const saved = page.waitForEvent("download");
  await rows(page).getByRole("button", { name: /^Save/ }).click();
  expect((await saved).suggestedFilename()).toBe("hushgrad-run.json");
});

test("an ended run stays in the list, however many are pinned", async ({ page, site }) => {
  await open(page, site, query);
  await oneStep(page);
  await kept(page, 1);
  await copies(page, 12, true);
  await open(page, site, query);
  await expect(rows(page)).toHaveCount(13);
  await oneStep(page);
  await hook(page, "reset").click();
  await expect(rows(page)).toHaveCount(14);
  await kept(page, 14);
  await expect(hook(page, "error")).toBeEmpty();
});

test("a full list drops its oldest unpinned run, and an error names it", async ({ page, site }) => {
  await open(page, site, query);
  await oneStep(page);
  await kept(page, 1);
  await copies(page, 99, false);
  await open(page, site, query);
  await expect(rows(page)).toHaveCount(100);
  await rows(page).last().getByRole("button", { name: "Pin copy 0" }).click();
  await oneStep(page);
  await hook(page, "reset").click();
  await expect(hook(page, "error")).toContainText("“copy 1”, the oldest unpinned run, was deleted");
  await expect(rows(page)).toHaveCount(100);
  const left = ["copy 0*", ...Array.from({ length: 97 }, (_, i) => `copy ${i + 2}`), "Run 1"];
  await expect.poll(() => names(page)).toEqual([...left, expect.stringMatching(/^Run [12]$/)]);
  // The message stays.
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(1);
  await expect(hook(page, "error")).toContainText("“copy 1”");
  await hook(page, "pause").click();
});

test("the runs of a sweep keep their names and colours over a reload", async ({ page, site }) => {
  const linear = "?backend=cpu&dataset=synthetic&steps=30";
  await open(page, site, linear);
  await page.getByRole("button", { name: "Sweep Noise scale: four runs" }).click();
  await expect(rows(page)).toHaveCount(4);
  const kind = /^noise scale [0-9.]+\*$/;
  await expect.poll(async () => (await names(page)).filter((name) => kind.test(name)).length).toBe(4);
  const made = (await names(page)).sort();
  await open(page, site, linear);
  await expect(rows(page)).toHaveCount(4);
  const shown = await Promise.all((await rows(page).getByRole("textbox").all()).map((box) => box.inputValue()));
  expect(shown.map((name) => `${name}*`).sort()).toEqual(made);
  await expect(rows(page).getByRole("button", { name: /^Pin/, pressed: true })).toHaveCount(4);
  for (let i = 0; i < 4; i++) await expect(page.locator(`.results path.line-pin-${i}`), `colour ${i}`).not.toHaveCount(0);
});

test("runs on the same digits are composed, also deleted ones, until they are forgotten", async ({ page, site }) => {
  await open(page, site, query);
  const together = page.getByTestId("together");
  const spent: number[] = [];
  for (let run = 0; run < 2; run++) {
    await expect(together).toBeHidden();
    await oneStep(page);
    await expect.poll(() => tight(page)).toBeGreaterThan(0);
    spent.push(await tight(page));
    await hook(page, "reset").click();
    await expect.poll(() => value(page, "step")).toBe(0);
  }
  await expect(together).toContainText("All 2 runs on these digits");
  const sum = async () => Number(/ε ≤ ([\d.]+)/.exec((await together.textContent()) ?? "")?.[1]);
  expect(await sum()).toBeGreaterThan(Math.max(...spent));
  await rows(page).first().getByRole("button", { name: /^Delete/ }).click();
  await expect(rows(page)).toHaveCount(1);
  await kept(page, 1);
  await open(page, site, query);
  await expect(together).toContainText("All 2 runs on these digits");
  // While a run plays, the composed ε is out of date.
  await hook(page, "play").click();
  await expect(together).toBeHidden();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(0);
  await hook(page, "pause").click();
  await expect(together).toContainText("All 3 runs on these digits");
  await hook(page, "reset").click();
  await together.getByRole("button").click();
  await expect(together).toBeHidden();
  await expect(rows(page)).toHaveCount(2);
});

/** Asserts that a resting run's tight ε is the native tool's within 1e-4; returns the latter. */
async function agrees(page: Page) {
  const [file] = await exported(page, "Privacy ledger (JSON)");
  const native = account(await file.path()).tight.value;
  await expect.poll(() => tight(page)).toBeGreaterThan(native * (1 - 1e-4));
  await expect.poll(() => tight(page)).toBeLessThan(native * (1 + 1e-4));
  return native;
}

for (const [name, settings] of [
  ["clipping and Gaussian noise", "&preset=cpu"],
  ["an envelope and Student-t noise", "&preset=student-t&model=linear&vectors=20&lot=512"],
] as const) {
  test(`ε is tight and live, also of a continued run: ${name}`, long(settings !== "&preset=cpu"), async ({ page, site }, info) => {
    await open(page, site, `?backend=cpu&dataset=synthetic${settings}`);
    await hook(page, "play").click();
    const shown: [number, number][] = [];
    await expect(async () => {
      // Both at one moment.
      const [step, bound] = await page.evaluate(() => {
        const read = (name: string) => document.querySelector<HTMLElement>(`[data-testid="${name}"]`)!.dataset;
        return [Number(read("step").value), Number(read("epsilon").tight || NaN)];
      });
      if (step > 0 && bound > 0) shown.push([step, bound]);
      expect(shown.length).toBeGreaterThan(9);
    }).toPass({ intervals: [150] });
    await expect(hook(page, "epsilon")).toHaveText(/^≤ [0-9.]+$/);
    await paused(page);
    const first = await agrees(page);
    expect(await tight(page)).toBeLessThan(await value(page, "epsilon"));

    // During play, no less was shown than the steps done then cost.
    const [file] = await exported(page, "Privacy ledger (JSON)");
    const ledger = JSON.parse(readFileSync(await file.path(), "utf8"));
    for (const [step, bound] of shown.filter((_, at) => at % 3 === 0)) {
      ledger.events = [{ release: 0, count: step }];
      const then = info.outputPath(`ledger-${step}.json`);
      writeFileSync(then, JSON.stringify(ledger));
      expect(bound, `shown at step ${step}`).toBeGreaterThan(account(then).tight.value * (1 - 1e-4));
    }

    await kept(page, 1);
    await open(page, site, `?backend=cpu&dataset=synthetic${settings}`);
    await rows(page).getByRole("button", { name: /^Continue/ }).click();
    await expect.poll(() => value(page, "epsilon")).toBeGreaterThan(0);
    await agrees(page);
    const step = await value(page, "step");
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(step + 1);
    expect(await agrees(page)).toBeGreaterThan(first);
  });
}
