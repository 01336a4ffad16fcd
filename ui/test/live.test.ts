import { describe, expect, test } from "vitest";
import { SPARK, spark } from "../src/chart/spark";
import { added, charts, MOST_STRETCHES, NO_COURSE, recent, RECENT, recent_s, type Course } from "../src/live/course";
import { labelled } from "../src/live/downloads";
import { isFree, next, NOTHING, SAY_EVERY_LINES, SAY_EVERY_S, shownOf, type Live, type LiveEvent } from "../src/live/state";
import { aboutP99, title } from "../src/live/words";
import type { Job, Progress } from "../src/types/api";

function progress(elapsed_s: number, more: Partial<Progress> = {}): Progress {
  return { elapsed_s, total_s: 31, rate: 1000, response_p50_us: 90, response_p99_us: 1234.5, errors: 0, body_bytes_per_s: 64000, connections: 16, ...more };
}

function job(more: Partial<Job> = {}): Job {
  return {
    job: 1,
    kind: "load",
    name: "http://127.0.0.1:8080/",
    state: "running",
    started_at: "2026-11-29T00:00:00Z",
    ended_at: null,
    progress: null,
    step: null,
    curves: [],
    costs: null,
    notes: [],
    run: null,
    verdict: null,
    problem: null,
    ...more,
  };
}

function after(events: LiveEvent[], from: Live = NOTHING): Live {
  return events.reduce(next, from);
}

const at = (elapsed_s: number, more: Partial<Job> = {}): LiveEvent => ({ kind: "job", job: job({ progress: progress(elapsed_s), ...more }) });
const DONE = at(31, { state: "done", run: 7, verdict: "caution", ended_at: "2026-11-29T00:00:31Z" });

describe("the job that is shown", () => {
  test("is one that runs already when the page is opened, and none that has ended", () => {
    const ended = job({ job: 3, state: "done", run: 2 });
    expect(after([{ kind: "listed", jobs: [ended] }]).job).toBeUndefined();
    expect(after([{ kind: "listed", jobs: [job({ job: 4, state: "stopping" }), ended] }]).job?.job).toBe(4);
  });

  test("is followed to its end, with its run and its verdict, and then the next may start", () => {
    const running = after([{ kind: "asked", for: "start" }, { kind: "job", job: job() }, at(0.5), at(1)]);
    expect(isFree(running)).toBe(false);
    expect(running.asking).toBeUndefined();
    const ended = after([DONE], running);
    expect(ended.job).toMatchObject({ state: "done", run: 7, verdict: "caution" });
    expect(isFree(ended)).toBe(true);
    expect(ended.course.stretches.map((one) => one.elapsed_s)).toEqual([0.5, 1, 31]);
    const again = after([{ kind: "asked", for: "start" }, { kind: "job", job: job({ job: 2 }) }], ended);
    expect(again.course.stretches).toEqual([]);
    expect(again.job?.job).toBe(2);
  });

  test("stays as it ended, whatever comes late", () => {
    const ended = after([at(1), DONE]);
    expect(after([at(2, { state: "stopping" })], ended)).toBe(ended);
    const later = after([at(5)]);
    expect(after([at(4, { state: "stopping" })], later)).toBe(later);
  });

  test("is as a reader holds it, until it ends or another one runs", () => {
    const held = after([at(5)]);
    const later = after([at(6)], held);
    expect(shownOf(later, undefined)).toBe(later);
    expect(shownOf(later, held)).toBe(held);
    const ended = after([DONE], later);
    expect(shownOf(ended, held)).toBe(ended);
    const again = after([{ kind: "job", job: job({ job: 2 }) }], ended);
    expect(shownOf(again, held)).toBe(again);
  });

  test("of a server that was started again is another one under the same number", () => {
    const live = after([at(5), at(6), { kind: "job", job: job({ started_at: "2026-11-29T01:00:00Z", progress: progress(0.5) }) }]);
    expect(live.course.stretches.map((one) => one.elapsed_s)).toEqual([0.5]);
  });

  test("that the server has forgotten is not shown as running, and the reader is told", () => {
    const live = after([at(5), { kind: "gone", why: "there is no such job" }]);
    expect(live.job).toBeUndefined();
    expect(isFree(live)).toBe(true);
    expect(live.errors.words).toEqual(["there is no such job"]);
  });

  test("a second start waits for the answer to the first", () => {
    expect(isFree(after([{ kind: "asked", for: "start" }]))).toBe(false);
    expect(isFree(after([{ kind: "asked", for: "start" }, { kind: "refused", for: "start", error: "no" }]))).toBe(true);
  });
});

