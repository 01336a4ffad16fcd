// Distributions beside each other on common scales.

import { distribution } from "../chart/distribution";
import { Figure } from "../figure";
import { useTimes } from "../times";
import type { Distributions } from "../types/document";

const HEIGHT = 220;

interface DistributionsProps {
  data: Distributions;
  /** What tells them from others of the page, if their names do not. */
  of?: string | undefined;
}

/** The distributions. */
export function DistributionsBlock({ data, of }: DistributionsProps) {
  const [isLinear] = useTimes();
  return (
    <div class="beside">
      {data.items.map((item) => (
        <Figure
          key={item.name}
          title={`${item.name}: ${item.words}`}
          name={of === undefined ? undefined : `${of}: ${item.name}`}
          isTitled
          axis={data.axis}
          hasTimes
          scene={(width, range) => distribution(data, item, width, HEIGHT, isLinear, range)}
          rows={() => [["from us", "to us", "count"], ...item.bins.map((bin) => [String(bin.from), String(bin.to), String(bin.count)])]}
        />
      ))}
    </div>
  );
}
