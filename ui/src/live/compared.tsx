// The way from runs beside each other back to the list, where they are still chosen, and to each of them.

import { listAddress } from "./choice";

/** The links of compared runs. */
export function ComparedLinks({ runs }: { runs: string[] }) {
  return (
    <nav class="of-run" aria-label="Compared runs">
      <a href={listAddress(runs)}>All runs</a>
      <span>
        Open alone:
        {runs.map((run) => (
          <a key={run} href={`/runs/${run}`}>
            run {run}
          </a>
        ))}
      </span>
    </nav>
  );
}
