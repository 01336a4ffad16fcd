// Finds what is too small to be pressed, for scripts that use pages.

/** What can be pressed. A box is as large as its label, a link within a sentence as the letters, and a chart by its rows, which its tests measure. */
const PRESSED = "button, select, summary, th a, nav a, input:not(label input), label:has(input[type=checkbox]), label:has(input[type=radio])";
/** Pixels of the shorter side (WCAG 2.2, 2.5.8). */
const LEAST = 24;

/** What can be pressed on a page, and is smaller. */
export function smallTargets(page) {
  return page.evaluate(([pressed, least]) => {
    const shown = [...document.querySelectorAll(pressed)].filter((one) => one.checkVisibility());
    const small = shown.map((one) => [one, one.getBoundingClientRect()]).filter(([, { width, height }]) => Math.min(width, height) < least - 0.01);
    return small.map(([one, { width, height }]) => `${width} x ${height}: ${one.outerHTML.slice(0, 120)}`);
  }, [PRESSED, LEAST]);
}
