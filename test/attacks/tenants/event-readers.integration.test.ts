import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectionOf } from "@switchyard/bus/connection";
import { readEvents, subscribeLive } from "@switchyard/bus/events";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testUsers } from "@switchyard/testing/test-users";
import { commandsOf } from "@switchyard/topology/command-streams";
import { eventConsumersOf, MAX_EVENT_CONSUMERS } from "@switchyard/topology/event-consumers";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { publishedAs } from "@switchyard/contracts/reserved-subjects";
import { listRuns } from "@switchyard/contracts/agent-runner/runs";
import { commandStream } from "@switchyard/topology/streams";
import { until } from "@switchyard/local-servers/until";
import { testNats } from "@switchyard/testing/test-servers";
import { TEAM_A, TEAM_B } from "./reachable.ts";

// JetStream requests within a team's own rights, used against another one. `open:` is an attack that still succeeds, with the
// reason; its test fails as soon as it does not.
const users = testUsers([TEAM_A, TEAM_B]);
const nats = await testNats({ authorization: users.authorization });
const admin = await users.connect(nats, "admin");
await ensureStreams(admin);
const [runner, teamA, teamB] = await Promise.all(
  ["runner", TEAM_A, TEAM_B].map((user) => users.connect(nats, user)),
).then((buses) => buses as [Bus, Bus, Bus]); // one for each name

const ofA = `yard.evt.run.${TEAM_A}.secret-name.started`;
const ofB = `yard.evt.run.${TEAM_B}.mine.started`;
/** It comes into the event stream from another one, whose subject it has. */
const factOfB = `yard.evt.run.${TEAM_B}.mine.rejected`;
for (const subject of [ofA, ofB, factOfB])
  await connectionOf(runner).nc.request(subject, JSON.stringify({ subject }));

await until(async () => {
  const { state } = await api(admin, "STREAM.INFO.YARD_EVENTS");
  return state?.messages === 3;
});

interface ApiAnswer {
  readonly error?: { readonly code: number; readonly err_code: number };
  readonly state?: { readonly messages: number; readonly subjects?: Record<string, number> };
  readonly num_pending?: number;
  readonly config?: { readonly filter_subject?: string };
}

async function api(bus: Bus, subject: string, body: object = {}): Promise<ApiAnswer> {
  const { replies } = connectionOf(bus);
  const request = { subject: `$JS.API.${subject}`, body: JSON.stringify(body), timeoutMs: 10_000 };
  return JSON.parse((await replies.request(request)).string()) as ApiAnswer; // in the server's own form
}

const OWN = `yard.evt.run.${TEAM_B}.>`;
const FOREIGN = `yard.evt.run.${TEAM_A}.>`;

/** Names of team-b's consumers that its own readers below do not use by chance: they are kept. */
const [MINE, OTHER, AFTER] = eventConsumersOf(TEAM_B) as [string, string, string];

/** Makes a consumer as team-b, with its own filter in the subject where permissions see it. */
async function makeConsumer(name: string, config: object, more: object = {}): Promise<ApiAnswer> {
  await api(teamB, `CONSUMER.DELETE.YARD_EVENTS.${name}`);
  const base = { name, ack_policy: "none", deliver_policy: "all", filter_subject: OWN };
  const body = { stream_name: "YARD_EVENTS", config: { ...base, ...config }, ...more };
  return api(teamB, `CONSUMER.CREATE.YARD_EVENTS.${name}.${OWN}`, body);
}

test("team-b makes a consumer of its own events, and reads those alone", async () => {
  const kept = { durable_name: MINE, ack_policy: "explicit" };
  assert.equal((await makeConsumer(MINE, kept)).num_pending, 2);
  const subjects: string[] = [];
  const filters = [OWN];
  for await (const { subject } of readEvents(teamB, {
    filters,
    from: "beginning",
    stopAtEnd: true,
  }))
    subjects.push(subject);
  assert.deepEqual(subjects, [ofB, factOfB]);
});

