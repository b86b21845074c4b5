import { accessible } from "./axe";
import { allControls, choose, expect, hook, open, rows, share, test, value } from "./fixtures";

// A task: the link's `controls=` leaves some settings free and fixes all others.

const query = "?backend=cpu&dataset=synthetic&encoder=clip&noise=gaussian&sigma=2&lot=64&rate=0.5&steps=6&controls=sigma,clip";
const asked = `${query}&task=1&limit=50&goal=1`;

test("a task frees only the settings it names, survives lessons, changes and links, and ends at one click", async ({ page, site, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, site, asked);

  for (const [width, height] of [[320, 640], [390, 844], [1920, 1080], [1440, 900]]) {
    await test.step(`its bar fits a window of ${width} pixels, and its buttons are large enough`, async () => {
      await page.setViewportSize({ width, height });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      for (const name of ["unlock", "task-hand-in"]) {
        const box = (await page.getByTestId(name).boundingBox())!;
        expect(Math.min(box.width, box.height), name).toBeGreaterThanOrEqual(24);
      }
    });
  }

  await test.step("it frees only the settings it names, and says so", async () => {
    await expect(page.getByTestId("task")).toContainText("Read as many test digits as you can");
    await expect(page.getByTestId("task-free")).toHaveText("This task lets you change: Noise scale, Clip norm. All else is fixed.");
    await expect(page.getByTestId("task-progress")).toHaveText(/^The planned steps cost ε ≤ [\d.]+, within the limit of 50\. Press Play/);
    await page.getByText("Advanced", { exact: true }).click();
    const free = await page.locator(".control").evaluateAll((all) =>
      all.flatMap((control) => [...control.querySelectorAll<HTMLInputElement>("input[type=text], input[type=range], select")].filter((field) => !field.disabled).map((field) => field.id || field.ariaLabel)));
    // The number of cores is not a setting: a run is the same to the last bit.
    expect(free.sort()).toEqual(["Clip norm, slider", "Noise scale, slider", "cores", "number-clip", "number-sigma"]);
    await expect(page.getByTestId("preset")).toBeDisabled();
    await expect(page.getByRole("button", { name: "Sweep Lot size: four runs" })).toBeDisabled();
    await expect(page.locator(".own-files")).toBeHidden();
    await accessible(page, "a task");
    await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  });

  await test.step("a lesson uses its own settings in a task, and restores the task's", async () => {
    await page.getByTestId("lessons").locator("summary").click();
    await page.getByTestId("lessons").getByRole("button", { name: /One step in slow motion/ }).click();
    await expect(hook(page, "lot")).toHaveValue("256");
    await expect(hook(page, "lot")).toBeDisabled();
    await page.getByRole("button", { name: "Close the lesson" }).click();
    await expect(hook(page, "lot")).toHaveValue("64");
    await expect(hook(page, "noise-scale")).toHaveValue("2");
    await expect(page.getByTestId("task")).toBeVisible();
  });

  await test.step("the keyboard and dragging change only free settings", async () => {
    const clip = page.locator("#number-clip");
    await expect(clip).toHaveValue("1");
    await clip.press("ArrowUp");
    await expect(clip).not.toHaveValue("1");
    const drag = async (name: string) => {
      const slider = page.getByRole("slider", { name });
      await slider.scrollIntoViewIfNeeded();
      const box = (await slider.boundingBox())!;
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.9, box.y + box.height / 2, { steps: 4 });
      await page.mouse.up();
    };
    await drag("Noise scale, slider");
    await expect(hook(page, "noise-scale")).not.toHaveValue("2");
    await drag("Lot size, slider");
    await expect(hook(page, "lot")).toHaveValue("64");
    await drag("Learning rate, slider");
    await expect(hook(page, "learning-rate")).toHaveValue("0.5");
  });

  await test.step("it survives a change, a reload and a shared link", async () => {
    await hook(page, "noise-scale").fill("3");
    await hook(page, "noise-scale").press("Enter");
    await expect.poll(() => page.url()).toMatch(/sigma=3.*&controls=sigma,clip&task=1&limit=50&goal=1$/);
    await share(page);
    await expect(page.getByTestId("notice")).toContainText("copied");
    const link = await page.evaluate(() => navigator.clipboard.readText());
    expect(link).toBe(page.url());
    for (const again of [() => page.reload(), () => page.goto(link)]) {
      await again();
      await expect(hook(page, "noise-scale")).toHaveValue("3");
      await expect(hook(page, "noise-scale")).toBeEnabled();
      await expect(hook(page, "lot")).toBeDisabled();
      await expect(page.getByTestId("task")).toBeVisible();
    }
  });

  await test.step("at the end its bar says what was reached", async () => {
    await hook(page, "play").click();
    await expect(page.getByTestId("task-progress")).toContainText(/The run has ended at [\d.]+%: the goal of 1% is reached\. Write it down/);
  });

  await test.step("one click ends it", async () => {
    await expect(page).toHaveURL(/controls/);
    await expect(page.getByTestId("preset")).toBeDisabled();
    await page.getByTestId("unlock").click();
    await expect(page.getByTestId("task")).toHaveCount(0);
    for (const name of ["lot", "learning-rate", "noise-family", "encoder"] as const) await expect(hook(page, name)).toBeEnabled();
    await expect(page.getByTestId("preset")).toBeEnabled();
    await expect(page).not.toHaveURL(/controls/);
  });
});

