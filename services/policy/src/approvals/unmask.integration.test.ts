import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call, client } from "@switchyard/bus/call";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { admitCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { getApproval } from "@switchyard/contracts/policy/approvals";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { readCipherKeyFile } from "@switchyard/service/keys-directory";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createMaskStore } from "@switchyard/tool-provider/mask-store";
import { holdingRunner } from "../../test/holding-runner.ts";
import { startPolicyWorld } from "../../test/policy-world.ts";

const IBAN = "DE89370400440532013000";
const CARD = "4111 1111 1111 1111";
const RULES = `version: 1
rules:
  - id: pays
    effect: allow
    what: { tools: [bank.pay] }
    unmask: [iban, card]
    approve: { from: [ann, ben], unmask: [iban] }
  - id: mails
    effect: allow
    approval: always
    what: { tools: [bank.mail] }
    unmask: [iban]
results:
  - { id: hide, finds: [iban, card], effect: mask }
`;

const world = await startPolicyWorld({ rules: RULES, teams: ["team-a", "ann", "carl"] });
const keyFile = join(world.keys, "masks.key");
await writeFile(keyFile, randomBytes(32).toString("base64url"), { mode: 0o600 });
await world.startReplica({ YARD_APPROVERS: "ann,carl" });
const runner = await holdingRunner(await world.connectAs("runner"), world.redis.url);
const broker = client(await world.connectAs("broker"), { checkPolicy, admitCall });
const ann = await world.connectAs("ann");
const carl = await world.connectAs("carl");
const teamA = await world.connectAs("team-a");
const runId = "team-a~run-1";
const run = { agent: "demo", requester: "team-a", tools: [], ttlSeconds: 600 };
const { token } = await runner.grantRun({ runId, ...run }, { timeoutMs: 30_000 });

test("an approver whom a rule allows sees the values of these kinds, and no other person does", async () => {
  const redis = await connectRedis({
    url: world.redis.url,
    name: "test",
    log: createLog({ service: "test", level: "fatal" }),
  });
  const keys = await readCipherKeyFile(world.keys, "masks.key");
  const masks = createMaskStore({ redis, keys, onLost: (error) => assert.fail(String(error)) });
  const made = await masks.mask({ runId, user: "team-a" }, [
    { kind: "iban", value: IBAN },
    { kind: "card", value: CARD },
  ]);
  redis.disconnect();
  const [iban = "", card = ""] = made;
  const waiting = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const tool = mcpToolRef("bank", name);
    const request = { onBehalfOf: "runner", token, tool, args };
    const { decision, principal } = await broker.checkPolicy(request);
    const facts = { principal, caller: "runner", tool, pin: undefined, args, decision };
    const binding = bindingDigest(facts);
    const more = { callId: randomUUID(), decision, binding, attempt: randomUUID() };
    const reply = await broker.admitCall({ ...request, ...more });
    assert.ok(reply.outcome === "waiting", JSON.stringify(reply));
    return reply.approvalId;
  };
  const id = await waiting("pay", { to: iban, from: card });
  const shown = await call(ann, getApproval, { id });
  assert.deepEqual(shown.unmasked, [{ mask: iban, value: IBAN }]);
  assert.ok(shown.presentation.args.includes(iban) && shown.presentation.args.includes(card));
  // The user of the call sees the approval, and masks.
  assert.equal((await call(teamA, getApproval, { id })).unmasked, undefined);
  await assert.rejects(call(carl, getApproval, { id }), /unknown|no approval/i);
  // A rule that lets the tool have the value shows it to no person.
  const mail = await waiting("mail", { text: `pay ${iban}` });
  assert.equal((await call(ann, getApproval, { id: mail })).unmasked, undefined);
});
