// The services of a graph below each other, each to the right of the first that calls it, with the functions on the lines that they act on.

import type { ServiceGraph, Waterfall } from "../types/document";
import { fitted, textWidth, type Mark, type Scene, type Shape } from "./scene";

const ROW = 26;
const TOP = 20;
const LEFT = 14;
/** To the right of a caller. Deep graphs have less, so that names stay readable. */
const INDENT = 26;
const DEEPEST = 0.4;
/** Half of a switch. */
const HALF = 6;
/** Between the longest name and the widest number, which would be far from their rows at the edge of a wide window. */
const GAP = 40;
const NO_PROXY = "no proxy";

type Service = ServiceGraph["services"][number];

/** A service in its order, with the first that calls it; none of an entry. */
export interface Placed {
  place: number;
  service: Service;
  depth: number;
  caller: number | undefined;
}

/** The services, each after the first that calls it and what that calls before. */
export function ordered(graph: ServiceGraph): Placed[] {
  const all: Placed[] = [];
  const seen = new Set<number>();
  const visit = (place: number, depth: number, caller: number | undefined) => {
    const service = graph.services[place];
    if (service === undefined || seen.has(place)) {
      return;
    }
    seen.add(place);
    all.push({ place, service, depth, caller });
    service.calls.forEach((call) => visit(call.to, depth + 1, place));
  };
  graph.services.forEach((_, place) => visit(place, 0, undefined));
  return all;
}

/** Who calls a service, in words. */
export function callers(graph: ServiceGraph, place: number): string {
  const all = graph.services.flatMap((caller) => caller.calls.filter((call) => call.to === place).map((call) => `${caller.name}: ${call.text}`));
  return all.length === 0 ? "the entry" : all.join("; ");
}

/** What a part costs, in words. */
function valueOf(part: Waterfall["parts"][number], data: Waterfall): string {
  return `${part.cost.text} ${data.unit}`;
}

/** The width of the longest name of a service and its functions. */
function widest({ name, inbound, outbound }: Service, data: Waterfall): number {
  const names = [...inbound, ...outbound].flatMap((place) => data.parts[place]?.name ?? []);
  return Math.max(...[name, ...names].map((one) => textWidth(one)));
}

/** The chart. */
export function services(graph: ServiceGraph, data: Waterfall, off: ReadonlySet<string>, width: number): Scene {
  const all = ordered(graph);
  const deepest = Math.max(1, ...all.map((one) => one.depth));
  const indent = Math.min(INDENT, (width * DEEPEST) / deepest);
  const [lines, others, marks]: [Shape[], Shape[], Mark[]] = [[], [], []];
  const nodes = new Map<number, { x: number; y: number }>();
  let y = TOP;
  const values = Math.max(...data.parts.map((one) => textWidth(valueOf(one, data))), textWidth(NO_PROXY));
  const names = Math.max(...all.map((one) => LEFT + one.depth * indent + widest(one.service, data)));
  const end = Math.min(width - 6, names + 14 + GAP + values);
  const row = (x: number, name: string, value: string, faint: string) => {
    others.push({ kind: "text", x: end, y: y + 4, text: value, of: `value${faint}`, anchor: "end" });
    others.push({ kind: "text", x: x + 14, y: y + 4, text: fitted(name, end - x - textWidth(value) - 26), of: `label${faint}` });
  };
  const part = (place: number, x: number) => {
    const one = data.parts[place];
    if (one === undefined) {
      return;
    }
    const isOff = off.has(one.name);
    others.push({ kind: "rect", x: x - HALF, y: y - HALF, width: 2 * HALF, height: 2 * HALF, of: `step ${isOff ? "off" : "part"}` });
    row(x, one.name, valueOf(one, data), isOff ? " near" : "");
    marks.push({ x, y, name: one.name, values: [valueOf(one, data), one.kind, ...(isOff ? ["switched off"] : [])], id: one.name });
    y += ROW;
  };
  for (const { place, service, depth, caller } of all) {
    const x = LEFT + depth * indent;
    const from = caller === undefined ? undefined : nodes.get(caller);
    const first = y;
    service.inbound.forEach((one) => part(one, x));
    if (from !== undefined) {
      lines.push({ kind: "path", d: `M${from.x} ${from.y}V${first}H${x}V${y}`, of: "call" });
    } else if (y > first) {
      lines.push({ kind: "path", d: `M${x} ${first}V${y}`, of: "call" });
    }
    nodes.set(place, { x, y });
    others.push({ kind: "circle", x, y, radius: 5, of: service.has_proxy ? "node" : "node bare" });
    row(x, service.name, service.has_proxy ? "" : NO_PROXY, "");
    marks.push({ x, y, name: service.name, values: [`called by ${callers(graph, place)}`, ...(service.has_proxy ? [] : [NO_PROXY])] });
    const below = y;
    y += ROW;
    service.outbound.forEach((one) => part(one, x));
    if (service.outbound.length > 0) {
      lines.push({ kind: "path", d: `M${x} ${below}V${y - ROW}`, of: "call" });
    }
  }
  // A call to a service that another one called before.
  for (const { place, service } of all) {
    const from = nodes.get(place);
    for (const { to } of service.calls) {
      const at = nodes.get(to);
      if (from !== undefined && at !== undefined && all.find((one) => one.place === to)?.caller !== place) {
        lines.push({ kind: "path", d: `M${from.x} ${from.y}V${at.y}H${at.x}`, of: "call other" });
      }
    }
  }
  return { width, height: y - ROW + TOP, shapes: [...lines, ...others], marks, near: "y", legend: [] };
}

/** The same as rows of text. */
export function servicesTable(graph: ServiceGraph, data: Waterfall, off: ReadonlySet<string>): string[][] {
  const named = (places: readonly number[]) => {
    const names = places.flatMap((place) => data.parts[place]?.name ?? []).map((name) => (off.has(name) ? `${name} (switched off)` : name));
    return names.length === 0 ? "-" : names.join(", ");
  };
  return [
    ["service", "called by", "proxy", "functions on calls to it", "functions on its calls"],
    ...ordered(graph).map(({ place, service }) => [service.name, callers(graph, place), service.has_proxy ? "yes" : "no", named(service.inbound), named(service.outbound)]),
  ];
}
