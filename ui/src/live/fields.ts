// The fields of a form as a reader fills them in, and what is wrong with which.

/** Texts by the names that fields have in the API. */
export type Fields = Readonly<Record<string, string>>;

/** What is wrong: by field, and else in words. */
export interface Errors {
  fields: Readonly<Record<string, string>>;
  words: readonly string[];
}

export const NO_ERRORS: Errors = { fields: {}, words: [] };

/** What the fields state, or what cannot be sent at all. The server judges the rest. */
export type Read<Body> = { body: Body } | { errors: Errors };

/** A number that may have a fraction or an exponent. */
const DECIMAL = /^[-+\d.e]+$/i;
/** A number without sign and fraction. */
const WHOLE = /^\d+$/;

/** Reads fields, and takes note of what is wrong with them. */
export class Reader {
  private readonly errors: Record<string, string> = {};

  constructor(private readonly fields: Fields) {}

  /** The text of a field. */
  text(name: string): string {
    return (this.fields[name] ?? "").trim();
  }

  /** The text of a field; null if it is empty, for the default of the server. */
  optional(name: string): string | null {
    return this.text(name) || null;
  }

  /** The text of a field that may not be empty. */
  required(name: string, why: string): string {
    if (this.text(name) === "") {
      this.errors[name] = why;
    }
    return this.text(name);
  }

  /** The texts in a field, which have commas between them. */
  list(name: string): string[] {
    return this.text(name)
      .split(/[,;]/)
      .map((one) => one.trim())
      .filter((one) => one !== "");
  }

  /** The number in a field; null if it is empty. In JSON, what is no number would be null, which is a field that is absent. */
  number(name: string): number | null {
    return this.read(name, DECIMAL, "write a number, such as 1000, or nothing");
  }

  /** The whole number in a field; null if it is empty. */
  whole(name: string): number | null {
    return this.read(name, WHOLE, "write a whole number, such as 16");
  }

  /** What was read, unless something is wrong. */
  result<Body>(body: Body): Read<Body> {
    return Object.keys(this.errors).length > 0 ? { errors: { fields: this.errors, words: [] } } : { body };
  }

  private read(name: string, form: RegExp, why: string): number | null {
    const text = this.text(name);
    if (text === "") {
      return null;
    }
    const value = Number(text);
    if (!form.test(text) || !Number.isFinite(value)) {
      this.errors[name] = why;
    }
    return value;
  }
}
