// A distribution: bars of the share in each bin on the left scale, and a line of the share up to it on the right one. On a logarithmic axis, bins
// are equally long, and distributions have one scale. On a linear one they are not: there a bar is as high as the share of an equal length, so
// that areas are shares, and each distribution has a scale of its own, since one that is narrow would leave others none of a common one.

import type { Bin, Distribution, Distributions } from "../types/document";
import { pathOf, type Place } from "./path";
import { shownOf, type Range } from "./range";
import { grouped, linear, logarithmic, plain } from "./scale";
import { tickText, type Mark, type Scene, type Shape } from "./scene";

const LEFT = 54;
const RIGHT = 46;
const TOP = 14;
const BOTTOM = 44;

/** The highest share of the left scale of a linear axis is at least this, and less than ten times as much. */
const LEAST = 0.01;

/** No bin that has a response has a smaller share. */
const NONE = 1e-15;

/** A bar that is shorter has no gap beside it on a linear axis, pixels. */
const SHORT = 4;

/** The share of what a bar stands for, where it is largest among the bins of distributions that are shown. */
function highestShare(items: Distribution[], shown: Range, parts: (bin: Bin) => number): number {
  const shares = items.flatMap((item) => item.bins.filter((bin) => isBetween(bin, shown)).map((bin) => bin.count / Math.max(1, total(item)) / parts(bin)));
  return Math.max(Number.MIN_VALUE, ...shares);
}

/** The length of a linear axis that the shares of the left scale are of: a power of ten with which they can be read. */
function unitOf(highestOfOne: number): number {
  return Number((10 ** Math.ceil(Math.log10(LEAST / highestOfOne) - 1e-9)).toPrecision(1));
}

/** A share as the end of a scale, two digits; all where there is none. */
function rounded(share: number): number {
  if (share < NONE) {
    return 1;
  }
  const step = 10 ** (Math.floor(Math.log10(share)) - 1);
  return Number((Math.ceil(share / step - 1e-9) * step).toPrecision(3));
}

function lengthOf(bin: Bin): number {
  return Math.max(Number.EPSILON, bin.to - bin.from);
}

function isBetween(bin: Bin, { from, to }: Range): boolean {
  return bin.to > from && bin.from < to;
}

function total(item: Distribution): number {
  return item.bins.reduce((sum, bin) => sum + bin.count, 0);
}

/** The chart of one of the distributions, or the part of it over a range of the times. */
export function distribution(data: Distributions, item: Distribution, width: number, height: number, isLinear: boolean, chosen?: Range): Scene {
  const [left, right, bottom] = [LEFT, width - RIGHT, height - BOTTOM];
  const whole = { from: data.from, to: data.to };
  const shown = shownOf(whole, chosen);
  const unit = isLinear ? unitOf(highestShare([item], shown, lengthOf)) : 1;
  const parts = (bin: Bin) => (isLinear ? lengthOf(bin) / unit : 1);
  const highest = rounded(highestShare(isLinear ? [item] : data.items, shown, parts));
  const x = (isLinear ? linear : logarithmic)([shown.from, shown.to], [left, right], 52);
  const y = (share: number) => bottom - share * (bottom - TOP);
  const all = Math.max(1, total(item));
  const shapes: Shape[] = [];
  for (const tick of x.ticks) {
    shapes.push(
      { kind: "line", x1: tick.at, x2: tick.at, y1: TOP, y2: bottom, of: "grid" },
      tickText(tick, bottom + 16, width),
    );
  }
  for (const share of [0, 0.5, 1]) {
    shapes.push(
      { kind: "text", x: left - 6, y: y(share) + 4, text: `${Number((share * highest * 100).toPrecision(3))} %`, of: "tick", anchor: "end" },
      { kind: "text", x: right + 6, y: y(share) + 4, text: `${share * 100} %`, of: "tick" },
    );
  }
  let sum = 0;
  const cumulative: Place[] = [];
  const marks: Mark[] = [];
  for (const bin of item.bins) {
    const share = bin.count / all;
    const before = sum;
    sum += bin.count;
    if (!isBetween(bin, shown)) {
      continue;
    }
    const [from, to] = [x.at(bin.from), x.at(bin.to)];
    // Gaps between short bars would be stripes.
    const gap = isLinear && to - from < SHORT ? 0 : 1;
    const tall = (share / parts(bin) / highest) * (bottom - TOP);
    cumulative.push(...(cumulative.length > 0 ? [] : [[x.beyond(bin.from), y(before / all)] as Place]), [x.beyond(bin.to), y(sum / all)]);
    shapes.push({ kind: "rect", x: from, y: bottom - tall, width: Math.max(1, to - from - gap), height: tall, of: `bar ${item.tone}` });
    marks.push({
      x: (from + to) / 2,
      y: bottom - tall,
      name: `${plain(bin.from)} to ${plain(bin.to)} us`,
      values: [`${grouped(bin.count, 0)} ${bin.count === 1 ? "response" : "responses"}, ${plain(share * 100)} %`, `${grouped(sum, 0)} up to here, ${Number(((sum / all) * 100).toFixed(3))} %`],
    });
  }
  shapes.push({ kind: "line", x1: left, x2: right, y1: bottom, y2: bottom, of: "zero" });
  shapes.push({ kind: "path", d: pathOf(cumulative, [left, right]), of: "curve cumulative" });
  shapes.push({ kind: "text", x: (left + right) / 2, y: height - 8, text: isLinear ? data.axis : `${data.axis}; logarithmic`, of: "axis", anchor: "middle" });
  const legend = [
    { name: isLinear ? `share for each ${unit < 1 ? unit : grouped(unit, 0)} us, left scale` : "share in each bin, left scale", fill: `var(--bar-${item.tone})` },
    { name: "share up to it, right scale", fill: "var(--ink)", isLine: true },
  ];
  const extent = { left, right, top: TOP, bottom, scale: x, whole, shown, words: (value: number) => `${plain(value)} us` };
  return { width, height, shapes, marks, near: "x", legend, extent };
}
