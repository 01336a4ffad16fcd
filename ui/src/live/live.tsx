// Starts a job from the page of the history, and follows it.

import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { bare } from "../text";
import type { BuiltInStudy } from "../types/api";
import type { Document } from "../types/document";
import type { View } from "../view";
import { client as clientOf, isEnd } from "./api";
import { StartForm } from "./form";
import { JobView } from "./job";
import { kindOf, type Kind } from "./kinds";
import { isFree, next, NOTHING } from "./state";

interface LiveViewProps {
  api: string;
  allowsBills: boolean;
  /** Has the kind whose form is shown. */
  view: View;
  change: (changes: View) => void;
  /** Reads the list of runs again. */
  renew: () => void;
}

/** The form, and below it the job that runs or ran last. */
export function LiveView({ api, allowsBills, view, change, renew }: LiveViewProps) {
  const client = useMemo(() => clientOf(api), [api]);
  const [live, send] = useReducer(next, NOTHING);
  const [studies, setStudies] = useState<readonly BuiltInStudy[]>([]);
  const heading = useRef<HTMLHeadingElement>(null);
  const isFocusDue = useRef(false);
  const { job } = live;
  const kind = kindOf(view);
  const running = job !== undefined && !isEnd(job) ? job.job : undefined;
  const stored = job !== undefined && isEnd(job) ? job.run : null;
  const [result, setResult] = useState<Document | undefined>(undefined);

  const look = async () => {
    const answer = await client.jobs();
    if ("value" in answer) {
      send({ kind: "listed", jobs: answer.value });
    } else {
      send({ kind: "refused", for: "start", error: answer.refusal.error });
    }
  };
  useEffect(() => void look(), [client]);
  useEffect(() => (running === undefined ? undefined : client.follow(running, send)), [client, running]);
  // The checked result takes the place of the live numbers.
  useEffect(() => {
    setResult(undefined);
    if (stored === null) {
      return undefined;
    }
    renew();
    let isOver = false;
    void client.result(stored).then((answer) => {
      if (!isOver && "value" in answer) {
        setResult(answer.value);
      }
    });
    return () => {
      isOver = true;
    };
  }, [client, stored]);
  // Where the button was that started or stopped the job, there is none for it now.
  useEffect(() => {
    const active = document.activeElement;
    const isHome = running !== undefined || active === null || active === document.body;
    if (isFocusDue.current && isHome) {
      heading.current?.focus();
    }
    isFocusDue.current = false;
  }, [running]);

  /** The list takes the server some work, which nobody needs who starts something else. */
  const list = async () => {
    const answer = await client.studies();
    if ("value" in answer) {
      setStudies(answer.value);
    } else {
      send({ kind: "refused", for: "start", error: answer.refusal.error });
    }
  };
  useEffect(() => {
    if (kind === "study" && studies.length === 0) {
      void list();
    }
  }, [client, kind]);
  const start = async (kind: Kind, body: object) => {
    send({ kind: "asked", for: "start" });
    const answer = await client.start(kind, body);
    if ("value" in answer) {
      isFocusDue.current = true;
      send({ kind: "job", job: answer.value });
      return;
    }
    send({ kind: "refused", for: "start", error: answer.refusal.error });
    if (answer.refusal.status === CONFLICT) {
      // The job that runs was started elsewhere.
      await look();
    }
  };
  const stop = async (of: number) => {
    send({ kind: "asked", for: "stop" });
    const answer = await client.stop(of);
    send("value" in answer ? { kind: "job", job: answer.value } : { kind: "refused", for: "stop", error: answer.refusal.error });
  };
  return (
    <>
      <StartForm
        errors={live.errors}
        isFree={isFree(live)}
        allowsBills={allowsBills}
        isAsking={live.asking === "start"}
        studies={studies}
        kind={kind}
        view={view}
        change={change}
        start={(kind, body) => void start(kind, body)}
        refuse={(errors) => send({ kind: "invalid", errors })}
      />
      <p class="unseen" role="status">
        {bare(live.said.text)}
      </p>
      {job !== undefined && (
        <JobView live={live} job={job} result={result} heading={heading} stop={() => void stop(job.job)} onFocus={() => (isFocusDue.current = true)} />
      )}
    </>
  );
}

/** The status of an answer to a start while a job runs. */
const CONFLICT = 409;
