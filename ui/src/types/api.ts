// Made of schemas/openapi.json by `make ui`. Do not edit.

/**
 * The overall judgement of a result.
 */
export type Verdict = "sound" | "caution" | "void";

/**
 * The parts of the API that the page uses.
 */
export interface Api {
  load: WantedLoad;
  job: Job;
  error: ErrorBody;
  /**
   * The format, by the ending of its files.
   */
  output: "md" | "html" | "csv" | "json";
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
   * Protocol: `auto`, `http1`, `http2`, `http3`, `grpc` or `grpc-http3`; `auto` if absent.
   */
  protocol?: string | null;
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
   * The URL of its load, without user information.
   */
  target: string;
  /**
   * Its state.
   */
  state: "running" | "stopping" | "done" | "interrupted" | "failed";
  /**
   * Its begin, RFC 3339 in UTC.
   */
  began_at: string;
  /**
   * Its end, RFC 3339 in UTC; null until then.
   */
  ended_at: string | null;
  /**
   * The latest progress; null before the first, half a second after the begin.
   */
  progress: Progress | null;
  /**
   * What it said, such as a protocol that could not be negotiated.
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
 * Progress of a load. Rate and times are those since the progress before.
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
}
/**
 * The body of a response that is no success.
 */
export interface ErrorBody {
  /**
   * What failed, why, and what to do.
   */
  error: string;
}
