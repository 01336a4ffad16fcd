// A flame graph: frames below the one that calls them, as wide as their CPU time, coloured by the difference from a reference.

import type { FlameArm, FlameFrame } from "../types/document";
import { linear } from "./scale";
import { fitted, textWidth, type LegendEntry, type Mark, type Scene, type Shape } from "./scene";

const LEFT = 8;
const RIGHT = 8;
const TOP = 6;
const ROW = 18;
const BOTTOM = 42;
const TEXT = 12;
/** Narrower frames are only in the table. */
const LEAST_WIDTH = 0.5;
/** Narrower frames have no name. */
const LEAST_NAMED = 34;
/** Steps of a colour: a difference has the step of its share of the largest one. */
const STEPS = 3;

/** A frame with its place. */
interface Laid {
  frame: FlameFrame;
  /** Its start and its end, us. */
  from: number;
  to: number;
}

/** The place of each frame: those that one calls are beside each other, from its start. */
export function laid(frames: readonly FlameFrame[]): Laid[] {
  // Where the next frame of a depth begins.
  const next: number[] = [];
  return frames.map((frame) => {
    const from = next[frame.depth] ?? 0;
    const to = from + frame.whole.us;
    next[frame.depth] = to;
    next[frame.depth + 1] = from;
    return { frame, from, to };
  });
}

/** The place of the frame that calls the one at a place; none for the outermost. */
export function callerOf(frames: readonly FlameFrame[], place: number): number | undefined {
  const depth = frames[place]?.depth ?? 0;
  for (let before = place - 1; before >= 0; before -= 1) {
    if ((frames[before]?.depth ?? 0) < depth) {
      return before;
    }
  }
  return undefined;
}

/** The place behind the last frame that the one at a place calls. */
function endOf(frames: readonly FlameFrame[], place: number): number {
  const depth = frames[place]?.depth ?? 0;
  let end = place + 1;
  while (end < frames.length && (frames[end]?.depth ?? 0) > depth) {
    end += 1;
  }
  return end;
}

/** The class of a frame by its difference: none that is supported, more or less, in the step of its share of the largest. */
export function toneOf(frame: FlameFrame, largest: number): string {
  const added = frame.whole.added;
  if (!added || added.is_near_zero || added.us === 0) {
    return "";
  }
  const step = Math.min(STEPS, Math.max(1, Math.ceil((Math.abs(added.us) / Math.max(largest, Number.MIN_VALUE)) * STEPS)));
  return ` ${added.us > 0 ? "more" : "less"}-${step}`;
}

/** The largest difference that its interval supports, of all frames but the outermost, which has those of all. */
function largestOf(frames: readonly FlameFrame[]): number {
  const sizes = frames.slice(1).flatMap(({ whole }) => (whole.added && !whole.added.is_near_zero ? [Math.abs(whole.added.us)] : []));
  return Math.max(0, ...sizes);
}

/** What a frame says of itself. */
function words({ whole, own }: FlameFrame, unit: string, arm: FlameArm): string[] {
  const beside = (text: string | undefined) => (text === undefined ? "" : `, ${text} beside ${arm.compared_with ?? ""}`);
  const lines = [`${whole.text} ${unit} with all that it calls${beside(whole.added?.text)}`];
  if (own) {
    lines.push(`${own.text} ${unit} of its own${beside(own.added?.text)}`);
  }
  return lines;
}

