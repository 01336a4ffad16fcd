// A job in words.

import { grouped, plain } from "../chart/scale";
import type { Job, Progress } from "../types/api";

/** What a job of each kind does. */
const DOES: Record<Job["kind"], (name: string) => string> = {
  load: (name) => `sends to ${name}`,
  find: (name) => `searches for the highest rate of ${name}`,
  study: (name) => `measures the study ${name}`,
  bill: (name) => `prices ${name}`,
};

/** What a job of each kind is. */
const IS: Record<Job["kind"], (name: string) => string> = {
  load: (name) => `to ${name}`,
  find: (name) => `for the highest rate of ${name}`,
  study: (name) => `of the study ${name}`,
  bill: (name) => `of the bill of ${name}`,
};

/** A job and its state. */
export function title({ job, kind, state, name }: Job): string {
  switch (state) {
    case "running":
      return `Job ${job} ${DOES[kind](name)}`;
    case "stopping":
      return `Job ${job} stops when ${kind === "load" ? "its requests are answered" : "its current step ends"}`;
    case "done":
      return `Job ${job} ${IS[kind](name)} is done`;
    case "interrupted":
      return `Job ${job} ${IS[kind](name)} was stopped`;
    case "failed":
      return `Job ${job} ${IS[kind](name)} failed`;
  }
}

/** What a verdict says of a result, before it is read. */
export const USABLE = {
  sound: "no check warned or failed",
  caution: "read the findings before you use the numbers",
  void: "the numbers are withheld, and the findings say why",
} as const;

/** The live numbers, each with its name. */
export function numbers(progress: Progress): [name: string, value: string][] {
  const { elapsed_s, total_s, rate, response_p50_us, response_p99_us, errors, body_bytes_per_s: bytes, connections } = progress;
  const told: [name: string, value: string][] = [];
  if (bytes !== null) {
    told.push(["bodies", byteRate(bytes)]);
  }
  if (connections !== null) {
    told.push(["connections", grouped(connections, 0)]);
  }
  return [
    ["time", `${grouped(elapsed_s, 0)} of ${grouped(total_s, 0)} s`],
    ["rate", `${plain(rate)} responses/s`],
    ["p50", `${plain(response_p50_us)} us`],
    ["p99", `${plain(response_p99_us)} us`],
    ["errors", grouped(errors, 0)],
    ...told,
  ];
}

/** At lower rates, fewer than ten responses of half a second are above their p99. */
const RATE_OF_P99 = 2000;

/** What to know of a live p99 of few responses; nothing of many. */
export function aboutP99({ rate }: Pick<Progress, "rate">): string {
  return rate > 0 && rate < RATE_OF_P99 ? "Fewer than ten responses of half a second are above their p99, so it varies by chance. " : "";
}

/** Bytes per second, in kB/s or MB/s. */
function byteRate(bytes_per_s: number): string {
  return bytes_per_s < 1e6 ? `${plain(bytes_per_s / 1e3)} kB/s` : `${plain(bytes_per_s / 1e6)} MB/s`;
}

/** The state, and how the job ended, for those who hear the page. */
export function saidOfState(job: Job): string {
  const end = job.verdict !== null ? ` The verdict is ${job.verdict}: ${USABLE[job.verdict]}.` : job.problem !== null ? ` ${job.problem}` : "";
  return `${title(job)}.${end}`;
}

/** The numbers, for those who hear the page. */
export function saidOfNumbers(progress: Progress): string {
  return numbers(progress)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

/** A line for those who hear the page: of a table, what it is about. */
export function saidOfLine(line: string): string {
  return line.split("\n", 1)[0] ?? "";
}
