import { describe, expect, test } from "vitest";
import { textWidth, type Scene, type Shape } from "../src/chart/scene";
import { series, seriesRows } from "../src/chart/series";
import type { Axis, Line, Series } from "../src/types/document";

const RATE: Axis = { label: "rate, requests/s", unit: "requests/s", scale: "linear" };
const TIME: Axis = { label: "p99, us", unit: "us", scale: "linear" };

function line(form: Line["form"], tone: Line["tone"], points: Line["points"]): Line {
  return { name: `${form} ${tone}`, tone, form, points };
}

function chart(lines: Line[], more: Partial<Series> = {}): Series {
  return { title: "p99 of each trial", x: RATE, y: TIME, lines, ...more };
}

function of<K extends Shape["kind"]>(scene: Scene, kind: K, name: string): Extract<Shape, { kind: K }>[] {
  return scene.shapes.filter((shape): shape is Extract<Shape, { kind: K }> => shape.kind === kind && shape.of.split(" ")[0] === name);
}

const HOLDS = line("scattered", "own", [
  { x: 900, y: 2000 },
  { x: 1000, y: 4000, text: "4,000 us, 0.20 % late or lost" },
  { x: 1000, y: 4800, text: "4,800 us, 0.90 % late or lost" },
]);
const FAILS = line("scattered", "failed", [{ x: 1000, y: 6000 }]);

test("a label of the horizontal axis that is wider than a narrow drawing has several lines, all below the labels of its ticks", () => {
  const x: Axis = { label: "share of the requests that took at most this long", unit: "", scale: "nines" };
  const data = chart([line("joined", "own", [{ x: 0.5, y: 100 }, { x: 0.99, y: 300 }])], { x });
  const below = (width: number) => of(series(data, width, 260), "text", "axis").filter((text) => text.anchor === "middle");
  expect(below(900).map((text) => text.text)).toEqual([x.label]);
  const [narrow, scene] = [below(296), series(data, 296, 260)];
  expect(narrow.map((text) => text.text).join(" ")).toBe(x.label);
  for (const { x: middle, y, text } of narrow) {
    const half = textWidth(text, 12) / 2;
    expect(middle - half >= 0 && middle + half <= 296 && y < 260).toBe(true);
    expect(y).toBeGreaterThan((scene.extent?.bottom ?? 260) + 16 + 12);
  }
});

describe("a chart of trials", () => {
  const data = chart([HOLDS, FAILS], {
    levels: [{ y: 5000, text: "p99<5ms" }],
    bands: [{ from: 950, at: 970, text: "highest rate: 970", tone: "own" }],
  });
  const scene = series(data, 900, 260);

  test("joins no trials, and tells those that fail by their form", () => {
    expect(of(scene, "path", "curve")).toHaveLength(0);
    expect(of(scene, "circle", "single")).toHaveLength(3);
    expect(of(scene, "path", "single").map((shape) => shape.of)).toEqual(["single failed"]);
  });

  test("draws the limit between trials below and above it, with its name", () => {
    const [limit] = of(scene, "line", "limit");
    const ys = of(scene, "circle", "single").map((point) => point.y);
    expect(ys.every((y) => y > (limit?.y1 ?? 0))).toBe(true);
    expect(scene.shapes.some((shape) => shape.kind === "text" && shape.text === "p99<5ms")).toBe(true);
  });

  test("a range without an end reaches that of the axis, and is explained", () => {
    const [band] = of(scene, "rect", "band");
    expect((band?.x ?? 0) + (band?.width ?? 0)).toBe(900 - 14);
    expect(scene.legend.map((entry) => entry.name)).toEqual(["scattered own", "scattered failed", "highest rate: 970"]);
  });

  test("says all values of one place", () => {
    expect(scene.marks.map((mark) => mark.name)).toEqual(["900 requests/s", "1,000 requests/s"]);
    expect(scene.marks[1]?.values).toEqual([
      "scattered own: 4,000 us, 0.20 % late or lost",
      "scattered own: 4,800 us, 0.90 % late or lost",
      "scattered failed: 6,000 us",
    ]);
  });

  test("has all of it in its table", () => {
    const rows = seriesRows(data);
    expect(rows[2]).toEqual(["1000", "4,000 us, 0.20 % late or lost; 4,800 us, 0.90 % late or lost", "6000"]);
    expect(rows.slice(3).map((row) => row[0])).toEqual(["p99<5ms", "highest rate: 970"]);
  });
});

test("a computed curve has no values of its own", () => {
  const law = line("computed", "third", [
    { x: 1, y: 10 },
    { x: 2, y: 15 },
  ]);
  const scene = series(chart([law, line("scattered", "own", [{ x: 1, y: 11 }])]), 600, 260);
  expect(of(scene, "path", "curve")).toHaveLength(1);
  expect(of(scene, "circle", "dot")).toHaveLength(0);
  expect(scene.marks.map((mark) => mark.values)).toEqual([["11 us"]]);
  expect(seriesRows(chart([law]))).toEqual([["rate, requests/s"]]);
});

