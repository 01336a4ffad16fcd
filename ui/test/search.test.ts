import { expect, test } from "vitest";
import { found } from "../src/search";
import type { Row } from "../src/types/document";

const run = (name: string, ...cells: string[]): Row => ({ name, summary: "", cells: cells.map((text) => ({ text })) });
const ROWS = [run("12", "2026-11-29 09:15", "study", "quick"), run("11", "2026-11-28 10:00", "load", "http://Shop.test/"), run("2", "2026-11-28 11:00", "load", "quick")];
const names = (search: string) => found(ROWS, search).map((row) => row.name);

test("a search leaves the rows that have all of its words, in any order and any case", () => {
  expect(names("LOAD quick")).toEqual(["2"]);
  expect(names("quick load")).toEqual(["2"]);
  expect(names("shop")).toEqual(["11"]);
  expect(names("11-28")).toEqual(["11", "2"]);
  expect(names("nothing has this")).toEqual([]);
});

test("a search of no word leaves all", () => {
  expect(found(ROWS, "  ")).toBe(ROWS);
});

test("words do not reach from one cell into the next", () => {
  expect(names("studyquick")).toEqual([]);
});
