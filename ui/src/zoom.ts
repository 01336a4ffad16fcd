// The ranges of axes that a reader has chosen, in the view: all charts of a page over one axis show the same range of it.

import { useContext } from "preact/hooks";
import type { Range } from "./chart/range";
import { fileName } from "./csv";
import { PageView, type View } from "./view";

/** Between the axes of a view with ranges. */
const AXES = "|";
/** Between the name of an axis and the ends of its range. */
const ENDS = "_";

/** The entries of a view: each the name of an axis, and the ends of its range. */
function entries(view: View): string[][] {
  return (view["zoom"] ?? "").split(AXES).flatMap((entry) => (entry === "" ? [] : [entry.split(ENDS)]));
}

/** The range of an axis in a view; none if all of it is shown. */
export function rangeOf(view: View, axis: string): Range | undefined {
  const found = entries(view).find(([name]) => name === fileName(axis));
  const [from, to] = (found ?? []).slice(1).map(Number);
  return from !== undefined && to !== undefined && from < to ? { from, to } : undefined;
}

/** The changes of a view by which a range of an axis is shown, or all of it. */
export function withRange(view: View, axis: string, range: Range | undefined): View {
  const others = entries(view).filter(([name]) => name !== fileName(axis));
  const own = range === undefined ? [] : [[fileName(axis), String(range.from), String(range.to)]];
  return { zoom: [...others, ...own].map((entry) => entry.join(ENDS)).join(AXES) };
}

/** The range of an axis on this page, and what changes it. */
export function useRange(axis: string | undefined): [Range | undefined, (range: Range | undefined) => void] {
  const [view, change] = useContext(PageView);
  return axis === undefined ? [undefined, () => undefined] : [rangeOf(view, axis), (range) => change(withRange(view, axis, range))];
}
