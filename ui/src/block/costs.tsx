// The costs of a study: a forest plot of all arms in one measure under one load, and what is behind the arm that is selected.

import { useEffect, useRef } from "preact/hooks";
import { forest, type ForestRow } from "../chart/forest";
import { rounds, roundRows, roundsOf } from "../chart/rounds";
import { slices, SLICES_AXIS } from "../chart/slices";
import { Figure } from "../figure";
import { ShowAll } from "../filter";
import { cellText } from "../table";
import { bare, inert, sentence, Words } from "../text";
import type { Cell, CostArm, Costs, CostView, Slices } from "../types/document";
import type { View } from "../view";

interface CostsProps {
  costs: Costs;
  view: View;
  change: (changes: View) => void;
}

/** The order of the rows. */
const ORDERS = { cost: "by cost", family: "by family", name: "by name" } as const;
type Order = keyof typeof ORDERS;

/** What is chosen, or what is shown first. */
function chosenView(costs: Costs, view: View): CostView | undefined {
  const of = costs.views.filter((one) => one.heading === (view["measure"] ?? costs.views[0]?.heading));
  const ofMeasure = of.length > 0 ? of : costs.views.slice(0, 1);
  return ofMeasure.find((one) => (one.load ?? "") === (view["load"] ?? "")) ?? ofMeasure[0];
}

/** The arms that the filters leave. */
interface Rows {
  /** Those that are drawn, with their numbers, in their order. */
  rows: ForestRow[];
  /** Those without an interval. */
  lacking: { arm: CostArm; cell: Cell }[];
  /** Those that are drawn only if the text of the filter names them. */
  beside: CostArm[];
}

/** The arms that the filters leave. */
export function rowsOf(costs: Costs, shown: CostView, view: View): Rows {
  const text = (view["text"] ?? "").toLowerCase();
  const family = view["family"] ?? "";
  const rows: ForestRow[] = [];
  const lacking: Rows["lacking"] = [];
  const beside: CostArm[] = [];
  const hasFunctions = costs.arms.some((arm) => arm.kind === "function" && !arm.is_control);
  costs.arms.forEach((arm, place) => {
    const cell = shown.cells[place] ?? "empty";
    const isFound = `${arm.name} ${arm.summary}`.toLowerCase().includes(text) && (family === "" || arm.family === family);
    // An arm without a proxy lies so far on the other side of zero that it would leave only half of the axis for the others, and known
    // answers are no costs to compare.
    const isBeside = arm.kind === "direct" || (hasFunctions && arm.is_control && family !== arm.family);
    if (!isFound) {
      return;
    }
    if (isBeside && text === "") {
      beside.push(arm);
      return;
    }
    if (cell === "empty" || !("quantity" in cell) || typeof cell.quantity.low !== "number" || typeof cell.quantity.high !== "number") {
      if (cell !== "empty") {
        lacking.push({ arm, cell });
      }
      return;
    }
    const { low, high, estimate, text: value, unit, has_uncertain_sign: isUncertain = false } = cell.quantity;
    const isBounded = cell.quantity.basis === "bounded";
    rows.push({
      id: arm.id,
      label: arm.name,
      value,
      estimate: estimate ?? (low + high) / 2,
      low,
      high,
      isBounded,
      isUncertain,
      note: isBounded ? `${unit}; only bounds are known` : isUncertain ? `${unit}; may be zero, or of the other sign` : unit,
      family: arm.family,
    });
  });
  return { rows: sorted(rows, (view["order"] as Order | undefined) ?? "cost"), lacking, beside };
}

function sorted(rows: ForestRow[], order: Order): ForestRow[] {
  const byCost = [...rows].sort((a, b) => b.estimate - a.estimate);
  if (order === "name") {
    return byCost.sort((a, b) => a.label.localeCompare(b.label));
  }
  if (order === "family") {
    const first = new Map<string, number>();
    byCost.forEach((row, place) => first.set(row.family, first.get(row.family) ?? place));
    return byCost.sort((a, b) => (first.get(a.family) ?? 0) - (first.get(b.family) ?? 0));
  }
  return byCost;
}

function unique<T>(values: T[]): T[] {
  return [...new Set(values)];
}

