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
/** The name of the part that has the findings, behind the picture of a page. */
export const FINDINGS = "findings";

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

/** A title as a heading, and what the line below it says more closely; empty if there is none. */
export function headAndRest(title: string): [string, string] {
  const [head = title, ...rest] = title.split("; ");
  return [head, rest.join("; ")];
}

/** The parts of the page of a document, in its order; none if they are too few for a menu. */
export function partsOf(document: Document): Part[] {
  const { plots, table, is_table_plotted: isPlotted, findings, sections } = document;
  const shown = (all: Section[]) => all.filter(isShown).map(({ title }) => title);
  const pictures = [...shown(plots), ...(table === null || isPlotted ? [] : [tableTitle(table, document)])];
  const titles = [...pictures, ...shown(sections)];
  const titled = short(titles).map((title, place) => ({ name: fileName(titles[place] ?? title), title }));
  const first = Math.min(1, pictures.length);
  const found = findings.length > 0 ? [{ name: FINDINGS, title: "Findings" }] : [];
  const all = [{ name: ANSWER, title: "Answer" }, ...titled.slice(0, first), ...found, ...titled.slice(first)];
  const parts = all.filter(({ name }, place) => all.findIndex((other) => other.name === name) === place);
  return parts.length < FEWEST ? [] : parts;
}

/** Titles without what is said more closely behind their subjects. What is behind a comma stays where titles are the same before it. */
function short(titles: string[]): string[] {
  const subjects = titles.map((title) => bare(title.split(/[;:(]/)[0]?.trim() || title));
  const heads = subjects.map((subject) => subject.split(", ")[0] || subject);
  return subjects.map((subject, place) => {
    const head = heads[place] ?? subject;
    return heads.filter((other) => other === head).length === 1 ? head : subject;
  });
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
