import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, hook, open, test } from "./fixtures";

// The page runs these kernels on no software adapter, as the CPU is a hundred times faster there.
// The browser's own compiler must accept them all the same.
for (const name of ["scatter", "standardise"]) {
  test(`the browser compiles the kernel ${name}`, async ({ page, site }) => {
    const part = (file: string) => readFileSync(resolve("../../shaders", `${file}.wgsl`), "utf8");
    const code = `${part("shared/scattering")}\n${part(name)}`;
    await page.goto(site.url);
    const messages = await page.evaluate(async (code) => {
      const gpu = (navigator as unknown as { gpu: any }).gpu;
      const device = await (await gpu.requestAdapter()).requestDevice();
      const module = device.createShaderModule({ code });
      const said = (await module.getCompilationInfo()).messages.map((m: any) => `${m.lineNum}: ${m.message}`);
      const made = device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint: "main" } });
      return [...said, ...(await made.then(() => [], (e: Error) => [e.message]))];
    }, code);
    expect(messages).toEqual([]);
  });
}

test("a software adapter leaves scattering features to the CPU, and the page says why", async ({ page, site }) => {
  await open(page, site, "?backend=gpu&dataset=synthetic&model=scattering&lot=1000");
  await expect(hook(page, "backend")).toHaveText("CPU");
  await expect(page.getByTestId("notice")).toContainText("it is software");
});
