import { test } from "@playwright/test";
import { resolve } from "node:path";
import { hostOver } from "./line";

// Times a step of the page's CPU engine on several cores (`cargo xtask bench cores`). Each line
// holds samples in milliseconds per step, over windows of a run at full speed, including the turns
// of the event loop between steps and excluding evaluations.

const WINDOW = 45;
const SECONDS = Number(process.env.HUSHGRAD_BENCH_SECONDS ?? 6);
const CORES = [1, 2, 4];
const RUNS: [label: string, query: string][] = [
  ["CNN, tanh, lot 256", "model=cnn-tanh&lot=256"],
  ["CNN, tanh, lot 1,024", "model=cnn-tanh&lot=1024"],
  ["CNN, tanh, lot 256, envelope", "model=cnn-tanh&lot=256&encoder=envelope&vectors=4"],
  ["two layers, lot 256", "model=mlp&lot=256"],
  ["linear on scattering features, lot 1,024", "model=scattering&lot=1024"],
  ["linear, lot 1,024", "model=linear&lot=1024"],
  ["linear, lot 64", "model=linear&lot=64"],
];

test("cores", async ({ browser }) => {
  const host = await hostOver(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"));
  console.log(JSON.stringify({ browser: browser.version() }));
  for (const [label, query] of RUNS) {
    for (const cores of CORES) {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.goto(`${host.url}?backend=cpu&dataset=synthetic&noise=gaussian&sigma=2&steps=&${query}&cores=${cores}`);
      await page.getByTestId("digits-in-use").getByText("to train on").waitFor();
      await page.waitForFunction(() => !document.querySelector("progress"));
      const samples = await page.evaluate(
        ([window, seconds]) =>
          new Promise<number[]>((done) => {
            const find = (id: string) => document.querySelector<HTMLElement>(`[data-testid="${id}"]`)!;
            const [step, accuracy] = [find("step"), find("accuracy")];
            const samples: number[] = [];
            let from: [step: number, at: number] | undefined;
            let begun = 0;
            const watching = new MutationObserver((changes) => {
              const [now, at] = [Number(step.dataset.value), performance.now()];
              if (!(now > 0)) return;
              begun ||= at;
              // Discards a window in which an evaluation ended.
              if (changes.some(({ target }) => target === accuracy)) from = undefined;
              if (from && at - from[1] >= window) {
                samples.push((at - from[1]) / (now - from[0]));
                from = undefined;
              }
              from ??= [now, at];
              if (at - begun < 1000 * seconds) return;
              watching.disconnect();
              find("pause").click();
              done(samples);
            });
            watching.observe(step, { attributes: true });
            watching.observe(accuracy, { attributes: true });
            find("play").click();
          }),
        [WINDOW, SECONDS] as const,
      );
      console.log(JSON.stringify({ who: label, label, threads: cores, samples }));
      await page.close();
    }
  }
  await host.close();
});
