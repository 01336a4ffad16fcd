// Names with what is behind each: its numbers and its charts, which are drawn when a reader opens it.

import type { ComponentChildren } from "preact";
import { TableView } from "../table";
import { bare, Words } from "../text";
import type { Chart, Folds } from "../types/document";
import { isListed, withListed, type View } from "../view";

/** The list of the view that has the names that are open. */
const OPEN = "open";

interface FoldsProps {
  data: Folds;
  /** Draws a chart of a name. */
  draw: (chart: Chart, name: string, place: number) => ComponentChildren;
  view: View;
  change: (changes: View) => void;
}

/** The names. */
export function FoldsBlock({ data, draw, view, change }: FoldsProps) {
  return (
    <div class="folds">
      <p class="note">
        <Words text={data.note} />
      </p>
      {data.folds.map(({ name, words, table, charts }) => {
        const isOpen = isListed(view, OPEN, name);
        return (
          // The browser opens it, by pointer and by key; the view follows.
          <details key={name} open={isOpen} onToggle={({ currentTarget: of }) => of.open !== isOpen && change(withListed(view, OPEN, name))}>
            <summary>
              <b>
                <Words text={name} />
              </b>{" "}
              <span class="soft">
                <Words text={words} />
              </span>
            </summary>
            {isOpen && (
              <section aria-label={bare(name)}>
                <TableView table={table} />
                <div class="beside">{charts.map((chart, place) => draw(chart, name, place))}</div>
              </section>
            )}
          </details>
        );
      })}
    </div>
  );
}
