import { describe, expect, test } from "vitest";
import { meanOf, roundRows, rounds, roundsOf } from "../src/chart/rounds";
import { textWidth, type Scene, type Shape } from "../src/chart/scene";
import type { Slices } from "../src/types/document";

const slice = (round: number, value: number, aside?: string) => ({ round, s: round, value, ...(aside === undefined ? {} : { aside }) });
const DATA: Slices = {
  axis: "CPU time per request, us",
  unit: "us",
  headings: ["CPU us"],
  load: "saturation",
  arms: [
    { arm: "lua", slices: [slice(1, 50), slice(1, 54), slice(2, 56), slice(3, 60), slice(3, 9_000, "steal"), slice(4, 9_000, "steal")] },
    { arm: "baseline", slices: [slice(1, 40), slice(2, 44), slice(3, 42)] },
    { arm: "one", slices: [slice(1, 1)] },
    { arm: "two", slices: [slice(1, 1), slice(2, 3)] },
  ],
};

function of<K extends Shape["kind"]>(scene: Scene | undefined, kind: K, name: string): Extract<Shape, { kind: K }>[] {
  return (scene?.shapes ?? []).filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind && shape.of.startsWith(name));
}

describe("the rounds behind a number", () => {
  test("are the means of the slices that count; one without any is none", () => {
    expect(roundsOf(DATA, "lua")).toEqual([
      { round: 1, value: 52, count: 2 },
      { round: 2, value: 56, count: 1 },
      { round: 3, value: 60, count: 1 },
    ]);
    expect(roundsOf(DATA, null)).toEqual([]);
  });

  test("have a mean with the interval of Student's t, unless they are too few", () => {
    // The standard deviation of 52, 56 and 60 is 4, and t of two degrees of freedom 4.303.
    const { value, half } = meanOf(roundsOf(DATA, "lua"));
    expect([value, half]).toEqual([56, expect.closeTo((4.303 * 4) / Math.sqrt(3))]);
    expect(meanOf(roundsOf(DATA, "two"))).toEqual({ value: 2, half: undefined });
    // 40 degrees of freedom: 2.021.
    const many = Array.from({ length: 41 }, (_, place) => ({ round: place, value: place % 2, count: 1 }));
    const deviation = Math.sqrt(((20 / 41) * (21 / 41) * 41) / 40);
    expect((meanOf(many).half ?? 0) / (deviation / Math.sqrt(41))).toBeCloseTo(2.021, 2);
  });

  test("are points above those of the other arm, on one axis, each with its mean and interval", () => {
    const scene = rounds(DATA, "lua", "baseline", 900);
    const [own, other] = [of(scene, "circle", "dot own"), of(scene, "circle", "dot other")];
    expect([own.length, other.length]).toEqual([3, 3]);
    expect(Math.max(...own.map((dot) => dot.y))).toBeLessThan(Math.min(...other.map((dot) => dot.y)));
    expect(Math.min(...own.map((dot) => dot.x))).toBeGreaterThan(Math.max(...other.map((dot) => dot.x)));
    const [interval] = of(scene, "line", "interval own");
    expect(interval?.x1).toBeLessThan(Math.min(...own.map((dot) => dot.x)));
    expect(of(scene, "path", "dot")).toHaveLength(2);
    expect(scene?.marks.map(({ name, values }) => `${name}: ${values[0]}`)).toEqual([
      "lua, round 1: 52.0 us, the mean of its 2 slices that count",
      "lua, round 2: 56.0 us, its slice that counts",
      "lua, round 3: 60.0 us, its slice that counts",
      "lua, mean of 3 rounds: 56.0 ±9.9 us, with its 95 % interval",
      "baseline, round 1: 40.0 us, its slice that counts",
      "baseline, round 2: 44.0 us, its slice that counts",
      "baseline, round 3: 42.0 us, its slice that counts",
      "baseline, mean of 3 rounds: 42.0 ±5.0 us, with its 95 % interval",
    ]);
  });

  test("of one arm alone are drawn alone, and one round is none to compare", () => {
    expect(of(rounds(DATA, "lua", null, 900), "circle", "dot other")).toEqual([]);
    expect(of(rounds(DATA, "lua", "one", 900), "circle", "dot other")).toEqual([]);
    expect(rounds(DATA, "one", "baseline", 900)).toBeUndefined();
    expect(of(rounds(DATA, "two", null, 900), "line", "interval")).toEqual([]);
  });

  test.each([320, 390, 900])("stay within a width of %i pixels", (width) => {
    for (const shape of rounds(DATA, "lua", "baseline", width)?.shapes ?? []) {
      const half = shape.kind === "text" && shape.anchor === "middle" ? textWidth(shape.text) / 2 : 0;
      const end = shape.kind === "text" ? shape.x + (half || (shape.anchor === "end" ? 0 : textWidth(shape.text))) : shape.kind === "line" ? Math.max(shape.x1, shape.x2) : 0;
      expect(end).toBeLessThanOrEqual(width);
    }
  });

  test("are a table, too", () => {
    expect(roundRows(DATA, "lua", "baseline")).toEqual([
      ["round", "lua", "baseline"],
      ["1", "52", "40"],
      ["2", "56", "44"],
      ["3", "60", "42"],
      ["mean", "56.0 ±9.9", "42.0 ±5.0"],
    ]);
    expect(roundRows(DATA, "one", "gone").at(-1)).toEqual(["mean", "1.00", "-"]);
  });
});
