// Tables as CSV, and files that a reader keeps.

import { bare } from "./text";

/** What a spreadsheet would run as a formula begins so, in both widths, or with what it skips: as in the CSV files of the program itself. */
const FORMULA = /^([=+@\t\r\n＝＋－＠]|-[^])/;
/** A number with a sign, perhaps with its interval and its unit: nothing in it calls a function, another program or another file. */
const AMOUNT = /^[+-]\d[\d.,]*( to [+-]?[\d.,]+| \([+-]?[\d.,]+ to [+-]?[\d.,]+\))?[\w .,%±/?]*( \*)?$/;

/** Rows as CSV, as the page shows them. Names may be those of strangers: an apostrophe is before what would be a formula. */
export function csv(rows: string[][]): string {
  const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  const safe = (text: string) => (FORMULA.test(text) && !AMOUNT.test(text) ? `'${text}` : text);
  return rows.map((row) => row.map((text) => field(safe(bare(text)))).join(",") + "\r\n").join("");
}

/** Has the browser keep a text as a file. */
export function keep(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** A name for a file, of what a text is about. */
export function fileName(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60) || "table";
}
