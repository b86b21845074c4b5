import type { Page } from "@playwright/test";
import { beforeThread, expect, hook, KEEP_MEMORY, long, open, programBytes, test, thread, value } from "./fixtures";

/** Memory in bytes. */
interface Held {
  /** The page's JavaScript heap after a garbage collection. */
  page: number;
  /** The memory of the training thread's program. */
  program: number;
  /** Buffers of the graphics device that have not been destroyed. */
  buffers: number;
  /** All buffers since the start, destroyed or not. */
  allocated: number;
}

type Thread = { buffers?: number; allocated?: number };

const COUNT_BUFFERS = `
  globalThis.buffers = globalThis.allocated = 0;
  const { createBuffer } = globalThis.GPUDevice?.prototype ?? {};
  if (createBuffer) {
    GPUDevice.prototype.createBuffer = function (descriptor) {
      globalThis.buffers += descriptor.size;
      globalThis.allocated += descriptor.size;
      return createBuffer.call(this, descriptor);
    };
    const { destroy } = GPUBuffer.prototype;
    GPUBuffer.prototype.destroy = function () {
      globalThis.buffers -= this.size;
      destroy.call(this);
    };
  }
`;

async function held(page: Page): Promise<Held> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  const own = await thread(page).evaluate(() => {
    const { buffers, allocated } = globalThis as Thread;
    return { buffers: buffers ?? 0, allocated: allocated ?? 0 };
  });
  return { page: usedSize, program: await thread(page).evaluate(programBytes), ...own };
}

/** Plays until `steps` are done, then resets `times` times. */
async function playAndReset(page: Page, steps: number, times: number) {
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThanOrEqual(steps);
  for (let i = 0; i < times; i++) {
    await hook(page, "reset").evaluate((button: HTMLElement) => button.click());
  }
  await expect.poll(() => value(page, "step")).toBe(0);
  // Requests are answered in order: once a step is done, all resets are.
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step"), { timeout: 180_000 }).toBe(1);
}

for (const backend of ["cpu", "gpu"] as const) {
  test(`training the CNN on the ${backend} stays within its memory, even after a hundred resets`, long(backend === "gpu"), async ({ page, site }) => {
    await beforeThread(page, KEEP_MEMORY + COUNT_BUFFERS);
    // Uploading all of MNIST a hundred times is slow on a software adapter.
    const digits = backend === "gpu" ? "&dataset=synthetic" : "";
    await open(page, site, `?backend=${backend}&model=cnn-tanh&lot=64${digits}`);
    const here = await hook(page, "backend").textContent();
    test.skip(backend === "gpu" && here !== "WebGPU", "this build has no WebGPU engine, or no adapter was found");
    await playAndReset(page, 2, 1);
    const first = await held(page);
    await playAndReset(page, 2, 99);
    const last = await held(page);
    const megabytes = (bytes: number) => bytes / 1e6;
    expect(first.program, "the program's memory was found").toBeGreaterThan(1e6);
    expect(megabytes(last.program - first.program), "program, MB more").toBeLessThan(8);
    expect(megabytes(last.page - first.page), "page, MB more").toBeLessThan(4);
    // MNIST is 55 of them, once.
    expect(megabytes(last.program + last.page), "memory, MB").toBeLessThan(150);
    // Test digits may have been uploaded meanwhile.
    expect(megabytes(last.buffers - first.buffers), "graphics buffers, MB more").toBeLessThan(16);
    expect(megabytes(last.buffers), "graphics buffers, MB").toBeLessThan(256);
    // Each reset allocated its own.
    if (backend === "gpu") expect(last.allocated - first.allocated).toBeGreaterThan(99 * 1e6);
  });
}
