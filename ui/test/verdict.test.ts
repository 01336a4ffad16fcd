import { expect, test } from "vitest";
import { VERDICTS } from "../src/text";
import { MARKS } from "../src/verdict";

test("each verdict has a mark that is told from the others without its colour", () => {
  const marks = Object.values(MARKS);
  expect(Object.keys(MARKS)).toEqual(Object.keys(VERDICTS));
  expect(new Set(marks.map(({ outline }) => outline)).size).toBe(marks.length);
  expect(new Set(marks.map(({ sign }) => sign)).size).toBe(marks.length);
});
