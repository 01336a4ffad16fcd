// Lines over a size, a time or a load, with intervals, and with marks of what happened.

import type { Axis, Series } from "../types/document";
import { pathOf, shareOf, type Place } from "./path";
import { isIn, shownOf, type Range } from "./range";
import { grouped, linear, logarithmic, nines, percent, plain, type Scale } from "./scale";
import { cross, diamond, LABEL_LINE, linesOf, textWidth, tickText, type LegendEntry, type Mark, type Scene, type Shape } from "./scene";

const LEFT = 58;
const RIGHT = 14;
const TOP = 12;
/** Space for the label of the vertical axis. */
const LABEL = 18;
const BOTTOM = 44;
/** Space above the highest point, as a share of it. */
const HEADROOM = 0.06;
/** Space after the last of single points, as a share of it: at the edge, they would be on words. */
const ROOM = 0.02;
/** With more points, only the line is drawn. */
const MOST_POINTS = 40;
/** Space between two labels of the vertical axis. */
const LINE_SPACE = 28;
/** And of the horizontal one. */
const X_SPACE = 64;
/** The words of a level need this much space above it. */
const ABOVE = 16;

/** A logarithmic axis over this factor has ticks at powers of ten alone. */
const LEAST_OF_POWERS = 1000;
/** A value above this many times the last tick cannot be read from it. */
const FAR_ABOVE = 2;

type Line = Series["lines"][number];
type Point = Line["points"][number];
type Edges = [left: number, right: number, top: number, bottom: number];

/** Numbers without those that are not there. */
function known(values: (number | null | undefined)[]): number[] {
  return values.filter((value): value is number => typeof value === "number");
}

/** Whether its times are on a logarithmic axis above shares of requests. */
export function isOfPercentiles({ x, y }: Series): boolean {
  return x.scale === "nines" && y.scale === "logarithmic";
}

/** The same with a linear vertical axis. */
export function onLinear(data: Series): Series {
  return { ...data, y: { ...data.y, scale: "linear" } };
}

/** The chart of lines, or of the part of them over a range of the horizontal axis. */
export function series(data: Series, width: number, height: number, chosen?: Range): Scene {
  const points = data.lines.flatMap((line) => line.points);
  const levels = data.levels ?? [];
  const xs = known([...points.map((point) => point.x), ...(data.bands ?? []).flatMap((band) => [band.from, band.to, band.at]), data.x.highest]);
  // A title that says the same is above the chart.
  const isLabelled = labelOf(data.y) !== data.title;
  const [left, right, top] = [LEFT, width - RIGHT, isLabelled ? TOP + LABEL : TOP];
  const center = (left + right) / 2;
  const below = linesOf(labelOf(data.x), 2 * Math.min(center, width - center), 12);
  const bottom = height - BOTTOM - LABEL_LINE * (below.length - 1);
  const isOfSingles = data.x.highest === undefined && data.lines.some((line) => line.form === "scattered");
  const whole = domainOf(data.x, xs, isOfSingles ? ROOM : 0);
  const shown = shownOf(whole, chosen);
  const isPart = shown !== whole;
  const within = isPart ? shown : undefined;
  // An axis of places without a unit counts: half a run is none.
  const x = scaleOf(data.x, shown, [left, right], X_SPACE, data.x.unit === "" ? 1 : 0);
  const inView = isPart ? [...points.filter((point) => isIn(within, point.x)), ...data.lines.flatMap((line) => atEnds(line, x, shown, data.y))] : points;
  const ys = known([...inView.flatMap((point) => [point.y, point.low, point.high]), ...levels.map((level) => level.y), data.y.highest]);
  const y = scaleOf(data.y, domainOf(data.y, ys, HEADROOM), [bottom, top], LINE_SPACE);
  const bands = (data.bands ?? []).filter((band) => (band.from ?? shown.from) <= shown.to && (band.to ?? shown.to) >= shown.from);
  const events = (data.marks ?? []).filter((event) => isIn(within, event.x));
  const shapes: Shape[] = [];
  for (const band of bands) {
    const [from, to] = [typeof band.from === "number" ? x.at(band.from) : left, typeof band.to === "number" ? x.at(band.to) : right];
    shapes.push({ kind: "rect", x: from, y: top, width: Math.max(2, to - from), height: bottom - top, of: `band ${band.tone}` });
    if (typeof band.at === "number" && isIn(within, band.at)) {
      shapes.push({ kind: "line", x1: x.at(band.at), x2: x.at(band.at), y1: top, y2: bottom, of: `middle ${band.tone}` });
    }
  }
  for (const tick of y.ticks) {
    shapes.push(
      { kind: "line", x1: left, x2: right, y1: tick.at, y2: tick.at, of: "grid" },
      { kind: "text", x: left - 6, y: tick.at + 4, text: tick.label, of: "tick", anchor: "end" },
    );
  }
  for (const tick of x.ticks) {
    shapes.push(tickText(tick, bottom + 16, width));
  }
  shapes.push({ kind: "line", x1: left, x2: right, y1: bottom, y2: bottom, of: "zero" });
  for (const event of events) {
    shapes.push({ kind: "line", x1: x.at(event.x), x2: x.at(event.x), y1: top, y2: bottom, of: "event" });
  }
  const dots = inView.flatMap((point) => ("x" in point && typeof point.y === "number" ? [{ x: x.at(point.x), y: y.at(point.y) }] : []));
  for (const level of levels) {
    const at = y.at(level.y);
    shapes.push(
      { kind: "line", x1: left, x2: right, y1: at, y2: at, of: "limit" },
      levelText(level.text, [left, right], at - top < ABOVE ? at + 14 : at - 5, dots),
    );
  }
  // Where lines have one place, the one that the chart is about is seen.
  const isOwn = ({ tone }: Line) => Number(tone === "own");
  for (const line of [...data.lines].sort((one, other) => isOwn(one) - isOwn(other))) {
    shapes.push(...lineShapes(line, x, y, [left, right, top, bottom], within));
  }
  if (isLabelled) {
    shapes.push({ kind: "text", x: 0, y: TOP + 2, text: labelOf(data.y), of: "axis" });
  }
  below.forEach((text, place) => {
    shapes.push({ kind: "text", x: center, y: height - 8 - LABEL_LINE * (below.length - 1 - place), text, of: "axis", anchor: "middle" });
  });
  const extent = { left, right, top, bottom, scale: x, whole, shown, words: (value: number) => amount(value, data.x) };
  return { width, height, shapes, marks: marks(data, x, y, within, events), near: "x", legend: legend(data), extent };
}

