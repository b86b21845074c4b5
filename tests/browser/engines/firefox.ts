import puppeteer from "puppeteer-core";
import { existsSync } from "node:fs";
import type { Driver, Tab } from "./driver";

const path = process.env.FIREFOX ?? "";

/** Firefox, driven by WebDriver BiDi. */
export const firefox: Driver = {
  name: "Firefox",
  missing: existsSync(path) ? undefined : "FIREFOX names no Firefox",
  async open(): Promise<Tab> {
    // Uses a temporary profile, deleted with the browser.
    const browser = await puppeteer.launch({ browser: "firefox", executablePath: path, headless: true, defaultViewport: { width: 1440, height: 900 } });
    const [page] = await browser.pages();
    const errors: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(`${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => errors.push(String(error)));
    return {
      errors,
      goto: async (url) => void (await page.goto(url)),
      reload: async () => void (await page.reload()),
      evaluate: (script, ...args) => page.evaluate(script as never, ...args),
      click: (selector) => page.locator(selector).click(),
      close: () => browser.close(),
    };
  },
};
