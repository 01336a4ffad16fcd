// Tables as CSV, and files that a reader keeps.

/** Rows as CSV. */
export function csv(rows: string[][]): string {
  const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
  return rows.map((row) => row.map(field).join(",") + "\r\n").join("");
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