/** The label of an axis, which says that it is logarithmic; the ticks of one of nines do. */
function labelOf(axis: Axis): string {
  return axis.scale === "logarithmic" ? `${axis.label}; logarithmic` : axis.label;
}

/** The words of a level at the right end of its line, or if points are there, at the left one. */
function levelText(text: string, [left, right]: [number, number], y: number, points: { x: number; y: number }[]): Shape {
  const isFull = points.some((point) => point.x > right - textWidth(text, 12) - 8 && Math.abs(point.y - y) < ABOVE);
  return { kind: "text", x: isFull ? left + 4 : right - 2, y, text, of: "tick", anchor: isFull ? "start" : "end" };
}

/** The lines, if there are several, something else to explain, or one that the chart does not name; and the ranges. */
function legend(data: Series): LegendEntry[] {
  const lines = data.lines.map((line) => ({
    name: line.name,
    fill: `var(--${line.tone})`,
    of: line.form === "scattered" ? `single ${line.tone}` : `curve ${line.tone}`,
  }));
  const bands = (data.bands ?? []).map((band) => ({ name: band.text, fill: `var(--band-${band.tone})` }));
  const isNamed = data.lines.every((line) => `${data.title} ${data.y.label}`.includes(line.name));
  return lines.length + bands.length > 1 || !isNamed ? [...lines, ...bands] : [];
}

/** A point of its own, in a form that tells its tone without its colour. */
export function single(x: number, y: number, tone: string): Shape {
  switch (tone) {
    case "failed":
      return cross(x, y, `single ${tone}`);
    case "third":
      return diamond(x, y, `single ${tone}`);
    default:
      return { kind: "circle", x, y, radius: 4, of: `single ${tone}` };
  }
}

/** The values from the start of an axis to its end. */
function domainOf(axis: Axis, values: number[], headroom: number): Range {
  if (axis.scale === "logarithmic") {
    // Nothing at or below zero has a place on it.
    const above = values.filter((value) => value > 0);
    const [least, most] = above.length > 0 ? [Math.min(...above), Math.max(...above)] : [1, 10];
    return { from: least, to: toPower(least, most) };
  }
  const [lowest, highest] = values.length > 0 ? [Math.min(...values), Math.max(...values)] : [0, 1];
  if (axis.scale === "nines") {
    return { from: 0, to: Math.max(highest, 0.9) };
  }
  if (typeof axis.lowest === "number") {
    return { from: axis.lowest, to: highest + headroom * Math.abs(highest - axis.lowest) };
  }
  // A time or a load begins at zero; a difference may be below it.
  return { from: Math.min(0, lowest), to: Math.max(0, highest + headroom * Math.abs(highest)) };
}

/** The end of a logarithmic axis: the next power of ten if its ticks are powers and the last of them is far below the highest value. */
function toPower(least: number, most: number): number {
  const last = 10 ** Math.floor(Math.log10(most) + 1e-9);
  return most / least >= LEAST_OF_POWERS && most > FAR_ABOVE * last ? 10 * last : most;
}

function scaleOf(axis: Axis, { from, to }: Range, range: [number, number], space: number, least = 0): Scale {
  switch (axis.scale) {
    case "logarithmic":
      return logarithmic([from, to], range, space);
    case "nines":
      return nines([from, to], range);
    default:
      return linear([from, to], range, space, least);
  }
}

