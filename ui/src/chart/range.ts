// The range of a horizontal axis that a chart shows: all of it, or what a reader has chosen.

import type { Scale } from "./scale";

/** Values from one to another. */
export interface Range {
  from: number;
  to: number;
}

/** The horizontal axis of a chart, of which a reader can choose a range. */
export interface Extent {
  /** The area between the axes. */
  left: number;
  right: number;
  top: number;
  bottom: number;
  scale: Scale;
  /** All that there is. */
  whole: Range;
  /** What is shown of it. */
  shown: Range;
  /** A value of it in words, with the unit. */
  words: (value: number) => string;
}

/** A shorter range would be a click, pixels. */
const SHORTEST = 6;
/** Digits of the ends of a range, so that a link is short: what they leave out is less than a pixel until the range is a thousandth of the whole. */
const DIGITS = 6;

/** What is shown of a whole; all if nothing of what was chosen is in it. */
export function shownOf(whole: Range, chosen: Range | undefined): Range {
  const { from, to } = within(whole, chosen ?? whole);
  return to > from && to - from < whole.to - whole.from ? { from, to } : whole;
}

function within(whole: Range, { from, to }: Range): Range {
  return { from: Math.max(from, whole.from), to: Math.min(to, whole.to) };
}

/** Whether a value is in a range; all are if there is none. */
export function isIn(range: Range | undefined, value: number): boolean {
  return range === undefined || (value >= range.from && value <= range.to);
}

/** Whether a range is the whole. */
export function isWhole({ whole }: Extent, range: Range): boolean {
  return range.from <= whole.from && range.to >= whole.to;
}

/** The range between two places of the drawing; none if they are too near each other. */
export function between(extent: Extent, one: number, other: number): Range | undefined {
  const [start, end] = [Math.min(one, other), Math.max(one, other)];
  if (Math.min(end, extent.right) - Math.max(start, extent.left) < SHORTEST) {
    return undefined;
  }
  return rangeOf(extent, Math.max(start, extent.left), Math.min(end, extent.right));
}

/** The middle half of what is shown; none if nothing is shorter. */
export function nearer(extent: Extent): Range | undefined {
  const quarter = (extent.right - extent.left) / 4;
  return rangeOf(extent, extent.left + quarter, extent.right - quarter);
}

/** Twice as much as is shown, as far as there is. */
export function farther(extent: Extent): Range | undefined {
  const half = (extent.right - extent.left) / 2;
  return rangeOf(extent, extent.left - half, extent.right + half);
}

/** What is beside the shown, half of its length to the left or to the right; none at the end. */
export function moved(extent: Extent, to: "left" | "right"): Range | undefined {
  const { scale, left, right, whole } = extent;
  const half = (right - left) / 2;
  const by = to === "left" ? Math.max(-half, scale.beyond(whole.from) - left) : Math.min(half, scale.beyond(whole.to) - right);
  return Math.abs(by) < 1 ? undefined : rangeOf(extent, left + by, right + by);
}

/** The range between two places, within the whole; none if that is what is shown. */
export function rangeOf({ scale, whole, shown }: Extent, start: number, end: number): Range | undefined {
  const value = (place: number) => Number(scale.valueAt(place).toPrecision(DIGITS));
  // The ends of the axis have more digits.
  const isFromStart = start < scale.beyond(whole.from) + 1;
  const isToEnd = end > scale.beyond(whole.to) - 1;
  const { from, to } = within(whole, { from: isFromStart ? whole.from : value(start), to: isToEnd ? whole.to : value(end) });
  return from < to && (from !== shown.from || to !== shown.to) ? { from, to } : undefined;
}

/** A range in words. */
export function rangeWords({ words }: Extent, { from, to }: Range): string {
  return `${words(from)} to ${words(to)}`;
}
