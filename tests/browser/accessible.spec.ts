import { accessible, FRAME } from "./axe";
import { allControls, expect, hook, open, share, test, value } from "./fixtures";

const query = "?backend=cpu&dataset=synthetic";

test("the opened set-up and its messages are accessible", async ({ page, site }) => {
  // The lot size 0 is refused, and the error says so.
  await open(page, site, `${query}&encoder=envelope&noise=student-t&schedule=linear&steps=50&lot=0`);
  await expect(hook(page, "error")).toContainText("“0” is not");
  await share(page);
  await expect(page.getByTestId("notice")).toBeVisible();
  await page.getByText("Advanced", { exact: true }).click();
  await page.locator(".hint").evaluateAll((all) => all.forEach((hint) => (hint as HTMLElement).click()));
  await expect(page.locator("#nu-hint")).toBeVisible();
  await accessible(page, "envelope, Student-t, Advanced, all sentences, an error and a notice");
  await hook(page, "noise-family").selectOption("custom");
  await expect(page.getByTestId("density")).toBeVisible();
  await page.getByTestId("density").fill("x");
  await page.getByTestId("density").press("Enter");
  await expect(page.locator("#density-error")).not.toBeEmpty();
  await hook(page, "lot").fill("0");
  await hook(page, "lot").press("Enter");
  await expect(page.locator("#error-lot")).not.toBeEmpty();
  await accessible(page, "a density and a lot that are refused");
  await hook(page, "noise-family").selectOption("none");
  await expect(hook(page, "noise-scale")).toBeDisabled();
  await accessible(page, "no noise");
});

test("menus, the list of requests and the help are accessible", async ({ page, site }) => {
  await open(page, site, query);
  const requests = page.getByTestId("requests");
  await requests.locator("summary").click();
  await expect(requests.getByRole("row").nth(3)).toBeVisible();
  await page.locator("details.badge summary").click();
  await page.getByTestId("lessons").locator("summary").click();
  await expect(page.getByTestId("lessons").getByRole("button").first()).toBeVisible();
  await accessible(page, "lessons, backend and requests, opened");
  await page.getByTestId("lessons").locator("summary").click();
  await allControls(page);
  await page.getByTestId("export").locator("summary").click();
  await expect(page.getByTestId("export").getByRole("button").first()).toBeVisible();
  await accessible(page, "the menu of exports");
  await page.getByRole("button", { name: "Help and keys" }).click();
  await expect(page.getByRole("dialog")).toBeVisible();
  await accessible(page, "help");
});

test("each tab on a phone is accessible", async ({ page, site }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, site, query);
  await hook(page, "step-once").click();
  await expect.poll(() => value(page, "step")).toBe(1);
  for (const tab of ["Settings", "Stage", "Results"]) {
    await page.getByRole("navigation", { name: "Panels" }).getByRole("button", { name: tab }).click();
    await accessible(page, tab);
  }
});

test("the embed and its poster are accessible", async ({ page, site }) => {
  await page.setViewportSize({ width: 640, height: 400 });
  await page.goto(`${site.url}embed.html${query}&preset=cpu&poster=1&controls=preset,dataset,sigma,noise,denoiser`);
  await expect(page.locator("#poster")).toBeVisible();
  await accessible(page, "poster", FRAME);
  await page.locator("#poster").click();
  await expect(hook(page, "step")).not.toHaveAttribute("data-value", "0");
  await hook(page, "pause").click();
  await accessible(page, "embed", FRAME);
});
