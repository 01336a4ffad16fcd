// Uses the pages of a server in Chromium: a load is started, watched and stopped; errors are beside their fields; a configuration is dropped;
// the list is searched; the page of a run leads to its files and to the form with its settings, and gives it labels; two runs are chosen and compared; a page that is kept as a
// file shows none of it. Axe finds nothing serious in either theme.
//
//   node ui/test/live.mjs SERVER TARGET PLAIN [SCREENSHOTS]
//
// SERVER is the address of `hoptax serve --allow-bills` with an empty store, TARGET that of a server on loopback, and PLAIN that of
// `hoptax serve` without bills. Fails with the first thing that does not hold.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launched } from "./chromium.mjs";
import { smallTargets } from "./targets.mjs";

const [server, target, plain, screenshots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "hoptax-live-"));

const browser = await launched();
const problems = [];

async function opened(context, url) {
  const page = await context.newPage();
  // Slow machines are no failure, but what never comes would be waited for without an end.
  page.setDefaultTimeout(300_000);
  page.on("pageerror", (error) => problems.push(String(error)));
  // A refusal that the page shows is also an error of the console.
  page.on("console", (message) => message.type() === "error" && !message.text().startsWith("Failed to load resource") && problems.push(message.text()));
  page.on("request", (request) => request.url().startsWith(url.startsWith("file:") ? "file:" : new URL(url).origin) || problems.push(`asks for ${request.url()}`));
  await page.goto(url);
  await page.locator("h1").waitFor();
  return page;
}

/** Looks at a page in both themes, wide and narrow. */
async function look(page, name) {
  await page.evaluate(axe);
  for (const theme of ["dark", "light"]) {
    const button = page.getByRole("button", { name: theme === "dark" ? "Dark theme" : "Light theme" });
    if (await button.count()) {
      await button.click();
    }
    // The colours of both themes; everything else is the same in both.
    const options = { resultTypes: ["violations"], ...(theme === "dark" ? { runOnly: ["color-contrast"] } : {}) };
    const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), options);
    const serious = violations.filter((one) => ["serious", "critical"].includes(one.impact));
    assert.deepEqual(serious.map((one) => `${one.id}: ${one.nodes[0]?.html}`), [], `axe, ${name}, ${theme}`);
    assert.deepEqual(await smallTargets(page), [], `${name}: what is pressed has 24 pixels`);
    // Colours make nothing wider.
    const widths = theme === "light" || screenshots ? [["wide", 1000], ["narrow", 320]] : [];
    for (const [words, width] of widths) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForFunction((width) => [...document.querySelectorAll(".drawing > svg")].every((svg) => !svg.checkVisibility() || svg.width.baseVal.value <= width), width);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${name}: ${overflow} pixels beyond a width of ${width}`);
      if (screenshots) {
        await page.screenshot({ path: join(screenshots, `${name}-${words}-${theme}.png`), fullPage: true });
      }
    }
    await page.setViewportSize({ width: 1000, height: 900 });
  }
}

const wrong = (page, field) => page.locator(`#load-${field}-wrong`);

