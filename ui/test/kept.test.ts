import { describe, expect, test } from "vitest";
import { changesOf, fieldsOf, isKept, textOf } from "../src/live/kept";
import { FORMS } from "../src/live/kinds";
import { changed, parsed, written } from "../src/view";

const { load, find, study, bill } = FORMS;

describe("what is filled in", () => {
  test("is in the address, and what is as it is first is not", () => {
    const fields = { ...load.first, target: "http://a.test/?b=1&c=#d", rate: "", duration: "1m 30s" };
    const view = changed({ search: "nightly" }, changesOf(load, fields));
    expect(view).toEqual({ search: "nightly", target: "http://a.test/?b=1&c=#d", rate: " ", duration: "1m 30s" });
    expect(fieldsOf(load, parsed(written(view)))).toEqual(fields);
    expect(textOf(load, fieldsOf(load, view))).toBe(textOf(load, fields));
    expect(textOf(load, fields)).not.toBe(textOf(load, load.first));
    expect(textOf(study, study.first)).not.toBe(textOf(load, load.first));
    expect(changed(view, changesOf(load, load.first))).toEqual({ search: "nightly" });
  });

  test("is read from the address of a run, as the server writes it", () => {
    const address = "start=load&target=http%3A%2F%2F127.0.0.1%3A8080%2F&connections=8&protocol=http1&rate=+&duration=1m+30s&warmup=0s&fail_on=p99%3E5ms%2C+errors%3E0.1%25";
    expect(fieldsOf(load, parsed(address))).toEqual({ target: "http://127.0.0.1:8080/", rate: "", connections: "8", duration: "1m 30s", warmup: "0s", protocol: "http1", fail_on: "p99>5ms, errors>0.1%" });
    expect(load.read(fieldsOf(load, parsed(address)))).toMatchObject({ body: { rate: null, duration: "1m 30s", fail_on: ["p99>5ms", "errors>0.1%"] } });
  });

  test("of another kind is left out when a kind is chosen", () => {
    const view = changed({}, changesOf(load, { ...load.first, target: "http://a.test/", rate: "5" }));
    expect(changed(view, changesOf(find, { ...find.first, objectives: "p50<1ms" }))).toEqual({ objectives: "p50<1ms" });
    expect(changed(view, changesOf(study, study.first))).toEqual({});
    expect(changed(view, changesOf(bill, { ...bill.first, configuration: "a: 1", rate: "9" }))).toEqual({});
  });

  test("has no choice that there is not, and a configuration has no room", () => {
    expect(fieldsOf(load, { protocol: "http4" })["protocol"]).toBe("auto");
    expect([load, find, study, bill].map(isKept)).toEqual([true, true, true, false]);
  });
});