/** The points at which a line enters and leaves a range between two points of it. */
function atEnds({ points, form }: Line, x: Scale, shown: Range, axis: Axis): { y: number; low?: null; high?: null }[] {
  if (form === "scattered") {
    return [];
  }
  const [bend, unbend] = axis.scale === "logarithmic" ? [Math.log, Math.exp] : [Number, Number];
  return points.slice(1).flatMap((to, place) => {
    const from = points[place];
    return [shown.from, shown.to].flatMap((end) => {
      if (from === undefined || typeof from.y !== "number" || typeof to.y !== "number" || from.x >= end || to.x <= end) {
        return [];
      }
      const [one, other] = [bend(from.y), bend(to.y)];
      return [{ y: unbend(one + (other - one) * shareOf(x.beyond(from.x), x.beyond(to.x), x.beyond(end))) }];
    });
  });
}

/** A line between the edges of the chart: left, right, top and bottom. */
function lineShapes({ points, tone, form }: Line, x: Scale, y: Scale, [left, right, top, bottom]: Edges, within: Range | undefined): Shape[] {
  const shapes: Shape[] = [];
  const inView = points.filter((point) => isIn(within, point.x));
  const place = (point: Point): Place | undefined => (typeof point.y === "number" ? [within ? x.beyond(point.x) : x.at(point.x), y.at(point.y)] : undefined);
  for (const point of inView) {
    const at = place(point);
    if (typeof point.low === "number" || typeof point.high === "number") {
      // A bound without a second end reaches the edge of the chart.
      const [from, to] = [typeof point.low === "number" ? y.at(point.low) : bottom, typeof point.high === "number" ? y.at(point.high) : top];
      shapes.push({ kind: "line", x1: x.at(point.x), x2: x.at(point.x), y1: from, y2: to, of: `interval ${tone}${at ? "" : " bounded"}` });
    }
    if (at && form === "scattered") {
      shapes.push(single(...at, tone));
    } else if (at && form === "joined" && inView.length <= MOST_POINTS) {
      shapes.push({ kind: "circle", x: at[0], y: at[1], radius: 3, of: `dot ${tone}` });
    }
  }
  const path = form === "scattered" ? "" : pathOf(points.map(place), [left, right]);
  return path === "" ? shapes : [{ kind: "path", d: path, of: `curve ${tone}` }, ...shapes];
}

/** The lines with values of their own. */
function measured(data: Series): Line[] {
  return data.lines.filter((line) => line.form !== "computed");
}

/** A mark for each place on the horizontal axis, with the values of all lines there. */
function marks(data: Series, x: Scale, y: Scale, within: Range | undefined, events: NonNullable<Series["marks"]>): Mark[] {
  const places = new Map<number, Mark>();
  const lines = measured(data);
  for (const line of lines) {
    for (const point of line.points) {
      const value = middle(point);
      if (value === undefined || !isIn(within, point.x)) {
        continue;
      }
      const at = places.get(point.x) ?? { x: x.at(point.x), y: y.at(value), name: amount(point.x, data.x), values: [] };
      const of = lines.length > 1 ? `${line.name}: ` : "";
      at.values.push(of + (point.text ?? amount(value, data.y)));
      places.set(point.x, at);
    }
  }
  const all = [...places.entries()].sort(([a], [b]) => a - b).map(([, mark]) => mark);
  for (const event of events) {
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

/** The value of a point, or the middle of the ends that are known; none of a gap. */
function middle({ y, low, high }: Point): number | undefined {
  const ends = known(typeof y === "number" ? [y] : [low, high]);
  return ends.length > 0 ? ends.reduce((sum, end) => sum + end, 0) / ends.length : undefined;
}

/** A value of an axis in words. */
function amount(value: number, axis: Axis): string {
  if (axis.scale === "nines") {
    return percent(value);
  }
  const text = Number.isInteger(value) ? grouped(value, 0) : plain(value);
  return axis.unit === "" ? text : `${text} ${axis.unit}`;
}

/** The values of a chart: a row for each place on its horizontal axis, then its levels and ranges. */
export function seriesRows(data: Series): string[][] {
  const lines = measured(data);
  const xs = [...new Set(lines.flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => a - b);
  const at = (line: Line, x: number) => {
    const found = line.points.filter((one) => one.x === x);
    const texts = found.map((point) => point.text ?? (typeof point.y === "number" ? String(point.y) : "-"));
    return texts.length > 0 ? texts.join("; ") : "-";
  };
  const place = (x: number) => (data.x.scale === "nines" ? amount(x, data.x) : String(x));
  return [
    [data.x.label, ...lines.map((line) => line.name)],
    ...xs.map((x) => [place(x), ...lines.map((line) => at(line, x))]),
    ...(data.levels ?? []).map((level) => [level.text, ...lines.map(() => amount(level.y, data.y))]),
    ...(data.bands ?? []).map((band) => [band.text, ...lines.map(() => "-")]),
  ];
}
