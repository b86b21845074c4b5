import { test } from "@playwright/test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { hostOver } from "./line";

// Measures the times on the page's cards (`cargo xtask bench cards`): plays each preset on MNIST in
// the page, on the CPU, and prints the seconds from Play to its last step. After LONGEST
// milliseconds, the rest is extrapolated from the speed so far.
const LONGEST = 40_000;

const cards = readFileSync("../../www/presets.txt", "utf8").trim().split("\n").slice(1).map((line) => line.split(" "));

test("cards", async ({ browser }) => {
  const host = await hostOver(resolve(process.env.HUSHGRAD_SITE ?? "../../dist"));
  for (const [key, steps] of cards) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.goto(`${host.url}?backend=cpu&preset=${key}`);
    await page.getByTestId("digits-in-use").getByText("60,000 to train on").waitFor();
    await page.waitForFunction(() => !document.querySelector("progress"));
    const seconds = await page.evaluate(
      ([last, longest]) =>
        new Promise<number>((done) => {
          const find = (id: string) => document.querySelector<HTMLElement>(`[data-testid="${id}"]`)!;
          const step = find("step");
          const start = performance.now();
          let first: [step: number, at: number] | undefined;
          const watching = new MutationObserver(() => {
            const [now, at] = [Number(step.dataset.value), performance.now() - start];
            if (!(now > 0)) return;
            first ??= [now, at];
            if (now < last && at < longest) return;
            watching.disconnect();
            find("pause").click();
            const rest = now < last ? ((at - first[1]) / (now - first[0])) * (last - now) : 0;
            done((at + rest) / 1000);
          });
          watching.observe(step, { attributes: true });
          find("play").click();
        }),
      [Number(steps), LONGEST] as const,
    );
    console.log(JSON.stringify({ card: key, seconds: Number(seconds.toPrecision(3)) }));
    await page.close();
  }
  await host.close();
});
