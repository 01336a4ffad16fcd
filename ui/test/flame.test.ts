import { describe, expect, test } from "vitest";
import { callerOf, flame, flameRows, laid } from "../src/chart/flame";
import { nearest, type Scene } from "../src/chart/scene";
import type { FlameArm, FlameFrame } from "../src/types/document";

const WIDTH = 1016;
const LABELS = { axis: "CPU time per request, us", unit: "us" };

function time(us: number, added?: number, isNear = false): FlameFrame["whole"] {
  const difference = added === undefined ? {} : { added: { us: added, text: `${added < 0 ? "" : "+"}${added} ±1`, is_near_zero: isNear } };
  return { us, text: `${us} ±1`, ...difference };
}

const JWT: FlameArm = {
  arm: "jwt",
  compared_with: "baseline",
  frames: [
    { name: "all", depth: 0, whole: time(100, 40) },
    { name: "main", depth: 1, whole: time(80, 42), own: time(10, 2) },
    { name: "verify", depth: 2, whole: time(40, 40), own: time(40, 40) },
    { name: "writev", depth: 2, whole: time(30, 0.5, true), own: time(30, 0.5, true) },
    { name: "poll", depth: 1, whole: time(20, -10), own: time(20, -10) },
    { name: "idle", depth: 1, whole: time(0, -5), own: time(0, -5) },
  ],
};
const PLAIN: FlameArm = {
  arm: "baseline",
  compared_with: null,
  frames: [
    { name: "all", depth: 0, whole: time(60), own: time(5) },
    { name: "poll", depth: 1, whole: time(55), own: time(55) },
  ],
};

function rects(scene: Scene | undefined) {
  return (scene?.shapes ?? []).flatMap((shape) => (shape.kind === "rect" ? [shape] : []));
}

function graph(zoom = 0, width = WIDTH): Scene {
  const scene = flame(JWT, LABELS, zoom, width);
  if (scene === undefined) {
    throw new Error("there is a graph");
  }
  return scene;
}

describe("the places of frames", () => {
  test("frames that one calls are beside each other, from its start", () => {
    expect(laid(JWT.frames).map(({ from, to }) => [from, to])).toEqual([
      [0, 100],
      [0, 80],
      [0, 40],
      [40, 70],
      [80, 100],
      [100, 100],
    ]);
  });

  test("the caller of a frame is the one around it", () => {
    expect(JWT.frames.map((_, place) => callerOf(JWT.frames, place))).toEqual([undefined, 0, 1, 1, 0, 0]);
  });
});

describe("a flame graph", () => {
  test("has widths by CPU time, rows by depth, and leaves out what has no width", () => {
    const scene = graph();
    expect(scene.marks.map((mark) => mark.name)).toEqual(["all", "main", "verify", "writev", "poll"]);
    const [all, main, verify, , poll] = rects(scene);
    expect([all?.width, main?.width, verify?.width, poll?.width]).toEqual([1000, 800, 400, expect.closeTo(200)]);
    expect(poll?.y).toBe(main?.y);
    expect(verify?.y).toBeGreaterThan(main?.y ?? 0);
    expect(scene.shapes.some((shape) => shape.kind === "text" && shape.of === "axis" && shape.text === LABELS.axis)).toBe(true);
  });

  test("is coloured by differences that their intervals support, the stronger the larger", () => {
    const tones = Object.fromEntries(graph().marks.map((mark, place) => [mark.name, rects(graph())[place]?.of]));
    expect(tones).toEqual({ all: "frame more-3", main: "frame more-3", verify: "frame more-3", writev: "frame", poll: "frame less-1" });
    expect(graph().legend).toHaveLength(3);
    const plain = flame(PLAIN, LABELS, 0, WIDTH);
    expect(rects(plain).every((rect) => rect.of === "frame") && plain?.legend.length === 0).toBe(true);
  });

  test("says a frame's time and its difference, with all that it calls and alone", () => {
    expect(graph().marks[1]?.values).toEqual(["80 ±1 us with all that it calls, +42 ±1 beside baseline", "10 ±1 us of its own, +2 ±1 beside baseline"]);
    expect(flame(PLAIN, LABELS, 0, WIDTH)?.marks[0]?.values).toEqual(["60 ±1 us with all that it calls", "5 ±1 us of its own"]);
  });

  test("of one frame has its calls in the whole width below those around it, on an axis from zero", () => {
    const scene = graph(4);
    expect(scene.marks.map((mark) => mark.name)).toEqual(["all", "poll"]);
    const [all, poll] = rects(scene);
    expect([all?.of, all?.width, poll?.x, poll?.width]).toEqual(["frame more-3 around", 1000, all?.x, 1000]);
    const ticks = scene.shapes.flatMap((shape) => (shape.kind === "text" && shape.of === "tick" ? [shape.text] : []));
    expect([ticks[0], ticks.at(-1)]).toEqual(["0", "20"]);
  });

  test("a pointer is at the frame whose area it is in, not at the nearest middle", () => {
    const scene = graph();
    const main = scene.marks[1]?.box;
    expect(nearest(scene, (main?.x ?? 0) + 790, (main?.y ?? 0) + 5)).toBe(1);
    expect(nearest(scene, (main?.x ?? 0) + 810, (main?.y ?? 0) + 5)).toBe(4);
    expect(nearest(scene, 900, scene.height - 5)).toBeUndefined();
  });

  test("arrow keys lead to callers, calls and those beside", () => {
    const { marks } = graph();
    const led = (name: string) => {
      const keys = marks.find((mark) => mark.name === name)?.keys ?? {};
      return ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map((key) => marks[keys[key] ?? -1]?.name);
    };
    expect(led("main")).toEqual(["all", "verify", "main", "poll"]);
    expect(led("writev")).toEqual(["main", "writev", "verify", "writev"]);
    expect(led("all")).toEqual(["all", "main", "all", "all"]);
  });

  test("has only names that fit, at each width", () => {
    for (const width of [360, WIDTH]) {
      const scene = graph(0, width);
      const boxes = rects(scene);
      for (const shape of scene.shapes) {
        if (shape.kind === "text" && shape.of === "named") {
          const box = boxes.find((rect) => Math.abs(rect.x + 4 - shape.x) < 1e-6 && shape.y > rect.y && shape.y < rect.y + rect.height);
          expect(box?.width, shape.text).toBeGreaterThan(8 + 5 * shape.text.length);
        }
      }
      expect(Math.max(...boxes.map((rect) => rect.x + rect.width))).toBeLessThanOrEqual(width);
    }
  });

  test("of a frame without time is none", () => {
    expect(flame(JWT, LABELS, 5, WIDTH)).toBeUndefined();
    expect(flame(JWT, LABELS, 99, WIDTH)).toBeUndefined();
  });
});

describe("its table", () => {
  test("has all frames, those first that differ most by themselves", () => {
    const [head, ...rows] = flameRows(JWT);
    expect(head).toEqual(["frame", "self us", "self, difference us", "with calls us", "with calls, difference us", "called by"]);
    expect(rows.map((row) => row[0])).toEqual(["verify", "poll", "idle", "main", "writev", "all"]);
    expect(rows[3]).toEqual(["main", "10 ±1", "+2 ±1", "80 ±1", "+42 ±1", "all"]);
    expect(rows.at(-1)?.[1]).toBe("-");
  });

  test("has no differences without another arm, and those first that take most by themselves", () => {
    expect(flameRows(PLAIN)).toEqual([
      ["frame", "self us", "with calls us", "called by"],
      ["poll", "55 ±1", "55 ±1", "all"],
      ["all", "5 ±1", "60 ±1", "-"],
    ]);
  });
});
