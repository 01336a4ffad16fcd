// Opens pages of results of all kinds in Chromium from disk with the network off: each chart is drawn, says its values by key, and has a table;
// a range of an axis is chosen by dragging, key and button; axes of times are linear or logarithmic; parts of a bill and functions of a graph are switched off; a frame of a flame graph says its name and its share; a table is ordered by a column;
// the menu goes to a part; what is behind a name is opened; results of five kinds have headline numbers;
// no page is wider than 1,000 pixels, or than a phone; axe finds nothing serious in either theme.
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
import { useFolds } from "./folds.mjs";
import { useMenu } from "./menu.mjs";
import { useSwitches } from "./switches.mjs";
import { useZoom } from "./zoom.mjs";

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

/** Orders the first table of a page by the names of its rows, in both directions and no more. Returns whether there is one to order. */
async function useTable(page, name) {
  const isOrdered = { has: page.locator("thead th:first-child button") };
  const table = page.locator("main .scroll:visible", { has: page.locator("tbody tr:nth-child(2)") }).filter(isOrdered).first();
  if ((await table.count()) === 0) {
    return false;
  }
  const head = table.locator("thead th").first();
  const names = () => table.locator("tbody th").evaluateAll((cells) => cells.map((cell) => cell.firstChild?.textContent ?? ""));
  const choose = () => head.getByRole("button").click();
  const before = await names();
  await choose();
  const direction = await head.getAttribute("aria-sort");
  assert.match(direction ?? "", /^(ascending|descending)$/, `${name}: the column says its direction`);
  assert.match(page.url(), /sort=/, `${name}: the address has the order`);
  const first = await names();
  assert.deepEqual(first.toSorted(), before.toSorted(), `${name}: no row is lost`);
  await choose();
  assert.notEqual(await head.getAttribute("aria-sort"), direction, `${name}: the other direction`);
  if (new Set(before).size === before.length) {
    assert.deepEqual(await names(), first.toReversed(), `${name}: the other direction`);
  }
  await choose();
  assert.equal(await head.getAttribute("aria-sort"), null, `${name}: no direction`);
  assert.deepEqual(await names(), before, `${name}: the order of the document is back`);
  return true;
}

/** Points at the widest frame of a flame graph but the outermost: it says its name and its share, and the table has both. */
async function pointAtFrame(page, name) {
  const figures = page.locator("main .figure");
  const place = await figures.evaluateAll((all) => all.findIndex((figure) => figure.querySelector("rect.frame") !== null));
  const figure = figures.nth(place);
  const frames = figure.locator("rect.frame");
  const widths = await frames.evaluateAll((all) => all.map((frame) => frame.width.baseVal.value));
  assert.ok(widths.length > 5, `${name}: ${widths.length} frames`);
  const widest = frames.nth(widths.indexOf(Math.max(...widths.slice(1)), 1));
  await widest.scrollIntoViewIfNeeded();
  const box = await widest.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const tip = figure.locator(".tip");
  await tip.waitFor();
  const pointed = await tip.locator("b").textContent();
  const [said] = await tip.locator("span").allTextContents();
  const [, share] = / us \((\d+\.\d %)\) with all that it calls/.exec(said) ?? [];
  assert.ok(share !== undefined && share !== "0.0 %", `${name}: ${pointed}: ${said}`);
  assert.match(said, /, [+-][\d.,]+ ±[\d.,]+ beside /, `${name}: the graph that is shown first has differences`);
  await page.mouse.move(0, 0);
  await tip.waitFor({ state: "detached" });
  await figure.getByRole("button", { name: "Show as table" }).click();
  const rows = await figure.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent.replaceAll("\u00a0", " "))));
  assert.ok(rows.some((cells) => cells[0] === pointed && cells.includes(share)), `${name}: the table has ${pointed} with ${share}`);
  await figure.getByRole("button", { name: "Show as chart" }).click();
}

/** Points at a frame of a flame graph, finds frames by a name, and goes into a frame and out again, by key. Returns whether there is a graph. */
async function useFlame(page, name) {
  const chart = page.locator("main .drawing > svg", { has: page.locator("rect.frame") });
  if ((await chart.count()) === 0) {
    return false;
  }
  await pointAtFrame(page, name);
  const find = page.getByLabel("Find frames");
  const first = await chart.locator("text.named").first().textContent();
  await find.fill(first.split(" ")[0].replace(/…[^]*/, ""));
  await page.locator("rect.found").first().waitFor();
  assert.match(await page.locator(".switches", { has: find }).locator(".count").textContent(), /^\d+ of \d+ frames, \d+\.\d % of the CPU time/, `${name}: the share of what was found`);
  assert.match(page.url(), /named=/, `${name}: the address has the search`);
  await find.fill("");
  await page.locator("rect.found").first().waitFor({ state: "detached" });
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
  return true;
}

