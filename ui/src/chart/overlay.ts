// Costs of the same arms in several runs: those of an arm below each other, on one axis with zero.

import type { OverlaidRun, OverlayRow } from "../types/document";
import { axisLabel, axisOf, grid, rowShapes, TOP, type ForestRow } from "./forest";
import { fitted, textWidth, type Mark, type Scene } from "./scene";

/** A run with its number of an arm. */
export interface OverlayLine {
  run: string;
  row: ForestRow;
}

/** An arm with its numbers. */
export interface OverlayGroup {
  name: string;
  lines: OverlayLine[];
}

/** The height of a number. */
const LINE = 18;
/** On narrow screens, words are above their number. */
const NARROW_LINE = 34;
const NARROW = 620;
/** The space between two arms. */
const GAP = 8;

/** The arms that have a number with an interval in some run. */
export function overlayGroups(rows: OverlayRow[], runs: OverlaidRun[]): OverlayGroup[] {
  return rows
    .map((row) => ({ name: row.name, lines: runs.flatMap((run, place) => lineOf(row, run, place)) }))
    .filter((group) => group.lines.length > 0);
}

function lineOf(row: OverlayRow, run: OverlaidRun, place: number): OverlayLine[] {
  const cost = row.costs[place];
  if (!cost || typeof cost.low !== "number" || typeof cost.high !== "number") {
    return [];
  }
  const { low, high, unit, text } = cost;
  const isBounded = cost.basis === "bounded";
  const difference = row.differences[place];
  const decided = difference ? `${difference.outcome}: ${difference.value.text} ${difference.value.unit}, ${difference.text}` : "";
  return [
    {
      run: run.name,
      row: {
        id: `${row.name} ${run.name}`,
        label: row.name,
        value: difference ? `${text} ${difference.outcome}` : text,
        estimate: cost.estimate ?? (low + high) / 2,
        low,
        high,
        isBounded,
        note: [unit, isBounded ? "only bounds are known" : "", decided].filter((words) => words !== "").join("; "),
        family: row.name,
        tone: run.tone,
      },
    },
  ];
}

/** The plot of arms in their order. */
export function overlay(groups: OverlayGroup[], runs: OverlaidRun[], options: { axis: string; isLinear: boolean }, width: number): Scene {
  const isNarrow = width < NARROW;
  const height = isNarrow ? NARROW_LINE : LINE;
  const rows = groups.flatMap((group) => group.lines.map((line) => line.row));
  const valueWidth = isNarrow ? 0 : Math.min(220, Math.max(60, ...rows.map((row) => textWidth(row.value)))) + 14;
  const labelWidth = isNarrow ? 0 : Math.min(width * 0.3, Math.max(60, ...groups.map((group) => textWidth(group.name))) + 16);
  const [left, right] = [isNarrow ? 10 : labelWidth, width - valueWidth - 8];
  const bottom = TOP + rows.length * height + groups.length * GAP;
  const scale = axisOf(rows, { ...options, band: null }, [left, right]);
  const shapes = grid(scale, null, bottom, width);
  const marks: Mark[] = [];
  let top = TOP;
  for (const { name, lines } of groups) {
    const middle = top + (lines.length * height) / 2;
    if (!isNarrow) {
      shapes.push({ kind: "text", x: left - 12, y: middle + 4, text: fitted(name, left - 14), of: "label", anchor: "end" });
    }
    lines.forEach(({ run, row }, place) => {
      const y = top + place * height + (isNarrow ? height - 9 : height / 2);
      shapes.push(...rowShapes(row, { y, scale, left, right }));
      if (isNarrow && place === 0) {
        shapes.push({ kind: "text", x: left, y: y - 12, text: fitted(name, width - textWidth(row.value) - 26), of: "label" });
      }
      shapes.push({ kind: "text", x: width - 6, y: isNarrow ? y - 12 : y + 4, text: row.value, of: "value", anchor: "end" });
      marks.push({ x: scale.at(row.estimate), y, name: `${name}, ${run}`, values: [row.value, row.note].filter((text) => text !== "") });
    });
    top += lines.length * height + GAP;
  }
  const label = axisLabel(scale, options.axis, [left, right], width, bottom);
  const legend = runs.map(({ name, tone }) => ({ name, fill: `var(--${tone})`, of: `point ${tone}` }));
  return { width, height: label.height, shapes: [...shapes, ...label.shapes], marks, near: "y", legend };
}
