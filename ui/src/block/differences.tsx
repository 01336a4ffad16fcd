// The differences of a comparison or a gate: a forest plot of all measures, coloured by what was decided about each.

import { forest, type ForestRow, type Outcome } from "../chart/forest";
import { endsOf } from "../chart/intervals";
import { plain } from "../chart/scale";
import type { LegendEntry } from "../chart/scene";
import { Figure } from "../figure";
import type { DifferenceRow, Differences } from "../types/document";
import type { View } from "../view";
import { Choice } from "./costs";

interface DifferencesProps {
  data: Differences;
  view: View;
  change: (changes: View) => void;
}

/** The colour of each decision, in the order of the legend. */
const COLOURS: Record<Outcome, string> = {
  different: "var(--own)",
  equivalent: "var(--sound)",
  failed: "var(--failed)",
  passed: "var(--sound)",
  undecided: "var(--other)",
};

/** A share whose ends are not known is open to both sides. */
const OPEN = { estimate: 0, low: -Infinity, high: Infinity, isBounded: true };

/** The rows of the plot. */
export function differenceRows(data: Differences, measure: string): ForestRow[] {
  const shown = data.rows.filter((row) => measure === "" || row.measure === measure);
  const isOfSeveral = new Set(data.rows.map((row) => row.subject)).size > 1;
  return shown.map((row, place) => {
    const known = endsOf(row.share);
    const ends = known ?? OPEN;
    return {
      id: String(place),
      label: isOfSeveral && measure !== "" ? row.subject : row.measure,
      value: known ? `${row.share.text} %` : row.text,
      ...ends,
      note: [row.outcome, ends.isBounded ? "only bounds are known" : "", row.text].filter((words) => words !== "").join("; "),
      family: row.subject,
      tone: row.outcome,
      limit: row.limit ?? undefined,
    };
  });
}

/** The same as rows of text. */
export function differenceTable(data: Differences): string[][] {
  const share = (row: DifferenceRow) => (endsOf(row.share) ? `${row.share.text} %` : "-");
  return [["subject", "measure", "difference", "in its unit", "decision"], ...data.rows.map((row) => [row.subject, row.measure, share(row), row.text, row.outcome])];
}

/** The decisions about rows. */
export function outcomeLegend(rows: ForestRow[]): LegendEntry[] {
  return (Object.keys(COLOURS) as Outcome[])
    .filter((outcome) => rows.some((row) => row.tone === outcome))
    .map((outcome) => ({ name: outcome, fill: COLOURS[outcome], of: `point ${outcome}` }));
}

/** The chart with a choice of the measure. */
export function DifferencesBlock({ data, view, change }: DifferencesProps) {
  const measures = [...new Set(data.rows.map((row) => row.measure))];
  const isOfSeveral = new Set(data.rows.map((row) => row.subject)).size > 1;
  const chosen = measures.find((one) => one === view["measure"]) ?? "";
  const rows = differenceRows(data, chosen);
  const { margin, axis } = data;
  const least = margin ?? Math.max(0, ...rows.map((row) => 1.1 * Math.abs(row.limit ?? 0)));
  const options = { axis, band: margin === null ? null : { low: -margin, high: margin }, isLinear: false, least, isGrouped: isOfSeveral && chosen === "" };
  const legend = outcomeLegend(rows);
  return (
    <>
      {isOfSeveral && measures.length > 1 && (
        <div class="switches">
          <Choice
            name="Measure"
            value={chosen}
            options={[["", "all"], ...measures.map((one): [string, string] => [one, one])]}
            choose={(measure) => change({ measure })}
          />
        </div>
      )}
      <Figure
        title={data.title}
        scene={(width) => (rows.length > 0 ? { ...forest(rows, options, width), legend } : undefined)}
        rows={() => differenceTable(data)}
        legend={
          margin === null
            ? "Line: the interval. Upright dashes: the limit. Failed: the whole interval is beyond it. Passed: all of it is within. Undecided: neither."
            : `Line: the interval. Shaded: the margin of ±${plain(margin)} %, within which a difference does not matter. Equivalent: the whole interval is within it. Different: the interval is not, and excludes zero. Undecided: neither.`
        }
        note={rows.some((row) => row.isBounded) && "Dashed line without a point: only bounds are known. Arrow: it goes on."}
      />
    </>
  );
}
