import { Builder, By, Capabilities } from "selenium-webdriver";
import { DriverService } from "selenium-webdriver/remote/index.js";
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import type { Driver, Tab } from "./driver";

const path = process.env.WEBKIT_DRIVER ?? "";
const screen = process.env.XVFB ?? "";

/** WebKitGTK's MiniBrowser, driven by WebDriver on a virtual screen: it has no headless mode. */
export const webkit: Driver = {
  name: "WebKit",
  missing: !existsSync(path) ? "WEBKIT_DRIVER names no WebKitWebDriver" : !existsSync(screen) ? "XVFB names no Xvfb" : undefined,
  async open(): Promise<Tab> {
    const xvfb = await framebuffer();
    const service = new DriverService.Builder(path)
      .setLoopback(true)
      // With pipes, a reader would wait for each of the browser's processes to end.
      .setStdio("ignore")
      .setEnvironment({
        ...process.env,
        DISPLAY: xvfb.display,
        // Its sandbox and its compositor need what a container lacks.
        WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
        WEBKIT_DISABLE_COMPOSITING_MODE: "1",
      })
      .build();
    const end = async () => {
      await service.kill();
      xvfb.process.kill();
    };
    try {
      const driver = await new Builder().usingServer(await service.start()).withCapabilities(new Capabilities({ browserName: "MiniBrowser" })).build();
      await driver.manage().window().setRect({ x: 0, y: 0, width: 1440, height: 900 });
      return {
        // WebDriver does not report the console.
        errors: [],
        goto: (url) => driver.get(url),
        reload: () => driver.navigate().refresh(),
        evaluate: (script, ...args) => driver.executeScript(script, ...args),
        click: (selector) => driver.findElement(By.css(selector)).click(),
        close: () => driver.quit().finally(end),
      };
    } catch (error) {
      await end();
      throw error;
    }
  },
};

/** Starts a virtual X server on the first free display. */
async function framebuffer(): Promise<{ process: ChildProcess; display: string }> {
  const process = spawn(screen, ["-displayfd", "3", "-screen", "0", "1440x900x24", "-nolisten", "tcp", "-terminate"], { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const number = await new Promise<string>((done, fail) => {
    process.once("error", fail);
    process.once("exit", (code) => fail(new Error(`Xvfb ended with ${code}`)));
    (process.stdio[3] as Readable).once("data", (line) => done(String(line).trim()));
  });
  return { process, display: `:${number}` };
}
