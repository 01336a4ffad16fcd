// Tables of documents: numbers with their intervals as the document writes them.

import { useContext } from "preact/hooks";
import { csv, fileName, keep } from "./csv";
import { nextOrder, ordered, orderOf, withOrder, type Order } from "./order";
import { bare, capitalised, Name, sentence, SHORT, VERDICTS, Words } from "./text";
import type { Cell, Row, Table } from "./types/document";
import { PageView } from "./view";

/** The text of a cell. */
export function cellText(cell: Cell): string {
  return cell === "empty" ? "-" : "text" in cell ? cell.text : cell.quantity.text;
}

/** Whether a cell is a difference whose interval contains zero. */
function isNearZero(cell: Cell): boolean {
  if (cell === "empty" || !("quantity" in cell) || cell.quantity.form !== "difference") {
    return false;
  }
  const { low, high, has_uncertain_sign: isUncertain } = cell.quantity;
  return isUncertain === true || ((low ?? 0) <= 0 && (high ?? 0) >= 0);
}

/** Why the number of a cell is not known; none if it is, or if there is none. */
export function whyUnknown(cell: Cell): string | undefined {
  if (cell === "empty" || !("quantity" in cell) || typeof cell.quantity.basis === "string") {
    return undefined;
  }
  return cell.quantity.basis.unknown;
}

/** What a cell says when pointed at. */
function reason(cell: Cell): string | undefined {
  const why = whyUnknown(cell);
  return why === undefined ? undefined : `not known: ${why}`;
}

/** Words of a cell with more letters are on several lines on a narrow screen, and with more than the second on any. */
const LINES = [SHORT, 26] as const;

function cellClass(cell: Cell, isText: boolean): string {
  if (isText) {
    const { length } = cellText(cell);
    return length > LINES[1] ? "words long" : length > LINES[0] ? "words middle" : "words";
  }
  if (isNearZero(cell)) {
    return "near";
  }
  const isFaint = cell !== "empty" && "quantity" in cell && (cell.quantity.basis === "bounded" || typeof cell.quantity.basis !== "string");
  return isFaint ? "faint" : "";
}

/** Whether a table is of words, some of which need whole lines of a narrow screen: its rows are blocks there, with headings before cells. */
export function isProse({ columns, rows }: Table): boolean {
  const isLong = (cell: Cell, column: number) => columns[column]?.is_text === true && cellText(cell).length > LINES[1];
  return columns.filter((column) => !column.is_text).length <= 1 && rows.some((row) => row.cells.some(isLong));
}

/** A reason that only lists checks by their ids: `offered`, `offered and vague-cost`, `offered, steal and vague-cost`. */
const CHECKS = /^[a-z0-9-]+(?:, [a-z0-9-]+)*(?: and [a-z0-9-]+)?$/;

/** Why numbers of a table are not known, each reason once. Lists of checks are one reason, with each check once. */
export function reasonsOf(table: Table): string[] {
  const all = [...new Set(table.rows.flatMap((row) => row.cells.flatMap((cell) => whyUnknown(cell) ?? [])))];
  const lists = all.filter((reason) => CHECKS.test(reason));
  if (lists.length < 2) {
    return all;
  }
  const checks = [...new Set(lists.flatMap((reason) => reason.split(/, | and /)))];
  return [`withheld by ${checks.join(", ")}`, ...all.filter((reason) => !lists.includes(reason))];
}

/** The rows of a table as text, its heading first. */
function tableRows(table: Table): string[][] {
  const head = [table.names, ...table.columns.map((column) => column.heading)];
  return [head, ...table.rows.map((row) => [row.name, ...row.cells.map(cellText)])];
}

/** Rows that a reader chooses by their names. */
export interface Choosing {
  chosen: string[];
  /** Why a row cannot be chosen; none if it can. */
  reasonAgainst: (row: Row) => string | undefined;
  toggle: (name: string) => void;
}

interface TableProps {
  table: Table;
  choosing?: Choosing;
}