try {
  const context = await browser.newContext({ viewport: { width: 1000, height: 900 } });
  const page = await opened(context, server);
  const start = page.getByRole("button", { name: "Start" });
  await look(page, "empty");

  // Without a target, nothing is sent, and the field says so.
  await start.click();
  await page.waitForFunction(() => document.activeElement?.id === "load-target");
  assert.match(await wrong(page, "target").innerText(), /URL/);
  // What the server finds is beside the fields that it is about.
  await page.getByLabel("Target").fill(target);
  await page.getByLabel("Rate").fill("-1");
  await page.getByLabel("Duration").fill("soon");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "load-rate");
  assert.match(await wrong(page, "rate").innerText(), /above 0/);
  assert.match(await wrong(page, "duration").innerText(), /10s/);
  assert.equal(await wrong(page, "target").innerText(), "");
  await look(page, "refused");
  await page.getByLabel("Target").fill("http://192.0.2.1/");
  await page.getByLabel("Rate").fill("200");
  await page.getByLabel("Duration").fill("30m");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /allow-target/.test(document.querySelector("#load-target-wrong").textContent));

  // A load that runs has its numbers, its chart and the focus.
  await page.getByLabel("Target").fill(target);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.activeElement?.id === "job-title");
  assert.match(await page.locator("#job-title").innerText(), /^Job 1 sends to/);
  await page.waitForFunction(() => document.querySelectorAll(".job path.curve").length === 5);
  assert.match(await page.locator(".job dl.numbers").innerText(), /rate\s[\d,.]+ responses\/s[^]*p50\s[\d,.]+ us[^]*p99\s[\d,.]+ us[^]*errors\s0[^]*bodies\s[\d,.]+ kB\/s/);
  await page.locator(".job dl.numbers").getByRole("img", { name: /^p99 in the last [\d,]+ s: [\d.,]+ to [\d.,]+ us$/ }).waitFor();
  assert.match(await page.getByRole("status").first().textContent(), /Job 1 sends|responses\/s/);
  assert.equal(await start.getAttribute("aria-disabled"), "true");
  const count = () => page.locator(".job circle.dot.own").count();
  const before = await count();
  await page.waitForFunction((before) => document.querySelectorAll(".job circle.dot.own").length > before, before);
  await look(page, "running");

  // A page that is opened later shows it at once, and starts no other. Numbers that a reader holds stay while those of the other page go on.
  const second = await opened(context, server);
  const [numbers, others] = [page, second].map((one) => one.locator(".job dl.numbers"));
  await others.waitFor();
  await page.getByRole("button", { name: "Hold the numbers" }).click();
  const [held, first] = [await numbers.innerText(), await others.innerText()];
  const changed = (one, text) => one.waitForFunction((text) => document.querySelector(".job dl.numbers").innerText !== text, text);
  await changed(second, first);
  await changed(second, await others.innerText());
  assert.equal(await numbers.innerText(), held, "what is held stays");
  await page.getByRole("button", { name: "Follow the job again" }).click();
  await changed(page, held);
  await second.getByLabel("Target").fill(target);
  await second.keyboard.press("Enter");
  assert.equal(await second.locator(".start [role=alert] p").count(), 0);

  // By key: the title is before the button.
  await page.locator("#job-title").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator(".job .verdict, .job .wrong").first().waitFor();
  await page.waitForFunction(() => document.activeElement?.id === "job-title");
  assert.match(await page.locator("#job-title").innerText(), /was stopped$/);
  await second.locator(".job").getByRole("link", { name: "Open run 1" }).waitFor();
  assert.equal(await start.getAttribute("aria-disabled"), "false");
  // The checked result is in the place of the live numbers, and the list has the run without being loaded again.
  await page.locator(".job .checked .answer").first().waitFor();
  assert.equal(await page.locator(".job dl.numbers").count(), 0);
  await page.getByLabel("Choose run 1").waitFor();
  assert.equal(await page.locator("header .next a").getAttribute("href"), "/runs/1");
  // On a phone, the list comes before the form, which keeps what is filled in.
  const isFormFirst = () => page.evaluate(() => (document.querySelector(".start").compareDocumentPosition(document.querySelector(".choice")) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0);
  assert.equal(await isFormFirst(), true);
  // The name of a run is beside its number, whatever the width.
  for (const width of [320, 390, 1000]) {
    await page.setViewportSize({ width, height: 844 });
    const right = await page.evaluate(() => document.querySelector(".scroll:has(input[type=checkbox]) tbody td").getBoundingClientRect().right);
    assert.ok(right <= width, `the name of a run ends at ${right} of ${width} pixels`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole("button", { name: "Go to the form" }).click();
  assert.deepEqual([await isFormFirst(), await page.getByLabel("Duration").inputValue()], [false, "30m"]);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "start-title");
  await page.setViewportSize({ width: 1000, height: 900 });
  await look(page, "stopped");
  await second.close();

  // The other kinds have their own fields. A file that is dropped is the configuration, and the server refuses one that names a file.
  await page.getByRole("radio", { name: "Study" }).check();
  assert.match(page.url(), /#start=study$/, "a link leads to the form");
  await page.waitForFunction(() => document.querySelectorAll("#study-study option").length > 5);
  assert.match(await page.locator("#study-study-hint").innerText(), /\? It takes about [^]*\.$/);
  await look(page, "study");
  await page.getByRole("radio", { name: "Find" }).check();
  await page.getByLabel("Objectives").fill("p99");
  await page.getByLabel("Target").fill(target);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /p99<5ms/.test(document.querySelector("#find-objectives-wrong").textContent));
  await page.getByRole("radio", { name: "Price" }).check();
  const dropped = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["static_resources: {listeners: [{name: a}]}\nscript: {filename: /etc/passwd}\n"], "edge.yaml"));
    return transfer;
  });
  await page.dispatchEvent(".drop", "drop", { dataTransfer: dropped });
  await page.waitForFunction(() => document.querySelector("#bill-name").value === "edge.yaml");
  await start.click();
  await page.waitForFunction(() => /inline_string/.test(document.querySelector("#bill-configuration-wrong").textContent));
  assert.match(await page.locator("#bill-configuration-wrong").innerText(), /edge\.yaml:2: it names the file/);
  await look(page, "bill");

  // A server that was not started for bills has no form for them, but says how to allow them.
  const withoutBills = await opened(context, plain);
  await withoutBills.getByRole("radio", { name: "Price" }).check();
  await withoutBills.getByText("hoptax serve --allow-bills").waitFor();
  assert.equal(await withoutBills.locator(".drop, .start textarea, .start button").count(), 0);
  await look(withoutBills, "bill-off");
  await withoutBills.close();

  // The page of the run has its files, and leads back.
  await page.locator(".job").getByRole("link", { name: "Open run 1" }).click();
  await page.waitForURL(/\/runs\/1$/);
  assert.equal(await page.locator("form.start").count(), 0);
  assert.equal(await page.getByRole("button", { name: "Save as JSON" }).count(), 0, "the document is among the files");
  await page.getByRole("button", { name: "Set as reference" }).click();
  await page.getByText("Run 1 has the label reference.").waitFor();
  await page.getByLabel("Label", { exact: true }).fill("12");
  await page.keyboard.press("Enter");
  await page.getByText("A number would be taken for a run").waitFor();
  await page.getByLabel("Label", { exact: true }).fill("nightly");
  await page.keyboard.press("Enter");
  await page.getByText("nightly").waitFor();
  // A drawing gets its width when its section is unfolded.
  await page.locator("summary", { hasText: "Workers and connections" }).click();
  await look(page, "run");
  // This program judged the run, so it knows which of its checks found nothing.
  await page.locator("details.checks > summary").click();
  assert.ok((await page.locator("details.checks li:visible").count()) > 10, "checks without a finding");
  const download = async (name, file) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name, exact: true }).click()]);
    assert.equal(download.suggestedFilename(), file);
    await download.saveAs(join(folder, file));
    assert.ok(readFileSync(join(folder, file)).length > 0, file);
  };
  const files = [["JSON", "run-1.json"], ["CSV", "run-1.csv"], ["Markdown", "run-1.md"], ["HTML", "run-1.html"], ["result as it is stored", "run-1.result.json"], ["SMP", "run-1.smp.json"]];
  for (const [name, file] of files) {
    await download(name, file);
  }
  // A busy machine leaves no response times.
  const hasTimes = "histograms" in JSON.parse(readFileSync(join(folder, "run-1.result.json"), "utf8"));
  for (const [name, file] of [["Fortio", "run-1.fortio.json"], ["HDR percentiles", "run-1.hgrm"], ["HDR log", "run-1.hlog"]]) {
    assert.equal(await page.getByRole("link", { name, exact: true }).count(), hasTimes ? 1 : 0, name);
    if (hasTimes) {
      await download(name, file);
    }
  }
  // The form has its settings, and a page that is loaded again, too.
  await page.getByRole("link", { name: "Start again" }).click();
  const isAsBefore = (target) => ["target", target, "rate", "200", "connections", "16", "duration", "30m", "warmup", "1s"].every((value, place, all) => place % 2 === 0 || document.querySelector(`#load-${all[place - 1]}`)?.value === value);
  await page.waitForFunction(isAsBefore, target);
  await page.reload();
  await page.waitForFunction(isAsBefore, target);
  await page.goBack();
  await page.getByRole("link", { name: "All runs" }).click();

  // A search leaves what it names, and is in the address.
  const rows = page.locator("tbody tr");
  await rows.first().waitFor();
  await page.getByLabel("Search the runs").fill("LOAD 127");
  assert.equal(await rows.count(), 1);
  assert.match(page.url(), /search=LOAD/);
  await page.getByLabel("Search the runs").fill("nothing has this");
  await page.getByText("0 of 1 shown").waitFor();
  // The button that takes the choice of runs back comes first.
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await rows.first().waitFor();

  // Two runs are chosen, also by key, and are beside each other.
  await page.getByLabel("Target").fill(target);
  await page.getByLabel("Rate").fill("200");
  await page.getByLabel("Duration").fill("2s");
  await page.keyboard.press("Enter");
  await page.locator(".job").getByRole("link", { name: "Open run 2" }).waitFor();
  await page.reload();
  await page.getByLabel("Choose run 1").check();
  assert.equal(await page.getByRole("link", { name: /^Compare/ }).count(), 0);
  await page.getByLabel("Choose run 2").focus();
  await page.keyboard.press("Space");
  await page.getByText("Run 1 is the reference, compared with 2.").waitFor();
  assert.match(page.url(), /runs=1%2C2/);
  await look(page, "chosen");
  await page.getByRole("link", { name: "Compare 2 runs" }).click();
  await page.waitForURL(/\/compare\?runs=1,2$/);
  // A busy machine leaves no interval.
  assert.match(await page.locator("h1").innerText(), /^Run 2 against run 1: p(50|99) .*, (different|equivalent|undecided)|^No difference of p50 or p99 of response time is known between run 2 and run 1/);
  assert.match(await page.locator("header").innerText(), /The runs differ in .*duration_s \(1800, 2\)/);
  assert.deepEqual(await page.getByRole("region", { name: "Rates, and response times with their intervals" }).locator("tbody th").allInnerTexts(), ["run 1", "run 2"]);
  assert.equal(await page.locator("form").count(), 0);
  await look(page, "compared");
  await page.getByRole("link", { name: "All runs" }).click();
  await page.getByText("Run 1 is the reference, compared with 2.").waitFor();
  assert.equal(await page.getByLabel("Choose run 2").isChecked(), true);
  await page.getByRole("button", { name: "Choose none" }).click();
  assert.equal(await page.getByLabel("Choose run 1").isChecked(), false);

  // As a file, the page asks nobody and shows nothing that needs a server.
  const list = (await (await page.request.get(server)).text()).replace(' data-api="/api/v1"', "");
  writeFileSync(join(folder, "list.html"), list);
  for (const file of ["run-1.html", "list.html"]) {
    const other = await opened(context, pathToFileURL(join(folder, file)).href);
    assert.equal(await other.locator("form, nav.of-run, input").count(), 0, file);
    await other.close();
  }
  assert.deepEqual(problems, []);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
