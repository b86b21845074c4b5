import { defineConfig } from "@playwright/test";

// Chromium obeys the last flag of a name, so these repeat what Playwright 1.65 passes.
const ENABLED = ["CDPScreenshotNewSurface", "SkipListAccountsWithoutGaiaCookies", "Vulkan"];
const DISABLED = [
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "TcpPortRandomizationWin",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
  // Two hidden address-bar pages in every window of full Chromium: about 1 s of CPU each.
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
];

/** Gives Chromium a WebGPU adapter without a GPU (SwiftShader), and keeps it from calling home. */
export const FLAGS = [
  "--no-sandbox",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-unsafe-webgpu",
  "--use-webgpu-adapter=swiftshader",
  `--enable-features=${ENABLED.join(",")}`,
  `--disable-features=${DISABLED.join(",")}`,
];

/** Full Chromium, and its headless shell, which opens a page in a tenth of the time. */
const CHROMIUM = process.env.CHROMIUM || undefined;
export const SHELL = process.env.CHROMIUM_SHELL || CHROMIUM;

/** Tests of the shipped site. Some measure time, so they run one after the other. */
const SHIPPED = ["load.spec.ts", "train.spec.ts"];
const ENGINES = "engines/**";
/** Tests with this tag run in full Chromium, as visitors have it. */
const JOURNEY = /@journey/;
/** Tests with this tag are variants (engine, width or random draw): `long` in fixtures.ts. */
const LONG = /@long/;
/** Tests with this tag need packages from npm, PyPI or crates.io beside Playwright. */
const PACKAGES = /@packages/;

export default defineConfig({
  testDir: ".",
  outputDir: "test-results",
  workers: 2,
  fullyParallel: true,
  projects: [
    { name: "page", testMatch: "*.spec.ts", testIgnore: [...SHIPPED, ENGINES], grepInvert: [JOURNEY, LONG, PACKAGES] },
    {
      name: "journeys",
      testMatch: "*.spec.ts",
      testIgnore: [...SHIPPED, ENGINES],
      grep: JOURNEY,
      use: { launchOptions: { executablePath: CHROMIUM, args: FLAGS } },
    },
    // The following are for `cargo xtask test --shipped`.
    {
      name: "shipped",
      testMatch: SHIPPED,
      workers: 1,
      fullyParallel: false,
      use: { serviceWorkers: "allow", launchOptions: { executablePath: CHROMIUM, args: FLAGS } },
    },
    { name: "long", testMatch: "*.spec.ts", testIgnore: [...SHIPPED, ENGINES], grep: LONG },
    { name: "packages", testMatch: "*.spec.ts", testIgnore: [...SHIPPED, ENGINES], grep: PACKAGES },
    // Browsers other than Chromium, which Playwright does not drive.
    { name: "engines", testMatch: "engines/*.spec.ts", workers: 1, fullyParallel: false },
  ],
  // A flaky test is a failing test.
  retries: 0,
  forbidOnly: true,
  // Enough to tell a hanging test from a slow one, on any machine.
  timeout: 240_000,
  expect: { timeout: 60_000 },
  use: {
    headless: true,
    viewport: { width: 1440, height: 900 },
    // A first visit would install one in the background: only tests about it allow it.
    serviceWorkers: "block",
    launchOptions: { executablePath: SHELL, args: FLAGS },
    screenshot: "only-on-failure",
  },
});
