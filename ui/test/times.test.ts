import { expect, test } from "vitest";
import { isOfPercentiles, onLinear, series } from "../src/chart/series";
import { hasLinearTimes, withOtherTimes } from "../src/times";
import type { Series } from "../src/types/document";
import { changed, parsed, written } from "../src/view";

const CURVE: Series = {
  title: "times by percentile",
  x: { label: "share of the requests", unit: "", scale: "nines" },
  y: { label: "time, us", unit: "us", scale: "logarithmic" },
  lines: [{ name: "response time", tone: "own", form: "joined", points: [0, 0.5, 0.9].map((x, place) => ({ x, y: [10, 100, 1_000][place] ?? null })) }],
};

test("a link keeps linear axes of times, until they are logarithmic again", () => {
  const linear = changed({ arm: "lua" }, withOtherTimes({ arm: "lua" }));
  expect(hasLinearTimes(parsed(written(linear)))).toBe(true);
  expect(changed(linear, withOtherTimes(linear))).toEqual({ arm: "lua" });
  expect(hasLinearTimes({ times: "round" })).toBe(false);
});

test("a percentile curve on a linear axis has places by its times, from zero", () => {
  const places = (data: Series) => series(data, 900, 260).shapes.flatMap((shape) => (shape.kind === "circle" ? [shape.y] : []));
  const [low = 0, middle = 0, high = 0] = places(onLinear(CURVE));
  expect((low - middle) / (middle - high)).toBeCloseTo(90 / 900);
  const [first = 0, second = 0, third = 0] = places(CURVE);
  expect((first - second) / (second - third)).toBeCloseTo(1);
  const texts = series(onLinear(CURVE), 900, 260).shapes.flatMap((shape) => (shape.kind === "text" ? [shape.text] : []));
  expect(texts).toEqual(expect.arrayContaining(["0", "time, us"]));
});

test("only curves of times over shares can be linear", () => {
  expect(isOfPercentiles(CURVE)).toBe(true);
  expect(isOfPercentiles(onLinear(CURVE))).toBe(false);
  expect(isOfPercentiles({ ...CURVE, x: { ...CURVE.x, scale: "linear" } })).toBe(false);
});
