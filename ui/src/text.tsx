// Words of a document and of a server: parts between backticks are code. Everything is text, never markup.

/** The verdicts, as a title says them. */
export const VERDICTS = { sound: "Sound", caution: "Caution", void: "Void" } as const;

interface WordsProps {
  text: string;
  /** Whether addresses in it are links. */
  hasLinks?: boolean;
}

/** Text with its code. */
export function Words({ text, hasLinks = false }: WordsProps) {
  const plain = hasLinks ? withLinks : withOptions;
  return <>{unbroken(inert(text)).split("`").map((part, place) => (place % 2 === 1 ? <code key={place}>{withOptions(part)}</code> : plain(part)))}</>;
}

/** Text parted at its addresses of pages, which are every second part. What ends a sentence or a list ends no address. */
export function addressParts(text: string): string[] {
  return text.split(/(https:\/\/[\w./~%#?&=+@-]*[\w/])/);
}

/** Text whose addresses are links, which say where they lead. */
function withLinks(text: string) {
  const parts = addressParts(text);
  const link = (address: string, place: number) => (
    <a key={place} href={address} rel="noreferrer">
      {address}
    </a>
  );
  return parts.length === 1 ? withOptions(text) : parts.map((part, place) => (place % 2 === 1 ? link(part, place) : withOptions(part)));
}

/** Text whose options of commands are each on one line: a line may end after a hyphen. */
function withOptions(text: string) {
  const parts = text.split(/(?<![\w-])(--[a-z][\w-]*)/);
  return parts.length === 1 ? withKnobs(text) : parts.map((part, place) => (place % 2 === 1 ? <span key={place} class="option">{part}</span> : withKnobs(part)));
}

/** Text parted where the knobs of a name begin. */
export function knobParts(text: string): string[] {
  return text.split(/(?<=\w)(?=\{\w)/);
}

/** Text whose names may break before their knobs, and thus not within them. */
function withKnobs(text: string) {
  const parts = knobParts(text);
  return parts.length === 1 ? text : withBreaks(parts);
}

/** Parts each of which may begin a line. */
function withBreaks(parts: string[]) {
  return parts.flatMap((part, place) => (place === 0 ? [part] : [<wbr key={place} />, part]));
}

/** A name with at most so many letters is on one line. */
export const SHORT = 12;

/** A word of a name with more letters is wider than a column of names: it breaks before a value rather than before its last brace. */
const LONG = 15;

/** The parts of a name, each of which may begin a line. A rate such as 5,500/s is one part. */
export function nameParts(text: string): string[] {
  if (text.includes("`") || text.length <= SHORT) {
    return [text];
  }
  const parts = text.split(/(?<=[/.,_])(?<!\d\/)(?=[a-z])|(?=\{|:\d)/i);
  return parts.flatMap((part) => (part.search(/ |$/) > LONG ? part.split(/(?<==)(?=\w)/) : [part]));
}

/** A name, which breaks where its parts begin and not within them. */
export function Name({ text }: { text: string }) {
  const parts = nameParts(text);
  return parts.length < 2 ? <Words text={text} /> : <span>{withBreaks(parts.map(inert))}</span>;
}

/** Text without the marks of its code, where no element can be: in drawings, names of controls and files. */
export function bare(text: string): string {
  return inert(text).replaceAll("`", "");
}

/**
 * Text with those characters escaped that nobody sees, as on a terminal: they control one, or reverse what follows (Unicode Standard Annex 9,
 * section 2). Names of arms, answers of servers and lines of proxies are written by strangers.
 */
export function inert(text: string): string {
  return text.replace(/(?![\n\t])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, (letter) => `\\u{${letter.codePointAt(0)?.toString(16)}}`);
}

/** A text whose numbers are on one line with their intervals and units. */
export function unbroken(text: string): string {
  return text.replace(/(\d) (?=±|%|[mun]?s\b|[kMG]i?B\b)|([≥≤]) (?=\d)/g, "$1$2\u00a0");
}

/** A sentence with its full stop. */
export function sentence(text: string): string {
  return /[.:!?]$/.test(text) ? text : `${text}.`;
}

/** With a capital, unless it begins with a name, such as that of a file. */
export function capitalised(text: string): string {
  return /^[a-z]+([ ,;:]|$)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
