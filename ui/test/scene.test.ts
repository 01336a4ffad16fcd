import { expect, test } from "vitest";
import { forest, type ForestRow } from "../src/chart/forest";
import { fitted, linesOf, textWidth, tickTexts } from "../src/chart/scene";

// Their widths in DejaVu Sans at 13 px.
test.each([
  ["CPU time per request", 139.5],
  ["baseline in run 12: memory per connection, kB", 306.1],
  ["check-token/dynamic-modules{algorithm=rs256,claims=40}", 400.1],
  ["memory per proxy, MiB", 153.1],
  ["+12.34 ±0.56", 92.1],
])("the width of `%s` is not taken for less than it is in a wide font, nor for much more", (text, width) => {
  expect(textWidth(text)).toBeGreaterThanOrEqual(width);
  expect(textWidth(text)).toBeLessThan(1.15 * width);
});

test("a text that is too long is cut in its middle until it fits", () => {
  const names = ["wasm/mmmmmmmmmmmmmmmmmmmmmmmmmmmmmm", "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", "lllllllllllllllllllllllllllllllllllllllllll"];
  for (const name of names) {
    const cut = fitted(name, 150);
    expect(textWidth(cut)).toBeLessThanOrEqual(150);
    expect(cut).toContain("…");
    expect(name.startsWith(cut.split("…")[0] ?? "-") && name.endsWith(cut.split("…")[1] ?? "-")).toBe(true);
    // Another letter has no room.
    expect(textWidth(cut)).toBeGreaterThan(150 - 2 * textWidth("m"));
  }
  expect(fitted("jwt", 150)).toBe("jwt");
  expect(fitted("jwt-authentication", 4)).toBe("jwt-authentication");
});

test.each([620, 700, 1200])("no label of a plot begins before its left edge at a width of %i pixels, and its mark has the whole name", (width) => {
  const label = "wasm/MMMMMM{memory=mmmmmmmmmm}: CPU time per request of its own kind in WWWWWWWWWWWWWWWW";
  const row: ForestRow = { id: "1", label, value: "+1 ±1", estimate: 1, low: 0, high: 2, isBounded: false, note: "", family: "x" };
  const scene = forest([row], { axis: "us", band: null, isLinear: false }, width);
  const labels = scene.shapes.filter((shape) => shape.kind === "text" && shape.anchor === "end" && shape.of.startsWith("label"));
  expect(labels).toHaveLength(1);
  for (const shape of labels) {
    expect(shape.kind === "text" && shape.x - textWidth(shape.text) >= 0, JSON.stringify(shape)).toBe(true);
  }
  expect(scene.marks[0]?.name).toBe(label);
});

test("a text is as many lines as it needs, none wider than there is room", () => {
  const text = "share of the requests that took at most this long";
  const lines = linesOf(text, 250, 12);
  expect(lines.length).toBe(2);
  expect(lines.join(" ")).toBe(text);
  expect(lines.every((line) => textWidth(line, 12) <= 250)).toBe(true);
  expect(linesOf(text, 600, 12)).toEqual([text]);
});

test("a label of an axis that was moved into the drawing is on no other", () => {
  const ticks = [100_000, 1_000_000, 10_000_000].map((value, place) => ({ at: 130 + 80 * place, label: value.toLocaleString("en-US") }));
  const texts = (width: number) => tickTexts(ticks, 10, width).map((shape) => (shape.kind === "text" ? shape.text : ""));
  expect(texts(400)).toEqual(["100,000", "1,000,000", "10,000,000"]);
  expect(texts(296)).toEqual(["100,000", "1,000,000"]);
});
