// The state of the job that the page shows: events in, state out, without a browser.

import type { Job } from "../types/api";
import { isEnd, type News } from "./api";
import { added, NO_COURSE, type Course } from "./course";
import { NO_ERRORS, type Errors } from "./fields";
import { errorsOf } from "./kinds";
import { saidOfLine, saidOfNumbers, saidOfState } from "./words";

/** What happens. */
export type LiveEvent =
  | News
  /** The server's jobs are known, the latest first. */
  | { kind: "listed"; jobs: Job[] }
  /** The server is asked to start or stop a job, and has not answered. */
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
  /** Why no job was started. */
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
  /** The round of its study, in words. */
  round: string;
  /** Number of its lines. */
  lines: number;
}

/** The state of a page that knows nothing yet. */
export const NOTHING: Live = {
  job: undefined,
  course: NO_COURSE,
  asking: undefined,
  errors: NO_ERRORS,
  problem: "",
  isLost: false,
  said: { text: "", at_s: 0, round: "", lines: 0 },
};

/** Numbers that change twice a second are said this rarely. */
export const SAY_EVERY_S = 15;
/** Of so many lines that a job prints, one is said. */
export const SAY_EVERY_LINES = 5;

/** Whether a job may be started: one runs at a time. */
export function isFree({ job, asking }: Live): boolean {
  return asking !== "start" && (job === undefined || isEnd(job));
}

/** What is shown of a job: what a reader holds, until that job ends or another one is there. */
export function shownOf(live: Live, held: Live | undefined): Live {
  const [job, before] = [live.job, held?.job];
  if (held === undefined || job === undefined || before === undefined || isEnd(job)) {
    return live;
  }
  return job.job === before.job && job.started_at === before.started_at ? held : live;
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
      return live.isLost ? live : { ...live, isLost: true, said: { ...live.said, text: "The server does not answer. The page tries again." } };
    case "gone":
      return { ...NOTHING, errors: errorsOf(event.why) };
  }
}

function withJob(live: Live, job: Job): Live {
  const before = live.job;
  // A server that was started again counts its jobs from one.
  const isSame = before !== undefined && before.job === job.job && before.started_at === job.started_at;
  // An answer may arrive later than an event that was sent after it.
  if (isSame && (isEnd(before) || elapsed(job) < elapsed(before))) {
    return live;
  }
  const course = isSame ? live.course : NO_COURSE;
  const said = isSame && before.state === job.state && !live.isLost ? saidNext(live.said, job) : { ...heard(job), text: saidOfState(job) };
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

/** What is known once it was said of a job. */
function heard(job: Job): Omit<Said, "text"> {
  return { at_s: elapsed(job), round: round(job), lines: job.notes.length };
}

/** The words for a job that goes on: those of before, unless it is time for others. */
function saidNext(said: Said, job: Job): Said {
  if (job.progress !== null && elapsed(job) - said.at_s >= SAY_EVERY_S) {
    return { ...heard(job), text: saidOfNumbers(job.progress) };
  }
  if (job.step !== null && round(job) !== said.round) {
    return { ...heard(job), text: job.step.line };
  }
  const last = job.notes.at(-1);
  if (last !== undefined && job.kind !== "load" && job.notes.length - said.lines >= SAY_EVERY_LINES) {
    return { ...heard(job), text: saidOfLine(last) };
  }
  return said;
}

/** The round of a study, in words; empty while none measures. */
function round(job: Job): string {
  return job.step?.line.split(",", 1)[0] ?? "";
}

function elapsed(job: Job): number {
  return job.progress?.elapsed_s ?? 0;
}
