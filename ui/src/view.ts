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

/** Between the names of the charts whose tables are shown. */
const SEPARATOR = "|";

/** The charts whose tables a view shows. */
export function tablesOf(view: View): string[] {
  return (view["tables"] ?? "").split(SEPARATOR).filter((name) => name !== "");
}

/** The view in which the table of a chart is shown if it was not, and else its chart. */
export function withTableOf(view: View, chart: string): View {
  const shown = tablesOf(view);
  const others = shown.filter((name) => name !== chart);
  return { tables: (others.length < shown.length ? others : [...shown, chart]).join(SEPARATOR) };
}

/** Whether the table of a chart is shown, and what changes that. Charts of one name on a page change together. */
export function useTable(chart: string): [boolean, () => void] {
  const [view, change] = useContext(PageView);
  const name = chart.replaceAll(SEPARATOR, " ");
  return [tablesOf(view).includes(name), () => change(withTableOf(view, name))];
}
