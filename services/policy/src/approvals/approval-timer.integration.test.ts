import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { client } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { ensureStreams } from "@switchyard/bus/streams";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { approveCall } from "@switchyard/contracts/policy/approvals";
import { isError } from "@switchyard/contracts/errors";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { tokensRefused } from "@switchyard/contracts/policy/refused-tokens";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testConstants } from "@switchyard/testing/test-constants";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { startPolicy } from "../../test/policy-process.ts";

const directory = await testDirectory();
const policyFile = join(directory, "rules.yaml");
const keyFile = join(directory, "run-token.jwk");
await writeFile(policyFile, "version: 1\nrules: [{ id: asks, effect: allow, approval: always }]\n");
await writeFile(keyFile, (await createRunTokenKey()).privateJwk, { mode: 0o600 });
const nats = await testNats();
const redis = await testRedis();
const connect = async (user: string) => {
  const bus = await connectBus({ servers: nats.url, user });
  after(() => bus.close());
  return bus;
};
await ensureStreams(await connect("admin"));
const cliBus = await connect("cli");
const broker = client(await connect("broker"), { checkPolicy, admitCall });
const policy = startPolicy({
  YARD_NATS_URL: nats.url,
  YARD_REDIS_URL: redis.url,
  YARD_POLICY_FILE: policyFile,
  YARD_KEYS_DIR: directory,
  ...testConstants({ approvalWaitMs: 1_000 }),
});
await policy.logged((record) => record["msg"] === "service ready");

test("a call without a decision expires by its timer, and then is refused [E2][ER2][X15]", async () => {
  const asked = { onBehalfOf: "team-a", tool: mcpToolRef("files", "write_file"), args: {} };
  const { decision, principal } = await broker.checkPolicy(asked);
  const binding = bindingDigest({
    ...asked,
    principal,
    caller: "team-a",
    pin: undefined,
    decision,
  });
  const admit = () =>
    broker.admitCall({ ...asked, callId: "call-1", decision, binding, attempt: randomUUID() });
  const waiting = await admit();
  const id = waiting.outcome === "waiting" ? waiting.approvalId : assert.fail(waiting.outcome);

  const filters = [`yard.evt.approval.*.${id}.expired`];
  for await (const _ of readEvents(cliBus, { filters, from: "beginning" })) break;

  const late = await admit();
  assert.ok(late.outcome === "refused" && late.state === "expired", JSON.stringify(late));
  await assert.rejects(client(cliBus, { approveCall }).approveCall({ id }), (error) =>
    isError(error, approveCall, "already_ended"),
  );
});

test("forged tokens are denied, counted and published as an event", async () => {
  const asked = { onBehalfOf: "team-a", tool: mcpToolRef("files", "write_file"), args: {} };
  for (let index = 0; index < 3; index += 1)
    await assert.rejects(broker.checkPolicy({ ...asked, token: "forged" }), (error) =>
      isError(error, checkPolicy, "invalid_token"),
    );
  let counted = 0;
  const filters = [tokensRefused.subject.replace("{provider}", "broker")];
  for await (const { payload } of readEvents(cliBus, { filters, from: "beginning" })) {
    const fact = tokensRefused.payload.parse(payload);
    assert.deepEqual([fact.caller, fact.reason], ["team-a", "malformed"]);
    counted += fact.count;
    if (counted === 3) break;
  }
});
