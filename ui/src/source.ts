// Where the page has its document from: the page itself, or the address that it names, which `hoptax serve` answers.

import type { Document } from "./types/document";

/** The document, or why there is none and what to do. */
export type Loaded = { document: Document } | { failure: string };

/** The document inside the page; none if the page names an address instead. */
export function inlined(page: ParentNode): Loaded | undefined {
  const text = page.querySelector("#document")?.textContent;
  if (text === null || text === undefined) {
    return undefined;
  }
  try {
    return { document: JSON.parse(text) as Document };
  } catch (error) {
    return { failure: `The result in this file cannot be read (${String(error)}). The file may be cut off: copy it again, or open report.md beside it.` };
  }
}

/** The document at the address that the page names. */
export async function fetched(page: ParentNode, get: typeof fetch = fetch): Promise<Loaded> {
  const address = page.querySelector<HTMLElement>("#page")?.dataset["document"];
  if (address === undefined) {
    return { failure: "This page has no result in it and names none. Open a report.html of a run folder." };
  }
  try {
    const response = await get(address, { headers: { accept: "application/json" } });
    if (!response.ok) {
      return { failure: `The server answered ${response.status} to ${address}.` };
    }
    return { document: (await response.json()) as Document };
  } catch (error) {
    return { failure: `The server does not answer (${String(error)}). Is hoptax still running?` };
  }
}
