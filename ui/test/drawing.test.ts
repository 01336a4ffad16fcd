import { expect, test } from "vitest";
import { tipPlace } from "../src/drawing";

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