describe("a stop", () => {
  test("is asked for until the server has taken it", () => {
    const asked = after([at(1), { kind: "asked", for: "stop" }, at(1.5)]);
    expect(asked.asking).toBe("stop");
    expect(after([at(1.5, { state: "stopping" })], asked).asking).toBeUndefined();
  });

  test("that is refused says why beside the job, until it has ended", () => {
    const refused = after([at(1), { kind: "asked", for: "stop" }, { kind: "refused", for: "stop", error: "the server does not answer" }, at(2)]);
    expect(refused).toMatchObject({ asking: undefined, problem: "the server does not answer", errors: { fields: {}, words: [] } });
    expect(after([DONE], refused).problem).toBe("");
  });
});

test("a load that is refused because another runs says so beside that job, until it has ended", () => {
  const live = after([
    { kind: "asked", for: "start" },
    { kind: "refused", for: "start", error: "job 1 runs" },
    { kind: "listed", jobs: [job({ progress: progress(3) })] },
  ]);
  expect(live.job?.job).toBe(1);
  expect(live.errors.words).toEqual(["job 1 runs"]);
  expect(after([DONE], live).errors.words).toEqual([]);
});

describe("what is said to those who hear the page", () => {
  test("is the state at once, and the numbers rarely", () => {
    const said: string[] = [];
    let live = after([{ kind: "job", job: job() }]);
    said.push(live.said.text);
    for (let elapsed = 0.5; elapsed <= 30; elapsed += 0.5) {
      live = next(live, at(elapsed));
      if (live.said.text !== said.at(-1)) {
        said.push(live.said.text);
      }
    }
    live = next(live, DONE);
    said.push(live.said.text);
    expect(said).toHaveLength(2 + Math.floor(30 / SAY_EVERY_S));
    expect(said[0]).toBe("Job 1 sends to http://127.0.0.1:8080/.");
    expect(said[1]).toBe("time 15 of 31 s, rate 1,000 responses/s, p50 90.0 us, p99 1,235 us, errors 0, bodies 64.0 kB/s, connections 16");
    expect(said.at(-1)).toMatch(/is done\. The verdict is caution: read the findings/);
  });

  test("a server that is lost and found again is said once each", () => {
    const lost = after([at(1), { kind: "lost" }]);
    expect(lost.isLost).toBe(true);
    expect(lost.said.text).toContain("does not answer");
    expect(after([{ kind: "lost" }], lost)).toBe(lost);
    const found = after([at(2)], lost);
    expect(found.isLost).toBe(false);
    expect(found.said.text).toContain("sends to");
  });
});

describe("a study that measures", () => {
  const step = (line: string, done = 1) => ({ done, all: 10, line });
  const study = (more: Partial<Job>): LiveEvent => ({ kind: "job", job: job({ kind: "study", name: "quick", ...more }) });

  test("says each round once, and its end", () => {
    const rounds = ["round 1 of 2, 10 % done", "round 1 of 2, 40 % done", "round 2 of 2, 60 % done", "round 2 of 2, 90 % done"];
    const said: string[] = [];
    let live = after([study({})]);
    for (const line of rounds) {
      live = next(live, study({ step: step(line) }));
      said.push(live.said.text);
    }
    expect(said).toEqual([rounds[0], rounds[0], rounds[2], rounds[2]]);
    live = next(live, study({ state: "done", run: 3, verdict: "sound" }));
    expect(live.said.text).toMatch(/^Job 1 of the study quick is done\. The verdict is sound/);
  });

  test("goes on when one of the studies of a bill has ended", () => {
    const live = after([study({ step: step("round 12 of 12", 10) }), study({ step: null }), study({ step: step("round 1 of 12", 0) })]);
    expect(live.job?.step?.done).toBe(0);
  });

  test("says some of its lines, of a table the first", () => {
    const lines = Array.from({ length: SAY_EVERY_LINES }, (_, place) => `line ${place}\na table`);
    const live = after([study({}), study({ notes: lines.slice(1) })]);
    expect(live.said.text).toContain("measures the study quick");
    expect(next(live, study({ notes: lines })).said.text).toBe(`line ${SAY_EVERY_LINES - 1}`);
  });
});

