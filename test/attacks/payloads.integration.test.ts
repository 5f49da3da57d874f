import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectionOf } from "@switchyard/bus/connection";
import { headersOf } from "@switchyard/bus/message-headers";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testUsers } from "@switchyard/testing/test-users";
import { listAgents } from "@switchyard/contracts/skill-importer/agents";
import { HEADERS } from "@switchyard/contracts/headers";
import {
  bucketStream,
  payloadsOf,
  inputFiles,
  runArchive,
  servicePayloads,
  sharedPayloads,
} from "@switchyard/topology/payload-stores";
import { testNats } from "@switchyard/testing/test-servers";

// Two teams on a server with the permissions of production.
const users = testUsers(["team-a", "team-b"]);
const nats = await testNats({ authorization: users.authorization });
const [teamA, teamB, runner, importer] = await Promise.all(
  ["team-a", "team-b", "runner", "importer"].map((user) => users.connect(nats, user)),
).then((buses) => buses as [Bus, Bus, Bus, Bus]); // one for each name
await ensureStreams(await users.connect(nats, "admin"));
const [ofA, ofB] = [payloadsOf("team-a"), payloadsOf("team-b")];
const secret = await connectionOf(teamA).claims.put("what only team-a may read", {
  subject: "a request of team-a",
  owner: "team-a",
});
const { name } = JSON.parse(secret) as { name: string }; // written by put() just now

async function ask(bus: Bus, subject: string, body: string): Promise<string> {
  const { replies } = connectionOf(bus);
  return (await replies.request({ subject, body, timeoutMs: 10_000 })).string();
}

/** The code of JetStream's refusal, null when it stored the message. */
async function refusal(bus: Bus, subject: string, rollup?: string): Promise<number | null> {
  const { nc } = connectionOf(bus);
  const headers = headersOf(rollup === undefined ? {} : { "Nats-Rollup": rollup });
  const answer = await nc.request(subject, "forged", { headers, timeout: 10_000 });
  return answer.json<{ error?: { err_code: number } }>().error?.err_code ?? null;
}

test("no team reads the payloads of another one, by number, by subject or by wildcard", async () => {
  const wants = [
    { seq: 1 },
    { last_by_subj: `$O.${ofA.bucket}.C.${name}.0` },
    { seq: 1, next_by_subj: ">" },
  ];
  for (const store of [ofA, servicePayloads, inputFiles, runArchive])
    for (const want of wants)
      await assert.rejects(
        ask(teamB, `$JS.API.STREAM.MSG.GET.${bucketStream(store)}`, JSON.stringify(want)),
        { code: "forbidden" },
      );
  assert.equal(await connectionOf(teamA).claims.get(secret, "team-a"), "what only team-a may read");
});

test("no team writes into another one's bucket, that of the services or the shared one", async () => {
  for (const { bucket } of [ofA, servicePayloads, sharedPayloads, inputFiles, runArchive])
    await assert.rejects(ask(teamB, `$O.${bucket}.C.forged.0`, "x"), { code: "forbidden" });
});

test("a payload is neither replaced nor swept away by a header", async () => {
  const PER_SUBJECT_FULL = 10_077;
  const ROLLUP_REFUSED = 10_111;
  const chunk = `$O.${ofA.bucket}.C.${name}.0`;
  assert.equal(await refusal(teamA, chunk), PER_SUBJECT_FULL);
  for (const rollup of ["all", "sub"])
    assert.equal(await refusal(teamA, `$O.${ofA.bucket}.C.x.0`, rollup), ROLLUP_REFUSED);
  assert.equal(
    await connectionOf(runner).claims.get(secret, "team-a"),
    "what only team-a may read",
  );
});

test("no service reads another team's payload for a team that knows its name", async () => {
  const service = serve(importer, {
    name: "importer",
    version: "1.0.0",
    description: "",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  service.handle(listAgents, () => assert.fail("read"));
  await importer.flush();
  const { nc } = connectionOf(teamB);
  const options = { headers: headersOf({ [HEADERS.claim]: secret }), timeout: 10_000 };
  const reply = await nc.request("yard.rpc.team-b.agents.list", "", options);
  const { code, message } = reply.json<{ code: string; message: string }>();
  assert.equal(code, "invalid_request");
  assert.match(message, /is not in the bucket of team-b/);
  await service.drain();
});

test("a team that fills its bucket is refused, and no other team is", async () => {
  const admin = await users.connect(nats, "admin");
  const stream = bucketStream(ofA);
  const info = JSON.parse(await ask(admin, `$JS.API.STREAM.INFO.${stream}`, ""));
  const small = JSON.stringify({ ...info.config, max_bytes: 700_000 });
  await ask(admin, `$JS.API.STREAM.UPDATE.${stream}`, small);
  const large = { agent: "x".repeat(600_000) };
  await assert.rejects(call(teamA, listAgents, large as never), { code: "no_responders" });
  await assert.rejects(call(teamA, listAgents, large as never), {
    code: "payload_too_large",
    message: /YARD_PAYLOADS_team-a has no room left/,
  });
  await assert.rejects(call(teamB, listAgents, large as never), { code: "no_responders" });
  await connectionOf(runner).claims.put("x", { subject: "an event of team-b", owner: "team-b" });
  assert.equal(ofB.maxBytes, ofA.maxBytes);
});
