import type { Page } from "@playwright/test";
import { accessible } from "./axe";
import { expect, hook, measured, open, paused, prefer, share, test, value } from "./fixtures";
import { decoded } from "./qr";

// Handing in a run as a link: its claims are the author's word, and ε is recomputed.

const query = "?backend=cpu&dataset=synthetic&encoder=clip&noise=gaussian&sigma=1.1&lot=256&rate=2&steps=40";
const says = "handed-in-says";

/** Opens the dialog *Hand in*, once the run's accuracy and ε are known. */
const handedIn = (page: Page) =>
  expect(async () => {
    // A dialog that opened late covers the menu.
    if (!(await page.getByTestId("share-dialog").isVisible())) await share(page, "hand-in", { timeout: 2_000 });
    await expect(page.getByTestId("share-dialog")).toBeVisible({ timeout: 1_000 });
  }).toPass();

test("a run handed in by a link is opened, confirmed and trained again", async ({ page, site, context }) => {
  test.slow();
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site, `${query}&controls=sigma`);
  await page.getByTestId("task-hand-in").click();
  await expect(page.getByTestId("notice")).toContainText("nothing to hand in yet");
  await hook(page, "play").click();
  await measured(page, 40);
  await expect(hook(page, "play")).toHaveClass(/primary/);
  await expect(hook(page, "epsilon")).not.toHaveAttribute("data-tight", "");
  const [accuracy, epsilon] = await Promise.all([hook(page, "accuracy").textContent(), hook(page, "epsilon").textContent()]);
  await expect(async () => {
    // A dialog that opened late covers the button.
    if (!(await page.getByTestId("share-dialog").isVisible())) await page.getByTestId("task-hand-in").click({ timeout: 2_000 });
    await expect(page.getByTestId("share-dialog")).toBeVisible({ timeout: 1_000 });
  }).toPass();
  const dialog = page.getByTestId("share-dialog");
  await expect(dialog).toContainText(`${accuracy} after 40 steps at ε ${epsilon}`);
  await page.getByTestId("hand-in-name").fill("Ada <b>&Zoë");
  await accessible(page, "the dialog to hand in");
  const link = await page.getByTestId("hand-in-link").inputValue();
  await expect.poll(() => decoded(dialog.locator(".qr"))).toBe(link);
  await page.getByTestId("share-copy").click();
  await expect(dialog.getByRole("status")).toContainText("copied");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(link);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();

  await page.goto(link);
  const bar = page.getByTestId("handed-in");
  await expect(bar).toContainText("Handed in by Ada <b>&Zoë:");
  await expect(page.getByTestId(says)).toHaveText(`${accuracy} after 40 steps at ε ${epsilon}`);
  await expect(bar).toContainText("Claimed by the link");
  await expect(page.getByTestId("handed-in-epsilon")).toContainText(`this page computes ${epsilon} for these settings and steps, as the link says.`);
  await expect(page.getByTestId("handed-in-accuracy")).toContainText("not checked here");
  // The claims do not appear as the page's own results.
  await expect(hook(page, "accuracy")).not.toHaveText(accuracy!);
  expect(await value(page, "step")).toBe(0);
  await accessible(page, "a run that was handed in");
  await page.getByTestId("train-again").click();
  await expect(page.getByTestId("handed-in-accuracy")).toContainText(/retrained, \d+\.\d% after as many steps, about what the link says/, { timeout: 60_000 });
  await expect(hook(page, "epsilon")).toHaveText(epsilon!);

  await prefer(page, "language", "de");
  await expect(bar).toContainText("Abgegeben von Ada <b>&Zoë:");
  await prefer(page, "language", "en");

  // The address keeps the claim until the settings change.
  await page.reload();
  await expect(page.getByTestId(says)).toContainText("after 40 steps");
  await hook(page, "noise-scale").fill("3");
  await hook(page, "noise-scale").press("Enter");
  await expect(page.getByTestId("handed-in-epsilon")).toHaveText("The settings are no longer those that were handed in.");
  await expect(page).not.toHaveURL(/handed-in/);
  await page.getByTestId("train-again").click();
  await expect(hook(page, "noise-scale")).toHaveValue("1.1");
  await expect.poll(() => page.url()).toContain("handed-in=40,");
  await page.getByRole("button", { name: "Close the submission" }).click();
  await expect(bar).toHaveCount(0);
  await expect(page).not.toHaveURL(/handed-in/);
});

