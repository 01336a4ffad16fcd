// Words of a document: parts between backticks are code. Everything is text, never markup.

/** The verdicts, as a title says them. */
export const VERDICTS = { sound: "Sound", caution: "Caution", void: "Void" } as const;

/** Text with its code. */
export function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, place) => (place % 2 === 1 ? <code key={place}>{part}</code> : part))}</>;
}

/** Text without the marks of its code, where no element can be: in drawings, names of controls and files. */
export function bare(text: string): string {
  return text.replaceAll("`", "");
}

/** A sentence whose numbers are on one line with their intervals and units. */
export function unbroken(text: string): string {
  return text.replace(/(\d) (±|%|us\b|ms\b)/g, "$1\u00a0$2");
}

/** A sentence with its full stop. */
export function sentence(text: string): string {
  return /[.:!?]$/.test(text) ? text : `${text}.`;
}

/** With a capital, unless it begins with a name, such as that of a file. */
export function capitalised(text: string): string {
  return /^[a-z]+([ ,;:]|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
