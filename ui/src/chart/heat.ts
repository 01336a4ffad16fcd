// A heat map: how a distribution changes over time, the darker the more of a part of the time.

import type { Heat } from "../types/document";
import { grouped, linear, logarithmic, plain } from "./scale";
import type { Mark, Scene, Shape } from "./scene";

const LEFT = 58;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 44;
const HEIGHT = 260;
/** The faintest cell with a value, so that one slow response in a million is seen. */
const FAINTEST = 0.14;

/** The chart. */
export function heat(data: Heat, width: number): Scene {
  const bins = data.columns.flatMap((column) => column.bins);
  const bottom = HEIGHT - BOTTOM;
  const x = linear([data.columns[0]?.from ?? 0, data.columns.at(-1)?.to ?? 1], [LEFT, width - RIGHT], 64);
  const y = logarithmic([Math.min(...bins.map((bin) => bin.from)), Math.max(...bins.map((bin) => bin.to))], [bottom, TOP], 24);
  const shapes: Shape[] = [];
  for (const tick of y.ticks) {
    shapes.push(
      { kind: "line", x1: LEFT, x2: width - RIGHT, y1: tick.at, y2: tick.at, of: "grid" },
      { kind: "text", x: LEFT - 6, y: tick.at + 4, text: tick.label, of: "tick", anchor: "end" },
    );
  }
  for (const tick of x.ticks) {
    shapes.push({ kind: "text", x: tick.at, y: bottom + 16, text: tick.label, of: "tick", anchor: "middle" });
  }
  const marks: Mark[] = [];
  for (const column of data.columns) {
    const all = column.bins.reduce((sum, bin) => sum + bin.count, 0);
    const [from, to] = [x.at(column.from), x.at(column.to)];
    for (const bin of column.bins) {
      const share = bin.count / Math.max(1, all);
      const [high, low] = [y.at(bin.to), y.at(bin.from)];
      // The root lets rare times be seen beside frequent ones.
      const opacity = FAINTEST + (1 - FAINTEST) * Math.sqrt(share);
      shapes.push({ kind: "rect", x: from, y: high, width: Math.max(1, to - from - 0.5), height: Math.max(1, low - high), of: "cell", opacity });
      marks.push({
        x: (from + to) / 2,
        y: (high + low) / 2,
        name: `${plain(column.from)} to ${plain(column.to)} s, ${plain(bin.from)} to ${plain(bin.to)} us`,
        values: [`${grouped(bin.count, 0)} of ${grouped(all, 0)} responses, ${plain(share * 100)} %`],
      });
    }
  }
  shapes.push({ kind: "line", x1: LEFT, x2: width - RIGHT, y1: bottom, y2: bottom, of: "zero" });
  shapes.push({ kind: "text", x: (LEFT + width - RIGHT) / 2, y: HEIGHT - 8, text: `${data.x}; vertical: ${data.y}`, of: "axis", anchor: "middle" });
  return { width, height: HEIGHT, shapes, marks, near: "both", legend: [] };
}