/** A table with a way to keep it. */
export function TableView({ table, choosing }: TableProps) {
  const reasons = reasonsOf(table);
  return (
    <>
      <Grid table={table} {...(choosing ? { choosing } : {})} />
      {/* What a cell says when pointed at, for those who do not point. */}
      {reasons.length > 0 && (
        <p class="note">
          Not known (-): <Words text={sentence(reasons.join("; "))} />
        </p>
      )}
      <p class="tools">
        <KeepCsv name={table.title} rows={() => tableRows(table)} />
      </p>
    </>
  );
}

/** A button that keeps rows as a CSV file. */
export function KeepCsv({ name, rows }: { name: string; rows: () => string[][] }) {
  return (
    <button type="button" class="quiet" onClick={() => keep(`${fileName(name)}.csv`, "text/csv", csv(rows()))}>
      Save as CSV
    </button>
  );
}

/** The table alone. */
export function Grid({ table, choosing }: TableProps) {
  const [view, change] = useContext(PageView);
  const name = fileName(table.title);
  const order = orderOf(view, name);
  const choose = (column: number) => change(withOrder(view, name, nextOrder(table, order, column)));
  const isBrief = table.names.length <= 2 * SHORT && table.rows.every((row) => row.summary === "" && row.name.length <= SHORT);
  const kinds = [isBrief ? "brief" : "", isProse(table) ? "prose" : ""];
  return (
    <div class={choosing ? "scroll list" : "scroll"} role="region" aria-label={bare(capitalised(table.title))} tabIndex={0}>
      <table class={kinds.join(" ").trim()}>
        <thead>
          <tr>
            <Heading heading={table.names} column={0} order={order} choose={choose} />
            {table.columns.map((column, place) => (
              <Heading key={column.heading} heading={column.heading} isText={column.is_text} column={place + 1} order={order} choose={choose} />
            ))}
          </tr>
        </thead>
        <tbody>
          {ordered(table, order).map((row, place) => (
            <tr key={place}>
              <th scope="row">
                {choosing && <ChoiceOf row={row} names={table.names} choosing={choosing} />}
                {row.page ? <a href={row.page}>{row.name}</a> : <Name text={row.name} />}
                {row.summary !== "" && (
                  <small>
                    <Words text={row.summary} />
                  </small>
                )}
              </th>
              {row.cells.map((cell, column) => (
                <td
                  key={column}
                  class={cellClass(cell, table.columns[column]?.is_text ?? false)}
                  title={reason(cell)}
                  data-heading={cellText(cell) === "" ? undefined : bare(table.columns[column]?.heading ?? "")}
                >
                  <Value cell={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What a cell says; a verdict as it is shown elsewhere. */
function Value({ cell }: { cell: Cell }) {
  const text = cellText(cell);
  return Object.hasOwn(VERDICTS, text) ? (
    <span class={text}>
      <b>{text}</b>
    </span>
  ) : (
    <Words text={text} />
  );
}

interface HeadingProps {
  heading: string;
  isText?: boolean;
  column: number;
  order: Order | undefined;
  choose: (column: number) => void;
}

/** The heading of a column, which orders the rows by it. One without words orders nothing. */
function Heading({ heading, isText = false, column, order, choose }: HeadingProps) {
  const direction = order?.isRising ? "ascending" : "descending";
  return (
    <th scope="col" class={isText ? "words" : ""} aria-sort={order?.column === column ? direction : undefined}>
      {heading === "" ? (
        ""
      ) : (
        <button type="button" class="order" onClick={() => choose(column)}>
          <Words text={heading} />
        </button>
      )}
    </th>
  );
}

/** The box that chooses a row. */
function ChoiceOf({ row, names, choosing }: { row: Row; names: string; choosing: Choosing }) {
  const against = choosing.reasonAgainst(row);
  return (
    <input
      type="checkbox"
      aria-label={`Choose ${names} ${row.name}`}
      title={against}
      checked={choosing.chosen.includes(row.name)}
      disabled={against !== undefined}
      onChange={() => choosing.toggle(row.name)}
    />
  );
}
