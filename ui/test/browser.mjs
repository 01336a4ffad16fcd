// Opens a report in Chromium from disk with the network off, and uses it: what is on its first screen, filter, point, keys, tables, theme, a link to
// a view, the findings, and axe.
//
//   node ui/test/browser.mjs REPORT.html [SCREENSHOTS]
//
// The report is one of a study with costs. Fails with the first thing that does not hold.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launched } from "./chromium.mjs";
import { smallTargets } from "./targets.mjs";

const [report, screenshots] = process.argv.slice(2);
const url = pathToFileURL(resolve(report)).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const browser = await launched();
try {
  const context = await browser.newContext({ offline: true, viewport: { width: 1000, height: 900 } });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || request.url().startsWith("blob:") || problems.push(`asks for ${request.url()}`));

  const began = performance.now();
  await page.goto(url);
  const chart = page.locator("main .drawing > svg").first();
  await chart.waitFor();
  console.log(`opened in ${Math.round(performance.now() - began)} ms`);
  const verdict = await page.locator(".verdict").boundingBox();
  assert.ok(verdict !== null && verdict.y < 900, "the verdict is on the first screen");
  // What is read first: the answer, whether it may be believed, and its picture; then what the checks found.
  await page.setViewportSize({ width: 1400, height: 900 });
  const tops = [];
  for (const part of ["h1", ".verdict", "main .drawing > svg", ".findings"]) {
    tops.push((await page.locator(part).first().boundingBox()).y);
  }
  assert.deepEqual(tops, tops.toSorted((one, other) => one - other), "the order of the page");
  assert.ok(tops[2] < 900, `a chart begins on the first screen, and not at ${tops[2]}`);
  assert.match(await page.locator("header .provenance").innerText(), /^(Sittings from )?\d{4}-\d\d-\d\d \d\d:\d\d .*processors.*hoptax \d/, "when, where and by what it was measured");
  assert.equal(await page.getByRole("button", { name: "Save as JSON" }).count(), 1);
  await page.setViewportSize({ width: 1000, height: 900 });
  const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(beyond <= 0, `${beyond} pixels beyond a width of 1000`);

  const rows = () => chart.locator("circle.point").count();
  const all = await rows();
  assert.ok(all > 3, `${all} points`);
  const label = await chart.locator("text.label").first().textContent();
  await page.getByLabel("Filter").fill(label.replace(/…/g, " ").split(" ")[0].slice(0, 12));
  await page.waitForFunction((before) => document.querySelectorAll("main .drawing > svg")[0].querySelectorAll("circle.point").length < before, all);
  assert.ok((await rows()) >= 1, "the filter leaves what it names");
  assert.match(page.url(), /#.*text=/, "the address has the filter");
  const linked = page.url();

  await page.getByLabel("Filter").fill("nothing has this name");
  await page.getByRole("button", { name: "Show all" }).click();
  assert.equal(await rows(), all, "all rows are back");

  await chart.locator("circle.point").first().evaluate((one) => one.scrollIntoView({ block: "center" }));
  const point = await chart.locator("circle.point").first().boundingBox();
  await page.mouse.move(point.x + point.width / 2, point.y + point.height / 2);
  const tip = page.locator(".tip");
  assert.match(await tip.innerText(), /±|to/, "a point has its interval");
  // A pointer that rests may move on to what is said, and Escape takes it away.
  await page.locator(".tip.rested").waitFor();
  const [said, place] = [await tip.innerText(), await tip.boundingBox()];
  await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
  assert.equal(await tip.innerText(), said, "the pointer is on what it has brought up");
  await page.keyboard.press("Escape");
  await tip.waitFor({ state: "detached" });

  await chart.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const heard = await page.locator("[aria-live=polite]").first().textContent();
  assert.match(heard, /:.*(±|to)/, "keys say the value");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Close", exact: true }).waitFor();
  assert.match(page.url(), /arm=/, "the address has the arm");
  await page.getByRole("button", { name: "Close", exact: true }).click();
  assert.equal(await chart.evaluate((one) => one === document.activeElement), true, "the focus is on the chart when its button is gone");

  await page.getByRole("button", { name: "Show as table" }).first().click();
  assert.equal(await page.locator("main .figure").first().locator("tbody tr").count() >= all, true, "the table has every row");
  assert.match(page.url(), /tables=costs/, "the address has the table");
  await page.getByRole("button", { name: "Show as chart" }).first().click();

  // Nothing opens on paper.
  const advice = page.locator(".findings details p").last();
  assert.equal(await advice.isVisible(), false, "the last finding is folded");
  await page.emulateMedia({ media: "print" });
  assert.equal(await advice.isVisible(), true, "what is folded is on paper");
  await page.emulateMedia({ media: null });

  const measures = await page.getByLabel("Measure").locator("option").allTextContents();
  await page.getByLabel("Measure").selectOption(measures.at(-1));
  assert.match(page.url(), /measure=/);

  await page.evaluate(axe);
  for (const theme of ["dark", "light"]) {
    const button = page.getByRole("button", { name: theme === "dark" ? "Dark theme" : "Light theme" });
    if (await button.count()) {
      await button.click();
    }
    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(ground === "rgb(255, 255, 255)", theme === "light", `${theme}: ${ground}`);
    // The colours of both themes; everything else is the same in both. Of the rows of a table, which are alike, the first are enough.
    const where = { exclude: ["tbody tr:nth-child(n+4)"] };
    const options = { resultTypes: ["violations"], ...(theme === "dark" ? { runOnly: ["color-contrast"] } : {}) };
    const { violations } = await page.evaluate(([where, options]) => globalThis.axe.run(where, options), [where, options]);
    const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
    assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes[0]?.html}`), [], `axe, ${theme}`);
    if (screenshots) {
      await page.screenshot({ path: `${screenshots}/wide-${theme}.png`, fullPage: true });
    }
  }

  assert.deepEqual(await smallTargets(page), [], "what is pressed has 24 pixels");
  await page.locator(".verdict a").click();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "part-findings", "the verdict leads to the findings");
  const long = page.locator("main .scroll", { has: page.locator("tbody tr:nth-child(40)") }).first();
  const [before, after, scrolled] = await long.evaluate((box) => {
    const top = () => box.querySelector("thead th").getBoundingClientRect().top - box.getBoundingClientRect().top;
    const before = top();
    box.scrollTop = 400;
    return [before, top(), box.scrollTop];
  });
  assert.ok(scrolled > 0 && Math.abs(after - before) < 1, `the heading of a long table stays: ${before}, ${after} after ${scrolled} pixels`);
  const other = await context.newPage();
  await other.goto(linked);
  await other.locator("main .drawing > svg").first().waitFor();
  assert.ok((await other.locator("main .drawing > svg").first().locator("circle.point").count()) < all, "a link shows the view");

  await page.setViewportSize({ width: 320, height: 800 });
  assert.equal(await long.evaluate((box) => getComputedStyle(box).maxHeight), "none", "on a phone, the window alone scrolls");
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels beyond a phone`);
  if (screenshots) {
    await page.screenshot({ path: `${screenshots}/narrow-light.png`, fullPage: true });
  }
  assert.doesNotMatch(await page.title(), /^taken/, "text of a result is not markup");
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
}
