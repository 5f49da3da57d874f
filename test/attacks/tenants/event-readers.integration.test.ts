import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { readEvents, subscribeLive } from "@switchyard/bus/events";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testUsers } from "@switchyard/bus/test-users";
import { runLive } from "@switchyard/contracts/run-events";
import { listRuns } from "@switchyard/contracts/runs";
import { commandStream } from "@switchyard/contracts/streams";
import { until } from "@switchyard/local-servers/until";
import { testNats } from "@switchyard/local-servers/test-servers";
import { TEAM_A, TEAM_B } from "./reachable.ts";

// What a team may ask JetStream for with its own rights, and how it would use them against another one.
// `open:` is an attack that still succeeds, with the reason; its test fails as soon as it does not.
const users = testUsers([TEAM_A, TEAM_B]);
const nats = await testNats({ authorization: users.authorization });
const admin = await users.connect(nats, "admin");
await ensureStreams(admin);
const [runner, teamA, teamB] = await Promise.all(
  ["runner", TEAM_A, TEAM_B].map((user) => users.connect(nats, user)),
).then((buses) => buses as [Bus, Bus, Bus]); // one for each name

const ofA = `yard.evt.run.${TEAM_A}.secret-name.started`;
const ofB = `yard.evt.run.${TEAM_B}.mine.started`;
for (const subject of [ofA, ofB])
  await connectionOf(runner).nc.request(subject, JSON.stringify({ subject }));

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

/** Makes a consumer as team-b, with its own filter in the subject where permissions see it. */
function makeConsumer(name: string, config: object, more: object = {}): Promise<ApiAnswer> {
  const base = { name, ack_policy: "none", deliver_policy: "all", filter_subject: OWN };
  const body = { stream_name: "YARD_EVENTS", config: { ...base, ...config }, ...more };
  return api(teamB, `CONSUMER.CREATE.YARD_EVENTS.${name}.${OWN}`, body);
}

test("team-b makes a consumer of its own events, and reads those alone", async () => {
  assert.equal((await makeConsumer("own", {})).num_pending, 1);
  const subjects: string[] = [];
  const filters = [OWN];
  for await (const { subject } of readEvents(teamB, {
    filters,
    from: "beginning",
    stopAtEnd: true,
  }))
    subjects.push(subject);
  assert.deepEqual(subjects, [ofB]);
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
    const answer = await makeConsumer("filtered", config);
    assert.ok(answer.error, JSON.stringify(answer));
  });

for (const stream of ["YARD_AUDIT", "YARD_COMMANDS", `OBJ_YARD_PAYLOADS_${TEAM_A}`])
  test(`team-b makes no consumer of ${stream} by naming it in the body`, async () => {
    assert.ok((await makeConsumer("elsewhere", {}, { stream_name: stream })).error);
  });

const targets: Record<string, string> = {
  "the event stream": `yard.evt.run.${TEAM_A}.secret-name.finished`,
  "the command queue": `yard.cmd.${TEAM_A}.run.start.demo`,
  "the audit": "yard.evt.audit.policy.decision",
  "the timers": `yard.timer.set.${TEAM_A}.run.resume.x`,
  "the payloads": `$O.YARD_PAYLOADS_${TEAM_A}.C.x.0`,
};
async function stored(): Promise<Record<string, number>> {
  const streams = ["YARD_EVENTS", commandStream.name, "YARD_AUDIT", "YARD_TIMERS"];
  const all = [...streams, `OBJ_YARD_PAYLOADS_${TEAM_A}`];
  const counts = all.map(async (stream): Promise<[string, number]> => {
    const { state } = await api(admin, `STREAM.INFO.${stream}`);
    return [stream, state?.messages ?? -1];
  });
  return Object.fromEntries(await Promise.all(counts));
}
/** Resolves when the server has delivered what a push consumer of team-b had for this subject. */
async function pushed(name: string, deliver_subject: string): Promise<void> {
  await makeConsumer(name, { deliver_subject });
  const inbox = `_INBOX_${TEAM_B}.${name}`;
  const arrived = Promise.withResolvers<void>();
  const heard = connectionOf(teamB).nc.subscribe(inbox, { callback: () => arrived.resolve() });
  await makeConsumer(`${name}-after`, { deliver_subject: inbox });
  await arrived.promise;
  heard.unsubscribe();
}
for (const [index, [what, subject]] of Object.entries(targets).entries())
  test(`a push consumer of team-b puts nothing into ${what}`, async () => {
    const before = await stored();
    await pushed(`into-${index}`, subject);
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
  await pushed("asking", `yard.rpc.${TEAM_A}.runs.list`);
  await call(teamA, listRuns, {});
  assert.deepEqual(callers, [TEAM_A]);
  await service.drain();
});

