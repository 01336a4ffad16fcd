// The forest plot: a row for each name with its estimate and interval, on one axis with zero.

import type { OverlaidRun } from "../types/document";
import { bent, linear, logarithmic, roundUp, type Scale } from "./scale";
import { cross, diamond, fitted, linesOf, square, textWidth, tickText, triangle, type Mark, type Scene, type Shape } from "./scene";

/** What was decided about a difference. */
export type Outcome = "different" | "equivalent" | "undecided" | "failed" | "passed";

/** The role of a run beside others. */
export type Tone = OverlaidRun["tone"];

/** The property that tells rows apart: the decision about them, their kind, or the run that they are of. */
export type RowTone = Outcome | Tone;

/** A row of the plot. */
export interface ForestRow {
  id: string;
  label: string;
  /** The number in words. */
  value: string;
  estimate: number;
  low: number;
  high: number;
  /** Whether only its ends are known. */
  isBounded: boolean;
  /** Whether its sign is not supported, though its interval may exclude zero: one of many intervals that were judged together. */
  isUncertain?: boolean;
  /** What else to say of it. */
  note: string;
  family: string;
  /** What was decided about it, its kind or its run; without any, rows are told apart by whether their interval contains zero. */
  tone?: RowTone | undefined;
  /** A limit of its own. */
  limit?: number | undefined;
}

/** How rows are drawn. */
export interface ForestOptions {
  axis: string;
  /** What the numbers in words are, above them where they have a column. */
  heading?: string;
  /** The interval of an arm whose true cost is zero. */
  band: { low: number; high: number } | null;
  /** Whether the axis is linear also where few values are far beyond the others. */
  isLinear: boolean;
  /** True if the axis is logarithmic, without a place for zero. */
  isLogarithmic?: boolean;
  /** The value that all rows are held against. */
  level?: number | undefined;
  /** The axis reaches at least this far to both sides. */
  least?: number;
  /** The row that is selected. */
  chosen?: string | undefined;
  /** Whether rows of one family are below its name. */
  isGrouped?: boolean;
}

/** As high as what a finger points at needs, px. */
const ROW = 24;
const NARROW_ROW = 38;
/** The height of the name of a family, and the space above it. */
const HEAD = 24;
/** Words of a row are beside the line of zero on narrow screens, and not on it. */
const ASIDE = 4;
/** The share of the width that numbers in words may take. */
const VALUES = 0.3;
/** The space between the axis and that column, and what the heading of the column has more of it: half a label of the axis, px. */
const VALUES_GAP = 14;
const HEADING_GAP = 16;
const NARROW = 620;
/** The size of letters as wide as bold ones are, px. */
const BOLD = 15;
/** The space above the rows of a plot. */
export const TOP = 26;
const BOTTOM = 48;
const LINE = 16;
/** A row this many times beyond the next one is cut off by the end of the axis. */
const OUTLIER = 8;
/** If the largest estimate is this many times the median one, a linear axis would push most rows onto zero. */
const CROWDED = 8;
/** Size of the linear range, in median half-widths. */
const NOISE = 4;
/** How far the axis extends beyond the estimates for the ends of intervals, as a share of its length: a wide one must not crowd the others. */
const BEYOND = 0.6;
/** And at least so many of their usual half-widths: estimates that are all nearly zero give the axis no length. */
const USUAL = 3;
/** How far a logarithmic axis extends beyond all ends, as a factor. */
const ROOM = 1.5;

