import { expect, test } from "vitest";
import { otherSaved, saved, steps, without } from "../src/chart/waterfall";
import type { Quantity, Waterfall } from "../src/types/document";

function us(estimate: number, half: number): Quantity {
  return { text: `${estimate} ±${half}`, estimate, low: estimate - half, high: estimate + half, unit: "us", form: "level", basis: "measured" };
}

const BILL: Waterfall = {
  title: "bill",
  axis: "us",
  unit: "us",
  rest: us(40, 1),
  parts: [
    { name: "jwt", kind: "HTTP filter", cost: us(20, 2), also: [us(9, 1), us(3, 1)] },
    { name: "lua", kind: "HTTP filter", cost: us(5, 1), also: [us(2, 1), null] },
  ],
  together: us(-3, 2),
  whole: us(62, 1),
  also: [
    { name: "p50, us", whole: us(150, 4), price_per_hour: null },
    { name: "memory, MiB", whole: us(66, 1), price_per_hour: null },
  ],
  rate: 1000,
  price_per_core_hour: null,
  hours_per_month: 730,
};

test("each bar begins where the one before ends, and the last reaches the whole", () => {
  const all = steps(BILL, new Set());
  expect(all.map((step) => [step.from, step.to])).toEqual([
    [0, 40],
    [40, 45],
    [45, 65],
    [65, 62],
    [0, 62],
  ]);
});

test("without a part, the whole costs what it costs less what the part costs alone, with an interval that is not too narrow", () => {
  expect(without(BILL, new Set())).toEqual({ estimate: 62, low: 61, high: 63 });
  expect(without(BILL, new Set(["jwt"]))).toEqual({ estimate: 42, low: 39, high: 45 });
  expect(steps(BILL, new Set(["jwt", "lua"])).at(-1)).toMatchObject({ to: 37, tone: "level" });
});

test("what is saved has the interval of the parts alone, which is narrower than that of what is left", () => {
  expect(saved(BILL, new Set())).toEqual({ estimate: 0, low: 0, high: 0 });
  expect(saved(BILL, new Set(["jwt", "lua"]))).toEqual({ estimate: 25, low: 22, high: 28 });
});

test("a part whose sign is not supported is as grey as one whose interval contains zero", () => {
  const toneOf = (cost: Quantity) => steps({ ...BILL, parts: [{ name: "lua", kind: "HTTP filter", cost }] }, new Set()).find((step) => step.name === "lua")?.tone;
  expect([us(5, 1), us(5, 6), { ...us(5, 1), has_uncertain_sign: true }].map(toneOf)).toEqual(["part", "near", "near"]);
});

test("without a known whole, nothing is predicted", () => {
  expect(without({ ...BILL, whole: null }, new Set(["jwt"]))).toBeUndefined();
});

test("other numbers change with the parts, unless it is not known what a part adds", () => {
  expect(otherSaved(BILL, new Set(["jwt", "lua"]), 0)).toEqual({ estimate: 11, low: 9, high: 13 });
  expect(otherSaved(BILL, new Set(["jwt"]), 1)).toEqual({ estimate: 3, low: 2, high: 4 });
  expect(otherSaved(BILL, new Set(["jwt", "lua"]), 1)).toBeUndefined();
});
