// The form of a kind of measurement, as data.

import type { Job } from "../../types/api";
import type { Fields, Read } from "../fields";

/** A field. */
export interface Input {
  /** Its name in the API. */
  name: string;
  label: string;
  /** What may be in it. */
  hint: string;
  form: "text" | "url" | "decimal" | "numeric" | "choice" | "study" | "configuration";
  /** The words to choose from. */
  choices?: readonly string[];
  isRequired?: boolean;
  /** Whether it has a row of its own. */
  isWide?: boolean;
}

/** The form of a kind. */
export interface Form {
  kind: Job["kind"];
  /** The word in the switch of kinds: that of the command. */
  name: string;
  title: string;
  inputs: readonly Input[];
  /** The fields as they are first. */
  first: Fields;
  read: (fields: Fields) => Read<object>;
}
