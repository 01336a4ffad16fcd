import { expect, test } from "vitest";
import { changed, isListed, parsed, withListed, written, type View } from "../src/view";

test("a view is read from the address that it was written to", () => {
  const view = { measure: "CPU us", text: "jwt & co=#1", arm: "route/path{routes=200}" };
  expect(parsed(written(view))).toEqual(view);
});

test("a choice that is taken back leaves nothing in the address", () => {
  expect(written(changed({ text: "jwt" }, { text: "" }))).toBe("");
});

test("a link keeps the charts whose tables are shown, until their charts are shown again", () => {
  const charts = ["p50, us", "CPU per request, us"] as const;
  const toggled = (view: View, chart: string) => changed(view, withListed(view, "tables", chart));
  const shown = (view: View) => charts.filter((chart) => isListed(view, "tables", chart));
  const one = toggled({ arm: "lua" }, charts[0]);
  const both = toggled(one, charts[1]);
  expect(shown(parsed(written(both)))).toEqual(charts);
  const other = toggled(both, charts[0]);
  expect(shown(other)).toEqual([charts[1]]);
  expect(toggled(other, charts[1])).toEqual({ arm: "lua" });
});

test("a name with what separates names is one name, and lists do not mix", () => {
  const view = changed({ tables: "GET /a" }, withListed({}, "open", "GET /a|b"));
  expect(isListed(parsed(written(view)), "open", "GET /a|b")).toBe(true);
  expect(isListed(view, "open", "GET /a")).toBe(false);
  expect(isListed(view, "tables", "GET /a|b")).toBe(false);
  expect(changed(view, withListed(view, "open", "GET /a|b"))).toEqual({ tables: "GET /a" });
});