test("a link's claims are compared with what the page computes", async ({ page, site }) => {
  const verdict = page.getByTestId("handed-in-epsilon");
  await open(page, site, `${query}&handed-in=40,0.99,0.01`);
  await expect(page.getByTestId(says)).toHaveText("99.0% after 40 steps at ε ≤ 0.0100");
  await expect(verdict).toContainText("It does not agree: the link says less.");
  await open(page, site, `${query}&handed-in=40,0.5,30`);
  await expect(verdict).toContainText("less than the link says, so the link's ε holds");
  await open(page, site, `${query}&handed-in=40,0.5,none`);
  await expect(verdict).toContainText("the link says that there is no guarantee");
  await open(page, site, `${query.replace("gaussian", "none")}&handed-in=40,0.5,1`);
  await expect(verdict).toContainText("Claim does not match: Without noise there is no privacy guarantee");
  await open(page, site, `${query.replace("gaussian", "none")}&handed-in=40,0.5,none`);
  await expect(verdict).toContainText("Claim matches: Without noise");
  // Training reveals a false accuracy.
  await open(page, site, `${query}&handed-in=40,0.999,2`);
  await page.getByTestId("train-again").click();
  await expect(page.getByTestId("handed-in-accuracy")).toContainText("not what the link says", { timeout: 60_000 });
});

test("a malformed claim gets an error and is not shown", async ({ page, site }) => {
  for (const wrong of ["", "40", "40,2,1", "40,0.5,-1", "x,y,z", "40,0.5,1,<b>"]) {
    await open(page, site, `${query}&handed-in=${encodeURIComponent(wrong)}&by=Ada`);
    await expect(hook(page, "error")).toContainText("handed-in must be steps, accuracy and ε");
    await expect(page.getByTestId("handed-in")).toHaveCount(0);
  }
});

test("a name can neither reverse the text direction nor inject markup", async ({ page, site }) => {
  const name = "\u202Eevil <img src=x onerror=alert(1)>";
  await open(page, site, `${query}&handed-in=40,0.5,2&by=${encodeURIComponent(name)}`);
  await expect(page.getByTestId("handed-in").locator("bdi")).toHaveText("evil <img src=x onerror=alert(1)>");
  await expect(page.getByTestId("handed-in").locator("img")).toHaveCount(0);
});

test("a playing run cannot be handed in, and a paused one is handed in with the steps done", async ({ page, site }) => {
  await open(page, site, query.replace("steps=40", "steps=100000").replace("lot=256", "lot=32"));
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBeGreaterThan(3);
  await share(page, "hand-in");
  await expect(page.getByTestId("notice")).toContainText("Pause the run first");
  const { step: steps } = await paused(page);
  await handedIn(page);
  const link = new URL(await page.getByTestId("hand-in-link").inputValue());
  expect(link.searchParams.get("handed-in")).toMatch(new RegExp(`^${steps},0\\.\\d+,\\d`));
  expect(link.searchParams.get("steps")).toBe(String(steps));
  await page.goto(link.href);
  await expect(page.getByTestId("handed-in-epsilon")).toContainText("for these settings and steps, as the link says.");
});

test("handing in sends no request", async ({ page, site, watched }) => {
  await open(page, site, query);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  await handedIn(page);
  const before = watched.requests.length;
  await page.getByTestId("hand-in-name").fill("Ada");
  await expect(page.getByTestId("hand-in-link")).toHaveValue(/&by=Ada$/);
  await page.getByTestId("share-copy").click();
  await page.waitForTimeout(500);
  expect(watched.requests.slice(before).filter((url) => url.includes("Ada"))).toEqual([]);
  expect(watched.requests.slice(before)).toEqual([]);
});
