// The colours of the page against each other, in both themes (WCAG 2.2, 1.4.3 and 1.4.11).

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fills } from "../src/chart/bars";

const css = readFileSync(new URL("../src/style/colours.css", import.meta.url), "utf8");
const THEMES = ["light", "dark"] as const;
/** Ratios of texts, and of parts of graphics and of controls. */
const [TEXT, GRAPHIC] = [4.5, 3];

/** Red, green, blue and opacity, 0 to 1. */
type Colour = [red: number, green: number, blue: number, opacity: number];

function colour(hex: string): Colour {
  const digits = hex.length < 6 ? [...hex.slice(1)].map((digit) => digit + digit) : (hex.slice(1).match(/../g) ?? []);
  const [red = 0, green = 0, blue = 0, opacity = 1] = digits.map((two) => Number.parseInt(two, 16) / 255);
  return [red, green, blue, opacity];
}

/** The names of the style sheet with their colours, light and dark. */
const COLOURS = new Map(
  [...css.matchAll(/^  --([\w-]+): (?:light-dark\((#\w+), (#\w+)\)|(#\w+));$/gm)].map(([, name = "", light = "", dark = "", both]) => [name, [colour(both ?? light), colour(both ?? dark)]]),
);

/** A colour of the style sheet on the page. */
function named(name: string, theme: number): Colour {
  const found = COLOURS.get(name)?.[theme];
  const page = COLOURS.get("page")?.[theme];
  if (found === undefined || page === undefined) {
    throw new Error(`there is no colour ${name}`);
  }
  return found.map((value, place) => (place === 3 ? 1 : value * found[3] + (page[place] ?? 0) * (1 - found[3]))) as Colour;
}

/** Light of linear red, green and blue. */
function light([red, green, blue]: number[]): number {
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

function luminance(of: Colour): number {
  return light(of.slice(0, 3).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)));
}

/** The luminance of a colour of Oklab by its lightness, chroma and hue, as far as a screen has it (Ottosson 2020). */
function luminanceOfOklch(lightness: number, chroma: number, hue: number): number {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s, -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s, -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
  return light(linear.map((value) => Math.min(1, Math.max(0, value))));
}

function ratio(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function between(one: string, other: string, theme: number): number {
  return ratio(luminance(named(one, theme)), luminance(named(other, theme)));
}

const GROUNDS = ["page", "panel"];
const BANDS = ["band-own", "band-other", "band-third", "band-failed"];
const BARS = ["bar-own", "bar-other", "bar-third"];
const FRAMES = ["frame", "more-1", "more-2", "more-3", "less-1", "less-2", "less-3"];

/** Pairs of texts and what is behind them. */
const TEXTS: [string[], string[]][] = [
  [["ink", "soft", "own", "sound", "caution", "void"], GROUNDS],
  [["ink", "soft"], ["chosen", ...BANDS]],
  [["ink"], FRAMES],
  // The words of a button.
  [["page"], ["own"]],
];
/** Pairs of what is drawn, edges of controls and the outline of the focus, and what is beside them. */
const GRAPHICS: [string[], string[]][] = [
  [["edge", "own"], [...GROUNDS, "chosen", ...BANDS]],
  [["other", "third", "fourth", "fifth", "failed", "sound"], ["page", "chosen", ...BANDS]],
  [["edge"], ["line"]],
  [BARS, ["page"]],
  [["ink"], [...BARS, ...FRAMES]],
  // The sign in the mark of a verdict.
  [["panel"], ["sound", "caution", "void"]],
];

function pairs(all: [string[], string[]][]): [string, string][] {
  return all.flatMap(([ones, others]) => ones.flatMap((one) => others.map((other): [string, string] => [one, other])));
}

describe.each(THEMES.map((name, place) => [name, place] as const))("in the %s theme", (_, theme) => {
  test.each(pairs(TEXTS))("%s is read on %s", (one, other) => {
    expect(between(one, other, theme)).toBeGreaterThanOrEqual(TEXT);
  });

  test.each(pairs(GRAPHICS))("%s is seen on %s", (one, other) => {
    expect(between(one, other, theme)).toBeGreaterThanOrEqual(GRAPHIC);
  });

  test("each piece of a bar is seen on the page", () => {
    const names = ["kernel", "proxy", "a", "b", "c", "d"].flatMap((name) => Array.from({ length: 10 }, (_, number) => `${name} ${number}`));
    const page = luminance(named("page", theme));
    for (const fill of fills(names)) {
      const shades = [...fill.matchAll(/oklch\((\d+)% ([\d.]+) (\d+)\)/g)].map(([, lightness, chroma, hue]) => luminanceOfOklch(Number(lightness) / 100, Number(chroma), Number(hue)));
      expect(ratio(shades[theme] ?? page, page), fill).toBeGreaterThanOrEqual(GRAPHIC);
    }
  });
});

test("a ratio is that of the definition", () => {
  expect(ratio(luminance(colour("#fff")), luminance(colour("#000000")))).toBeCloseTo(21);
  expect(ratio(luminance(colour("#777777")), luminance(colour("#fff")))).toBeCloseTo(4.48, 2);
  expect(luminanceOfOklch(1, 0, 0)).toBeCloseTo(1);
});
