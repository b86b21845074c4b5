import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** Times, which no test is: `cargo xtask bench browser`, `page`, `cores` and `cards`. A project would bring tests of its own. */
export default defineConfig({
  ...tests,
  projects: undefined,
  testMatch: ["bench.ts", "bench-page.ts", "bench-cores.ts", "bench-cards.ts"],
  timeout: 900_000,
});
