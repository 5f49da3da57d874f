import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { auditBounds, readAudit } from "@switchyard/bus/audit-log";
import { call } from "@switchyard/bus/call";
import { auditRef, recordsOf, type AuditBlock } from "@switchyard/contracts/policy/audit-chain";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { replayDecisions } from "@switchyard/contracts/policy/policy-replay";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { until } from "@switchyard/local-servers/until";
import { startPolicyWorld } from "../../test/policy-world.ts";

// Rules about arguments are replayed with `yard` on what a policy service recorded, in each mode of YARD_AUDIT_VALUES.
const rules = (right: string): string => `version: 1
defaults: { approval: auto }
${right}rules:
  - { id: any, effect: allow, what: { tools: ["bank.*"] }, when: [{ arg: /amount, op: lte, value: 100000 }] }
`;
const world = await startPolicyWorld({ rules: rules(""), teams: [] });
const [broker, auditor] = [await world.connectAs("broker"), await world.connectAs("auditor")];
const env = {
  ...process.env,
  YARD_NATS_URL: world.natsUrl,
  YARD_USER: "auditor",
  YARD_NATS_NKEY_FILE: await world.keyFileOf("auditor"),
  NO_COLOR: "1",
};
const directory = dirname(world.policyFile);
const candidates = join(directory, "candidate");
const keyFile = join(world.keys, "audit-values.key");
const main = fileURLToPath(new URL("../../../../apps/cli/src/main.ts", import.meta.url));

interface Replayed {
  readonly same: number;
  readonly changes: readonly { tool: string; after: string; count: number }[];
  readonly unknown: readonly { tool: string; needs: string; count: number }[];
}

/** Replays a rule on all that was recorded, and returns what it answers about one tool. */
async function replayed(when: string) {
  await mkdir(candidates, { recursive: true });
  await writeFile(join(candidates, "known.txt"), "DE1\nDE2\n");
  await writeFile(
    join(candidates, "rules.yaml"),
    `version: 1\ndefaults: { approval: auto }\nrules:\n  - { id: known, effect: allow, what: { tools: ["bank.*"] }, when: [${when}] }\n`,
  );
  const args = ["policy", "replay", "--bundle", candidates, "--json"];
  const text = await new Promise<string>((resolve, reject) =>
    execFile(process.execPath, [main, ...args], { env }, (error, stdout, stderr) =>
      error === null || error.code === 1 ? resolve(stdout) : reject(new Error(stderr)),
    ),
  );
  const { data } = JSON.parse(text) as { data: Replayed }; // as yard prints it
  return (tool: string) => {
    const isAbout = (one: { readonly tool: string }) => one.tool === mcpToolRef("bank", tool).name;
    const count = (list: readonly { readonly count: number }[]): number =>
      list.reduce((sum, one) => sum + one.count, 0);
    const unknown = data.unknown.filter(isAbout);
    return {
      denied: count(data.changes.filter(isAbout)),
      unknown: count(unknown),
      needs: unknown.map(({ needs }) => needs).join("; "),
    };
  };
}

/** Has three transfers decided, and waits until the last one is recorded. */
async function recordTransfers(tool: string): Promise<Record<string, unknown>[]> {
  const refs: string[] = [];
  for (const [to, amount] of [
    ["DE1", 50],
    ["DE2", 700],
    ["FR9", 50],
  ] as const) {
    const request = { onBehalfOf: "cli", tool: mcpToolRef("bank", tool), args: { to, amount } };
    const { audit, decision } = await call(broker, checkPolicy, request, { timeoutMs: 30_000 });
    assert.equal(decision.effect, "allow");
    assert.ok(audit !== undefined);
    refs.push(audit);
  }
  const found: Record<string, unknown>[] = [];
  await until(async () => {
    found.length = 0;
    const { first: sequence, last: upTo } = await auditBounds(auditor);
    for await (const { payload } of readAudit(auditor, { from: { sequence }, upTo }))
      for (const record of recordsOf(payload as AuditBlock))
        // as the stream has it
        if (refs.includes(auditRef(record))) found.push(record);
    return found.length === refs.length;
  });
  return found;
}

const AUDITORS = "rights: [{ id: auditors, right: replay-values, users: [auditor] }]\n";

const stop = async (policy: Awaited<ReturnType<typeof world.startReplica>>) => {
  assert.ok(await policy.stop());
};
const IN_FILE = "{ arg: /to, op: inFile, value: known.txt }";
const NOT_EQUAL = '{ not: { arg: /to, op: eq, value: "FR9" } }';
const AT_MOST = "{ arg: /amount, op: lte, value: 500 }";
const key = (): string => randomBytes(32).toString("base64");
const [older, newer] = [key(), key()];

