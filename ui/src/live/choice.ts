// The runs that a reader chooses in the list to see them beside each other. They are a part of the view, so a link keeps them.

import { cellText } from "../table";
import type { Row, Table } from "../types/document";
import { written, type View } from "../view";

/** The fewest and the most runs that the server shows beside each other. */
export const FEWEST = 2;
export const MOST = 5;

/** The runs that are chosen, in their order: the others are compared with the first. */
export function chosenRuns(view: View): string[] {
  const runs = (view["runs"] ?? "").split(",").filter((run) => /^\d+$/.test(run));
  return [...new Set(runs)].slice(0, MOST);
}

/** What the view has after a run was chosen, or is chosen no more. */
export function toggled(chosen: string[], run: string): string {
  const others = chosen.filter((one) => one !== run);
  return (others.length < chosen.length ? others : [...chosen, run]).join(",");
}

/** Why a run cannot be chosen; none if it can. */
export function reasonAgainst(table: Table, row: Row, chosen: string[]): string | undefined {
  if (chosen.includes(row.name)) {
    return undefined;
  }
  if (named(table, row, "verdict") === "no result") {
    return "it has no result";
  }
  return chosen.length >= MOST ? `at most ${MOST} runs are compared` : undefined;
}

/** What is chosen, and what follows from it, in words. */
export function choiceInWords(table: Table, chosen: string[]): string {
  const [first, ...others] = chosen;
  if (first === undefined) {
    return `Choose ${FEWEST} to ${MOST} runs in the list to see them beside each other.`;
  }
  if (others.length === 0) {
    return `Run ${first} is chosen: others are compared with it. Choose another.`;
  }
  const kinds = new Set(table.rows.filter((row) => chosen.includes(row.name)).map((row) => named(table, row, "kind")));
  const beside = kinds.size > 1 ? " They are of different kinds, so their answers are shown, and no number is compared." : "";
  const most = chosen.length >= MOST ? ` More than ${MOST} runs are not compared.` : "";
  return `Run ${first} is the reference, compared with ${others.join(", ")}.${beside}${most}`;
}

/** The text of a row in a column. */
function named(table: Table, row: Row, heading: string): string {
  const cell = row.cells[table.columns.findIndex((column) => column.heading === heading)];
  return cell === undefined ? "" : cellText(cell);
}

/** The address of runs beside each other. */
export function compareAddress(chosen: string[]): string {
  return `/compare?runs=${chosen.join(",")}`;
}

/** The address of the list in which they are chosen. */
export function listAddress(chosen: string[]): string {
  return `/${written({ runs: chosen.join(",") })}`;
}
