// The form of a bill: a configuration that is dropped, chosen or written.

import type { WantedBill } from "../../types/api";
import { Reader, type Fields, type Read } from "../fields";
import type { Form } from "./form";

/** The most bytes of a configuration, as the API has it. */
export const MOST_BYTES = 4 * 1024 * 1024;

/** The bill that the fields state. The configuration is sent as it is: its indentation has a meaning. */
function read(fields: Fields): Read<WantedBill> {
  const reader = new Reader(fields);
  reader.required("configuration", "drop a file here, choose one, or write the text of a bootstrap or a config dump");
  return reader.result({
    configuration: fields["configuration"] ?? "",
    name: reader.optional("name"),
    listener: reader.optional("listener"),
    request: reader.optional("request"),
    rate: reader.number("rate"),
    budget: reader.optional("budget"),
  });
}

export const BILL: Form = {
  kind: "bill",
  name: "Price",
  title: "Price a configuration",
  inputs: [
    {
      name: "configuration",
      label: "Configuration of Envoy",
      hint: "a bootstrap or a /config_dump, YAML or JSON, at most 4 MiB; it may name no files and bring no code",
      form: "configuration",
      isRequired: true,
      isWide: true,
    },
    { name: "name", label: "Name", hint: "the name of the run", form: "text" },
    { name: "listener", label: "Listener", hint: "empty: the first that forwards a request", form: "text" },
    { name: "request", label: "Request", hint: "such as GET https://shop.test/cart; empty: from the routes", form: "text" },
    { name: "rate", label: "Rate, requests/s", hint: "empty: half of the capacity", form: "decimal" },
    { name: "budget", label: "Time", hint: "such as 10m, at most 12h", form: "text" },
  ],
  first: { configuration: "", name: "", listener: "", request: "", rate: "", budget: "5m" },
  read,
};
