import { expect, test } from "vitest";
import { fetched, inlined } from "../src/source";

/** A page with these elements. */
function page(elements: Record<string, unknown>): ParentNode {
  return { querySelector: (name: string) => elements[name] ?? null } as unknown as ParentNode;
}

test("a document inside the page is read without a server", () => {
  expect(inlined(page({ "#document": { textContent: '{"subject": "study quick"}' } }))).toEqual({ document: { subject: "study quick" } });
  expect(inlined(page({}))).toBeUndefined();
});

test("a file that is cut off says what to do", () => {
  const loaded = inlined(page({ "#document": { textContent: '{"subject": "stu' } }));
  expect(loaded).toHaveProperty("failure", expect.stringContaining("copy it again"));
});

test("a page of the server has its document from the address that it names", async () => {
  const root = page({ "#page": { dataset: { document: "/api/v1/runs/3/document" } } });
  const asked: string[] = [];
  const answer = (status: number) => (async (address: string) => {
    asked.push(address);
    return new Response('{"subject": "load"}', { status });
  }) as unknown as typeof fetch;
  expect(await fetched(root, answer(200))).toEqual({ document: { subject: "load" } });
  expect(await fetched(root, answer(404))).toHaveProperty("failure", expect.stringContaining("404"));
  expect(asked).toEqual(["/api/v1/runs/3/document", "/api/v1/runs/3/document"]);
  const refusing = (async () => Promise.reject(new Error("refused"))) as unknown as typeof fetch;
  expect(await fetched(root, refusing)).toHaveProperty("failure", expect.stringContaining("still running"));
});
