// Builds the application as one script and one style sheet, and both into the page that a result is put into.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Puts script and style into report.html, which the report crate embeds. */
function page(): Plugin {
  return {
    name: "page",
    enforce: "post",
    generateBundle(_, bundle) {
      const file = (ending: string) => {
        const found = Object.values(bundle).find((one) => one.fileName.endsWith(ending));
        const text = found?.type === "chunk" ? found.code : found?.source;
        if (found === undefined || typeof text !== "string") {
          throw new Error(`the build has no ${ending}`);
        }
        delete bundle[found.fileName];
        return text.trim();
      };
      const [script, style] = [file(".js"), file(".css")];
      for (const end of ["</script", "</style", "<!--"]) {
        if (script.includes(end) || style.includes(end)) {
          throw new Error(`${end} would end what it is in`);
        }
      }
      const hash = createHash("sha256").update(script).digest("base64");
      const parts: Record<string, string> = { script, style, "script-hash": hash };
      const template = readFileSync(new URL("report.html", import.meta.url), "utf8");
      const source = template.replace(/\{\{ (script-hash|script|style) \}\}/g, (_whole, name: string) => parts[name] ?? "");
      this.emitFile({ type: "asset", fileName: "report.html", source });
    },
  };
}

export default defineConfig({
  plugins: [page()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    lib: { entry: "src/main.tsx", formats: ["iife"], name: "hoptax", fileName: () => "app.js", cssFileName: "app" },
    target: "es2022",
    reportCompressedSize: false,
    copyPublicDir: false,
  },
  // A busy machine is slow, which is no fault of the page: tests have no time limit.
  test: { testTimeout: 0, hookTimeout: 0 },
});
