// The recent course of a number as a small line beside it, on an axis from zero, as the chart below it has one.

import { pathOf, type Place } from "./path";

/** The size of the drawing, which is stretched to the width of its card. */
export const SPARK = { width: 120, height: 26 } as const;
/** Space above the highest value and below zero, for the width of the line. */
const EDGE = 2;

/** The path through values in their order; one that is not known is a gap. Empty without two that are beside each other. */
export function spark(values: readonly (number | null)[]): string {
  const highest = Math.max(0, ...values.map((value) => value ?? 0));
  const [bottom, tall] = [SPARK.height - EDGE, SPARK.height - 2 * EDGE];
  const step = SPARK.width / Math.max(1, values.length - 1);
  const place = (value: number | null, at: number): Place | undefined =>
    value === null ? undefined : [at * step, highest > 0 ? bottom - (value / highest) * tall : bottom];
  return pathOf(values.map(place), [0, SPARK.width]);
}
