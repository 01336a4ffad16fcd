import { describe, expect, test } from "vitest";
import { whyNot } from "../src/live/configuration";
import type { Fields } from "../src/live/fields";
import { withStudies } from "../src/live/form";
import { errorsOf, FORMS } from "../src/live/kinds";
import { MOST_BYTES } from "../src/live/kinds/bill";

const { load, find, study, bill } = FORMS;
const FILLED: Fields = { ...load.first, target: " http://127.0.0.1:8080/ " };

describe("a load", () => {
  test("has what the fields say", () => {
    expect(load.read(FILLED)).toEqual({
      body: { target: "http://127.0.0.1:8080/", rate: 1000, connections: 16, duration: "10s", warmup: "1s", protocol: "auto", fail_on: [] },
    });
  });

  test("without a rate is a closed loop, and an empty field is that of the server", () => {
    expect(load.read({ ...FILLED, rate: "", connections: " ", duration: "" })).toMatchObject({ body: { rate: null, connections: null, duration: null } });
  });

  test("fails if one of its conditions holds, each by itself", () => {
    expect(load.read({ ...FILLED, fail_on: " p99>5ms, errors>0.1% ," })).toMatchObject({ body: { fail_on: ["p99>5ms", "errors>0.1%"] } });
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
    const read = load.read({ ...FILLED, [field]: value });
    expect("errors" in read && Object.keys(read.errors.fields)).toEqual([field]);
  });

  test("that the server can judge is sent", () => {
    expect(load.read({ ...FILLED, rate: "-1", connections: "10001", duration: "soon" })).toMatchObject({ body: { rate: -1, connections: 10001, duration: "soon" } });
  });
});

describe("a search", () => {
  const filled: Fields = { ...find.first, target: "http://127.0.0.1:8080/" };

  test("has what the fields say, each objective by itself", () => {
    expect(find.read({ ...filled, objectives: " p99<5ms, errors<0.1% ,", max_rate: "2e3" })).toEqual({
      body: {
        target: "http://127.0.0.1:8080/",
        objectives: ["p99<5ms", "errors<0.1%"],
        preset: "quick",
        min_rate: null,
        max_rate: 2000,
        connections: 16,
        budget: null,
        protocol: "auto",
      },
    });
  });

  test("needs a target and an objective, and numbers for rates", () => {
    const read = find.read({ ...find.first, objectives: " ", min_rate: "slow" });
    expect("errors" in read && Object.keys(read.errors.fields).toSorted()).toEqual(["min_rate", "objectives", "target"]);
  });
});

describe("a study", () => {
  const studies = [
    { study: "proxies", question: "Which proxy is cheaper?", takes: "about 4 min and 1 GB of memory", needs: ["HAProxy"] },
    { study: "quick", question: "What does each function cost?", takes: "about 6 min and 0.6 GB of memory", needs: [] },
  ];
  const [input] = study.inputs;

  test("is one of those that the server has, beside its question and what it takes", () => {
    const hint = "What does each function cost? It takes about 6 min and 0.6 GB of memory.";
    expect(input !== undefined && withStudies(input, studies, "quick")).toMatchObject({ choices: ["proxies", "quick"], hint });
    expect(input !== undefined && withStudies(input, studies, "proxies").hint).toBe("Which proxy is cheaper? It takes about 4 min and 1 GB of memory. It needs HAProxy.");
    expect(input !== undefined && withStudies(input, [], "quick")).toMatchObject({ choices: ["quick"], hint: "" });
  });

  test("has a time", () => {
    expect(study.read({ ...study.first, budget: " " })).toEqual({ body: { study: "quick", budget: null } });
  });
});

describe("a bill", () => {
  test("has the text as it is, for its indentation has a meaning", () => {
    const text = "  static_resources:\n    listeners: []\n";
    expect(bill.read({ ...bill.first, configuration: text, name: "edge.yaml" })).toMatchObject({ body: { configuration: text, name: "edge.yaml", rate: null, budget: "5m" } });
  });

  test("needs a configuration", () => {
    const read = bill.read({ ...bill.first, configuration: "\n " });
    expect("errors" in read && Object.keys(read.errors.fields)).toEqual(["configuration"]);
  });

  test("is of one file, which is not too large", () => {
    const file = (size: number) => ({ name: "edge.yaml", size });
    expect(whyNot([file(MOST_BYTES)])).toBeUndefined();
    expect(whyNot([])).toContain("not a file");
    expect(whyNot([file(1), file(1)])).toContain("2 files");
    expect(whyNot([file(MOST_BYTES + 1)])).toContain("4 MiB");
  });
});

test("kinds have the words of the commands", () => {
  expect(Object.values(FORMS).map((form) => form.name.toLowerCase())).toEqual(["load", "find", "study", "price"]);
});

test("every kind has all fields that it begins with, and begins with all of its fields", () => {
  for (const form of Object.values(FORMS)) {
    expect(form.inputs.map((input) => input.name).toSorted()).toEqual(Object.keys(form.first).toSorted());
  }
});

describe("an error of the API", () => {
  test("is beside each field that it is about", () => {
    expect(errorsOf("`rate`: it must be above 0\n`duration`: it must be at most 1h")).toEqual({
      fields: { rate: "it must be above 0", duration: "it must be at most 1h" },
      words: [],
    });
  });

  test("has all that is said of one field", () => {
    expect(errorsOf("`objectives`: no a\n`objectives`: no b").fields).toEqual({ objectives: "no a no b" });
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
