// The fields of a load as a reader fills them in, and what is wrong with which.

import type { WantedLoad } from "../types/api";

export type Field = keyof WantedLoad;
export type Fields = Readonly<Record<Field, string>>;

/** What is wrong: by field, and else in words. */
export interface Errors {
  fields: Partial<Record<Field, string>>;
  words: string[];
}

export const NO_ERRORS: Errors = { fields: {}, words: [] };

/** The fields as they are first: the defaults of the API, and a rate, without which times say little. */
export const FIRST: Fields = { target: "", rate: "1000", connections: "16", duration: "10s", warmup: "1s", protocol: "auto" };

export function isField(name: string | undefined): name is Field {
  return name !== undefined && Object.hasOwn(FIRST, name);
}

/** The load that the fields state, or what cannot be sent at all. The server judges the rest. */
export function wanted(fields: Fields): { load: WantedLoad } | { errors: Errors } {
  const errors: Errors["fields"] = {};
  const text = (name: Field) => fields[name].trim();
  // In JSON, what is no number would be null, which is a field that is absent.
  const number = (name: Field, form: RegExp, why: string) => {
    if (text(name) === "") {
      return null;
    }
    const value = Number(text(name));
    if (!form.test(text(name)) || !Number.isFinite(value)) {
      errors[name] = why;
    }
    return value;
  };
  if (text("target") === "") {
    errors.target = "write the URL that requests go to";
  }
  const load: WantedLoad = {
    target: text("target"),
    rate: number("rate", /^[-+\d.e]+$/i, "write a number, such as 1000, or nothing"),
    connections: number("connections", /^\d+$/, "write a whole number, such as 16"),
    duration: text("duration") || null,
    warmup: text("warmup") || null,
    protocol: text("protocol") || null,
  };
  return Object.keys(errors).length > 0 ? { errors: { fields: errors, words: [] } } : { load };
}

/** An error of the API by its fields: a line of it begins with the field that it is about. */
export function errorsOf(error: string): Errors {
  const errors: Errors = { fields: {}, words: [] };
  let field: Field | undefined;
  for (const line of error.split("\n")) {
    const [, name, why] = /^`(\w+)`: (.*)$/.exec(line) ?? [];
    if (isField(name)) {
      field = name;
      errors.fields[field] = why ?? "";
    } else if (field === undefined) {
      errors.words.push(line);
    } else {
      errors.fields[field] = `${errors.fields[field] ?? ""} ${line}`;
    }
  }
  return errors;
}
