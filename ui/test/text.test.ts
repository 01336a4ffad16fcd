import { expect, test } from "vitest";
import { bare, unbroken } from "../src/text";

test("names where no element can be have no marks of code", () => {
  expect(bare("busy of `gateway`, `cart`")).toBe("busy of gateway, cart");
});

test("a number of a sentence is on one line with its interval and its unit", () => {
  const spaces = (text: string) => unbroken(text).replaceAll("\u00a0", "_");
  expect(spaces("It takes 146.4 ±3.1 us and +43.2 ±1.9 % (5 of 12 arms)")).toBe("It takes 146.4_±3.1_us and +43.2_±1.9_% (5 of 12 arms)");
});
