import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { expect, hook, open, test, value } from "./fixtures";
import { file, type Dropped } from "./idx";
import { npy, png, records, zip } from "./own-images";

const pictures = (count: number): [string, Buffer][] =>
  Array.from({ length: count }, (_, i) => [`pets/${i % 2 ? "dog" : "cat"}/${i}.png`, png(12, (i * 5) % 256)]);
const bytes = (count: number, value: (i: number) => number) => Buffer.from(Array.from({ length: count }, (_, i) => value(i)));
const arrays = (count: number): [string, Buffer][] => [
  ["x.npy", npy("|u1", `(${count}, 6, 6)`, bytes(count * 36, (i) => (Math.floor(i / 36) * 3 + i) % 256))],
  ["y.npy", npy("|u1", `(${count},)`, bytes(count, (i) => i % 4))],
];

/** A PNG with damaged pixel data. */
const damaged = png(8, 9);
damaged.fill(0xff, 41, 49);

/** Files that load, and how many images they hold. */
const GOOD: { what: string; dropped: Dropped[]; name: string; all: number }[] = [
  { what: "a ZIP of PNG files", dropped: [file("pets.zip", zip(pictures(90)))], name: "pets.zip", all: 90 },
  { what: "a ZIP with other files and broken PNGs", dropped: [file("more.zip", zip([...pictures(90), ["README.txt", Buffer.from("hello")], ["pets/cat/x.png", damaged], ["pets/cat/y.png", Buffer.alloc(0)]]))], name: "more.zip", all: 90 },
  { what: "an .npz", dropped: [file("mine.npz", zip(arrays(120)))], name: "mine.npz", all: 120 },
  { what: "a table", dropped: [file("mine.csv", Buffer.from(`label,a,b,c,d\n${"cat,0,90,200,255\ndog,9,8,7,255\nowl,1,2,3,4\n".repeat(40)}`))], name: "mine.csv", all: 120 },
  { what: "a batch of CIFAR-10", dropped: [file("data_batch_1.bin", records(150))], name: "data_batch_1.bin", all: 150 },
];

/** Files that are refused, and their errors. */
const BAD: { what: string; dropped: Dropped[]; says: RegExp }[] = [
  { what: "a picture by itself", dropped: [file("a.png", png(8, 9))], says: /a\.png: a single picture/i },
  { what: "cut PNGs alone", dropped: [file("cut.zip", zip([["pets/cat/x.png", png(8, 9).subarray(0, 45)]]))], says: /cut\.zip: “pets\/cat\/x\.png” has no end/i },
  { what: "damaged PNGs alone", dropped: [file("bad.zip", zip([["cat/x.png", damaged], ["dog/x.png", damaged]]))], says: /bad\.zip: “cat\/x\.png” cannot be decoded/i },
  { what: "texts alone", dropped: [file("text.zip", zip([["pets/notes.txt", Buffer.from("hello")]]))], says: /“pets\/notes\.txt” is not named \.png/i },
  { what: "a PNG that claims to be huge", dropped: [file("huge.zip", zip([...pictures(3), ["pets/cat/x.png", png(5000, 9)]]))], says: /has 5000×5000 pixels/i },
  { what: "a ZIP that is cut", dropped: [file("half.zip", zip(pictures(9)).subarray(0, 700))], says: /half\.zip: ZIP: /i },
  { what: "arrays of other names", dropped: [file("odd.npz", zip([["a.npy", npy("|u1", "(1,)", Buffer.alloc(1))]]))], says: /odd\.npz: no images with labels were found among the arrays “a”/i },
  { what: "a batch that is cut", dropped: [file("data_batch_2.bin", records(9).subarray(0, 9000))], says: /data_batch_2\.bin: length 9,?000/i },
  { what: "a test batch alone", dropped: [file("test_batch.bin", records(9))], says: /test_batch\.bin: only a test batch/i },
];

test("images of other sizes and classes load from every kind of file", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  const line = page.getByTestId("digits-in-use");
  for (const { what, dropped, name, all } of GOOD) {
    await test.step(what, async () => {
      await page.getByTestId("files").setInputFiles(dropped);
      await expect(line).toContainText(`your files (${name})`);
      const [, train, tested] = /(\d+) to train on, (\d+) to test/.exec((await line.textContent()) ?? "") ?? [];
      expect(Number(train) + Number(tested)).toBe(all);
      await expect(line).toContainText("About one image in six, chosen independently, is kept for testing");
    });
  }
});

