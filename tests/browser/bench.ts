import { test, type Page } from "@playwright/test";
import { resolve } from "node:path";
import { serve } from "./server";

/** Argument of a page's `measure`; the pages are in `benches/browser` and `benches/peers`. */
interface Case {
  who: "hushgrad" | "simd128" | "jax-js";
  backend: "cpu" | "gpu";
  model: "CnnTanh" | "Mlp";
  /** Envelope, Student-t noise and KS; otherwise flat clipping and Gaussian noise. */
  envelope?: boolean;
  lot: number;
  /** Minimum duration of the measurement. */
  seconds: number;
}

/** Alternates, so that other load affects both. The peer's CNN takes seconds for a small lot. */
const BESIDE: Case[] = (["gpu", "cpu"] as const).flatMap((backend) =>
  ([["Mlp", 256], ["CnnTanh", 64]] as const).flatMap(([model, lot]) =>
    (["hushgrad", "jax-js"] as const).map((who): Case => ({ who, backend, model, lot, seconds: 1.5 })),
  ),
);

const own = (backend: Case["backend"], model: Case["model"], envelope: boolean, lot: number, seconds = 1.5): Case => ({
  who: "hushgrad",
  backend,
  model,
  envelope,
  lot,
  seconds,
});
const OWN: Case[] = (["cpu", "gpu"] as const).flatMap((backend) =>
  (["CnnTanh", "Mlp"] as const).flatMap((model) => [false, true].map((envelope) => own(backend, model, envelope, 256))),
);
/** Adds each CPU case as browsers without relaxed SIMD run it. */
const BOTH: Case[] = OWN.flatMap((one): Case[] => (one.backend === "cpu" ? [one, { ...one, who: "simd128" }] : [one]));
const BY_LOT: Case[] = [
  ...[64, 1024, 4096, 16_384].flatMap((lot) => [false, true].map((envelope) => own("cpu", "CnnTanh", envelope, lot))),
  ...[64, 1024, 4096, 16_384].map((lot) => own("gpu", "CnnTanh", false, lot)),
];

/** With these headers a page's clock ticks every 5 microseconds instead of every 100. */
const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

test("steps", async ({ context, browser }) => {
  const site = await serve(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"), "/some/path/", ISOLATED);
  const opened = async (address: string) => {
    const page = await context.newPage();
    page.on("pageerror", (error) => console.error(error.message));
    await page.goto(site.url + address);
    await page.waitForFunction(() => "measure" in window);
    return page;
  };
  const pages: Record<Case["who"], Page> = {
    hushgrad: await opened("relaxed/index.html"),
    simd128: await opened("simd128/index.html"),
    "jax-js": await opened("index.html"),
  };
  console.log(JSON.stringify({ browser: browser.version() }));
  // Ours run first: after the peer's, an idle page took twice as long for the same. The CPU cases
  // run again at the end; a software adapter would take minutes for the others.
  const again = [...BOTH, ...BY_LOT].filter((one) => one.backend === "cpu");
  for (const one of [...BOTH, ...BESIDE, ...BY_LOT, ...BESIDE, ...again]) {
    type Measuring = { measure(one: Case): Promise<object> };
    const found = await pages[one.who].evaluate((one) => (window as unknown as Measuring).measure(one), one);
    console.log(JSON.stringify({ ...one, ...found }));
  }
  for (let run = 0; run < 3; run++) {
    type Reaching = { reach(one: object): Promise<object | null> };
    const one = { preset: "fast-3", goal: 0.98 };
    const found = await pages.hushgrad.evaluate((one) => (window as unknown as Reaching).reach(one), one);
    console.log(JSON.stringify(found));
  }
  const session = await context.newCDPSession(pages.hushgrad);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  console.log(JSON.stringify({ heap: usedSize }));
  await site.close();
});
