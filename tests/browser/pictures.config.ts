import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** The README's pictures, which no test is: `cargo xtask pictures`. */
export default defineConfig(tests, {
  testMatch: "pictures.ts",
  timeout: 600_000,
  expect: { timeout: 300_000 },
});
