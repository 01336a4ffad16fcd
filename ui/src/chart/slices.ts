// The slices behind a number, over the time of the study: those of an arm and those of the arm that it is compared with. To the right, on the
// same axis, how often each value was measured: a violin for each arm, of counts alone, without a kernel that would smooth them.

import type { ArmSlices, Slices } from "../types/document";
import { isIn, shownOf, type Range } from "./range";
import { linear, plain, type Scale } from "./scale";
import { diamond, textWidth, tickText, type Mark, type Scene, type Shape } from "./scene";

const LEFT = 58;
const RIGHT = 14;
/** The rounds are named above the slices. */
const TOP = 26;
const BOTTOM = 44;
const HEIGHT = 254;
/** Between a name and the line of the next round. */
const GAP = 8;
/** Slices beyond this share of all are drawn at the end of the axis: one that was disturbed may have taken a hundred times as long. */
const SHOWN = 0.98;

/** The width of a violin, on narrow screens and on others, pixels; and the space before the first. */
const VIOLIN = [26, 44] as const;
const VIOLIN_GAP = 12;
const NARROW = 620;
/** The height of a bin of values, pixels. */
const BIN = 6;
/** Fewer slices have no form that would be more than chance. */
const FEWEST = 10;

/** The horizontal axis. */
export const SLICES_AXIS = "time since the start of the study, s";

/** The point of a slice, in a form that tells without its colour which of both arms it is of. */
export function sliceDot(x: number, y: number, of: string): Shape {
  return of.split(" ").includes("other") ? diamond(x, y, of, 4) : { kind: "circle", x, y, radius: 3, of };
}

/** Slices whose values are within a bin. */
export interface ValueBin {
  from: number;
  to: number;
  count: number;
  /** Whether those beyond the end of the axis are among them. */
  isOpen: boolean;
}

