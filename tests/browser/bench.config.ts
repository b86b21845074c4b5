import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** Times, which no test is: `cargo xtask bench browser`, `page` and `cards`. */
export default defineConfig(tests, { testMatch: ["bench.ts", "bench-page.ts", "bench-cards.ts"], timeout: 900_000 });
