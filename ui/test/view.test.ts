import { expect, test } from "vitest";
import { changed, parsed, tablesOf, withTableOf, written } from "../src/view";

test("a view is read from the address that it was written to", () => {
  const view = { measure: "CPU us", text: "jwt & co=#1", arm: "route/path{routes=200}" };
  expect(parsed(written(view))).toEqual(view);
});

test("a choice that is taken back leaves nothing in the address", () => {
  expect(written(changed({ text: "jwt" }, { text: "" }))).toBe("");
});

test("a link keeps the charts whose tables are shown, until their charts are shown again", () => {
  const one = changed({ arm: "lua" }, withTableOf({}, "p50, us"));
  const both = changed(one, withTableOf(one, "CPU per request, us"));
  expect(tablesOf(parsed(written(both)))).toEqual(["p50, us", "CPU per request, us"]);
  const other = changed(both, withTableOf(both, "p50, us"));
  expect(tablesOf(other)).toEqual(["CPU per request, us"]);
  expect(changed(other, withTableOf(other, "CPU per request, us"))).toEqual({ arm: "lua" });
});
