// Chooses ranges of the axis of a chart, for scripts that use pages.

import assert from "node:assert/strict";

/** Presses a mouse in a chart and moves it, from and to shares of the width. */
async function dragged(page, chart, from, to) {
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + from * box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + ((from + to) / 2) * box.width, y);
  await page.mouse.move(box.x + to * box.width, y);
}

/**
 * Chooses a range of the last such chart by dragging, by key, by buttons and on the strip of the whole, each time goes back to the whole, and opens the link that is left in
 * the address. Returns the number of charts that showed the range; zero on a page without an axis to choose from.
 */
export async function useZoom(page, name) {
  const figures = page.locator("main > section .figure:visible", { has: page.locator(".ranged > svg") });
  if ((await figures.count()) === 0) {
    return 0;
  }
  const figure = figures.last();
  const chart = figure.locator(".drawing > svg");
  const button = (words) => figure.getByRole("button", { name: words, exact: true });
  const whole = button("Whole range");
  const drawn = () => chart.locator("text").allTextContents();
  const said = () => figure.locator("[role=status]").textContent();
  const before = await drawn();

  await dragged(page, chart, 0.35, 0.6);
  assert.equal(await chart.locator("rect.selection").count(), 1, `${name}: what is selected is marked`);
  await page.mouse.up();
  await whole.waitFor();
  assert.notDeepEqual(await drawn(), before, `${name}: the axis is that of the range`);
  assert.match(page.url(), /[#&]zoom=/, `${name}: the address has the range`);
  assert.match(await figure.locator(".zoom").textContent(), / to .* of .* to /, `${name}: the range is said`);
  const together = await page.getByRole("button", { name: "Whole range", exact: true }).count();

  const url = page.url();
  const shown = await drawn();
  await page.goto("about:blank");
  await page.goto(url);
  await whole.waitFor();
  assert.deepEqual(await drawn(), shown, `${name}: a link shows the range`);
  await chart.dblclick();
  await whole.waitFor({ state: "detached" });
  assert.deepEqual(await drawn(), before, `${name}: a double click shows the whole`);
  assert.doesNotMatch(page.url(), /zoom=/, `${name}: the address has no range`);

  await dragged(page, chart, 0.6, 0.3);
  await page.keyboard.press("Escape");
  await page.mouse.up();
  assert.equal(await whole.count(), 0, `${name}: Escape takes a selection back`);
  await chart.click();
  assert.equal(await whole.count(), 0, `${name}: a click selects nothing`);

  // From the only value, keys lead to no other.
  const [, values] = / (\d+) values\./.exec(await chart.getAttribute("aria-label")) ?? [];
  if (Number(values) > 1) {
    await chart.focus();
    await page.keyboard.press("Home");
    // As many as lead to another place: a heat map has several values at one.
    for (let steps = 0; steps < 60 && (await chart.locator("rect.selection").count()) === 0; steps += 1) {
      await page.keyboard.press("Shift+ArrowRight");
    }
    assert.match(await figure.locator("[aria-live=polite]").first().textContent(), /Selected: .* to /, `${name}: keys say what is selected`);
    await page.keyboard.press("Enter");
    await whole.waitFor();
    assert.match(await said(), / is shown\.$/, `${name}: the range is said`);
    await page.keyboard.press("Escape");
    await whole.waitFor({ state: "detached" });
    assert.match(await said(), /whole range/, `${name}: Escape shows the whole`);
  }

  await button("Zoom in").click();
  const half = await drawn();
  // The strip of the whole has a window over that half: its ends are moved by key, and the window by dragging.
  const strip = figure.locator(".strip");
  const start = strip.getByRole("slider", { name: "Start of the range" });
  const range = () => figure.locator(".zoom .soft").textContent();
  const middle = await range();
  await start.press("ArrowRight");
  assert.notEqual(await range(), middle, `${name}: a key moves the start of the range`);
  assert.equal(await start.evaluate((one) => document.activeElement === one), true, `${name}: the end that a key moved keeps the focus`);
  await start.press("Escape");
  await whole.waitFor({ state: "detached" });
  assert.equal(await strip.count(), 0, `${name}: the whole needs no strip`);
  assert.equal(await button("Zoom in").evaluate((one) => document.activeElement === one), true, `${name}: the focus goes to what stays`);
  await button("Zoom in").click();
  assert.deepEqual(await drawn(), half, `${name}: the half again`);
  await strip.scrollIntoViewIfNeeded();
  const box = await strip.boundingBox();
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width / 2, y);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.55 * box.width, y);
  await page.mouse.move(box.x + 0.6 * box.width, y);
  await page.mouse.up();
  assert.notEqual(await range(), middle, `${name}: the window is moved`);
  await whole.click();
  await button("Zoom in").click();
  await button("Move right").click();
  assert.notDeepEqual(await drawn(), half, `${name}: what is beside it is shown`);
  assert.equal(await button("Move right").getAttribute("aria-disabled"), "true", `${name}: the end of the axis`);
  await button("Move left").click();
  assert.deepEqual(await drawn(), half, `${name}: back again`);
  await button("Zoom out").click();
  await whole.waitFor({ state: "detached" });
  assert.deepEqual(await drawn(), before, `${name}: the whole is back`);
  return together;
}