test("an unknown name gets an error, the others lead to their fields by keyboard, and a free preset can be chosen", async ({ page, site }) => {
  await open(page, site, query.replace("lot=64", "lot=48").replace("controls=sigma,clip", "controls=sigma,rate,momentum,preset,magic"));

  await test.step("an unknown name gets an error", async () => {
    await expect(hook(page, "error")).toContainText("“magic” is not a setting");
    await expect(hook(page, "noise-scale")).toBeEnabled();
    await expect(hook(page, "lot")).toBeDisabled();
    await page.getByRole("button", { name: "Dismiss the message" }).click();
  });

  for (const [width, height] of [[1440, 900], [390, 844]]) {
    await test.step(`the names in its sentence lead to their fields by keyboard, in any panel; ${width} pixels`, async () => {
      await page.setViewportSize({ width, height });
      await expect(page.locator("#number-momentum")).not.toBeInViewport();
      for (const [name, field] of [["Learning rate", "#number-rate"], ["Noise scale", "#number-sigma"], ["Momentum", "#number-momentum"]]) {
        await page.getByTestId("task").getByRole("button", { name }).press("Enter");
        await expect(page.locator(field)).toBeFocused();
        await expect(page.locator(field)).toBeInViewport();
        await expect(page.locator(field)).toBeEnabled();
      }
      // Folded, as before the names were followed.
      await page.getByText("Advanced", { exact: true }).click();
      await expect(page.locator("#number-momentum")).toBeHidden();
    });
  }

  await test.step("a free preset can be chosen, whatever it sets", async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await expect(hook(page, "lot")).toHaveValue("48");
    await choose(page, "cpu");
    await expect(hook(page, "lot")).toHaveValue("64");
    await expect(hook(page, "lot")).toBeDisabled();
    await expect(page.getByTestId("task")).toBeVisible();
  });
});

test("a task refuses another run's settings and the lab's noise, ends when a run continues, and does not exist in a plain link or a frame", async ({ page, site }) => {
  test.slow();
  await open(page, site, query.replace("&controls=sigma,clip", ""));
  await expect(page.getByTestId("task")).toHaveCount(0);
  await expect(hook(page, "lot")).toBeEnabled();
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(6);
  await hook(page, "lot").fill("48");
  await hook(page, "lot").press("Enter");
  await expect(rows(page)).toHaveCount(1);
  // The same page with a task.
  await open(page, site, query.replace("lot=64", "lot=48"));
  await expect(rows(page)).toHaveCount(1);
  await rows(page).getByRole("button", { name: "Again" }).click();
  await expect(page.getByTestId("notice")).toContainText("This task lets you change");
  await expect(hook(page, "lot")).toHaveValue("48");
  await allControls(page);
  await page.getByTestId("noise-lab").click();
  await page.getByTestId("lab").getByRole("button", { name: /Train with/ }).first().click();
  await expect(hook(page, "encoder")).toHaveValue("clip");
  await expect(page.getByTestId("notice")).toContainText("“Unlock all” ends the task");
  await page.getByTestId("noise-lab").click();
  await rows(page).getByRole("button", { name: /^Continue/ }).click();
  await expect(hook(page, "lot")).toHaveValue("64");
  await expect(page.getByTestId("task")).toHaveCount(0);
  await expect(hook(page, "lot")).toBeEnabled();
  await page.goto(`${site.url}embed.html?backend=cpu&dataset=synthetic&controls=sigma,lot`);
  await expect(page.locator(".embed-controls").getByTestId("lot")).toBeEnabled();
  await expect(page.getByTestId("task")).toHaveCount(0);
});
