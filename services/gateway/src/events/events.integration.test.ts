import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { call } from "@switchyard/bus/call";
import { publishEvent, publishLive } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { runCancelled, runLive, runSteered } from "@switchyard/contracts/agent-runner/run-events";
import { getRun } from "@switchyard/contracts/agent-runner/runs";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { revokeUserKey } from "@switchyard/contracts/policy/user-tokens";
import { until } from "@switchyard/local-servers/until";
import { startGatewayWorld } from "../../test/gateway-world.ts";

const world = await startGatewayWorld();
const runner = await world.connectAs("runner");
const onFault = ({ error }: { error: unknown }): void => assert.fail(String(error));
const runs = serve(runner, { name: "runner", version: "0.1.0", description: "", onFault });
runs.handle(getRun, ({ runId }, { fail }) => {
  throw fail.unknown_run(`there is no run ${runId}`, { runId });
});

await runner.flush();

const at = () => new Date().toISOString();

const USAGE = { inputTokens: 0, outputTokens: 0 };

/** Publishes one event of a run; the last one ends it. */
async function report(
  owner: string,
  name: string,
  seq: number,
  { isLast = false, preview = `event ${seq}` } = {},
): Promise<void> {
  const about = { runId: `${owner}~${name}`, seq, at: at() };
  const tokens = { owner, runId: name };
  const messageId = `${owner}~${name}:${seq}`;
  if (isLast) {
    const facts = { by: "cli", reason: null, steps: 0, toolCalls: 0, usage: USAGE, durationMs: 1 };
    await publishEvent(runner, runCancelled, tokens, { ...about, ...facts }, { messageId });
  } else {
    const facts = { by: "cli", preview };
    await publishEvent(runner, runSteered, tokens, { ...about, ...facts }, { messageId });
  }
}

interface Message {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: unknown;
}

interface Reading {
  readonly status: number;
  readonly messages: Message[];
  /** Resolves when every event from now on reaches the reader. */
  readonly ready: Promise<void>;
  /** Resolves at the end of the stream, false when it was cut. */
  readonly ended: Promise<boolean>;
  stop(): void;
}

async function read(
  url: string,
  path: string,
  { key, after }: { key: string; after?: string | undefined },
): Promise<Reading> {
  const stopping = new AbortController();
  const response = await fetch(`${url}/api/v1${path}`, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(after === undefined ? {} : { "last-event-id": after }),
    },
    signal: stopping.signal,
  });
  const messages: Message[] = [];
  const ready = Promise.withResolvers<void>();
  const take = async (): Promise<void> => {
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        if (block === ": ready") ready.resolve();
        const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
        const data = field("data");
        if (data !== undefined)
          messages.push({ event: field("event"), id: field("id"), data: JSON.parse(data) });
      }
    }
  };
  const ended = take().then(
    () => true,
    () => false,
  );
  const { status } = response;
  return { status, messages, ready: ready.promise, ended, stop: () => stopping.abort() };
}

const runOf = ({ messages }: Reading) =>
  (messages[0]?.data as { runId: string } | undefined)?.runId;
const idOf = ({ messages }: Reading, index: number) => messages.at(index)?.id ?? assert.fail();
const idsOf = (messages: readonly Message[]) =>
  messages.flatMap(({ id }) => (id === undefined ? [] : [Number(id)]));
const seqsOf = ({ messages }: Reading) => messages.map(({ data }) => (data as { seq: number }).seq);
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