test("a value of which only the ends are known is a dashed interval with words and breaks the line", () => {
  const bounded = line("joined", "own", [
    { x: 1, y: 10 },
    { x: 2, y: null, low: 12, high: 20, text: "12 to 20 us" },
  ]);
  const scene = series(chart([bounded]), 600, 260);
  expect(of(scene, "line", "interval").map((shape) => shape.of)).toEqual(["interval own bounded"]);
  expect(of(scene, "circle", "dot")).toHaveLength(1);
  expect(scene.marks.map((mark) => mark.values[0])).toEqual(["10 us", "12 to 20 us"]);
});

test("a bound with one end reaches the edge of the chart, and says its words", () => {
  const bounds = line("joined", "own", [
    { x: 1, y: 10 },
    { x: 2, y: null, high: 20, text: "≤ 20 us" },
    { x: 3, y: null, low: 12, text: "≥ 12 us" },
  ]);
  const scene = series(chart([bounds]), 600, 260);
  const [below, above] = of(scene, "line", "interval");
  const [zero] = of(scene, "line", "zero");
  expect(below?.y1).toBe(zero?.y1);
  expect(above?.y2).toBe(12 + 18);
  expect((below?.y2 ?? 0) < (above?.y1 ?? 0), "20 is above 12").toBe(true);
  expect(scene.marks.map((mark) => mark.values[0])).toEqual(["10 us", "≤ 20 us", "≥ 12 us"]);
  expect(seriesRows(chart([bounds])).map((row) => row[1])).toEqual(["joined own", "10", "≤ 20 us", "≥ 12 us"]);
});

test("a time of zero does not stretch a logarithmic axis", () => {
  const data = chart([line("joined", "own", [{ x: 1, y: 0 }, { x: 2, y: 10 }, { x: 3, y: 1000 }])], { y: { ...TIME, scale: "logarithmic" } });
  const scene = series(data, 600, 260);
  expect(of(scene, "text", "axis").map((text) => text.text)).toContain("p99, us; logarithmic");
  const [, ten, thousand] = of(scene, "circle", "dot");
  expect((ten?.y ?? 0) - (thousand?.y ?? 0)).toBeGreaterThan(150);
});

test("a logarithmic axis whose ticks are powers of ten ends at one if its highest value is far above the last", () => {
  const ticks = (highest: number) => {
    const data = chart([line("joined", "own", [{ x: 1, y: 1 }, { x: 2, y: highest }])], { y: { ...TIME, scale: "logarithmic" } });
    return of(series(data, 600, 260), "text", "tick").map((text) => text.text);
  };
  expect(ticks(45_941)).toContain("100,000");
  expect(ticks(15_000)).toContain("10,000");
  expect(ticks(15_000)).not.toContain("100,000");
});

test("charts below each other have their ends at one place, whatever their values", () => {
  const x: Axis = { label: "s", unit: "s", scale: "linear", highest: 10 };
  const at = (last: number) => {
    const data = chart([line("joined", "own", [{ x: 0, y: 1 }, { x: last, y: 2 }])], { x });
    return of(series(data, 600, 260), "circle", "dot").at(-1)?.x;
  };
  expect(at(5)).toBe((58 + 600 - 14) / 2);
  expect(at(10)).toBe(600 - 14);
});

test("an axis begins where the document says", () => {
  const scene = series(chart([HOLDS], { x: { ...RATE, lowest: 890 } }), 900, 260);
  expect(of(scene, "circle", "single")[0]?.x).toBeLessThan(200);
});

test("the unit of the vertical axis is beside it unless the title is the same", () => {
  const texts = (data: Series) => series(data, 600, 260).shapes.flatMap((shape) => (shape.kind === "text" ? [shape.text] : []));
  expect(texts(chart([HOLDS]))).toContain("p99, us");
  expect(texts(chart([HOLDS], { title: "p99, us" }))).not.toContain("p99, us");
});

test("without a point there is a chart without marks", () => {
  expect(series(chart([line("joined", "own", [])]), 600, 260).marks).toEqual([]);
});

test("a line is named by the chart or by a legend", () => {
  const names = (name: string) => series(chart([{ ...HOLDS, name }]), 600, 260).legend.map((entry) => entry.name);
  expect(names("p99")).toEqual([]);
  expect(names("send lag")).toEqual(["send lag"]);
});

