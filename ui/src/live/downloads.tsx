// The files of a run, and the way back to the history.

import type { Api } from "../types/api";

/** The outputs of the API, each with its name for people. */
const OUTPUTS: Record<Api["output"], string> = { json: "JSON", csv: "CSV", md: "Markdown", html: "HTML" };

/** The links of a run. */
export function RunLinks({ api, run }: { api: string; run: string }) {
  const base = `${api}/runs/${run}`;
  return (
    <nav class="of-run" aria-label={`Run ${run}`}>
      <a href="/">All runs</a>
      <span>
        Download run {run}:
        {Object.entries(OUTPUTS).map(([output, name]) => (
          <a key={output} href={`${base}/${output}`} download={`run-${run}.${output}`}>
            {name}
          </a>
        ))}
        <a href={`${base}/result`} download={`run-${run}-result.json`}>
          result as it is stored
        </a>
      </span>
    </nav>
  );
}
