import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** The README's pictures and film strips (`cargo xtask pictures`). Projects would add tests. */
export default defineConfig({
  ...tests,
  projects: undefined,
  testMatch: ["pictures.ts", "film.ts"],
  timeout: 900_000,
  expect: { timeout: 300_000 },
});
