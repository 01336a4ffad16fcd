import { describe, expect, test } from "vitest";
import { intervalRows, intervals, intervalTable } from "../src/chart/intervals";
import type { Scene, Shape } from "../src/chart/scene";
import type { IntervalRow, Intervals } from "../src/types/document";

type Known = Partial<IntervalRow["number"]>;

function row(name: string, number: Known, more: Partial<IntervalRow> = {}): IntervalRow {
  return { name, kind: "measured", tone: "own", number: { text: "text", unit: "us", form: "level", basis: "measured", ...number }, ...more };
}

function chart(rows: IntervalRow[], more: Partial<Intervals> = {}): Intervals {
  return { title: "CPU time of each proxy", axis: "CPU time, us", scale: "linear", rows, ...more };
}

function of<K extends Shape["kind"]>(scene: Scene | undefined, kind: K, name: string): Extract<Shape, { kind: K }>[] {
  return (scene?.shapes ?? []).filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind && shape.of.split(" ")[0] === name);
}

const MEASURED = row("front", { text: "190 ±4", estimate: 190, low: 186, high: 194 });
const PREDICTED = row("front", { text: "165 ±2", estimate: 165, low: 163, high: 167, basis: "predicted" }, { kind: "predicted", tone: "third", note: "beyond measurements" });

describe("numbers as measured and as predicted", () => {
  const data = chart([MEASURED, PREDICTED]);
  const scene = intervals(data, 900);

  test("have two forms and colours, which the legend explains", () => {
    expect(of(scene, "circle", "point").map((shape) => shape.of)).toEqual(["point own"]);
    expect(of(scene, "path", "point").map((shape) => shape.of)).toEqual(["point third"]);
    expect(scene?.legend.map((entry) => [entry.name, entry.of])).toEqual([
      ["measured", "point own"],
      ["predicted", "point third"],
    ]);
  });

  test("are said with their kind, unit and note", () => {
    expect(scene?.marks.map((mark) => [mark.name, ...mark.values])).toEqual([
      ["front, measured", "190 ±4", "us"],
      ["front, predicted", "165 ±2", "us; beyond measurements"],
    ]);
  });

  test("have all of that in a table", () => {
    expect(intervalTable(data)).toEqual([
      ["", "kind", "CPU time, us", "note"],
      ["front", "measured", "190 ±4", "-"],
      ["front", "predicted", "165 ±2", "beyond measurements"],
    ]);
  });

  test("begin at zero", () => {
    const [measured, predicted] = scene?.marks ?? [];
    const [zero] = of(scene, "line", "zero");
    expect(zero?.x1).toBeLessThan((predicted?.x ?? 0) - 400);
    expect(predicted?.x).toBeLessThan(measured?.x ?? 0);
  });
});

test("one kind needs no legend and no column", () => {
  const data = chart([MEASURED]);
  expect(intervals(data, 900)?.legend).toEqual([]);
  expect(intervalTable(data)).toEqual([
    ["", "CPU time, us"],
    ["front", "190 ±4"],
  ]);
});

test("what may be zero is told from what is not", () => {
  const price = (estimate: number) => row("lua", { estimate, low: estimate - 1, high: estimate + 1, form: "difference" });
  expect(intervalRows(chart([price(5), price(0.5)])).map((one) => one.tone)).toEqual(["own", undefined]);
  const level = row("idle", { estimate: 0, low: 0, high: 1 });
  expect(intervalRows(chart([level])).map((one) => one.tone), "an amount may be zero").toEqual(["own"]);
});

describe("a logarithmic axis", () => {
  const values = [row("same", { text: "≥ 165,715", estimate: 400_000, low: 165_715, basis: "bounded" }), row("jwt", { text: "16,263 ±1,177", estimate: 16_263, low: 15_086, high: 17_440 })];
  const data = chart(values, { scale: "logarithmic", level: { y: 100, text: "the truth" } });
  const scene = intervals(data, 900);

  test("has no zero, and a line for what the others are held against", () => {
    expect(of(scene, "line", "zero")).toHaveLength(0);
    const [level] = of(scene, "line", "limit");
    const [bounded, point] = scene?.marks ?? [];
    expect(level?.x1).toBeLessThan(point?.x ?? 0);
    expect(point?.x).toBeLessThan(bounded?.x ?? 0);
    expect(scene?.legend.map((entry) => [entry.name, entry.of]), "dashed, as it is drawn").toEqual([["the truth", "limit"]]);
    expect(intervalTable(data).at(-1)).toEqual(["the truth", "100"]);
  });

  test("ends with an arrow where a bound is open, without a point", () => {
    expect(of(scene, "path", "arrow")).toHaveLength(1);
    expect(of(scene, "circle", "point")).toHaveLength(1);
    expect(of(scene, "line", "interval").some((line) => line.of === "interval own bounded")).toBe(true);
  });

  test.each([320, 900])("has numbers alone in %i pixels", (width) => {
    expect(JSON.stringify(intervals(data, width))).not.toMatch(/null|NaN|Infinity/);
  });
});

test("a bound from above reaches down to the start of the axis", () => {
  const scene = intervals(chart([row("a", { text: "≤ 12", high: 12, basis: "bounded" }), MEASURED]), 900);
  const arrow = of(scene, "path", "arrow");
  expect(arrow).toHaveLength(1);
  expect(JSON.stringify(scene)).not.toMatch(/null|NaN|Infinity/);
});

test("bounds alone have an axis, too", () => {
  const scene = intervals(chart([row("a", { low: 12, basis: "bounded" }), row("b", { high: 30, basis: "bounded" })]), 900);
  expect(scene?.marks).toHaveLength(2);
  expect(JSON.stringify(scene)).not.toMatch(/null|NaN|Infinity/);
});

test("a number without an interval is a point", () => {
  const [one] = intervalRows(chart([row("p99", { estimate: 99.9 })]));
  expect([one?.low, one?.high, one?.isBounded]).toEqual([99.9, 99.9, false]);
});

test("what is not known is in the table alone, and nothing known is nothing to draw", () => {
  const unknown = row("p99", { text: "-", basis: { unknown: "withheld" } });
  expect(intervals(chart([MEASURED, unknown]), 900)?.marks).toHaveLength(1);
  expect(intervalTable(chart([MEASURED, unknown]))).toHaveLength(3);
  expect(intervals(chart([unknown]), 900)).toBeUndefined();
});
