import { expect, test } from "vitest";
import { changed, parsed, written } from "../src/view";

test("a view is read from the address that it was written to", () => {
  const view = { measure: "CPU us", text: "jwt & co=#1", arm: "route/path{routes=200}" };
  expect(parsed(written(view))).toEqual(view);
});

test("a choice that is taken back leaves nothing in the address", () => {
  expect(written(changed({ text: "jwt" }, { text: "" }))).toBe("");
});