const filters: Record<string, object> = {
  "another owner's filter": { filter_subject: FOREIGN },
  "the filter of everybody": { filter_subject: "yard.evt.>" },
  "no filter": { filter_subject: undefined },
  "an empty filter": { filter_subject: "" },
  "its own filter and another's": { filter_subject: undefined, filter_subjects: [OWN, FOREIGN] },
  "another's in a list of one": { filter_subject: undefined, filter_subjects: [FOREIGN] },
  "both kinds of filter": { filter_subjects: [FOREIGN] },
  "a wildcard in the owner's place": { filter_subject: "yard.evt.run.*.>" },
};
for (const [what, config] of Object.entries(filters))
  test(`team-b makes no consumer whose body has ${what} behind its own subject`, async () => {
    const answer = await makeConsumer(OTHER, config);
    assert.ok(answer.error, JSON.stringify(answer));
  });

for (const stream of ["YARD_AUDIT", "YARD_COMMANDS", "YARD_FACTS", `OBJ_YARD_PAYLOADS_${TEAM_A}`])
  test(`team-b makes no consumer of ${stream} by naming it in the body`, async () => {
    assert.ok((await makeConsumer(OTHER, {}, { stream_name: stream })).error);
  });

const AUDITED = "yard.evt.audit.policy.decision";
const targets: Record<string, string> = {
  "the event stream": `yard.evt.run.${TEAM_A}.secret-name.finished`,
  "the events on their way": `yard.evt.session.${TEAM_A}.x.ended`,
  "the events on their way, as its own": factOfB,
  "the command queue": `yard.cmd.${TEAM_A}.run.start.demo`,
  "the audit": AUDITED,
  "the timers": `yard.timer.set.${TEAM_A}.run.resume.x`,
  "the payloads": `$O.YARD_PAYLOADS_${TEAM_A}.C.x.0`,
};
async function stored(): Promise<Record<string, number>> {
  const streams = ["YARD_EVENTS", "YARD_FACTS", commandStream.name, "YARD_AUDIT", "YARD_TIMERS"];
  const all = [...streams, commandsOf(TEAM_A).name, `OBJ_YARD_PAYLOADS_${TEAM_A}`];
  const counts = all.map(async (stream): Promise<[string, number]> => {
    const { state } = await api(admin, `STREAM.INFO.${stream}`);
    return [stream, state?.messages ?? -1];
  });
  return Object.fromEntries(await Promise.all(counts));
}
/** Resolves when the server has delivered the messages of a push consumer of team-b for this subject. */
async function pushed(deliver_subject: string): Promise<void> {
  await makeConsumer(OTHER, { deliver_subject });
  const inbox = `_INBOX_${TEAM_B}.pushed`;
  const arrived = Promise.withResolvers<void>();
  const received = connectionOf(teamB).nc.subscribe(inbox, { callback: () => arrived.resolve() });
  await makeConsumer(AFTER, { deliver_subject: inbox });
  await arrived.promise;
  received.unsubscribe();
}
const pushedTo = { ...targets, "the audit as services write it": publishedAs(AUDITED) };
for (const [what, subject] of Object.entries(pushedTo))
  test(`a push consumer of team-b puts nothing into ${what}`, async () => {
    const before = await stored();
    await pushed(subject);
    assert.deepEqual(await stored(), before);
  });