/** The plot of rows in their order. */
export function forest(rows: ForestRow[], options: ForestOptions, width: number): Scene {
  const isNarrow = width < NARROW;
  const rowHeight = isNarrow ? NARROW_ROW : ROW;
  const heading = options.heading ?? "";
  const headingWidth = textWidth(heading, 12);
  const widest = Math.max(60, headingWidth + HEADING_GAP, ...rows.map((row) => textWidth(row.value)));
  const valueWidth = isNarrow ? 0 : Math.min(width * VALUES, widest) + VALUES_GAP;
  const labelWidth = isNarrow ? 0 : Math.min(width * 0.34, Math.max(60, ...rows.map((row) => textWidth(row.label))) + 16);
  const [left, right] = [isNarrow ? 10 : labelWidth, width - valueWidth - 8];
  const isFirst = (row: ForestRow, place: number) => options.isGrouped === true && row.family !== rows[place - 1]?.family;
  const tops: number[] = [];
  let bottom = TOP;
  rows.forEach((row, place) => {
    bottom += isFirst(row, place) ? HEAD : 0;
    tops.push(bottom);
    bottom += rowHeight;
  });
  const scale = axisOf(rows, options, [left, right]);
  const across = (value: number, of: string): Shape => ({ kind: "line", x1: scale.at(value), x2: scale.at(value), y1: TOP, y2: bottom, of });
  const shapes = grid(scale, options.band, bottom, width, options.isLogarithmic !== true);
  if (options.level !== undefined) {
    shapes.push(across(options.level, "limit"));
  }
  if (heading !== "" && headingWidth <= valueWidth - VALUES_GAP) {
    shapes.push({ kind: "text", x: width - 6, y: TOP - 10, text: heading, of: "axis", anchor: "end" });
  }
  const marks: Mark[] = rows.map((row, place) => {
    const top = tops[place] ?? TOP;
    const y = top + (isNarrow ? rowHeight - 11 : rowHeight / 2);
    if (isFirst(row, place)) {
      shapes.push({ kind: "text", x: 0, y: top - 5, text: fitted(row.family, width, BOLD), of: "label family" });
    }
    shapes.push(...rowShapes(row, { y, scale, left, right }));
    if (isNarrow) {
      const room = width - textWidth(row.value) - 26 - ASIDE;
      shapes.push({ kind: "text", x: left + ASIDE, y: y - 12, text: fitted(row.label, room), of: `label${tone(row)}` });
      shapes.push({ kind: "text", x: width - 6, y: y - 12, text: row.value, of: `value${tone(row)}`, anchor: "end" });
    } else {
      shapes.push({ kind: "text", x: left - 12, y: y + 4, text: fitted(row.label, left - 14), of: `label${tone(row)}`, anchor: "end" });
      shapes.push({ kind: "text", x: width - 6, y: y + 4, text: row.value, of: `value${tone(row)}`, anchor: "end" });
    }
    if (row.id === options.chosen) {
      shapes.unshift({ kind: "rect", x: 0, y: top, width, height: rowHeight, of: "chosen" });
    }
    const name = options.isGrouped === true ? `${row.family}: ${row.label}` : row.label;
    return { x: scale.at(row.estimate), y, name, values: [row.value, row.note, row.id === options.chosen ? "selected" : ""].filter((text) => text !== ""), id: row.id };
  });
  const label = axisLabel(scale, options.axis, [left, right], width, bottom);
  return { width, height: label.height, shapes: [...shapes, ...label.shapes], marks, near: "y", legend: [] };
}

/** The band, the grid and, where the axis has it, zero, above rows that end at `bottom`. */
export function grid(scale: Scale, band: ForestOptions["band"], bottom: number, width: number, hasZero = true): Shape[] {
  const shapes: Shape[] = [];
  if (band) {
    const [from, to] = [scale.at(band.low), scale.at(band.high)];
    shapes.push({ kind: "rect", x: from, y: TOP, width: to - from, height: bottom - TOP, of: "band" });
  }
  for (const tick of scale.ticks) {
    shapes.push({ kind: "line", x1: tick.at, x2: tick.at, y1: TOP, y2: bottom, of: "grid" }, tickText(tick, TOP - 10, width), tickText(tick, bottom + 18, width));
  }
  if (hasZero) {
    shapes.push({ kind: "line", x1: scale.at(0), x2: scale.at(0), y1: TOP, y2: bottom, of: "zero" });
  }
  return shapes;
}

/** The label of an axis in lines below the rows, and the height of the plot with them. */
export function axisLabel(scale: Scale, axis: string, [left, right]: [number, number], width: number, bottom: number): { shapes: Shape[]; height: number } {
  const note = scale.note === "" ? "" : `; ${scale.note}`;
  const middle = (left + right) / 2;
  const lines = linesOf(axis + note, 2 * Math.min(middle, width - middle));
  const shapes = lines.map((text, place): Shape => ({ kind: "text", x: middle, y: bottom + 38 + LINE * place, text, of: "axis", anchor: "middle" }));
  return { shapes, height: bottom + BOTTOM + LINE * (lines.length - 1) };
}

/** Whether zero is within the interval. */
function isNearZero(row: ForestRow): boolean {
  return row.low <= 0 && row.high >= 0;
}

function tone(row: ForestRow): string {
  if (row.tone !== undefined) {
    return ` ${row.tone}`;
  }
  return isNearZero(row) || row.isBounded || row.isUncertain === true ? " near" : "";
}

/** Where a row is drawn. */
export interface RowPlace {
  y: number;
  scale: Scale;
  left: number;
  right: number;
}

