import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { target, types } from "../build/types.mjs";

test("the types are those of the schema", async () => {
  expect(readFileSync(target, "utf8")).toBe(await types());
});
