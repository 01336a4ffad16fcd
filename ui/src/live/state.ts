// What the page knows of the job that it shows: events in, state out, without a browser.

import type { Job } from "../types/api";
import { isEnd, type News } from "./api";
import { added, NO_COURSE, type Course } from "./course";
import { errorsOf, NO_ERRORS, type Errors } from "./fields";
import { saidOfNumbers, saidOfState } from "./words";

/** What happens. */
export type LiveEvent =
  | News
  /** The server's jobs are known, the latest first. */
  | { kind: "listed"; jobs: Job[] }
  /** The server is asked to start or stop a load, and has not answered. */
  | { kind: "asked"; for: Asking }
  | { kind: "refused"; for: Asking; error: string }
  /** The fields cannot be sent. */
  | { kind: "invalid"; errors: Errors };

type Asking = "start" | "stop";

/** What the page knows. */
export interface Live {
  /** The job that is shown: the one that runs, or that ran last since the page was opened. */
  job: Job | undefined;
  course: Course;
  /** What the server was asked for, until it has answered. */
  asking: Asking | undefined;
  /** Why no load was started. */
  errors: Errors;
  /** Why the job was not stopped. */
  problem: string;
  /** Whether nothing is heard of the job now. */
  isLost: boolean;
  /** The latest words for those who hear the page. */
  said: Said;
}

interface Said {
  text: string;
  /** The elapsed time of the job at which they were said, seconds. */
  at_s: number;
}

/** The state of a page that knows nothing yet. */
export const NOTHING: Live = {
  job: undefined,
  course: NO_COURSE,
  asking: undefined,
  errors: NO_ERRORS,
  problem: "",
  isLost: false,
  said: { text: "", at_s: 0 },
};

/** Numbers that change twice a second are said this rarely. */
export const SAY_EVERY_S = 15;

/** Whether a load may be started: one runs at a time. */
export function isFree({ job, asking }: Live): boolean {
  return asking !== "start" && (job === undefined || isEnd(job));
}

/** The state after an event. */
export function next(live: Live, event: LiveEvent): Live {
  switch (event.kind) {
    case "job":
      return withJob(live, event.job);
    case "listed": {
      const running = event.jobs.find((job) => !isEnd(job));
      return running !== undefined && isFree(live) ? withJob(live, running) : live;
    }
    case "asked":
      return { ...live, asking: event.for, errors: NO_ERRORS, problem: "" };
    case "refused":
      return event.for === "start"
        ? { ...live, asking: undefined, errors: errorsOf(event.error) }
        : { ...live, asking: undefined, problem: event.error };
    case "invalid":
      return { ...live, errors: event.errors };
    case "lost":
      return live.isLost ? live : { ...live, isLost: true, said: { ...live.said, text: "The server is not heard from. The page tries again." } };
    case "gone":
      return { ...NOTHING, errors: errorsOf(event.why) };
  }
}

function withJob(live: Live, job: Job): Live {
  const before = live.job;
  // A server that was started again counts its jobs from one.
  const isSame = before !== undefined && before.job === job.job && before.began_at === job.began_at;
  // An answer may arrive later than an event that was sent after it.
  if (isSame && (isEnd(before) || elapsed(job) < elapsed(before))) {
    return live;
  }
  const course = isSame ? live.course : NO_COURSE;
  const at_s = elapsed(job);
  let { said } = live;
  if (!isSame || before.state !== job.state || live.isLost) {
    said = { text: saidOfState(job), at_s };
  } else if (job.progress !== null && at_s - said.at_s >= SAY_EVERY_S) {
    said = { text: saidOfNumbers(job.progress), at_s };
  }
  return {
    job,
    course: job.progress === null ? course : added(course, job.progress),
    asking: live.asking === "stop" && job.state === "running" ? "stop" : undefined,
    // That another job runs is no error any more once it has ended.
    errors: isEnd(job) ? NO_ERRORS : live.errors,
    problem: isSame && !isEnd(job) ? live.problem : "",
    isLost: false,
    said,
  };
}

function elapsed(job: Job): number {
  return job.progress?.elapsed_s ?? 0;
}
