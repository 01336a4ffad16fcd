// The waterfall of a bill: from what is left without the parts, part by part, to the whole; and what is left if parts are switched off.

import type { Quantity, Waterfall } from "../types/document";
import { linear, withHalf } from "./scale";
import { fitted, textWidth, tickText, type Mark, type Scene, type Shape } from "./scene";

const ROW = 30;
const NARROW_ROW = 46;
const NARROW = 620;
const TOP = 24;
const BOTTOM = 44;

/** A number with both ends. */
export interface Ends {
  estimate: number;
  low: number;
  high: number;
}

/** The ends of a quantity; none if one is not known. */
export function ends(quantity: Quantity | null | undefined): Ends | undefined {
  if (typeof quantity?.estimate !== "number") {
    return undefined;
  }
  const { estimate } = quantity;
  return { estimate, low: quantity.low ?? estimate, high: quantity.high ?? estimate };
}

/**
 * What is saved without some parts, if each saves what it costs alone. The errors of parts that were measured against one whole are not
 * independent, so their half-widths are added, which is never too narrow.
 */
export function saved(data: Waterfall, off: ReadonlySet<string>): Ends {
  return sum(data.parts.filter((part) => off.has(part.name)).flatMap((part) => ends(part.cost) ?? []));
}

/** What the whole would cost without some parts. Its half-width is that of the whole and of what is saved, added for the same reason. */
export function without(data: Waterfall, off: ReadonlySet<string>): Ends | undefined {
  const whole = ends(data.whole);
  return whole && less(whole, saved(data, off));
}

/** What is saved of another number of the whole, by its place. Undefined if it is not known what one of the parts adds to it. */
export function otherSaved(data: Waterfall, off: ReadonlySet<string>, place: number): Ends | undefined {
  const added = data.parts.filter((part) => off.has(part.name)).map((part) => ends(part.also[place]));
  return added.includes(undefined) ? undefined : sum(added.flatMap((one) => one ?? []));
}

function sum(all: readonly Ends[]): Ends {
  const none = { estimate: 0, low: 0, high: 0 };
  return all.reduce<Ends>((left, one) => ({ estimate: left.estimate + one.estimate, low: left.low + one.low, high: left.high + one.high }), none);
}

/** A number less another, whose errors are not independent. */
export function less(whole: Ends, other: Ends): Ends {
  return { estimate: whole.estimate - other.estimate, low: whole.low - other.high, high: whole.high - other.low };
}

/** The chart. */
export function waterfall(data: Waterfall, off: ReadonlySet<string>, width: number): Scene {
  const rows = steps(data, off);
  const isNarrow = width < NARROW;
  const rowHeight = isNarrow ? NARROW_ROW : ROW;
  const left = isNarrow ? 8 : Math.min(width * 0.32, Math.max(60, ...rows.map((row) => textWidth(row.name))) + 16);
  const right = width - (isNarrow ? 12 : Math.max(60, ...rows.map((row) => textWidth(row.value))) + 18);
  const bottom = TOP + rows.length * rowHeight;
  const values = rows.flatMap((row) => [row.from, row.to, row.low, row.high]);
  const x = linear([Math.min(0, ...values), Math.max(...values) * 1.02], [left, right]);
  const shapes: Shape[] = [];
  const marks: Mark[] = [];
  for (const tick of x.ticks) {
    shapes.push(
      { kind: "line", x1: tick.at, x2: tick.at, y1: TOP - 4, y2: bottom, of: "grid" },
      tickText(tick, bottom + 16, width),
    );
  }
  rows.forEach((row, place) => {
    const y = TOP + place * rowHeight + (isNarrow ? 20 : 5);
    const middle = y + 10;
    const [from, to] = [x.at(Math.min(row.from, row.to)), x.at(Math.max(row.from, row.to))];
    const text = isNarrow ? y - 5 : middle + 5;
    const faint = row.tone === "off" ? " near" : "";
    shapes.push({ kind: "text", x: isNarrow ? left : left - 12, y: text, text: fitted(row.name, isNarrow ? right - textWidth(row.value) - 16 : left - 14), of: `label${faint}`, anchor: isNarrow ? "start" : "end" });
    shapes.push({ kind: "text", x: width - 6, y: text, text: row.value, of: `value${faint}`, anchor: "end" });
    shapes.push({ kind: "rect", x: from, y, width: Math.max(1, to - from), height: 20, of: `step ${row.tone}` });
    shapes.push({ kind: "line", x1: x.at(row.low), x2: x.at(row.high), y1: middle, y2: middle, of: "whisker" });
    for (const end of [row.low, row.high]) {
      shapes.push({ kind: "line", x1: x.at(end), x2: x.at(end), y1: middle - 4, y2: middle + 4, of: "whisker" });
    }
    if (place + 1 < rows.length && rows[place + 1]?.from !== 0) {
      shapes.push({ kind: "line", x1: x.at(row.to), x2: x.at(row.to), y1: y, y2: y + rowHeight + 20, of: "event" });
    }
    marks.push({ x: x.at(row.to), y: middle, name: row.name, values: [`${row.value} ${data.unit}`, ...row.notes], id: row.name });
  });
  shapes.push({ kind: "text", x: (left + right) / 2, y: bottom + 36, text: data.axis, of: "axis", anchor: "middle" });
  return { width, height: bottom + BOTTOM, shapes, marks, near: "y", legend: [] };
}

interface Step {
  name: string;
  value: string;
  from: number;
  to: number;
  /** The interval, at the end of the bar. */
  low: number;
  high: number;
  tone: "level" | "part" | "shared" | "off" | "near";
  notes: string[];
}

/** The bars from the rest to the whole. */
export function steps(data: Waterfall, off: ReadonlySet<string>): Step[] {
  const level = (name: string, quantity: Quantity): Step => {
    const of = ends(quantity) ?? { estimate: 0, low: 0, high: 0 };
    return { name, value: quantity.text, from: 0, to: of.estimate, low: of.low, high: of.high, tone: "level", notes: [] };
  };
  const all: Step[] = data.rest ? [level("without the parts", data.rest)] : [];
  let at = all[0]?.to ?? 0;
  const step = (name: string, cost: Quantity, tone: Step["tone"], notes: string[]) => {
    const of = ends(cost);
    if (of === undefined) {
      return;
    }
    const isNear = (of.low <= 0 && of.high >= 0) || cost.has_uncertain_sign === true;
    all.push({ name, value: cost.text, from: at, to: at + of.estimate, low: at + of.low, high: at + of.high, tone: tone === "part" && isNear ? "near" : tone, notes });
    at += of.estimate;
  };
  for (const part of [...data.parts].reverse()) {
    step(part.name, part.cost, off.has(part.name) ? "off" : "part", [part.kind, ...(off.has(part.name) ? ["switched off"] : [])]);
  }
  if (data.together) {
    step("together, beyond the sum", data.together, "shared", ["below zero: parts make each other more expensive; above: they share work"]);
  }
  if (data.whole) {
    all.push(level("whole", data.whole));
  }
  const left = off.size > 0 ? without(data, off) : undefined;
  if (left) {
    all.push({ name: `without ${off.size} switched off`, value: withHalf(left.estimate, (left.high - left.low) / 2), from: 0, to: left.estimate, low: left.low, high: left.high, tone: "level", notes: ["predicted: the whole less what each costs alone"] });
  }
  return all;
}
