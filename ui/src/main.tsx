// The page of a result: in a file with the result inside, or from an address of `hoptax serve`.

import { render } from "preact";
import { served } from "./live/api";
import { Page } from "./page";
import { fetched, inlined, type Loaded } from "./source";
import "./style.css";
import "./live/live.css";
import { applyTheme } from "./theme";

function show(root: Element, loaded: Loaded): void {
  render("document" in loaded ? <Page document={loaded.document} served={served(document)} /> : <Failure why={loaded.failure} />, root);
}

function Failure({ why }: { why: string }) {
  return (
    <main>
      <h1>There is no report to show.</h1>
      <p role="alert">{why}</p>
    </main>
  );
}

applyTheme();
const root = document.querySelector("#page");
if (root !== null) {
  const inside = inlined(document);
  if (inside === undefined) {
    render(<p role="status">Loading the result…</p>, root);
    void fetched(document).then((loaded) => show(root, loaded));
  } else {
    show(root, inside);
  }
}
