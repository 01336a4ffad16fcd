import { expect, test } from "vitest";
import { chosenMeasure, overlayDifferences, overlayTable, shownRows } from "../src/block/overlay";
import { forest } from "../src/chart/forest";
import { overlay, overlayGroups } from "../src/chart/overlay";
import type { Overlay, OverlayRow } from "../src/types/document";

type Outcome = "different" | "equivalent" | "undecided";

function quantity(estimate: number, half: number) {
  return { text: `+${estimate} ±${half}`, estimate, low: estimate - half, high: estimate + half, unit: "us", form: "difference", basis: "measured" } as const;
}

function row(name: string, costs: (number | null)[], outcomes: (Outcome | null)[]): OverlayRow {
  return {
    name,
    summary: `${name} in a line`,
    costs: costs.map((cost) => (cost === null ? null : quantity(cost, 0.5))),
    differences: outcomes.map((outcome, place) =>
      outcome === null ? null : { value: quantity((costs[place] ?? 0) - (costs[0] ?? 0), 0.7), text: "+1 ±1 % of baseline", outcome },
    ),
  };
}

const DATA: Overlay = {
  title: "Costs",
  runs: [
    { name: "run 9", tone: "other" },
    { name: "run 12", tone: "own" },
  ],
  views: [
    {
      heading: "CPU time",
      axis: "CPU time, us",
      margin: 1,
      rows: [row("lua", [5, 8], [null, "different"]), row("cors", [1, 1.5], [null, "equivalent"]), row("jwt", [2, null], [null, null])],
    },
    { heading: "p50", axis: "p50, us", margin: null, rows: [row("lua", [3, 3], [null, "undecided"])] },
  ],
};
const [CPU] = DATA.views;
const ROWS = CPU?.rows ?? [];

test("an arm has a line for each run that has a number, below each other and told apart without colours", () => {
  const groups = overlayGroups(ROWS, DATA.runs);
  expect(groups.map((group) => [group.name, group.lines.map((line) => line.run)])).toEqual([
    ["lua", ["run 9", "run 12"]],
    ["cors", ["run 9", "run 12"]],
    ["jwt", ["run 9"]],
  ]);
  const scene = overlay(groups, DATA.runs, { axis: "us", isLinear: false }, 900);
  expect(scene.marks.map((mark) => mark.name)).toEqual(["lua, run 9", "lua, run 12", "cors, run 9", "cors, run 12", "jwt, run 9"]);
  const heights = scene.marks.map((mark) => mark.y);
  expect(heights.every((y, place) => place === 0 || y > (heights[place - 1] ?? 0))).toBe(true);
  expect(scene.height).toBeGreaterThan(heights.at(-1) ?? 0);
  expect(scene.marks[1]?.values).toEqual(["+8 ±0.5 different", "us; different: +3 ±0.7 us, +1 ±1 % of baseline"]);
  expect(scene.legend.map((entry) => [entry.name, entry.of])).toEqual([
    ["run 9", "point other"],
    ["run 12", "point own"],
  ]);
  expect(scene.shapes.filter((shape) => shape.of === "point own")).toHaveLength(2);
});

test("a difference that only bounds hold is drawn as bounds, with its decision", () => {
  const value = { text: "+0.0 to +5.0", low: 0, high: 5, unit: "us", form: "difference", basis: "bounded" } as const;
  const bounded: OverlayRow = { ...row("lua", [5, 8], [null, null]), differences: [null, { value, text: "+0.0 to +10.0 % of baseline", outcome: "undecided" }] };
  const [known, open] = overlayDifferences([row("cors", [1, 2], [null, "different"]), bounded], DATA.runs);
  expect([known?.isBounded, open?.isBounded, open?.tone]).toEqual([false, true, "undecided"]);
});

test("each of five runs has a point of its own", () => {
  const tones = ["other", "own", "third", "fourth", "fifth"] as const;
  const runs = tones.map((tone, place) => ({ name: `run ${place}`, tone }));
  const five = row("lua", [1, 2, 3, 4, 5], [null, null, null, null, null]);
  const scene = overlay(overlayGroups([five], runs), runs, { axis: "us", isLinear: false }, 900);
  const points = scene.shapes.filter((shape) => shape.of.startsWith("point "));
  expect(new Set(points.map((shape) => shape.of)).size).toBe(5);
});

test("on a narrow screen, the name of an arm is above its first number", () => {
  const scene = overlay(overlayGroups(ROWS, DATA.runs), DATA.runs, { axis: "us", isLinear: false }, 390);
  const labels = scene.shapes.filter((shape) => shape.of === "label");
  expect(labels).toHaveLength(3);
  expect(scene.shapes.every((shape) => shape.kind !== "text" || (shape.x >= 0 && shape.x <= 390))).toBe(true);
});

test("differences have the form of their decision, and the run only where there are several", () => {
  const differences = overlayDifferences(ROWS, DATA.runs);
  expect(differences.map((one) => [one.label, one.tone, one.estimate])).toEqual([
    ["lua", "different", 3],
    ["cors", "equivalent", expect.closeTo(0.5)],
  ]);
  const scene = forest(differences, { axis: "us", band: { low: -1, high: 1 }, isLinear: false }, 900);
  expect(scene.shapes.filter((shape) => shape.of.startsWith("point ")).map((shape) => shape.of)).toEqual(["point different", "point equivalent"]);
  const three = [...DATA.runs, { name: "run 13", tone: "third" } as const];
  const of = overlayDifferences([row("lua", [1, 2, 3], [null, "different", "undecided"])], three);
  expect(of.map((one) => one.label)).toEqual(["lua: run 12", "lua: run 13"]);
});

test("a reader leaves arms by their words and by what was decided", () => {
  const names = (view: Record<string, string>) => shownRows(CPU!, view).map((one) => one.name);
  expect(names({})).toEqual(["lua", "cors", "jwt"]);
  expect(names({ text: "CORS" })).toEqual(["cors"]);
  expect(names({ decision: "different" })).toEqual(["lua"]);
  expect(names({ decision: "undecided" })).toEqual([]);
  expect(chosenMeasure(DATA, { measure: "p50" })?.heading).toBe("p50");
  expect(chosenMeasure(DATA, { measure: "none" })?.heading).toBe("CPU time");
});

test("the table has the cost in each run, the difference and the decision", () => {
  expect(overlayTable(ROWS, DATA.runs)).toEqual([
    ["arm", "run 9", "run 12", "run 12: difference", "run 12: decision"],
    ["lua", "+5 ±0.5", "+8 ±0.5", "+3 ±0.7", "different"],
    ["cors", "+1 ±0.5", "+1.5 ±0.5", "+0.5 ±0.7", "equivalent"],
    ["jwt", "+2 ±0.5", "-", "-", "-"],
  ]);
});
