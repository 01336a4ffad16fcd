// Numbers with their intervals, a row for each: a forest plot in the colours of their kinds.

import type { Intervals } from "../types/document";
import { forest, type ForestRow, type RowTone } from "./forest";
import type { LegendEntry, Scene } from "./scene";

/** The kinds of the rows with their colours. */
function kinds(data: Intervals): Map<string, RowTone> {
  return new Map(data.rows.map((row) => [row.kind, row.tone]));
}

/** The rows of which something is known. */
export function intervalRows(data: Intervals): ForestRow[] {
  const hasKinds = kinds(data).size > 1;
  return data.rows.flatMap((row, place) => {
    const { estimate, low, high, text, unit, basis, form } = row.number;
    const [first, last] = [low ?? estimate ?? high, high ?? estimate ?? low];
    if (typeof first !== "number" || typeof last !== "number") {
      return [];
    }
    const isBounded = basis === "bounded" || typeof estimate !== "number";
    // A bound without a second end is open there; a number without an interval is a point.
    const [from, to] = [low ?? (isBounded ? -Infinity : first), high ?? (isBounded ? Infinity : last)];
    const isNearZero = form === "difference" && from <= 0 && to >= 0;
    return [
      {
        id: String(place),
        label: hasKinds ? `${row.name}, ${row.kind}` : row.name,
        value: text,
        estimate: estimate ?? (first + last) / 2,
        low: from,
        high: to,
        isBounded,
        note: [unit, row.note ?? ""].filter((words) => words !== "").join("; "),
        family: row.kind,
        tone: isNearZero ? undefined : row.tone,
      },
    ];
  });
}

/** The chart; none without a known number. */
export function intervals(data: Intervals, width: number): Scene | undefined {
  const rows = intervalRows(data);
  if (rows.length === 0) {
    return undefined;
  }
  const { axis, scale, level } = data;
  const options = { axis, band: null, isLinear: false, isLogarithmic: scale === "logarithmic", level: level?.y };
  const all = [...kinds(data)];
  const ofKinds = all.map(([name, tone]): LegendEntry => ({ name, fill: `var(--${tone})`, of: `point ${tone}` }));
  const ofLevel = level ? [{ name: level.text, fill: "var(--ink)", isLine: true }] : [];
  return { ...forest(rows, options, width), legend: [...(all.length > 1 ? ofKinds : []), ...ofLevel] };
}

/** The same as rows of text. */
export function intervalTable(data: Intervals): string[][] {
  const hasKinds = kinds(data).size > 1;
  const hasNotes = data.rows.some((row) => typeof row.note === "string");
  const line = (name: string, kind: string, number: string, note: string) => [name, ...(hasKinds ? [kind] : []), number, ...(hasNotes ? [note] : [])];
  return [
    line("", "kind", data.axis, "note"),
    ...data.rows.map((row) => line(row.name, row.kind, row.number.text, row.note ?? "-")),
    ...(data.level ? [line(data.level.text, "-", String(data.level.y), "-")] : []),
  ];
}
