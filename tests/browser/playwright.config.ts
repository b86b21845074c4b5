import { defineConfig } from "@playwright/test";

/** What gives Chromium a WebGPU adapter without a GPU (SwiftShader), and keeps it from calling home. */
export const FLAGS = [
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  "--enable-features=Vulkan",
];

const SHIPPED = ["load.spec.ts", "train.spec.ts"];

export default defineConfig({
  testDir: ".",
  outputDir: "test-results",
  workers: 2,
  fullyParallel: true,
  projects: [
    // What a visitor waits for, and training, over the site that ships: one after the other, as some measure time.
    { name: "shipped", testMatch: SHIPPED, workers: 1, fullyParallel: false },
    // The rest side by side, over a site that is built sooner.
    { name: "rest", testMatch: "*.spec.ts", testIgnore: [...SHIPPED, "engines/**"] },
    // Other browsers than Chromium, which Playwright does not drive.
    { name: "engines", testMatch: "engines/*.spec.ts", workers: 1, fullyParallel: false },
  ],
  // A test that passes only now and then is a failing test.
  retries: 0,
  forbidOnly: true,
  // These two tell what hangs from what is slow, on a machine as slow as there is. What a visitor waits for is limited in
  // the tests that measure it.
  timeout: 240_000,
  expect: { timeout: 60_000 },
  use: {
    headless: true,
    viewport: { width: 1440, height: 900 },
    launchOptions: { executablePath: process.env.CHROMIUM || undefined, args: FLAGS },
    screenshot: "only-on-failure",
  },
});
