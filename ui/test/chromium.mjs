// Starts the Chromium of the machine, for scripts that use pages.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

/** A browser. */
export function launched() {
  const executablePath = process.env.PATH.split(delimiter).map((path) => join(path, "chromium")).find(existsSync);
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer"] });
}
