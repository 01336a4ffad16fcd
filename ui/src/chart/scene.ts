// A chart as data: charts are pure functions from data and a width to a scene, which one component draws.

import type { Extent } from "./range";
import type { Tick } from "./scale";

/** Something to draw. Classes are those of the files in style/; a fill is a colour of style/colours.css. */
export type Shape =
  | { kind: "line"; x1: number; y1: number; x2: number; y2: number; of: string }
  | { kind: "rect"; x: number; y: number; width: number; height: number; of: string; fill?: string; opacity?: number }
  | { kind: "circle"; x: number; y: number; radius: number; of: string; fill?: string }
  | { kind: "path"; d: string; of: string; fill?: string; stroke?: string }
  | { kind: "text"; x: number; y: number; text: string; of: string; anchor?: "start" | "middle" | "end" };

/** A value that a reader can point at or step to. */
export interface Mark {
  x: number;
  y: number;
  /** What it is about. */
  name: string;
  /** Its values in words, one a line. */
  values: string[];
  /** What choosing it selects. */
  id?: string;
  /** The area that it is about, if that is drawn. */
  box?: Box;
  /** The marks that arrow keys lead to, by the key, if those are not the next and the one before. */
  keys?: Readonly<Record<string, number>>;
}

/** An area. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A chart. */
export interface Scene {
  width: number;
  height: number;
  shapes: Shape[];
  /** In the order in which a reader steps through them. */
  marks: Mark[];
  /** What of a pointer decides which mark it is at: what is nearest, or the area that it is in. */
  near: "x" | "y" | "both" | "box";
  /** The colours and their meaning; empty if there is one. */
  legend: LegendEntry[];
  /** The horizontal axis, if a reader can choose a range of it. */
  extent?: Extent;
}

/** A colour and its meaning. */
export interface LegendEntry {
  name: string;
  fill: string;
  /** Whether a line has it, and not an area. */
  isLine?: boolean;
  /** The class of what it explains, if that is a line or a point of its own form. */
  of?: string;
}

/** The mark nearest to a place, or whose area it is in; none without such a mark. */
export function nearest(scene: Scene, x: number, y: number): number | undefined {
  if (scene.near === "box") {
    const place = scene.marks.findIndex(({ box }) => box !== undefined && x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
    return place < 0 ? undefined : place;
  }
  const distance = (mark: Mark) =>
    scene.near === "x" ? Math.abs(mark.x - x) : scene.near === "y" ? Math.abs(mark.y - y) : Math.hypot(mark.x - x, mark.y - y);
  let best: number | undefined;
  scene.marks.forEach((mark, place) => {
    const other = best === undefined ? undefined : scene.marks[best];
    if (other === undefined || distance(mark) < distance(other)) {
      best = place;
    }
  });
  return best;
}

/** A diamond around a place: a point of another form than a circle, for those who do not see colours. */
export function diamond(x: number, y: number, of: string, size = 5): Shape {
  return { kind: "path", d: `M${x} ${y - size}L${x + size} ${y}L${x} ${y + size}L${x - size} ${y}Z`, of };
}

/** A square around a place. */
export function square(x: number, y: number, of: string, size = 4): Shape {
  return { kind: "path", d: `M${x - size} ${y - size}H${x + size}V${y + size}H${x - size}Z`, of };
}

/** A triangle around a place. */
export function triangle(x: number, y: number, of: string, size = 5): Shape {
  return { kind: "path", d: `M${x} ${y - size}L${x + size} ${y + size}H${x - size}Z`, of };
}

/** A cross at a place. */
export function cross(x: number, y: number, of: string, size = 4): Shape {
  return { kind: "path", d: `M${x - size} ${y - size}L${x + size} ${y + size}M${x - size} ${y + size}L${x + size} ${y - size}`, of };
}

/**
 * The widths of letters as shares of their size, the first that matches. No letter is wider in DejaVu Sans, the widest of the fonts that
 * pages usually get: a text that is wider than it was taken for loses its first letters at the edge of the drawing.
 */
const LETTERS: [RegExp, number][] = [
  [/[fijlIJ .,:;'|/\\-]/, 0.37],
  [/[rt()[\]!"]/, 0.46],
  [/[mwMW%@±+<>=~…×≤≥#]|[^\0-\u2fff]/, 1],
  [/[A-Z&]/, 0.79],
];
const OTHERS = 0.64;

/** About the width of a text, or a little more, for layouts that must leave room for it. */
export function textWidth(text: string, size = 13): number {
  let width = 0;
  for (const letter of text) {
    width += LETTERS.find(([letters]) => letters.test(letter))?.[1] ?? OTHERS;
  }
  return width * size;
}

/** The label of a place of a horizontal axis, within the drawing. */
export function tickText({ at, label }: Tick, y: number, width: number): Shape {
  const half = textWidth(label, 12) / 2;
  const [x, anchor] = at + half > width ? [width, "end" as const] : at < half ? [0, "start" as const] : [at, "middle" as const];
  return { kind: "text", x, y, text: label, of: "tick", anchor };
}

/** A text that fits a width, cut in its middle: ends tell similar names apart. Where there is hardly room for a letter, it stays whole. */
export function fitted(text: string, width: number, size = 13): string {
  const whole = textWidth(text, size);
  for (let kept = Math.floor((text.length * width) / whole); whole > width && kept >= 4; kept -= 1) {
    const head = Math.ceil(kept / 2);
    const cut = `${text.slice(0, head)}…${text.slice(text.length - (kept - head))}`;
    if (textWidth(cut, size) <= width) {
      return cut;
    }
  }
  return text;
}

/** A text as lines of at most a width. */
export function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last !== undefined && textWidth(`${last} ${word}`) <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines;
}
