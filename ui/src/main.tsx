// The page of a result, which is inside it, in a file and from `hoptax serve`.

import { render } from "preact";
import { served } from "./live/api";
import { Page } from "./page";
import { inlined } from "./source";
import { Words } from "./text";
// A rule overrides those of files above it.
import "./style/colours.css";
import "./style/base.css";
import "./style/answer.css";
import "./style/menu.css";
import "./style/controls.css";
import "./style/blocks.css";
import "./style/charts.css";
import "./style/tables.css";
import "./style/folded.css";
import "./style/narrow.css";
import "./style/print.css";
import "./live/live.css";
import { applyTheme } from "./theme";

function Failure({ why }: { why: string }) {
  return (
    <main>
      <h1>There is no report to show.</h1>
      <p role="alert">
        <Words text={why} />
      </p>
    </main>
  );
}

applyTheme();
const root = document.querySelector("#page");
if (root !== null) {
  const loaded = inlined(document);
  render("document" in loaded ? <Page document={loaded.document} served={served(document)} /> : <Failure why={loaded.failure} />, root);
}
