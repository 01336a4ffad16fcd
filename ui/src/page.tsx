// The page of a document: the answer and whether it may be believed, its picture, what the checks found, then the rest and what is behind it.

import { useEffect, useState } from "preact/hooks";
import { BlockView } from "./block/block";
import { fileName, keep } from "./csv";
import { ChecksWithoutFinding, counted, Findings } from "./findings";
import { Headlines } from "./headlines";
import { served as servedOf, type Served } from "./live/api";
import { ComparedLinks } from "./live/compared";
import { RunLinks } from "./live/downloads";
import { LiveView } from "./live/live";
import { Since } from "./live/since";
import { Menu, PartLink } from "./menu";
import { useNarrow } from "./narrow";
import { ANSWER, FINDINGS, headAndRest, headingId, isShown, partsOf, tableTitle } from "./parts";
import { ProvenanceLine } from "./provenance";
import { SearchedTable } from "./search";
import { again, inlined } from "./source";
import { TableView } from "./table";
import { capitalised, inert, sentence, Words } from "./text";
import { chooseTheme, onThemeOfSystem, theme } from "./theme";
import type { Document, Section } from "./types/document";
import { VerdictLine } from "./verdict";
import { PageView, useView, type View } from "./view";

interface PageProps {
  document: Document;
  /** What the server has told; nothing in a file. */
  served: Served | undefined;
}

