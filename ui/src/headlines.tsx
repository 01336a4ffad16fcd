// The row of headline numbers under the answer.

import { cellText, whyUnknown } from "./table";
import { unbroken, Words } from "./text";
import type { Headline } from "./types/document";

/** A number with more letters may be on two lines: with so many, it fits into its card (`.headlines .number`). */
const FITTING = 14;

/** A headline as it is shown. */
interface Told {
  /** The number with its interval or its bounds, or that it is not known. */
  number: string;
  unit: string;
  /** What is below it: why it is not known, how it is known if it was not measured, and the note. */
  words: string[];
  isFaint: boolean;
}

/** A headline in words. */
export function told({ name, value, note }: Headline): Told {
  const notes = note === null ? [] : [note];
  const why = whyUnknown(value);
  if (why !== undefined) {
    return { number: "not known", unit: "", words: [why, ...notes], isFaint: true };
  }
  if (value === "empty" || !("quantity" in value)) {
    return { number: cellText(value), unit: "", words: notes, isFaint: false };
  }
  const { text, unit, basis } = value.quantity;
  const origin = basis === "bounded" ? ["only bounded"] : basis === "predicted" ? ["predicted"] : [];
  // A name that is the unit, such as cores, says it already.
  return { number: text, unit: unit === name ? "" : unit, words: [...origin, ...notes], isFaint: basis === "bounded" };
}

/** A number that is on one line with its interval if it fits. */
export function fitted(number: string): string {
  return number.length > FITTING ? number : unbroken(number);
}

/** The row. */
export function Headlines({ headlines }: { headlines: Headline[] }) {
  return (
    <dl class="headlines">
      {headlines.map((headline) => {
        const { number, unit, words, isFaint } = told(headline);
        return (
          <div key={headline.name}>
            <dt>
              <Words text={headline.name} />
            </dt>
            <dd class={isFaint ? "number faint" : "number"}>
              {fitted(number)}
              {unit !== "" && <small> {unit}</small>}
            </dd>
            {words.map((text) => (
              <dd key={text} class="words">
                <Words text={text} />
              </dd>
            ))}
          </div>
        );
      })}
    </dl>
  );
}
