// Writes src/types/ from the schemas of the program, so that the page reads and asks what the program writes and takes.

import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

/** All files of types, each with the schema that it is made of. */
export const files = [
  { target: new URL("../src/types/document.ts", import.meta.url), name: "Document", from: "schemas/document.json", schema: (text) => text },
  { target: new URL("../src/types/api.ts", import.meta.url), name: "Api", from: "schemas/openapi.json", schema: ofApi },
];

/** The part of the OpenAPI document that the page uses, as one schema. */
function ofApi(text) {
  const here = JSON.parse(JSON.stringify(text).replaceAll("#/components/schemas/", "#/$defs/"));
  const parameter = (path, name) => {
    const { schema, description } = here.paths[path].get.parameters.find((one) => one.name === name);
    return { ...schema, description };
  };
  const properties = {
    load: { $ref: "#/$defs/WantedLoad" },
    find: { $ref: "#/$defs/WantedFind" },
    study: { $ref: "#/$defs/WantedStudy" },
    bill: { $ref: "#/$defs/WantedBill" },
    builtIn: { $ref: "#/$defs/BuiltInStudy" },
    labels: { $ref: "#/$defs/LabelChange" },
    stored: { $ref: "#/$defs/StoredRun" },
    job: { $ref: "#/$defs/Job" },
    error: { $ref: "#/$defs/ErrorBody" },
    output: parameter("/api/v1/runs/{run}/{output}", "output"),
    export: parameter("/api/v1/runs/{run}/exports/{format}", "format"),
  };
  return {
    title: "Api",
    description: "The parts of the API that the page uses.",
    type: "object",
    properties,
    required: Object.keys(properties),
    $defs: here.components.schemas,
  };
}

/** The types of one file, as source. */
export function types({ name, from, schema }) {
  const text = JSON.parse(readFileSync(new URL(`../../${from}`, import.meta.url), "utf8"));
  return compile(schema(text), name, {
    ignoreMinAndMaxItems: true,
    additionalProperties: false,
    bannerComment: `// Made of ${from} by \`make ui\`. Do not edit.`,
    format: true,
    style: { printWidth: 140 },
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  for (const file of files) {
    writeFileSync(file.target, await types(file));
  }
}
