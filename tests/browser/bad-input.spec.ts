import { gzipSync } from "node:zlib";
import type { JSHandle, Page } from "@playwright/test";
import { answered, expect, hook, open, test, value } from "./fixtures";
import { file, images, labels, small, type Dropped } from "./idx";
import type { Site } from "./server";

const wrongMagic = Buffer.from(images(20));
wrongMagic.writeUInt32BE(0x805, 0);
const hugeCount = Buffer.from(images(20));
hugeCount.writeUInt32BE(2_000_000_000, 4);

/** Files that a visitor may drop by mistake, and the pattern that the error must match. */
const MISTAKES: { what: string; dropped: Dropped[]; says: RegExp }[] = [
  { what: "truncated images", dropped: [file("train-images-idx3-ubyte", images(20).subarray(0, 9000)), ...small().slice(1)], says: /train-images-idx3-ubyte/i },
  { what: "a wrong magic number", dropped: [file("train-images-idx3-ubyte", wrongMagic), ...small().slice(1)], says: /train-images-idx3-ubyte.*(magic|dimensions)/i },
  { what: "a count beyond all size", dropped: [file("train-images-idx3-ubyte", hugeCount), ...small().slice(1)], says: /train-images-idx3-ubyte/i },
  { what: "fewer labels than images", dropped: [small()[0], file("train-labels-idx1-ubyte.gz", gzipSync(labels(300))), ...small().slice(2)], says: /300/ },
  { what: "gzip that is none", dropped: [file("train-images-idx3-ubyte.gz", Buffer.from("\x1f\x8bnot gzip at all", "latin1")), ...small().slice(1)], says: /train-images-idx3-ubyte\.gz/i },
  { what: "a text file", dropped: [file("notes.txt", Buffer.from("hello"))], says: /notes\.txt/i },
];

test("malformed files get an error each, and the run stays", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const [data, epsilon] = [await page.getByTestId("digits-in-use").textContent(), await value(page, "epsilon")];
  for (const { what, dropped, says } of MISTAKES) {
    await test.step(what, async () => {
      await page.getByTestId("files").setInputFiles(dropped);
      await expect(hook(page, "error")).toHaveText(says);
      expect(await page.getByTestId("digits-in-use").textContent()).toBe(data);
      expect(await value(page, "step")).toBe(1);
      expect(await value(page, "epsilon")).toBe(epsilon);
    });
  }
});

/** Makes files of zeros in the page, all from one shared megabyte; `pick` chooses them. */
const zeros = (page: Page, megabytes: number[]) =>
  page.evaluateHandle((megabytes) => {
    const one = new Blob([new Uint8Array(1e6)]);
    const picked = new DataTransfer();
    megabytes.forEach((count, i) => picked.items.add(new File(Array(count).fill(one), `zeros-${i}`)));
    return picked;
  }, megabytes);

const pick = (page: Page, files: JSHandle<DataTransfer>) =>
  page.evaluate((picked) => {
    const input = document.getElementById("own-files") as HTMLInputElement;
    input.files = picked.files;
    input.dispatchEvent(new Event("change"));
  }, files);

test("files that are too many, too large or too highly compressed are refused at once, and the run stays", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const error = hook(page, "error");
  for (const [megabytes, says] of [
    [Array(20).fill(250), "20 files were given; expected at most 7"],
    [[9000], "zeros-0 has 9.0 GB, and no file of images is larger than 392.1 MB; nothing was loaded"],
    [Array(4).fill(250), "zeros-2: with it the files come to 750.0 MB; expected at most 512.0 MB"],
    [[300], "zeros-0: element type 0x00"],
  ] as const) {
    await test.step(says, async () => {
      const files = await zeros(page, [...megabytes]);
      const answer = answered(page, "error", says);
      await pick(page, files);
      expect(await answer).toBeLessThan(2_000);
      await expect(error).toContainText(says);
    });
  }
  const bomb = Buffer.concat([images(10), Buffer.alloc(200_000_000)]);
  const packed = file("bomb-images.gz", gzipSync(bomb, { level: 1 }));
  const answer = answered(page, "error", "something else is in it");
  await page.getByTestId("files").setInputFiles([packed]);
  expect(await answer).toBeLessThan(5_000);
  await expect(error).toContainText("something else is in it");
  await expect(page.getByRole("progressbar", { name: "Loading digits" })).toHaveCount(0);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(2);
});

test("loading fewer digits than the lot reduces the lot, and training uses them", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&lot=2000");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await page.getByTestId("files").setInputFiles(small());
  await expect(page.getByTestId("notice").filter({ hasText: "A lot of 2,000 is more than these 400 images" })).toBeVisible();
  await expect(hook(page, "lot")).toHaveValue("50");
  await expect(page.getByTestId("digits-in-use")).not.toContainText("The current run uses");
  await expect.poll(() => value(page, "step")).toBe(0);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
});

