// Made of schemas/openapi.json by `make ui`. Do not edit.

/**
 * A protocol; `auto` is the one that client and server agree on.
 */
export type ProtocolName = "auto" | "http1" | "http2" | "http3" | "grpc" | "grpc-http3";
/**
 * How narrow the interval of a rate should be.
 */
export type PresetName = "quick" | "careful";
/**
 * The overall judgement of a result.
 */
export type Verdict = "sound" | "caution" | "void";

/**
 * The parts of the API that the page uses.
 */
export interface Api {
  load: WantedLoad;
  find: WantedFind;
  study: WantedStudy;
  bill: WantedBill;
  builtIn: BuiltInStudy;
  labels: LabelChange;
  stored: StoredRun;
  job: Job;
  error: ErrorBody;
  /**
   * The format: JSON of Fortio, the percentiles or the log of HdrHistogram, JSON of Service Mesh Performance.
   */
  export: "fortio" | "hgrm" | "hlog" | "smp";
}
/**
 * A load to be sent.
 */
export interface WantedLoad {
  /**
   * The URL that requests go to, as `http://127.0.0.1:8080/`: `http`, `https`, `grpc` or `grpcs`.
   */
  target: string;
  /**
   * Requests per second, above 0 and at most 10,000,000; without a rate, a closed loop sends as fast as possible.
   */
  rate?: number | null;
  /**
   * Number of connections, 1 to 10,000; 16 if absent.
   */
  connections?: number | null;
  /**
   * Length of the recording, such as `30s`, at most an hour with the warm-up; 10 s if absent.
   */
  duration?: string | null;
  /**
   * Length of the warm-up, which is not recorded, such as `0s`; 1 s if absent.
   */
  warmup?: string | null;
  /**
   * Protocol; `auto` if absent.
   */
  protocol?: ProtocolName | null;
  /**
   * Conditions that must not hold, such as `p99>5ms` or `errors>0.1%`; at most ten.
   *
   * @maxItems 10
   */
  fail_on?: string[];
}
/**
 * A search for the highest rate at which a server holds objectives.
 */
export interface WantedFind {
  /**
   * The URL that requests go to, as `http://127.0.0.1:8080/`: `http`, `https`, `grpc` or `grpcs`.
   */
  target: string;
  /**
   * Conditions that must hold together, such as `p99<5ms` or `errors<0.1%`; one to ten.
   *
   * @minItems 1
   * @maxItems 10
   */
  objectives: string[];
  /**
   * How narrow the interval of the rate should be; `quick` if absent.
   */
  preset?: PresetName | null;
  /**
   * The lowest rate, requests per second, at least 1; a thousandth of the highest if absent.
   */
  min_rate?: number | null;
  /**
   * The highest rate, requests per second, at most 10,000,000; twice that of a closed loop if absent.
   */
  max_rate?: number | null;
  /**
   * Number of connections, 1 to 10,000; 16 if absent.
   */
  connections?: number | null;
  /**
   * Time of the search, such as `10m`, at most 12h; 5 min for `quick` and 90 min for `careful` if absent.
   */
  budget?: string | null;
  /**
   * Protocol; `auto` if absent.
   */
  protocol?: ProtocolName | null;
}
/**
 * A built-in study to be measured.
 */
export interface WantedStudy {
  /**
   * The name of a built-in study: `GET /studies` has them all.
   */
  study: string;
  /**
   * Time of the study, such as `30m`, at most 12h: as many rounds as fit, and at least two; 10 min if absent.
   */
  budget?: string | null;
}
/**
 * An Envoy configuration to be priced.
 */
export interface WantedBill {
  /**
   * The text of a bootstrap or a `/config_dump`, YAML or JSON, at most 4 MiB. It must not name files or contain code (Lua, WebAssembly,
   * Go, modules); otherwise it is refused.
   */
  configuration: string;
  /**
   * Its name, such as that of its file: letters, digits, `-`, `_`, `.`, others become `_`; `configuration.yaml` if absent.
   */
  name?: string | null;
  /**
   * The listener, by its name or a unique prefix of it; the first that forwards a request if absent.
   */
  listener?: string | null;
  /**
   * The request, as `GET https://HOST/PATH`; derived from the routes if absent.
   */
  request?: string | null;
  /**
   * Requests per second to the proxy, above 0 and at most 10,000,000; half of its capacity if absent.
   */
  rate?: number | null;
  /**
   * Time of the bill, such as `10m`, at most 12h; 5 min if absent.
   */
  budget?: string | null;
}
/**
 * A built-in study that can be started.
 */
export interface BuiltInStudy {
  /**
   * Its name.
   */
  study: string;
  /**
   * Its question.
   */
  question: string;
  /**
   * The time and the memory that all its rounds take: `about 6 min and 0.6 GB of memory`.
   */
  takes: string;
  /**
   * Its other requirements, such as programs.
   */
  needs: string[];
}
/**
 * A change of the labels of a run.
 */
export interface LabelChange {
  /**
   * Labels to add: letters, digits, `-`, `_` and `.`, not digits alone.
   */
  add?: string[];
  /**
   * Labels to remove; labels that it does not have are ignored.
   */
  remove?: string[];
  /**
   * True to remove the added labels from all other runs, so that each names only this run. A run is set as reference with the label
   * `reference`.
   */
  is_only?: boolean;
}
/**
 * A run in the store, without its result.
 */
