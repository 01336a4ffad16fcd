// Starts a load from the page of the history, and follows it.

import { useEffect, useMemo, useReducer, useRef } from "preact/hooks";
import type { WantedLoad } from "../types/api";
import { client as clientOf, isEnd } from "./api";
import { StartForm } from "./form";
import { JobView } from "./job";
import { isFree, next, NOTHING } from "./state";

/** The form, and below it the job that runs or ran last. */
export function LiveView({ api }: { api: string }) {
  const client = useMemo(() => clientOf(api), [api]);
  const [live, send] = useReducer(next, NOTHING);
  const heading = useRef<HTMLHeadingElement>(null);
  const isFocusDue = useRef(false);
  const { job } = live;
  const running = job !== undefined && !isEnd(job) ? job.job : undefined;

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
  // Where the button was that started or stopped the job, there is none for it now.
  useEffect(() => {
    const active = document.activeElement;
    const isHome = running !== undefined || active === null || active === document.body;
    if (isFocusDue.current && isHome) {
      heading.current?.focus();
    }
    isFocusDue.current = false;
  }, [running]);

  const start = async (load: WantedLoad) => {
    send({ kind: "asked", for: "start" });
    const answer = await client.start(load);
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
        isAsking={live.asking === "start"}
        start={(load) => void start(load)}
        refuse={(errors) => send({ kind: "invalid", errors })}
      />
      <p class="unseen" role="status">
        {live.said.text}
      </p>
      {job !== undefined && (
        <JobView live={live} job={job} heading={heading} stop={() => void stop(job.job)} onStopFocus={() => (isFocusDue.current = true)} />
      )}
    </>
  );
}

/** The status of an answer to a load while another runs. */
const CONFLICT = 409;
