// The form that a load is started with. Its fields are those of the API.

import { useEffect, useRef, useState } from "preact/hooks";
import { capitalised, sentence, Words } from "../text";
import type { WantedLoad } from "../types/api";
import { FIRST, wanted, type Errors, type Field, type Fields } from "./fields";

/** The label of each field, and what may be in it. */
const LABELS: readonly [field: Field, label: string, hint: string][] = [
  ["target", "Target", "a URL, such as http://127.0.0.1:8080/"],
  ["rate", "Rate, requests/s", "empty: as fast as the server answers"],
  ["connections", "Connections", "1 to 10,000"],
  ["duration", "Duration", "such as 30s, at most 1h"],
  ["warmup", "Warm-up", "not recorded; 0s for none"],
  ["protocol", "Protocol", ""],
];
const PROTOCOLS = ["auto", "http1", "http2", "http3", "grpc", "grpc-http3"];

interface FormProps {
  errors: Errors;
  /** Whether a load may be started. */
  isFree: boolean;
  isAsking: boolean;
  start: (load: WantedLoad) => void;
  refuse: (errors: Errors) => void;
}

/** The form. */
export function StartForm({ errors, isFree, isAsking, start, refuse }: FormProps) {
  const [fields, setFields] = useState<Fields>(FIRST);
  const form = useRef<HTMLFormElement>(null);
  // The first field that is wrong is where a reader goes on.
  useEffect(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), [errors]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isFree) {
      return;
    }
    const read = wanted(fields);
    if ("errors" in read) {
      refuse(read.errors);
    } else {
      start(read.load);
    }
  };
  return (
    <form ref={form} class="start" noValidate onSubmit={submit} aria-labelledby="start-title">
      <h2 id="start-title">Send a load</h2>
      <div class="fields">
        {LABELS.map(([field, label, hint]) => (
          <FieldView key={field} field={field} label={label} hint={hint} error={errors.fields[field]} value={fields[field]} set={(value) => setFields({ ...fields, [field]: value })} />
        ))}
      </div>
      <p class="act">
        <button type="submit" class="main" aria-disabled={!isFree} aria-describedby="start-words">
          {isAsking ? "Starting…" : "Start"}
        </button>
        <span id="start-words" class="soft">
          {isFree || isAsking ? "" : "One load runs at a time: the next can start when the job below has ended."}
        </span>
      </p>
      <div role="alert">
        {errors.words.map((line) => (
          <p key={line} class="wrong">
            <Words text={sentence(capitalised(line))} />
          </p>
        ))}
      </div>
    </form>
  );
}

interface FieldProps {
  field: Field;
  label: string;
  hint: string;
  error: string | undefined;
  value: string;
  set: (value: string) => void;
}

/** One field with its label, what may be in it, and what is wrong with it. */
function FieldView({ field, label, hint, error, value, set }: FieldProps) {
  const id = `load-${field}`;
  const common = {
    id,
    name: field,
    value,
    "aria-invalid": error !== undefined,
    "aria-describedby": `${id}-hint ${id}-wrong`,
    onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
  };
  return (
    <div class={`field ${field}`}>
      <label for={id}>{label}</label>
      {field === "protocol" ? (
        <select {...common}>
          {PROTOCOLS.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          type="text"
          inputMode={field === "target" ? "url" : field === "rate" ? "decimal" : field === "connections" ? "numeric" : "text"}
          required={field === "target"}
          autocomplete={field === "target" ? "url" : "off"}
          autocapitalize="off"
          spellcheck={false}
        />
      )}
      <small id={`${id}-hint`} class="soft">
        {hint}
      </small>
      <small id={`${id}-wrong`} class="wrong">
        {error !== undefined && <Words text={sentence(capitalised(error))} />}
      </small>
    </div>
  );
}