/** The page. */
export function Page(first: PageProps) {
  // The list of runs changes when a job has ended.
  const [{ document: result, served }, setShown] = useState(first);
  const [view, change] = useView();
  const isNarrow = useNarrow();
  const renew = async () => {
    const page = await again("/");
    if (page === undefined) {
      return;
    }
    const loaded = inlined(page);
    if ("document" in loaded) {
      setShown({ document: loaded.document, served: servedOf(page) ?? served });
    }
  };
  const isHistory = served !== undefined && served.run === undefined && served.compared === undefined;
  const [answer, ...others] = result.answer;
  const parts = partsOf(result);
  // Its key keeps what is filled in where a window becomes narrow.
  const live = isHistory && (
    <LiveView key="live" api={served.api} allowsBills={served.allowsBills} view={view} change={change} renew={() => void renew()} />
  );
  const hasFindings = result.findings.length > 0;
  const toFindings = hasFindings && <PartLink name={FINDINGS}>{counted(result.findings)}</PartLink>;
  const next = result.next && (
    <p class="next">
      Next: <Words text={`\`${result.next.command}\` ${result.next.purpose}.`} />
    </p>
  );
  const plots = result.plots.filter(isShown).map((section) => <SectionView key={section.title} section={section} view={view} change={change} />);
  const table = (
    <>
      {result.table && (
        // Paper has no button that shows the table of a chart.
        <section class={result.is_table_plotted ? "on-paper" : ""}>
          <Heading title={tableTitle(result.table, result)} />
          {isHistory ? <SearchedTable table={result.table} view={view} change={change} /> : <TableView table={result.table} />}
        </section>
      )}
      {result.notes.length > 0 && (
        <ul class="note">
          {result.notes.map((note) => (
            <li key={note}>
              <Words text={note} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
  const hasPlots = plots.length > 0;
  return (
    <PageView.Provider value={[view, change]}>
      <a class="skip" href="#main" onClick={(event) => skip(event)}>
        {isHistory ? "Skip to the runs and the form" : result.plots.length > 0 ? "Skip to the charts" : "Skip to the numbers"}
      </a>
      <header>
        {served?.run !== undefined && (
          <RunLinks api={served.api} run={served.run} outputs={served.outputs ?? []} exports={served.exports ?? []} again={served.again} />
        )}
        {served?.compared !== undefined && <ComparedLinks runs={served.compared} />}
        <div class="top">
          <p class="soft">
            hoptax <b>{inert(result.subject)}</b>
          </p>
          <div>
            {/* The page of a run has its files above. */}
            {served?.run === undefined && <KeepJson result={result} />}
            <ThemeSwitch />
          </div>
        </div>
        {result.title !== "" && (
          <p class="question">
            <Words text={result.title} />
          </p>
        )}
        {result.measured && <ProvenanceLine of={result.measured} />}
        <h1 id={headingId(ANSWER)} tabIndex={-1}>
          {answer === undefined ? result.subject : <Words text={sentence(answer)} />}
        </h1>
        {others.map((one) => (
          <p key={one} class="answer">
            <Words text={sentence(capitalised(one))} />
          </p>
        ))}
        {result.headlines.length > 0 && <Headlines headlines={result.headlines} />}
        {result.verdict ? (
          <VerdictLine verdict={result.verdict.verdict}>
            <Words text={sentence(capitalised(result.verdict.usable))} /> {toFindings}
          </VerdictLine>
        ) : (
          toFindings && <p>{toFindings}</p>
        )}
        {served?.run !== undefined && served.before !== undefined && <Since api={served.api} run={served.run} before={served.before} />}
        {!hasFindings && next}
        {served?.newest !== undefined && (
          <p class="next">
            <a href={`/runs/${served.newest}`}>Open run {served.newest}</a>, the newest.
          </p>
        )}
        {isNarrow && isHistory && (
          <p>
            <button type="button" class="quiet" onClick={() => globalThis.document.querySelector<HTMLElement>("#start-title")?.focus()}>
              Go to the form
            </button>
          </p>
        )}
      </header>
      {parts.length > 0 && <Menu parts={parts} />}
      <main id="main" tabIndex={-1}>
        {!isNarrow && live}
        {hasPlots ? plots.slice(0, 1) : table}
        <Findings findings={result.findings} isFirstOpen={!result.next} />
        <ChecksWithoutFinding checks={result.checks_without_finding} />
        {hasFindings && next}
        {plots.slice(1)}
        {hasPlots && table}
        {result.sections.map((section) => (
          <SectionView key={section.title} section={section} view={view} change={change} />
        ))}
        {isNarrow && live}
      </main>
    </PageView.Provider>
  );
}

/** Keeps the document of the page. */
function KeepJson({ result }: { result: Document }) {
  return (
    <button type="button" class="quiet" onClick={() => keep(`${fileName(result.subject)}.json`, "application/json", JSON.stringify(result, null, 2))}>
      Save as JSON
    </button>
  );
}

/** Moves the focus without taking the view out of the address. */
function skip(event: Event): void {
  event.preventDefault();
  globalThis.document.querySelector<HTMLElement>("#main")?.focus();
}

function ThemeSwitch() {
  const [shown, setShown] = useState(theme);
  const other = shown === "dark" ? "light" : "dark";
  // A page may be open in the evening, when the system becomes dark.
  useEffect(() => onThemeOfSystem(() => setShown(theme())), []);
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => {
        chooseTheme(other);
        setShown(other);
      }}
    >
      {capitalised(other)} theme
    </button>
  );
}

/** The heading of a part. */
function Heading({ title }: { title: string }) {
  const [head, rest] = headAndRest(title);
  return (
    <>
      <h2 id={headingId(fileName(title))} tabIndex={-1}>
        <Words text={head} />
      </h2>
      {rest !== "" && (
        <p class="note">
          <Words text={sentence(capitalised(rest))} />
        </p>
      )}
    </>
  );
}

interface SectionProps {
  section: Section;
  view: View;
  change: (changes: View) => void;
}

function SectionView({ section, view, change }: SectionProps) {
  if (!isShown(section)) {
    return null;
  }
  const name = fileName(section.title);
  const blocks = section.blocks.map((block, place) => <BlockView key={place} block={block} section={name} view={view} change={change} />);
  if (section.folded) {
    return (
      <details>
        <summary id={headingId(name)}>
          <Words text={section.title} />
        </summary>
        {blocks}
      </details>
    );
  }
  return (
    <section>
      <Heading title={section.title} />
      {blocks}
    </section>
  );
}
