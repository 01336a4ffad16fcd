import { expect, test } from "vitest";
import { provenanceParts } from "../src/provenance";
import type { Provenance } from "../src/types/document";

const ONE: Provenance = {
  started_at: "2026-11-28T23:50:44Z",
  last_started_at: null,
  duration: "7 min",
  cpu_model: "AMD EPYC",
  cpus: 2,
  is_virtual_machine: true,
  kernel: "6.18.44",
  proxy: "1.40.0",
  program: "0.1.0 (54e8ec96)",
};

test("a result says when, for how long, where and by what it was measured", () => {
  expect(provenanceParts(ONE)).toEqual(["2026-11-28 23:50 UTC", "7 min", "AMD EPYC, 2 processors, virtual machine", "Linux 6.18.44", "proxy 1.40.0", "hoptax 0.1.0 (54e8ec96)"]);
});

test("what is not known is left out", () => {
  const least = { ...ONE, started_at: "", duration: null, cpus: 1, is_virtual_machine: false, kernel: null, proxy: null };
  expect(provenanceParts(least)).toEqual(["AMD EPYC, 1 processor", "hoptax 0.1.0 (54e8ec96)"]);
  expect(provenanceParts({ ...least, cpus: 0 })[0]).toBe("AMD EPYC");
});

test("several sittings say when the first and the last began", () => {
  const several = { ...ONE, last_started_at: "2026-11-30T08:01:02.5Z" };
  expect(provenanceParts(several).slice(0, 2)).toEqual(["sittings from 2026-11-28 23:50 to 2026-11-30 08:01 UTC", "7 min in all"]);
  expect(provenanceParts({ ...ONE, last_started_at: ONE.started_at })).toEqual(provenanceParts(ONE));
});
