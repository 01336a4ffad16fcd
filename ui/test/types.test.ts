import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { files, types } from "../build/types.mjs";

test.each(files)("the types $name are those of the OpenAPI document", async (file) => {
  expect(readFileSync(file.target, "utf8")).toBe(await types(file));
});
