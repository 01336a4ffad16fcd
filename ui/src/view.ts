// The choices of a reader on the page, as the part of its address behind the hash: a link to the page is a link to the view.

import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";

/** Names with values; what is absent is as the page chooses. */
export type View = Readonly<Record<string, string>>;

/** The view of an address. */
export function parsed(hash: string): View {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

/** The address of a view; empty if nothing was chosen. */
export function written(view: View): string {
  const entries = Object.entries(view).filter(([, value]) => value !== "");
  return entries.length === 0 ? "" : `#${new URLSearchParams(entries).toString()}`;
}

/** The view with changes; an empty value takes a choice back. */
export function changed(view: View, changes: View): View {
  return Object.fromEntries(Object.entries({ ...view, ...changes }).filter(([, value]) => value !== ""));
}

/** The view of the page, and what changes it. */
export function useView(): [View, (changes: View) => void] {
  const [view, setView] = useState(() => parsed(location.hash));
  useEffect(() => {
    const read = () => setView(parsed(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  const change = (changes: View) => {
    const next = changed(parsed(location.hash), changes);
    // A filter that is typed is no step of the history. Of a file, a browser may refuse.
    try {
      history.replaceState(null, "", written(next) || location.pathname + location.search);
    } catch {
      location.hash = written(next);
    }
    setView(next);
  };
  return [view, change];
}

/** The view of the page, for parts far below it. */
export const PageView = createContext<[View, (changes: View) => void]>([{}, () => undefined]);

/** Between the names of a list. */
const SEPARATOR = "|";

/** The names of a list of a view. */
function namesOf(view: View, list: string): string[] {
  return (view[list] ?? "").split(SEPARATOR).filter((name) => name !== "");
}

/** Whether a list of a view has a name. */
export function isListed(view: View, list: string, name: string): boolean {
  return namesOf(view, list).includes(name.replaceAll(SEPARATOR, " "));
}

/** The changes of a view by which a list has a name if it did not, and else loses it. */
export function withListed(view: View, list: string, name: string): View {
  const [all, own] = [namesOf(view, list), name.replaceAll(SEPARATOR, " ")];
  const others = all.filter((other) => other !== own);
  return { [list]: (others.length < all.length ? others : [...all, own]).join(SEPARATOR) };
}

/** The list of the charts whose tables are shown. */
const TABLES = "tables";

/** Whether the table of a chart is shown, and what changes that. Charts of one name on a page change together. */
export function useTable(chart: string): [boolean, () => void] {
  const [view, change] = useContext(PageView);
  return [isListed(view, TABLES, chart), () => change(withListed(view, TABLES, chart))];
}