/** The graph of an arm, of the frame at a place and of those around and below it. */
export function flame(arm: FlameArm, labels: { axis: string; unit: string }, zoom: number, width: number): Scene | undefined {
  const { frames } = arm;
  const places = laid(frames);
  const whole = places[zoom];
  if (whole === undefined || whole.to <= whole.from) {
    return undefined;
  }
  const around: number[] = [];
  for (let place = callerOf(frames, zoom); place !== undefined; place = callerOf(frames, place)) {
    around.unshift(place);
  }
  const x = linear([whole.from, whole.to], [LEFT, width - RIGHT], 64);
  const largest = largestOf(frames);
  const isDrawn = (place: number) => {
    const one = places[place];
    return one !== undefined && (place < zoom || x.at(one.to) - x.at(one.from) >= LEAST_WIDTH);
  };
  const below = Array.from({ length: endOf(frames, zoom) - zoom }, (_, number) => zoom + number);
  const drawn = [...around, ...below].filter(isDrawn);
  const deepest = Math.max(...drawn.map((place) => frames[place]?.depth ?? 0));
  const bottom = TOP + (deepest + 1) * ROW;
  const shapes: Shape[] = [];
  // The axis begins at zero, wherever the frame begins.
  const axis = linear([0, whole.to - whole.from], [LEFT, width - RIGHT], 64);
  for (const tick of axis.ticks) {
    shapes.push(
      { kind: "line", x1: tick.at, x2: tick.at, y1: TOP, y2: bottom + 4, of: "grid" },
      { kind: "text", x: tick.at, y: bottom + 18, text: tick.label, of: "tick", anchor: tick.at > width - 40 ? "end" : "middle" },
    );
  }
  shapes.push({ kind: "text", x: width / 2, y: bottom + 36, text: labels.axis, of: "axis", anchor: "middle" });
  const marks: Mark[] = [];
  for (const place of drawn) {
    const one = places[place];
    if (one === undefined) {
      continue;
    }
    const { frame } = one;
    const from = x.at(one.from);
    const box = { x: from, y: TOP + frame.depth * ROW, width: x.at(one.to) - from, height: ROW };
    shapes.push({ kind: "rect", ...box, of: `frame${toneOf(frame, largest)}${place < zoom ? " around" : ""}` });
    const room = box.width - 8;
    const added = frame.whole.added && !frame.whole.added.is_near_zero ? ` ${frame.whole.added.text}` : "";
    const full = textWidth(frame.name + added, TEXT) <= room ? frame.name + added : fitted(frame.name, room, TEXT);
    if (box.width >= LEAST_NAMED && textWidth(full, TEXT) <= room) {
      shapes.push({ kind: "text", x: from + 4, y: box.y + 13, text: full, of: "named" });
    }
    marks.push({ x: from + box.width / 2, y: box.y + ROW / 2, name: frame.name, values: words(frame, labels.unit, arm), id: String(place), box });
  }
  return { width, height: bottom + BOTTOM, shapes, marks: withKeys(marks, frames), near: "box", legend: legendOf(arm) };
}

/** Where the arrow keys lead to: up to the caller, down to the first frame that is called, left and right to those beside. */
function withKeys(marks: readonly Mark[], frames: readonly FlameFrame[]): Mark[] {
  const places = new Map(marks.map((mark, at) => [Number(mark.id), at]));
  const callers = marks.map((mark) => callerOf(frames, Number(mark.id)));
  return marks.map((mark, at) => {
    const place = Number(mark.id);
    const beside = callers.flatMap((caller, other) => (caller === callers[at] ? [other] : []));
    const own = beside.indexOf(at);
    const caller = callers[at];
    const stay = { ArrowUp: at, ArrowDown: at, ArrowLeft: at, ArrowRight: at };
    const found = {
      ArrowUp: caller === undefined ? undefined : places.get(caller),
      ArrowDown: callers.findIndex((other) => other === place),
      ArrowLeft: beside[own - 1],
      ArrowRight: beside[own + 1],
    };
    const known = Object.entries(found).filter((entry): entry is [string, number] => entry[1] !== undefined && entry[1] >= 0);
    return { ...mark, keys: { ...stay, ...Object.fromEntries(known) } };
  });
}

/** The meaning of the colours; nothing without another arm. */
function legendOf(arm: FlameArm): LegendEntry[] {
  if (!arm.compared_with) {
    return [];
  }
  return [
    { name: `more than in ${arm.compared_with}`, fill: `var(--more-${STEPS})` },
    { name: `less than in ${arm.compared_with}`, fill: `var(--less-${STEPS})` },
    { name: "no difference that its interval supports", fill: "var(--frame)" },
  ];
}

/** The frames as rows: those first that differ most by themselves, or without another arm those that take most. */
export function flameRows(arm: FlameArm): string[][] {
  const isCompared = Boolean(arm.compared_with);
  const size = ({ own }: FlameFrame) => (own ? Math.abs(isCompared ? (own.added?.us ?? 0) : own.us) : -1);
  const rows = arm.frames.map((frame, place) => ({ frame, caller: callerOf(arm.frames, place) }));
  rows.sort((one, other) => size(other.frame) - size(one.frame) || other.frame.whole.us - one.frame.whole.us);
  const differences = (words: string[]) => (isCompared ? words : []);
  return [
    ["frame", "self us", ...differences(["self, difference us"]), "with calls us", ...differences(["with calls, difference us"]), "called by"],
    ...rows.map(({ frame: { name, whole, own }, caller }) => [
      name,
      own?.text ?? "-",
      ...differences([own?.added?.text ?? "-"]),
      whole.text,
      ...differences([whole.added?.text ?? "-"]),
      caller === undefined ? "-" : (arm.frames[caller]?.name ?? "-"),
    ]),
  ];
}
