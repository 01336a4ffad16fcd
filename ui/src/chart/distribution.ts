// A distribution: bars of the share in each bin on the left scale, and a line of the share up to it on the right one.

import type { Bin, Distribution, Distributions } from "../types/document";
import { pathOf, type Place } from "./path";
import { shownOf, type Range } from "./range";
import { grouped, logarithmic, plain } from "./scale";
import { tickText, type Mark, type Scene, type Shape } from "./scene";

const LEFT = 54;
const RIGHT = 46;
const TOP = 14;
const BOTTOM = 44;

/** The largest share of a bin that is shown among all distributions, so that they have one scale. */
function highestShare(data: Distributions, shown: Range): number {
  const shares = data.items.flatMap((item) => item.bins.filter((bin) => isBetween(bin, shown)).map((bin) => bin.count / Math.max(1, total(item))));
  return Math.max(Number.MIN_VALUE, ...shares);
}

function isBetween(bin: Bin, { from, to }: Range): boolean {
  return bin.to > from && bin.from < to;
}

function total(item: Distribution): number {
  return item.bins.reduce((sum, bin) => sum + bin.count, 0);
}

/** The chart of one of the distributions, or the part of it over a range of the times. */
export function distribution(data: Distributions, item: Distribution, width: number, height: number, chosen?: Range): Scene {
  const [left, right, bottom] = [LEFT, width - RIGHT, height - BOTTOM];
  const whole = { from: data.from, to: data.to };
  const shown = shownOf(whole, chosen);
  const highest = highestShare(data, shown);
  const x = logarithmic([shown.from, shown.to], [left, right], 52);
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
      { kind: "text", x: left - 6, y: y(share) + 4, text: `${plain(share * highest * 100)} %`, of: "tick", anchor: "end" },
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
    const tall = (share / highest) * (bottom - TOP);
    cumulative.push(...(cumulative.length > 0 ? [] : [[x.beyond(bin.from), y(before / all)] as Place]), [x.beyond(bin.to), y(sum / all)]);
    shapes.push({ kind: "rect", x: from, y: bottom - tall, width: Math.max(1, to - from - 1), height: tall, of: `bar ${item.tone}` });
    marks.push({
      x: (from + to) / 2,
      y: bottom - tall,
      name: `${plain(bin.from)} to ${plain(bin.to)} us`,
      values: [`${grouped(bin.count, 0)} ${bin.count === 1 ? "response" : "responses"}, ${plain(share * 100)} %`, `${grouped(sum, 0)} up to here, ${Number(((sum / all) * 100).toFixed(3))} %`],
    });
  }
  shapes.push({ kind: "line", x1: left, x2: right, y1: bottom, y2: bottom, of: "zero" });
  shapes.push({ kind: "path", d: pathOf(cumulative, [left, right]), of: "curve cumulative" });
  shapes.push({ kind: "text", x: (left + right) / 2, y: height - 8, text: `${data.axis}; logarithmic`, of: "axis", anchor: "middle" });
  const legend = [
    { name: "share in each bin, left scale", fill: `var(--bin-${item.tone})` },
    { name: "share up to it, right scale", fill: "var(--ink)", isLine: true },
  ];
  const extent = { left, right, top: TOP, bottom, scale: x, whole, shown, words: (value: number) => `${plain(value)} us` };
  return { width, height, shapes, marks, near: "x", legend, extent };
}
