import { expect, test } from "vitest";
import { curveCharts } from "../src/live/curve";
import type { Curve, CurveTrial } from "../src/types/api";

const trial = (rate: number, value: number | null, holds: boolean, counts = true): CurveTrial => ({ rate, value, holds, counts });
const curve = (trials: CurveTrial[], more: Partial<Curve> = {}): Curve => ({ objective: "p99<5ms", unit: "us", limit: 5000, trials, ...more });

test("trials that hold, fail and do not count are told apart, by rate, beside the limit", () => {
  const [chart] = curveCharts([curve([trial(900, 6000, false), trial(400, 800, true), trial(600, 1200, true), trial(800, 9000, false, false)])]);
  expect(chart?.lines.map((line) => [line.name, line.points.map((point) => [point.x, point.y])])).toEqual([
    ["holds", [[400, 800], [600, 1200]]],
    ["fails", [[900, 6000]]],
    ["does not count", [[800, 9000]]],
  ]);
  expect(chart?.levels).toEqual([{ y: 5000, text: "p99<5ms" }]);
  expect([chart?.y.label, chart?.y.scale, chart?.x.lowest]).toEqual(["p99, us", "linear", undefined]);
  expect(chart?.lines[0]?.points[0]?.text).toBe("800 us");
});

test("values far apart have a logarithmic axis, and rates near each other one that begins near them", () => {
  const [chart] = curveCharts([curve([trial(900, 100, true), trial(1000, 50_000, false)])]);
  expect([chart?.y.scale, chart?.x.lowest]).toEqual(["logarithmic", 890]);
});

test("memory is in MiB, and without a limit none is made up", () => {
  const [chart] = curveCharts([curve([trial(10, 2 * 1_048_576, true)], { objective: "memory<1GiB", unit: "bytes", limit: null })]);
  expect([chart?.y.label, chart?.lines[0]?.points[0]?.y, chart?.levels]).toEqual(["memory, MiB", 2, undefined]);
});

test("an objective without a value has no chart yet", () => {
  expect(curveCharts([curve([trial(10, null, true)]), curve([])])).toEqual([]);
});
