import { describe, expect, test } from "vitest";
import { bars, fills } from "../src/chart/bars";
import { distribution } from "../src/chart/distribution";
import { heat } from "../src/chart/heat";
import type { Range } from "../src/chart/range";
import type { Scene, Shape } from "../src/chart/scene";
import { slices } from "../src/chart/slices";
import type { Bars, Bin, Distributions, Heat, Slices } from "../src/types/document";

const WIDTH = 900;

function of<K extends Shape["kind"]>(scene: Scene | undefined, kind: K, name: string): Extract<Shape, { kind: K }>[] {
  return (scene?.shapes ?? []).filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind && shape.of.split(" ")[0] === name);
}

describe("bars of layers", () => {
  const DATA: Bars = {
    title: "CPU time by layer",
    axis: "CPU time per request, us",
    unit: "us",
    pieces: ["kernel: tcp", "proxy: lua", "kernel: epoll"],
    rows: [
      { label: "baseline", value: "30.0", pieces: [{ piece: 0, length: 20, text: "20.0" }, { piece: 2, length: 10, text: "10.0" }] },
      { label: "lua", value: "60.0", pieces: [{ piece: 0, length: 20, text: "20.0" }, { piece: 1, length: 40, text: "40.0" }] },
    ],
  };

  test("each piece begins where the one before ends, on one scale, and has its name, its number and the whole", () => {
    const scene = bars(DATA, WIDTH);
    const [kernel, epoll, other, lua] = of(scene, "rect", "piece");
    expect(epoll?.x).toBeCloseTo((kernel?.x ?? 0) + (kernel?.width ?? 0));
    expect([kernel?.width, lua?.width]).toEqual([other?.width, expect.closeTo(2 * (kernel?.width ?? 0))]);
    expect(scene.marks.at(-1)).toMatchObject({ name: "lua", values: ["proxy: lua: 40.0 us", "of 60.0"] });
    expect(of(scene, "text", "axis").map((text) => text.text)).toEqual([DATA.axis]);
  });

  test("pieces are told apart: those of one place have shades of one hue", () => {
    const [kernel, proxy, epoll] = fills(DATA.pieces).map((fill) => /(\d+)\)\)$/.exec(fill)?.[1]);
    expect(Number(kernel)).toBeGreaterThan(0);
    expect(kernel).toBe(epoll);
    expect(kernel).not.toBe(proxy);
    expect(new Set(fills(DATA.pieces)).size).toBe(3);
    expect(bars(DATA, WIDTH).legend.map((entry) => entry.name)).toEqual(DATA.pieces);
  });
});

describe("a distribution", () => {
  const bins: Bin[] = [
    { from: 100, to: 200, count: 90 },
    { from: 200, to: 400, count: 9 },
    { from: 400, to: 800, count: 1 },
  ];
  const DATA: Distributions = {
    title: "times",
    axis: "time, us",
    from: 100,
    to: 800,
    items: [
      { name: "response time", words: "100 answered requests", tone: "own", bins },
      { name: "send lag", words: "100 answered requests", tone: "third", bins: [{ from: 100, to: 200, count: 50 }, { from: 200, to: 400, count: 50 }] },
    ],
  };
  const drawn = (place: 0 | 1, range?: Range, isLinear = false) => {
    const item = DATA.items[place];
    return item && distribution(DATA, item, WIDTH, 220, isLinear, range);
  };

  test("says the count of each bin, and how many are up to it", () => {
    expect(drawn(0)?.marks.map((mark) => mark.values)).toEqual([
      ["90 responses, 90.0 %", "90 up to here, 90 %"],
      ["9 responses, 9.00 %", "99 up to here, 99 %"],
      ["1 response, 1.00 %", "100 up to here, 100 %"],
    ]);
    expect(of(drawn(0), "path", "curve")).toHaveLength(1);
  });

  test("has the scale of those beside it", () => {
    const heights = [drawn(0), drawn(1)].map((scene) => of(scene, "rect", "bar")[0]?.height ?? 0);
    expect(heights[1]).toBeCloseTo(((heights[0] ?? 0) * 0.5) / 0.9);
  });

  test("has ticks at round shares, and at all responses where there are none", () => {
    const ticks = (scene: Scene) => of(scene, "text", "tick").flatMap(({ text, x }) => (x < 54 ? [text] : []));
    const item = { name: "response time", words: "", tone: "own" as const, bins: [{ from: 100, to: 200, count: 8_794 }, { from: 400, to: 800, count: 1_206 }] };
    expect(ticks(distribution({ ...DATA, items: [item] }, item, WIDTH, 220, false))).toEqual(["0 %", "44 %", "88 %"]);
    expect(ticks(distribution({ ...DATA, items: [item] }, item, WIDTH, 220, false, { from: 250, to: 350 }))).toEqual(["0 %", "50 %", "100 %"]);
  });

  test("on a linear axis has bars whose areas are shares, and says so", () => {
    const scene = drawn(0, undefined, true);
    const areas = of(scene, "rect", "bar").map((bar) => bar.height * (bar.width + 1));
    const [all, shares] = [areas.reduce((sum, area) => sum + area, 0), [0.9, 0.09, 0.01]];
    expect(areas.map((area) => area / all)).toEqual(shares.map((share) => expect.closeTo(share)));
    expect(of(scene, "text", "axis").map((text) => text.text)).toEqual(["time, us"]);
    expect(scene?.legend[0]?.name).toBe("share for each 10 us, left scale");
    // 0.9 % for each us of the first bin.
    expect(of(scene, "text", "tick").flatMap(({ text, x }) => (x < 54 ? [text] : []))).toEqual(["0 %", "4.5 %", "9 %"]);
  });

  test("on a linear axis has a scale of its own, which a narrow one beside it cannot take from it", () => {
    const narrow = { name: "send lag", words: "", tone: "third" as const, bins: [{ from: 100, to: 100.002, count: 1 }] };
    const item = DATA.items[0];
    const alone = item && distribution(DATA, item, WIDTH, 220, true);
    const beside = item && distribution({ ...DATA, items: [item, narrow] }, item, WIDTH, 220, true);
    expect(beside).toEqual({ ...alone, extent: expect.anything() });
    expect(distribution({ ...DATA, items: [item ?? narrow, narrow] }, narrow, WIDTH, 220, true).legend[0]?.name).toBe("share for each 0.0001 us, left scale");
  });

  test("over a range has its bins on a scale of their own, and still counts from the first", () => {
    const scene = drawn(0, { from: 300, to: 800 });
    expect(scene?.marks.map((mark) => mark.values[1])).toEqual(["99 up to here, 99 %", "100 up to here, 100 %"]);
    const [whole, part] = [drawn(0), scene].map((one) => of(one, "rect", "bar").at(-1)?.height ?? 0);
    expect(part).toBeGreaterThan(1.5 * (whole ?? 0));
    const [start] = /^M[\d.]+/.exec(of(scene, "path", "curve")[0]?.d ?? "") ?? [];
    expect(start).toBe("M54.0");
  });
});

