// The form that a job is started with: a switch of kinds, and the fields of the one that is chosen.

import { useEffect, useRef, useState } from "preact/hooks";
import { capitalised, sentence, Words } from "../text";
import type { BuiltInStudy } from "../types/api";
import type { View } from "../view";
import { ConfigurationField } from "./configuration";
import { FieldView, type FieldProps } from "./field";
import { NO_ERRORS, type Errors, type Fields } from "./fields";
import { changesOf, fieldsOf, isKept, textOf } from "./kept";
import { FIRST_KIND, FORMS, type Kind } from "./kinds";
import type { Input } from "./kinds/form";

interface FormProps {
  errors: Errors;
  /** Whether a job may be started. */
  isFree: boolean;
  isAsking: boolean;
  /** Whether configurations may be sent to be priced. */
  allowsBills: boolean;
  /** The built-in studies; none until they are known. */
  studies: readonly BuiltInStudy[];
  /** The kind whose fields are shown. */
  kind: Kind;
  /** Has the kind, and what is filled in. */
  view: View;
  change: (changes: View) => void;
  start: (kind: Kind, body: object) => void;
  refuse: (errors: Errors) => void;
}

/** How a server that was not started for configurations can take them. */
const BILLS_OFF =
  "This server prices no configurations: `hoptax serve --allow-bills` allows it, if everyone who can reach the page may have a shell on its machine; without it, `hoptax price FILE` prices a file there.";

/** The fields of every kind as they are first. */
const FIRST = Object.fromEntries(Object.values(FORMS).map((form) => [form.kind, form.first])) as Record<Kind, Fields>;

/** The form. */
export function StartForm({ errors, isFree, isAsking, allowsBills, studies, kind, view, change, start, refuse }: FormProps) {
  // What was filled in stays when another kind is looked at.
  const [filled, setFilled] = useState(FIRST);
  const form = useRef<HTMLFormElement>(null);
  const kept = textOf(FORMS[kind], fieldsOf(FORMS[kind], view));
  const own = useRef("");
  // A link, or the way back, may lead to other settings. What this form has written itself may be behind what is typed by now.
  useEffect(() => {
    if (isKept(FORMS[kind]) && kept !== own.current) {
      fill(fieldsOf(FORMS[kind], view));
    }
  }, [kept]);
  // The first field that is wrong is where a reader goes on.
  useEffect(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), [errors]);
  const { title, inputs, read } = FORMS[kind];
  const fields = filled[kind];
  const isOff = kind === "bill" && !allowsBills;
  const fill = (more: Fields) => setFilled((before) => ({ ...before, [kind]: { ...before[kind], ...more } }));
  const submit = (event: Event) => {
    event.preventDefault();
    if (!isFree || isOff) {
      return;
    }
    const made = read(fields);
    if ("errors" in made) {
      refuse(made.errors);
    } else {
      start(kind, made.body);
    }
  };
  const choose = (to: Kind) => {
    // Errors are those of the fields of before.
    refuse(NO_ERRORS);
    own.current = textOf(FORMS[to], filled[to]);
    change({ ...changesOf(FORMS[to], filled[to]), start: to === FIRST_KIND ? "" : to });
  };
  /** Once a field is left: with each letter, the whole page would be drawn again. */
  const keep = (event: { target: EventTarget | null }) => {
    if (!(event.target instanceof HTMLInputElement && event.target.type === "radio")) {
      own.current = textOf(FORMS[kind], fields);
      change(changesOf(FORMS[kind], fields));
    }
  };
  return (
    <form ref={form} class="start" noValidate onSubmit={submit} onChange={keep} aria-labelledby="start-title">
      <h2 id="start-title" tabIndex={-1}>{title}</h2>
      <fieldset class="kinds">
        <legend>Kind of measurement</legend>
        {Object.values(FORMS).map((one) => (
          <label key={one.kind}>
            <input type="radio" name="kind" value={one.kind} checked={one.kind === kind} onChange={() => choose(one.kind)} />
            {one.name}
          </label>
        ))}
      </fieldset>
      {isOff ? (
        <p>
          <Words text={BILLS_OFF} />
        </p>
      ) : (
        <>
          <div class="fields">
            {inputs.map((input) => {
              const props: FieldProps = {
                id: `${kind}-${input.name}`,
                input: input.form === "study" ? withStudies(input, studies, fields[input.name]) : input,
                error: errors.fields[input.name],
                value: fields[input.name] ?? "",
                set: (value) => fill({ [input.name]: value }),
              };
              return input.form === "configuration" ? (
                <ConfigurationField
                  key={props.id}
                  {...props}
                  take={(text, name) => fill({ configuration: text, name })}
                  refuse={(why) => refuse({ fields: { configuration: why }, words: [] })}
                />
              ) : (
                <FieldView key={props.id} {...props} />
              );
            })}
          </div>
          <p class="act">
            <button type="submit" class="main" aria-disabled={!isFree} aria-describedby="start-words">
              {isAsking ? "Starting…" : "Start"}
            </button>
            <span id="start-words" class="soft">
              {isFree || isAsking ? "" : "One job runs at a time: the next can start when the job below has ended."}
            </span>
          </p>
          <div role="alert">
            {errors.words.map((line) => (
              <p key={line} class="wrong">
                <Words text={sentence(capitalised(line))} />
              </p>
            ))}
          </div>
        </>
      )}
    </form>
  );
}

/** The field of a study with those that can be started, and the question of the one that is chosen. */
export function withStudies(input: Input, studies: readonly BuiltInStudy[], chosen: string | undefined): Input {
  const names = studies.map((one) => one.study);
  // Until they are known, the one that is chosen is all.
  const choices = names.length > 0 || chosen === undefined ? names : [chosen];
  return { ...input, choices, hint: about(studies.find((one) => one.study === chosen)) };
}

/** The question of a study, and what it takes, as `hoptax study list` has them. */
function about(study: BuiltInStudy | undefined): string {
  if (study === undefined) {
    return "";
  }
  const needs = study.needs.length === 0 ? "" : ` It needs ${study.needs.join("; ")}.`;
  return `${study.question} It takes ${study.takes}.${needs}`;
}