test("a push consumer of team-b does not imitate the live text of team-a's run", async () => {
  const heard: unknown[] = [];
  const tokens = { owner: TEAM_A, runId: "secret-name" };
  const live = subscribeLive(teamA, runLive, tokens, (payload) => heard.push(payload));
  await teamA.flush();
  await pushed("live", `yard.live.run.${TEAM_A}.secret-name`);
  await teamA.flush();
  assert.deepEqual(heard, []);
  live.stop();
});

/** What team-b can have the server answer, to any subject: permissions do not look at that one. */
const answers: Record<string, (reply: string) => void> = {
  "an answer of the API": (reply) => askAt("$JS.API.INFO", reply),
  "what a stream says of itself": (reply) => askAt("$JS.API.STREAM.INFO.YARD_EVENTS", reply),
  "an acknowledgement": (reply) => askAt(`$O.YARD_PAYLOADS_${TEAM_B}.C.x`, reply),
  "an event of its own": (reply) => askAt("$JS.API.CONSUMER.MSG.NEXT.YARD_EVENTS.own", reply),
};
const ANSWERS =
  "nats-server sends answers past all permissions, so they take room in any stream (decisions/018)";
for (const [what, ask] of Object.entries(answers))
  test(`open: ${TEAM_B} has ${what} stored in no stream`, { expectFailure: ANSWERS }, async () => {
    const before = await stored();
    for (const target of Object.values(targets)) ask(target);
    // The server answers when it likes, and nothing tells that it did not.
    const isOther = (now: object): boolean => JSON.stringify(now) !== JSON.stringify(before);
    const found = await until(stored, isOther, { timeoutMs: 20_000 }).catch(() => before);
    assert.deepEqual(found, before);
  });
function askAt(subject: string, reply: string): void {
  connectionOf(teamB).nc.publish(subject, "", { reply });
}

const INFO = "the server lists the subjects of a stream for whoever may ask about the stream";
test(
  "open: team-b learns no name of team-a's runs from what the stream tells of itself",
  { expectFailure: INFO },
  async () => {
    for (const subjects_filter of [">", FOREIGN, ofA]) {
      const { state } = await api(teamB, "STREAM.INFO.YARD_EVENTS", { subjects_filter });
      assert.doesNotMatch(JSON.stringify(state?.subjects ?? {}), /secret-name/, subjects_filter);
    }
  },
);

/** A durable consumer of team-a's, by a name that is easy to guess. */
async function durableOfA(name: string): Promise<void> {
  const config = { durable_name: name, ack_policy: "explicit", filter_subject: FOREIGN };
  const body = { stream_name: "YARD_EVENTS", config };
  const answer = await api(teamA, `CONSUMER.CREATE.YARD_EVENTS.${name}.${FOREIGN}`, body);
  assert.equal(answer.error, undefined, JSON.stringify(answer));
}
const DURABLES = "the server has no permission for a part of a consumer's name";
const onDurable: Record<string, (name: string) => Promise<unknown>> = {
  "looks at": async (name) => {
    const asked = api(teamB, `CONSUMER.INFO.YARD_EVENTS.${name}`);
    await assert.rejects(asked, { code: "forbidden" });
  },
  drains: async (name) => {
    const inbox = `_INBOX_${TEAM_B}.drain`;
    let count = 0;
    connectionOf(teamB).nc.subscribe(inbox, { callback: () => void (count += 1) });
    askAt(`$JS.API.CONSUMER.MSG.NEXT.YARD_EVENTS.${name}`, inbox);
    // The server delivers when it likes, and nothing tells that it did not.
    await until(
      () => count,
      (got) => got > 0,
      { timeoutMs: 20_000 },
    ).catch(() => null);
    assert.equal(count, 0, "it has got a message");
  },
  deletes: (name) => api(teamB, `CONSUMER.DELETE.YARD_EVENTS.${name}`),
  changes: (name) => makeConsumer(name, { durable_name: name, ack_policy: "explicit" }),
};
for (const [verb, attack] of Object.entries(onDurable))
  test(
    `open: team-b ${verb} no consumer of team-a whose name it guesses`,
    { expectFailure: DURABLES },
    async () => {
      const name = `guessed-${verb.replaceAll(" ", "-")}`;
      await durableOfA(name);
      await attack(name);
      const { config } = await api(teamA, `CONSUMER.INFO.YARD_EVENTS.${name}`);
      assert.equal(config?.filter_subject, FOREIGN);
    },
  );