export interface StoredRun {
  /**
   * Its number in the store.
   */
  run: number;
  /**
   * The kind of its result: `study`, `load`, `gate` and so on.
   */
  kind: string;
  /**
   * Its subject: the name of a study, or the URL of a load.
   */
  name: string;
  /**
   * Its begin, RFC 3339 in UTC. A result of files alone has the time at which it was stored.
   */
  started_at: string;
  /**
   * Complete rounds of a study; 0 for any other kind.
   */
  rounds: number;
  /**
   * The verdict; null while there is no result, because the study runs or was killed.
   */
  verdict: Verdict | null;
  /**
   * Version of the proxy; null without one.
   */
  proxy_version: string | null;
  /**
   * The machine: processor model, number of processors, and memory.
   */
  machine: string;
  /**
   * The folder or file that it was stored from.
   */
  source: string;
  /**
   * Its labels, in alphabetical order.
   */
  labels: string[];
}
/**
 * A job.
 */
export interface Job {
  /**
   * Its number.
   */
  job: number;
  /**
   * The kind of its measurement.
   */
  kind: "load" | "find" | "study" | "bill";
  /**
   * Its subject, as lists of runs name it: the URL of a load or a search, without user information; the name of a study or of a
   * configuration.
   */
  name: string;
  /**
   * Its state.
   */
  state: "running" | "stopping" | "done" | "interrupted" | "failed";
  /**
   * Its start, RFC 3339 in UTC.
   */
  started_at: string;
  /**
   * Its end, RFC 3339 in UTC; null until then.
   */
  ended_at: string | null;
  /**
   * The latest progress of a load; null before the first, half a second after the start, and for all other kinds.
   */
  progress: Progress | null;
  /**
   * Progress of a study, or of the study of a bill; null while none measures.
   */
  step: Step | null;
  /**
   * The trials of a search by objective, of the first four; empty before the first trial, and for all other kinds.
   */
  curves: Curve[];
  /**
   * The costs in the complete rounds of the study that measures; null without any.
   */
  costs: CostsSoFar | null;
  /**
   * The latest lines that its command would print: facts, trials, the costs so far. A table has several lines.
   */
  notes: string[];
  /**
   * The run of the store that has its result; null without one.
   */
  run: number | null;
  /**
   * The verdict on its result; null without one.
   */
  verdict: Verdict | null;
  /**
   * Why it has no result; null if it has one, or none yet.
   */
  problem: string | null;
}
/**
 * Progress of a load. Rates and times are those since the progress before.
 */
export interface Progress {
  /**
   * Elapsed time, including the warm-up, seconds.
   */
  elapsed_s: number;
  /**
   * Planned time, including the warm-up, seconds.
   */
  total_s: number;
  /**
   * Responses per second.
   */
  rate: number;
  /**
   * Median response time, us.
   */
  response_p50_us: number;
  /**
   * 99th percentile of response time, us.
   */
  response_p99_us: number;
  /**
   * Requests without a response since the warm-up.
   */
  errors: number;
  /**
   * Bytes per second of the bodies of complete responses; null if unknown.
   */
  body_bytes_per_s: number | null;
  /**
   * Open connections now; null if unknown.
   */
  connections: number | null;
}
/**
 * Progress of a study.
 */
export interface Step {
  /**
   * Slices that are measured.
   */
  done: number;
  /**
   * Slices that will be measured; those until the end of the round while the number of rounds is not known.
   */
  all: number;
  /**
   * The same in words: `round 3 of 16, 41 % done, about 4 min left`.
   */
  line: string;
}
/**
 * The trials of a search by one objective.
 */
export interface Curve {
  /**
   * The objective, as it was given: `p99<5ms`.
   */
  objective: string;
  /**
   * Unit of its values and of its limit: `us`, `%`, `requests` or `bytes`.
   */
  unit: string;
  /**
   * The limit of its values; null if not known.
   */
  limit: number | null;
  /**
   * The latest trials, in the order in which they ended.
   */
  trials: CurveTrial[];
}
/**
 * A trial by one objective.
 */
export interface CurveTrial {
  /**
   * Planned requests per second.
   */
  rate: number;
  /**
   * The value that the objective limits; null if it had too few responses.
   */
  value: number | null;
  /**
   * True if the objective held.
   */
  holds: boolean;
  /**
   * False if it says nothing about the server, because the generator could not keep up.
   */
  counts: boolean;
}
/**
 * The costs of a study that still measures. They decide nothing.
 */
export interface CostsSoFar {
  /**
   * The title of the table, with the number of rounds.
   */
  title: string;
  /**
   * The headings of its columns, that of the names first.
   */
  headings: string[];
  /**
   * Its first rows, each with a cell for each heading.
   */
  rows: string[][];
  /**
   * Number of rows that are left out.
   */
  more: number;
}
/**
 * The body of a response that is no success.
 */
export interface ErrorBody {
  /**
   * The failure, its cause, and what to do.
   */
  error: string;
}
