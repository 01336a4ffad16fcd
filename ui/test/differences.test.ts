import { describe, expect, test } from "vitest";
import { differenceRows, differenceTable } from "../src/block/differences";
import { axisOf, forest } from "../src/chart/forest";
import type { DifferenceRow, Differences } from "../src/types/document";

function row(subject: string, measure: string, estimate: number, half: number, outcome: DifferenceRow["outcome"]): DifferenceRow {
  const share = { text: `${estimate} ±${half}`, estimate, low: estimate - half, high: estimate + half, unit: "%", form: "difference", basis: "measured" } as const;
  return { subject, measure, share, text: `${measure}, us: ${estimate}`, outcome };
}

const DATA: Differences = {
  title: "Differences from old",
  axis: "difference from old, %",
  margin: 2,
  rows: [
    row("new", "CPU time", -7, 1, "different"),
    row("new", "p50", 1, 4, "undecided"),
    row("old again", "CPU time", 0.1, 0.4, "equivalent"),
  ],
};

test("rows are told apart by their decision and not by zero alone", () => {
  const scene = forest(differenceRows(DATA, ""), { axis: DATA.axis, band: { low: -2, high: 2 }, isLinear: false }, 900);
  const points = scene.shapes.filter((shape) => shape.of.startsWith("point ")).map((shape) => [shape.kind, shape.of]);
  expect(points).toEqual([
    ["circle", "point different"],
    ["circle", "point undecided"],
    ["path", "point equivalent"],
  ]);
  expect(scene.marks[0]?.values.at(-1)).toBe("different; CPU time, us: -7");
});

test("a row of a gate has its limit, and fails in another form than it passes", () => {
  const rows = [
    { ...row("a", "CPU time", 5, 1, "failed"), limit: 3 },
    { ...row("a", "p99", 1, 1, "passed"), limit: 10 },
  ];
  const scene = forest(differenceRows({ ...DATA, margin: null, rows }, ""), { axis: "", band: null, isLinear: false, least: 11 }, 900);
  const limits = scene.shapes.filter((shape) => shape.of === "limit of-row");
  expect(limits).toHaveLength(2);
  expect(scene.shapes.filter((shape) => shape.of.startsWith("point ")).map((shape) => shape.of)).toEqual(["point failed", "point passed"]);
});

describe("a difference that only bounds hold", () => {
  const bounded = (measure: string, share: Partial<DifferenceRow["share"]>, text: string): DifferenceRow => ({
    subject: "new",
    measure,
    share: { text: "-", unit: "%", form: "difference", basis: "bounded", ...share },
    text,
    outcome: "undecided",
  });
  const above = bounded("p99", { text: "≤ +613", high: 613 }, "≤ +1,300 us");
  const below = bounded("p90", { text: "≥ -4.00", low: -4 }, "≥ -8.00 us");
  const between = bounded("p50", { text: "-20 to +30", low: -20, high: 30 }, "-40 to +60 us");
  const unplaced = bounded("memory", { basis: { unknown: "the level of the reference is not known" } }, "≤ +2.0 MiB");
  const options = { axis: DATA.axis, band: { low: -2, high: 2 }, isLinear: false };
  const shapes = (rows: DifferenceRow[]) => forest(differenceRows({ ...DATA, rows }, ""), options, 900).shapes;
  const arrows = (rows: DifferenceRow[]) => shapes(rows).flatMap((shape) => (shape.kind === "path" && shape.of === "arrow undecided" ? [shape.d] : []));

  test("is a row that is open where no end is known", () => {
    const ends = differenceRows({ ...DATA, rows: [above, below, between, unplaced] }, "").map((one) => [one.low, one.high, one.isBounded]);
    expect(ends).toEqual([
      [-Infinity, 613, true],
      [-4, Infinity, true],
      [-20, 30, true],
      [-Infinity, Infinity, true],
    ]);
  });

  test("has an arrow towards each end that is not known, and no point", () => {
    expect(arrows([above])).toHaveLength(1);
    expect(arrows([below])).toHaveLength(1);
    expect(arrows([above])[0]).not.toBe(arrows([below])[0]);
    expect([arrows([between]).length, arrows([unplaced]).length]).toEqual([0, 2]);
    const all = shapes([...DATA.rows, above, below, between, unplaced]);
    expect(all.filter((shape) => shape.of.startsWith("point ")), "those with intervals").toHaveLength(DATA.rows.length);
    expect(all.filter((shape) => shape.of === "interval undecided bounded")).toHaveLength(4);
    expect(JSON.stringify(all)).not.toMatch(/null|NaN|Infinity/);
  });

  test("is said with its bound", () => {
    const scene = forest(differenceRows({ ...DATA, rows: [above, unplaced] }, ""), options, 900);
    expect(scene.marks.map((mark) => mark.values)).toEqual([
      ["≤ +613 %", "undecided; only bounds are known; ≤ +1,300 us"],
      ["≤ +2.0 MiB", "undecided; only bounds are known; ≤ +2.0 MiB"],
    ]);
    expect(differenceTable({ ...DATA, rows: [above, unplaced] }).slice(1)).toEqual([
      ["new", "p99", "≤ +613 %", "≤ +1,300 us", "undecided"],
      ["new", "memory", "-", "≤ +2.0 MiB", "undecided"],
    ]);
  });
});

test("one measure is compared between subjects", () => {
  expect(differenceRows(DATA, "").map((one) => one.label)).toEqual(["CPU time", "p50", "CPU time"]);
  expect(differenceRows(DATA, "CPU time").map((one) => one.label)).toEqual(["new", "old again"]);
  expect(differenceRows({ ...DATA, rows: DATA.rows.slice(0, 2) }, "").map((one) => one.label)).toEqual(["CPU time", "p50"]);
});

test("rows of one subject are below its name", () => {
  const scene = forest(differenceRows(DATA, ""), { axis: DATA.axis, band: null, isLinear: false, isGrouped: true }, 900);
  const texts = scene.shapes.flatMap((shape) => (shape.kind === "text" && shape.of.startsWith("label") ? [shape] : [])).sort((a, b) => a.y - b.y);
  expect(texts.map((text) => text.text)).toEqual(["new", "CPU time", "p50", "old again", "CPU time"]);
  expect(scene.marks.map((mark) => mark.name)).toEqual(["new: CPU time", "new: p50", "old again: CPU time"]);
  expect(Math.max(...scene.marks.map((mark) => mark.y))).toBeLessThan(scene.height);
});

test("the axis reaches beyond the margin, however small the differences", () => {
  const rows = differenceRows({ ...DATA, rows: [row("a", "CPU time", 0.01, 0.02, "equivalent")] }, "");
  const scale = axisOf(rows, { axis: "", band: null, isLinear: false, least: 2 }, [0, 600]);
  expect([scale.isOutside(-2), scale.isOutside(2)]).toEqual([false, false]);
});