test.each([
  ["load", "running", "Job 1 sends to x"],
  ["find", "running", "Job 1 searches for the highest rate of x"],
  ["study", "interrupted", "Job 1 of the study x was stopped"],
  ["bill", "running", "Job 1 prices x"],
  ["bill", "failed", "Job 1 of the bill of x failed"],
  ["study", "stopping", "Job 1 stops when its current step ends"],
] as const)("a %s that is %s is called so", (kind, state, words) => {
  expect(title(job({ kind, state, name: "x" }))).toBe(words);
});

test("a live p99 of few responses is said to be one", () => {
  expect(aboutP99(progress(1, { rate: 199 }))).toContain("Fewer than ten responses");
  expect(aboutP99(progress(1, { rate: 0 })), "the warm-up has no p99").toBe("");
  expect(aboutP99(progress(1, { rate: 2000 }))).toBe("");
});

test("a run has its labels in words", () => {
  const run = { run: 12, kind: "load", name: "x", started_at: "", rounds: 0, verdict: null, proxy_version: null, machine: "", source: "" };
  expect(labelled({ ...run, labels: [] })).toBe("run 12 has no labels");
  expect(labelled({ ...run, labels: ["reference"] })).toBe("run 12 has the label `reference`");
  expect(labelled({ ...run, labels: ["a", "b"] })).toBe("run 12 has the labels `a`, `b`");
});

