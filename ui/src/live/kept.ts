// What a reader has filled in, in the address: a link leads to the form with it, as that of a run leads to the form with its settings.

import { changed, written, type View } from "../view";
import type { Fields } from "./fields";
import { FORMS } from "./kinds";
import type { Form, Input } from "./kinds/form";

/** A field that is empty. One that is absent is as it is first. */
const EMPTY = " ";

/** Whether an address has room for what is filled in: not for a configuration. */
export function isKept(form: Form): boolean {
  return form.inputs.every((input) => input.form !== "configuration");
}

/** The fields of a form as a view has them; a choice that there is not is as it is first. */
export function fieldsOf(form: Form, view: View): Fields {
  const valueOf = ({ name, choices }: Input) => {
    const first = form.first[name] ?? "";
    const value = (view[name] ?? first).trim();
    return choices === undefined || choices.includes(value) ? value : first;
  };
  return Object.fromEntries(form.inputs.map((input) => [input.name, valueOf(input)]));
}

/** The changes by which a view has the fields of a form, and none of another: what is as it is first is not said. */
export function changesOf(form: Form, fields: Fields): View {
  const names = Object.values(FORMS).filter(isKept).flatMap((one) => one.inputs.map((input) => input.name));
  const valueOf = (name: string) => {
    const [value, first] = [(fields[name] ?? "").trim(), form.first[name]];
    return !isKept(form) || first === undefined || value === first ? "" : value || EMPTY;
  };
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
}

/** What an address has of a form with these fields, as a text that tells it from others. */
export function textOf(form: Form, fields: Fields): string {
  return `${form.kind} ${written(changed({}, changesOf(form, fields)))}`;
}
