// The rounds behind a number: each as a point, for an arm above those of the arm that it is compared with, beside their mean and its interval.

import type { Slices } from "../types/document";
import { linear, plain, withHalf } from "./scale";
import { diamond, fitted, textWidth, tickText, type Mark, type Scene, type Shape } from "./scene";

/** The places of what belongs to an arm, below the start of its part. */
const PART = { name: 14, own: 24, all: 46 } as const;
/** The height of a part. */
const TALL = 62;
const TOP = 8;
const BOTTOM = 46;
const RIGHT = 14;
const LEFT = 14;
/** Space at both ends of the axis, as a share of the values. */
const ROOM = 0.06;
/** With fewer rounds, an interval would be many times as long as the values are apart. */
const FEWEST = 3;
/** Half the length of points of which one is beside another, pixels. */
const RADIUS = 4;

/** The 97.5th percentile of Student's t distribution with 1, 2, 3... degrees of freedom (Abramowitz and Stegun 1964, table 26.10). */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064,
  2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** A round of an arm. */
export interface Round {
  round: number;
  /** The mean of the slices that count. */
  value: number;
  /** Number of these slices. */
  count: number;
}

/** The rounds of an arm with slices that count, in their order. */
export function roundsOf(data: Slices, arm: string | null | undefined): Round[] {
  const values = new Map<number, number[]>();
  for (const slice of data.arms.find((one) => one.arm === arm)?.slices ?? []) {
    if (typeof slice.aside !== "string") {
      values.set(slice.round, [...(values.get(slice.round) ?? []), slice.value]);
    }
  }
  return [...values].sort(([a], [b]) => a - b).map(([round, of]) => ({ round, value: mean(of), count: of.length }));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The mean of rounds, and half of its 95 % interval, which too few rounds have not. */
export function meanOf(rounds: Round[]): { value: number; half: number | undefined } {
  const values = rounds.map(({ value }) => value);
  const [value, freedom] = [mean(values), values.length - 1];
  if (values.length < FEWEST) {
    return { value, half: undefined };
  }
  const variance = values.reduce((sum, one) => sum + (one - value) ** 2, 0) / freedom;
  // Beyond the table, it falls to that of a normal distribution.
  const t = T[freedom - 1] ?? 1.96 + 2.45 / freedom;
  return { value, half: t * Math.sqrt(variance / values.length) };
}

/** A mean in words. */
function meanWords({ value, half }: ReturnType<typeof meanOf>): string {
  return half === undefined ? plain(value) : withHalf(value, half);
}

/** The chart; none without two rounds of the arm. */
export function rounds(data: Slices, arm: string, other: string | null | undefined, width: number): Scene | undefined {
  const parts = [
    { name: arm, tone: "own", rounds: roundsOf(data, arm) },
    { name: other ?? "", tone: "other", rounds: roundsOf(data, other) },
  ].filter((part) => part.rounds.length > 1);
  if (parts[0]?.tone !== "own") {
    return undefined;
  }
  const means = parts.map((part) => meanOf(part.rounds));
  const ends = means.flatMap(({ value, half = 0 }) => [value - half, value + half]);
  const all = [...parts.flatMap((part) => part.rounds.map(({ value }) => value)), ...ends];
  const [lowest, highest] = [Math.min(...all), Math.max(...all)];
  const room = (highest - lowest || Math.abs(highest) || 1) * ROOM;
  const bottom = TOP + TALL * parts.length;
  const x = linear([lowest - room, highest + room], [LEFT, width - RIGHT], 64);
  const shapes: Shape[] = [];
  for (const tick of x.ticks) {
    shapes.push({ kind: "line", x1: tick.at, x2: tick.at, y1: TOP, y2: bottom, of: "grid" }, tickText(tick, bottom + 16, width));
  }
  shapes.push({ kind: "line", x1: LEFT, x2: width - RIGHT, y1: bottom, y2: bottom, of: "zero" });
  const marks: Mark[] = [];
  parts.forEach(({ name, tone, rounds: of }, place) => {
    const top = TOP + TALL * place;
    const [found, y] = [means[place], { own: top + PART.own + RADIUS, all: top + PART.all }];
    for (const { round, value, count } of of) {
      const at = x.at(value);
      shapes.push({ kind: "circle", x: at, y: y.own, radius: RADIUS, of: `dot ${tone} one-of` });
      const slices = count === 1 ? "its slice that counts" : `the mean of its ${count} slices that count`;
      marks.push({ x: at, y: y.own, name: `${name}, round ${round}`, values: [`${plain(value)} ${data.unit}, ${slices}`] });
    }
    if (found === undefined) {
      return;
    }
    const at = x.at(found.value);
    if (found.half !== undefined) {
      const [from, to] = [x.at(found.value - found.half), x.at(found.value + found.half)];
      shapes.push(
        { kind: "line", x1: from, x2: to, y1: y.all, y2: y.all, of: `interval ${tone}` },
        { kind: "line", x1: from, x2: from, y1: y.all - 4, y2: y.all + 4, of: `interval ${tone}` },
        { kind: "line", x1: to, x2: to, y1: y.all - 4, y2: y.all + 4, of: `interval ${tone}` },
      );
    }
    shapes.push(diamond(at, y.all, `dot ${tone}`));
    const words = `${meanWords(found)} ${data.unit}`;
    const isRoomy = textWidth(`${name}: ${words}`) <= width;
    shapes.push({ kind: "text", x: 0, y: top + PART.name, text: isRoomy ? `${name}: ${words}` : fitted(name, width), of: "label" });
    marks.push({ x: at, y: y.all, name: `${name}, mean of ${of.length} rounds`, values: [words + (found.half === undefined ? "" : ", with its 95 % interval")] });
  });
  shapes.push({ kind: "text", x: width / 2, y: bottom + 38, text: fitted(data.axis, width), of: "axis", anchor: "middle" });
  return { width, height: bottom + BOTTOM, shapes, marks, near: "both", legend: [] };
}

/** The same as rows of text: the rounds of both arms beside each other, then their means. */
export function roundRows(data: Slices, arm: string, other: string | null | undefined): string[][] {
  const names = [arm, ...(typeof other === "string" ? [other] : [])];
  const all = names.map((name) => roundsOf(data, name));
  const numbers = [...new Set(all.flat().map(({ round }) => round))].sort((a, b) => a - b);
  const values = (of: Round[], round: number) => of.filter((one) => one.round === round).map(({ value }) => String(Number(value.toPrecision(6))))[0] ?? "-";
  return [
    ["round", ...names],
    ...numbers.map((round) => [String(round), ...all.map((of) => values(of, round))]),
    ["mean", ...all.map((of) => (of.length > 0 ? meanWords(meanOf(of)) : "-"))],
  ];
}
