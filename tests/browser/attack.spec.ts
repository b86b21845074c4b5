/** Attacks on the visitor's own run: canaries, lower bounds on ε, and broken guarantees. */
import { allControls, expect, exported, hook, open, test, value } from "./fixtures";

const RUN = "?backend=cpu&dataset=synthetic&model=linear&lot=512&sigma=1&steps=200";
const number = (text: string | null) => Number((text ?? "").replace(/[^0-9.]/g, ""));
const BOUNDS = ["steps", "rates", "curve", "gaussian", "guesses"];

test("four clicks from the empty page refute ε, and such a run cannot be exported", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  await page.getByTestId("attacks").locator("summary").first().click();
  await page.getByTestId("attack-begin").click();
  await page.locator("#break").selectOption("half-noise");
  await hook(page, "play").click();
  await expect(page.locator("html")).toHaveAttribute("data-refuted", "", { timeout: 90_000 });
  await expect(page.getByTestId("attack-verdict")).toContainText("The lower bound exceeds ε, so the stated ε is wrong");
  await expect(page.getByTestId("attack-verdict")).toContainText("the noise is as strong as the books say");
  await expect(page.locator(".gauge .crossed").first()).toBeVisible();
  // The false claim is marked wherever it is shown.
  await expect(page.locator(".readouts .epsilon")).toContainText("claimed, but not true");
  await expect(page).toHaveURL(/break=half-noise/);
  await hook(page, "play").click();
  await allControls(page);
  await page.getByTestId("export").locator("summary").click();
  await page.getByTestId("export").getByText("Privacy ledger (JSON)").click();
  await expect(hook(page, "error")).toContainText("has an injected bug, so neither it nor its ledger can be saved");
  // Once the promise is kept again, the same settings give an ordinary run.
  await page.locator("#break").selectOption("nothing");
  await expect(page.locator("html")).not.toHaveAttribute("data-refuted", "");
  await exported(page, "Privacy ledger (JSON)");
});

test("no lower bound refutes an honest run", async ({ page, site }) => {
  await open(page, site, `${RUN}&canaries=1000`);
  const verdict = page.getByTestId("attack-verdict");
  await expect(verdict).toContainText("Press Play");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(200);
  // First the verdict on the last step; the slower bounds follow once the run is at rest.
  await expect(verdict).toContainText("After 200 steps");
  for (const name of BOUNDS) await expect(page.getByTestId(`gauge-${name}`)).not.toContainText("…", { timeout: 120_000 });
  const claim = number(await page.getByTestId("gauge-claim").textContent());
  const bounds = await Promise.all(BOUNDS.map(async (name) => number(await page.getByTestId(`gauge-${name}`).textContent())));
  // Chance puts a bound above ε in some runs, and the verdict says so; far above in none.
  const above = bounds.some((bound) => bound > claim);
  await expect(verdict).toHaveText(above ? /^After 200 steps a lower bound is slightly above ε\. Chance/ : "After 200 steps no lower bound is above ε.");
  await expect(page.locator("html")).not.toHaveAttribute("data-refuted", "");
  expect(Math.max(...bounds)).toBeLessThan(1.6 * claim);
  // 512 of 21,000 a step: about 2,400 canaries were drawn, so single steps give most of ε.
  expect(bounds[0]).toBeGreaterThan(0.5 * claim);
  await expect(page.getByTestId("with-canaries")).toHaveText("with canaries");
  const found = number(await page.getByTestId("attack-hundred").textContent());
  expect(found).toBeGreaterThan(0);
  expect(found).toBeLessThan(60);
  // The same button ends the attack and removes its gauge.
  await page.getByTestId("attack-begin").click();
  await expect(page).not.toHaveURL(/canaries/);
  await expect(page.getByTestId("gauge")).toHaveCount(0);
});

test("without noise the attack finds nearly every included canary", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&model=linear&noise=none&lot=1024&steps=150&canaries=400");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(150);
  await expect.poll(async () => number(await page.getByTestId("attack-hundred").textContent())).toBeGreaterThan(95);
  await expect.poll(async () => number(await page.getByTestId("gauge-guesses").textContent())).toBeGreaterThan(1);
});

test("membership inference succeeds on a small town without noise and fails with noise; a drawing can be a member", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&attacks=1");
  const town = page.getByTestId("town");
  await expect(page.getByTestId("town-own")).toBeDisabled();
  await page.getByTestId("digit-pad").getByRole("button", { name: "Draw an example 7" }).click();
  await page.getByTestId("town-own").selectOption("3");
  await page.getByTestId("town-begin").click();
  await expect(town.locator("progress")).toBeVisible();
  const found = page.getByTestId("town-found");
  await expect(found).toContainText("There is no upper bound on ε.", { timeout: 120_000 });
  const [, right, least] = ((await found.textContent()) ?? "").match(/Of the 50 .* surest of, (\d+) were in\. So ε is at least ([0-9.]+)/)!.map(Number);
  expect([right > 42, least > 1]).toEqual([true, true]);
  await expect(page.getByTestId("town-own-found")).toContainText(/Your digit: the model is surer about \d+ of [\d,]+ candidates; the attacker says it was/);
  await page.getByTestId("town-noise").selectOption("1.1");
  await page.getByTestId("town-begin").click();
  await expect(found).toContainText("The accountant says ε ≤ 3.", { timeout: 120_000 });
  expect(Number(((await found.textContent()) ?? "").match(/at least ([0-9.]+)/)?.[1] ?? 0)).toBeLessThan(1);
  // Both curves and the forbidden region are drawn.
  await expect(town.locator("path.forbidden")).toHaveCount(1);
  await expect(town.locator("path.line-attack, path.line-accuracy")).toHaveCount(2);
  // A stopped attack leaves the previous result.
  await page.getByTestId("town-noise").selectOption("none");
  await page.getByTestId("town-begin").click();
  await page.getByTestId("town-begin").click();
  await expect(page.getByTestId("town-begin")).toHaveText("Train and attack");
  await expect(found).toContainText("The accountant says");
});

test("the candidate game runs on the current settings and stays below its upper bound", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&model=linear&lot=512&sigma=1.1&steps=200&attacks=1");
  const share = async (name: string) => number(((await page.getByTestId(`game-${name}`).textContent()) ?? "").split("%")[0]);
  await expect(page.getByTestId("game-found")).toContainText("nobody is right more often than", { timeout: 60_000 });
  expect(await share("chance")).toBe(10);
  expect(await share("attack")).toBeGreaterThan(10);
  expect(await share("bound")).toBeGreaterThan(await share("attack") - 1);
  await page.getByTestId("game-candidates").selectOption("2");
  await expect.poll(() => share("chance")).toBe(50);
  await hook(page, "noise-family").selectOption("none");
  await expect(page.getByTestId("game-refused")).toHaveText("No noise is added, so the sums themselves are released.");
});
