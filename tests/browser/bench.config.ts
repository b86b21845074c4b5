import { defineConfig } from "@playwright/test";
import tests from "./playwright.config";

/** Times, which no test is: `cargo xtask bench browser`. */
export default defineConfig(tests, { testMatch: "bench.ts", timeout: 900_000 });