/** The chart with its switches. */
export function CostsBlock({ costs, view, change }: CostsProps) {
  const filter = useRef<HTMLInputElement>(null);
  const shown = chosenView(costs, view);
  if (shown === undefined) {
    return <p class="empty">No arm has a cost. The findings of this page say why, and what to do.</p>;
  }
  const headings = unique(costs.views.map((one) => one.heading));
  const loads = costs.views.filter((one) => one.heading === shown.heading && typeof one.load === "string");
  const families = unique(costs.arms.filter((arm) => arm.kind === "function").map((arm) => arm.family));
  const { rows, lacking, beside } = rowsOf(costs, shown, view);
  const same = costs.arms.findIndex((arm) => arm.kind === "same");
  const band = same >= 0 ? quantityEnds(shown.cells[same]) : null;
  const chosen = costs.arms.find((arm) => arm.id === view["arm"]);
  const isFiltered = (view["text"] ?? "") !== "" || (view["family"] ?? "") !== "";
  const title = `${shown.heading} of each arm${shown.load_words ? ` under ${shown.load_words}` : ""}`;
  return (
    <>
      <div class="switches">
        <Choice name="Measure" value={shown.heading} options={headings.map((one) => [one, one])} choose={(measure) => change({ measure, load: "" })} />
        {loads.length > 1 && (
          <Choice name="Load" value={shown.load ?? ""} options={loads.map((one) => [one.load ?? "", one.load_words ?? ""])} choose={(load) => change({ load })} />
        )}
        {families.length > 1 && (
          <Choice name="Family" value={view["family"] ?? ""} options={[["", "all"], ...families.map((one): [string, string] => [one, one])]} choose={(family) => change({ family })} />
        )}
        <Choice name="Order" value={view["order"] ?? "cost"} options={Object.entries(ORDERS)} choose={(order) => change({ order: order === "cost" ? "" : order })} />
        <label>
          Filter
          <input ref={filter} type="search" value={view["text"] ?? ""} placeholder="name or words" onInput={(event) => change({ text: event.currentTarget.value })} />
        </label>
        <label class="check">
          <input type="checkbox" checked={view["axis"] === "linear"} onChange={(event) => change({ axis: event.currentTarget.checked ? "linear" : "" })} />
          linear axis
        </label>
        <span role="status" class="soft count">
          {rows.length} of {costs.arms.length} arms drawn
        </span>
      </div>
      {rows.length === 0 ? (
        <p class="empty">
          {isFiltered ? (
            <>
              No arm with a number in this measure matches. <ShowAll field={filter} show={() => change({ text: "", family: "" })} />
            </>
          ) : (
            "No arm has a number in this measure: choose another measure or load."
          )}
        </p>
      ) : (
        <Figure
          title={title}
          name="costs"
          scene={(width) => forest(rows, { axis: shown.axis, heading: bare(shown.heading), band, isLinear: view["axis"] === "linear", chosen: chosen?.id }, width)}
          rows={() => [["arm", shown.heading, "unit"], ...rows.map((row) => [row.label, row.value, row.note])]}
          onChoose={(arm) => change({ arm: arm === view["arm"] ? "" : arm })}
          legend="Point and line: estimate and interval. Hollow and grey: the interval contains zero, the sign is not supported (?), or only bounds are known."
          note={
            <>
              Arrow: it goes beyond the axis.{band ? " Shaded: the interval of the A/A arm, whose true cost is zero." : ""}
              {beside.length > 0 ? ` Drawn only if the filter names them: ${beside.map((arm) => arm.name).join(", ")}.` : ""} Select an arm to see what is behind
              it.
            </>
          }
        />
      )}
      {lacking.length > 0 && (
        <details open={rows.length === 0}>
          <summary>{lacking.length} without an interval in this measure</summary>
          <ul>
            {lacking.map(({ arm, cell }) => (
              <li key={arm.id}>
                {inert(arm.name)}: {withheld(cell)}
              </li>
            ))}
          </ul>
        </details>
      )}
      {chosen && <Behind costs={costs} arm={chosen} shown={shown} close={() => change({ arm: "" })} />}
    </>
  );
}

function withheld(cell: Cell): string {
  if (cell !== "empty" && "quantity" in cell && typeof cell.quantity.basis !== "string") {
    return `withheld by ${cell.quantity.basis.unknown}`;
  }
  return cellText(cell);
}

function quantityEnds(cell: Cell | undefined): { low: number; high: number } | null {
  if (cell === undefined || cell === "empty" || !("quantity" in cell)) {
    return null;
  }
  const { low, high } = cell.quantity;
  return typeof low === "number" && typeof high === "number" ? { low, high } : null;
}

