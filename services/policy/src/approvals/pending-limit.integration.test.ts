import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { admitCall } from "@switchyard/contracts/approval-admission";
import { bindingDigest } from "@switchyard/contracts/approval-record";
import { denyCall } from "@switchyard/contracts/approvals";
import { checkPolicy } from "@switchyard/contracts/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { holdingRunner } from "../../test/holding-runner.ts";
import { startPolicyWorld } from "../../test/policy-world.ts";

const world = await startPolicyWorld({
  rules:
    'version: 1\nrules:\n  - { id: any, effect: allow, approval: always, what: { tools: ["files.*"] } }\n',
  teams: [],
});
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);
const [broker, person] = [await world.connectAs("broker"), await world.connectAs("cli")];
await world.startReplica({ YARD_APPROVALS_PENDING: "3" });
const tool = mcpToolRef("files", "write_file");

/** What becomes of a call of a run of its own, right before it would be sent. */
async function admit(runId: string, requester: string) {
  const about = { runId, agent: "demo", requester, tools: [], ttlSeconds: 600 };
  const { token } = await runner.grantRun(about);
  const asked = { onBehalfOf: "runner", token, tool, args: { path: "a.txt" } };
  const { decision, principal } = await call(broker, checkPolicy, asked);
  const bound = { principal, caller: "runner", tool, pin: undefined, args: asked.args, decision };
  const binding = bindingDigest(bound);
  const attempt = randomUUID();
  return call(broker, admitCall, { ...asked, callId: `${runId}:1`, decision, binding, attempt });
}

test("a user with many runs has so many calls waiting and no more, and others are asked about", async () => {
  const [first] = [
    await admit("run-1", "team-a"),
    await admit("run-2", "team-a"),
    await admit("run-3", "team-a"),
  ];
  assert.ok(first.outcome === "waiting");
  const refused = await admit("run-4", "team-a");
  assert.ok(refused.outcome === "refused");
  assert.equal(refused.state, "rate_limited");
  assert.match(refused.reason, /^3 calls of team-a wait for an approval already/);
  assert.equal((await admit("run-5", "team-b")).outcome, "waiting");
  await call(person, denyCall, { id: first.approvalId });
  assert.equal((await admit("run-4", "team-a")).outcome, "waiting");
});

test("calls of a user that come together get no more places than there are", async () => {
  const together = Array.from({ length: 12 }, (_, index) => admit(`together-${index}`, "team-c"));
  const outcomes = (await Promise.all(together)).map(({ outcome }) => outcome);
  assert.equal(outcomes.filter((outcome) => outcome === "waiting").length, 3, String(outcomes));
  assert.equal(outcomes.filter((outcome) => outcome === "refused").length, 9, String(outcomes));
});
