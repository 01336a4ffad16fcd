// A job while it runs, and how it ended.

import { useEffect, useRef, useState } from "preact/hooks";
import { SeriesBlock } from "../block/groups";
import { grouped } from "../chart/scale";
import { SPARK } from "../chart/spark";
import { asTable } from "../figure";
import { Headlines } from "../headlines";
import { Grid } from "../table";
import { capitalised, inert, sentence, Words } from "../text";
import type { CostsSoFar, Job } from "../types/api";
import type { Document } from "../types/document";
import { VerdictLine } from "../verdict";
import { isEnd } from "./api";
import { charts, recent, recent_s, type Course } from "./course";
import { curveCharts } from "./curve";
import { shownOf, type Live } from "./state";
import { aboutP99, numbers, title, USABLE } from "./words";

const HEIGHT = 210;

interface JobProps {
  live: Live;
  job: Job;
  /** Its checked result; none until it is there. */
  result: Document | undefined;
  /** The title, which the focus is moved to. */
  heading: { current: HTMLHeadingElement | null };
  stop: () => void;
  /** A button has the focus that is gone when the job has ended. */
  onFocus: () => void;
}

/** The job. */
export function JobView({ live, job, result, heading, stop, onFocus }: JobProps) {
  const [held, setHeld] = useState<Live | undefined>(undefined);
  const shown = shownOf(live, held);
  const isHeld = shown === held;
  const of = shown.job ?? job;
  const { progress, step } = of;
  const isStopping = live.asking === "stop" || job.state === "stopping";
  return (
    <section class="job" aria-labelledby="job-title">
      <div class="top">
        <h2 id="job-title" ref={heading} tabIndex={-1}>
          <Words text={title(job)} />
        </h2>
        {!isEnd(job) && (
          <button type="button" class="main" aria-disabled={isStopping} onFocus={onFocus} onClick={() => isStopping || stop()}>
            {isStopping ? "Stopping…" : "Stop"}
          </button>
        )}
      </div>
      {live.problem !== "" && (
        <p class="wrong" role="alert">
          <Words text={sentence(capitalised(live.problem))} />
        </p>
      )}
      {live.isLost && <p class="wrong">The server does not answer. The page tries again; the job continues without it.</p>}
      <End job={job} usable={result?.verdict?.usable} />
      {result !== undefined && <Checked result={result} />}
      {!isEnd(job) && (
        <p class="act">
          <button type="button" class="quiet" onFocus={onFocus} onClick={() => setHeld(isHeld ? undefined : live)}>
            {isHeld ? "Follow the job again" : "Hold the numbers"}
          </button>
          {isHeld && <span class="soft">The job continues. The numbers below are those from when they were held.</span>}
        </p>
      )}
      {step !== null && (
        <p class="step">
          <progress max={step.all} value={step.done} aria-label="Slices of the study" />
          <Words text={sentence(capitalised(step.line))} />
        </p>
      )}
      {progress === null ? (
        !isEnd(job) && job.kind === "load" && <p class="soft">The first numbers appear half a second after the start.</p>
      ) : (
        <>
          {!isEnd(job) && <progress max={progress.total_s} value={progress.elapsed_s} aria-label="Time of the job" />}
          {!isEnd(job) && (
            <dl class="numbers">
              {numbers(progress).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    {value}
                    <Spark course={shown.course} name={name} />
                  </dd>
                </div>
              ))}
            </dl>
          )}
          <div class="beside">
            {charts(shown.course, progress.total_s).map((chart) => (
              <SeriesBlock key={chart.title} data={chart} height={HEIGHT} />
            ))}
          </div>
          <p class="note">
            {aboutP99(progress)}
            {isEnd(job)
              ? "The charts have the live numbers of each half second, which are not checked: the result is."
              : `Numbers are those of the last half second, errors those since the warm-up. ${aboutLines(shown.course)}Bytes are those of the bodies of complete responses. These numbers are not checked: the result is.`}
            {shown.course.each > 1 && ` Each point holds ${shown.course.each} of them: the mean of the rates, the highest of the times, the last number of connections.`}
          </p>
        </>
      )}
      <Trials job={of} />
      {of.costs !== null && <Costs costs={of.costs} />}
      {of.notes.length > 0 && (of.kind === "load" ? <Notes notes={of.notes} /> : <Lines lines={of.notes} />)}
    </section>
  );
}

