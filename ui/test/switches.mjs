// Uses the switches of a bill or of a graph, for scripts that use pages.

import assert from "node:assert/strict";

/** Switches each part off and on again: what is left and what is saved are said, and the address has it. */
export async function useSwitches(page, name) {
  const boxes = page.locator("fieldset.parts input");
  const count = await boxes.count();
  const numbers = page.locator("main dl.numbers").first();
  for (let place = 0; place < count; place += 1) {
    const whole = await numbers.innerText();
    await boxes.nth(place).uncheck();
    await page.waitForFunction((whole) => document.querySelector("main dl.numbers").innerText !== whole, whole);
    const lines = (await numbers.locator("dd").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
    for (const [line, text] of lines.entries()) {
      // A result may not state what a part adds to memory or response time.
      const isUnknown = line > 0 && /^[\d,.]+ ±[\d,.]+ → not known$/.test(text);
      assert.ok(isUnknown || /^[\d,.]+ ±[\d,.]+ → [\d,.]+ ±[\d,.]+; saves -?[\d,.]+ ±[\d,.]+$/.test(text), `${name}: what is left and saved: ${text}`);
    }
    assert.match(await page.evaluate(() => location.hash), /off=/, `${name}: the address has what is off`);
    await page.getByText("Predicted: the whole less what each part costs alone.").waitFor();
    await boxes.nth(place).check();
    await page.waitForFunction((whole) => document.querySelector("main dl.numbers").innerText === whole, whole);
  }
  return count;
}
