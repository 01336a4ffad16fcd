// The order of the rows of a table: that of the document, or by a column that a reader chooses.

import type { Row, Table } from "./types/document";
import type { View } from "./view";

/** An order by a column; that of the names of the rows is 0. */
export interface Order {
  column: number;
  isRising: boolean;
}

/** What a row is ordered by: a number, a text, or nothing that is known. */
type Key = number | string | undefined;

/** A number at the begin of a text that goes on with an interval, a unit or nothing. Dates and versions are none. */
const NUMBER = /^(?:[≥≤] ?)?([+-]?\d[\d,]*(?:\.\d+)?)(?=[ %/]|$)/;
/** Between the tables of a view that are ordered. */
const SEPARATOR = "|";
const RISING = "up";
const FALLING = "down";
const texts = new Intl.Collator("en", { numeric: true });

function keyOfText(text: string, isText: boolean): Key {
  const number = isText ? undefined : NUMBER.exec(text)?.[1];
  if (number !== undefined) {
    return Number(number.replaceAll(",", ""));
  }
  return text === "" || text === "-" ? undefined : text;
}

function keyOf(table: Table, row: Row, column: number): Key {
  if (column === 0) {
    return keyOfText(row.name, false);
  }
  const cell = row.cells[column - 1];
  if (cell === undefined || cell === "empty") {
    return undefined;
  }
  if ("text" in cell) {
    return keyOfText(cell.text, table.columns[column - 1]?.is_text ?? false);
  }
  const { estimate, low, high } = cell.quantity;
  return estimate ?? low ?? high ?? undefined;
}

/** Numbers come before texts. */
function compared(one: number | string, other: number | string): number {
  if (typeof one === "number") {
    return typeof other === "number" ? one - other : -1;
  }
  return typeof other === "number" ? 1 : texts.compare(one, other);
}

/** The rows in an order; without one, in that of the document. What is not known is last in both directions. */
export function ordered(table: Table, order: Order | undefined): Row[] {
  if (order === undefined) {
    return table.rows;
  }
  const rows = table.rows.map((row) => ({ row, key: keyOf(table, row, order.column) }));
  rows.sort((one, other) => {
    if (one.key === undefined || other.key === undefined) {
      return Number(one.key === undefined) - Number(other.key === undefined);
    }
    return order.isRising ? compared(one.key, other.key) : compared(other.key, one.key);
  });
  return rows.map(({ row }) => row);
}

/** The order after a column was chosen: first the largest number or the first text, then the other direction, then that of the document. */
export function nextOrder(table: Table, order: Order | undefined, column: number): Order | undefined {
  const isFirstRising = !table.rows.some((row) => typeof keyOf(table, row, column) === "number");
  if (order?.column !== column) {
    return { column, isRising: isFirstRising };
  }
  return order.isRising === isFirstRising ? { column, isRising: !isFirstRising } : undefined;
}

/** The entries of a view: each the name of a table, its column and the direction. */
function entries(view: View): string[][] {
  return (view["sort"] ?? "").split(SEPARATOR).flatMap((entry) => (entry === "" ? [] : [entry.split(".")]));
}

/** The order of the table with a name in a view; none if that of the document is shown. */
export function orderOf(view: View, name: string): Order | undefined {
  const [, column = "", direction] = entries(view).find(([table]) => table === name) ?? [];
  const place = Number.parseInt(column, 10);
  return place >= 0 ? { column: place, isRising: direction === RISING } : undefined;
}

/** The changes of a view by which the table with a name, which has letters, digits and hyphens alone, has an order. */
export function withOrder(view: View, name: string, order: Order | undefined): View {
  const others = entries(view).filter(([table]) => table !== name);
  const own = order === undefined ? [] : [[name, String(order.column), order.isRising ? RISING : FALLING]];
  return { sort: [...others, ...own].map((entry) => entry.join(".")).join(SEPARATOR) };
}
