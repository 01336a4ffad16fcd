// A heat map: how a distribution changes over time, the stronger the colour the more of a part of the time.

import type { Heat } from "../types/document";
import { shownOf, type Range } from "./range";
import { grouped, linear, logarithmic, plain } from "./scale";
import { tickText, type Mark, type Scene, type Shape } from "./scene";

const LEFT = 58;
const RIGHT = 14;
const TOP = 30;
const BOTTOM = 44;
const HEIGHT = 278;
/** The faintest cell with a value, so that one slow response in a million is seen. */
const FAINTEST = 0.14;

/** The chart, or the part of it over a range of the time. */
export function heat(data: Heat, width: number, chosen?: Range): Scene {
  const [left, right, bottom] = [LEFT, width - RIGHT, HEIGHT - BOTTOM];
  const whole = { from: data.columns[0]?.from ?? 0, to: data.columns.at(-1)?.to ?? 1 };
  const shown = shownOf(whole, chosen);
  const columns = data.columns.filter((column) => column.to > shown.from && column.from < shown.to);
  const bins = columns.flatMap((column) => column.bins);
  const x = linear([shown.from, shown.to], [left, right], 64);
  const [lowest, highest] = bins.length > 0 ? [Math.min(...bins.map((bin) => bin.from)), Math.max(...bins.map((bin) => bin.to))] : [1, 10];
  const y = logarithmic([lowest, highest], [bottom, TOP], 24);
  const shapes: Shape[] = [];
  for (const tick of y.ticks) {
    shapes.push(
      { kind: "line", x1: left, x2: right, y1: tick.at, y2: tick.at, of: "grid" },
      { kind: "text", x: left - 6, y: tick.at + 4, text: tick.label, of: "tick", anchor: "end" },
    );
  }
  for (const tick of x.ticks) {
    shapes.push(tickText(tick, bottom + 16, width));
  }
  const marks: Mark[] = [];
  const total = (column: Heat["columns"][number]) => Math.max(1, column.bins.reduce((sum, bin) => sum + bin.count, 0));
  const most = (column: Heat["columns"][number]) => Math.max(0, ...column.bins.map((bin) => bin.count)) / total(column);
  const highestShare = Math.max(Number.MIN_VALUE, ...columns.map(most));
  for (const column of columns) {
    const all = total(column);
    const [from, to] = [x.at(column.from), x.at(column.to)];
    for (const bin of column.bins) {
      const share = bin.count / all;
      const [high, low] = [y.at(bin.to), y.at(bin.from)];
      // The root lets rare times be seen beside frequent ones.
      const opacity = FAINTEST + (1 - FAINTEST) * Math.sqrt(share / highestShare);
      shapes.push({ kind: "rect", x: from, y: high, width: Math.max(1, to - from - 0.5), height: Math.max(1, low - high), of: "cell", opacity });
      marks.push({
        x: (from + to) / 2,
        y: (high + low) / 2,
        name: `${plain(column.from)} to ${plain(column.to)} s, ${plain(bin.from)} to ${plain(bin.to)} us`,
        values: [`${grouped(bin.count, 0)} of ${grouped(all, 0)} responses, ${plain(share * 100)} %`],
      });
    }
  }
  shapes.push({ kind: "line", x1: left, x2: right, y1: bottom, y2: bottom, of: "zero" });
  shapes.push({ kind: "text", x: 0, y: TOP - 16, text: `${data.y}; ${y.note}`, of: "axis" });
  shapes.push({ kind: "text", x: (left + right) / 2, y: HEIGHT - 8, text: data.x, of: "axis", anchor: "middle" });
  return { width, height: HEIGHT, shapes, marks, near: "both", legend: [], extent: { left, right, top: TOP, bottom, scale: x, whole, shown, words: (value) => `${Number.isInteger(value) ? grouped(value, 0) : plain(value)} s` } };
}
