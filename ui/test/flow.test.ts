import { describe, expect, test } from "vitest";
import { flow, flowRows, share } from "../src/chart/flow";
import { textWidth, type Scene, type Shape } from "../src/chart/scene";
import type { Flow } from "../src/types/document";

const LOAD: Flow = {
  title: "where the requests went",
  unit: "requests",
  parts: [
    { name: "planned", of: null, count: 1_000_000, role: "planned" },
    { name: "sent", of: 0, count: 999_000, role: "sent" },
    { name: "answered", of: 1, count: 998_999, role: "answered" },
    { name: "reset", of: 1, count: 1, role: "lost" },
    { name: "unsent: no connection was free", of: 0, count: 1_000, role: "unsent" },
  ],
};

function bars(scene: Scene | undefined) {
  return (scene?.shapes ?? []).filter((shape): shape is Extract<Shape, { kind: "rect" }> => shape.kind === "rect");
}

describe("a flow", () => {
  test("has a bar as long as its count, and one that is seen for a single request", () => {
    const [planned, sent, answered, reset] = bars(flow(LOAD, 900));
    expect((sent?.height ?? 0) / (planned?.height ?? 1)).toBeCloseTo(0.999);
    expect(answered?.height).toBeLessThanOrEqual(sent?.height ?? 0);
    expect(reset?.height).toBe(2);
  });

  test("goes from the left to the right, and no two bars of a column overlap", () => {
    const all = bars(flow(LOAD, 900));
    const columns = [...new Set(all.map((bar) => bar.x))].sort((a, b) => a - b);
    expect(columns).toHaveLength(3);
    for (const x of columns) {
      const column = all.filter((bar) => bar.x === x).sort((a, b) => a.y - b.y);
      column.slice(1).forEach((bar, place) => expect(bar.y).toBeGreaterThanOrEqual((column[place]?.y ?? 0) + (column[place]?.height ?? 0)));
    }
  });

  test("says each part with its shares", () => {
    const marks = flow(LOAD, 900)?.marks ?? [];
    expect(marks.map((mark) => mark.name)).toEqual(LOAD.parts.map((part) => part.name));
    expect(marks[3]?.values).toEqual(["1 requests", "0.0001 % of sent", "0.0001 % of planned"]);
    expect(flowRows(LOAD)[3]).toEqual(["answered", "sent", "998999", "99.9999 %"]);
  });

  test.each([320, 390, 700, 1200])("stays within a width of %i pixels", (width) => {
    const scene = flow(LOAD, width);
    for (const shape of scene?.shapes ?? []) {
      const end = shape.kind === "rect" ? shape.x + shape.width : shape.kind === "text" ? shape.x + textWidth(shape.text) : 0;
      expect(end, JSON.stringify(shape)).toBeLessThanOrEqual(width);
      const bottom = shape.kind === "rect" ? shape.y + shape.height : shape.kind === "text" ? shape.y : 0;
      expect(bottom, JSON.stringify(shape)).toBeLessThanOrEqual(scene?.height ?? 0);
    }
  });

  test("without a request draws nothing, and without an answer a bar of no length", () => {
    expect(flow({ ...LOAD, parts: [] }, 900)).toBeUndefined();
    const none = LOAD.parts.slice(0, 3).map((part) => (part.name === "answered" ? { ...part, count: 0 } : part));
    expect(bars(flow({ ...LOAD, parts: none }, 900))[2]?.height).toBe(0);
  });
});

test("a share is rounded neither to all nor to nothing", () => {
  expect([share(1, 3), share(999_999, 1_000_000), share(1, 10_000_000), share(5, 5), share(0, 5)]).toEqual([
    "33.33 %",
    "99.9999 %",
    "0.00001 %",
    "100 %",
    "0 %",
  ]);
});
