// The parts of a page, for its menu: each has a heading to jump to, and a name in the address.

import { fileName } from "./csv";
import { bare, capitalised } from "./text";
import type { Document, Section, Table } from "./types/document";

/** A part of a page. */
export interface Part {
  /** Its name in the address. */
  name: string;
  title: string;
}

/** The name of the part above all others. */
export const ANSWER = "answer";

/** Parts of the shortest page that has a menu. */
const FEWEST = 3;

/** The id of the heading of a part. */
export function headingId(name: string): string {
  return `part-${name}`;
}

/** Whether a page shows a section: a chart, or the head of the page, says the same as what is for text alone. */
export function isShown(section: Section): boolean {
  return section.blocks.some((block) => !("text_only" in block));
}

/** The heading of the first table, which tells it from a chart of the same title. */
export function tableTitle(table: Table, { plots, sections }: Document): string {
  const title = capitalised(table.title);
  return [...plots, ...sections].some((section) => isShown(section) && section.title === title) ? `${title}, all numbers` : title;
}

/** The parts of the page of a document, in its order; none if they are too few for a menu. */
export function partsOf(document: Document): Part[] {
  const { plots, table, is_table_plotted: isPlotted, sections } = document;
  const shown = (all: Section[]) => all.filter(isShown).map(({ title }) => title);
  const titles = [...shown(plots), ...(table === null || isPlotted ? [] : [tableTitle(table, document)]), ...shown(sections)];
  const all = [{ name: ANSWER, title: "Answer" }, ...titles.map((title) => ({ name: fileName(title), title: short(title) }))];
  const parts = all.filter(({ name }, place) => all.findIndex((other) => other.name === name) === place);
  return parts.length < FEWEST ? [] : parts;
}

/** A title without what is said more closely behind its subject. */
function short(title: string): string {
  return bare(title.split(/[;:(]/)[0]?.trim() || title);
}

/**
 * The place of the part in view: the last whose heading is at or above a line of the window. At its end a page scrolls no further, so there it is
 * the part that was chosen, if its heading is below the line, and else the last, unless the window has the page from its head on.
 */
export function placeInView(tops: readonly number[], line: number, isAtEnd: boolean, chosen: number): number {
  const above = Math.max(0, tops.filter((top) => top <= line).length - 1);
  if (!isAtEnd) {
    return above;
  }
  const isFromHead = (tops[0] ?? 0) >= 0;
  return chosen > above ? chosen : isFromHead ? above : tops.length - 1;
}
