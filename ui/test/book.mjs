// Opens all pages of the book in Chromium from disk with the network off, on a wide screen and on a phone: no page sticks out of its
// window, none asks for what is elsewhere, and each has its heading and its pictures.
//
//   node ui/test/book.mjs FOLDER [SCREENSHOTS]
//
// FOLDER is the output of mdBook. Fails with all that does not hold. Keeps screenshots of a page of each kind.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launched } from "./chromium.mjs";

const [folder, screenshots] = process.argv.slice(2);
const WINDOWS = { wide: { width: 1280, height: 1400 }, narrow: { width: 390, height: 1400 } };
/** Files of mdBook that are no pages, and pages of results that the documents link. */
const OTHERS = new Set(["404.html", "toc.html", "report.html"]);
/** A page of each kind, to look at. */
const SHOWN = [
  "README", "guide/first-ten-minutes", "guide/results", "guide/questions", "guide/install", "guide/operators", "guide/comparison",
  "reference/method", "reference/commands", "studies/quick", "functions/README", "functions/jwt", "checks/steal", "results/price-list/README",
];

const pages = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".html") && !OTHERS.has(name.split("/").at(-1)));
assert.ok(pages.length > 150, `${pages.length} pages: the book has more`);
assert.deepEqual(SHOWN.filter((name) => !pages.includes(`${name}.html`)), [], "pages to look at that the book lacks");

/** By how much a page sticks out of its window, and the first element that does; what scrolls by itself does not. */
function beyond() {
  const main = document.querySelector("main");
  const parts = [document.documentElement, main.parentElement, main];
  const pixels = Math.max(...parts.map((part) => part.scrollWidth - part.clientWidth));
  const edge = main.getBoundingClientRect().right;
  const scrolls = (element) => ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX);
  const isInside = (element) => {
    for (let above = element.parentElement; above !== main; above = above.parentElement) {
      if (scrolls(above)) return true;
    }
    return false;
  };
  const first = [...main.querySelectorAll("*")].find((one) => one.getBoundingClientRect().right > edge + 1 && !isInside(one));
  return { pixels, first: first === undefined ? "" : first.textContent.trim().slice(0, 60) };
}

const browser = await launched();
const faults = [];
try {
  for (const [window, viewport] of Object.entries(WINDOWS)) {
    const context = await browser.newContext({ offline: true, viewport, colorScheme: window === "wide" ? "light" : "dark" });
    const page = await context.newPage();
    let name = "";
    page.on("pageerror", (error) => faults.push(`${name}, ${window}: ${error}`));
    page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || faults.push(`${name}, ${window}: asks for ${request.url()}`));
    for (name of pages) {
      await page.goto(pathToFileURL(resolve(folder, name)).href);
      if ((await page.locator("main h1").count()) === 0) faults.push(`${name}, ${window}: it has no heading`);
      const { pixels, first } = await page.evaluate(beyond);
      if (pixels > 1) faults.push(`${name}, ${window}: ${pixels} pixels beyond its window: ${first}`);
      const images = await page.locator("main img").evaluateAll((all) => all.filter((one) => one.complete && one.naturalWidth === 0).length);
      if (images > 0) faults.push(`${name}, ${window}: ${images} pictures are missing`);
      if (screenshots !== undefined && SHOWN.includes(name.replace(/\.html$/, ""))) {
        mkdirSync(screenshots, { recursive: true });
        await page.screenshot({ path: join(screenshots, `${name.replace(/\.html$/, "").replaceAll("/", "-")}-${window}.png`) });
      }
    }
    await context.close();
  }
} finally {
  await browser.close();
}
assert.deepEqual([...new Set(faults)], [], "the pages of the book");
console.log(`${pages.length} pages, wide and narrow`);
