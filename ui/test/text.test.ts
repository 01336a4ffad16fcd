import { expect, test } from "vitest";
import { bare, inert, unbroken } from "../src/text";

test("names where no element can be have no marks of code", () => {
  expect(bare("busy of `gateway`, `cart`")).toBe("busy of gateway, cart");
});

test("a number of a sentence is on one line with its interval and its unit", () => {
  const spaces = (text: string) => unbroken(text).replaceAll("\u00a0", "_");
  expect(spaces("It takes 146.4 ±3.1 us and +43.2 ±1.9 % (5 of 12 arms)")).toBe("It takes 146.4_±3.1_us and +43.2_±1.9_% (5 of 12 arms)");
  expect(spaces("63 MiB in 422 s, 5 shops")).toBe("63_MiB in 422_s, 5 shops");
  expect(spaces("p99 ≥ 134 us")).toBe("p99 ≥_134_us");
});

test("letters that nobody sees are written out, and lines and columns stay", () => {
  expect(inert("a\tb\n\u001b[31mred\u0007 \u009b0m \u202eevil\u2066 é … ±")).toBe("a\tb\n\\u{1b}[31mred\\u{7} \\u{9b}0m \\u{202e}evil\\u{2066} é … ±");
  expect(bare("`a\u001b`")).toBe("a\\u{1b}");
});
