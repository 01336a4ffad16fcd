import { expect, test } from "vitest";
import { served } from "../src/live/api";
import { choiceInWords, chosenRuns, compareAddress, listAddress, MOST, reasonAgainst, toggled } from "../src/live/choice";
import type { Row, Table } from "../src/types/document";
import { parsed } from "../src/view";

const run = (name: string, kind: string, verdict = "sound"): Row => ({ name, summary: "", cells: [{ text: kind }, { text: verdict }] });
const TABLE: Table = {
  title: "runs",
  names: "run",
  columns: ["kind", "verdict"].map((heading) => ({ heading, priority: 0, is_text: true })),
  rows: [run("12", "study"), run("9", "study"), run("7", "load"), run("3", "study", "no result")],
};

test("runs are chosen in their order, and a second time no more", () => {
  let view = {};
  for (const name of ["12", "9", "7", "9"]) {
    view = { runs: toggled(chosenRuns(view), name) };
  }
  expect(chosenRuns(view)).toEqual(["12", "7"]);
  expect(toggled(["12"], "12")).toBe("");
});

test("what is no number in an address is not chosen, and nothing twice", () => {
  expect(chosenRuns({ runs: "9,../x,9,-1,12,<b>" })).toEqual(["9", "12"]);
  expect(chosenRuns({ runs: "" })).toEqual([]);
  expect(chosenRuns({ runs: "1,2,3,4,5,6,7" })).toHaveLength(MOST);
});

test("a run without a result, and one more than are shown, cannot be chosen; a chosen one can be given up", () => {
  const against = (name: string, chosen: string[]) => reasonAgainst(TABLE, TABLE.rows.find((row) => row.name === name)!, chosen);
  expect(against("9", [])).toBeUndefined();
  expect(against("3", [])).toBe("it has no result");
  const all = ["1", "2", "4", "5", "9"];
  expect(against("12", all)).toMatch(/^at most 5/);
  expect(against("9", all)).toBeUndefined();
});

test("the choice says which run is the reference, and that kinds differ", () => {
  expect(choiceInWords(TABLE, [])).toMatch(/^Choose 2 to 5 runs/);
  expect(choiceInWords(TABLE, ["9"])).toMatch(/^Run 9 is chosen/);
  expect(choiceInWords(TABLE, ["9", "12"])).toBe("Run 9 is the reference, compared with 12.");
  expect(choiceInWords(TABLE, ["9", "7"])).toMatch(/different kinds/);
  expect(choiceInWords(TABLE, ["9", "12", "1", "2"])).not.toMatch(/More than/);
  expect(choiceInWords(TABLE, ["9", "12", "1", "2", "4"])).toMatch(/More than 5 runs are not compared\.$/);
});

test("an address leads to the runs beside each other, and back to the list where they are chosen", () => {
  expect(compareAddress(["9", "12"])).toBe("/compare?runs=9,12");
  const back = listAddress(["9", "12"]);
  expect(chosenRuns(parsed(back.slice(1)))).toEqual(["9", "12"]);
});

test("a page of compared runs is told which they are", () => {
  const page = { querySelector: () => ({ dataset: { api: "/api/v1", compared: "9,12" } }) } as unknown as ParentNode;
  expect(served(page)).toEqual({ api: "/api/v1", allowsBills: false, compared: ["9", "12"] });
});
