import { describe, expect, test } from "vitest";
import { counted, shortened } from "../src/findings";
import type { FindingText } from "../src/types/document";

const SCOPE = " [tap, route/path{routes=200} under in-use-slow, in-use-30, in-use-60, in-use-90]";
const finding = (message: string, changes: Partial<FindingText> = {}): FindingText => ({
  severity: "warn",
  id: "steal",
  scope: "",
  message,
  measured: null,
  withheld: null,
  advice: "",
  protects_from: null,
  ...changes,
});

describe("a finding on one line", () => {
  test("is whole if it is short", () => {
    const late = finding("send lag p99 was 91 us", { measured: "limit 72 us", scope: " [same under in-use]" });
    expect(shortened(late)).toEqual({ line: "Send lag p99 was 91 us (limit 72 us) [same under in-use].", whole: undefined });
  });

  test("leaves a long list of arms and loads to what is behind it", () => {
    const message = "no connection was free for 546 planned requests; 38.5 % were sent";
    const { line, whole } = shortened(finding(message, { measured: "limit 99 %", scope: SCOPE }));
    expect(line).toBe("No connection was free for 546 planned requests; 38.5 % were sent (limit 99 %) …");
    expect(whole).toBe(`No connection was free for 546 planned requests; 38.5 % were sent (limit 99 %)${SCOPE}.`);
  });

  test("has the first clauses of a long message", () => {
    const reason = "they were unsent or unfinished when their slice ended, or timed out";
    const { line, whole } = shortened(finding(`1 to 362 of 3,287 to 87,363 planned requests (0.01 to 0.49 %) have no response: ${reason}`));
    expect(line).toBe("1 to 362 of 3,287 to 87,363 planned requests (0.01 to 0.49 %) have no response …");
    expect(whole).toContain(reason);
  });

  test("ends neither at the name of an arm nor within code, and a long clause stays whole", () => {
    const long = `direct: the interval ${"of its p99 cost ".repeat(8)}is wide`;
    expect(shortened(finding(long))).toEqual({ line: `${long}.`, whole: undefined });
    const code = `the command of the caller \`run: ${"word ".repeat(20)}\` failed`;
    expect(shortened(finding(code)).whole).toBeUndefined();
  });
});

test("findings are counted by their severity, the worst first", () => {
  const all = [finding("a", { severity: "info" }), finding("b", { severity: "fail" }), finding("c", { severity: "info" })];
  expect(counted(all)).toBe("3 findings: 1 failed, 2 notes");
  expect(counted([finding("a")])).toBe("1 finding: 1 warning");
  expect(counted(all.slice(0, 2), "more ")).toBe("2 more findings: 1 failed, 1 note");
});
