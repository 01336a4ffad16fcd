import { describe, expect, test } from "vitest";
import { client, served, type Means, type News } from "../src/live/api";

/** A stream of events in the hands of a test. */
class Stream extends EventTarget {
  readonly CLOSED = 2;
  readyState = 1;
  constructor(readonly address: string) {
    super();
  }
  close() {
    this.readyState = this.CLOSED;
  }
  say(job: object) {
    this.dispatchEvent(new MessageEvent("job", { data: JSON.stringify(job) }));
  }
  fail(isGivenUp: boolean) {
    this.readyState = isGivenUp ? this.CLOSED : 0;
    this.dispatchEvent(new Event("error"));
  }
}

/** A server that answers with these responses in turn. */
function server(...answers: (Response | Error)[]) {
  const asked: [string, RequestInit][] = [];
  const streams: Stream[] = [];
  const later: (() => void)[] = [];
  const means: Means = {
    get: async (address, init) => {
      asked.push([address, init]);
      const answer = answers.shift();
      if (answer instanceof Response) {
        return answer;
      }
      throw answer ?? new Error("refused");
    },
    open: (address) => {
      const stream = new Stream(address);
      streams.push(stream);
      return stream as unknown as EventSource;
    },
    later: (what) => later.push(what),
  };
  return { means, asked, streams, later };
}

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
/** Lets promises that wait for nothing be kept. */
const settled = () => new Promise((done) => setTimeout(done, 0));

test("only a page that a server shows knows an API", () => {
  const page = (dataset: object | undefined) => ({ querySelector: () => (dataset === undefined ? null : { dataset }) }) as unknown as ParentNode;
  expect(served(page({}))).toBeUndefined();
  expect(served(page(undefined))).toBeUndefined();
  expect(served(page({ api: "/api/v1" }))).toEqual({ api: "/api/v1", allowsBills: false, run: undefined });
  expect(served(page({ api: "/api/v1", run: "12" }))).toEqual({ api: "/api/v1", allowsBills: false, run: "12" });
  const outputs = [
    { ending: "md", name: "Markdown" },
    { ending: "txt", name: "plain text" },
  ];
  expect(served(page({ api: "/api/v1", run: "12", outputs: "md=Markdown,txt=plain text" }))).toEqual({ api: "/api/v1", allowsBills: false, run: "12", outputs });
  expect(served(page({ api: "/api/v1", run: "12", exports: "hgrm smp" }))).toEqual({ api: "/api/v1", allowsBills: false, run: "12", exports: ["hgrm", "smp"] });
  expect(served(page({ api: "/api/v1", run: "12", again: "start=load&rate=9" }))).toEqual({ api: "/api/v1", allowsBills: false, run: "12", again: "start=load&rate=9" });
  const before = { run: "9", startedAt: "2026-11-28T09:15:31Z" };
  expect(served(page({ api: "/api/v1", run: "12", before: "9 2026-11-28T09:15:31Z" }))).toEqual({ api: "/api/v1", allowsBills: false, run: "12", before });
  expect(served(page({ api: "/api/v1", newest: "12" }))).toEqual({ api: "/api/v1", allowsBills: false, newest: "12" });
  expect(served(page({ api: "/api/v1", bills: "" }))).toEqual({ api: "/api/v1", allowsBills: true });
});

describe("a question", () => {
  test("is sent as the API has it", async () => {
    const { means, asked } = server(...Array.from({ length: 9 }, () => json({ job: 1 })));
    const api = client("/api/v1", means);
    expect(await api.start("load", { target: "http://127.0.0.1/" })).toEqual({ value: { job: 1 } });
    await api.start("find", {});
    await api.start("study", {});
    await api.start("bill", {});
    await api.stop(1);
    await api.jobs();
    await api.studies();
    await api.label("12", { add: ["reference"], is_only: true });
    await api.compare(["9", "12"]);
    expect(asked.map(([address, init]) => [init.method, address])).toEqual([
      ["POST", "/api/v1/loads"],
      ["POST", "/api/v1/finds"],
      ["POST", "/api/v1/studies"],
      ["POST", "/api/v1/bills"],
      ["POST", "/api/v1/jobs/1/stop"],
      [undefined, "/api/v1/jobs"],
      [undefined, "/api/v1/studies"],
      ["PATCH", "/api/v1/runs/12"],
      [undefined, "/api/v1/compare?runs=9,12"],
    ]);
    expect(asked[7]?.[1].body).toBe('{"add":["reference"],"is_only":true}');
    expect(asked[0]?.[1]).toMatchObject({ body: '{"target":"http://127.0.0.1/"}', headers: { "content-type": "application/json" } });
  });

  test("that is refused has the words of the server, or its status", async () => {
    const { means } = server(json({ error: "job 1 runs" }, 409), new Response("<html>", { status: 502 }), new TypeError("Failed to fetch"));
    const api = client("/api/v1", means);
    expect(await api.jobs()).toEqual({ refusal: { status: 409, error: "job 1 runs" } });
    expect(await api.jobs()).toEqual({ refusal: { status: 502, error: "the server answered 502" } });
    expect(await api.jobs()).toMatchObject({ refusal: { status: 0, error: expect.stringContaining("still running?") } });
  });
});

describe("a job that is followed", () => {
  const follow = (...answers: (Response | Error)[]) => {
    const all = server(...answers);
    const news: News[] = [];
    const end = client("/api/v1", all.means).follow(3, (one) => news.push(one));
    return { ...all, news, end, stream: all.streams[0] as Stream };
  };

  test("is heard of until it ends, and then not asked for again", async () => {
    const { stream, news, asked } = follow();
    expect(stream.address).toBe("/api/v1/jobs/3/events");
    stream.say({ job: 3, state: "running" });
    stream.say({ job: 3, state: "failed" });
    expect(news.map((one) => one.kind)).toEqual(["job", "job"]);
    expect(stream.readyState).toBe(stream.CLOSED);
    stream.fail(true);
    await settled();
    expect([news.length, asked.length]).toEqual([2, 0]);
  });

  test("is left to the browser when its stream breaks", async () => {
    const { stream, news, asked } = follow();
    stream.fail(false);
    await settled();
    expect([news.map((one) => one.kind), asked.length]).toEqual([["lost"], 0]);
  });

  test("is asked for when its stream is refused, until it ends", async () => {
    const { stream, news, asked, later } = follow(json({ job: 3, state: "running" }), new Error("refused"), json({ job: 3, state: "done" }));
    stream.fail(true);
    await settled();
    later.shift()?.();
    await settled();
    later.shift()?.();
    await settled();
    later.shift()?.();
    await settled();
    expect(news.map((one) => (one.kind === "job" ? one.job.state : one.kind))).toEqual(["lost", "running", "lost", "done"]);
    expect(asked.map(([address]) => address)).toEqual(Array(3).fill("/api/v1/jobs/3"));
  });

  test("that the server has forgotten is gone", async () => {
    const { stream, news, later } = follow(json({ error: "there is no such job" }, 404));
    stream.fail(true);
    await settled();
    later.shift()?.();
    await settled();
    expect(news).toEqual([{ kind: "lost" }, { kind: "gone", why: "there is no such job" }]);
  });

  test("is not heard of any more once nobody follows it", async () => {
    const { stream, news, end, asked } = follow();
    end();
    stream.fail(true);
    await settled();
    expect([news, asked]).toEqual([[], []]);
  });
});
