// Draws the strip of the whole below the chart of a part of it. A pointer moves and resizes its window, and keys move its ends.

import { useRef, useState } from "preact/hooks";
import { rangeWords, type Range } from "./chart/range";
import { dragged, gripAt, rangeBelow, stepped, type Ends, type Grip, type Strip } from "./chart/strip";
import { drawn } from "./drawing";
import { bare } from "./text";

interface StripProps {
  /** The title of the chart. */
  title: string;
  strip: Strip;
  choose: (range: Range) => void;
  /** Shows the whole. */
  leave: () => void;
}

/** A grip that is moved, and the places where that began and where it is. */
interface Drag {
  grip: Grip;
  start: number;
  at: number;
}

/** The strip. */
export function StripView({ title, strip: { shapes, extent, window: shown }, choose, leave }: StripProps) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Drag | undefined>(undefined);
  const { left, right, top, bottom, scale, whole, words } = extent;
  // Charts follow when a pointer lets go: a page may have many.
  const ends = drag ? dragged(shown, drag.grip, drag.start, drag.at, extent) : shown;
  const [from, to] = ends;
  const placeOf = (event: PointerEvent) => {
    const { left: start, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return left + ((event.clientX - start) / width) * (right - left);
  };
  const show = (next: Ends) => {
    const range = rangeBelow(extent, next);
    if (range) {
      choose(range);
    }
  };
  const press = (event: PointerEvent) => {
    if (event.button === 0) {
      const start = placeOf(event);
      box.current?.setPointerCapture(event.pointerId);
      setDrag({ grip: gripAt(shown, start), start, at: start });
    }
  };
  const release = () => {
    setDrag(undefined);
    if (drag && (drag.grip === "new" || drag.at !== drag.start)) {
      show(ends);
    }
  };
  const stepBy = (event: KeyboardEvent, end: "from" | "to") => {
    const next = stepped(shown, end, event.key, extent);
    if (next) {
      event.preventDefault();
      show(next);
    } else if (event.key === "Escape") {
      leave();
    }
  };
  const grip = (end: "from" | "to", place: number) => {
    const value = scale.valueAt(place);
    return (
      <span
        role="slider"
        tabIndex={0}
        class={`grip ${end}`}
        style={{ left: `${((100 * (place - left)) / (right - left)).toFixed(3)}%` }}
        aria-label={`${end === "from" ? "Start" : "End"} of the range that is shown of ${bare(title)}`}
        aria-valuemin={whole.from}
        aria-valuemax={whole.to}
        aria-valuenow={value}
        aria-valuetext={words(value)}
        onKeyDown={(event) => stepBy(event, end)}
      />
    );
  };
  const width = right - left;
  return (
    <div
      ref={box}
      class="strip"
      title={`The whole, ${rangeWords(extent, whole)}: drag the window or its ends`}
      // Below the axis of the chart, and as long.
      style={{ marginLeft: `${left}px`, width: `${width}px` }}
      onPointerDown={press}
      onPointerMove={(event) => drag && setDrag({ ...drag, at: placeOf(event) })}
      onPointerUp={release}
      onPointerCancel={() => setDrag(undefined)}
    >
      <svg viewBox={`${left} ${top} ${width} ${bottom - top}`} preserveAspectRatio="none" aria-hidden="true">
        {shapes.map(drawn)}
        <rect class="beyond" x={left} y={top} width={Math.max(0, from - left)} height={bottom - top} />
        <rect class="beyond" x={to} y={top} width={Math.max(0, right - to)} height={bottom - top} />
        <rect class="window" x={from} y={top} width={Math.max(1, to - from)} height={bottom - top} />
      </svg>
      {grip("from", from)}
      {grip("to", to)}
    </div>
  );
}