describe("the course", () => {
  const course = (count: number, of: (place: number) => Partial<Progress> = () => ({})): Course => {
    let all = NO_COURSE;
    for (let place = 1; place <= count; place += 1) {
      all = added(all, progress(place / 2, of(place)));
    }
    return all;
  };

  test("has each event once, and none that is older than the last", () => {
    expect(added(course(3), progress(1.5))).toEqual(course(3));
    expect([course(MOST_STRETCHES).each, course(MOST_STRETCHES).stretches.length]).toEqual([1, MOST_STRETCHES]);
  });

  test("of an hour has no more places than a chart can show, and keeps its highest times and its mean rate", () => {
    const hour = course(7200, (place) => ({ rate: place % 2 === 0 ? 900 : 1100, response_p99_us: place === 4321 ? 9999 : 100 }));
    expect(hour.stretches.length).toBeLessThanOrEqual(MOST_STRETCHES);
    expect(hour.stretches.length).toBeGreaterThan(MOST_STRETCHES / 2 - 1);
    expect(hour.each).toBe(32);
    expect(hour.stretches.reduce((sum, one) => sum + one.count, 0)).toBe(7200);
    expect(hour.stretches.slice(0, -1).every((one) => one.count === hour.each && one.rate === 1000)).toBe(true);
    expect(Math.max(...hour.stretches.map((one) => one.p99_us))).toBe(9999);
    expect(hour.stretches.at(-1)?.elapsed_s).toBe(3600);
  });

  test("begins with the first response that counts, and then has no gap", () => {
    const late = course(4, (place) => (place === 1 || place === 3 ? { rate: 0, response_p50_us: 0, response_p99_us: 0 } : {}));
    expect(late.stretches.map((one) => [one.elapsed_s, one.rate])).toEqual([
      [1, 1000],
      [1.5, 0],
      [2, 1000],
    ]);
  });

  test.each([
    [2, 31, 10],
    [20, 31, 10],
    [21, 31, 20],
    [41, 31, 31],
    [41, 3600, 40],
    [2, 3, 3],
  ])("of %i half seconds, of %i s that are planned, is drawn over %i s", (count, planned_s, shown_s) => {
    expect(charts(course(count), planned_s).map((chart) => chart.x.highest)).toEqual([shown_s, shown_s, shown_s, shown_s]);
  });

  test("has its values in words", () => {
    const [rate, times] = charts(course(2), 31);
    expect(rate?.lines[0]?.points).toEqual([
      { x: 0.5, y: 1000, text: "1,000 responses/s" },
      { x: 1, y: 1000, text: "1,000 responses/s" },
    ]);
    expect(times?.lines.map((line) => [line.name, line.points[0]?.text])).toEqual([
      ["p50", "90.0 us"],
      ["p99", "1,235 us"],
    ]);
  });

  test("has the bytes and the connections where they are told, and no chart of what nobody tells", () => {
    const late = charts(course(2, (place) => (place === 1 ? { connections: null } : {})), 31).slice(2);
    expect(late.map((chart) => [chart.title, ...(chart.lines[0]?.points ?? [])])).toEqual([
      ["bytes of bodies received, kB/s", { x: 0.5, y: 64, text: "64.0 kB/s" }, { x: 1, y: 64, text: "64.0 kB/s" }],
      ["open connections", { x: 0.5, y: null }, { x: 1, y: 16, text: "16.0 connections" }],
    ]);
    expect(charts(course(2, () => ({ body_bytes_per_s: null, connections: null })), 31)).toHaveLength(2);
  });

  test("is a line beside each number, with its lowest and its highest recent value", () => {
    const all = course(RECENT + 40, (place) => ({ rate: place === 41 ? 500 : 1000, errors: Math.max(0, place - 60), connections: null }));
    expect(recent(all, "rate")?.words).toBe("rate in the last 30 s: 500 to 1,000 responses/s");
    expect(recent(all, "errors")?.words).toBe("errors in the last 30 s: 0 to 40");
    expect(recent(all, "bodies")?.words).toBe("bodies in the last 30 s: 64 to 64 kB/s");
    expect(recent_s(all.stretches)).toBeCloseTo((RECENT - 1) / 2);
    expect(["time", "connections"].map((name) => recent(all, name))).toEqual([undefined, undefined]);
    expect(recent(course(1), "rate")).toBeUndefined();
    // Older values are left out, and those of a long load are of longer stretches.
    expect(recent(course(RECENT + 41, (place) => ({ rate: place === 41 ? 500 : 1000 })), "rate")?.words).toContain(": 1,000 to 1,000");
    expect(recent(course(7200), "rate")?.words).toMatch(/in the last [\d,]+ s/);
  });

  test("of such a line begins at zero, and has a gap where nothing is known", () => {
    const ys = (path: string) => [...path.matchAll(/[\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y));
    expect(ys(spark([50, 100, 0]))).toEqual([13, 2, SPARK.height - 2]);
    expect(ys(spark([0, 0]))).toEqual([SPARK.height - 2, SPARK.height - 2]);
    expect(spark([1, 2, null, 2, 1]).match(/M/g)).toHaveLength(2);
    expect([spark([]), spark([5]), spark([5, null, 5])]).toEqual(["", "", ""]);
  });

  test("of an hour has the mean of its bytes, and the last number of its connections", () => {
    const hour = course(7200, (place) => ({ body_bytes_per_s: place % 2 === 0 ? 1000 : 3000, connections: place }));
    expect(hour.stretches[0]).toMatchObject({ body_bytes_per_s: 2000, connections: 32 });
    const [first] = course(2 * MOST_STRETCHES, (place) => (place % 2 === 0 ? { body_bytes_per_s: null, connections: null } : { body_bytes_per_s: 500, connections: 7 })).stretches;
    expect(first).toMatchObject({ body_bytes_per_s: 500, connections: 7 });
  });
});
