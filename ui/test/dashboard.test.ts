import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const dashboard = JSON.parse(readFileSync(new URL("../../docs/reference/grafana-dashboard.json", import.meta.url), "utf8"));

/** Faults of dashboards, none of which the types of Grafana may let pass. */
const FAULTS: Record<string, (wrong: typeof dashboard) => void> = {
  "a-colour-that-is-none": (wrong) => (wrong.panels[0].fieldConfig.defaults.color.mode = "palette"),
  "a-form-of-lines-that-is-none": (wrong) => (wrong.panels[0].fieldConfig.defaults.custom.drawStyle = "curve"),
  "a-key-of-lines-that-is-none": (wrong) => (wrong.panels[0].fieldConfig.defaults.custom.width = 1),
  "a-threshold-that-is-a-text": (wrong) => (wrong.panels[4].fieldConfig.defaults.thresholds.steps[1].value = "256"),
  "a-legend-without-its-place": (wrong) => delete wrong.panels[0].options.legend.placement,
  "a-panel-of-another-kind": (wrong) => (wrong.panels[0].type = "graph"),
  "a-key-of-a-panel-that-is-none": (wrong) => (wrong.panels[0].height = 8),
  "a-place-without-its-width": (wrong) => delete wrong.panels[0].gridPos.w,
  "a-query-without-its-id": (wrong) => delete wrong.panels[0].targets[0].refId,
  "a-variable-of-a-kind-that-is-none": (wrong) => (wrong.templating.list[0].type = "source"),
  "a-version-that-is-a-text": (wrong) => (wrong.schemaVersion = "39"),
};

/** What the compiler finds in each dashboard, by its name. */
function findings(dashboards: Record<string, unknown>): Map<string, string[]> {
  const folder = mkdtempSync(join(tmpdir(), "hoptax-dashboard-"));
  try {
    const of = JSON.stringify(join(root, "test/grafana"));
    // JSON that is imported has texts where the types have names; in a source it has the texts themselves.
    for (const [name, value] of Object.entries(dashboards)) {
      writeFileSync(join(folder, `${name}.ts`), `import type { Dashboard } from ${of};\nexport const dashboard: Dashboard = ${JSON.stringify(value, null, 1)};\n`);
    }
    const compilerOptions = { target: "ES2022", module: "ESNext", moduleResolution: "bundler", types: [], strict: true, skipLibCheck: true, noEmit: true };
    const files = Object.keys(dashboards).map((name) => `${name}.ts`);
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const { stdout, error } = spawnSync(join(root, "node_modules/.bin/tsc"), ["--project", folder, "--pretty", "false"], { encoding: "utf8" });
    expect(error).toBeUndefined();
    const found = new Map<string, string[]>();
    for (const [, file = "", what = ""] of stdout.matchAll(/^(.+)\.ts\(\d+,\d+\): error (.+)$/gm)) {
      found.set(basename(file), [...(found.get(basename(file)) ?? []), what]);
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("the dashboard is one of Grafana 11 by its own types, which find each fault that is planted", () => {
  const faulty = Object.entries(FAULTS).map(([name, plant]) => {
    const wrong = structuredClone(dashboard);
    plant(wrong);
    return [name, wrong];
  });
  const found = findings({ sound: dashboard, ...Object.fromEntries(faulty) });
  expect(found.get("sound") ?? []).toEqual([]);
  expect([...found.keys()].sort()).toEqual(Object.keys(FAULTS).sort());
});