test("a run is followed by its own numbers from its beginning, with live text between, and ends when the run does", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("alice", ["viewer"]);
  await report("alice", "r1", 1);
  await report("alice", "r1", 2);
  const reading = await read(url, "/runs/r1/events", { key });
  await until(() => Promise.resolve(reading.messages.length === 2));
  const run = { owner: "alice", runId: "r1" };
  publishLive(runner, runLive, run, { runId: "alice~r1", step: 1, delta: "hel" });
  await until(() => Promise.resolve(reading.messages.length === 3));
  await report("alice", "r1", 3, { isLast: true });
  assert.equal(await reading.ended, true);
  assert.deepEqual(
    reading.messages.map(({ event, id }) => [event, id]),
    [
      ["steered", "1"],
      ["steered", "2"],
      ["delta", undefined],
      ["cancelled", "3"],
    ],
  );
  const rest = await read(url, "/runs/alice~r1/events", { key, after: "2" });
  assert.equal(await rest.ended, true);
  assert.deepEqual(idsOf(rest.messages), [3]);
});

test("stored events of one kind are read to their end, the caller's own alone", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("dora", ["viewer"]);
  for (const [owner, name] of [
    ["dora", "d1"],
    ["dora", "d2"],
    ["alice", "a1"],
  ] as const) {
    await report(owner, name, 1);
    await report(owner, name, 2, { isLast: true });
  }
  const stored = await read(url, "/events?noun=run&event=cancelled&follow=false", { key });
  assert.equal(await stored.ended, true);
  assert.deepEqual(
    stored.messages.map(({ event, data }) => [event, (data as { runId: string }).runId]),
    [
      ["cancelled", "dora~d1"],
      ["cancelled", "dora~d2"],
    ],
  );
  const after = idOf(stored, 0);
  const rest = await read(url, "/events?noun=run&event=cancelled&follow=false", { key, after });
  assert.equal(await rest.ended, true);
  assert.deepEqual(
    rest.messages.map(({ id }) => id),
    [idOf(stored, 1)],
  );
  for (const query of ["event=cancelled", "noun=run&follow=false", "noun=run&event=a.b"])
    assert.equal((await read(url, `/events?${query}`, { key })).status, 400, query);
});

test("a filter that does not exist is refused with the one that is meant", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("erin", ["viewer"]);
  const refused = async (path: string, status = 400): Promise<string> => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    assert.equal(answer.status, status, path);
    return ((await answer.json()) as { detail: string }).detail;
  };
  assert.match(await refused("/events?nuon=run"), /nuon: is unknown; did you mean noun\?/);
  assert.match(await refused("/events?noun=run&event=finishd"), /did you mean finished\?/);
  assert.match(await refused("/events?noun=rum", 404), /did you mean run\?/);
  assert.match(await refused("/runs/one/events?folow=false"), /did you mean follow\?/);
  assert.match(await refused("/runs/one/events?a=1&b=2"), /a: is unknown; b: is unknown/);
});

