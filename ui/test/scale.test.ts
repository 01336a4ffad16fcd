import { describe, expect, test } from "vitest";
import { bent, grouped, linear, logarithmic, nines, plain, roundUp, withHalf } from "../src/chart/scale";

describe("a linear scale", () => {
  test("has zero among its ticks, and round numbers with room between them", () => {
    const scale = linear([-12, 61], [0, 400]);
    expect(scale.ticks.map((tick) => tick.label)).toEqual(["-10", "0", "10", "20", "30", "40", "50", "60"]);
    const places = scale.ticks.map((tick) => tick.at);
    expect(Math.min(...places.slice(1).map((at, place) => at - (places[place] ?? 0)))).toBeGreaterThanOrEqual(46);
  });

  test("keeps values within its ends and says where they are outside", () => {
    const scale = linear([0, 10], [100, 0]);
    expect([scale.at(-5), scale.at(5), scale.at(20)]).toEqual([100, 50, 0]);
    expect([scale.isOutside(-5), scale.isOutside(5), scale.isOutside(20)]).toEqual(["before", false, "after"]);
  });

  test("of a single value has a length", () => {
    expect(Number.isFinite(linear([3, 3], [0, 100]).at(3))).toBe(true);
  });

  test("labels small steps with the digits that tell them apart", () => {
    const labels = linear([0, 0.06], [0, 300]).ticks.map((tick) => tick.label);
    expect(new Set(labels).size).toBe(labels.length);
    expect(labels).toContain("0.02");
  });
});

test("a bent scale gives small and large values room and keeps their order", () => {
  const scale = bent([-2, 900], 2, [0, 600]);
  const places = [-2, 0, 1, 2, 30, 900].map((value) => scale.at(value));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  // A thousandth of the axis in value is a tenth of it in length.
  expect(scale.at(2) - scale.at(0)).toBeGreaterThan(50);
  expect(scale.note).toContain("linear up to 2");
});

test("a logarithmic scale has equal distances for equal factors", () => {
  const scale = logarithmic([10, 10_000], [0, 300]);
  expect(scale.at(100) - scale.at(10)).toBeCloseTo(scale.at(10_000) - scale.at(1_000));
});

test("on a scale of nines each step has a tenth of the requests of the one before", () => {
  const scale = nines([0, 0.999], [0, 400]);
  expect(scale.at(0.99) - scale.at(0.9)).toBeCloseTo(scale.at(0.999) - scale.at(0.99));
  expect(scale.ticks.map((tick) => tick.label)).toEqual(["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
});

test.each([
  ["linear", linear([0, 10], [50, 450])],
  ["logarithmic", logarithmic([1, 1000], [450, 50])],
  ["bent", bent([-20, 900], 2, [50, 450])],
  ["nines", nines([0, 0.9999], [50, 450])],
])("a place of a %s scale leads to its value and back, beyond its ends too", (_, scale) => {
  for (const place of [0, 50, 133, 450, 470]) {
    expect(scale.beyond(scale.valueAt(place))).toBeCloseTo(place);
  }
  expect(scale.at(scale.valueAt(470))).toBe(450);
});

test("a part of an axis has ticks, however short it is", () => {
  const labels = (scale: { ticks: { label: string }[] }) => scale.ticks.map((tick) => tick.label);
  expect(labels(linear([1.2, 1.4], [0, 400]))).toEqual(["1.20", "1.25", "1.30", "1.35", "1.40"]);
  expect(labels(logarithmic([2_100, 4_400], [0, 400])).length).toBeGreaterThan(2);
  expect(labels(nines([0.992, 0.998], [0, 400])).length).toBeGreaterThan(1);
  expect(labels(nines([0.95, 0.9995], [0, 400]))).toContain("99.9 %");
});

test("numbers have thousands with commas and no minus zero", () => {
  expect(grouped(1234567.8, 1)).toBe("1,234,567.8");
  expect(grouped(-0.001, 2)).toBe("0.00");
  expect(grouped(-1234, 0)).toBe("-1,234");
  expect([plain(1234.5), plain(12.34), plain(0.01234)]).toEqual(["1,235", "12.3", "0.0123"]);
});

test("a round number is 1, 2 or 5 times a power of ten and not below", () => {
  expect([0.3, 2, 2.1, 51].map(roundUp)).toEqual([0.5, 2, 5, 100]);
});

test("a number that the page computes has the digits that its interval supports", () => {
  expect([withHalf(149, 4.4), withHalf(0.4464, 0.0132), withHalf(12_962.4, 385)]).toEqual(["149.0 ±4.4", "0.446 ±0.013", "12,962 ±385"]);
});

test("powers of ten without room for all have every second one, and axes that count no part of one", () => {
  expect(logarithmic([0.1, 100_000], [140, 0], 28).ticks.map((tick) => tick.label)).toEqual(["10,000", "100", "1"]);
  expect(logarithmic([0.1, 100_000], [200, 0], 28).ticks).toHaveLength(7);
  expect(linear([0, 2.4], [0, 800], 64, 1).ticks.map((tick) => tick.label)).toEqual(["0", "1", "2"]);
});
