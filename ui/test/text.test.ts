import { expect, test } from "vitest";
import { csv } from "../src/csv";
import { addressParts, bare, inert, knobParts, nameParts, unbroken } from "../src/text";

test("names where no element can be have no marks of code", () => {
  expect(bare("busy of `gateway`, `cart`")).toBe("busy of gateway, cart");
});

test("a number of a sentence is on one line with its interval and its unit", () => {
  const spaces = (text: string) => unbroken(text).replaceAll("\u00a0", "_");
  expect(spaces("It takes 146.4 ±3.1 us and +43.2 ±1.9 % (5 of 12 arms)")).toBe("It takes 146.4_±3.1_us and +43.2_±1.9_% (5 of 12 arms)");
  expect(spaces("63 MiB in 422 s, 5 shops")).toBe("63_MiB in 422_s, 5 shops");
  expect(spaces("p99 ≥ 134 us")).toBe("p99 ≥_134_us");
});

test("addresses of pages are parts of a text, without what ends a sentence or a list, and nothing else is an address", () => {
  const [issue, page] = ["https://github.com/envoyproxy/envoy/issues/9112", "https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto#a-b"];
  expect(addressParts(`Source: ${issue}; ${page}.`)).toEqual(["Source: ", issue, "; ", page, "."]);
  expect(addressParts(`(${issue}), docs/README.md`)).toEqual(["(", issue, "), docs/README.md"]);
  expect(addressParts("http://127.0.0.1:8080/ and javascript:alert(1) and https://")).toHaveLength(1);
});

test("a name breaks between its parts, and not within a rate", () => {
  expect(nameParts("route/mirror (5,500/s)")).toEqual(["route/", "mirror (5,500/s)"]);
  expect(nameParts("jwt{alg=ES256,claims=40}")).toEqual(["jwt", "{alg=ES256,", "claims=40}"]);
  expect(nameParts("rate-limit")).toEqual(["rate-limit"]);
});

test("a long knob breaks before its value and not before its brace, and a name of a sentence before its knobs", () => {
  expect(nameParts("rate-limit/local{bucket=connection}")).toEqual(["rate-limit/", "local", "{bucket=", "connection}"]);
  expect(nameParts("ext-proc{parts=bodies} (5,500/s)")).toEqual(["ext-proc", "{parts=bodies} (5,500/s)"]);
  expect(knobParts("ext-proc{parts=bodies} (5,500/s) adds more than jwt{alg=ES256}")).toEqual(["ext-proc", "{parts=bodies} (5,500/s) adds more than jwt", "{alg=ES256}"]);
  expect(knobParts("no knobs: { and {}")).toEqual(["no knobs: { and {}"]);
});

test("letters that nobody sees are written out, and lines and columns stay", () => {
  expect(inert("a\tb\n\u001b[31mred\u0007 \u009b0m \u202eevil\u2066 é … ±")).toBe("a\tb\n\\u{1b}[31mred\\u{7} \\u{9b}0m \\u{202e}evil\\u{2066} é … ±");
  expect(bare("`a\u001b`")).toBe("a\\u{1b}");
});

test("a file of rows has the words of the page, and lines of its own", () => {
  expect(csv([["arm", "CPU, us"], ["`jwt`\u001b[2J", "5\n6"]])).toBe('arm,"CPU, us"\r\njwt\\u{1b}[2J,"5\n6"\r\n');
});

test("no name is run as a formula by a spreadsheet, and numbers stay numbers", () => {
  for (const formula of ["=1+1", "+1+1", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "＝1", "-1+HYPERLINK(A1)", "+A1", "+1*A1", "-A1"]) {
    expect(csv([[formula]]), formula).toMatch(/^"?'/);
  }
  for (const number of ["+5.2 ±1.4 ?", "-119 to +439", "-12,002 to +8,405", "+0.36 ±0.75 % ?", "-10.4 *", "+228 (+171 to +304) us", "-4,789 ±125", "-", "jwt"]) {
    expect(csv([[number]]).replaceAll('"', ""), number).toBe(`${number}\r\n`);
  }
});