test("rules about arguments are replayed on digests, encrypted and clear values, and a record without them is unknown", async () => {
  await stop(await recordedBy({}, "before"));
  await writeFile(keyFile, older, { mode: 0o600 });
  const digests = await recordedBy({}, "digests");
  for (const when of [IN_FILE, NOT_EQUAL, '{ arg: /to, op: in, value: ["DE1", "DE2"] }']) {
    const of = await replayed(when);
    assert.deepEqual(of("digests"), { denied: 1, unknown: 0, needs: "" }, when);
    assert.deepEqual([of("before").unknown, of("before").needs], [3, "the audit has no arguments"]);
  }
  await stop(digests);

  const encrypted = await recordedBy({ YARD_AUDIT_VALUES: "encrypted" }, "encrypted");
  const amounts = await replayed(AT_MOST);
  assert.deepEqual([amounts("digests").unknown, amounts("encrypted").unknown], [3, 3]);
  assert.match(amounts("digests").needs, /digests of the values, .* answer \/amount lte 500/);
  assert.match(amounts("encrypted").needs, /lack the right replay-values/);
  await stop(encrypted);

  await writeFile(world.policyFile, rules(AUDITORS));
  const clear = await recordedBy({ YARD_AUDIT_VALUES: "1" }, "clear");
  const permitted = await replayed(AT_MOST);
  assert.deepEqual(
    ["digests", "encrypted", "clear"].map((tool) => permitted(tool).denied),
    [0, 1, 1],
  );
  await stop(clear);

  // A new key in front: older records are still read, and not with the new key alone.
  await writeFile(keyFile, `${newer},${older}`, { mode: 0o600 });
  const rotated = await recordedBy({}, "rotated");
  const all = await replayed(IN_FILE);
  for (const tool of ["digests", "rotated", "encrypted", "clear"])
    assert.equal(all(tool).denied, 1, tool);
  await stop(rotated);
  await writeFile(keyFile, newer, { mode: 0o600 });
  const without = await world.startReplica();
  const lost = await replayed(IN_FILE);
  for (const tool of ["digests", "encrypted"]) {
    assert.deepEqual([lost(tool).unknown, lost(tool).denied], [3, 0], tool);
    assert.match(lost(tool).needs, /no key for the digests/);
  }
  assert.equal(lost("rotated").denied, 1);
  await stop(without);
});

/** Starts a policy service with the settings, and has it record transfers with a tool of the name of the mode. */
async function recordedBy(settings: Record<string, string>, tool: string) {
  const policy = await world.startReplica(settings);
  const records = await recordTransfers(tool);
  const text = JSON.stringify(records);
  assert.equal(/DE1|FR9/.test(text), tool === "clear", `${tool}: values as they are`);
  assert.equal(/"values":/.test(text), !["before", "clear"].includes(tool), tool);
  assert.equal(/"sealed":/.test(text), tool === "encrypted", tool);
  return policy;
}

test("a replay that reads encrypted arguments is an access in the audit, and encryption without a key does not start", async () => {
  const decisions = [
    {
      principal: { user: "cli", agent: null, runId: null },
      access: "tool" as const,
      tool: mcpToolRef("bank", "encrypted"),
      values: { key: "00000000", digests: {}, sealed: "v1.00000000.a.b.c" },
    },
  ];
  // Without the right first, which leaves no such record.
  for (const right of ["", AUDITORS]) {
    await writeFile(world.policyFile, rules(right));
    const policy = await world.startReplica();
    const sent = right === "" ? decisions.concat(decisions) : decisions;
    await call(auditor, replayDecisions, { decisions: sent }, { timeoutMs: 30_000 });
    await stop(policy);
  }
  const accesses: unknown[] = [];
  await until(async () => {
    const { first: sequence, last: upTo } = await auditBounds(auditor);
    accesses.length = 0;
    for await (const { payload } of readAudit(auditor, { from: { sequence }, upTo }))
      for (const record of recordsOf(payload as AuditBlock))
        // as the stream has it
        if (record.kind === "access" && record.operation === replayDecisions.name)
          accesses.push([record.change, record.caller, record.about]);
    return accesses.length > 0;
  });
  const about = "encrypted arguments of 1 recorded decisions";
  assert.deepEqual(accesses.at(-1), ["unmasked", "auditor", about]);
  assert.doesNotMatch(JSON.stringify(accesses), /of 2 recorded/);
  await rm(keyFile);
  await assert.rejects(
    world.startProcess({ YARD_AUDIT_VALUES: "encrypted" }),
    /needs a key, and YARD_KEYS_DIR has no audit-values.key/,
  );
});
