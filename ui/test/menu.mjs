// Uses the menu of the parts of a page, for scripts that use pages.

import assert from "node:assert/strict";

const HEADING = 'main [id^="part-"]';

/** The place of a heading in the window, pixels from its top. */
function topOf(page, id) {
  return page.evaluate((id) => document.getElementById(id)?.getBoundingClientRect().top, id);
}

/** Goes to the last part by key in a window that is not wide, opens the link that is left in the address, and looks at the menu of a wide window
 * and on paper. Returns whether the page has a menu; a page with few parts has none. */
export async function useMenu(page, name) {
  const menu = page.locator("nav.menu");
  if ((await menu.count()) === 0) {
    assert.ok((await page.locator(`${HEADING}:visible`).count()) < 2, `${name} has a menu of its parts`);
    return false;
  }
  const before = new URLSearchParams((await page.evaluate(() => location.hash)).slice(1));
  const button = menu.getByRole("button", { name: "Parts of this page" });
  const links = menu.locator("a");
  assert.equal(await links.first().isVisible(), false, `${name}: the menu is folded`);
  await button.focus();
  await page.keyboard.press("Enter");
  assert.equal(await button.getAttribute("aria-expanded"), "true", `${name}: the menu says that it is open`);
  await page.keyboard.press("Escape");
  assert.equal(await links.first().isVisible(), false, `${name}: Escape folds the menu`);
  await page.keyboard.press("Enter");
  const count = await links.count();
  for (let place = 0; place < count; place += 1) {
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  const id = await page.evaluate(() => document.activeElement?.id);
  assert.match(id, /^part-/, `${name}: the focus is on the heading`);
  const height = page.viewportSize().height;
  const top = await topOf(page, id);
  assert.ok(top >= 0 && top < height, `${name}: ${id} is at ${top}`);
  const after = new URLSearchParams((await page.evaluate(() => location.hash)).slice(1));
  assert.equal(`part-${after.get("part")}`, id, `${name}: the address has the part`);
  after.delete("part");
  before.delete("part");
  assert.equal(after.toString(), before.toString(), `${name}: the rest of the view is as it was`);
  await page.waitForFunction(() => document.querySelector("nav.menu li:last-child a")?.getAttribute("aria-current") === "location");
  assert.equal(await menu.locator("[aria-current]").count(), 1, `${name}: one part is in view`);

  const url = page.url();
  await page.goto("about:blank");
  await page.goto(url);
  await page.waitForFunction(([id, height]) => {
    const top = document.getElementById(id)?.getBoundingClientRect().top ?? -1;
    const isMarked = document.querySelector("nav.menu li:last-child a")?.getAttribute("aria-current") === "location";
    return isMarked && top >= 0 && top < height;
  }, [id, height]);

  await page.evaluate(() => scrollTo(0, 0));
  if (await page.evaluate(() => document.documentElement.scrollHeight > innerHeight + 10)) {
    await page.waitForFunction(() => document.querySelector("nav.menu li:first-child a")?.getAttribute("aria-current") === "location");
  }
  const { width } = page.viewportSize();
  await page.setViewportSize({ width: 1600, height });
  assert.ok((await links.first().isVisible()) && !(await button.isVisible()), `${name}: a wide window has all parts beside the page`);
  const [aside, main] = [await menu.boundingBox(), await page.locator("main").boundingBox()];
  assert.ok(aside.x + aside.width <= main.x, `${name}: the menu is beside the parts`);
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ media: "print" });
  assert.equal(await menu.isVisible(), false, `${name}: paper has no menu`);
  await page.emulateMedia({ media: null });
  // As it was, for what looks at the page next.
  await page.evaluate(() => document.querySelectorAll("main details").forEach((one) => (one.open = false)));
  return true;
}
