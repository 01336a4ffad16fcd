import { describe, expect, test } from "vitest";
import { axisOf, forest, type ForestOptions, type ForestRow } from "../src/chart/forest";
import { textWidth, type Scene, type Shape } from "../src/chart/scene";

const OPTIONS: ForestOptions = { axis: "CPU time, us", band: null, isLinear: false };

function row(label: string, estimate: number, half: number): ForestRow {
  return { id: label, label, value: `+${estimate} ±${half}`, estimate, low: estimate - half, high: estimate + half, isBounded: false, note: "us", family: "x" };
}

function of<K extends Shape["kind"]>(scene: Scene, kind: K, name: string): Extract<Shape, { kind: K }>[] {
  return scene.shapes.filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind && shape.of.split(" ")[0] === name);
}

describe("a forest plot", () => {
  test("has a point, an interval and a mark for each row, in its order", () => {
    const scene = forest([row("jwt", 20, 1), row("lua", 5, 1)], OPTIONS, 900);
    expect(of(scene, "circle", "point").map((point) => point.y)).toEqual(scene.marks.map((mark) => mark.y));
    expect(scene.marks.map((mark) => [mark.name, ...mark.values])).toEqual([
      ["jwt", "+20 ±1", "us"],
      ["lua", "+5 ±1", "us"],
    ]);
    const [jwt, lua] = scene.marks;
    expect((jwt?.x ?? 0) > (lua?.x ?? 0) && (jwt?.y ?? 0) < (lua?.y ?? 0)).toBe(true);
  });

  test.each([320, 900])("has rows as high as what a finger points at, at a width of %i pixels, and says which is selected", (width) => {
    const scene = forest([row("jwt", 20, 1), row("lua", 5, 1)], { ...OPTIONS, chosen: "lua" }, width);
    const [jwt, lua] = scene.marks;
    expect((lua?.y ?? 0) - (jwt?.y ?? 0)).toBeGreaterThanOrEqual(24);
    expect(scene.marks.map((mark) => mark.values.includes("selected"))).toEqual([false, true]);
  });

  test("says the ends of an interval in words on narrow screens only where they leave room for the name", () => {
    const value = "1,518,339 (815,800 to 10,936,444)";
    const wide = { ...row("same under in-use-30", 1_518_339, 700_000), value };
    const said = (one: ForestRow, width: number) => [...of(forest([one], OPTIONS, width), "text", "label"), ...of(forest([one], OPTIONS, width), "text", "value")];
    expect(said(wide, 296).map((text) => text.text)).toEqual([wide.label, "1,518,339"]);
    expect(said(wide, 900).map((text) => text.text)).toEqual([wide.label, value]);
    expect(said({ ...wide, value: "20.0 ±1.0" }, 296).map((text) => text.text)).toEqual([wide.label, "20.0 ±1.0"]);
    expect(forest([wide], OPTIONS, 296).marks[0]?.values).toContain(value);
  });

  test("greys out an interval with zero in it", () => {
    const scene = forest([row("jwt", 20, 1), row("lua", 5, 1), row("nothing", 0.2, 1)], OPTIONS, 900);
    expect(of(scene, "circle", "point").map((point) => point.of)).toEqual(["point", "point", "point near"]);
  });

  test("greys out a number whose sign is not supported", () => {
    const scene = forest([row("jwt", 20, 1), { ...row("lua", 5, 1), isUncertain: true }], OPTIONS, 900);
    expect(of(scene, "circle", "point").map((point) => point.of)).toEqual(["point", "point near"]);
    expect(of(scene, "line", "interval").some((line) => line.of === "interval near")).toBe(true);
  });

  test("cuts off an arm that is far beyond the next, with an arrow", () => {
    const rows = [row("slow", 5000, 10), row("jwt", 20, 1), row("lua", 5, 1)];
    const scene = forest(rows, OPTIONS, 900);
    expect(of(scene, "path", "arrow")).toHaveLength(1);
    expect(of(scene, "circle", "point")).toHaveLength(2);
  });

  test("draws no point where only the ends are known", () => {
    const bounded = { ...row("lua", 5, 1), isBounded: true };
    const scene = forest([row("jwt", 20, 1), bounded], OPTIONS, 900);
    expect(of(scene, "circle", "point")).toHaveLength(1);
    expect(of(scene, "line", "interval").some((line) => line.of.includes("bounded"))).toBe(true);
  });

  test.each(["CPU %", "memory per connection kB"])("says above the column of its numbers, beside the labels of the axis: %s", (heading) => {
    const rows = [row("jwt", 20_000, 1), row("lua", 5_000, 1)];
    const wide = forest(rows, { ...OPTIONS, heading }, 700);
    const [said, value] = [of(wide, "text", "axis").find(({ text }) => text === heading), of(wide, "text", "value")[0]];
    expect(said).toMatchObject({ x: value?.x, anchor: "end" });
    expect(said?.y ?? 0).toBeLessThan(value?.y ?? 0);
    const left = (said?.x ?? 0) - textWidth(heading, 12);
    expect(of(wide, "text", "tick").every((tick) => tick.x + textWidth(tick.text, 12) / 2 < left)).toBe(true);
    expect(of(forest(rows, { ...OPTIONS, heading }, 390), "text", "axis").map(({ text }) => text)).not.toContain(heading);
  });

  test.each([320, 390, 700, 1200])("stays within a width of %i pixels", (width) => {
    const long = row("check-token/dynamic-modules{algorithm=rs256,claims=40,tokens=10000}", 60, 2);
    const scene = forest([long, row("lua", 5, 1)], { ...OPTIONS, band: { low: -1, high: 1 } }, width);
    for (const shape of scene.shapes) {
      const xs = shape.kind === "line" ? [shape.x1, shape.x2] : shape.kind === "rect" ? [shape.x, shape.x + shape.width] : shape.kind === "path" ? [] : [shape.x];
      expect(xs.every((x) => x >= 0 && x <= width), JSON.stringify(shape)).toBe(true);
    }
  });
});

