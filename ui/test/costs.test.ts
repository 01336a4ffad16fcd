import { describe, expect, test } from "vitest";
import { rowsOf, slicesOf } from "../src/block/costs";
import type { CostArm, Costs, CostView, Quantity, Slices } from "../src/types/document";

function arm(name: string, kind: CostArm["kind"], isControl = false): CostArm {
  return { id: name, name, family: name, summary: "", compared_with: "baseline", kind, is_control: isControl };
}

function us(estimate: number, half: number): Quantity {
  return { text: `+${estimate} ±${half}`, estimate, low: estimate - half, high: estimate + half, unit: "us", form: "difference", basis: "measured" };
}

const NUMBERS: [CostArm, Quantity][] = [
  [arm("direct", "direct"), us(-30, 1)],
  [arm("burn", "function", true), us(20, 1)],
  [arm("lua", "function"), { ...us(5, 1), has_uncertain_sign: true }],
  [arm("jwt", "function"), us(20, 2)],
];
const COSTS: Costs = {
  arms: NUMBERS.map(([one]) => one),
  views: [{ heading: "CPU us", axis: "us", load: "in-use", load_words: "in use", cells: NUMBERS.map(([, quantity]) => ({ quantity })) }],
  slices: [],
};

function names(view: Record<string, string>): { drawn: string[]; beside: string[] } {
  const [shown] = COSTS.views;
  if (shown === undefined) {
    throw new Error("there is a view");
  }
  const { rows, beside } = rowsOf(COSTS, shown, view);
  return { drawn: rows.map((row) => row.label), beside: beside.map((one) => one.name) };
}

test("arms that are no costs to compare are named beside the chart, and drawn if the filter names them", () => {
  expect(names({})).toEqual({ drawn: ["jwt", "lua"], beside: ["direct", "burn"] });
  expect(names({ text: "dir" })).toEqual({ drawn: ["direct"], beside: [] });
  expect(names({ family: "burn" })).toEqual({ drawn: ["burn"], beside: [] });
});

test("a view of reasons alone draws nothing, and lists the arms with their reasons", () => {
  const unknown: Quantity = { text: "-", unit: "%", form: "level", basis: { unknown: "vague-level" } };
  const cells = NUMBERS.map(() => ({ quantity: unknown }));
  const { rows, lacking } = rowsOf(COSTS, { heading: "p99 %", axis: "%", load: null, load_words: null, cells }, {});
  expect([rows.length, lacking.map((one) => one.arm.name)]).toEqual([0, ["lua", "jwt"]]);
});

test("a number whose sign is not supported is drawn as such, and says so", () => {
  const [shown] = COSTS.views;
  const rows = shown === undefined ? [] : rowsOf(COSTS, shown, {}).rows;
  expect(rows.map((row) => [row.label, row.isUncertain, row.note])).toEqual([
    ["jwt", false, "us"],
    ["lua", true, "us; may be zero, or of the other sign"],
  ]);
});

describe("the slices behind a number", () => {
  const of = (headings: string[], load: string, arms = ["lua"]): Slices => ({
    axis: headings.join(),
    unit: "us",
    headings,
    load,
    arms: arms.map((one) => ({ arm: one, slices: [] })),
  });
  const all = [of(["CPU %", "CPU us"], "in-use"), of(["p50 us"], "in-use"), of(["CPU %", "CPU us"], "half"), of(["CPU %", "CPU us"], "own", ["jwt"])];
  const found = (arm: string, heading: string, load: string | null) => {
    const shown: CostView = { heading, axis: "", load, load_words: load, cells: [] };
    return all.indexOf(slicesOf({ ...COSTS, slices: all }, arm, shown) ?? of([], ""));
  };

  test("are those of its measure under its load", () => {
    expect([found("lua", "CPU us", "in-use"), found("lua", "CPU us", "half"), found("lua", "p50 us", "in-use")]).toEqual([0, 2, 1]);
  });

  test("are those under the arm's own load, or else others of the arm", () => {
    expect([found("jwt", "CPU us", "in-use"), found("lua", "p50 us", "half"), found("lua", "memory MiB", null)]).toEqual([3, 1, 0]);
  });
});
