// The page of a document: the answer and whether it may be believed first, then its charts and table, then what is behind them.

import { useEffect, useState } from "preact/hooks";
import { BlockView } from "./block/block";
import { fileName, keep } from "./csv";
import { Headlines } from "./headlines";
import { served as servedOf, type Served } from "./live/api";
import { ComparedLinks } from "./live/compared";
import { RunLinks } from "./live/downloads";
import { LiveView } from "./live/live";
import { Menu } from "./menu";
import { useNarrow } from "./narrow";
import { ANSWER, headAndRest, headingId, isShown, partsOf, tableTitle } from "./parts";
import { SearchedTable } from "./search";
import { again, inlined } from "./source";
import { TableView } from "./table";
import { capitalised, inert, sentence, VERDICTS, Words } from "./text";
import { chooseTheme, onThemeOfSystem, theme } from "./theme";
import type { CheckText, Document, FindingText, Section } from "./types/document";
import { PageView, useView, type View } from "./view";

/** Findings that are shown before the rest is asked for. */
const FIRST_FINDINGS = 3;

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
          <ThemeSwitch />
        </div>
        {result.title !== "" && (
          <p class="question">
            <Words text={result.title} />
          </p>
        )}
        <h1 id={headingId(ANSWER)} tabIndex={-1}>
          {answer === undefined ? result.subject : <Words text={sentence(answer)} />}
        </h1>
        {others.map((one) => (
          <p key={one} class="answer">
            <Words text={sentence(capitalised(one))} />
          </p>
        ))}
        {result.headlines.length > 0 && <Headlines headlines={result.headlines} />}
        {result.verdict && (
          <div class={`verdict ${result.verdict.verdict}`}>
            <b>{VERDICTS[result.verdict.verdict]}</b>
            <span>
              <Words text={sentence(capitalised(result.verdict.usable))} />
            </span>
          </div>
        )}
        <Findings findings={result.findings} isFirstOpen={!result.next} />
        <ChecksWithoutFinding checks={result.checks_without_finding} />
        {result.next && (
          <p class="next">
            Next: <Words text={`\`${result.next.command}\` ${result.next.purpose}.`} />
          </p>
        )}
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
        {result.plots.map((section) => (
          <SectionView key={section.title} section={section} view={view} change={change} />
        ))}
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
        {result.sections.map((section) => (
          <SectionView key={section.title} section={section} view={view} change={change} />
        ))}
        {isNarrow && live}
      </main>
      <footer>
        <p>
          <button type="button" class="quiet" onClick={() => keep(`${fileName(result.subject)}.json`, "application/json", JSON.stringify(result, null, 2))}>
            Save this report as JSON
          </button>
        </p>
      </footer>
    </PageView.Provider>
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

interface FindingsProps {
  findings: FindingText[];
  /** Whether what to do about the first is shown, as on a page without a next command. */
  isFirstOpen?: boolean;
}

/** What the checks found: what matters most first, the rest when asked for. */
function Findings({ findings, isFirstOpen = false }: FindingsProps) {
  const weight = { fail: 0, warn: 1, info: 2 } as const;
  const sorted = [...findings].sort((a, b) => weight[a.severity] - weight[b.severity]);
  const [first, rest] = [sorted.slice(0, FIRST_FINDINGS), sorted.slice(FIRST_FINDINGS)];
  if (first.length === 0) {
    return null;
  }
  return (
    <section class="findings" aria-label="Findings">
      <FindingList findings={first} isFirstOpen={isFirstOpen} />
      {rest.length > 0 && (
        <details>
          <summary>
            {rest.length} more {rest.length === 1 ? "finding" : "findings"}
          </summary>
          <FindingList findings={rest} />
        </details>
      )}
    </section>
  );
}

/** What a finding says. Before a colon is the name of an arm, which keeps its letters. */
function messageOf({ message }: FindingText): string {
  return /^\w+:/.test(message) ? message : capitalised(message);
}

const SEVERITIES = { fail: "failed", warn: "warning", info: "note" } as const;

function FindingList({ findings, isFirstOpen = false }: FindingsProps) {
  return (
    <ul>
      {findings.map((finding, place) => (
        <li key={finding.id + finding.scope + finding.message}>
          <details open={isFirstOpen && place === 0}>
            <summary>
              <b class={finding.severity}>{SEVERITIES[finding.severity]}</b>{" "}
              <Words text={sentence(messageOf(finding) + (finding.measured ? ` (${finding.measured})` : "") + finding.scope)} />
            </summary>
            {finding.withheld && (
              <p>
                <Words text={sentence(capitalised(finding.withheld))} />
              </p>
            )}
            {finding.advice !== "" && (
              <p>
                <Words text={sentence(capitalised(finding.advice))} />
              </p>
            )}
            <AboutCheck id={finding.id} mistake={finding.protects_from} />
          </details>
        </li>
      ))}
    </ul>
  );
}

/** What the check of a finding protects from, and where more about it is; its id alone if this version does not have it. */
function AboutCheck({ id, mistake }: { id: string; mistake: string | null }) {
  if (mistake === null) {
    return <p class="soft">Check: {id}</p>;
  }
  return (
    <p class="soft">
      Check <b>{id}</b> protects from: <Words text={sentence(mistake)} /> More:{" "}
      <code>
        hoptax trust checks explain <span class="option">{id}</span>
      </code>
      .
    </p>
  );
}

/** The checks that found nothing, for who asks what was looked at. */
function ChecksWithoutFinding({ checks }: { checks: CheckText[] }) {
  if (checks.length === 0) {
    return null;
  }
  return (
    <details class="checks">
      <summary>
        {checks.length} {checks.length === 1 ? "check" : "checks"} without a finding
      </summary>
      <p class="note">
        These ran and found nothing; a check also finds nothing where the result lacks its evidence. <code>hoptax trust checks</code> lists all. Each protects from:
      </p>
      <ul>
        {checks.map(({ id, protects_from: mistake }) => (
          <li key={id}>
            <b>{id}</b>: <Words text={mistake} />
          </li>
        ))}
      </ul>
    </details>
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
