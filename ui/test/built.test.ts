import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The most that a page weighs before its data, bytes. */
const MOST_BYTES = 600_000;

test("the page weighs little before its data", () => {
  expect(statSync(join(root, "dist/report.html")).size).toBeLessThan(MOST_BYTES);
});

test("the page that is checked in is what the source builds", () => {
  const folder = mkdtempSync(join(tmpdir(), "hoptax-ui-"));
  try {
    // In a process of its own: a build within a test is one for tests.
    const { NODE_ENV: _node, VITEST: _vitest, ...env } = process.env;
    execFileSync(process.execPath, ["node_modules/vite/bin/vite.js", "build", "--outDir", folder, "--logLevel", "error"], { cwd: root, env });
    const isSame = readFileSync(join(folder, "report.html"), "utf8") === readFileSync(join(root, "dist/report.html"), "utf8");
    expect(isSame, "ui/dist is outdated: run `make ui`").toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
