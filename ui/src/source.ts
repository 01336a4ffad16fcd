// Where the page has its document from: the page itself.

import type { Document } from "./types/document";

/** The document, or why there is none and what to do. */
export type Loaded = { document: Document } | { failure: string };

/** The document inside the page. */
export function inlined(page: ParentNode): Loaded {
  const text = page.querySelector("#document")?.textContent;
  if (text === null || text === undefined) {
    return { failure: "This page has no result in it. Open a report.html of a run folder, or write one with `hoptax convert export FILE --to html`." };
  }
  try {
    return { document: JSON.parse(text) as Document };
  } catch (error) {
    return { failure: `The result in this page cannot be read (${String(error)}). It may be cut off: copy the file again, or open report.md beside it; from a server, load the page again.` };
  }
}

/** A page of the server as it is now; none if it is not there. */
export async function again(address: string): Promise<ParentNode | undefined> {
  try {
    const response = await fetch(address);
    return response.ok ? new DOMParser().parseFromString(await response.text(), "text/html") : undefined;
  } catch {
    return undefined;
  }
}
