// Whether axes of times that are logarithmic at first are linear, in the view: all charts of a page with such an axis follow.

import { useContext } from "preact/hooks";
import { PageView, type View } from "./view";

/** Whether a view has linear axes of times. */
export function hasLinearTimes(view: View): boolean {
  return view["times"] === "linear";
}

/** The changes of a view by which its axes of times become linear, or logarithmic again. */
export function withOtherTimes(view: View): View {
  return { times: hasLinearTimes(view) ? "" : "linear" };
}

/** Whether the axes of times are linear on this page, and what changes that. */
export function useTimes(): [boolean, () => void] {
  const [view, change] = useContext(PageView);
  return [hasLinearTimes(view), () => change(withOtherTimes(view))];
}