/** The slices that count in bins of equal heights along an axis, those with any, the lowest first; none if they are too few. */
export function valueBins(all: ArmSlices["slices"], y: Scale, [bottom, top]: [number, number]): ValueBin[] {
  const values = all.filter((slice) => typeof slice.aside !== "string").map((slice) => slice.value);
  const number = Math.floor((bottom - top) / BIN);
  if (values.length < FEWEST) {
    return [];
  }
  const height = (bottom - top) / number;
  const counts = Array.from({ length: number }, () => 0);
  for (const value of values) {
    const bin = Math.min(number - 1, Math.floor((bottom - y.at(value)) / height));
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  const isCut = values.some((value) => y.isOutside(value) === "after");
  const bins = counts.map((count, bin) => ({ from: y.valueAt(bottom - bin * height), to: y.valueAt(bottom - (bin + 1) * height), count, isOpen: isCut && bin === number - 1 }));
  return bins.filter((bin) => bin.count > 0);
}

/** The chart, or the part of it over a range of the time; none without slices of the arm. */
export function slices(data: Slices, arm: string, other: string | null | undefined, width: number, chosen?: Range): Scene | undefined {
  const own = data.arms.find((one) => one.arm === arm);
  const compared = data.arms.find((one) => one.arm === other);
  const every = [...(compared?.slices ?? []), ...(own?.slices ?? [])];
  if (own === undefined || every.length === 0) {
    return undefined;
  }
  const whole = { from: Math.min(...every.map((slice) => slice.s)), to: Math.max(...every.map((slice) => slice.s)) };
  const shown = shownOf(whole, chosen);
  const all = every.filter((slice) => isIn(shown, slice.s));
  const counted = all.filter((slice) => slice.aside === undefined || slice.aside === null).map((slice) => slice.value);
  const sorted = [...(counted.length > 0 ? counted : all.map((slice) => slice.value))].sort((a, b) => a - b);
  const highest = sorted[Math.floor((sorted.length - 1) * SHOWN)] ?? 1;
  const lowest = sorted[0] ?? 0;
  const pad = Math.max((highest - lowest) * 0.15, highest * 0.02);
  const violin = VIOLIN[width < NARROW ? 0 : 1];
  const room = counted.length < FEWEST ? 0 : VIOLIN_GAP + violin * (compared ? 2 : 1);
  const [left, right, bottom] = [LEFT, width - RIGHT - room, HEIGHT - BOTTOM];
  const x = linear([shown.from, shown.to], [left, right], 64);
  const y = linear([Math.max(0, lowest - pad), highest + pad], [bottom, TOP], 28);
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
  shapes.push({ kind: "line", x1: left, x2: right, y1: bottom, y2: bottom, of: "zero" });
  // Rounds start all processes again, so they are told apart.
  const starts = new Map<number, number>();
  for (const slice of every) {
    starts.set(slice.round, Math.min(starts.get(slice.round) ?? Number.MAX_VALUE, slice.s));
  }
  const rounds = [...starts.entries()].filter(([, s]) => isIn(shown, s)).sort(([a], [b]) => a - b);
  let named = 0;
  rounds.forEach(([round, s], place) => {
    const at = x.at(s);
    shapes.push({ kind: "line", x1: at, x2: at, y1: TOP - 14, y2: bottom, of: "event" });
    const next = rounds[place + 1];
    const end = next === undefined ? right + RIGHT : x.at(next[1]) - GAP;
    const text = [`round ${round}`, String(round)].find((name) => at + 4 + textWidth(name, 12) <= end);
    if (text !== undefined && at >= named) {
      shapes.push({ kind: "text", x: at + 4, y: TOP - 4, text, of: "tick" });
      named = at + 4 + textWidth(text, 12);
    }
  });
  const marks: Mark[] = [];
  for (const [of, tone] of [[compared, "other"], [own, "own"]] as const) {
    for (const slice of (of?.slices ?? []).filter((slice) => isIn(shown, slice.s))) {
      const place = { x: x.at(slice.s), y: y.at(slice.value) };
      const aside = slice.aside ? " aside" : "";
      const isCut = y.isOutside(slice.value);
      if (isCut) {
        const tip = isCut === "after" ? -6 : 6;
        shapes.push({ kind: "path", d: `M ${place.x - 4} ${place.y - tip} L ${place.x} ${place.y} L ${place.x + 4} ${place.y - tip} Z`, of: `dot ${tone}${aside}` });
      } else {
        shapes.push(sliceDot(place.x, place.y, `dot ${tone}${aside}`));
      }
      marks.push({
        ...place,
        name: of?.arm ?? "",
        values: [`${plain(slice.value)} ${data.unit} in round ${slice.round}, at ${plain(slice.s)} s`, ...(slice.aside ? [`set aside: ${slice.aside}`] : [])],
      });
    }
  }
  marks.sort((a, b) => a.x - b.x);
  const violins = [{ of: own, tone: "own" }, ...(compared ? [{ of: compared, tone: "other" }] : [])].map(({ of: { arm, slices: all }, tone }, place) => ({
    name: arm,
    tone,
    middle: right + VIOLIN_GAP + violin * (place + 0.5),
    bins: valueBins(all.filter((slice) => isIn(shown, slice.s)), y, [bottom, TOP]),
  }));
  for (const { name, tone, middle, bins } of violins) {
    const total = bins.reduce((sum, bin) => sum + bin.count, 0);
    const most = Math.max(...bins.map((bin) => bin.count));
    for (const { from, to, count, isOpen } of bins) {
      const [low, high, half] = [y.at(from), y.at(to), ((violin - 4) / 2) * (count / most)];
      shapes.push({ kind: "rect", x: middle - half, y: high, width: 2 * half, height: low - high, of: `bar ${tone}` });
      const values = isOpen ? `${plain(from)} ${data.unit} or more` : `${plain(from)} to ${plain(to)} ${data.unit}`;
      marks.push({ x: middle, y: (low + high) / 2, name: `${name}, ${values}`, values: [`${count} of ${total} slices that count`] });
    }
  }
  shapes.push({ kind: "text", x: (left + right) / 2, y: HEIGHT - 8, text: SLICES_AXIS, of: "axis", anchor: "middle" });
  const legend = [
    { name: own.arm, fill: "var(--own)", of: "dot own" },
    ...(compared ? [{ name: compared.arm, fill: "var(--other)", of: "dot other" }] : []),
    { name: "set aside", fill: "none", of: "dot own aside" },
  ];
  const extent = { left, right, top: TOP, bottom, scale: x, whole, shown, words: (value: number) => `${plain(value)} s` };
  return { width, height: HEIGHT, shapes, marks, near: "both", legend, extent };
}