describe("a part of a chart over a range", () => {
  const data = chart(
    [
      line("joined", "own", [
        { x: 0, y: 10 },
        { x: 4, y: 10 },
        { x: 6, y: 30 },
        { x: 8, y: null },
        { x: 10, y: 5_000 },
      ]),
    ],
    {
      x: { label: "s", unit: "s", scale: "linear" },
      marks: [
        { x: 1, text: "before" },
        { x: 5.5, text: "restart" },
      ],
      bands: [
        { from: 0, to: 2, text: "warm", tone: "other" },
        { from: 5, text: "after", tone: "own" },
      ],
    },
  );
  const scene = series(data, 900, 260, { from: 5, to: 7 });
  const [left, right] = [58, 900 - 14];

  test("has its ends at those of the axis, and the line from where it enters", () => {
    const [curve] = of(scene, "path", "curve");
    expect(curve?.d).toMatch(/^M58\.0 /);
    expect(of(scene, "circle", "dot").map((dot) => dot.x)).toEqual([(left + right) / 2]);
  });

  test("has a vertical axis for what is in it, where the line enters too", () => {
    expect(scene.marks.map((mark) => mark.name)).toEqual(["6 s"]);
    expect(of(scene, "circle", "dot")[0]?.y).toBeLessThan(60);
    const entering = series(data, 900, 260, { from: 4.5, to: 5.5 });
    expect(entering.marks).toEqual([]);
    const [, y1 = "", y2 = ""] = /^M58\.0 ([\d.]+)L886\.0 ([\d.]+)$/.exec(of(entering, "path", "curve")[0]?.d ?? "") ?? [];
    expect(Number(y1) - Number(y2)).toBeGreaterThan(50);
  });

  test("has only the events and ranges that are in it", () => {
    expect(of(scene, "line", "event")).toHaveLength(1);
    expect(scene.marks[0]?.values).toEqual(["30 us", "restart"]);
    const bands = of(scene, "rect", "band");
    expect(bands.map((band) => [band.x, band.width])).toEqual([[left, right - left]]);
  });

  test("joins what a gap divides no more than the whole does", () => {
    expect(of(series(data, 900, 260, { from: 7, to: 11 }), "path", "curve")).toEqual([]);
    expect(of(series(data, 900, 260), "path", "curve")[0]?.d.match(/M/g)).toHaveLength(1);
  });

  test("is the whole if nothing is in the range", () => {
    expect(series(data, 900, 260, { from: 20, to: 30 })).toEqual({ ...series(data, 900, 260), extent: expect.anything() });
  });

  test("shows the points that many hid", () => {
    const many = chart([line("joined", "own", Array.from({ length: 100 }, (_, x) => ({ x, y: x })))]);
    expect(of(series(many, 900, 260), "circle", "dot")).toHaveLength(0);
    expect(of(series(many, 900, 260, { from: 10, to: 20 }), "circle", "dot")).toHaveLength(11);
  });
});

test("the words of a limit are not on the trials", () => {
  const limit = (points: { x: number; y: number }[]) => {
    const scene = series(chart([line("scattered", "own", points)], { levels: [{ y: 5000, text: "p99<5ms" }], x: { ...RATE, lowest: 890 } }), 900, 260);
    return of(scene, "text", "tick").find((text) => text.text === "p99<5ms");
  };
  expect(limit([{ x: 900, y: 9000 }, { x: 1000, y: 5100 }])).toMatchObject({ anchor: "start" });
  expect(limit([{ x: 900, y: 5100 }, { x: 1000, y: 9000 }])).toMatchObject({ anchor: "end" });
});

test("the last of single points is not on the edge, and the end of a time is", () => {
  const last = of(series(chart([HOLDS]), 900, 260), "circle", "single").at(-1)?.x ?? 0;
  expect(last).toBeLessThan(900 - 14 - 10);
});

test("where lines have one place, the one that the chart is about is on top", () => {
  const points = [{ x: 1, y: 10 }, { x: 2, y: 20 }];
  const scene = series(chart([line("joined", "own", points), line("joined", "other", points)]), 600, 260);
  expect(of(scene, "path", "curve").map((shape) => shape.of)).toEqual(["curve other", "curve own"]);
  expect(scene.legend.map((entry) => entry.name)).toEqual(["joined own", "joined other"]);
});

test("a long label of the horizontal axis is within a narrow drawing, on several lines", () => {
  const data = chart([line("joined", "own", [{ x: 0, y: 1 }, { x: 0.9, y: 2 }])], { x: { label: "share of the requests that took at most this long", unit: "", scale: "nines" } });
  const labels = (width: number) => of(series(data, width, 260), "text", "axis").filter((text) => text.anchor === "middle");
  expect(labels(900).map((text) => [text.text, text.y])).toEqual([["share of the requests that took at most this long", 252]]);
  const narrow = labels(296);
  expect(narrow.map((text) => text.text).join(" ")).toBe("share of the requests that took at most this long");
  expect(narrow.length).toBeGreaterThan(1);
  expect(narrow.at(-1)?.y).toBe(252);
  for (const { text, x } of narrow) {
    expect(x + textWidth(text, 12) / 2).toBeLessThanOrEqual(296);
  }
});
