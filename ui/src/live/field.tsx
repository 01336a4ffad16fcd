// One field with its label, what may be in it, and what is wrong with it.

import type { ComponentChildren } from "preact";
import { capitalised, sentence, Words } from "../text";
import type { Input } from "./kinds/form";

export interface FieldProps {
  id: string;
  input: Input;
  error: string | undefined;
  value: string;
  set: (value: string) => void;
}

/** The attributes of what a reader fills in. */
export function common({ id, input, error, value, set }: FieldProps) {
  return {
    id,
    name: input.name,
    value,
    required: input.isRequired === true,
    "aria-invalid": error !== undefined,
    "aria-describedby": `${id}-hint ${id}-wrong`,
    onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
  };
}

const MODES = { url: "url", decimal: "decimal", numeric: "numeric" } as const;

/** A field of one line. */
export function FieldView(props: FieldProps) {
  const { form, choices } = props.input;
  const mode = form === "url" || form === "decimal" || form === "numeric" ? MODES[form] : "text";
  return (
    <Labelled {...props}>
      {choices !== undefined ? (
        <select {...common(props)}>
          {choices.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      ) : (
        <input {...common(props)} type="text" inputMode={mode} autocomplete={form === "url" ? "on" : "off"} autocapitalize="off" spellcheck={false} />
      )}
    </Labelled>
  );
}

/** What a reader fills in, between its label and its words. */
export function Labelled({ id, input, error, children }: FieldProps & { children: ComponentChildren }) {
  return (
    <div class={input.isWide === true ? "field wide" : "field"}>
      <label for={id}>
        {input.label}
        {input.isRequired === true && <span class="soft"> (required)</span>}
      </label>
      {children}
      <small id={`${id}-hint`} class="soft">
        {input.hint}
      </small>
      <small id={`${id}-wrong`} class="wrong">
        {error !== undefined && <Words text={sentence(capitalised(error))} />}
      </small>
    </div>
  );
}
