// The verdict of a result: its mark, its word, and what may be used.

import type { ComponentChildren } from "preact";
import { VERDICTS } from "./text";

type Verdict = keyof typeof VERDICTS;

/** The mark of each verdict as paths in a square of 20 pixels: an outline of its own, and a sign in it, for those who do not see colours. */
export const MARKS: Record<Verdict, { outline: string; sign: string }> = {
  sound: { outline: "M10 1a9 9 0 1 0 0 18a9 9 0 1 0 0-18Z", sign: "M5.5 10.5l3 3l6-7" },
  caution: { outline: "M10 1L19.5 19H.5Z", sign: "M10 7.5v5M10 16v.1" },
  void: { outline: "M6.3 1h7.4L19 6.3v7.4L13.7 19H6.3L1 13.7V6.3Z", sign: "M6.5 6.5l7 7M13.5 6.5l-7 7" },
};

interface VerdictLineProps {
  verdict: Verdict;
  /** What may be used. */
  children: ComponentChildren;
}

/** The verdict. */
export function VerdictLine({ verdict, children }: VerdictLineProps) {
  const { outline, sign } = MARKS[verdict];
  return (
    <div class={`verdict ${verdict}`}>
      <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true">
        <path d={outline} />
        <path class="sign" d={sign} />
      </svg>
      <b>{VERDICTS[verdict]}</b>
      <span>{children}</span>
    </div>
  );
}
