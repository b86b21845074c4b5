import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** Benchmarks: `cargo xtask bench browser`, `page`, `cores` and `cards`. Projects add tests. */
export default defineConfig({
  ...tests,
  projects: undefined,
  testMatch: ["bench.ts", "bench-page.ts", "bench-cores.ts", "bench-cards.ts"],
  timeout: 900_000,
});
