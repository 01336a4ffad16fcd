// Requests that divide step by step: each part is a bar as long as its count, with a ribbon from the part that it is a part of.

import type { Flow } from "../types/document";
import { grouped } from "./scale";
import { fitted, textWidth, type Mark, type Scene, type Shape } from "./scene";

const BAR = 12;
/** Length of the bar of the whole. */
const FULL = 170;
/** The shortest bar of a part that is not empty, so that one lost request in a million is seen. */
const SHORTEST = 2;
/** Two lines of words beside a bar. */
const LABEL = 36;
const GAP = 8;
const TOP = 6;
/** Space between words and a bar. */
const PAD = 6;
const WIDEST_STEP = 340;

type Part = Flow["parts"][number];

interface Node {
  part: Part;
  children: Node[];
  /** Its column, from 0. */
  depth: number;
  /** The length of its bar. */
  bar: number;
  /** The height that it and its parts need. */
  slot: number;
  /** The start of its bar. */
  y: number;
}

/** A share in words that is rounded neither to nothing nor to all. */
export function share(count: number, of: number): string {
  const value = (100 * count) / Math.max(1, of);
  let decimals = 2;
  while (decimals < 9 && ((count < of && Number(value.toFixed(decimals)) === 100) || (count > 0 && Number(value.toFixed(decimals)) === 0))) {
    decimals += 1;
  }
  return `${value.toFixed(decimals).replace(/\.?0+$/, "")} %`;
}

/** The chart; none without a request. */
export function flow(data: Flow, width: number): Scene | undefined {
  const whole = data.parts[0];
  if (whole === undefined || whole.count === 0) {
    return undefined;
  }
  const nodes = tree(data, FULL / whole.count);
  const root = nodes[0];
  if (root === undefined) {
    return undefined;
  }
  place(root, TOP);
  const columns = 1 + Math.max(...nodes.map((node) => node.depth));
  const ofLast = nodes.filter((node) => node.depth === columns - 1).map((node) => BAR + PAD + Math.max(...words(node, data).map((line) => textWidth(line))));
  const last = Math.min(width * 0.5, Math.max(...ofLast) + PAD);
  // Names may be cut, counts may not.
  const ofInner = nodes.filter((node) => node.children.length > 0).map((node) => BAR + 2 * PAD + textWidth(words(node, data)[1]));
  const step = Math.max(...ofInner, Math.min(WIDEST_STEP, (width - last) / Math.max(1, columns - 1)));
  const x = (node: Node) => node.depth * step;
  const ribbons: Shape[] = [];
  const shapes: Shape[] = [];
  const marks: Mark[] = [];
  for (const node of nodes) {
    let start = node.y;
    for (const child of node.children) {
      const end = Math.max(1, child.part.count * (FULL / whole.count));
      if (child.part.count > 0) {
        ribbons.push({ kind: "path", d: ribbon([x(node) + BAR, start, start + end], [x(child), child.y, child.y + child.bar]), of: `ribbon ${child.part.role}` });
      }
      start += child.part.count * (FULL / whole.count);
    }
    shapes.push({ kind: "rect", x: x(node), y: node.y, width: BAR, height: node.bar, of: `part ${node.part.role}` });
    const room = (node.children.length > 0 ? step : width - x(node)) - BAR - 2 * PAD;
    const [name, count, both] = words(node, data);
    const second = textWidth(both) <= room ? both : count;
    shapes.push(
      { kind: "text", x: x(node) + BAR + PAD, y: node.y + 13, text: fitted(name, room), of: "label" },
      { kind: "text", x: x(node) + BAR + PAD, y: node.y + 30, text: second, of: "label counted" },
    );
    marks.push({ x: x(node) + BAR / 2, y: node.y + Math.min(node.bar, LABEL) / 2, name: node.part.name, values: values(node, data) });
  }
  return { width, height: TOP + root.slot + TOP, shapes: [...ribbons, ...shapes], marks, near: "both", legend: [] };
}

/** The parts with their parts, in the order of the data. */
function tree(data: Flow, perRequest: number): Node[] {
  const nodes: Node[] = [];
  for (const part of data.parts) {
    const parent = typeof part.of === "number" ? nodes[part.of] : undefined;
    const bar = part.count > 0 ? Math.max(SHORTEST, part.count * perRequest) : 0;
    const node: Node = { part, children: [], depth: parent ? parent.depth + 1 : 0, bar, slot: 0, y: 0 };
    parent?.children.push(node);
    nodes.push(node);
  }
  // Parts come after what they are a part of.
  for (const node of [...nodes].reverse()) {
    const below = node.children.reduce((sum, child) => sum + child.slot, 0) + GAP * Math.max(0, node.children.length - 1);
    node.slot = Math.max(node.bar, LABEL, below);
  }
  return nodes;
}

function place(node: Node, y: number): void {
  node.y = y;
  let next = y;
  for (const child of node.children) {
    place(child, next);
    next += child.slot + GAP;
  }
}

function ribbon([x0, top0, bottom0]: [number, number, number], [x1, top1, bottom1]: [number, number, number]): string {
  const middle = (x0 + x1) / 2;
  const at = (...numbers: number[]) => numbers.map((number) => number.toFixed(1)).join(" ");
  return `M${at(x0, top0)}C${at(middle, top0, middle, top1, x1, top1)}L${at(x1, bottom1)}C${at(middle, bottom1, middle, bottom0, x0, bottom0)}Z`;
}

/** The name, the count, and the count with its share of the part that it is a part of. */
function words(node: Node, data: Flow): [string, string, string] {
  const count = grouped(node.part.count, 0);
  const parent = typeof node.part.of === "number" ? data.parts[node.part.of] : undefined;
  return [node.part.name, count, parent ? `${count}, ${share(node.part.count, parent.count)}` : count];
}

/** What is said of a part. */
function values(node: Node, data: Flow): string[] {
  const all = [`${grouped(node.part.count, 0)} ${data.unit}`];
  const parent = typeof node.part.of === "number" ? data.parts[node.part.of] : undefined;
  const whole = data.parts[0];
  if (parent) {
    all.push(`${share(node.part.count, parent.count)} of ${parent.name}`);
  }
  if (whole && parent && parent !== whole) {
    all.push(`${share(node.part.count, whole.count)} of ${whole.name}`);
  }
  return all;
}

/** The same as rows of text. */
export function flowRows(data: Flow): string[][] {
  const row = (part: Part) => {
    const parent = typeof part.of === "number" ? data.parts[part.of] : undefined;
    return [part.name, parent?.name ?? "-", String(part.count), parent ? share(part.count, parent.count) : "-"];
  };
  return [["part", "of", data.unit, "share of that"], ...data.parts.map(row)];
}
