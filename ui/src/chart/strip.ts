// The whole of an axis as a strip below the chart of a part of it, with a window over that part, which a reader moves and resizes.

import { rangeOf, type Extent, type Range } from "./range";
import type { Scene, Shape } from "./scene";

/** The places of both ends of a window. */
export type Ends = [from: number, to: number];

/** What of a strip a reader moves: an end of the window, all of it, or a new one. */
export type Grip = "from" | "to" | "all" | "new";

/** The strip, in the places of the chart of the whole. */
export interface Strip {
  shapes: Shape[];
  /** The axis of the whole. */
  extent: Extent;
  window: Ends;
}

/** The area beside the window that moves its end, pixels (WCAG 2.2, 2.5.8). */
const GRIP = 24;
/** And inside of a window that is long enough. */
const INSIDE = 6;
/** A shorter way is a click, and no end comes nearer to the other by key or pointer, pixels. */
const LEAST = 8;
/** An arrow key moves an end by this part of the whole, and a page key by ten of them. */
const STEPS = 50;

/** Lines of a chart that a strip has no room for. */
const LEFT_OUT = ["grid", "zero"];

/** The strip of the chart of a whole, with a window over what is shown; none of a chart without such an axis. */
export function strip({ shapes, extent }: Scene, shown: Range): Strip | undefined {
  return (
    extent && {
      shapes: shapes.filter((shape) => shape.kind !== "text" && !LEFT_OUT.includes(shape.of)),
      extent,
      window: [extent.scale.at(shown.from), extent.scale.at(shown.to)],
    }
  );
}

/** What is at a place. */
export function gripAt([from, to]: Ends, x: number): Grip {
  const inside = Math.min(INSIDE, (to - from) / 4);
  if (x <= from + inside) {
    return from - x > GRIP ? "new" : "from";
  }
  if (x >= to - inside) {
    return x - to > GRIP ? "new" : "to";
  }
  return "all";
}

/** The window after a grip was moved from a place to another. A click beside the window moves it there. */
export function dragged([from, to]: Ends, grip: Grip, start: number, x: number, extent: Pick<Extent, "left" | "right">): Ends {
  const { left, right } = extent;
  const within = (place: number) => Math.min(Math.max(place, left), right);
  const by = x - start;
  switch (grip) {
    case "from":
      return [Math.max(left, Math.min(from + by, to - LEAST)), to];
    case "to":
      return [from, Math.min(right, Math.max(to + by, from + LEAST))];
    case "all": {
      const shift = Math.min(Math.max(by, left - from), right - to);
      return [from + shift, to + shift];
    }
    case "new":
      return Math.abs(by) < LEAST ? dragged([from, to], "all", (from + to) / 2, x, extent) : [within(Math.min(start, x)), within(Math.max(start, x))];
  }
}

/** The window after a key was pressed at one of its ends; none if the key means nothing there. */
export function stepped(window: Ends, end: "from" | "to", key: string, extent: Extent): Ends | undefined {
  const step = (extent.right - extent.left) / STEPS;
  const ways: Record<string, number | undefined> = {
    ArrowLeft: -step,
    ArrowDown: -step,
    ArrowRight: step,
    ArrowUp: step,
    PageDown: -10 * step,
    PageUp: 10 * step,
    Home: -Infinity,
    End: Infinity,
  };
  const by = ways[key];
  return by === undefined ? undefined : dragged(window, end, 0, by, extent);
}

/** The range below a window, which is the whole if it reaches from end to end; none if digits cannot tell its ends apart. */
export function rangeBelow(extent: Extent, [from, to]: Ends): Range | undefined {
  return from < extent.left + 1 && to > extent.right - 1 ? extent.whole : rangeOf(extent, from, to);
}