test("a push consumer of team-b makes no request in the name of team-a", async () => {
  const callers: string[] = [];
  const service = serve(runner, {
    name: "runner",
    version: "1.0.0",
    description: "",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  service.handle(listRuns, (_filter, { caller }) => {
    callers.push(caller);
    return { runs: [] };
  });
  await runner.flush();
  await pushed(`yard.rpc.${TEAM_A}.runs.list`);
  await call(teamA, listRuns, {});
  assert.deepEqual(callers, [TEAM_A]);
  await service.drain();
});

test("a plain subscription of team-a receives what team-b has delivered to it, under team-b's subject; the stream's readers do not", async () => {
  const delivered: string[] = [];
  const forged = `yard.evt.run.${TEAM_A}.secret-name.finished`;
  const plain = connectionOf(teamA).nc.subscribe(forged, {
    callback: (_error, { subject }) => void delivered.push(subject),
  });
  await teamA.flush();
  // The server refuses a push consumer that delivers into its own stream, and looks at no reply of a pull request.
  assert.equal((await makeConsumer(OTHER, { deliver_subject: forged })).error?.err_code, 10_081);
  await makeConsumer(OTHER, {});
  connectionOf(teamB).nc.publish(
    `$JS.API.CONSUMER.MSG.NEXT.YARD_EVENTS.${OTHER}`,
    JSON.stringify({ batch: 2, no_wait: true }),
    { reply: forged },
  );
  // Permissions cannot see where a consumer delivers to: clients read the stream, or compare the subject (decisions/018).
  await until(() => delivered.length >= 2);
  plain.unsubscribe();
  assert.deepEqual(delivered, [ofB, factOfB]);
  const reading = { filters: [FOREIGN], from: "beginning", stopAtEnd: true } as const;
  const read: string[] = [];
  for await (const { subject } of readEvents(teamA, reading)) read.push(subject);
  assert.deepEqual(read, [ofA]);
});

test("a push consumer of team-b does not imitate the live text of team-a's run", async () => {
  const received: unknown[] = [];
  const tokens = { owner: TEAM_A, runId: "secret-name" };
  const live = subscribeLive(teamA, runLive, tokens, (payload) => received.push(payload));
  await teamA.flush();
  await pushed(`yard.live.run.${TEAM_A}.secret-name`);
  await teamA.flush();
  assert.deepEqual(received, []);
  live.stop();
});

/** Replies that team-b can request from the server, to any subject: permissions do not cover the reply subject. */
const answers: Record<string, (reply: string) => void> = {
  "an answer of the API": (reply) => askAt("$JS.API.INFO", reply),
  "what its consumer says of itself": (reply) =>
    askAt(`$JS.API.CONSUMER.INFO.YARD_EVENTS.${MINE}`, reply),
  "an acknowledgement": (reply) => askAt(`$O.YARD_PAYLOADS_${TEAM_B}.C.x`, reply),
  "an event of its own": (reply) => askAt(`$JS.API.CONSUMER.MSG.NEXT.YARD_EVENTS.${MINE}`, reply),
};
const ANSWERS =
  "nats-server sends answers past all permissions, so they take room in any stream but the audit (decisions/018)";
for (const [what, ask] of Object.entries(answers))
  test(`open: ${TEAM_B} has ${what} stored in no stream`, { expectFailure: ANSWERS }, async () => {
    const before = await stored();
    for (const target of Object.values(targets)) ask(target);
    // The server replies at any time, and a missing reply has no signal.
    const isOther = (now: object): boolean => JSON.stringify(now) !== JSON.stringify(before);
    const found = await until(stored, isOther, { timeoutMs: 20_000 }).catch(() => before);
    assert.deepEqual(found, before);
  });
for (const [what, ask] of Object.entries(answers))
  test(`${TEAM_B} has ${what} stored in no audit: no user may name its subjects for a reply`, async () => {
    const before = (await stored())["YARD_AUDIT"];
    for (const target of [AUDITED, publishedAs(AUDITED)]) ask(target);
    // The reply to its own inbox comes after those that were requested before.
    const inbox = `_INBOX_${TEAM_B}.last`;
    const arrived = Promise.withResolvers<void>();
    const { nc } = connectionOf(teamB);
    const received = nc.subscribe(inbox, { callback: () => arrived.resolve() });
    ask(inbox);
    await arrived.promise;
    received.unsubscribe();
    assert.equal((await stored())["YARD_AUDIT"], before);
  });
function askAt(subject: string, reply: string): void {
  connectionOf(teamB).nc.publish(subject, "", { reply });
}

test("team-b learns no name of team-a's runs, and no other team, from JetStream's replies", async () => {
  const asked = { subjects_filter: ">" };
  for (const subject of ["STREAM.INFO.YARD_EVENTS", "STREAM.NAMES", "STREAM.LIST"])
    await assert.rejects(api(teamB, subject, asked), { code: "forbidden" }, subject);
  for (const subject of ["INFO", `CONSUMER.INFO.YARD_EVENTS.${MINE}`]) {
    const reported = JSON.stringify(await api(teamB, subject, asked));
    assert.doesNotMatch(reported, new RegExp(`secret-name|${TEAM_A}`), subject);
  }
});

/** A durable consumer of team-a's, by a name that is easy to guess. */
async function durableOfA(name: string): Promise<void> {
  const config = { durable_name: name, ack_policy: "explicit", filter_subject: FOREIGN };
  const body = { stream_name: "YARD_EVENTS", config };
  const answer = await api(teamA, `CONSUMER.CREATE.YARD_EVENTS.${name}.${FOREIGN}`, body);
  assert.equal(answer.error, undefined, JSON.stringify(answer));
}
const onDurable: Record<string, (name: string) => Promise<unknown>> = {
  "looks at": (name) => api(teamB, `CONSUMER.INFO.YARD_EVENTS.${name}`),
  drains: (name) => api(teamB, `CONSUMER.MSG.NEXT.YARD_EVENTS.${name}`, { no_wait: true }),
  deletes: (name) => api(teamB, `CONSUMER.DELETE.YARD_EVENTS.${name}`),
  "changes the filter of": (name) => makeConsumer(name, { durable_name: name }),
  "acknowledges for": (name) => sent(`$JS.ACK.YARD_EVENTS.${name}.1.1.1.1.0`),
  "acknowledges, as newer servers write it, for": (name) =>
    sent(`$JS.ACK._.x.YARD_EVENTS.${name}.1.1.1.1.0.x`),
  "controls the flow of": (name) => sent(`$JS.FC.YARD_EVENTS.${name}.x`),
};
async function sent(subject: string): Promise<void> {
  await connectionOf(teamB).replies.request({ subject, body: "+ACK", timeoutMs: 10_000 });
}
for (const [verb, attack] of Object.entries(onDurable))
  test(`team-b ${verb} no consumer of team-a whose name it guesses`, async () => {
    const name = eventConsumersOf(TEAM_A)[0] ?? "";
    await durableOfA(name);
    await assert.rejects(attack(name), { code: "forbidden" });
    const { config } = await api(teamA, `CONSUMER.INFO.YARD_EVENTS.${name}`);
    assert.equal(config?.filter_subject, FOREIGN);
  });

test("team-b has so many readers and no more, and team-a's begin all the same", async () => {
  const ended = new AbortController();
  const begun: AsyncGenerator[] = [];
  const begin = (bus: Bus, filter: string): AsyncGenerator => {
    const reading = { filters: [filter], from: "beginning", signal: ended.signal } as const;
    return readEvents(bus, reading);
  };
  for (const name of [MINE, OTHER, AFTER]) await api(teamB, `CONSUMER.DELETE.YARD_EVENTS.${name}`);
  for (let count = 0; count < MAX_EVENT_CONSUMERS; count += 1) {
    const reader = begin(teamB, OWN);
    await reader.next();
    begun.push(reader);
  }
  await assert.rejects(begin(teamB, OWN).next(), { code: "overloaded", message: /team-b has 32/ });
  const ofTeamA = begin(teamA, FOREIGN);
  assert.equal((await ofTeamA.next()).done, false);
  await begun.pop()?.return(undefined);
  const next = begin(teamB, OWN);
  assert.equal((await next.next()).done, false);
  ended.abort();
  await Promise.all([...begun, ofTeamA, next].map((reader) => reader.return(undefined)));
});

test("the name of a reader that died without a word is free again soon", async () => {
  const dead = await users.connect(nats, TEAM_B);
  for (let count = 0; count < MAX_EVENT_CONSUMERS; count += 1)
    await readEvents(dead, { filters: [OWN], from: "beginning" }).next();
  await connectionOf(dead).nc.close();
  const begins = async (): Promise<boolean> => {
    const reader = readEvents(teamB, { filters: [OWN], from: "beginning" });
    const first = await reader.next().catch(() => ({ done: true }));
    await reader.return(undefined);
    return first.done === false;
  };
  await until(begins);
});
