// What has changed since the run of the same study on the same machine before, in the words of the server's comparison of both.

import { useEffect, useMemo, useState } from "preact/hooks";
import { minute } from "../provenance";
import { sentence, Words } from "../text";
import { client as clientOf, type Earlier } from "./api";
import { compareAddress } from "./choice";

interface SinceProps {
  api: string;
  run: string;
  before: Earlier;
}

/** A line, whose link is there before the words are. */
export function Since({ api, run, before }: SinceProps) {
  const client = useMemo(() => clientOf(api), [api]);
  const [said, setSaid] = useState<string[]>([]);
  useEffect(() => {
    let isOver = false;
    void client.compare([before.run, run]).then((answer) => {
      if (!isOver && "value" in answer) {
        setSaid(answer.value.changes);
      }
    });
    return () => {
      isOver = true;
    };
  }, [client, run, before.run]);
  return (
    <p>
      <a href={compareAddress([before.run, run])}>Since run {before.run}</a> of {minute(before.startedAt)} UTC, of the same study on the same machine
      {said.length > 0 ? ": " : "."}
      <Words text={said.map(sentence).join(" ")} />
    </p>
  );
}
