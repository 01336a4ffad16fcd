import { expect, test } from "vitest";
import { isProse, reasonsOf } from "../src/table";
import type { Cell, Table } from "../src/types/document";

const unknown = (why: string): Cell => ({ quantity: { text: "-", unit: "us", form: "level", basis: { unknown: why } } });
const table = (...rows: Cell[][]): Table => ({ title: "times", names: "us", columns: [], rows: rows.map((cells) => ({ name: "p50", summary: "", cells })) });

test("the reasons why numbers are not known are said once each, and only those", () => {
  const measured: Cell = { quantity: { text: "9 ±1", estimate: 9, unit: "us", form: "level", basis: "measured" } };
  expect(reasonsOf(table([unknown("withheld by steal"), measured], ["empty", unknown("too few"), unknown("withheld by steal")]))).toEqual(["withheld by steal", "too few"]);
  expect(reasonsOf(table([measured, "empty", { text: "-" }]))).toEqual([]);
});

test("checks that withhold numbers in several combinations are named once each", () => {
  const rows = ["steal and vague-cost", "offered, steal and vague-cost", "too few responses", "offered"].map((why) => [unknown(why)]);
  expect(reasonsOf(table(...rows))).toEqual(["withheld by steal, vague-cost, offered", "too few responses"]);
  expect(reasonsOf(table([unknown("steal and vague-cost")]))).toEqual(["steal and vague-cost"]);
});

test("a table of words, one of which is long, has rows as blocks on a narrow screen, and one of numbers has not", () => {
  const long = { text: "the host takes processor time away" };
  const column = (heading: string, is_text: boolean) => ({ heading, priority: 0, is_text });
  const of = (columns: Table["columns"], ...cells: Cell[]): Table => ({ ...table(cells), columns });
  const words = [column("possible", true), column("because", true)];
  expect(isProse(of(words, { text: "no" }, long))).toBe(true);
  expect(isProse(of(words, { text: "no" }, { text: "no Envoy" }))).toBe(false);
  expect(isProse(of([column("default", false), ...words], { text: "3" }, { text: "no" }, long))).toBe(true);
  const numbers = [column("low", false), column("high", false)];
  expect(isProse(of([...numbers, column("because", true)], { text: "1" }, { text: "2" }, long))).toBe(false);
  expect(isProse(of([column("range", false)], long))).toBe(false);
});
