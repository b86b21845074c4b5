/** The attack on one's own run: canaries, lower bounds that climb under ε, and promises that are broken behind its back. */
import { expect, exported, hook, open, refused, test, value } from "./fixtures";

const RUN = "?backend=cpu&dataset=synthetic&model=linear&lot=512&sigma=1&steps=200";
const number = (text: string | null) => Number((text ?? "").replace(/[^0-9.]/g, ""));
const BOUNDS = ["steps", "rates", "curve", "gaussian", "guesses"];

test("from the empty page to a refuted ε in four clicks, and no file is made of such a run", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic");
  const panel = page.getByTestId("attack");
  await panel.locator("summary").first().click();
  await page.getByTestId("attack-begin").click();
  await page.locator("#break").selectOption("half-noise");
  await hook(page, "play").click();
  await expect(page.locator("html")).toHaveAttribute("data-refuted", "", { timeout: 90_000 });
  await expect(page.getByTestId("attack-verdict")).toContainText("The lower bound has crossed ε");
  await expect(page.getByTestId("attack-verdict")).toContainText("the noise is as strong as the books say");
  await expect(page.locator(".gauge .crossed").first()).toBeVisible();
  // What it claims is marked, wherever it stands.
  await expect(page.locator(".readouts .epsilon")).toContainText("claimed, and not true");
  await expect(page).toHaveURL(/break=half-noise/);
  await hook(page, "play").click();
  await page.getByTestId("export").locator("summary").click();
  await page.getByTestId("export").getByText("Privacy ledger (JSON)").click();
  await expect(hook(page, "error")).toContainText("breaks a promise behind its books, so no file is made of it");
  // Whole again, the same settings are a run like any other.
  await page.locator("#break").selectOption("nothing");
  await expect(page.locator("html")).not.toHaveAttribute("data-refuted", "");
  await exported(page, "Privacy ledger (JSON)");
});

test("of an honest run all five bounds stand below ε, and say what they assume", async ({ page, site }) => {
  await open(page, site, `${RUN}&canaries=1000`);
  await expect(page.getByTestId("attack-verdict")).toContainText("Press Play");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(200);
  // Those that take longer come once it stands still.
  for (const name of BOUNDS) await expect(page.getByTestId(`gauge-${name}`)).not.toContainText("…", { timeout: 120_000 });
  await expect(page.getByTestId("attack-verdict")).toHaveText("After 200 steps all lower bounds are below ε, as they must be.");
  const claim = number(await page.getByTestId("gauge-claim").textContent());
  for (const name of BOUNDS) expect(number(await page.getByTestId(`gauge-${name}`).textContent()), name).toBeLessThanOrEqual(claim);
  // 512 of 21,000 a step: some 2,400 canaries were drawn, so single steps tell most of it.
  expect(number(await page.getByTestId("gauge-steps").textContent())).toBeGreaterThan(0.6 * claim);
  await expect(page.getByTestId("with-canaries")).toHaveText("with canaries");
  const found = number(await page.getByTestId("attack-hundred").textContent());
  expect(found).toBeGreaterThan(0);
  expect(found).toBeLessThan(60);
  // It goes on after a reload, and nobody knows the coins any more.
  await page.getByTestId("attack-begin").click();
  await expect(page).not.toHaveURL(/canaries/);
  await expect(page.getByTestId("gauge")).toHaveCount(0);
});

test("without noise nearly every canary that is in is found, and no number is claimed", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&model=linear&noise=none&lot=1024&steps=150&canaries=400");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(150);
  await expect.poll(async () => number(await page.getByTestId("attack-hundred").textContent())).toBeGreaterThan(95);
  expect(number(await page.getByTestId("gauge-guesses").textContent())).toBeGreaterThan(1);
});

const SETTINGS = "&model=linear&lot=512&sigma=1";
refused([
  [`${SETTINGS}&canaries=9000`, "each has a parameter of the model to itself (7850)"],
  [`${SETTINGS}&canaries=100&replay=1`, "an auditor finds who knows it proves nothing"],
  [`${SETTINGS}&canaries=100&micro-batch=4`, "a canary is a record by itself"],
  [`${SETTINGS}&canaries=100&bands=4`, "not scored step by step"],
  [`${SETTINGS}&canaries=100&metrics=0.05`, "a canary has no digit to be counted"],
  [`${SETTINGS}&canaries=20&encoder=envelope&break=double-clip`, "clipped as a whole"],
  [`${SETTINGS}&canaries=20&break=count-unpaid`, "choose a clip that follows the norms"],
  [`${SETTINGS}&canaries=20&clip-quantile=0.5&break=drawn-lot`, "a clip that stands"],
]);
