import { expect, test } from "vitest";
import { differenceRows } from "../src/block/differences";
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
