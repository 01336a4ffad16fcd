import { describe, expect, test } from "vitest";
import { between, farther, isWhole, moved, nearer, rangeWords, shownOf, type Extent, type Range } from "../src/chart/range";
import { linear, logarithmic } from "../src/chart/scale";
import { changed, parsed, written } from "../src/view";
import { rangeOf, withRange } from "../src/zoom";

const WHOLE: Range = { from: 0, to: 11 };

function extent(shown: Range = WHOLE): Extent {
  const scale = linear([shown.from, shown.to], [100, 1200]);
  return { left: 100, right: 1200, top: 10, bottom: 200, scale, whole: WHOLE, shown, words: (value) => `${value} s` };
}

describe("a range", () => {
  test("is between two places in any order, and ends with the axis", () => {
    expect(between(extent(), 700, 300)).toEqual({ from: 2, to: 6 });
    expect(between(extent(), 40, 300)).toEqual({ from: 0, to: 2 });
    expect(between(extent(), 1100, 2000)).toEqual({ from: 10, to: 11 });
  });

  test("that is a click is none", () => {
    expect(between(extent(), 300, 303)).toBeUndefined();
    expect(between(extent(), 20, 102)).toBeUndefined();
  });

  test("has ends that a link can have", () => {
    expect(between(extent(), 300 + 1 / 3, 700)).toEqual({ from: 2.00333, to: 6 });
  });

  test("is the middle half, then twice that again", () => {
    const half = nearer(extent());
    expect(half).toEqual({ from: 2.75, to: 8.25 });
    expect(farther(extent(half))).toEqual(WHOLE);
    expect(isWhole(extent(half), WHOLE)).toBe(true);
    expect(isWhole(extent(half), half ?? WHOLE)).toBe(false);
  });

  test("ends with the axis, whatever the digits of its ends", () => {
    const whole = { from: 1309.3284571, to: 1602.7714286 };
    const of = (shown: Range): Extent => ({ ...extent(shown), whole });
    const part = nearer(of(whole)) ?? whole;
    expect(farther(of(part))).toEqual(whole);
    expect(between(of(whole), 100, 600)?.from).toBe(whole.from);
  });

  test("moves by half of its length, and no further than to the end", () => {
    expect(moved(extent({ from: 4, to: 6 }), "left")).toEqual({ from: 3, to: 5 });
    expect(moved(extent({ from: 8, to: 10.5 }), "right")).toEqual({ from: 8.5, to: 11 });
    expect(moved(extent({ from: 8, to: 11 }), "right")).toBeUndefined();
  });

  test("of a logarithmic axis is of lengths, not of values", () => {
    const scale = logarithmic([1, 10_000], [0, 400]);
    const of: Extent = { ...extent(), left: 0, right: 400, scale, whole: { from: 1, to: 10_000 }, shown: { from: 1, to: 10_000 } };
    expect(nearer(of)).toEqual({ from: 10, to: 1000 });
  });

  test("cannot be shorter than the digits of its ends tell", () => {
    expect(nearer(extent({ from: 5, to: 5.00001 }))).toBeUndefined();
  });

  test("is in words", () => {
    expect(rangeWords(extent(), { from: 2, to: 4.5 })).toBe("2 s to 4.5 s");
  });

  test("beside the whole shows the whole, and one that begins before it what is in it", () => {
    expect(shownOf(WHOLE, { from: 12, to: 20 })).toBe(WHOLE);
    expect(shownOf(WHOLE, { from: -3, to: 2 })).toEqual({ from: 0, to: 2 });
    expect(shownOf(WHOLE, undefined)).toBe(WHOLE);
  });
});

describe("the ranges of a view", () => {
  const TIME = "time since the start of the record, s";

  test("are in the address, one for each axis, until the whole is shown again", () => {
    const one = changed({ arm: "lua" }, withRange({}, TIME, { from: 2.75, to: 8.25 }));
    const both = changed(one, withRange(one, "rate, requests/s", { from: -1, to: 1e-7 }));
    const read = parsed(written(both));
    expect(rangeOf(read, TIME)).toEqual({ from: 2.75, to: 8.25 });
    expect(rangeOf(read, "rate, requests/s")).toEqual({ from: -1, to: 1e-7 });
    const other = changed(read, withRange(read, TIME, undefined));
    expect(rangeOf(other, TIME)).toBeUndefined();
    expect(changed(other, withRange(other, "rate, requests/s", undefined))).toEqual({ arm: "lua" });
  });

  test("of a link that somebody has cut or turned are none", () => {
    for (const zoom of ["time-since-the-start-of-the-record-s", "time-since-the-start-of-the-record-s_5", "time-since-the-start-of-the-record-s_5_x", "time-since-the-start-of-the-record-s_5_2"]) {
      expect(rangeOf({ zoom }, TIME)).toBeUndefined();
    }
  });
});
