import { expect, test } from "vitest";
import { inlined } from "../src/source";

/** A page with these elements. */
function page(elements: Record<string, unknown>): ParentNode {
  return { querySelector: (name: string) => elements[name] ?? null } as unknown as ParentNode;
}

test("a document inside the page is read", () => {
  expect(inlined(page({ "#document": { textContent: '{"subject": "study quick"}' } }))).toEqual({ document: { subject: "study quick" } });
  expect(inlined(page({}))).toHaveProperty("failure", expect.stringContaining("`hoptax convert export FILE --to html`"));
});

test("a file that is cut off says what to do", () => {
  const loaded = inlined(page({ "#document": { textContent: '{"subject": "stu' } }));
  expect(loaded).toHaveProperty("failure", expect.stringContaining("copy the file again"));
});
