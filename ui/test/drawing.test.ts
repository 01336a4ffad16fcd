import { expect, test } from "vitest";
import { isOnWay, tipPlace } from "../src/drawing";

test("a pointer that rested moves on to what is said there, and every other way leads to other values", () => {
  const [from, to] = [{ x: 100, y: 100 }, { left: 112, right: 300, top: 112, bottom: 160 }];
  const is = (x: number, y: number) => isOnWay({ x, y }, from, to);
  expect([is(101, 101), is(110, 106), is(112, 112), is(300, 160), is(200, 130)]).toEqual([true, true, true, true, true]);
  // Along the values to its right and below it, back, and beyond what is said.
  expect([is(110, 100), is(100, 110), is(99, 99), is(309, 130), is(200, 169)]).toEqual([false, false, false, false, false]);
});

test.each([296, 900])("what a value says is within a drawing of %i pixels, beside any place of it", (width) => {
  for (let x = 0; x <= width; x += 1) {
    const { maxWidth = "", transform = "" } = tipPlace(x, 50, { width, height: 200 });
    const [, share] = /^min\(340px, calc\(([\d.]+)% - 12px\)\)$/.exec(maxWidth) ?? [];
    const most = Math.min(340, (Number(share) / 100) * width - 12);
    const [from, to] = transform.startsWith("translate(calc(0% + 12px)") ? [x + 12, x + 12 + most] : [x - 12 - most, x - 12];
    expect(from, `${x}`).toBeGreaterThanOrEqual(-0.1);
    expect(to, `${x}`).toBeLessThanOrEqual(width + 0.1);
    expect(most, `${x}`).toBeGreaterThan(width / 2 - 13 < 340 ? width / 2 - 13 : 339);
  }
});
