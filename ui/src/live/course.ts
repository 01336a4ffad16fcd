// The course of a load while it runs: what each event said of the time since the one before, and the charts of it.

import { grouped, plain } from "../chart/scale";
import { spark } from "../chart/spark";
import type { Progress } from "../types/api";
import type { Axis, Point, Series } from "../types/document";

/** A stretch of the course, which one or more events are about. */
export interface Stretch {
  /** Its end, seconds since the start. */
  elapsed_s: number;
  /** The mean of its events. */
  rate: number;
  /** The highest of its events: percentiles cannot be added up. */
  p50_us: number;
  p99_us: number;
  /** Those since the warm-up, at its end. */
  errors: number;
  /** The mean of its events; null if they do not tell. */
  body_bytes_per_s: number | null;
  /** Those of its last event that tells; null if none does. */
  connections: number | null;
  /** Number of events. */
  count: number;
}

/** All stretches so far. */
export interface Course {
  stretches: readonly Stretch[];
  /** Number of events in each, but for the last. */
  each: number;
}

export const NO_COURSE: Course = { stretches: [], each: 1 };

/** With more stretches, each two become one: an hour is drawn as quickly as a minute, beside a load that needs the processors. */
export const MOST_STRETCHES = 240;

/** The course with what an event says; an event that is older than the last changes nothing. */
export function added(course: Course, progress: Progress): Course {
  const before = course.stretches;
  const last = before.at(-1);
  if (last !== undefined && progress.elapsed_s <= last.elapsed_s) {
    return course;
  }
  // The warm-up is not counted, so it has no rate and no times to draw.
  if (last === undefined && progress.rate === 0) {
    return course;
  }
  const one: Stretch = {
    elapsed_s: progress.elapsed_s,
    rate: progress.rate,
    p50_us: progress.response_p50_us,
    p99_us: progress.response_p99_us,
    errors: progress.errors,
    body_bytes_per_s: progress.body_bytes_per_s,
    connections: progress.connections,
    count: 1,
  };
  const isOpen = last !== undefined && last.count < course.each;
  const stretches = isOpen ? [...before.slice(0, -1), joined(last, one)] : [...before, one];
  return stretches.length > MOST_STRETCHES ? halved(stretches, course.each) : { ...course, stretches };
}

function halved(stretches: readonly Stretch[], each: number): Course {
  const pairs: Stretch[] = [];
  stretches.forEach((one, place) => {
    const first = place % 2 === 1 ? pairs.pop() : undefined;
    pairs.push(first === undefined ? one : joined(first, one));
  });
  return { stretches: pairs, each: each * 2 };
}

function joined(a: Stretch, b: Stretch): Stretch {
  const count = a.count + b.count;
  const mean = (one: number, other: number): number => (one * a.count + other * b.count) / count;
  const [bytes, moreBytes] = [a.body_bytes_per_s, b.body_bytes_per_s];
  return {
    elapsed_s: b.elapsed_s,
    rate: mean(a.rate, b.rate),
    p50_us: Math.max(a.p50_us, b.p50_us),
    p99_us: Math.max(a.p99_us, b.p99_us),
    errors: b.errors,
    body_bytes_per_s: bytes === null || moreBytes === null ? (bytes ?? moreBytes) : mean(bytes, moreBytes),
    connections: b.connections ?? a.connections,
    count,
  };
}

/** The shortest axis of time, seconds. */
const SHORTEST_S = 10;

/** The end of the axis of time, which doubles whenever the course reaches it, until it is the planned end. */
function end(course: Course, total_s: number): number {
  const reached = course.stretches.at(-1)?.elapsed_s ?? 0;
  const doublings = Math.ceil(Math.log2(Math.max(1, reached / SHORTEST_S)));
  return Math.min(total_s, SHORTEST_S * 2 ** doublings);
}

/** Bytes in a unit of what is drawn. */
const KILO = 1000;

/** The charts: rate and response times over time, then bytes and open connections, where they are told. */
export function charts(course: Course, total_s: number): Series[] {
  const x: Axis = { label: "time since the start, with the warm-up, s", unit: "s", scale: "linear", highest: end(course, total_s) };
  const points = (value: (one: Stretch) => number | null, unit: string): Point[] =>
    course.stretches.map((one) => {
      const [x, y] = [Number(one.elapsed_s.toFixed(2)), value(one)];
      return y === null ? { x, y } : { x, y, text: `${plain(y)} ${unit}` };
    });
  const axis = (label: string, unit: string): Axis => ({ label, unit, scale: "linear" });
  // A chart of one line that some stretches may tell nothing of.
  const told = (title: string, unit: string, name: string, value: (one: Stretch) => number | null): Series[] =>
    course.stretches.some((one) => value(one) !== null)
      ? [{ title, x, y: axis(title, unit), lines: [{ name, tone: "own", form: "joined", points: points(value, unit) }] }]
      : [];
  return [
    {
      title: "rate, responses/s",
      x,
      y: axis("rate, responses/s", "responses/s"),
      lines: [{ name: "rate", tone: "own", form: "joined", points: points((one) => one.rate, "responses/s") }],
    },
    {
      title: "response time, us",
      x,
      y: axis("response time, us", "us"),
      lines: [
        // In the colours that they have on the page of the run.
        { name: "p50", tone: "own", form: "joined", points: points((one) => one.p50_us, "us") },
        { name: "p99", tone: "fourth", form: "joined", points: points((one) => one.p99_us, "us") },
      ],
    },
    ...told("bytes of bodies received, kB/s", "kB/s", "bytes", ({ body_bytes_per_s: bytes }) => (bytes === null ? null : bytes / KILO)),
    ...told("open connections", "connections", "open", (one) => one.connections),
  ];
}

/** The stretches that the lines beside numbers have. */
export const RECENT = 60;

/** What each live number is in a stretch, by its name, with its unit. */
const NUMBERS: Record<string, { of: (one: Stretch) => number | null; unit: string } | undefined> = {
  rate: { of: (one) => one.rate, unit: " responses/s" },
  p50: { of: (one) => one.p50_us, unit: " us" },
  p99: { of: (one) => one.p99_us, unit: " us" },
  errors: { of: (one) => one.errors, unit: "" },
  bodies: { of: ({ body_bytes_per_s: bytes }) => (bytes === null ? null : bytes / KILO), unit: " kB/s" },
  connections: { of: (one) => one.connections, unit: "" },
};

/** The line beside a live number, and the same in words. */
export interface Recent {
  path: string;
  words: string;
}

/** The recent course of a live number; none of one without a course, such as the time. */
export function recent({ stretches }: Course, name: string): Recent | undefined {
  const number = NUMBERS[name];
  const last = stretches.slice(-RECENT);
  const values = number ? last.map(number.of) : [];
  const path = spark(values);
  if (number === undefined || path === "") {
    return undefined;
  }
  const told = values.filter((value) => value !== null);
  const [least, most] = [Math.min(...told), Math.max(...told)].map((value) => (Number.isInteger(value) ? grouped(value, 0) : plain(value)));
  return { path, words: `${name} in the last ${grouped(recent_s(stretches), 0)} s: ${least} to ${most}${number.unit}` };
}

/** The time that these lines are of, seconds. */
export function recent_s(stretches: readonly Stretch[]): number {
  const last = stretches.slice(-RECENT);
  return (last.at(-1)?.elapsed_s ?? 0) - (last[0]?.elapsed_s ?? 0);
}
