

test("the chart of ε names each of its lines", async ({ page, site }) => {
  await open(page, site, "?backend=cpu&dataset=synthetic&steps=60");
  await hook(page, "play").click();
  await expect.poll(() => value(page, "step")).toBe(60);
  const chart = page.locator(".chart").filter({ has: page.getByRole("heading", { name: "ε spent" }) });
  const legend = chart.locator(".legend .key");
  await expect(legend.filter({ hasText: /^tight$/ })).toBeVisible();
  const drawn = await chart.locator("svg path").evaluateAll((all) => all.map((each) => each.getAttribute("class") ?? "").filter((name) => name.startsWith("line-")));
  const named = await legend.evaluateAll((all) => all.map((each) => each.className.replace("key ", "")));
  expect(drawn.length).toBeGreaterThan(2);
  for (const line of drawn) expect(named, line).toContain(line);
});