test("the card of own images counts and shows each class, and turns them without another load", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.getByTestId("files").setInputFiles([file("mine.npz", zip(arrays(120)))]);
  const card = page.getByTestId("read-card");
  await expect(card).toContainText("Images: 6×6 grey, 4 classes.");
  const [, train] = /(\d+) to train on/.exec((await page.getByTestId("digits-in-use").textContent()) ?? "") ?? [];
  const rows = await card.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  expect(rows.map(([name]) => name)).toEqual(["0", "1", "2", "3"]);
  expect(rows.reduce((sum, row) => sum + Number(row[1]), 0)).toBe(Number(train));
  expect(rows.map((row) => Number(row[1]) + Number(row[2]))).toEqual([30, 30, 30, 30]);
  const strip = card.locator("canvas").first();
  const pixels = () => strip.evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  const upright = await pixels();
  await page.getByTestId("class-names").evaluate((field: HTMLInputElement) => { field.value = "ant, bee, cat, dog"; field.dispatchEvent(new Event("change")); });
  for (let turns = 1; turns < 4; turns++) {
    const before = await pixels();
    await page.getByTestId("turn-images").evaluate((button: HTMLElement) => button.click());
    await expect.poll(pixels).not.toBe(before);
  }
  await page.getByTestId("turn-images").evaluate((button: HTMLElement) => button.click());
  await expect.poll(pixels).toBe(upright);
  await expect(card.locator("tbody th").first()).toHaveText("ant");
  // Of few images a small lot is offered.
  const smaller = page.getByTestId("smaller-lot");
  await expect(smaller).toHaveCount(0);
  await hook(page, "lot").fill("60");
  await hook(page, "lot").press("Enter");
  await smaller.evaluate((button: HTMLElement) => button.click());
  await expect(hook(page, "lot")).toHaveValue(String(Math.floor(Number(train) / 8)));
  await expect(smaller).toHaveCount(0);
  // A run that has released something keeps its images.
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await expect(page.getByTestId("mirror-images")).toBeDisabled();
});

test("malformed image files get an error each, and the digits stay", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  const before = await page.getByTestId("digits-in-use").textContent();
  for (const { what, dropped, says } of BAD) {
    await test.step(what, async () => {
      await page.getByTestId("files").setInputFiles(dropped);
      await expect(hook(page, "error")).toHaveText(says);
      expect(await page.getByTestId("digits-in-use").textContent()).toBe(before);
    });
  }
});

/** A lot small enough for so few images. */
const QUERY = "?backend=cpu&dataset=synthetic&lot=16";
/** The files of the reader. */
const READER = [/^reader-[0-9a-f]+_loader\.js$/, /^reader-[0-9a-f]+\.js$/, /^reader-[0-9a-f]+_bg\.wasm$/];

test("the reader is fetched only when a visitor loads files, and its thread ends afterwards", async ({ page, site }) => {
  const before = site.asked.length;
  const asked = () => site.asked.slice(before).filter((path) => /reader/.test(path)).sort();
  const reading = () => page.workers().filter((worker) => /reader/.test(worker.url()));
  await open(page, site, QUERY);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await page.getByTestId("dataset").selectOption("colour");
  await expect(page.getByTestId("digits-in-use")).toContainText("colour");
  expect(asked()).toEqual([]);
  await page.getByTestId("files").setInputFiles(GOOD.find(({ name }) => name === "mine.npz")!.dropped);
  await expect(page.getByTestId("digits-in-use")).toContainText("your files (mine.npz)");
  expect(asked()).toEqual([expect.stringMatching(READER[1]), expect.stringMatching(READER[2]), expect.stringMatching(READER[0])]);
  await expect.poll(reading).toEqual([]);
  // The list of requests has it, although its thread has ended.
  const panel = page.getByTestId("requests");
  await panel.locator("summary").click();
  await expect(panel.getByRole("cell", { name: /reader-[0-9a-f]+_bg\.wasm/ }).first()).toBeVisible();
});

for (const name of READER)
  test(`a reader whose file ${name.source} fails to load is reported, and nothing is lost`, async ({ page, site, watched }) => {
    watched.allowed.push(/Failed to load resource/);
    await open(page, site, QUERY);
    const before = await page.getByTestId("digits-in-use").textContent();
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(1);
    site.fault = (path) => (name.test(path) ? 404 : undefined);
    try {
      await page.getByTestId("files").setInputFiles(GOOD.find(({ name }) => name === "mine.npz")!.dropped);
      await expect(hook(page, "error")).toContainText("file reader could not be loaded");
    } finally {
      site.fault = () => undefined;
    }
    await expect(page.getByTestId("digits-in-use")).toHaveText(before!);
    await hook(page, "step-once").click();
    await expect.poll(() => value(page, "step")).toBe(2);
    // It is requested again.
    await page.getByTestId("files").setInputFiles(GOOD.find(({ name }) => name === "mine.npz")!.dropped);
    await expect(page.getByTestId("digits-in-use")).toContainText("your files (mine.npz)");
    await expect(hook(page, "error")).toBeEmpty();
  });

test("a reader that dies is reported, and the next one reads the files", async ({ page, site, watched }) => {
  watched.allowed.push(/killed/);
  const program = readdirSync(resolve(process.env.HUSHGRAD_SITE ?? "../../dist")).find((name) => READER[2].test(name))!;
  await open(page, site, QUERY);
  let come = () => {};
  site.held.set(program, new Promise<void>((done) => (come = done)));
  const started = page.waitForEvent("worker", (worker) => /reader/.test(worker.url()));
  await page.getByTestId("files").setInputFiles(GOOD.find(({ name }) => name === "mine.npz")!.dropped);
  // It reports ready, and fails at its first request.
  await (await started).evaluate(() => {
    const say = postMessage.bind(self);
    let said = 0;
    self.postMessage = (...message: unknown[]) => (said++ ? void setTimeout(() => { throw new Error("killed"); }) : (say as (...message: unknown[]) => void)(...message));
  });
  come();
  await expect(hook(page, "error")).toContainText(/thread that read the files has stopped \(.*killed\)/);
  site.held.clear();
  await page.getByTestId("files").setInputFiles(GOOD.find(({ name }) => name === "mine.npz")!.dropped);
  await expect(page.getByTestId("digits-in-use")).toContainText("your files (mine.npz)");
  await expect(hook(page, "error")).toBeEmpty();
});
