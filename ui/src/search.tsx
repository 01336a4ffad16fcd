// The list of runs: a reader can search it, and choose runs to compare.

import { useRef } from "preact/hooks";
import { ShowAll } from "./filter";
import { chosenRuns, reasonAgainst, toggled } from "./live/choice";
import { Choose } from "./live/choose";
import { cellText, TableView } from "./table";
import type { Row, Table } from "./types/document";
import type { View } from "./view";

/** The rows that have every word of a search in a name, a summary or a cell, in any order. */
export function found(rows: Row[], search: string): Row[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) {
    return rows;
  }
  return rows.filter((row) => {
    const text = [row.name, row.summary, ...row.cells.map(cellText)].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

interface SearchedTableProps {
  table: Table;
  view: View;
  change: (changes: View) => void;
}

/** The table below a field for words and the choice. */
export function SearchedTable({ table, view, change }: SearchedTableProps) {
  const field = useRef<HTMLInputElement>(null);
  const search = view["search"] ?? "";
  const rows = found(table.rows, search);
  const chosen = chosenRuns(view);
  const choosing = {
    chosen,
    reasonAgainst: (row: Row) => reasonAgainst(table, row, chosen),
    toggle: (name: string) => change({ runs: toggled(chosen, name) }),
  };
  return (
    <>
      <div class="switches">
        <label>
          Search the {table.names}s
          <input ref={field} type="search" value={search} placeholder="name, kind, label, date" onInput={(event) => change({ search: event.currentTarget.value })} />
        </label>
        <span role="status" class="soft count">
          {search === "" ? `${table.rows.length} shown` : `${rows.length} of ${table.rows.length} shown`}
        </span>
      </div>
      <Choose table={table} chosen={chosen} clear={() => change({ runs: "" })} />
      {rows.length === 0 ? (
        <p class="empty">
          No {table.names} has all of these words. <ShowAll field={field} show={() => change({ search: "" })} />
        </p>
      ) : (
        <TableView table={{ ...table, rows }} choosing={choosing} />
      )}
    </>
  );
}
