// Distributions beside each other on common scales.

import { distribution, highestShare } from "../chart/distribution";
import { Figure } from "../figure";
import type { Distributions } from "../types/document";

const HEIGHT = 220;

/** The distributions. */
export function DistributionsBlock({ data }: { data: Distributions }) {
  const highest = highestShare(data);
  return (
    <div class="beside">
      {data.items.map((item) => (
        <Figure
          key={item.name}
          title={`${item.name}: ${item.words}`}
          isTitled
          scene={(width) => distribution(data, item, highest, width, HEIGHT)}
          rows={() => [["from us", "to us", "count"], ...item.bins.map((bin) => [String(bin.from), String(bin.to), String(bin.count)])]}
        />
      ))}
    </div>
  );
}