interface ChoiceProps {
  name: string;
  value: string;
  options: [string, string][];
  choose: (value: string) => void;
}

/** A choice of one among several. */
export function Choice({ name, value, options, choose }: ChoiceProps) {
  return (
    <label>
      {name}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([id, words]) => (
          <option key={id} value={id}>
            {bare(words)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The slices behind a number of an arm, or if the page does not have these, others of it: of the measure, under the load of its own that an arm may have. */
export function slicesOf(costs: Costs, arm: string, shown: CostView): Slices | undefined {
  const own = costs.slices.filter((one) => one.arms.some((drawn) => drawn.arm === arm));
  const ofMeasure = own.filter((one) => one.headings.includes(shown.heading));
  return ofMeasure.find((one) => one.load === shown.load) ?? ofMeasure[0] ?? own[0] ?? costs.slices[0];
}

/** Says that the slices are not those of the number that is shown. */
function otherSlices({ heading, load_words: load }: CostView): string {
  return `This page has no slices of ${heading}${load ? ` under ${load}` : ""}: these are of another measure or load. `;
}

/** What is behind an arm: all its numbers, and the slices that they were computed from. */
function Behind({ costs, arm, shown, close }: { costs: Costs; arm: CostArm; shown: CostView; close: () => void }) {
  const place = costs.arms.indexOf(arm);
  const element = useRef<HTMLElement>(null);
  // The list may be longer than the window.
  useEffect(() => element.current?.scrollIntoView({ block: "nearest" }), [arm.id]);
  const of = slicesOf(costs, arm.id, shown);
  // The button that has the focus goes with it.
  const leave = () => {
    element.current?.parentElement?.querySelector<HTMLElement | SVGElement>(".choosing > svg, .figure .scroll")?.focus();
    close();
  };
  const isOfShown = of !== undefined && of.headings.includes(shown.heading) && (shown.load === null || shown.load === of.load);
  return (
    <section ref={element} class="behind" aria-label={`Behind ${arm.name}`}>
      <h3>
        {inert(arm.name)}
        <button type="button" class="quiet" onClick={leave}>
          Close
        </button>
      </h3>
      <p>
        <Words text={sentence(arm.summary)} />
        {arm.compared_with ? ` Compared with ${arm.compared_with}.` : ""}
      </p>
      <dl class="numbers">
        {costs.views
          .filter((one) => cellText(one.cells[place] ?? "empty") !== "-")
          .map((one) => (
            <div key={`${one.heading} ${one.load ?? ""}`}>
              <dt>
                {one.heading}
                {one.load_words ? <small>{one.load_words}</small> : null}
              </dt>
              <dd>{cellText(one.cells[place] ?? "empty")}</dd>
            </div>
          ))}
      </dl>
      {of && roundsOf(of, arm.id).length > 1 && (
        <Figure
          name="rounds"
          title={`${of.axis}, round by round, under ${of.load}`}
          isTitled
          scene={(width) => rounds(of, arm.id, arm.compared_with, width)}
          rows={() => roundRows(of, arm.id, arm.compared_with)}
          note={`${isOfShown ? "" : otherSlices(shown)}Point: the mean of the measured slices of a round that count; each round starts all processes again. Below: the mean of the rounds with its 95 % interval by Student's t. The cost is computed from differences within blocks of slices, so it can be clear where these intervals overlap.`}
        />
      )}
      {of ? (
        <Figure
          name="slices"
          title={`${of.axis}, slice by slice, under ${of.load}`}
          isTitled
          axis={SLICES_AXIS}
          scene={(width, range) => slices(of, arm.id, arm.compared_with, width, range)}
          rows={() => [
            ["arm", "round", "s", of.axis, "set aside"],
            ...of.arms
              .filter((one) => one.arm === arm.id || one.arm === arm.compared_with)
              .flatMap((one) => one.slices.map((slice) => [one.arm, String(slice.round), String(slice.s), String(slice.value), slice.aside ?? ""])),
          ]}
          note={`${isOfShown ? "" : otherSlices(shown)}Hollow: slices that were set aside for a disturbance of the host, whatever their value. Arrow: beyond the axis. At the right: how often each value was measured, for each arm as a share of its most frequent value, of the slices that count.`}
        />
      ) : (
        <p class="note">The result of several sittings has no slices: those of each sitting are in its own report.</p>
      )}
    </section>
  );
}