/** Makes the axes of times of a page linear, and logarithmic again. Returns the number of charts with such an axis. */
async function useTimes(page, name) {
  const [linear, back] = ["Linear axis", "Logarithmic axis"].map((words) => page.getByRole("button", { name: words, exact: true }));
  const count = await linear.count();
  if (count === 0) {
    return 0;
  }
  const words = () => page.locator("main .drawing text").allTextContents();
  const before = await words();
  await linear.first().click();
  assert.equal(await back.count(), count, `${name}: all axes of times are linear together`);
  assert.match(page.url(), /[#&]times=linear/, `${name}: the address has the axis`);
  const after = await words();
  assert.ok(after.every((text) => !/NaN|undefined|Infinity/.test(text)), `${name}: ${after.join(" ")}`);
  assert.notDeepEqual(after, before, `${name}: the axes are others`);
  await back.first().press("Enter");
  assert.deepEqual(await words(), before, `${name}: the axes are back`);
  assert.doesNotMatch(page.url(), /times=/, `${name}: the address has no axis`);
  return count;
}

/** Pages whose parts can be switched off. */
const SWITCHED = ["bill.html", "size.html"];
/** Pages with a flame graph. */
const PROFILED = ["study-with-profile.html"];
/** Pages with names, each with charts behind it. */
const FOLDED = ["load-by-name.html"];
/** Pages with charts over time, which show a range of it together. */
const OVER_TIME = ["load.html"];
/** Pages with axes of times that can be linear or logarithmic. */
const WITH_TIMES = ["load.html"];
/** Pages with headline numbers. */
const WITH_HEADLINES = ["load.html", "study.html", "bill.html", "find.html", "size.html"];
/** Words of pages that have more than the others of their kind. */
const WORDS = { "load.html": "Phases of a request", "load-by-name.html": "The requests without an answer", "study-with-profile.html": "Published numbers beside those measured here", "load-with-agents.html": "The starts of two agents differ by at most" };

try {
  const context = await browser.newContext({ offline: true, viewport: { width: 1000, height: 900 } });
  let charts = 0;
  let tables = 0;
  let menus = 0;
  // One tab for all: each new one would start a process.
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("request", (request) => request.url().startsWith("file:") || problems.push(`asks for ${request.url()}`));
  for (const name of pages) {
    await page.goto(pathToFileURL(resolve(folder, name)).href);
    await page.locator("h1").waitFor();
    const names = await useFolds(page, name);
    assert.ok(names > 1 || !FOLDED.includes(name), `${name} has names to open`);
    charts += await useCharts(page, name);
    const zoomed = await useZoom(page, name);
    assert.ok(zoomed > 1 || !OVER_TIME.includes(name), `${name}: ${zoomed} charts show a range`);
    const times = await useTimes(page, name);
    assert.ok(times > 1 || !WITH_TIMES.includes(name), `${name}: ${times} axes of times`);
    const switches = await useSwitches(page, name);
    assert.ok(switches > 1 || !SWITCHED.includes(name), `${name} has switches`);
    const hasFlame = await useFlame(page, name);
    assert.ok(hasFlame || !PROFILED.includes(name), `${name} has a flame graph`);
    assert.ok((await page.locator("main").textContent()).includes(WORDS[name] ?? ""), `${name} says: ${WORDS[name]}`);
    tables += (await useTable(page, name)) ? 1 : 0;
    if (name === "size.html") {
      await useGraph(page);
    }
    const headlines = await page.locator("dl.headlines dd.number").allTextContents();
    const inside = headlines.length > 2 && headlines.length < 6;
    assert.ok(inside || !WITH_HEADLINES.includes(name), `${name}: headline numbers: ${headlines.join(", ")}`);
    assert.ok(headlines.every((text) => /\d|^not known$/.test(text)), `${name}: headline numbers: ${headlines.join(", ")}`);
    menus += (await useMenu(page, name)) ? 1 : 0;
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
      const widths = theme === "light" || screenshots ? [["wide", 1000], ["narrow", 320]] : [];
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
  assert.ok(tables > 0, "some page has a table to order");
  assert.ok(menus > 0, "some page has a menu");
  const absent = [...SWITCHED, ...FOLDED, ...OVER_TIME, ...WITH_TIMES, ...WITH_HEADLINES, ...Object.keys(WORDS)].filter((name) => !pages.includes(name));
  assert.deepEqual(absent, [], "pages that are not there");
  console.log(`${pages.length} pages, ${charts} charts`);
} finally {
  await browser.close();
}
