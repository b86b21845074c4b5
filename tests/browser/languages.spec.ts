import type { Locator, Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { around, CPU, element, inside } from "./around";
import { accessible } from "./axe";
import { allControls, beforeThread, choose, expect, exported, hook, loseDevice, measured, open, openOnGpu, prefer, test, thread, value } from "./fixtures";
import { file, images, labels, small } from "./idx";

const query = "?backend=cpu&dataset=synthetic&preset=quick-linear&steps=20";
const { step } = test;

/** Maps English texts to German ones. */
const german = new Map([...readFileSync("../../www/text/de.txt", "utf8").matchAll(/^([^@#=\n].*)\n= (.*)\n/gm)].map(([, english, own]) => [english, own]));
/** English texts that differ from the German ones and are recognisable. */
const english = [...german].filter(([text, own]) => text !== own && /[a-z]{3}/.test(text) && !text.includes("{")).map(([text]) => text);

/** English texts left on the German page, including those for screen readers. */
const leftovers = (page: Page) =>
  page.evaluate((english) => {
    const known = new Set(english);
    const found: string[] = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      if (node instanceof Element) {
        for (const name of ["aria-label", "title", "placeholder"]) found.push(node.getAttribute(name)?.trim() ?? "");
      } else if (!node.parentElement?.closest("script, style, noscript, #failed")) found.push(node.textContent!.trim());
    }
    return [...new Set(found)].filter((text) => known.has(text));
  }, english);

/** Words that no German sentence has. */
const ENGLISH = /\b(the|of|is|are|and|with|not|because|it|its|to|be|must|this|steps?|read|run)\b/;

/** Waits for text that matches `german` and has no English but a library's words on the device. */
async function saysInGerman(said: Locator, german: RegExp) {
  await expect(said).toContainText(german);
  expect((await said.innerText()).replace(/\(No suitable graphics adapter[^()]*\)/, "")).not.toMatch(ENGLISH);
}

test("the German page fits, has German numbers, and is nowhere English, from its opening to its errors", async ({ page, site }) => {
  await open(page, site, `${query}&lang=de`);
  const error = hook(page, "error");
  const rate = hook(page, "learning-rate");
  const lab = page.getByTestId("noise-lab");
  const meaning = page.getByTestId("epsilon-meaning");
  const steps = page.locator("#number-steps");
  const beyond = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  /** Calls `look` on screens from wide to narrow, then at the original size. */
  const onScreens = async (look: (width: number) => Promise<void>) => {
    for (const [width, height] of [[1440, 900], [390, 844], [320, 700], [1440, 900]]) {
      await page.setViewportSize({ width, height });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await step(`${width} by ${height}`, () => look(width));
    }
  };
  const stepTo1 = async () => {
    await expect.poll(() => value(page, "step")).toBe(0);
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
  };

  await step("nothing is English as the page opens", async () => {
    await expect(page.locator("html")).toHaveAttribute("lang", "de");
    await expect(hook(page, "play")).toContainText(german.get("Play")!);
    expect(await leftovers(page)).toEqual([]);
    await accessible(page, "in German");
  });

  await step("the German page fits before a run", () => onScreens(async () => expect(await beyond()).toBeLessThanOrEqual(0)));

  await step("numbers have the language's format", async () => {
    await hook(page, "play").click();
    await expect.poll(() => value(page, "step")).toBe(20);
    await expect(hook(page, "accuracy")).toContainText(/^\d+,\d%/);
    await expect(hook(page, "epsilon")).toContainText(/0,\d+/);
    expect(await value(page, "accuracy"), "programs read it as ever").toBeLessThan(1);
  });

  await step("the German page fits after a run", () =>
    onScreens(async (width) => {
      await allControls(page);
      expect(await beyond()).toBeLessThanOrEqual(0);
      const rows = await page.locator(".bar").evaluate((bar) => bar.getBoundingClientRect().height);
      if (width === 1440) expect(rows, "the header is one row").toBeLessThan(80);
      // No label overlaps its field.
      const covered = await page.locator(".control.number .label > *").evaluateAll((all) =>
        all.filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent));
      expect(covered).toEqual([]);
    }));

  await step("a word is explained in the page's language", async () => {
    await page.locator("[data-word=epoch]").click();
    const text = /^epoch: (.*)\n(.*)$/m.exec(readFileSync("../../www/glossary.de.txt", "utf8"))!;
    await expect(page.getByRole("dialog").getByRole("heading")).toHaveText(text[1]);
    await expect(page.getByRole("dialog")).toContainText(text[2]);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  });

  await step("saved files stay English", async () => {
    const [saved] = await exported(page, german.get("Privacy label (Markdown)")!);
    expect(readFileSync(await saved.path(), "utf8")).toContain("every step that ran was released");
  });

  await step("nothing is English at the end of a run, with everything opened", async () => {
    expect(await value(page, "step")).toBe(20);
    const folded = await page.evaluateHandle(() => [...document.querySelectorAll<HTMLDetailsElement>("details:not(.menu, [open])")]);
    const fold = (open: boolean) => folded.evaluate((all, open) => all.forEach((each) => (each.open = open)), open);
    await fold(true);
    await lab.click();
    await expect(page.getByTestId("lab")).toBeVisible();
    const hints = () => page.locator(".hint").evaluateAll((all) => all.forEach((hint) => (hint as HTMLElement).click()));
    await hints();
    await expect.poll(() => leftovers(page)).toEqual([]);
    await page.keyboard.press("?");
    await expect(page.getByRole("dialog")).toBeVisible();
    expect(await leftovers(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByTestId("preset").click();
    await expect(page.getByRole("dialog").locator(".card, [data-preset]").first()).toBeVisible();
    expect(await leftovers(page)).toEqual([]);
    await page.keyboard.press("Escape");
    // Closes what was opened: it hides buttons, and slows each step.
    await hints();
    await fold(false);
    await expect(page.locator("#preset-hint")).toBeHidden();
    await lab.click();
    await expect(page.getByTestId("lab")).toBeHidden();
  });

  await step("numbers are read with a decimal comma and with a decimal point", async () => {
    for (const typed of ["0,25", "0.25"]) {
      await rate.fill(typed);
      await rate.press("Enter");
      await expect(page).toHaveURL(/rate=0\.25/);
      await expect(rate).toHaveValue("0,25");
      await rate.fill("4");
      await rate.press("Enter");
      await expect(page).not.toHaveURL(/rate=0\.25/);
    }
  });

  await step("files are refused in German, and their names are unchanged", async () => {
    const images20 = images(20);
    const wrong = Buffer.from(images20);
    wrong.writeUInt32BE(0x905, 0);
    /** The same with another last byte, as equal files count once. */
    const other = (bytes: Buffer, by = 1) => Buffer.concat([bytes.subarray(0, -1), Buffer.from([bytes.at(-1)! ^ by])]);
    const pair = (first: ReturnType<typeof file>) => [first, ...small().slice(1)];
    for (const [dropped, says] of [
      [[file("notes.txt", Buffer.from("hello"))], /^notes\.txt: Bytes 68 65 .*: kein unterstütztes Format/],
      [[file("empty.gz", Buffer.alloc(0))], /^empty\.gz: die Datei ist leer/],
      [[file("labels_and the images", Buffer.from("PK\x03\x04"))], /^labels_and the images: ZIP: Das Archiv ist beschädigt/],
      [pair(file("train-images-idx3-ubyte", images20.subarray(0, 9000))), /^train-images-idx3-ubyte: Länge: 15696 Bytes waren angekündigt/],
      [pair(file("train-images-idx3-ubyte", wrong)), /^train-images-idx3-ubyte: .*erwartet/],
      [[small()[0], file("train-labels-idx1-ubyte", labels(300)), ...small().slice(2)], /300 Labels: Beide Zahlen müssen gleich sein/],
      [[file("a-images", images20)], /^a-images: Bilder ohne Labels/],
      [[file("a", images20), file("b", other(images20)), file("c", labels(20)), file("d", other(labels(20)))], /gleich viele Bilder/],
      [Array.from({ length: 6 }, (_, i) => file(`${i}`, other(images20, i))), /^6 IDX-Dateien wurden gegeben/],
    ] as const) {
      await page.getByTestId("files").setInputFiles([...dropped]);
      await expect(error).toHaveText(says);
      const told = (await error.innerText()).replace("labels_and the images", "");
      expect(told).not.toMatch(ENGLISH);
    }
    await accessible(page, "with a refusal in German");
  });

  await step("refusals of a run file and of a density are German", async () => {
    await page.getByTestId("import").setInputFiles([file("my.json", Buffer.from("{}"))]);
    await saysInGerman(error, /my\.json ist keine Laufdatei dieser Seite: ein Feld fehlt, ist unbekannt oder falsch: missing field `format`/);
    await hook(page, "noise-family").selectOption("custom");
    await page.locator("#density").fill("exp(-y)");
    await page.locator("#density").press("Enter");
    const refusal = page.locator("[role=alert]:visible, .field-error:visible").filter({ hasText: /Formel/ }).first();
    await saysInGerman(refusal, /Die Formel lässt sich nicht lesen: bei Zeichen 6, „y“ ist unbekannt; bekannte Namen: x, pi, e, abs/);
    await lab.click();
    await page.getByTestId("lab-formula").fill("1+x");
    await page.getByTestId("lab-formula").press("Enter");
    await saysInGerman(page.getByTestId("lab-refusal"), /Die Dichte ist nicht|Die Dichte hat nicht nur einen Gipfel/);
    await lab.click();
  });

  await page.locator("details.advanced summary").click();
  await meaning.locator("summary").first().click();

  await step("the assumptions behind ε and the cost of all runs are German, with German numbers", async () => {
    for (const [said, set] of [
      [/\d,\d/, async () => {}],
      [/ohne Zurücklegen/, async () => {
        await page.locator("#sampling").selectOption("fixed-size");
        await hook(page, "noise-family").selectOption("laplace");
        await hook(page, "encoder").selectOption("envelope");
      }],
      [/\d,\d/, async () => {
        await page.locator("#number-grid-bits").fill("12");
        await page.locator("#number-grid-bits").press("Enter");
      }],
      [/Batches/, async () => {
        await hook(page, "noise-family").selectOption("student-t");
        await hook(page, "encoder").selectOption("envelope");
        await page.locator("#sampling").selectOption("shuffled");
      }],
    ] as const) {
      await choose(page, "no-privacy");
      await choose(page, "quick-linear");
      await steps.fill("20");
      await steps.press("Enter");
      await set();
      await stepTo1();
      const assumptions = meaning.locator("ul").first();
      await saysInGerman(assumptions, /jeder Schritt, der lief, wurde veröffentlicht/);
      await expect(assumptions).toContainText(said);
      await expect(assumptions).not.toContainText(/\d\.\d/);
    }
    await hook(page, "reset").click();
    await expect.poll(() => value(page, "step")).toBe(0);
    await saysInGerman(page.getByTestId("together"), /^Alle 5 Läufe auf diesen Ziffern, .* zusammen: .* für alle geplanten Schritte, .*; ε ≤ \d+,\d+ bei δ = /);
    await choose(page, "no-privacy");
    await stepTo1();
    await saysInGerman(meaning.locator("p").first(), /Keine Garantie: /);
  });
});

test("messages about the device, the storage and the threads are German", async ({ page, site, watched }) => {
  await beforeThread(page, "Object.defineProperty(navigator, 'gpu', { value: undefined });\n");
  await open(page, site, "?dataset=synthetic&preset=quick-linear&lang=de");
  await expect(hook(page, "backend")).toHaveText("CPU");
  await page.locator("details.badge summary").click();
  await saysInGerman(page.getByTestId("backend-reason"), /Hier trainiert der Prozessor\. Grund: kein brauchbarer WebGPU-Adapter: dieser Browser/);
  await expect(page.locator(".badge-text p").first()).toContainText(/SIMD.*Thread/);
  await expect(page.getByTestId("digits-in-use")).toContainText("synthetische Ziffern");
  const browser = await page.context().newCDPSession(page);
  await browser.send("Storage.overrideQuotaForOrigin", { origin: site.origin, quotaSize: 1 });
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await saysInGerman(page.getByTestId("notice"), /der Speicher dieses Browsers für die Seite ist voll.* Lösche Läufe/);
  watched.allowed.push(/on purpose/);
  await thread(page).evaluate(() => void setTimeout(() => { throw new Error("on purpose"); }));
  await expect(hook(page, "error")).toContainText("Der Trainings-Thread ist ausgefallen");
});

test("the loss of a graphics device is reported in German", async ({ page, site, watched }) => {
  await openOnGpu(page, site, "&lang=de");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(2);
  watched.allowed.push(/device|GPU/i);
  await loseDevice(page);
  await expect(hook(page, "error")).toContainText(/Das Grafikgerät ging verloren \(.*\); der Lauf geht auf dem Prozessor vom letzten Sicherungspunkt weiter, .*; ε zählt jeden veröffentlichten Schritt/);
  await hook(page, "pause").click();
});

test("choosing another language keeps the run and is remembered, and a link's language takes precedence", async ({ page, site }) => {
  await open(page, site, query);
  await expect(page.locator("html")).toHaveAttribute("lang", "en");
  await hook(page, "play").click();
  await measured(page, 20);
  const accuracy = await value(page, "accuracy");
  const chosen = page.getByTestId("language");
  await expect(chosen.locator("option")).toHaveText(["English", "Deutsch"]);
  await allControls(page);
  await chosen.focus();
  await chosen.selectOption("de");
  await expect(hook(page, "play")).toContainText(german.get("Play")!);
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
  expect([await value(page, "step"), await value(page, "accuracy")]).toEqual([20, accuracy]);
  expect(await leftovers(page)).toEqual([]);
  await expect(page.getByTestId("language")).toBeFocused();
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await open(page, site, query);
  await expect(hook(page, "play")).toContainText(german.get("Play")!);
  await open(page, site, `${query}&lang=en`);
  await expect(hook(page, "play")).toContainText("Play");
  await expect(page).toHaveURL(/lang=en/);
  await open(page, site, `${query}&lang=xx`);
  await expect(page.locator("html")).toHaveAttribute("lang", "de");
});

test.describe("while texts are on their way", () => {
  test.use({ allowed: [/404|integrity|Failed to fetch/] });

  test("the language chosen last is used and remembered, however late its texts arrive, unless it fails to load", async ({ page, site }) => {
    const html = page.locator("html");
    await open(page, site, query);
    let come = () => {};
    const table = "text/de.txt";
    const hold = () => site.held.set(table, new Promise<void>((done) => (come = done)));
    hold();
    const late = page.waitForResponse((response) => response.url().includes(table));
    await prefer(page, "language", "de");
    await prefer(page, "language", "en");
    come();
    await (await late).finished();
    await page.waitForTimeout(200);
    await expect(html).toHaveAttribute("lang", "en");
    await expect(hook(page, "play")).toContainText("Play");
    // The page is left before the texts arrive.
    hold();
    await prefer(page, "language", "de");
    site.held.clear();
    await open(page, site, query);
    await expect(html).toHaveAttribute("lang", "de");
    await expect(hook(page, "play")).toContainText(german.get("Play")!);
    await prefer(page, "language", "en");
    await expect(html).toHaveAttribute("lang", "en");
    site.missing.add(table);
    await prefer(page, "language", "de");
    await expect(page.getByText(german.get("Its text") ?? /Its text/).first()).toBeVisible();
    await expect.poll(() => page.evaluate(() => localStorage.getItem("hushgrad-language"))).toBe("en");
    await open(page, site, query);
    await expect(html).toHaveAttribute("lang", "en");
  });
});

test("the page uses the browser's language, if it has it", async ({ browser, site }) => {
  for (const [locale, lang] of [["de-AT", "de"], ["fr-FR", "en"]]) {
    const context = await browser.newContext({ locale });
    const page = await context.newPage();
    await page.goto(site.url + query);
    await expect(hook(page, "backend")).toContainText("CPU");
    await expect(page.locator("html")).toHaveAttribute("lang", lang);
    await context.close();
  }
});

test("an open lesson continues in another language, with its numbers", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&lesson=why-noise.1");
  const lesson = page.getByTestId("lesson");
  await expect(lesson).toContainText("Train in the open");
  await prefer(page, "language", "de");
  const title = /^## (.*)$/m.exec(readFileSync("../../www/lessons.de.txt", "utf8"))![1];
  await expect(lesson).toContainText(title);
  await expect(lesson).not.toContainText(/[{}]/);
  await expect(page).toHaveURL(/lesson=why-noise\.1/);
  await page.getByTestId("lesson-next").click();
  await expect(lesson.getByText("2 / 8").or(lesson.getByText("2 von 8"))).toBeVisible();
  expect(await leftovers(page)).toEqual([]);
});

test("a frame uses the language of its host page, or that of its element", async ({ browser, site }) => {
  for (const [attributes, lang, spoken] of [["", "de", "de"], [`lang="en"`, "de", "en"], ["", "fr", "en"]]) {
    await around(browser, `<div lang="${lang}">${element(site, `${CPU} ${attributes}`)}</div>`, async (page) => {
      await expect(inside(page).getByTestId("play")).toContainText(spoken === "de" ? german.get("Play")! : "Play");
    });
  }
});

test("texts that fail to load are reported, and those of another language leave the page unchanged", async ({ page, site, watched }) => {
  watched.allowed.push(/text\/(en|de)\.txt/, /404/, /Failed to fetch/);
  site.missing.add("text/en.txt");
  await page.goto(site.url + query);
  await expect(page.locator("#failed")).toContainText("en.txt");
  await expect(page.locator("#failed")).toBeVisible();
  site.missing.clear();
  await open(page, site, query);
  site.missing.add("text/de.txt");
  await prefer(page, "language", "de");
  await expect(page.locator("#failed")).toContainText("de.txt");
  await expect(hook(page, "play")).toContainText("Play");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
});
