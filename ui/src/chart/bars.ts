// Bars of pieces that add up, on one scale.

import type { Bars } from "../types/document";
import { linear } from "./scale";
import { fitted, textWidth, tickText, type Mark, type Scene, type Shape } from "./scene";

const ROW = 30;
const TOP = 22;
const BOTTOM = 44;
const NARROW = 620;
const NARROW_ROW = 46;

/** Prefixes of names that share a hue, with it. Others have hues of their own. */
const HUES: [string, number][] = [
  ["kernel", 250],
  ["proxy", 60],
  // As the times of a request in other charts.
  ["send lag", 60],
  ["until", 250],
];
const OTHER_HUES = [310, 160, 95, 0];
/**
 * Shades of one hue, percent of perceived lightness on a light page and on a dark one, in an order in which neighbours differ. Each is seen on
 * its page.
 */
const SHADES: [light: number, dark: number][] = [
  [42, 60],
  [62, 84],
  [52, 71],
  [36, 54],
  [58, 79],
  [47, 65],
  [64, 89],
  [39, 57],
  [55, 75],
  [33, 92],
];

/** A colour for each name: names that begin alike have one hue. */
export function fills(names: string[]): string[] {
  const used = new Map<number, number>();
  let others = 0;
  return names.map((name) => {
    const shared = HUES.find(([prefix]) => name.startsWith(prefix))?.[1];
    let [hue, shade] = [0, 0];
    if (shared === undefined) {
      hue = OTHER_HUES[others % OTHER_HUES.length] ?? 0;
      shade = 1 + Math.floor(others / OTHER_HUES.length);
      others += 1;
    } else {
      hue = shared;
      shade = used.get(hue) ?? 0;
      used.set(hue, shade + 1);
    }
    const [light, dark] = SHADES[shade % SHADES.length] ?? [52, 71];
    return `light-dark(oklch(${light}% 0.09 ${hue}), oklch(${dark}% 0.09 ${hue}))`;
  });
}

/** The chart of bars. */
export function bars(data: Bars, width: number): Scene {
  const isNarrow = width < NARROW;
  const rowHeight = isNarrow ? NARROW_ROW : ROW;
  const left = isNarrow ? 8 : Math.min(width * 0.34, Math.max(60, ...data.rows.map((row) => textWidth(row.label))) + 16);
  const right = width - (isNarrow ? 12 : Math.max(60, ...data.rows.map((row) => textWidth(row.value))) + 18);
  const bottom = TOP + data.rows.length * rowHeight;
  const length = (row: Bars["rows"][number]) => row.pieces.reduce((sum, piece) => sum + piece.length, 0);
  const scale = linear([0, Math.max(...data.rows.map(length))], [left, right]);
  const colours = fills(data.pieces);
  const shapes: Shape[] = [];
  const marks: Mark[] = [];
  for (const tick of scale.ticks) {
    shapes.push(
      { kind: "line", x1: tick.at, x2: tick.at, y1: TOP - 4, y2: bottom, of: "grid" },
      tickText(tick, bottom + 16, width),
    );
  }
  data.rows.forEach((row, place) => {
    const y = TOP + place * rowHeight + (isNarrow ? 20 : 4);
    const at = isNarrow ? y - 6 : y + 15;
    shapes.push({ kind: "text", x: isNarrow ? left : left - 12, y: at, text: fitted(row.label, isNarrow ? right - 90 : left - 14), of: "label", anchor: isNarrow ? "start" : "end" });
    shapes.push({ kind: "text", x: width - 6, y: at, text: row.value, of: "value", anchor: "end" });
    let sum = 0;
    for (const piece of row.pieces) {
      const [from, to] = [scale.at(sum), scale.at(sum + piece.length)];
      shapes.push({ kind: "rect", x: from, y, width: to - from, height: 20, of: "piece", fill: colours[piece.piece] ?? "var(--soft)" });
      marks.push({ x: (from + to) / 2, y: y + 10, name: row.label, values: [`${data.pieces[piece.piece] ?? ""}: ${piece.text} ${data.unit}`, `of ${row.value}`] });
      sum += piece.length;
    }
  });
  shapes.push({ kind: "text", x: (left + right) / 2, y: bottom + 36, text: data.axis, of: "axis", anchor: "middle" });
  const legend = data.pieces.map((name, place) => ({ name, fill: colours[place] ?? "var(--soft)" }));
  return { width, height: bottom + BOTTOM, shapes, marks, near: "both", legend };
}
