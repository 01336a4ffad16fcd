// A chart with its table: each shows the same values, and a reader chooses.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { farther, isWhole, moved, nearer, rangeWords, type Extent, type Range } from "./chart/range";
import type { Scene } from "./chart/scene";
import { strip } from "./chart/strip";
import { Drawing, Legend, useWidth } from "./drawing";
import { StripView } from "./strip";
import { Grid, KeepCsv } from "./table";
import { bare, Words } from "./text";
import type { Table } from "./types/document";
import { useTimes } from "./times";
import { useTable } from "./view";
import { useRange } from "./zoom";

interface FigureProps {
  title: string;
  /** What tells it from the other charts of the page in the address, if its title does not or changes. */
  name?: string | undefined;
  /** The horizontal axis of which a reader can choose a range, which all charts over it show. */
  axis?: string;
  /** Whether its axis of times is linear or logarithmic as a reader chooses. */
  hasTimes?: boolean;
  /** The chart for a width in pixels, over a range of that axis or all of it; none if there is nothing to draw. */
  scene: (width: number, range?: Range) => Scene | undefined;
  /** The same values as rows of text, the heading first. */
  rows: () => string[][];
  onChoose?: (id: string) => void;
  /** What Escape does before it leaves the values; false if there was nothing to do. */
  onLeave?: () => boolean;
  /** What its marks are, above it. */
  legend?: string;
  /** What else explains how it is drawn. */
  note?: ComponentChildren;
  /** Whether the title is shown, and not only said. */
  isTitled?: boolean;
}

/** A chart with its table. */
export function Figure({ title, name = title, axis, hasTimes, scene, rows, onChoose, onLeave, legend, note, isTitled }: FigureProps) {
  const [element, width] = useWidth();
  const [isTable, toggleTable] = useTable(name);
  const [range, setRange] = useRange(axis);
  const [isLinear, bend] = useTimes();
  const drawn = width > 0 ? scene(width, range) : undefined;
  const extent = drawn?.extent;
  const isPart = extent !== undefined && !isTable && !isWhole(extent, extent.shown);
  const all = isPart ? scene(width) : undefined;
  const overview = all && extent && strip(all, extent.shown);
  // Only the first button of the range stays once the whole is shown.
  const first = useRef<HTMLButtonElement>(null);
  // They may fill more than a window.
  const isOfRows = drawn?.near === "y";
  // Said by the chart that it was chosen at, and not by all that show it.
  const [said, setSaid] = useState("");
  const choose = (chosen: Range | undefined) => {
    const isPart = extent !== undefined && chosen !== undefined && !isWhole(extent, chosen);
    setRange(isPart ? chosen : undefined);
    setSaid(isPart ? `${rangeWords(extent, chosen)} is shown.` : "The whole range is shown.");
  };
  const whole = () => {
    if (range === undefined) {
      return false;
    }
    choose(undefined);
    return true;
  };
  const leave = onLeave ?? (extent ? whole : undefined);
  const widen = () => {
    if (whole()) {
      first.current?.focus();
    }
  };
  const take = (chosen: Range) => {
    if (extent && isWhole(extent, chosen)) {
      widen();
    } else {
      choose(chosen);
    }
  };
  return (
    <figure
      class="figure"
      aria-label={isTitled ? undefined : bare(title)}
      onFocusOut={(event) => event.currentTarget.contains(event.relatedTarget as Node | null) || setSaid("")}
    >
      {isTitled && (
        <figcaption>
          <Words text={title} />
        </figcaption>
      )}
      {legend !== undefined && !isTable && <p class="note marks">{legend}</p>}
      <div ref={element}>
        {isTable ? (
          <Grid table={asTable(title, rows())} />
        ) : drawn ? (
          <>
            {isOfRows && <Legend entries={drawn.legend} />}
            <Drawing title={title} scene={drawn} {...(onChoose ? { onChoose } : {})} {...(leave ? { onLeave: leave } : {})} {...(extent ? { onRange: choose } : {})} />
            {overview && <StripView title={title} strip={overview} choose={take} leave={widen} />}
            {!isOfRows && <Legend entries={drawn.legend} />}
          </>
        ) : (
          width > 0 && <p class="empty">No value of this chart is known. The findings of this page say why, and what to do.</p>
        )}
      </div>
      {note && !isTable && <p class="note">{note}</p>}
      <div class="tools">
        <button type="button" class="quiet" onClick={toggleTable}>
          {isTable ? "Show as chart" : "Show as table"}
        </button>
        <KeepCsv name={title} rows={rows} />
        {hasTimes && !isTable && (
          <button type="button" class="quiet" onClick={bend}>
            {isLinear ? "Logarithmic axis" : "Linear axis"}
          </button>
        )}
        {extent && !isTable && <Zoom extent={extent} isChosen={range !== undefined} first={first} choose={take} leave={widen} />}
      </div>
      {extent && (
        <div class="unseen" role="status">
          {said}
        </div>
      )}
    </figure>
  );
}

interface ZoomProps {
  extent: Extent;
  isChosen: boolean;
  /** The button that stays. */
  first: { current: HTMLButtonElement | null };
  choose: (range: Range) => void;
  /** Shows the whole. */
  leave: () => void;
}

/** Buttons that choose a range without dragging, and what is shown. */
function Zoom({ extent, isChosen, first, choose, leave }: ZoomProps) {
  const parts: [string, Range | undefined][] = [["Zoom in", nearer(extent)]];
  if (isChosen) {
    parts.push(["Zoom out", farther(extent)], ["Move left", moved(extent, "left")], ["Move right", moved(extent, "right")]);
  }
  return (
    <div class="zoom" role="group" aria-label="Range that is shown" onKeyDown={(event) => event.key === "Escape" && leave()}>
      {parts.map(([name, range], place) => (
        // One that had the focus keeps it at the end of the axis.
        <button key={name} ref={place === 0 ? first : null} type="button" class="quiet" aria-disabled={range === undefined} onClick={() => range && choose(range)}>
          {name}
        </button>
      ))}
      {isChosen && (
        <button type="button" class="quiet" onClick={leave}>
          Whole range
        </button>
      )}
      {isChosen ? (
        <span class="soft">
          {rangeWords(extent, extent.shown)} of {rangeWords(extent, extent.whole)}
        </span>
      ) : (
        <span class="soft by-mouse">or drag</span>
      )}
    </div>
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
