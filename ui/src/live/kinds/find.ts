// The form of a search for the highest rate.

import type { WantedFind } from "../../types/api";
import { Reader, type Fields, type Read } from "../fields";
import type { Form } from "./form";
import { CONNECTIONS, NO_TARGET, PROTOCOL, protocol, TARGET } from "./load";

type PresetName = NonNullable<WantedFind["preset"]>;

/** All presets of the API, the default first. */
const PRESETS: Record<PresetName, true> = { quick: true, careful: true };

/** The search that the fields state. */
function read(fields: Fields): Read<WantedFind> {
  const reader = new Reader(fields);
  reader.required("objectives", "write what must hold, such as p99<5ms");
  return reader.result({
    target: reader.required("target", NO_TARGET),
    objectives: reader.list("objectives"),
    preset: reader.optional("preset") as PresetName | null,
    min_rate: reader.number("min_rate"),
    max_rate: reader.number("max_rate"),
    connections: reader.whole("connections"),
    budget: reader.optional("budget"),
    protocol: protocol(reader),
  });
}

export const FIND: Form = {
  kind: "find",
  name: "Find",
  title: "Find the highest rate",
  inputs: [
    TARGET,
    { name: "objectives", label: "Objectives", hint: "all must hold: p99<5ms, errors<0.1%", form: "text", isRequired: true },
    { name: "preset", label: "Precision", hint: "quick: 4 % wide in 5 min; careful: 2 % in 90 min", form: "choice", choices: Object.keys(PRESETS) },
    { name: "min_rate", label: "Lowest rate", hint: "empty: a thousandth of the highest", form: "decimal" },
    { name: "max_rate", label: "Highest rate", hint: "empty: twice that of a closed loop", form: "decimal" },
    CONNECTIONS,
    { name: "budget", label: "Time", hint: "such as 10m; empty: that of the precision", form: "text" },
    PROTOCOL,
  ],
  first: { target: "", objectives: "p99<5ms", preset: "quick", min_rate: "", max_rate: "", connections: "16", budget: "", protocol: "auto" },
  read,
};
