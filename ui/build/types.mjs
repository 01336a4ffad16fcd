// Writes src/types/document.ts from schemas/document.json, so that the page reads what the program writes.

import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const schema = new URL("../../schemas/document.json", import.meta.url);
export const target = new URL("../src/types/document.ts", import.meta.url);

/** The types of the schema, as source. */
export function types() {
  const text = JSON.parse(readFileSync(schema, "utf8"));
  return compile(text, "Document", {
    additionalProperties: false,
    bannerComment: "// Made of schemas/document.json by `make ui`. Do not edit.",
    format: true,
    style: { printWidth: 140 },
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(target, await types());
}
