// What the checks found, each on one line with what to do behind it, and the checks that found nothing.

import { FINDINGS, headingId } from "./parts";
import { capitalised, sentence, Words } from "./text";
import type { CheckText, FindingText } from "./types/document";

/** Findings that are shown before the rest is asked for. */
const FIRST_FINDINGS = 3;
/** Letters that a line has room for where the window is not narrow. */
const LINE = 110;
/** A clause with fewer letters says nothing: it may be the name of an arm. */
const LEAST = 30;

/** The severities, the worst first: one finding of each, and several. */
const SEVERITIES = { fail: ["failed", "failed"], warn: ["warning", "warnings"], info: ["note", "notes"] } as const;
const ORDER = ["fail", "warn", "info"] as const;

/** How many findings there are, and how severe: `3 findings: 1 failed, 2 notes`. */
export function counted(findings: readonly FindingText[], more = ""): string {
  const counts = ORDER.map((severity) => ({ severity, count: findings.filter((one) => one.severity === severity).length }));
  const words = counts.filter(({ count }) => count > 0).map(({ severity, count }) => `${count} ${SEVERITIES[severity][count === 1 ? 0 : 1]}`);
  return `${findings.length} ${more}${findings.length === 1 ? "finding" : "findings"}: ${words.join(", ")}`;
}

/** What a finding says. Before a colon is the name of an arm, which keeps its letters. */
function messageOf({ message }: FindingText): string {
  return /^\w+:/.test(message) ? message : capitalised(message);
}

/** The clauses of a message that fit on a line; all of it if its first does not. */
function firstClauses(message: string): string {
  const end = Math.max(...["; ", ": "].map((mark) => message.lastIndexOf(mark, LINE)));
  const clauses = message.slice(0, Math.max(0, end));
  const endsInCode = clauses.split("`").length % 2 === 0;
  return end < LEAST || endsInCode ? message : clauses;
}

/** A finding in short, and whole where the short form leaves out its clauses, its limit or its arms and loads. */
export function shortened(finding: FindingText): { line: string; whole: string | undefined } {
  const message = messageOf(finding);
  const withLimit = message + (finding.measured ? ` (${finding.measured})` : "");
  const whole = withLimit + finding.scope;
  const line = [whole, withLimit, message].find((text) => text.length <= LINE) ?? firstClauses(message);
  return line === whole ? { line: sentence(whole), whole: undefined } : { line: `${line} …`, whole: sentence(whole) };
}

interface FindingsProps {
  findings: FindingText[];
  /** Whether what to do about the first is shown, as on a page without a next command. */
  isFirstOpen?: boolean;
}

/** What the checks found: what matters most first, the rest when asked for. */
export function Findings({ findings, isFirstOpen = false }: FindingsProps) {
  const sorted = [...findings].sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  const [first, rest] = [sorted.slice(0, FIRST_FINDINGS), sorted.slice(FIRST_FINDINGS)];
  if (first.length === 0) {
    return null;
  }
  return (
    <section class="findings">
      <h2 id={headingId(FINDINGS)} tabIndex={-1}>
        Findings
      </h2>
      <FindingList findings={first} isFirstOpen={isFirstOpen} />
      {rest.length > 0 && (
        <details>
          <summary>{counted(rest, "more ")}</summary>
          <FindingList findings={rest} />
        </details>
      )}
    </section>
  );
}

function FindingList({ findings, isFirstOpen = false }: FindingsProps) {
  return (
    <ul>
      {findings.map((finding, place) => {
        const { line, whole } = shortened(finding);
        return (
          <li key={finding.id + finding.scope + finding.message}>
            <details open={isFirstOpen && place === 0}>
              <summary>
                <b class={finding.severity}>{SEVERITIES[finding.severity][0]}</b> <Words text={line} />
              </summary>
              {whole !== undefined && (
                <p>
                  <Words text={whole} />
                </p>
              )}
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
        );
      })}
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
export function ChecksWithoutFinding({ checks }: { checks: CheckText[] }) {
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
