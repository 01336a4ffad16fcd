import { describe, expect, test } from "vitest";
import { errorsOf, FIRST, wanted, type Fields } from "../src/live/fields";

const FILLED: Fields = { ...FIRST, target: " http://127.0.0.1:8080/ " };

describe("a load", () => {
  test("has what the fields say", () => {
    expect(wanted(FILLED)).toEqual({
      load: { target: "http://127.0.0.1:8080/", rate: 1000, connections: 16, duration: "10s", warmup: "1s", protocol: "auto" },
    });
  });

  test("without a rate is a closed loop, and an empty field is that of the server", () => {
    expect(wanted({ ...FILLED, rate: "", connections: " ", duration: "" })).toMatchObject({ load: { rate: null, connections: null, duration: null } });
  });

  test.each([
    ["target", "  "],
    ["rate", "fast"],
    ["rate", "1e999"],
    ["rate", "1,000"],
    ["rate", "0x10"],
    ["connections", "1.5"],
    ["connections", "-1"],
    ["connections", "16 or so"],
  ])("with a %s of %j is not sent, for it would be another one", (field, value) => {
    const read = wanted({ ...FILLED, [field]: value });
    expect("errors" in read && Object.keys(read.errors.fields)).toEqual([field]);
  });

  test("that the server can judge is sent", () => {
    expect(wanted({ ...FILLED, rate: "-1", connections: "10001", duration: "soon" })).toMatchObject({ load: { rate: -1, connections: 10001, duration: "soon" } });
  });
});

describe("an error of the API", () => {
  test("is beside each field that it is about", () => {
    expect(errorsOf("`rate`: it must be above 0\n`duration`: it must be at most 1h")).toEqual({
      fields: { rate: "it must be above 0", duration: "it must be at most 1h" },
      words: [],
    });
  });

  test("goes on in lines without a field", () => {
    expect(errorsOf("`target`: no URL\nuse another").fields).toEqual({ target: "no URL use another" });
  });

  test("is in words if it is about no field of the form", () => {
    const busy = "job 1 runs, and loads would disturb each other: wait for its end";
    expect(errorsOf(busy)).toEqual({ fields: {}, words: [busy] });
    expect(errorsOf("`constructor`: no field").words).toEqual(["`constructor`: no field"]);
  });
});
