import { expect, test } from "vitest";
import { fitted, told } from "../src/headlines";
import type { Cell, Headline, Quantity } from "../src/types/document";

const measured: Quantity = { text: "27.41 ±0.32", estimate: 27.41, low: 27.09, high: 27.73, unit: "us", form: "level", basis: "measured" };
const headline = (value: Cell, note: string | null = null): Headline => ({ name: "p50", value, note });

test("a number is shown with its interval, its unit and its note", () => {
  expect(told(headline({ quantity: measured }, "at 4,000 requests/s"))).toEqual({ number: "27.41 ±0.32", unit: "us", words: ["at 4,000 requests/s"], isFaint: false });
  expect(told(headline({ text: "5 of 6" }))).toEqual({ number: "5 of 6", unit: "", words: [], isFaint: false });
});

test("a unit that is the name is said once", () => {
  const cores: Headline = { name: "cores", value: { quantity: { ...measured, unit: "cores" } }, note: null };
  expect(told(cores)).toMatchObject({ number: "27.41 ±0.32", unit: "" });
  expect(told({ ...cores, name: "cores of the proxy" })).toMatchObject({ unit: "cores" });
});

test("a number that is withheld is there, with the reason before the note", () => {
  const unknown: Quantity = { text: "-", unit: "us", form: "level", basis: { unknown: "withheld by steal" } };
  expect(told(headline({ quantity: unknown }, "of `lua`"))).toEqual({ number: "not known", unit: "", words: ["withheld by steal", "of `lua`"], isFaint: true });
});

test("bounds and predictions say that they are no measured numbers", () => {
  const bound: Quantity = { text: "≥ 12", low: 12, unit: "us", form: "level", basis: "bounded" };
  expect(told(headline({ quantity: bound }))).toEqual({ number: "≥ 12", unit: "us", words: ["only bounded"], isFaint: true });
  expect(told(headline({ quantity: { ...measured, basis: "predicted" } }, "`cart`")).words).toEqual(["predicted", "`cart`"]);
});

test("a number that fits into its card is on one line with its interval, and a longer one breaks before that", () => {
  expect(fitted("0.4856 ±0.0090")).toBe("0.4856\u00a0±0.0090");
  expect(fitted("+1,234.5 ±1,082.3")).toBe("+1,234.5 ±1,082.3");
  expect(fitted("-12 to +17")).toBe("-12 to +17");
});
