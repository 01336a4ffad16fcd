// When, where and by what a result was measured, on one line.

import { capitalised, Words } from "./text";
import type { Provenance } from "./types/document";

/** A time of RFC 3339 in UTC, to the minute; one of another form as it is written. */
export function minute(time: string): string {
  const [, day, clock] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::[\d.]+)?Z$/.exec(time) ?? [];
  return day === undefined ? time : `${day} ${clock}`;
}

/** The parts of the line. */
export function provenanceParts(of: Provenance): string[] {
  const { started_at: first, duration, cpus } = of;
  const last = of.last_started_at === first ? null : of.last_started_at;
  const single = first === "" ? "" : `${minute(first)} UTC`;
  const when = last === null ? single : `sittings from ${minute(first)} to ${minute(last)} UTC`;
  const machine = [of.cpu_model, cpus > 0 ? `${cpus} processor${cpus === 1 ? "" : "s"}` : "", of.is_virtual_machine ? "virtual machine" : ""];
  return [
    when,
    duration === null ? "" : `${duration}${last === null ? "" : " in all"}`,
    machine.filter((part) => part !== "").join(", "),
    of.kernel === null ? "" : `Linux ${of.kernel}`,
    of.proxy === null ? "" : `proxy ${of.proxy}`,
    `hoptax ${of.program}`,
  ].filter((part) => part !== "");
}

/** The line. */
export function ProvenanceLine({ of }: { of: Provenance }) {
  return (
    <p class="soft provenance">
      <Words text={capitalised(provenanceParts(of).join("; "))} />
    </p>
  );
}