/** What the lines below numbers are, once there are any. */
function aboutLines({ stretches }: Course): string {
  return stretches.length > 1 ? `The line below each is its course in the last ${grouped(recent_s(stretches), 0)} s, from zero up. ` : "";
}

/** The recent course of a number as a line. */
function Spark({ course, name }: { course: Course; name: string }) {
  const of = recent(course, name);
  return of === undefined ? null : (
    <svg class="spark" viewBox={`0 0 ${SPARK.width} ${SPARK.height}`} preserveAspectRatio="none" role="img" aria-label={of.words}>
      <path d={of.path} />
    </svg>
  );
}

/** The checked result: its answer, and its few numbers. */
function Checked({ result }: { result: Document }) {
  return (
    <div class="checked">
      {result.answer.map((one) => (
        <p key={one} class="answer">
          <Words text={sentence(capitalised(one))} />
        </p>
      ))}
      {result.headlines.length > 0 && <Headlines headlines={result.headlines} />}
    </div>
  );
}

/** The trials of a search. */
function Trials({ job }: { job: Job }) {
  const drawn = curveCharts(job.curves);
  return drawn.length === 0 ? null : (
    <>
      <div class="beside">
        {drawn.map((chart) => (
          <SeriesBlock key={chart.title} data={chart} height={HEIGHT} />
        ))}
      </div>
      <p class="note">Each point is a trial that has ended. The search decides from all of them together: near the answer, trials at one rate hold and fail by chance.</p>
    </>
  );
}

/** The costs of a study that measures. */
function Costs({ costs }: { costs: CostsSoFar }) {
  const title = sentence(capitalised(costs.title));
  return (
    <>
      <p class="note">
        {title} They may still change{costs.more > 0 ? `; ${costs.more} more arms are in the result` : ""}.
      </p>
      <Grid table={asTable(title, [costs.headings, ...costs.rows])} />
    </>
  );
}

/** What a load said. */
function Notes({ notes }: { notes: readonly string[] }) {
  return (
    <ul class="note" aria-label="Notes">
      {notes.map((note, place) => (
        <li key={place}>
          <Words text={note} />
        </li>
      ))}
    </ul>
  );
}

/** What its command would print, the latest in sight. Some of it is tables, whose columns are aligned. */
function Lines({ lines }: { lines: readonly string[] }) {
  const list = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    // Whoever reads an earlier line is left there.
    if (list.current !== null && isAtEnd.current) {
      list.current.scrollTop = list.current.scrollHeight;
    }
  }, [lines]);
  const scrolled = ({ currentTarget: of }: { currentTarget: HTMLPreElement }) => {
    isAtEnd.current = of.scrollHeight - of.scrollTop - of.clientHeight < 8;
  };
  return (
    <pre ref={list} class="lines" role="region" aria-label="Lines of the job" tabIndex={0} onScroll={scrolled}>
      {inert(lines.join("\n"))}
    </pre>
  );
}

/** How a job ended, what may be used of its result once that is there, and where it is. */
function End({ job, usable }: { job: Job; usable: string | undefined }) {
  if (!isEnd(job)) {
    return null;
  }
  return (
    <>
      {job.verdict !== null && (
        <VerdictLine verdict={job.verdict}>
          <Words text={sentence(capitalised(usable ?? USABLE[job.verdict]))} />
        </VerdictLine>
      )}
      {job.problem !== null && (
        <p class="wrong">
          <Words text={sentence(capitalised(job.problem))} />
        </p>
      )}
      {job.run !== null ? (
        <p>
          <a href={`/runs/${job.run}`}>Open run {job.run}</a>
        </p>
      ) : (
        <p>It has no result. The form above starts it again.</p>
      )}
    </>
  );
}
