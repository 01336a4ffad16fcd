// A chart with its table: each shows the same values, and a reader chooses.

import type { ComponentChildren } from "preact";
import type { Scene } from "./chart/scene";
import { Drawing, useWidth } from "./drawing";
import { Grid, KeepCsv } from "./table";
import type { Table } from "./types/document";
import { useTable } from "./view";

interface FigureProps {
  title: string;
  /** What tells it from the other charts of the page in the address, if its title does not or changes. */
  name?: string | undefined;
  /** The chart for a width in pixels; none if there is nothing to draw. */
  scene: (width: number) => Scene | undefined;
  /** The same values as rows of text, the heading first. */
  rows: () => string[][];
  onChoose?: (id: string) => void;
  /** What Escape does before it leaves the values; false if there was nothing to do. */
  onLeave?: () => boolean;
  /** What explains how it is drawn. */
  note?: ComponentChildren;
  /** Whether the title is shown, and not only said. */
  isTitled?: boolean;
}

/** A chart with its table. */
export function Figure({ title, name = title, scene, rows, onChoose, onLeave, note, isTitled }: FigureProps) {
  const [element, width] = useWidth();
  const [isTable, toggleTable] = useTable(name);
  const drawn = width > 0 ? scene(width) : undefined;
  return (
    <figure class="figure">
      {isTitled && <figcaption>{title}</figcaption>}
      <div ref={element}>
        {isTable ? (
          <Grid table={asTable(title, rows())} />
        ) : drawn ? (
          <Drawing title={title} scene={drawn} {...(onChoose ? { onChoose } : {})} {...(onLeave ? { onLeave } : {})} />
        ) : (
          width > 0 && <p class="empty">No value of this chart is known. The findings at the head of the page say why, and what to do.</p>
        )}
      </div>
      {note && !isTable && <p class="note">{note}</p>}
      <p class="tools">
        <button type="button" class="quiet" aria-pressed={isTable} onClick={toggleTable}>
          {isTable ? "Show as chart" : "Show as table"}
        </button>
        <KeepCsv name={title} rows={rows} />
      </p>
    </figure>
  );
}

/** Rows of text as a table, the heading first. */
export function asTable(title: string, [head = [], ...rows]: string[][]): Table {
  return {
    title,
    names: head[0] ?? "",
    columns: head.slice(1).map((heading) => ({ heading, priority: 0, is_text: false })),
    rows: rows.map(([name = "", ...cells]) => ({ name, summary: "", cells: cells.map((text) => ({ text })) })),
  };
}
