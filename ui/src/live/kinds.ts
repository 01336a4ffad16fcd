// All kinds of measurements that can be started from the page, one line for each, and what is wrong with their fields.

import type { Job } from "../types/api";
import type { View } from "../view";
import type { Errors } from "./fields";
import { BILL } from "./kinds/bill";
import { FIND } from "./kinds/find";
import type { Form } from "./kinds/form";
import { LOAD } from "./kinds/load";
import { STUDY } from "./kinds/study";

/** The kind of a job. */
export type Kind = Job["kind"];

/** The forms, in the order of the switch. */
export const FORMS: Record<Kind, Form> = { load: LOAD, find: FIND, study: STUDY, bill: BILL };

/** The kind whose form is shown first. */
export const FIRST_KIND: Kind = "load";

/** The kind whose form a view shows. */
export function kindOf(view: View): Kind {
  return Object.values(FORMS).find((form) => form.kind === view["start"])?.kind ?? FIRST_KIND;
}

/** The names of all fields. */
const NAMES: ReadonlySet<string> = new Set(Object.values(FORMS).flatMap((form) => form.inputs.map((input) => input.name)));

/** An error of the API by its fields: a line of it begins with the field that it is about. */
export function errorsOf(error: string): Errors {
  const fields: Record<string, string> = {};
  const words: string[] = [];
  let field: string | undefined;
  for (const line of error.split("\n")) {
    const [, name, why] = /^`(\w+)`: (.*)$/.exec(line) ?? [];
    if (name !== undefined && NAMES.has(name)) {
      field = name;
      fields[field] = [fields[field], why].filter(Boolean).join(" ");
    } else if (field === undefined) {
      words.push(line);
    } else {
      fields[field] = `${fields[field] ?? ""} ${line}`;
    }
  }
  return { fields, words };
}