describe("a heat map", () => {
  const DATA: Heat = {
    title: "response times over time",
    x: "time, s",
    y: "response time, us",
    columns: [
      { from: 0, to: 1, bins: [{ from: 100, to: 200, count: 999_999 }, { from: 10_000, to: 20_000, count: 1 }] },
      { from: 1, to: 2, bins: [{ from: 100, to: 200, count: 10 }] },
    ],
  };

  test("shows one slow response among a million, fainter than the others and above them", () => {
    const [many, one, second] = of(heat(DATA, WIDTH), "rect", "cell");
    expect(one?.opacity).toBeGreaterThan(0.1);
    expect(one?.opacity).toBeLessThan(many?.opacity ?? 0);
    expect(one?.y).toBeLessThan(many?.y ?? 0);
    expect(second?.opacity).toBeCloseTo(1);
    expect(second?.x).toBeGreaterThan(many?.x ?? 0);
  });

  test("says what a cell has, and names both axes", () => {
    const scene = heat(DATA, WIDTH);
    expect(scene.marks[1]?.values[0]).toMatch(/^1 of 1,000,000 responses/);
    expect(of(scene, "text", "axis").map((text) => text.text)).toEqual(["response time, us; logarithmic", "time, s"]);
  });

  test("over a range has what is in it, on scales of its own", () => {
    const cells = of(heat(DATA, WIDTH, { from: 1.5, to: 2 }), "rect", "cell");
    expect(cells).toHaveLength(1);
    expect([cells[0]?.x, cells[0]?.height]).toEqual([58, 278 - 44 - 30]);
    expect(heat(DATA, WIDTH, { from: 5, to: 6 }).marks).toHaveLength(3);
  });
});

