// The form of a built-in study.

import type { WantedStudy } from "../../types/api";
import { Reader, type Fields, type Read } from "../fields";
import type { Form } from "./form";

/** The study that the fields state. */
function read(fields: Fields): Read<WantedStudy> {
  const reader = new Reader(fields);
  return reader.result({ study: reader.required("study", "choose a study"), budget: reader.optional("budget") });
}

export const STUDY: Form = {
  kind: "study",
  name: "Study",
  title: "Measure a built-in study",
  inputs: [
    { name: "study", label: "Study", hint: "", form: "study", isRequired: true, isWide: true },
    { name: "budget", label: "Time", hint: "such as 30m, at most 12h; at least two rounds", form: "text" },
  ],
  first: { study: "quick", budget: "10m" },
  read,
};