/** The interval and the point of a row. */
export function rowShapes(row: ForestRow, { y, scale, left, right }: RowPlace): Shape[] {
  const shapes: Shape[] = [];
  const near = tone(row);
  const [low, high, middle] = [scale.at(row.low), scale.at(row.high), scale.at(row.estimate)];
  shapes.push({ kind: "line", x1: low, x2: high, y1: y, y2: y, of: `interval${near}${row.isBounded ? " bounded" : ""}` });
  const isCut = scale.isOutside(row.estimate);
  if (scale.isOutside(row.low) === "before") {
    shapes.push({ kind: "path", d: `M ${left + 9} ${y - 5} L ${left} ${y} L ${left + 9} ${y + 5} Z`, of: `arrow${near}` });
  } else if (isCut !== "after") {
    shapes.push({ kind: "line", x1: low, x2: low, y1: y - 4, y2: y + 4, of: `interval${near}` });
  }
  if (scale.isOutside(row.high) === "after") {
    shapes.push({ kind: "path", d: `M ${right - 9} ${y - 5} L ${right} ${y} L ${right - 9} ${y + 5} Z`, of: `arrow${near}` });
  } else if (isCut !== "before") {
    shapes.push({ kind: "line", x1: high, x2: high, y1: y - 4, y2: y + 4, of: `interval${near}` });
  }
  if (row.limit !== undefined && !scale.isOutside(row.limit)) {
    const at = scale.at(row.limit);
    shapes.push({ kind: "line", x1: at, x2: at, y1: y - 9, y2: y + 9, of: "limit of-row" });
  }
  if (!isCut && !row.isBounded) {
    shapes.push(row.tone === undefined ? { kind: "circle", x: middle, y, radius: 4, of: `point${near}` } : pointOf(row.tone, middle, y));
  }
  return shapes;
}

/** The point of a decision, of a kind or of a run, in a form that tells it without its colour. */
export function pointOf(tone: string, x: number, y: number): Shape {
  const of = `point ${tone}`;
  switch (tone) {
    case "equivalent":
    case "passed":
    case "third":
      return diamond(x, y, of);
    case "fourth":
      return square(x, y, of);
    case "fifth":
      return triangle(x, y, of);
    case "failed":
      return cross(x, y, of);
    default:
      return { kind: "circle", x, y, radius: 4, of };
  }
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The axis of the rows, whose ends do not follow a few values that are far from the others. */
export function axisOf(rows: ForestRow[], options: ForestOptions, range: [number, number]): Scale {
  if (options.isLogarithmic === true) {
    const all = rows.flatMap((row) => [row.low, row.estimate, row.high, options.level ?? 0]);
    const above = all.filter((value) => value > 0 && Number.isFinite(value));
    return logarithmic(above.length > 0 ? [Math.min(...above) / ROOM, Math.max(...above) * ROOM] : [1, 10], range);
  }
  const points = rows.filter((row) => !row.isBounded);
  const on = points.length > 0 ? points : rows;
  // Whatever is beside a value that may be zero is many times as large.
  const clear = on.filter((row) => !isNearZero(row));
  const sizesOf = (all: ForestRow[]) => all.map((row) => Math.abs(row.estimate)).sort((a, b) => a - b);
  const sizes = sizesOf(clear.length > 0 ? clear : on);
  const middle = median(sizesOf(on));
  while (sizes.length > 1 && (sizes.at(-2) ?? 0) > 0 && (sizes.at(-1) ?? 0) > OUTLIER * (sizes.at(-2) ?? 0)) {
    sizes.pop();
  }
  const largest = sizes.at(-1) ?? 0;
  const half = median(on.map((row) => (row.high - row.low) / 2));
  const zone = half > 0 ? roundUp(NOISE * half) : 0;
  const isBent = !options.isLinear && zone > 0 && largest > CROWDED * middle && largest > CROWDED * zone;
  const shown = on.filter((row) => Math.abs(row.estimate) <= OUTLIER * largest);
  const least = options.least ?? 0;
  const [low, high] = [Math.min(-least, ...shown.map((row) => row.estimate)), Math.max(least, ...shown.map((row) => row.estimate))];
  const length = high - low > 0 ? high - low : 1;
  const [lowest, highest] = [Math.min(low, ...shown.map((row) => row.low)), Math.max(high, ...shown.map((row) => row.high))];
  if (isBent) {
    // A length that is small on a bent axis is not small as a share of its length.
    return bent([Math.max(lowest, low * (1 + BEYOND) - 2 * zone), Math.min(highest, high * 1.6)], zone, range);
  }
  const beyond = Math.max(BEYOND * length, Number.isFinite(half) ? USUAL * half : 0);
  return linear([Math.max(lowest, low - beyond), Math.min(highest, high + beyond)], range);
}