test("a HEAD request for events gets the headers of the stream alone", async (t) => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("hans", ["viewer"]);
  const printed = t.mock.method(console, "error", () => {});
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${url}/api/v1/events`, { method: "HEAD", headers });
  assert.equal(answer.headers.get("content-type"), "text/event-stream");
  assert.equal(await answer.text(), "");
  assert.equal(printed.mock.callCount(), 0);
});

test("another caller's run and events are not shown, whether or not they exist", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("mallory", ["operator"]);
  await report("alice", "secret", 1);
  for (const path of ["/runs/alice~secret/events", "/runs/alice~nothing/events"])
    assert.equal(
      (await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } })).status,
      404,
    );
  const { key: narrow } = await world.keyOf("mallory", ["operator"], ["models.*"]);
  assert.equal(
    (await fetch(`${url}/api/v1/events`, { headers: { authorization: `Bearer ${narrow}` } }))
      .status,
    403,
  );
  const all = await read(url, "/events", { key });
  const foreign = await read(url, "/events?noun=run&id=secret", { key });
  await report("alice", "secret", 2);
  await report("mallory", "own", 1);
  await until(() => Promise.resolve(all.messages.length === 1));
  assert.equal(runOf(all), "mallory~own");
  await report("mallory", "own", 2);
  const after = idOf(all, 0);
  assert.match(after, /^\d+-\d{13}$/);
  const later = await read(url, "/events", { key, after });
  // Ids of older versions contain no time.
  const older = await read(url, "/events", { key, after: after.split("-")[0] });
  for (const { messages } of [later, older]) {
    await until(() => Promise.resolve(messages.length === 1));
    assert.equal(messages[0]?.event, "steered");
  }
  assert.deepEqual(foreign.messages, []);
  for (const reading of [all, foreign, later, older]) reading.stop();
  for (const wrong of [`${after}-1`, "5-", "-5", "5-12345678901234", "x"])
    assert.equal((await read(url, "/events", { key, after: wrong })).status, 400, wrong);
  assert.equal((await read(url, "/runs/own/events", { key, after })).status, 400);
});

/** Publishes a call that waits for a person; returns the id of the approval. */
async function ask(user: string): Promise<string> {
  const broker = await world.connectAs("broker");
  const asked = { onBehalfOf: user, tool: mcpToolRef("asked", "write"), args: {} };
  const { decision, principal } = await call(broker, checkPolicy, asked);
  const bound = { ...asked, principal, caller: user, pin: undefined, decision };
  const attempt = randomUUID();
  const callId = `${user}:${attempt}`;
  const binding = bindingDigest(bound);
  const admission = await call(broker, admitCall, {
    ...asked,
    callId,
    decision,
    binding,
    attempt,
  });
  return admission.outcome === "waiting" ? admission.approvalId : assert.fail(admission.outcome);
}

test("an approver receives everybody's approvals and nothing else that is not theirs; other callers receive their own", async () => {
  const { url } = await world.startGateway();
  const roles = ["approver", "operator"] as const;
  const [approver, operator] = await Promise.all(
    roles.map(async (role) => {
      const { key } = await world.keyOf(`hears-${role}`, [role]);
      return read(url, "/events", { key });
    }),
  );
  assert.ok(approver !== undefined && operator !== undefined);
  await Promise.all([approver.ready, operator.ready]);
  await report("bob", "private", 1);
  await ask("carol");
  await until(() => approver.messages.length > 0);
  assert.deepEqual(
    approver.messages.map(({ event }) => event),
    ["requested"],
  );
  assert.deepEqual(operator.messages, []);
  for (const reading of [approver, operator]) reading.stop();
});

test("an approver whom the policy names for some calls receives the approvals of those calls alone", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("bobs-approver", ["approver"]);
  const feed = await read(url, "/events", { key });
  await feed.ready;
  const ids = [await ask("carol"), await ask("bob"), await ask("carol"), await ask("bob")];
  await until(() => Promise.resolve(feed.messages.length === 2));
  const approvalIds = feed.messages.map(({ data }) => (data as { approvalId: string }).approvalId);
  assert.deepEqual(approvalIds, [ids[1], ids[3]]);
  const after = feed.messages[0]?.id;
  feed.stop();
  const again = await read(url, "/events", { key, after });
  await until(() => Promise.resolve(again.messages.length === 1));
  assert.deepEqual(again.messages[0]?.data, feed.messages[1]?.data);
  again.stop();
  const listed = await fetch(`${url}/api/v1/approvals`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { approvals, pending } = (await listed.json()) as {
    approvals: { id: string }[];
    pending: number;
  };
  assert.deepEqual([approvals.map(({ id }) => id), pending], [[ids[3], ids[1]], 2]);
  const decide = (id: string | undefined) =>
    fetch(`${url}/api/v1/approvals/${id}/approve`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: "{}",
    });
  assert.equal((await decide(ids[0])).status, 404);
  assert.equal((await decide(ids[1])).status, 200);
});

test("a stream ends when its key is revoked, and when the gateway stops, which then exits", async () => {
  const { url, child } = await world.startGatewayProcess();
  const [gone, stays] = [
    await world.keyOf("bob", ["viewer"]),
    await world.keyOf("bob", ["viewer"]),
  ];
  const [first, second] = [await read(url, "/events", gone), await read(url, "/events", stays)];
  await call(await world.connectAs("cli"), revokeUserKey, { id: gone.id });
  assert.equal(await first.ended, true);
  child.kill("SIGTERM");
  assert.equal(await second.ended, true);
  await until(() => Promise.resolve(child.exitCode === 0));
});

test("200 readers of a gateway that is killed continue at another one, or there when it is back, with no event lost or twice", async () => {
  const [killed, other] = await Promise.all([world.startGatewayProcess(), world.startGateway()]);
  const { key } = await world.keyOf("carol", ["viewer"]);
  const names = Array.from({ length: 100 }, (_, index) => `k${index}`);
  const paths = names.flatMap((name) => [`/runs/${name}/events`, `/events?noun=run&id=${name}`]);
  const end = performance.now() + 120_000;
  let seq = 0;
  let last: number | null = null;
  let cuts = 0;
  const latest = new Map<string, Reading>();
  const follow = async (path: string, index: number): Promise<number[]> => {
    const seqs: number[] = [];
    let { url } = killed;
    let lastId: string | undefined;
    while (performance.now() < end) {
      const reading = await read(url, path, { key, after: lastId }).catch(() => null);
      if (reading !== null) {
        latest.set(path, reading);
        await reading.ended;
        seqs.push(...seqsOf(reading));
        lastId = reading.messages.at(-1)?.id ?? lastId;
      }
      if (last !== null && seqs.at(-1) === last) return seqs;
      cuts += 1;
      // One half waits for the gateway that it was connected to.
      if (index % 4 < 2) ({ url } = other);
      await delay(20); // Browsers also wait before they reconnect.
    }
    return assert.fail(`${path} came to ${seqs.at(-1)} of ${last}`);
  };
  const notifyAll = async (isLast = false): Promise<void> => {
    seq += 1;
    await Promise.all(names.map((name) => report("carol", name, seq, { isLast })));
  };
  const following = paths.map(follow);
  // Readers without a `Last-Event-ID` receive events from now on; the test publishes until every reader has received one.
  await until(async () => {
    await notifyAll();
    return paths.every((path) => (latest.get(path)?.messages.length ?? 0) > 0);
  });
  killed.child.kill("SIGKILL");
  await notifyAll();
  const back = world.startGateway({ YARD_HTTP_PORT: new URL(killed.url).port });
  for (let more = 0; more < 5; more += 1) await notifyAll();
  await back;
  last = seq + 1;
  await notifyAll(true);
  const endless = paths.filter((path) => path.startsWith("/events"));
  const lastOf = (path: string) => latest.get(path)?.messages.at(-1)?.data as { seq?: number };
  await until(() => Promise.resolve(endless.every((path) => lastOf(path)?.seq === last)));
  for (const path of endless) latest.get(path)?.stop();
  for (const [index, seqs] of (await Promise.all(following)).entries()) {
    const from = index % 2 === 0 ? 1 : (seqs[0] ?? 0);
    assert.deepEqual(seqs, upTo(last).slice(from - 1), paths[index]);
  }
  assert.ok(cuts >= paths.length, "not everybody was cut");
});

test("a run without any event is not waited for without end, and a caller has so many streams", async () => {
  const gateway = await world.startGateway({}, { unknownRunMs: 3_000, httpStreamsPerCaller: 2 });
  const { url } = gateway;
  const { key } = await world.keyOf("dan", ["viewer"]);
  const never = await read(url, "/runs/never-started/events", { key });
  assert.equal(await never.ended, true);
  assert.deepEqual(
    never.messages.map(({ event, data }) => [event, (data as { runId: string }).runId]),
    [["unknown", "dan~never-started"]],
  );
  await report("dan", "known", 1);
  const [first, second] = [
    await read(url, "/runs/known/events", { key }),
    await read(url, "/events", { key }),
  ];
  const third = await read(url, "/events", { key });
  assert.equal(third.status, 429);
  const { key: others } = await world.keyOf("eva", ["viewer"]);
  const free = await read(url, "/events", { key: others });
  assert.equal(free.status, 200);
  first.stop();
  await until(async () => {
    const again = await read(url, "/events", { key });
    again.stop();
    return again.status === 200;
  });
  for (const reading of [second, free]) reading.stop();
  // Its constants apply to every gateway of this process until it stops.
  await gateway.stop();
});

test("a reader that pauses gets a history of any length on one connection, and what happened meanwhile", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("frank", ["viewer"]);
  const LONG = 120;
  const LAST = LONG + 5;
  // The events are more than the sockets in between buffer.
  const preview = "x".repeat(200_000);
  for (let from = 1; from <= LONG; from += 20)
    await Promise.all(
      upTo(20).map((offset) => report("frank", "long", from + offset - 1, { preview })),
    );
  const asking = get(`${url}/api/v1/runs/long/events`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const [response] = (await once(asking, "response")) as [IncomingMessage];
  const ids: number[] = [];
  let rest = "";
  let hasPaused = false;
  for await (const chunk of response) {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("id: ")) ids.push(Number(line.slice(4)));
    if (hasPaused || ids.length === 0) continue;
    hasPaused = true;
    for (const seq of upTo(LAST).slice(LONG))
      await report("frank", "long", seq, { isLast: seq === LAST });
    // The server removes a consumer that is not polled for ten seconds; the gateway's reader continues all the same.
    await new Promise((resolve) => setTimeout(resolve, 11_000));
  }
  assert.deepEqual(ids, upTo(LAST));
});

test("a run that continues after an end is followed to its last one, also by a reader that has the first", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("gina", ["viewer"]);
  for (const seq of upTo(6)) await report("gina", "retried", seq, { isLast: seq % 3 === 0 });
  for (const [after, expected] of [
    [undefined, upTo(6)],
    ["3", [4, 5, 6]],
    ["6", []],
  ] as const) {
    const reading = await read(url, "/runs/retried/events", { key, after });
    assert.equal(await reading.ended, true);
    assert.deepEqual(idsOf(reading.messages), expected);
  }
});

test("readers receive what gets the numbers of events that nats-server has lost, also those that come with the id of one", async () => {
  const { url } = await world.startGateway();
  const { key } = await world.keyOf("hal", ["viewer"]);
  const isUp = () => Promise.resolve(runner.status === "connected");
  const there = await read(url, "/events?noun=run", { key });
  const follows = await read(url, "/runs/lossy/events", { key });
  const readers = [there, follows];
  await report("hal", "lossy", 1);
  await until(() => Promise.resolve(readers.every(({ messages }) => messages.length === 1)));
  await world.nats.remember();
  await until(isUp);
  for (const seq of [2, 3, 4]) await report("hal", "lossy", seq);
  await until(() => Promise.resolve(readers.every(({ messages }) => messages.length === 4)));
  const lost = idOf(there, -1);
  await world.nats.goBack();
  await until(isUp);
  // The last of them has the number of the event that is named.
  for (const seq of [5, 6, 7]) await report("hal", "lossy", seq);
  const late = [
    await read(url, "/events?noun=run", { key, after: lost }),
    await read(url, "/events", { key, after: lost }),
  ];
  await report("hal", "lossy", 8);
  for (const reading of [...readers, ...late]) {
    await until(() => Promise.resolve(seqsOf(reading).at(-1) === 8));
    reading.stop();
  }
  const [number = ""] = lost.split("-");
  assert.ok(idOf(there, -2).startsWith(`${number}-`), `${idOf(there, -2)} is not ${lost} again`);
  for (const reading of readers) assert.deepEqual(seqsOf(reading), upTo(8));
  for (const reading of late) assert.deepEqual(seqsOf(reading), [5, 6, 7, 8]);
});
