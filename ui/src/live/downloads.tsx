// The files of a run, its labels, and the way back to the history.

import { useMemo, useState } from "preact/hooks";
import { capitalised, sentence, Words } from "../text";
import type { Api, LabelChange, StoredRun } from "../types/api";
import { client as clientOf, type Output } from "./api";

/** The formats of other tools, each with its name for people. */
const EXPORTS: Record<Api["export"], string> = { fortio: "Fortio", hgrm: "HDR percentiles", hlog: "HDR log", smp: "SMP" };

interface RunLinksProps {
  api: string;
  run: string;
  /** The outputs that the server has of every run. */
  outputs: readonly Output[];
  /** The formats of other tools that the run has. */
  exports: readonly string[];
  /** The address of the form with its settings, behind the hash; none if they are not known. */
  again: string | undefined;
}

/** The links of a run. */
export function RunLinks({ api, run, outputs, exports, again }: RunLinksProps) {
  const base = `${api}/runs/${run}`;
  return (
    <>
      <nav class="of-run" aria-label={`Run ${run}`}>
        <span>
          <a href="/">All runs</a>
          {again !== undefined && <a href={`/#${again}`}>Start again</a>}
        </span>
        <span>
          Download run {run}:
          {outputs.map(({ ending, name }) => (
            <a key={ending} href={`${base}/${ending}`} download={`run-${run}.${ending}`}>
              {name}
            </a>
          ))}
          <a href={`${base}/result`} download={`run-${run}-result.json`}>
            result as it is stored
          </a>
          {Object.entries(EXPORTS)
            .filter(([format]) => exports.includes(format))
            .map(([format, name]) => (
              <a key={format} href={`${base}/exports/${format}`} download={`run-${run}.${format}`}>
                {name}
              </a>
            ))}
        </span>
      </nav>
      <Labels api={api} run={run} />
    </>
  );
}

/** The label of the run that later ones are held against. */
const REFERENCE = "reference";

/** A run with its labels in words, after a change. */
export function labelled({ run, labels }: StoredRun): string {
  return labels.length === 0 ? `run ${run} has no labels` : `run ${run} has the label${labels.length > 1 ? "s" : ""} ${labels.map((one) => `\`${one}\``).join(", ")}`;
}

/** Sets the run as reference, and gives it labels. */
function Labels({ api, run }: { api: string; run: string }) {
  const client = useMemo(() => clientOf(api), [api]);
  const [label, setLabel] = useState("");
  const [said, setSaid] = useState("");
  const [wrong, setWrong] = useState("");
  const change = async (to: LabelChange) => {
    const answer = await client.label(run, to);
    setSaid("value" in answer ? labelled(answer.value) : "");
    // There is one field, which need not be named.
    setWrong("value" in answer ? "" : answer.refusal.error.replace(/^`\w+`: /, ""));
  };
  const add = (event: Event) => {
    event.preventDefault();
    const text = label.trim();
    if (text === "") {
      setWrong("write a label, such as `nightly`");
      return;
    }
    void change({ add: [text] }).then(() => setLabel(""));
  };
  return (
    <form class="labels" noValidate onSubmit={add} aria-label={`Labels of run ${run}`}>
      <button type="button" class="quiet" onClick={() => void change({ add: [REFERENCE], is_only: true })}>
        Set as reference
      </button>
      <label>
        Label
        <input
          type="text"
          value={label}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          aria-invalid={wrong !== ""}
          aria-describedby="label-words"
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="quiet">
        Add
      </button>
      <span id="label-words" role="status" class={wrong === "" ? "soft" : "wrong"}>
        {wrong + said !== "" && <Words text={sentence(capitalised(wrong || said))} />}
      </span>
    </form>
  );
}
