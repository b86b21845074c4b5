/** The network builder: layers are typed, added, moved and removed, and the run uses them. */
import { expect, hook, open, test, value } from "./fixtures";

test("layers are added, changed, moved and removed; invalid ones get an error, and the run keeps the last valid ones", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&steps=30");
  await page.locator("#model").selectOption("built");
  const builder = page.getByTestId("builder");
  const layers = async () => builder.getByTestId("layer").evaluateAll((all) => all.map((each) => (each as HTMLInputElement).value));
  await expect.poll(layers).toEqual(["conv 8 5x5/2 same", "tanh", "maxpool 2", "dense 10"]);
  await expect(page.getByTestId("builder-size")).toContainText("4,138 parameters");
  await page.getByTestId("builder-add").selectOption("groupnorm 4");
  await expect.poll(layers).toEqual(["conv 8 5x5/2 same", "tanh", "maxpool 2", "groupnorm 4", "dense 10"]);
  await builder.getByRole("button", { name: "Move groupnorm 4 up" }).click();
  await builder.getByTestId("layer").nth(2).press("Alt+ArrowUp");
  await expect.poll(layers).toEqual(["conv 8 5x5/2 same", "groupnorm 4", "tanh", "maxpool 2", "dense 10"]);
  await expect(page).toHaveURL(/layers=conv%208%205x5%2F2%20same,%20groupnorm%204,%20tanh/);
  // Seven channels do not divide into four groups.
  const first = builder.getByTestId("layer").first();
  await first.fill("conv 7 5x5/2 same");
  await first.press("Enter");
  await expect(page.getByTestId("builder-error")).toContainText("layer 2: 7 channels do not split into 4 equal groups. Until this is fixed, the run keeps the last valid layers.");
  await expect(page).toHaveURL(/layers=conv%208/);
  await builder.getByRole("button", { name: "Remove groupnorm 4" }).click();
  await expect(page.getByTestId("builder-error")).toBeEmpty();
  await expect(page).toHaveURL(/layers=conv%207%205x5%2F2%20same,%20tanh/);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(30);
  await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0.2);
});

test("a link sets layers, and invalid layers in a link are ignored with an error", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&layers=dense%2032,relu,dense%2010&steps=10");
  await expect(page.getByTestId("builder").getByTestId("layer")).toHaveCount(3);
  await open(page, site, "?backend=cpu&dataset=synthetic&layers=dense%201");
  await expect(hook(page, "error")).toContainText("In the link, layers: the network ends in dense 1; its last layer must be dense, with one output per class");
});
