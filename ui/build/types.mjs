// Writes src/types/ from the OpenAPI document of the program, so that the page reads and asks what the program writes and takes.

import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

/** All files of types, each with the function that makes its schema of the OpenAPI document. */
export const files = [
  { target: new URL("../src/types/document.ts", import.meta.url), name: "Document", schema: ofDocument },
  { target: new URL("../src/types/api.ts", import.meta.url), name: "Api", schema: ofApi },
];

/** The schema of the document of a result, which the API offers, too. */
function ofDocument(here) {
  const { Document, ...$defs } = here.components.schemas;
  return { ...Document, title: "Document", $defs };
}

/** The parts of the API that the page uses, as one schema. */
function ofApi(here) {
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
export function types({ name, schema }) {
  const text = readFileSync(new URL("../../schemas/openapi.json", import.meta.url), "utf8");
  return compile(schema(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/"))), name, {
    ignoreMinAndMaxItems: true,
    additionalProperties: false,
    bannerComment: "// Made of schemas/openapi.json by `make ui`. Do not edit.",
    format: true,
    style: { printWidth: 140 },
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  for (const file of files) {
    writeFileSync(file.target, await types(file));
  }
}
