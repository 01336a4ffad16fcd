// Several runs beside each other: their costs below each other for each arm, or the differences from the reference with what was decided.

import { useRef } from "preact/hooks";
import { forest, type ForestRow, type Outcome } from "../chart/forest";
import { overlay, overlayGroups } from "../chart/overlay";
import { plain } from "../chart/scale";
import { Figure } from "../figure";
import { ShowAll } from "../filter";
import type { OverlaidRun, Overlay, OverlayRow, OverlayView } from "../types/document";
import type { View } from "../view";
import { Choice } from "./costs";
import { outcomeLegend } from "./differences";

interface OverlayProps {
  data: Overlay;
  view: View;
  change: (changes: View) => void;
}

/** The decisions that a reader may look for. */
const DECISIONS: Outcome[] = ["different", "undecided", "equivalent"];

/** The measure that is chosen, or the first. */
export function chosenMeasure(data: Overlay, view: View): OverlayView | undefined {
  return data.views.find((one) => one.heading === view["measure"]) ?? data.views[0];
}

/** The arms that the filters leave. */
export function shownRows(shown: OverlayView, view: View): OverlayRow[] {
  const text = (view["text"] ?? "").toLowerCase();
  const decision = view["decision"] ?? "";
  return shown.rows.filter(
    (row) => `${row.name} ${row.summary}`.toLowerCase().includes(text) && (decision === "" || row.differences.some((one) => one?.outcome === decision)),
  );
}

/** The differences of the arms, each of each run. */
export function overlayDifferences(rows: OverlayRow[], runs: OverlaidRun[]): ForestRow[] {
  const isOfSeveral = runs.length > 2;
  return rows.flatMap((row) =>
    runs.flatMap((run, place): ForestRow[] => {
      const difference = row.differences[place];
      if (!difference || typeof difference.value.low !== "number" || typeof difference.value.high !== "number") {
        return [];
      }
      const { low, high, estimate, text, unit, basis } = difference.value;
      return [
        {
          id: `${row.name} ${run.name}`,
          label: isOfSeveral ? `${row.name}: ${run.name}` : row.name,
          value: text,
          estimate: estimate ?? (low + high) / 2,
          low,
          high,
          isBounded: basis === "bounded",
          note: `${unit}; ${difference.outcome}; ${difference.text}`,
          family: row.name,
          tone: difference.outcome,
        },
      ];
    }),
  );
}

/** The values of the chart: a row for each arm, then for each run its cost, its difference and the decision. */
export function overlayTable(rows: OverlayRow[], runs: OverlaidRun[]): string[][] {
  const head = runs.flatMap(({ name }, place) => (place === 0 ? [name] : [name, `${name}: difference`, `${name}: decision`]));
  return [
    ["arm", ...head],
    ...rows.map((row) => [
      row.name,
      ...runs.flatMap((_, place) => {
        const cost = row.costs[place]?.text ?? "-";
        const difference = row.differences[place];
        return place === 0 ? [cost] : [cost, difference?.value.text ?? "-", difference?.outcome ?? "-"];
      }),
    ]),
  ];
}

/** The chart with its switches. */
export function OverlayBlock({ data, view, change }: OverlayProps) {
  const filter = useRef<HTMLInputElement>(null);
  const { runs } = data;
  const shown = chosenMeasure(data, view);
  if (shown === undefined) {
    return <p class="empty">The runs have no cost in common. Choose runs of one study in the list of runs.</p>;
  }
  const isDifferences = view["show"] === "differences";
  const rows = shownRows(shown, view);
  const reference = runs[0]?.name ?? "";
  const isLinear = view["axis"] === "linear";
  const differences = overlayDifferences(rows, runs);
  const groups = overlayGroups(rows, runs);
  const { margin } = shown;
  const axis = isDifferences ? `difference from ${reference}: ${shown.axis}` : `difference from the arm compared with: ${shown.axis}`;
  const scene = (width: number) => {
    if (!isDifferences) {
      return overlay(groups, runs, { axis, isLinear }, width);
    }
    const band = margin === null ? null : { low: -margin, high: margin };
    return { ...forest(differences, { axis, band, isLinear, least: margin ?? 0 }, width), legend: outcomeLegend(differences) };
  };
  return (
    <>
      <div class="switches">
        <Choice name="Measure" value={shown.heading} options={data.views.map((one) => [one.heading, one.heading])} choose={(measure) => change({ measure })} />
        <Choice
          name="Show"
          value={isDifferences ? "differences" : ""}
          options={[
            ["", "costs in each run"],
            ["differences", `differences from ${reference}`],
          ]}
          choose={(show) => change({ show })}
        />
        <Choice
          name="Decision"
          value={view["decision"] ?? ""}
          options={[["", "all"], ...DECISIONS.map((one): [string, string] => [one, one])]}
          choose={(decision) => change({ decision })}
        />
        <label>
          Filter
          <input ref={filter} type="search" value={view["text"] ?? ""} placeholder="name or words" onInput={(event) => change({ text: event.currentTarget.value })} />
        </label>
        <label class="check">
          <input type="checkbox" checked={isLinear} onChange={(event) => change({ axis: event.currentTarget.checked ? "linear" : "" })} />
          linear axis
        </label>
        <span role="status" class="soft count">
          {rows.length} of {shown.rows.length} arms match
        </span>
      </div>
      {(isDifferences ? differences : groups).length === 0 ? (
        <p class="empty">
          No arm with a number in this measure matches. <ShowAll field={filter} show={() => change({ text: "", decision: "" })} />
        </p>
      ) : (
        <Figure
          name="overlay"
          title={isDifferences ? `Differences from ${reference}: ${shown.heading}` : `${data.title}: ${shown.heading}`}
          scene={scene}
          rows={() => overlayTable(rows, runs)}
          legend={legend(isDifferences, margin, reference)}
          note={!isDifferences && "Dashed: only bounds are known. Arrow: it goes beyond the axis."}
        />
      )}
    </>
  );
}

/** What the marks of the chart are. */
function legend(isDifferences: boolean, margin: number | null, reference: string): string {
  if (!isDifferences) {
    return `Point and line: estimate and interval of each run; the word is the decision about its difference from ${reference}.`;
  }
  const within = margin === null ? "the margin of 2 % of what the arm is compared with" : `the shaded margin of ±${plain(margin)}`;
  return `Line: the interval of the difference. Equivalent: it is within ${within}. Different: it excludes zero, and may be beyond the margin. Undecided: neither.`;
}
