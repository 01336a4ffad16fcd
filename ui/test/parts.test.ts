import { describe, expect, test } from "vitest";
import { fileName } from "../src/csv";
import { FINDINGS, headAndRest, partsOf, placeInView } from "../src/parts";
import type { Document, FindingText, Section, Table } from "../src/types/document";
import { changed, parsed, written } from "../src/view";

const section = (title: string, folded = false): Section => ({ title, folded, blocks: [{ note: "a note" }] });
const TABLE: Table = { title: "cost of each arm per request, its difference from `baseline`; CPU time at saturation", names: "arm", columns: [], rows: [] };
const PAGE: Document = {
  subject: "study quick",
  title: "",
  measured: null,
  answer: ["It costs 3 us"],
  changes: [],
  verdict: null,
  table: TABLE,
  is_table_plotted: false,
  headlines: [],
  notes: [],
  next: null,
  plots: [section("Cost of each arm per request")],
  findings: [],
  checks_without_finding: [],
  sections: [section("Known answers"), section("Method", true)],
  page: null,
};
const titles = (page: Document) => partsOf(page).map(({ title }) => title);

describe("the parts of a page", () => {
  test("are its answer, its charts, its table and its sections, those that are folded among them", () => {
    expect(titles(PAGE)).toEqual(["Answer", "Cost of each arm per request", "Cost of each arm per request, its difference from baseline", "Known answers", "Method"]);
  });

  test("are no parts for text alone, and no table whose values a chart has", () => {
    const hidden: Section = { title: "Hidden", folded: false, blocks: [{ text_only: { note: "a note" } }] };
    expect(titles({ ...PAGE, is_table_plotted: true, sections: [hidden, section("Method")] })).toEqual(["Answer", "Cost of each arm per request", "Method"]);
  });

  test("have the findings behind the first chart, and without one behind the table", () => {
    const finding: FindingText = { severity: "warn", id: "steal", scope: "", message: "late", measured: null, withheld: null, advice: "", protects_from: null };
    const found = { ...PAGE, findings: [finding] };
    expect(titles(found).slice(0, 3)).toEqual(["Answer", "Cost of each arm per request", "Findings"]);
    expect(titles({ ...found, plots: [] }).slice(0, 3)).toEqual(["Answer", "Cost of each arm per request", "Findings"]);
    expect(titles({ ...found, plots: [], table: null }).slice(0, 3)).toEqual(["Answer", "Findings", "Known answers"]);
    expect(partsOf(found).map(({ name }) => name)).toContain(FINDINGS);
  });

  test("have names that differ, so that each can be jumped to", () => {
    const twice = { ...PAGE, sections: [section("Method"), section("Method"), section("Sources")] };
    const names = partsOf(twice).map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names).toContain("sources");
  });

  test("tell a chart from a table of the same title", () => {
    const same = { ...PAGE, table: { ...TABLE, title: "cost of each arm per request" } };
    expect(titles(same).slice(1, 3)).toEqual(["Cost of each arm per request", "Cost of each arm per request, all numbers"]);
  });

  test("are named by their subjects, and by more where these are the same", () => {
    const all = ["In-use, open loop, 9,700 requests/s", "CPU cost by load, %", "CPU cost by load, us", "Response time cost by load, us: p50"];
    const sections = all.map((title) => section(title));
    expect(titles({ ...PAGE, table: null, sections })).toEqual([
      "Answer",
      "Cost of each arm per request",
      "In-use",
      "CPU cost by load, %",
      "CPU cost by load, us",
      "Response time cost by load",
    ]);
    expect(partsOf({ ...PAGE, table: null, sections }).map(({ name }) => name)).toContain(fileName("In-use, open loop, 9,700 requests/s"));
  });

  test("of a short page are no menu", () => {
    expect(titles({ ...PAGE, table: null, sections: [] })).toEqual([]);
  });
});

test("a title is a heading up to its semicolon, and the line below it has the rest", () => {
  expect(headAndRest("cost of each arm; CPU time; at saturation")).toEqual(["cost of each arm", "CPU time; at saturation"]);
  expect(headAndRest("Known answers")).toEqual(["Known answers", ""]);
});

describe("the part in view", () => {
  test("is the last whose heading has passed the line, and the first above all", () => {
    expect(placeInView([10, 500, 900], 80, false, -1)).toBe(0);
    expect(placeInView([-900, 80, 400], 80, false, -1)).toBe(1);
    expect(placeInView([200, 500, 900], 80, false, 2)).toBe(0);
  });

  test("is the last at the end of the page, or the one that was chosen there", () => {
    const tops = [-2000, -50, 300, 500];
    expect(placeInView(tops, 80, true, -1)).toBe(3);
    expect(placeInView(tops, 80, true, 2)).toBe(2);
    expect(placeInView(tops, 80, true, 0)).toBe(3);
  });

  test("of a page that needs no scrolling is the one that was chosen, and else the first", () => {
    expect(placeInView([60, 300, 500], 80, true, -1)).toBe(0);
    expect(placeInView([60, 300, 500], 80, true, 2)).toBe(2);
  });
});

test("a link to a part keeps what was chosen on the page", () => {
  const view = { measure: "CPU us", arm: "lua" };
  expect(parsed(written(changed(view, { part: "known-answers" })))).toEqual({ ...view, part: "known-answers" });
});
