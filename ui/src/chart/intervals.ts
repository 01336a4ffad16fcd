// Numbers with their intervals, a row for each: a forest plot in the colours of their kinds.

import type { IntervalRow, Intervals } from "../types/document";
import { forest, type ForestRow, type RowTone } from "./forest";
import type { LegendEntry, Scene } from "./scene";

/** The kinds of the rows with their colours. */
function kinds(data: Intervals): Map<string, RowTone> {
  return new Map(data.rows.map((row) => [row.kind, row.tone]));
}

/** Where a number is on the axis. */
export interface Ends {
  estimate: number;
  low: number;
  high: number;
  isBounded: boolean;
}

/** The place of a number of which something is known. A bound without a second end is open there; a number without an interval is a point. */
export function endsOf({ estimate, low, high, basis }: Pick<IntervalRow["number"], "estimate" | "low" | "high" | "basis">): Ends | undefined {
  const [first, last] = [low ?? estimate ?? high, high ?? estimate ?? low];
  if (typeof first !== "number" || typeof last !== "number") {
    return undefined;
  }
  const isBounded = basis === "bounded" || typeof estimate !== "number";
  return { estimate: estimate ?? (first + last) / 2, low: low ?? (isBounded ? -Infinity : first), high: high ?? (isBounded ? Infinity : last), isBounded };
}

/** The rows of which something is known. */
export function intervalRows(data: Intervals): ForestRow[] {
  const hasKinds = kinds(data).size > 1;
  return data.rows.flatMap((row, place) => {
    const { text, unit, form } = row.number;
    const ends = endsOf(row.number);
    if (ends === undefined) {
      return [];
    }
    const isNearZero = form === "difference" && ends.low <= 0 && ends.high >= 0;
    return [
      {
        id: String(place),
        label: hasKinds ? `${row.name}, ${row.kind}` : row.name,
        value: text,
        ...ends,
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
  const ofLevel = level ? [{ name: level.text, fill: "var(--ink)", of: "limit" }] : [];
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
