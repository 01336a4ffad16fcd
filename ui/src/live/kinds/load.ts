// The form of a load.

import type { WantedLoad } from "../../types/api";
import { Reader, type Fields, type Read } from "../fields";
import type { Form, Input } from "./form";

type ProtocolName = NonNullable<WantedLoad["protocol"]>;

/** All protocols of the API, the default first: the type of its schema knows no other, and misses none. */
const PROTOCOL_NAMES: Record<ProtocolName, true> = { auto: true, http1: true, http2: true, http3: true, grpc: true, "grpc-http3": true };

export const TARGET: Input = {
  name: "target",
  label: "Target",
  hint: "a URL, such as http://127.0.0.1:8080/",
  form: "url",
  isRequired: true,
  isWide: true,
};
export const CONNECTIONS: Input = { name: "connections", label: "Connections", hint: "1 to 10,000", form: "numeric" };
export const PROTOCOL: Input = { name: "protocol", label: "Protocol", hint: "", form: "choice", choices: Object.keys(PROTOCOL_NAMES) };
export const NO_TARGET = "write the URL that requests go to";

/** The protocol in its field: one of the list. */
export function protocol(reader: Reader): ProtocolName | null {
  return reader.optional("protocol") as ProtocolName | null;
}

/** The load that the fields state. */
function read(fields: Fields): Read<WantedLoad> {
  const reader = new Reader(fields);
  return reader.result({
    target: reader.required("target", NO_TARGET),
    rate: reader.number("rate"),
    connections: reader.whole("connections"),
    duration: reader.optional("duration"),
    warmup: reader.optional("warmup"),
    protocol: protocol(reader),
    fail_on: reader.list("fail_on"),
  });
}

export const LOAD: Form = {
  kind: "load",
  name: "Load",
  title: "Send a load",
  inputs: [
    TARGET,
    { name: "rate", label: "Rate, requests/s", hint: "empty: as fast as the server answers", form: "decimal" },
    CONNECTIONS,
    { name: "duration", label: "Duration", hint: "such as 30s, at most 1h", form: "text" },
    { name: "warmup", label: "Warm-up", hint: "not recorded; 0s for none", form: "text" },
    PROTOCOL,
    { name: "fail_on", label: "Fails if", hint: "any holds: p99>5ms, errors>0.1%", form: "text" },
  ],
  // The defaults of the API, and a rate, without which times say little.
  first: { target: "", rate: "1000", connections: "16", duration: "10s", warmup: "1s", protocol: "auto", fail_on: "" },
  read,
};
