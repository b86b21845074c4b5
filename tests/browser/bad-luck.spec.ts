import type { Page } from "@playwright/test";
import { mkdtempSync, mkdirSync, openSync, ftruncateSync, closeSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { accountant, beforeThread, distracted, expect, exported, hook, idle, loseDevice, open, openOnGpu, paused, rested, test, tight, thread, value } from "./fixtures";
import { drop, images, small } from "./idx";

const query = "?backend=cpu&dataset=synthetic";

/** Plays until `steps` are done, pauses, and waits for the last report. */
async function train(page: Page, steps: number) {
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThanOrEqual(steps);
  await paused(page);
}

test("without WebGPU the CPU trains, and the page says why and what helps", async ({ page, site }) => {
  await beforeThread(page, "Object.defineProperty(navigator, 'gpu', { value: undefined });\n");
  await open(page, site, "?dataset=synthetic");
  await expect(hook(page, "backend")).toHaveText("CPU");
  await page.locator("details.badge summary").click();
  await expect(page.getByTestId("backend-reason")).toContainText(/Reason: .+\. .*(Chrome|chrome:)/);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await expect(hook(page, "error")).toBeEmpty();
});

test("a graphics device that is lost in mid-run hands over to the CPU, and ε counts every step", { tag: "@journey" }, async ({ page, site, watched }) => {
  await openOnGpu(page, site);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(5);
  const epsilon = await value(page, "epsilon");
  const step = await value(page, "step");
  // wgpu reports the loss on the console.
  watched.allowed.push(/device|GPU/i);
  await loseDevice(page);
  await expect(hook(page, "error")).toContainText(/device was lost.*continues on the CPU.*ε counts every released step/);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect.poll(() => value(page, "step")).toBeGreaterThan(step + 5);
  expect(await value(page, "epsilon")).toBeGreaterThan(epsilon);
  await hook(page, "pause").click();
});

test("a graphics device that is lost while nothing plays hands over to the CPU", async ({ page, site, watched }) => {
  await openOnGpu(page, site);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  // Waits until the run is saved, which reads from the device.
  await rested(page);
  // wgpu reports the loss on the console.
  watched.allowed.push(/device|GPU/i);
  await loseDevice(page);
  await hook(page, "reset").click();
  await expect.poll(() => value(page, "step")).toBe(0);
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(page.getByTestId("notice")).toContainText(/trained on the CPU.*device was lost/);
  await expect(hook(page, "error")).toBeEmpty();
  await page.locator("details.badge summary").click();
  await expect(page.getByTestId("backend-reason")).toContainText("device was lost");
  await expect(page.getByTestId("backend-reason")).not.toContainText("Chrome");
  // New settings apply to the next run.
  await hook(page, "noise-scale").fill("2");
  await hook(page, "noise-scale").press("Enter");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(3);
  await hook(page, "pause").click();
  await expect(hook(page, "error")).toBeEmpty();
});

test("gradients that are not finite are left out and counted", async ({ page, site }) => {
  await open(page, site, `${query}&preset=no-privacy`);
  await hook(page, "learning-rate").fill("1000000");
  await hook(page, "learning-rate").press("Enter");
  await hook(page, "model").selectOption("cnn-relu");
  await hook(page, "lot").fill("16");
  await hook(page, "lot").press("Enter");
  await hook(page, "play").click();
  await expect(page.locator(".numbers").getByText("Non-finite, left out")).toBeVisible();
  await hook(page, "pause").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(1);
});

test("degrees of freedom at or below 2 are refused, and the run stays", async ({ page, site }) => {
  await open(page, site, `${query}&noise=student-t`);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const nu = page.getByRole("textbox", { name: /^Degrees of freedom/ });
  for (const text of ["2", "1.5", "NaN", ""]) {
    await nu.fill(text);
    await nu.press("Enter");
    await expect(hook(page, "error"), text).toContainText(/Degrees of freedom ν (must be|is empty)/);
    expect(await value(page, "step")).toBe(1);
  }
  await nu.press("Escape");
  await expect(nu).toHaveValue("9");
  await expect(hook(page, "error")).toBeEmpty();
});

test("dropped folders, huge files and broken archives get an error each; good files load", async ({ page, site }) => {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-dropped-"));
  const at = (name: string) => join(folder, name);
  mkdirSync(at("digits"));
  const huge = openSync(at("huge-images-idx3-ubyte"), "w");
  ftruncateSync(huge, 1_200_000_000);
  closeSync(huge);
  const [, trainLabels] = small();
  writeFileSync(at(trainLabels.name), trainLabels.buffer);
  writeFileSync(at("train-images-idx3-ubyte"), images(20).subarray(0, 9000));
  // 100 MB of zeros, compressed to 100 KB.
  writeFileSync(at("bomb-images-idx3-ubyte.gz"), gzipSync(Buffer.concat([images(1).subarray(0, 16), Buffer.alloc(100_000_000)])));

  await open(page, site, query);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  const before = await page.getByTestId("digits-in-use").textContent();
  for (const [names, says] of [
    [["digits"], /digits.*folder/],
    [["huge-images-idx3-ubyte"], /huge-images-idx3-ubyte has 1\.2 GB.*nothing was loaded/],
    [["train-images-idx3-ubyte", trainLabels.name], /train-images-idx3-ubyte/],
    [["bomb-images-idx3-ubyte.gz", trainLabels.name], /bomb-images-idx3-ubyte/],
    [[trainLabels.name], /images|labels/],
  ] as const) {
    await test.step(names.join(" + "), async () => {
      await drop(page, names.map(at));
      await expect(hook(page, "error")).toHaveText(says);
      await expect(page.getByTestId("digits-in-use")).toHaveText(before!);
      expect(await value(page, "step")).toBe(1);
      await page.getByRole("button", { name: "Dismiss the message" }).click();
    });
  }
  for (const file of small()) writeFileSync(at(file.name), file.buffer);
  rmSync(at("train-images-idx3-ubyte"));
  await drop(page, small().map((file) => at(file.name)));
  await expect(page.getByTestId("digits-in-use")).toContainText("400 to train on");
  await expect(hook(page, "error")).toBeEmpty();
  rmSync(folder, { recursive: true });
});

test("a training thread that fails is replaced, and its run is kept", async ({ page, site, watched }) => {
  await open(page, site, query);
  await train(page, 3);
  await expect.poll(() => tight(page)).toBeGreaterThan(0);
  // Once the accountant has answered, the ε shown is that of all steps.
  await idle(page);
  const [step, epsilon] = [await value(page, "step"), (await hook(page, "epsilon").textContent())!.replace("≤ ", "")];
  watched.allowed.push(/out of luck/);
  await thread(page).evaluate(() => void setTimeout(() => { throw new Error("out of luck"); }));
  await expect(hook(page, "error")).toContainText(/training thread failed: .*out of luck.*started.*kept/);
  const row = page.getByTestId("runs").getByRole("row").last();
  await expect(row).toContainText(step.toLocaleString("en"));
  await expect(row).toContainText(epsilon);
  await expect(page.getByTestId("digits-in-use")).toContainText("to train on");
  await train(page, 2);
  await hook(page, "reset").click();
  // Two runs with distinct names, and the heading.
  await expect(page.getByTestId("runs").getByRole("row")).toHaveCount(3);
  await expect(page.getByTestId("runs").getByRole("textbox").first()).toHaveValue("Run 2");
});

test("an unresponsive training thread is replaced, and the visitor's files are read again", async ({ page, site }) => {
  await page.clock.install();
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.getByTestId("files").setInputFiles(small());
  await expect(page.getByTestId("digits-in-use")).toContainText("400 to train on");
  await train(page, 3);
  await thread(page).evaluate(() => self.close());
  for (let pulse = 0; pulse < 15; pulse++) await page.clock.fastForward(5_000);
  await expect(hook(page, "error")).toContainText(/has not answered for 60 seconds.*started.*kept/);
  await expect(page.getByTestId("digits-in-use")).toContainText("400 to train on");
  await expect(hook(page, "dataset")).toHaveValue("files");
  await train(page, 2);
  // During play the page reports it after 10 seconds, so that nobody must wait for 60.
  const quiet = page.getByTestId("quiet");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(2);
  await thread(page).evaluate(() => self.close());
  for (let pulse = 0; pulse < 4; pulse++) await page.clock.fastForward(5_000);
  await expect(quiet).toContainText("has not answered for 10 seconds");
  await quiet.getByRole("button", { name: "Start again" }).click();
  await expect(quiet).toBeHidden();
  await expect(hook(page, "error")).toContainText(/it did not answer\. Another one has been started/);
  await expect(page.getByTestId("digits-in-use")).toContainText("400 to train on");
  await train(page, 2);
});

test("a program that cannot be loaded gets an error that asks for a reload", async ({ page, site, watched }) => {
  watched.allowed.push(/worker|ERR_FAILED|Failed to fetch/);
  await page.route(/\/worker[^/]*_bg\.wasm$/, (route) => route.abort());
  await page.goto(site.url + query);
  await expect(hook(page, "error")).toContainText("Reload the page");
  await hook(page, "play").click();
  await expect(page.getByTestId("projection")).toBeEmpty();
  });

test("an accountant that fails is reported, and the next query starts another", async ({ page, site, watched }) => {
  await open(page, site, query);
  await expect(page.getByTestId("projection")).toContainText("would cost");
  watched.allowed.push(/bankrupt/);
  await (await accountant(page)).evaluate(() => void setTimeout(() => { throw new Error("bankrupt"); }));
  await expect(hook(page, "error")).toContainText(/accountant's thread failed .*bankrupt/);
  const before = await page.getByTestId("projection").textContent();
  await hook(page, "noise-scale").fill("3");
  await hook(page, "noise-scale").press("Enter");
  await expect(page.getByTestId("projection")).not.toHaveText(before!);
  await expect(page.getByTestId("projection")).toContainText("would cost");
});

test("the noise lab survives its accountant's failure and continues with the next one", async ({ page, site, watched }) => {
  await open(page, site, `${query}&steps=50&lab=1`);
  const table = page.getByTestId("lab-table");
  await expect(table.locator("tbody tr")).toHaveCount(4);
  await expect(table).toHaveAttribute("aria-busy", "false");
  watched.allowed.push(/bankrupt/);
  // It is asked while busy, and fails before it answers.
  await distracted(page, "bankrupt");
  await page.getByRole("checkbox", { name: "Cauchy" }).check();
  await expect(table).toHaveAttribute("aria-busy", "true");
  await expect(hook(page, "error")).toContainText(/accountant's thread failed .*bankrupt/);
  await expect(table).toHaveAttribute("aria-busy", "false");
  await page.getByRole("checkbox", { name: "hyperbolic secant" }).check();
  await expect(table.locator("tbody tr")).toHaveCount(6);
  await expect(table).toHaveAttribute("aria-busy", "false");
});

test("a frozen tab resumes training without an error", async ({ page, site }) => {
  await open(page, site, query);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(2);
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setWebLifecycleState", { state: "frozen" });
  await new Promise((wake) => setTimeout(wake, 3_000));
  await session.send("Page.setWebLifecycleState", { state: "active" });
  const woken = await value(page, "step");
  await expect.poll(() => value(page, "step")).toBeGreaterThan(woken);
  await expect(hook(page, "error")).toBeEmpty();
  await hook(page, "pause").click();
});

test("an address of 100 KB is ignored with an error", async ({ page, site }) => {
  await open(page, site, `${query}&sigma=${"1".repeat(100_000)}`);
  await expect(hook(page, "error")).toContainText(/The address is 100,0\d\d characters long/);
  await expect(hook(page, "noise-scale")).toHaveValue("1.4");
  await hook(page, "model").selectOption("mlp");
  expect(page.url().length).toBeLessThan(200);
});

test("a run file that is too large or unreadable gets an error about run files", async ({ page, site }) => {
  const folder = mkdtempSync(join(tmpdir(), "hushgrad-import-"));
  const huge = openSync(join(folder, "huge.json"), "w");
  ftruncateSync(huge, 1_200_000_000);
  closeSync(huge);
  await open(page, site, query);
  await page.getByTestId("import").setInputFiles(join(folder, "huge.json"));
  await expect(hook(page, "error")).toHaveText(/huge\.json is 1\.2 GB, but run files are at most 67\.1 MB/);
  // As for a file moved just after it was picked.
  await page.evaluate(() => {
    Blob.prototype.arrayBuffer = () => Promise.reject(new DOMException("gone", "NotFoundError"));
  });
  await page.getByTestId("import").setInputFiles({ name: "gone.json", mimeType: "application/json", buffer: Buffer.from("{}") });
  await expect(hook(page, "error")).toHaveText(/gone\.json” cannot be read.*Choose a run file saved by this page/);
  rmSync(folder, { recursive: true });
});

test("run files that are newer, edited or malformed are refused", async ({ page, site }) => {
  await open(page, site, query);
  await train(page, 3);
  const [run] = await exported(page, "Run (JSON)");
  const text = readFileSync(await run.path(), "utf8");
  const step = await value(page, "step");
  for (const [what, content, says] of [
    ["later", text.replace(/"version":\s*\d+/, '"version": 99'), /later version/],
    ["cheaper", text.replace(/("improved":\s*\{\s*"epsilon":\s*)[0-9.e-]+/, "$10.0001"), /changed by hand/],
    ["impossible", text.replace(/"lot":\s*\d+/, '"lot": 0'), /lot/],
    ["shorter", text.replace(/"step":\s*\d+/, '"step": 1'), /beyond the 1 steps/],
    ["quieter", text.replace(/("ledger":.*?"sigma":\s*)[0-9.]+/s, "$11000"), /another mechanism/],
    ["half", text.slice(0, text.length / 2), /not a run file/],
    ["picture", "\x89PNG\r\n", /not a run file/],
  ] as const) {
    await test.step(what, async () => {
      expect(content).not.toBe(text);
      await page.getByTestId("import").setInputFiles({ name: `${what}.json`, mimeType: "application/json", buffer: Buffer.from(content) });
      await expect(hook(page, "error")).toHaveText(says);
      expect(await value(page, "step")).toBe(step);
      await expect(page.getByTestId("runs").getByRole("row")).toHaveCount(0);
      await page.getByRole("button", { name: "Dismiss the message" }).click();
    });
  }
  await page.getByTestId("import").setInputFiles({ name: "good.json", mimeType: "application/json", buffer: Buffer.from(text) });
  await expect(page.getByTestId("runs").getByRole("row").last()).toContainText("from a file");
  await expect(page.getByTestId("notice")).toContainText("its author's word");
  const wordy = text.replace(/"name":\s*"[^"]*"/, `"name": "${"n".repeat(200_000)}"`);
  await page.getByTestId("import").setInputFiles({ name: "wordy.json", mimeType: "application/json", buffer: Buffer.from(wordy) });
  await expect(page.getByTestId("runs").getByRole("textbox").first()).toHaveValue("n".repeat(60));
});

test("a trained model at step 0 is refused, and a run without a guarantee stays without one", async ({ page, site }) => {
  await open(page, site, query);
  await train(page, 3);
  const step = await value(page, "step");
  const [run] = await exported(page, "Run (JSON)");
  const file = JSON.parse(readFileSync(await run.path(), "utf8"));
  const bring = async (name: string, edit: (file: any) => void) => {
    const edited = structuredClone(file);
    edit(edited);
    edited.run.name = name;
    await page.getByTestId("import").setInputFiles({ name: `${name}.json`, mimeType: "application/json", buffer: Buffer.from(JSON.stringify(edited)) });
    await expect(page.getByRole("textbox", { name: `Name of ${name}` })).toBeVisible();
    await page.getByRole("button", { name: `Continue ${name}` }).click();
  };
  const none = { "no-guarantee": { reason: "sampling and noise are replayed" } };
  await bring("begun", (file) => {
    file.run.report.step = 0;
    file.run.report.privacy = none;
    file.ledger = null;
    for (const curve of ["accuracy-curve", "improved-curve", "classic-curve"]) file.run[curve] = [];
  });
  await expect(hook(page, "error")).toContainText("has taken no step, but its parameters");
  await bring("unclaimed", (file) => void (file.run.report.privacy = none));
  await expect(page.getByTestId("epsilon")).toHaveText("no guarantee");
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(step + 1);
  await expect(page.getByTestId("epsilon")).toHaveText("no guarantee");
});