test("the largest noise scale is priced within three seconds, and too small a one is refused with an error", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&steps=1000&sigma=2");
  const projection = page.getByTestId("projection");
  await expect(projection).toContainText("ε ≤");
  for (const sigma of ["1000", "10000"]) {
    const before = await projection.textContent();
    const answer = answered(page, "projection", "ε ≤");
    await hook(page, "noise-scale").fill(sigma);
    await hook(page, "noise-scale").press("Enter");
    await expect(projection).not.toHaveText(before ?? "");
    expect(await answer, `σ = ${sigma}`).toBeLessThan(3_000);
    await expect(projection).toContainText("ε ≤");
  }
  await hook(page, "noise-scale").fill("1e-300");
  await hook(page, "noise-scale").press("Enter");
  await expect(page.locator("[role=alert]:visible, .field-error:visible").filter({ hasText: "from 1e-6 to 10,000; “1e-300” is not" }).first()).toBeVisible();
});

test("numbers out of range get an error, and the run stays", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  for (const [name, text] of [
    ["noise-scale", "0"],
    ["noise-scale", "-1"],
    ["noise-scale", "NaN"],
    ["delta", "1"],
    ["delta", "0"],
    ["lot", "1000000"],
    ["learning-rate", "abc"],
  ] as const) {
    await test.step(`${name} = ${text}`, async () => {
      const field = hook(page, name);
      const before = await field.inputValue();
      await field.fill(text);
      await field.press("Enter");
      // The error appears at the field or in the page's error line.
      await expect(page.locator("[role=alert]:visible, .field-error:visible").filter({ hasText: /\S/ }).first()).toBeVisible();
      expect(await value(page, "step")).toBe(1);
      await field.fill(before);
      await field.press("Enter");
    });
  }
});

test("a shard missing on the server is named in a message", async ({ page, site, watched }) => {
  test.skip(process.env.HUSHGRAD_DATA !== "mnist", "the site carries no MNIST");
  const before = site.asked.length;
  await open(page, site, "?backend=cpu");
  const shard = site.asked.slice(before).findLast((path) => path.startsWith("data/") && !path.endsWith(".json"));
  expect(shard, "the page loads shards").toBeTruthy();
  site.missing.add(shard!);
  // Chromium itself reports the 404 on the console.
  watched.allowed.push(/404/);
  await page.goto(`${site.url}?backend=cpu`);
  await expect(page.locator("[data-testid=error], [data-testid=notice]").filter({ hasText: shard!.split("/").pop()! })).toBeVisible();
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
});

const loading = (page: Page) => page.getByRole("progressbar", { name: "Loading digits" });

/** Reopens the page with the last shard held back; returns the function that releases it. */
async function withoutLastShard(page: Page, site: Site): Promise<() => void> {
  const before = site.asked.length;
  await open(page, site, "?backend=cpu");
  const last = site.asked.slice(before).findLast((path) => path.startsWith("data/") && !path.endsWith(".json"));
  expect(last, "the page loads shards").toBeTruthy();
  let release = () => {};
  site.held.set(last!, new Promise<void>((done) => (release = done)));
  await page.goto(`${site.url}?backend=cpu`);
  await expect(page.getByTestId("digits-in-use")).toContainText("10,000 to train on");
  await expect(loading(page)).toHaveCount(1);
  return release;
}

test("a file refused while shards load does not affect their loading", async ({ page, site }) => {
  test.skip(process.env.HUSHGRAD_DATA !== "mnist", "the site carries no MNIST");
  const release = await withoutLastShard(page, site);
  await page.getByTestId("files").setInputFiles([file("notes.txt", Buffer.from("hello"))]);
  await expect(hook(page, "error")).toHaveText(/notes\.txt/);
  release();
  await expect(page.getByTestId("digits-in-use")).toContainText("60,000 to train on");
  await expect(page.getByTestId("digits-in-use")).not.toContainText("The current run uses");
  await expect(loading(page)).toHaveCount(0);
  await expect(hook(page, "error")).toHaveText(/notes\.txt/);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
});

test("choosing other digits replaces shards still loading, and nothing waits for them", async ({ page, site }) => {
  test.skip(process.env.HUSHGRAD_DATA !== "mnist", "the site carries no MNIST");
  const release = await withoutLastShard(page, site);
  await hook(page, "dataset").selectOption("synthetic");
  await expect(page.getByTestId("digits-in-use")).toContainText("20,000 to train on");
  await expect(loading(page)).toHaveCount(0);
  release();
  await page.waitForTimeout(1_000);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await expect(loading(page)).toHaveCount(0);
  await expect(page.getByTestId("digits-in-use")).toContainText("20,000 to train on");
  await expect(hook(page, "dataset")).toHaveValue("synthetic");
});
