import { expect, test } from "vitest";
import { nextOrder, ordered, orderOf, withOrder, type Order } from "../src/order";
import type { Cell, Row, Table } from "../src/types/document";
import { changed, parsed, written } from "../src/view";

const measured = (estimate: number): Cell => ({ quantity: { text: `${estimate} ±1`, estimate, unit: "us", form: "level", basis: "measured" } });
const bounded = (low: number): Cell => ({ quantity: { text: `≥ ${low}`, low, unit: "us", form: "level", basis: "bounded" } });
const UNKNOWN: Cell = { quantity: { text: "-", unit: "us", form: "level", basis: { unknown: "too few slices" } } };
const row = (name: string, ...cells: Cell[]): Row => ({ name, summary: "", cells });
const TABLE: Table = {
  title: "Costs",
  names: "arm",
  columns: [
    { heading: "CPU us", priority: 0, is_text: false },
    { heading: "p50", priority: 0, is_text: false },
    { heading: "kind", priority: 0, is_text: true },
  ],
  rows: [
    row("lua", measured(9), { text: "1,200 ±3" }, { text: "filter" }),
    row("jwt", UNKNOWN, { text: "-5 ±2" }, { text: "10 keys" }),
    row("rbac", bounded(40), "empty", { text: "9 keys" }),
    row("cors", measured(10), { text: "≥ 900" }, { text: "" }),
  ],
};
const names = (order: Order | undefined) => ordered(TABLE, order).map(({ name }) => name);

test("without an order, rows are in that of the document", () => {
  expect(ordered(TABLE, undefined)).toBe(TABLE.rows);
  expect(names({ column: 9, isRising: true })).toEqual(["lua", "jwt", "rbac", "cors"]);
});

test("numbers are ordered by their values, bounds by theirs, and what is not known is last in both directions", () => {
  expect(names({ column: 1, isRising: false })).toEqual(["rbac", "cors", "lua", "jwt"]);
  expect(names({ column: 1, isRising: true })).toEqual(["lua", "cors", "rbac", "jwt"]);
  expect(names({ column: 2, isRising: false })).toEqual(["lua", "cors", "jwt", "rbac"]);
});

test("words are ordered as words, numbers in them by their values", () => {
  expect(names({ column: 0, isRising: true })).toEqual(["cors", "jwt", "lua", "rbac"]);
  expect(names({ column: 3, isRising: true })).toEqual(["rbac", "jwt", "lua", "cors"]);
});

test("dates and versions are no numbers", () => {
  const rows = ["2026-11-29 09:15", "2026-11-28 10:00", "1.40.0", "1.9.0"].map((name) => row(name));
  const order = { column: 0, isRising: true };
  expect(ordered({ ...TABLE, rows }, order).map(({ name }) => name)).toEqual(["1.9.0", "1.40.0", "2026-11-28 10:00", "2026-11-29 09:15"]);
  expect(nextOrder({ ...TABLE, rows }, undefined, 0)).toEqual({ column: 0, isRising: true });
});

test("a column is chosen in both directions, and then no more", () => {
  const chosen = (column: number) => {
    const first = nextOrder(TABLE, { column: 7, isRising: true }, column);
    const second = nextOrder(TABLE, first, column);
    return [first?.isRising, second?.isRising, nextOrder(TABLE, second, column)];
  };
  expect(chosen(1)).toEqual([false, true, undefined]);
  expect(chosen(3)).toEqual([true, false, undefined]);
});

test("a link keeps the order of each table", () => {
  const falling = { column: 1, isRising: false };
  const one = changed({ arm: "lua" }, withOrder({}, "costs", falling));
  const both = changed(one, withOrder(one, "frames", { column: 0, isRising: true }));
  const linked = parsed(written(both));
  expect([orderOf(linked, "costs"), orderOf(linked, "frames"), orderOf(linked, "others")]).toEqual([falling, { column: 0, isRising: true }, undefined]);
  const other = changed(linked, withOrder(linked, "costs", undefined));
  expect([orderOf(other, "costs"), orderOf(other, "frames")]).toEqual([undefined, { column: 0, isRising: true }]);
  expect(changed(other, withOrder(other, "frames", undefined))).toEqual({ arm: "lua" });
  expect(orderOf({ sort: "costs.x.up" }, "costs")).toBeUndefined();
});
