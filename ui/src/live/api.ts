// The API of `hoptax serve`, as the page uses it. Only a page that a server shows knows where one is.

import type { BuiltInStudy, ErrorBody, Job, LabelChange, StoredRun } from "../types/api";
import type { Document } from "../types/document";
import type { Kind } from "./kinds";

/** A form of every document, as a file. */
export interface Output {
  /** The ending of its files. */
  ending: string;
  /** Its name for people. */
  name: string;
}

/** A run that began before another. */
export interface Earlier {
  run: string;
  /** Its start, RFC 3339 in UTC. */
  startedAt: string;
}

/** What the server has told its page. */
export interface Served {
  /** The path of the API. */
  api: string;
  /** Whether configurations may be sent to be priced. */
  allowsBills: boolean;
  /** The run that the page is about; none on the page of the history, and of several runs. */
  run: string | undefined;
  /** The outputs that the API has the run in; none on other pages. */
  outputs: Output[] | undefined;
  /** The formats of other tools that the API has the run in; none on other pages, and of a run that has none. */
  exports: string[] | undefined;
  /** The form with the settings of the run, as an address behind the hash; none on other pages, and of a run whose settings are not known. */
  again: string | undefined;
  /** The run of the same study on the same machine before; none on other pages, and without one. */
  before: Earlier | undefined;
  /** The runs that are beside each other on the page, the reference first; none on other pages. */
  compared: string[] | undefined;
  /** The newest run of the history; none on other pages, and of a history without runs. */
  newest: string | undefined;
}

/** What the page was told; nothing in a file. */
export function served(page: ParentNode): Served | undefined {
  const told = page.querySelector<HTMLElement>("#page")?.dataset;
  const api = told?.["api"];
  return api === undefined
    ? undefined
    : {
        api,
        allowsBills: told?.["bills"] !== undefined,
        run: told?.["run"],
        outputs: told?.["outputs"]?.split(",").map(output),
        exports: told?.["exports"]?.split(" "),
        again: told?.["again"],
        before: earlier(told?.["before"]),
        compared: told?.["compared"]?.split(","),
        newest: told?.["newest"],
      };
}

/** A run that is told as `RUN START`. */
function earlier(told: string | undefined): Earlier | undefined {
  const [run, startedAt] = told?.split(" ") ?? [];
  return run === undefined || startedAt === undefined ? undefined : { run, startedAt };
}

/** An output that is told as `ENDING=NAME`. */
function output(told: string): Output {
  const [ending = "", name = ending] = told.split("=");
  return { ending, name };
}

/** Why there is no answer, in words. The status is 0 if the server did not answer at all. */
export interface Refusal {
  status: number;
  error: string;
}

export type Answer<T> = { value: T } | { refusal: Refusal };

/** News of a job that is followed. */
export type News =
  | { kind: "job"; job: Job }
  /** Nothing is heard of it now; it is asked for again. */
  | { kind: "lost" }
  /** Nothing will be heard of it any more. */
  | { kind: "gone"; why: string };

/** What the page asks a server for. */
export interface Client {
  /** The latest jobs, the latest first. */
  jobs(): Promise<Answer<Job[]>>;
  /** The built-in studies that can be started. */
  studies(): Promise<Answer<BuiltInStudy[]>>;
  /** Starts a job of a kind, from what its form states. */
  start(kind: Kind, body: object): Promise<Answer<Job>>;
  /** Changes the labels of a run. */
  label(run: string, change: LabelChange): Promise<Answer<StoredRun>>;
  /** The checked result of a run. */
  result(run: number): Promise<Answer<Document>>;
  /** Runs beside each other, the reference first. */
  compare(runs: readonly string[]): Promise<Answer<Document>>;
  stop(job: number): Promise<Answer<Job>>;
  /** Hears of a job until it ends, or until the function that this returns is called. */
  follow(job: number, hear: (news: News) => void): () => void;
}

/** What a browser asks with. */
export interface Means {
  get(address: string, init: RequestInit): Promise<Response>;
  open(address: string): EventSource;
  later(what: () => void): void;
}

/** The time between two questions for a job whose events cannot be had, ms. */
const ASK_EVERY_MS = 2000;

const BROWSER: Means = {
  get: (address, init) => fetch(address, init),
  open: (address) => new EventSource(address),
  later: (what) => setTimeout(what, ASK_EVERY_MS),
};

/** Where jobs of each kind are started. */
const STARTS: Record<Kind, string> = { load: "/loads", find: "/finds", study: "/studies", bill: "/bills" };

const END: readonly Job["state"][] = ["done", "interrupted", "failed"];

/** Whether nothing follows. */
export function isEnd(job: Job): boolean {
  return END.includes(job.state);
}

/** The API at a path. */
export function client(api: string, means: Means = BROWSER): Client {
  const asked = async <T>(path: string, init: RequestInit = {}): Promise<Answer<T>> => {
    try {
      const response = await means.get(`${api}${path}`, init);
      return response.ok ? { value: (await response.json()) as T } : { refusal: { status: response.status, error: await reason(response) } };
    } catch (error) {
      return { refusal: { status: 0, error: `the server does not answer (${String(error)}): is hoptax still running?` } };
    }
  };
  const sent = <T>(method: string, path: string, body: object) =>
    asked<T>(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  return {
    jobs: () => asked("/jobs"),
    studies: () => asked("/studies"),
    start: (kind, body) => sent("POST", STARTS[kind], body),
    label: (run, change) => sent("PATCH", `/runs/${run}`, change),
    result: (run) => asked(`/runs/${run}`),
    compare: (runs) => asked(`/compare?runs=${runs.join(",")}`),
    stop: (job) => asked(`/jobs/${job}/stop`, { method: "POST" }),
    follow(job, hear) {
      let isOver = false;
      const source = means.open(`${api}/jobs/${job}/events`);
      const end = () => {
        isOver = true;
        source.close();
      };
      const tell = (found: Job) => {
        // A stream that has ended would be opened again by the browser.
        if (isEnd(found)) {
          end();
        }
        hear({ kind: "job", job: found });
      };
      const ask = async (): Promise<void> => {
        if (isOver) {
          return;
        }
        const answer = await asked<Job>(`/jobs/${job}`);
        if (isOver) {
          return;
        }
        if ("value" in answer) {
          tell(answer.value);
        } else if (answer.refusal.status === 404) {
          end();
          hear({ kind: "gone", why: answer.refusal.error });
        } else {
          hear({ kind: "lost" });
        }
        means.later(() => void ask());
      };
      source.addEventListener("job", (event) => tell(JSON.parse((event as MessageEvent<string>).data) as Job));
      source.addEventListener("error", () => {
        if (isOver) {
          return;
        }
        hear({ kind: "lost" });
        // A browser opens a stream again that breaks, and gives up one that is refused, as one of too many is.
        if (source.readyState === source.CLOSED) {
          void ask();
        }
      });
      return end;
    },
  };
}

/** The error of an answer: that of the API, or else its status. */
async function reason(response: Response): Promise<string> {
  try {
    return ((await response.json()) as ErrorBody).error;
  } catch {
    return `the server answered ${response.status}`;
  }
}
