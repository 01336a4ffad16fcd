import { expect, test } from "vitest";
import { forest, type ForestRow } from "../src/chart/forest";
import { fitted, textWidth } from "../src/chart/scene";

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
