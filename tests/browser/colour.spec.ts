/** Images other than digits: models adapt, classes have names, digit-only panels are hidden. */
import { accessible } from "./axe";
import { expect, hook, open, test, value } from "./fixtures";

test("a model chosen for digits is adapted to colour images, trains, and is adapted back", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&model=cnn-tanh&encoder=clip&noise=gaussian&sigma=0.6&lot=256&rate=2&steps=60");
  await expect(page.getByTestId("digit-pad")).toBeVisible();
  await page.locator("#dataset").selectOption("colour");
  const builder = page.getByTestId("builder");
  await expect(builder).toContainText("The image 3×32×32");
  await expect(builder.getByTestId("layer").first()).toHaveValue("conv 16 8x8/2 same");
  await expect(page).toHaveURL(/layers=input%203x32x32,%20conv%2016/);
  await expect(page.getByTestId("digit-pad")).toBeHidden();
  // A last layer with too few outputs for the classes is refused at its field.
  const last = builder.getByTestId("layer").last();
  await last.fill("dense 9");
  await last.press("Enter");
  await expect(page.getByTestId("builder-error")).toContainText("the network ends in dense 9, but these images have 10 classes; end it in dense 10");
  await last.fill("dense 10");
  await last.press("Enter");
  await expect(page.getByTestId("builder-error")).toBeEmpty();
  await page.locator("#model").selectOption("linear");
  await expect(page).toHaveURL(/layers=input%203x32x32,%20dense%2010/);
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 120_000 }).toBe(60);
  // Chance is 0.1 with ten classes; without noise it is about 0.5.
  await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0.25);
  await page.getByTestId("who-pays").locator("summary").first().click();
  await expect(page.getByTestId("by-digit")).toContainText("triangle", { timeout: 60_000 });
  await expect(page.getByTestId("by-digit").getByRole("row")).toHaveCount(11);
  await accessible(page, "who pays, of colour images");
  await page.locator("#dataset").selectOption("synthetic");
  await expect(page.locator("#model")).toHaveValue("linear");
  await expect(builder).toHaveCount(0);
  await expect(page.getByTestId("digit-pad")).toBeVisible();
});

test("one image is followed through the network, by hand and in slow motion", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&layers=conv%208%205x5%2F2%20same,tanh,maxpool%202,dense%2010&encoder=clip&clip=0.5&noise=gaussian&sigma=2&lot=64&steps=50");
  const follow = page.getByTestId("follow");
  await follow.locator("summary").click();
  await expect(follow).toContainText("Take a step to follow the ringed image");
  await hook(page, "step-once").click();
  const says = page.getByTestId("follow-says");
  // The last stage, the effect of the noise, is shown first.
  await expect(says).toContainText("The pictures above show whether that hides it.");
  await expect(follow.locator(".follow-way li")).toHaveCount(6);
  const at = page.getByTestId("follow-at");
  await at.fill("0");
  await expect(says).toContainText("Pixels: 784 numbers");
  await expect(follow.locator(".follow-sheet.lit")).toHaveCount(1);
  await at.press("ArrowRight");
  await expect(says).toContainText("Convolution: each kernel looks for one pattern");
  await expect(follow.locator(".follow-sheet.lit")).toHaveCount(2);
  await accessible(page, "an image on its way");
  // `accessible` set reduced motion, under which the button jumps to the end at once.
  await page.emulateMedia({ reducedMotion: "no-preference" });
  // Records the sentences, each of which stays for less than a second.
  await says.evaluate((element) => {
    const seen: string[] = ((window as unknown as { seen: string[] }).seen = []);
    new MutationObserver(() => void seen.push(element.textContent ?? "")).observe(element, { childList: true, characterData: true, subtree: true });
  });
  const seen = () => page.evaluate(() => (window as unknown as { seen: string[] }).seen.join(" | "));
  await page.getByTestId("follow-play").click();
  await expect.poll(seen, { timeout: 60_000 }).toMatch(/Pixels: 784[^]*Max-pooling[^]*And back[^]*The pictures above show whether that hides it\./);
  // Another image takes another path.
  const ringed = page.locator("button[aria-pressed=true]").and(page.getByRole("button", { name: /, \d+ of the / }));
  const others = page.locator("button[aria-pressed=false]").and(page.getByRole("button", { name: /, \d+ of the / }));
  const way = () => follow.evaluate((element) => element.textContent + [...element.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL()).join());
  const lengths = new Set<string | null>();
  const read = async () => lengths.add(await page.getByTestId("follow-lengths").textContent());
  await read();
  for (const other of [1, 2]) {
    const [name, before] = [(await ringed.getAttribute("aria-label"))!, await way()];
    await others.nth(other).click();
    await expect(ringed).not.toHaveAttribute("aria-label", name);
    await expect.poll(way).not.toBe(before);
    await read();
  }
  // Two lengths may agree to the digits shown.
  expect(lengths.size).toBeGreaterThan(1);
});

test("a fixed network's features are the first layer and are computed before the first step", async ({ page, site }) => {
  const asked: string[] = [];
  page.on("request", (request) => { if (request.url().includes("extractor.pretrained")) asked.push(request.url()); });
  await open(page, site, "?backend=cpu&dataset=colour&layers=dense%2010&encoder=clip&noise=gaussian&sigma=0.6&lot=256&rate=4&steps=80");
  const layers = () => page.getByTestId("builder").getByTestId("layer").evaluateAll((all) => all.map((each) => (each as HTMLInputElement).value));
  await page.getByTestId("builder-add").selectOption("scattering");
  await expect.poll(layers).toEqual(["scattering", "dense 10"]);
  await expect(page.getByTestId("builder-size")).toContainText("38,890 parameters");
  expect(asked).toEqual([]);
  // One kind of features at a time, always as the first layer.
  await page.getByTestId("builder-add").selectOption("extractor");
  await expect.poll(layers).toEqual(["extractor", "dense 10"]);
  await page.getByTestId("builder").getByTestId("layer").first().press("Alt+ArrowDown");
  await expect(page.getByTestId("builder-error")).toContainText("layer 2, “extractor”, computes features of the image");
  await page.getByTestId("builder").getByTestId("layer").nth(1).press("Alt+ArrowUp");
  await expect(page.getByTestId("builder-error")).toBeEmpty();
  await hook(page, "play").click();
  await expect(page.getByTestId("features")).toHaveAttribute("title", /^Features of [\d,]+ of 20,000 training images$/, { timeout: 60_000 });
  await expect(page.getByTestId("notice")).toContainText("Before the first step, the features");
  await expect.poll(() => value(page, "step"), { timeout: 120_000 }).toBe(80);
  await expect(page.getByTestId("features")).toHaveCount(0);
  await expect(page.getByTestId("notice"), "what is over is said no more").toHaveCount(0);
  await expect.poll(() => value(page, "accuracy")).toBeGreaterThan(0.6);
  expect(asked.length).toBeGreaterThan(0);
});

test("a feature network that fails to load is reported, and another model trains", async ({ page, site, watched }) => {
  watched.allowed.push(/ERR_FAILED|Failed to fetch/);
  await page.route("**/extractor.pretrained*", (route) => route.abort());
  await open(page, site, "?backend=cpu&dataset=synthetic&layers=extractor,%20dense%2010&lot=64&steps=20");
  await expect(hook(page, "error")).toContainText("The network that finds features did not arrive");
  await page.locator("#model").selectOption("linear");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step"), { timeout: 60_000 }).toBe(20);
});
