// Opens what is behind a name, for scripts that use pages.

import assert from "node:assert/strict";

/** Opens the last of the names of a page by key, closes it, opens it by pointer, and opens the link that is left in the address. Returns the number
 * of names; zero on a page without any. What was opened stays open. */
export async function useFolds(page, name) {
  const names = page.locator(".folds summary");
  const count = await names.count();
  if (count === 0) {
    return 0;
  }
  const last = names.last();
  const charts = page.locator(".folds .drawing > svg");
  assert.equal(await charts.count(), 0, `${name}: nothing is drawn before it is opened`);
  await last.focus();
  await page.keyboard.press("Enter");
  await charts.first().waitFor();
  assert.match(page.url(), /[#&]open=/, `${name}: the address has what is open`);
  await page.keyboard.press("Enter");
  await charts.first().waitFor({ state: "detached" });
  assert.doesNotMatch(page.url(), /open=/, `${name}: the address has nothing that is open`);
  await last.click();
  await charts.first().waitFor();
  const drawn = await charts.count();
  const url = page.url();
  await page.goto("about:blank");
  await page.goto(url);
  await charts.nth(drawn - 1).waitFor();
  assert.equal(await page.locator(".folds details[open]").count(), 1, `${name}: a link opens one name`);
  return count;
}
