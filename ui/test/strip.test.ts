import { describe, expect, test } from "vitest";
import type { Extent } from "../src/chart/range";
import { linear, logarithmic } from "../src/chart/scale";
import { series } from "../src/chart/series";
import { dragged, gripAt, rangeBelow, stepped, strip, type Ends } from "../src/chart/strip";
import type { Series } from "../src/types/document";

const WHOLE = { from: 0, to: 100 };
const EXTENT: Extent = { left: 50, right: 550, top: 10, bottom: 200, scale: linear([0, 100], [50, 550]), whole: WHOLE, shown: WHOLE, words: (value) => `${value} s` };
const WINDOW: Ends = [150, 250];

const LOAD: Series = {
  title: "requests per second",
  x: { label: "time, s", unit: "s", scale: "linear", highest: 100 },
  y: { label: "requests per second", unit: "requests/s", scale: "linear" },
  lines: [{ name: "due", tone: "own", form: "joined", points: Array.from({ length: 100 }, (_, x) => ({ x, y: 10 + x })) }],
  marks: [{ x: 40, text: "restart" }],
};

describe("the strip of a whole", () => {
  const shown = { from: 20, to: 40 };
  const part = series(LOAD, 600, 260, shown);
  const whole = strip(series(LOAD, 600, 260), shown);

  test("has the lines and the events of the whole, and no words", () => {
    expect(whole?.shapes.map((shape) => shape.of.split(" ")[0])).toEqual(["event", "curve"]);
    const [line] = whole?.shapes.filter((shape) => shape.kind === "path") ?? [];
    expect(line?.kind === "path" && line.d.startsWith(`M${(part.extent?.left ?? 0).toFixed(1)}`)).toBe(true);
  });

  test("has a window over what the chart shows", () => {
    const { left = 0, right = 0 } = part.extent ?? {};
    const length = right - left;
    expect(whole?.window).toEqual([expect.closeTo(left + 0.2 * length), expect.closeTo(left + 0.4 * length)]);
  });

  test("is that of an axis alone", () => {
    const { extent, ...others } = series(LOAD, 600, 260);
    expect(extent).toBeDefined();
    expect(strip(others, shown)).toBeUndefined();
  });
});

describe("a window", () => {
  test.each([
    [60, "new"],
    [130, "from"],
    [153, "from"],
    [200, "all"],
    [246, "to"],
    [270, "to"],
    [300, "new"],
  ] as const)("held at %i is held by: %s", (x, grip) => {
    expect(gripAt(WINDOW, x)).toBe(grip);
  });

  test("that is short can be moved, and held by both ends", () => {
    expect([195, 201, 207].map((x) => gripAt([200, 202], x))).toEqual(["from", "all", "to"]);
  });

  test("is moved as a whole, and no further than to the end", () => {
    expect(dragged(WINDOW, "all", 200, 230, EXTENT)).toEqual([180, 280]);
    expect(dragged(WINDOW, "all", 200, 900, EXTENT)).toEqual([450, 550]);
    expect(dragged(WINDOW, "all", 200, -900, EXTENT)).toEqual([50, 150]);
  });

  test("is resized at its ends, which stay apart and within the axis", () => {
    expect(dragged(WINDOW, "from", 150, 120, EXTENT)).toEqual([120, 250]);
    expect(dragged(WINDOW, "from", 150, 500, EXTENT)).toEqual([242, 250]);
    expect(dragged(WINDOW, "to", 250, 900, EXTENT)).toEqual([150, 550]);
    expect(dragged(WINDOW, "to", 250, 0, EXTENT)).toEqual([150, 158]);
  });

  test("is drawn anew beside the old one, in any direction, and goes to a click", () => {
    expect(dragged(WINDOW, "new", 400, 350, EXTENT)).toEqual([350, 400]);
    expect(dragged(WINDOW, "new", 400, 900, EXTENT)).toEqual([400, 550]);
    expect(dragged(WINDOW, "new", 400, 402, EXTENT)).toEqual([352, 452]);
  });

  test("has ends that keys move", () => {
    expect(stepped(WINDOW, "from", "ArrowRight", EXTENT)).toEqual([160, 250]);
    expect(stepped(WINDOW, "to", "PageUp", EXTENT)).toEqual([150, 350]);
    expect(stepped(WINDOW, "from", "Home", EXTENT)).toEqual([50, 250]);
    expect(stepped(WINDOW, "to", "End", EXTENT)).toEqual([150, 550]);
    expect(stepped(WINDOW, "from", "End", EXTENT)).toEqual([242, 250]);
    expect(stepped(WINDOW, "to", "Tab", EXTENT)).toBeUndefined();
  });

  test("is a range, all of it from end to end, and of a logarithmic axis one of lengths", () => {
    expect(rangeBelow(EXTENT, WINDOW)).toEqual({ from: 20, to: 40 });
    expect(rangeBelow(EXTENT, [50, 550])).toEqual(WHOLE);
    expect(rangeBelow(EXTENT, [50, 250])).toEqual({ from: 0, to: 40 });
    const whole = { from: 1, to: 10_000 };
    const times = { ...EXTENT, scale: logarithmic([1, 10_000], [50, 550]), whole, shown: whole };
    expect(rangeBelow(times, [175, 300])).toEqual({ from: 10, to: 100 });
  });
});
