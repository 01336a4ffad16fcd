// Drops a configuration on the page of a server in Chromium, waits for its bill, and reads it: its parts with their intervals, and what is left
// if one is switched off. The same of a bill that the server has already.
//
//   node ui/test/bill.mjs SERVER CONFIGURATION [SCREENSHOTS]
//
// SERVER is the address of `hoptax serve --allow-bills` whose only run is a bill with numbers, and CONFIGURATION a file that it takes. On a
// machine with other work, the bill of the configuration may have no numbers: then the page says why. Fails with the first thing that does not
// hold.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { launched } from "./chromium.mjs";
import { useSwitches } from "./switches.mjs";

const [server, configuration, screenshots] = process.argv.slice(2);
const name = basename(configuration);
/** Enough for two rounds of few parts. */
const BUDGET = "3s";
const INTERVAL = /±| to /;

const browser = await launched();
const problems = [];

/** Drops the configuration, and waits for the end of its job. */
async function price(page) {
  await page.goto(server);
  await page.getByRole("radio", { name: "Price" }).check();
  const file = { text: readFileSync(configuration, "utf8"), name };
  const dropped = await page.evaluateHandle(({ text, name }) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name));
    return transfer;
  }, file);
  await page.dispatchEvent(".drop", "drop", { dataTransfer: dropped });
  await page.waitForFunction((name) => document.querySelector("#bill-name").value === name, name);
  assert.equal(await page.locator("#bill-configuration").inputValue(), file.text);
  await page.locator("#bill-budget").fill(BUDGET);
  await page.getByRole("button", { name: "Start" }).click();
  const title = page.locator("#job-title");
  await title.waitFor();
  assert.ok((await title.innerText()).includes(name), await title.innerText());
  await page.waitForFunction(() => / (is done|failed|was stopped)$/.test(document.querySelector("#job-title").textContent));
  const said = await page.locator(".job").innerText();
  assert.match(said, /is done/, said);
  assert.match(said, /Arms of listener/, "the lines of the command are there");
  await page.locator(".job").getByRole("link", { name: /^Open run / }).click();
  await page.waitForURL(/\/runs\/2$/);
}

/** Holds the page of a bill against its result, and returns the number of parts that were switched off. */
async function read(page, run) {
  await page.locator("h1").waitFor();
  const result = await (await page.request.get(new URL(`api/v1/runs/${run}/result`, server).href)).json();
  const isKnown = (charge) => typeof charge.cpu_us_per_request?.estimate === "number";
  const measured = result.parts.filter((part) => typeof part.arm === "string");
  const [known, withheld] = [measured.filter((part) => isKnown(part.cost)), measured.filter((part) => !isKnown(part.cost))];
  assert.ok(measured.length > 0, `run ${run}: it has parts`);
  assert.ok((await page.locator("header").innerText()).includes(`price ${result.configuration}`));
  assert.equal(await page.locator(".verdict").count(), 1);

  // A line for each part, the rest and the whole.
  const table = page.getByRole("region", { name: "Cost of each part per request", exact: true }).first();
  const names = await table.locator("tbody th").evaluateAll((cells) => cells.map((cell) => cell.firstChild.textContent));
  assert.deepEqual(names, [...measured.map((part) => part.name), ...(result.rest ? ["rest"] : []), "whole"]);
  const reasons = (await page.locator("main > ul.note > li").allInnerTexts()).filter((text) => text.startsWith("no interval for "));
  for (const part of withheld) {
    assert.ok(reasons.some((text) => text.includes(part.name)), `run ${run}: why ${part.name} has no number`);
  }
  if (known.length === 0) {
    assert.equal(await page.locator("fieldset.parts").count(), 0, "nothing is switched off of what is not known");
    return 0;
  }

  // Each bar of the waterfall has an interval: its line with two ends, and in words.
  const figure = page.locator("main .figure").first();
  const chart = figure.locator(".drawing > svg");
  await chart.waitFor();
  const bars = await chart.locator("rect.step").count();
  assert.ok(bars >= known.length, `run ${run}: ${bars} bars`);
  assert.equal(await chart.locator("line.whisker").count(), 3 * bars);
  await figure.getByRole("button", { name: "Show as table" }).click();
  const rows = await figure.locator("tbody tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.equal(rows.length, bars);
  for (const [bar, value] of rows) {
    assert.match(value, INTERVAL, `run ${run}: ${bar}`);
  }
  for (const part of known) {
    assert.ok(rows.some(([bar]) => bar === part.name), `run ${run}: ${part.name} has a bar`);
  }
  await figure.getByRole("button", { name: "Show as chart" }).click();
  if (screenshots) {
    await page.screenshot({ path: join(screenshots, `bill-${run}.png`), fullPage: true });
  }
  if (!isKnown(result.whole)) {
    return 0;
  }

  const count = await useSwitches(page, `run ${run}`);
  assert.equal(count, known.length);
  // A link to the page is a link to what is switched off.
  const box = page.locator("fieldset.parts input").first();
  await box.uncheck();
  await page.waitForFunction(() => location.hash.includes("off="));
  await page.reload();
  await box.waitFor();
  assert.equal(await box.isChecked(), false);
  return count;
}

try {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 } });
  const page = await context.newPage();
  // Slow machines are no failure, but what never comes would be waited for without an end.
  page.setDefaultTimeout(300_000);
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => message.type() === "error" && !message.text().startsWith("Failed to load resource") && problems.push(message.text()));
  page.on("request", (request) => request.url().startsWith(server) || problems.push(`asks for ${request.url()}`));
  await price(page);
  const ofDropped = await read(page, 2);
  await page.goto(new URL("runs/1", server).href);
  assert.ok((await read(page, 1)) > 1, "a bill with numbers has switches");
  assert.deepEqual(problems, []);
  console.log(ofDropped > 0 ? "the dropped configuration has numbers" : "the numbers of the dropped configuration are withheld");
} finally {
  await browser.close();
}
