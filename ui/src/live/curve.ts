// The trials of a search while it runs: for each objective the value that it limits, by rate.

import { plain } from "../chart/scale";
import type { Curve, CurveTrial } from "../types/api";
import type { Line, Point, Series } from "../types/document";

/** Charts that are drawn, as in the result. */
const MOST = 4;
/** From this ratio of the largest value to the smallest on, a linear axis would show only the largest. */
const FAR = 20;
/** Bytes of a MiB. */
const MIB = 1_048_576;
/** Room before the first of several rates that are near each other, as a share of their span. */
const ROOM = 0.1;

/** The charts; none of an objective without a value. */
export function curveCharts(curves: readonly Curve[]): Series[] {
  return curves.slice(0, MOST).flatMap((curve) => chart(curve) ?? []);
}

function chart({ objective, unit: of, limit, trials }: Curve): Series | undefined {
  const name = objective.split(/[<>]/)[0]?.trim() ?? objective;
  const [unit, factor] = of === "bytes" ? ["MiB", 1 / MIB] : [of, 1];
  const points = (isIt: (trial: CurveTrial) => boolean): Point[] =>
    trials
      .filter(isIt)
      .flatMap(({ rate, value }) => (typeof value === "number" ? [{ x: rate, y: value * factor, text: `${plain(value * factor)} ${unit}` }] : []))
      .sort((one, other) => one.x - other.x);
  const all: Line[] = [
    { name: "holds", tone: "own", form: "scattered", points: points((trial) => trial.counts && trial.holds) },
    { name: "fails", tone: "failed", form: "scattered", points: points((trial) => trial.counts && !trial.holds) },
    { name: "does not count", tone: "other", form: "scattered", points: points((trial) => !trial.counts) },
  ];
  const lines = all.filter((line) => line.points.length > 0);
  const drawn = lines.flatMap((line) => line.points);
  if (drawn.length === 0) {
    return undefined;
  }
  const rates = drawn.map((point) => point.x);
  const values = drawn.map((point) => point.y ?? 0);
  const [first, last] = [Math.min(...rates), Math.max(...rates)];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const isNear = first < last && 2 * first > last;
  return {
    title: `${name} of each trial so far`,
    x: { label: "rate, requests/s", unit: "requests/s", scale: "linear", ...(isNear ? { lowest: first - ROOM * (last - first) } : {}) },
    y: { label: `${name}, ${unit}`, unit, scale: least > 0 && most > FAR * least ? "logarithmic" : "linear" },
    lines,
    ...(typeof limit === "number" ? { levels: [{ y: limit * factor, text: objective }] } : {}),
  };
}
