// Opens pages of results of all kinds in Chromium from disk with the network off: each chart is drawn, says its values by key, and has a table;
// parts of a bill and functions of a graph are switched off; no page is wider than 1,000 pixels, or than a phone; axe finds nothing serious in either theme.
//
//   node ui/test/kinds.mjs FOLDER [SCREENSHOTS]
//
// FOLDER has the pages. Fails with the first thing that does not hold.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launched } from "./chromium.mjs";
import { useSwitches } from "./switches.mjs";

const [folder, screenshots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pages = readdirSync(folder).filter((name) => name.endsWith(".html"));
assert.ok(pages.length > 0, `${folder} has pages`);

const browser = await launched();

/** Steps through each chart by key, and looks at its table. */
async function useCharts(page, name) {
  const figures = page.locator("main > section .figure:visible");
  const count = await figures.count();
  for (let place = 0; place < count; place += 1) {
    const figure = figures.nth(place);
    const chart = figure.locator(".drawing > svg");
    const title = `${name}, chart ${place + 1}`;
    assert.equal(await chart.count(), 1, `${title} is drawn`);
    assert.ok((await chart.locator("g > *").count()) > 0, `${title} has shapes`);
    const words = await chart.locator("text").allTextContents();
    assert.ok(words.every((text) => !/NaN|undefined|Infinity/.test(text)), `${title}: ${words.join(" ")}`);
    await chart.focus();
    await page.keyboard.press("End");
    const said = await figure.locator("[aria-live=polite]").first().textContent();
    assert.match(said, /\S+: \S+/, `${title}: keys say the value`);
    await page.keyboard.press("Escape");
    await figure.getByRole("button", { name: "Show as table" }).click();
    assert.ok((await figure.locator("tbody tr").count()) > 0, `${title}: the table has rows`);
    await figure.getByRole("button", { name: "Show as chart" }).click();
  }
  return count;
}

/** Switches the first function of a drawn graph off and on again, by key. */
async function useGraph(page) {
  const chart = page.locator("main .drawing > svg", { has: page.locator("circle.node") });
  assert.equal(await chart.count(), 1, "the services are drawn");
  await chart.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("fieldset.parts input:not(:checked)").length === 1);
  assert.equal(await chart.locator("rect.step.off").count(), 1, "the function is off in the graph");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("fieldset.parts input:not(:checked)") === null);
  await page.keyboard.press("Escape");
}

/** Goes into a frame of a flame graph and out again, by key. */
async function useFlame(page, name) {
  const chart = page.locator("main .drawing > svg", { has: page.locator("rect.frame") });
  if ((await chart.count()) === 0) {
    return;
  }
  const out = page.getByRole("button", { name: "Show all frames" });
  const all = await chart.locator("rect.frame:not(.around)").count();
  await chart.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await out.waitFor();
  assert.match(page.url(), /frame=/, `${name}: the address has the frame`);
  assert.ok((await chart.locator("rect.frame:not(.around)").count()) < all, `${name}: only its calls are left`);
  await page.keyboard.press("Escape");
  await out.waitFor({ state: "detached" });
  assert.equal(await chart.locator("rect.frame:not(.around)").count(), all, `${name}: all frames are back`);
  await page.keyboard.press("Escape");
}

/** Pages whose parts can be switched off. */
const SWITCHED = ["bill.html", "size.html"];

try {
  const context = await browser.newContext({ offline: true, viewport: { width: 1000, height: 900 } });
  let charts = 0;
  // One tab for all: each new one would start a process.
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || problems.push(`asks for ${request.url()}`));
  for (const name of pages) {
    await page.goto(pathToFileURL(resolve(folder, name)).href);
    await page.locator("h1").waitFor();
    charts += await useCharts(page, name);
    const switches = await useSwitches(page, name);
    assert.ok(switches > 1 || !SWITCHED.includes(name), `${name} has switches`);
    await useFlame(page, name);
    if (name === "size.html") {
      await useGraph(page);
    }
    await page.evaluate(axe);
    for (const theme of ["dark", "light"]) {
      const button = page.getByRole("button", { name: theme === "dark" ? "Dark theme" : "Light theme" });
      if (await button.count()) {
        await button.click();
      }
      const options = { resultTypes: ["violations"], ...(theme === "dark" ? { runOnly: ["color-contrast"] } : {}) };
      const where = { exclude: ["tbody tr:nth-child(n+4)"] };
      const { violations } = await page.evaluate(([where, options]) => globalThis.axe.run(where, options), [where, options]);
      const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
      assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes[0]?.html}`), [], `axe, ${name}, ${theme}`);
      // Colours make nothing wider.
      const widths = theme === "light" || screenshots ? [["wide", 1000], ["narrow", 390]] : [];
      for (const [words, width] of widths) {
        await page.setViewportSize({ width, height: 900 });
        // A chart is drawn again for the new width.
        await page.waitForFunction((width) => [...document.querySelectorAll("main > section .drawing > svg")].every((svg) => svg.width.baseVal.value <= width), width);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${name}: ${overflow} pixels beyond a width of ${width}`);
        if (screenshots) {
          await page.screenshot({ path: join(screenshots, `${name.replace(/\.html$/, "")}-${words}-${theme}.png`), fullPage: true });
        }
      }
      await page.setViewportSize({ width: 1000, height: 900 });
    }
    assert.deepEqual(problems, [], name);
  }
  assert.ok(charts > 0, "some page has a chart");
  console.log(`${pages.length} pages, ${charts} charts`);
} finally {
  await browser.close();
}