test("many small costs beside a few large ones get a bent axis, unless the reader wants a linear one", () => {
  const rows = [...Array(20).keys()].map((n) => row(`small ${n}`, 0.5 + n / 20, 0.3)).concat(row("large", 60, 1), row("larger", 80, 1));
  const note = (options: Partial<ForestOptions>) => axisOf(rows, { ...OPTIONS, ...options }, [0, 600]).note;
  expect(note({})).toContain("logarithmic beyond");
  expect(note({ isLinear: true })).toBe("");
});

test("the only cost is not cut off beside arms that cost nothing", () => {
  const rows = [row("jwt", 43, 2), { ...row("lua", 15, 3), isBounded: true }, row("same (A/A)", 0.7, 4.1)];
  const scale = axisOf(rows, OPTIONS, [0, 600]);
  expect([scale.isOutside(45), scale.isOutside(18), scale.isOutside(-3)]).toEqual([false, false, false]);
  expect(scale.note).toBe("");
});

test("an interval has room beyond its estimate, unless it would crowd the others", () => {
  expect(axisOf([row("jwt", 36, 21)], OPTIONS, [0, 600]).isOutside(57)).toBe(false);
  expect(axisOf([row("p99", 0, 7)], { ...OPTIONS, least: 2 }, [0, 600]).isOutside(7)).toBe(false);
  expect(axisOf([row("jwt", 36, 21), row("cors", 3, 20), row("lua", 20, 500)], OPTIONS, [0, 600]).isOutside(500)).toBe("after");
});

test("long numbers and labels of the axis are beside the rows and within the drawing", () => {
  const rows = [{ ...row("same", 1_518_339, 500_000), value: "1,518,339 (815,800 to 10,936,444)" }, row("lua", 900, 100)];
  const scene = forest(rows, { ...OPTIONS, isLogarithmic: true }, 1200);
  const [value] = of(scene, "text", "value");
  const right = Math.max(...of(scene, "line", "interval").map((line) => line.x2));
  expect((value?.x ?? 0) - textWidth(value?.text ?? "")).toBeGreaterThan(right);
  for (const tick of of(forest(rows, { ...OPTIONS, isLogarithmic: true }, 360), "text", "tick")) {
    const half = textWidth(tick.text, 12) / (tick.anchor === "middle" ? 2 : 1);
    expect(tick.x + (tick.anchor === "end" ? 0 : half)).toBeLessThanOrEqual(360);
  }
});
