// The differences of a comparison: a forest plot of all measures, coloured by what was decided about each.

import { forest, type ForestRow } from "../chart/forest";
import { Figure } from "../figure";
import type { Differences } from "../types/document";
import type { View } from "../view";
import { Choice } from "./costs";

interface DifferencesProps {
  data: Differences;
  view: View;
  change: (changes: View) => void;
}

/** The rows of the plot. */
export function differenceRows(data: Differences, measure: string): ForestRow[] {
  const shown = data.rows.filter((row) => measure === "" || row.measure === measure);
  const isOfSeveral = new Set(data.rows.map((row) => row.subject)).size > 1;
  return shown.flatMap((row, place) => {
    const { estimate, low, high, text } = row.share;
    if (typeof low !== "number" || typeof high !== "number") {
      return [];
    }
    return [
      {
        id: String(place),
        label: isOfSeveral && measure === "" ? `${row.subject}: ${row.measure}` : isOfSeveral ? row.subject : row.measure,
        value: `${text} %`,
        estimate: estimate ?? (low + high) / 2,
        low,
        high,
        isBounded: false,
        note: `${row.decision}; ${row.text}`,
        family: row.subject,
        tone: row.decision,
      },
    ];
  });
}

/** The chart with a choice of the measure. */
export function DifferencesBlock({ data, view, change }: DifferencesProps) {
  const measures = [...new Set(data.rows.map((row) => row.measure))];
  const isOfSeveral = new Set(data.rows.map((row) => row.subject)).size > 1;
  const chosen = measures.find((one) => one === view["measure"]) ?? "";
  const rows = differenceRows(data, chosen);
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
        scene={(width) =>
          rows.length > 0
            ? {
                ...forest(rows, { axis: data.axis, band: { low: -data.margin, high: data.margin }, isLinear: false, least: data.margin }, width),
                legend: [
                  { name: "different", fill: "var(--own)", of: "point" },
                  { name: "equivalent", fill: "var(--sound)", of: "point equivalent" },
                  { name: "undecided", fill: "var(--other)", of: "point undecided" },
                ],
              }
            : undefined
        }
        rows={() => [
          ["subject", "measure", "difference", "in its unit", "decision"],
          ...data.rows.map((row) => [row.subject, row.measure, `${row.share.text} %`, row.text, row.decision]),
        ]}
        note={`Line: the interval. Shaded: the margin of ±${data.margin} %, within which a difference does not matter. Equivalent: within it. Different: the interval excludes zero.`}
      />
    </>
  );
}