describe("the slices behind a number", () => {
  const slice = (round: number, s: number, value: number, aside?: string) => ({ round, s, value, ...(aside === undefined ? {} : { aside }) });
  const usual = Array.from({ length: 60 }, (_, place) => slice(1, place, 50 + (place % 5)));
  const DATA: Slices = {
    axis: "CPU time per request, us",
    unit: "us",
    headings: ["CPU us"],
    load: "saturation",
    arms: [
      { arm: "lua", slices: [...usual, slice(2, 70, 5_000, "steal"), slice(2, 71, 52)] },
      { arm: "baseline", slices: [slice(1, 0.5, 40)] },
    ],
  };

  test("are those of the arm and of the other one, with the rounds told apart", () => {
    const scene = slices(DATA, "lua", "baseline", WIDTH);
    expect(of(scene, "path", "dot").map((dot) => dot.of)).toEqual(["dot other", "dot own aside"]);
    expect(new Set(of(scene, "circle", "dot").map((dot) => dot.of))).toEqual(new Set(["dot own"]));
    expect(of(scene, "line", "event")).toHaveLength(2);
  });

  test("have the names of their rounds above them, as far as there is room", () => {
    const named = (from: number) => of(slices(DATA, "lua", null, WIDTH, { from, to: 71 }), "text", "tick").flatMap(({ text, y }) => (y < 26 ? [text] : []));
    expect([0, 60].map(named)).toEqual([["round 1", "2"], ["round 2"]]);
  });

  test("are explained", () => {
    const scene = slices(DATA, "lua", "baseline", WIDTH);
    expect(scene?.legend.map((entry) => entry.name)).toEqual(["lua", "baseline", "set aside"]);
  });

  test("that were set aside are marked, say why, and do not stretch the axis", () => {
    const scene = slices(DATA, "lua", null, WIDTH);
    const [cut] = of(scene, "path", "dot");
    expect(cut?.of).toContain("aside");
    expect(scene?.marks.find((mark) => mark.values.length > 1)?.values).toEqual([expect.stringMatching(/^5,000 us in round 2/), "set aside: steal"]);
    const [first, second] = of(scene, "circle", "dot");
    expect(Math.abs((first?.y ?? 0) - (second?.y ?? 0))).toBeGreaterThan(10);
  });

  test("over a range are those in it, with the rounds that begin there", () => {
    const scene = slices(DATA, "lua", "baseline", WIDTH, { from: 69, to: 71 });
    expect(scene?.marks.map((mark) => mark.values[0])).toEqual([expect.stringContaining("5,000 us in round 2"), expect.stringContaining("52.0 us in round 2")]);
    expect(of(scene, "line", "event")).toHaveLength(1);
  });

  test("have the distribution of those that count beside them, each arm with its own, on the same axis", () => {
    const many = (arm: string, value: number) => ({ arm, slices: Array.from({ length: 40 }, (_, place) => slice(1, place, value + (place % 4 === 0 ? 4 : 0))) });
    const both = { ...DATA, arms: [many("lua", 60), many("baseline", 40)] };
    const scene = slices(both, "lua", "baseline", WIDTH);
    const [own, other] = ["bar own", "bar other"].map((name) => of(scene, "rect", "bar").filter((bar) => bar.of === name));
    expect([own?.length, other?.length]).toEqual([2, 2]);
    // 30 of 40 slices are low, and 10 high: a bar is as wide as its share of the widest, around one middle.
    expect((own?.[1]?.width ?? 0) / (own?.[0]?.width ?? 1)).toBeCloseTo(1 / 3);
    expect((own?.[1]?.x ?? 0) + (own?.[1]?.width ?? 0) / 2).toBeCloseTo((own?.[0]?.x ?? 0) + (own?.[0]?.width ?? 0) / 2);
    expect(own?.[0]?.y).toBeLessThan(other?.[0]?.y ?? 0);
    const dots = of(scene, "circle", "dot").filter((dot) => dot.of === "dot own");
    const low = Math.max(...dots.map((dot) => dot.y));
    expect([low > (own?.[0]?.y ?? 0), low < (own?.[0]?.y ?? 0) + (own?.[0]?.height ?? 0)]).toEqual([true, true]);
    expect(scene?.marks.slice(-4).map((mark) => mark.values[0])).toEqual([
      "30 of 40 slices that count",
      "10 of 40 slices that count",
      "30 of 40 slices that count",
      "10 of 40 slices that count",
    ]);
    const lefts = of(scene, "rect", "bar").map((bar) => bar.x);
    expect(Math.min(...lefts)).toBeGreaterThan(Math.max(...dots.map((dot) => dot.x)));
  });

  test("that are few or were set aside have no distribution, and those beyond the axis are in its last bin", () => {
    const few = { ...DATA, arms: [{ arm: "lua", slices: [...usual.slice(0, 9), ...usual.map((one) => ({ ...one, aside: "steal" }))] }] };
    expect(of(slices(few, "lua", null, WIDTH), "rect", "bar")).toEqual([]);
    const far = { ...DATA, arms: [{ arm: "lua", slices: [...usual, slice(1, 61, 5_000)] }] };
    expect(slices(far, "lua", null, WIDTH)?.marks.at(-1)).toMatchObject({ name: expect.stringMatching(/us or more$/), values: ["1 of 61 slices that count"] });
  });

  test.each([320, 390, 900])("stay within a width of %i pixels with it", (width) => {
    for (const bar of of(slices(DATA, "lua", "baseline", width), "rect", "bar")) {
      expect(bar.x + bar.width).toBeLessThanOrEqual(width - 14);
    }
    expect(of(slices(DATA, "lua", "baseline", width), "rect", "bar").length).toBeGreaterThan(0);
  });

  test("of an arm without any are no chart", () => {
    expect(slices(DATA, "cors", "baseline", WIDTH)).toBeUndefined();
    expect(slices({ ...DATA, arms: [{ arm: "lua", slices: [] }] }, "lua", null, WIDTH)).toBeUndefined();
  });
});
