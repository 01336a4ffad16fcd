// Lines over a size, a time or a load, with intervals, and with marks of what happened.

import type { Axis, Series } from "../types/document";
import { grouped, linear, logarithmic, nines, plain, type Scale } from "./scale";
import { textWidth, type Mark, type Scene, type Shape } from "./scene";

const LEFT = 58;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 44;
/** Space above the highest point, as a share of it. */
const HEADROOM = 0.06;
/** With more points, only the line is drawn. */
const MOST_POINTS = 40;
/** Space between two labels of the vertical axis. */
const LINE_SPACE = 28;

/** The chart of lines. */
export function series(data: Series, width: number, height: number): Scene {
  const points = data.lines.flatMap((line) => line.points);
  const ys = points.flatMap((point) => [point.y, point.low, point.high]).filter((y): y is number => y !== null && y !== undefined);
  const xs = points.map((point) => point.x);
  const [left, right, bottom] = [LEFT, width - RIGHT, height - BOTTOM];
  const x = scaleOf(data.x, xs, [left, right], 64);
  const y = scaleOf(data.y, [...ys, ...(data.y.highest ? [data.y.highest] : [])], [bottom, TOP], LINE_SPACE);
  const shapes: Shape[] = [];
  for (const tick of y.ticks) {
    shapes.push(
      { kind: "line", x1: left, x2: right, y1: tick.at, y2: tick.at, of: "grid" },
      { kind: "text", x: left - 6, y: tick.at + 4, text: tick.label, of: "tick", anchor: "end" },
    );
  }
  for (const tick of x.ticks) {
    // The last label may be wider than the margin.
    const isLast = tick.at > right - textWidth(tick.label, 12) / 2;
    shapes.push({ kind: "text", x: isLast ? width : tick.at, y: bottom + 16, text: tick.label, of: "tick", anchor: isLast ? "end" : "middle" });
  }
  shapes.push({ kind: "line", x1: left, x2: right, y1: bottom, y2: bottom, of: "zero" });
  for (const mark of data.marks ?? []) {
    shapes.push({ kind: "line", x1: x.at(mark.x), x2: x.at(mark.x), y1: TOP, y2: bottom, of: "event" });
  }
  for (const line of data.lines) {
    shapes.push(...lineShapes(line.points, x, y, line.tone));
  }
  shapes.push({ kind: "text", x: (left + right) / 2, y: height - 8, text: data.x.label, of: "axis", anchor: "middle" });
  const legend = data.lines.length > 1 ? data.lines.map((line) => ({ name: line.name, fill: `var(--${line.tone})`, isLine: true })) : [];
  return { width, height, shapes, marks: marks(data, x, y), near: "x", legend };
}

function scaleOf(axis: Axis, values: number[], range: [number, number], space: number): Scale {
  const [lowest, highest] = [Math.min(...values), Math.max(...values)];
  if (axis.scale === "logarithmic") {
    return logarithmic([lowest, highest], range, space);
  }
  if (axis.scale === "nines") {
    return nines(highest, range);
  }
  // A time or a load begins at zero; a difference may be below it.
  return linear([Math.min(0, lowest), Math.max(0, highest + HEADROOM * Math.abs(highest))], range, space);
}

function lineShapes(points: Series["lines"][number]["points"], x: Scale, y: Scale, tone: string): Shape[] {
  const shapes: Shape[] = [];
  let path = "";
  let isDown = false;
  for (const point of points) {
    if (point.y === null || point.y === undefined) {
      isDown = false;
      continue;
    }
    path += `${isDown ? "L" : "M"}${x.at(point.x).toFixed(1)} ${y.at(point.y).toFixed(1)}`;
    isDown = true;
    if (typeof point.low === "number" && typeof point.high === "number") {
      shapes.push({ kind: "line", x1: x.at(point.x), x2: x.at(point.x), y1: y.at(point.low), y2: y.at(point.high), of: `interval ${tone}` });
    }
    if (points.length <= MOST_POINTS) {
      shapes.push({ kind: "circle", x: x.at(point.x), y: y.at(point.y), radius: 3, of: `dot ${tone}` });
    }
  }
  return path === "" ? shapes : [{ kind: "path", d: path, of: `curve ${tone}` }, ...shapes];
}

/** A mark for each place on the horizontal axis, with the values of all lines there. */
function marks(data: Series, x: Scale, y: Scale): Mark[] {
  const places = new Map<number, Mark>();
  for (const line of data.lines) {
    for (const point of line.points) {
      if (point.y === null || point.y === undefined) {
        continue;
      }
      const at = places.get(point.x) ?? { x: x.at(point.x), y: y.at(point.y), name: `${amount(point.x, data.x)}`, values: [] };
      const of = data.lines.length > 1 ? `${line.name}: ` : "";
      at.values.push(of + (point.text ?? amount(point.y, data.y)));
      places.set(point.x, at);
    }
  }
  const all = [...places.entries()].sort(([a], [b]) => a - b).map(([, mark]) => mark);
  for (const event of data.marks ?? []) {
    let best: Mark | undefined;
    for (const mark of all) {
      if (best === undefined || Math.abs(mark.x - x.at(event.x)) < Math.abs(best.x - x.at(event.x))) {
        best = mark;
      }
    }
    best?.values.push(event.text);
  }
  return all;
}

/** A value of an axis in words. */
function amount(value: number, axis: Axis): string {
  if (axis.scale === "nines") {
    return `${Number((value * 100).toPrecision(7))} %`;
  }
  const text = Number.isInteger(value) ? grouped(value, 0) : plain(value);
  return axis.unit === "" ? text : `${text} ${axis.unit}`;
}
