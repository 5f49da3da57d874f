import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { auditBounds, readAudit } from "@switchyard/bus/audit-log";
import { call } from "@switchyard/bus/call";
import { auditRef, recordsOf, type AuditBlock } from "@switchyard/contracts/policy/audit-chain";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { checkPolicy } from "@switchyard/contracts/policy/policy";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { until } from "@switchyard/local-servers/until";
import { startPolicyWorld } from "../../test/policy-world.ts";

// The setting is tested from the recording process to the output of `yard`.
const world = await startPolicyWorld({
  rules:
    'version: 1\nrules:\n  - { id: any, effect: allow, approval: auto, what: { tools: ["files.*"] } }\n',
  teams: [],
});
const [broker, auditor] = [await world.connectAs("broker"), await world.connectAs("auditor")];
const env = {
  ...process.env,
  YARD_NATS_URL: world.natsUrl,
  YARD_USER: "auditor",
  YARD_NATS_NKEY_FILE: await world.keyFileOf("auditor"),
  NO_COLOR: "1",
};

const main = fileURLToPath(new URL("../../../../apps/cli/src/main.ts", import.meta.url));

async function yardAudit(...args: string[]): Promise<string> {
  const run = promisify(execFile);
  return (await run(process.execPath, [main, "audit", ...args], { env })).stdout;
}

/** Sends the decision request that a provider sends before a call. */
function check(tool: string, args: Record<string, unknown>) {
  const request = { onBehalfOf: "cli", tool: mcpToolRef("files", tool), args };
  return call(broker, checkPolicy, request, { timeoutMs: 30_000 });
}

/** Resolves when the record of a decision is stored, a moment after it was made. */
async function stored(ref: string | undefined): Promise<void> {
  await until(async () => {
    const { first: sequence, last: upTo } = await auditBounds(auditor);
    for await (const { payload } of readAudit(auditor, { from: { sequence }, upTo }))
      if (recordsOf(payload as AuditBlock).some((record) => auditRef(record) === ref)) return true; // only the record with this reference
    return false;
  });
}

/** Finds a record in the output of `yard audit export`. */
function recordIn(printed: string, ref: string | undefined): Record<string, unknown> {
  const records = printed
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const found = records.find(({ writer, seq }) => `${String(writer)}:${String(seq)}` === ref);
  assert.ok(found, `${ref} is not in the export`);
  return found;
}

/** The text is not the id of a real key, and is joined from pieces, so that secret scanners do not report it. */
const key = ["AK", "IA", "Q3".repeat(8)].join("");
const args = { path: "canary-path-4711", apiKey: "canary-secret-4712", note: `with ${key}` };

test("argument values are recorded only as names and digests by default", async () => {
  const policy = await world.startReplica();
  const { audit } = await check("read", args);
  await stored(audit);
  const exported = await yardAudit("export");
  const record = recordIn(exported, audit);
  assert.equal(record["argsDigest"], canonicalDigest(args));
  assert.deepEqual(record["argKeys"], ["path", "apiKey", "note"]);
  assert.equal("args" in record, false);
  for (const printed of [exported, await yardAudit("tail", "--once")]) {
    assert.ok(printed.includes("mcp__files__read"));
    assert.doesNotMatch(printed, /canary|AKIA/);
  }
  assert.ok(await policy.stop());
});

test("with YARD_AUDIT_VALUES argument values are in the export and the tail, without secrets, and still belong to the chain", async () => {
  const policy = await world.startReplica({ YARD_AUDIT_VALUES: "1" });
  const plain = { path: "canary-path-4713" };
  const [secretive, open] = [await check("write", args), await check("write", plain)];
  await stored(open.audit);
  const exported = await yardAudit("export");
  const changed = recordIn(exported, secretive.audit);
  assert.deepEqual(changed["args"], {
    path: "canary-path-4711",
    apiKey: "[redacted]",
    note: "with [redacted]",
  });
  assert.equal(changed["isArgsChanged"], true);
  assert.equal(changed["argsDigest"], canonicalDigest(args), "of what was decided about");
  const same = recordIn(exported, open.audit);
  assert.deepEqual([same["args"], same["isArgsChanged"]], [plain, undefined]);
  const tail = await yardAudit("tail", "--once");
  assert.match(tail, /allow mcp__files__write for cli: .* \{"path":"canary-path-4713"\}/);
  for (const printed of [exported, tail]) {
    assert.match(printed, /canary-path-4711/);
    assert.doesNotMatch(printed, /canary-secret|AKIA/);
  }
  assert.match(await yardAudit("verify"), /^intact: /);
  assert.ok(await policy.stop());
  assert.doesNotMatch(JSON.stringify(policy.records), /canary/, "nothing of it is logged");
});

test("a flood of denied calls is a few records and one with their number, and the chain holds", async () => {
  const policy = await world.startReplica();
  const tool = mcpToolRef("other", "flood");
  const denial = { onBehalfOf: "cli", tool, args: {} };
  // The endpoint accepts 256 requests at a time.
  for (let portion = 0; portion < 6; portion += 1) {
    const checks = Array.from({ length: 50 }, () =>
      call(broker, checkPolicy, denial, { timeoutMs: 30_000 }),
    );
    for (const { decision, audit } of await Promise.all(checks)) {
      assert.equal(decision.effect, "deny");
      assert.ok(audit);
    }
  }
  assert.ok(await policy.stop());
  // No policy service is there to sign.
  const exported = (await yardAudit("export", "--unsigned")).trim().split("\n");
  const records = exported.map((line) => JSON.parse(line) as Record<string, unknown>);
  const about = records.filter((record) => JSON.stringify(record["tool"])?.includes("flood"));
  const kinds = about.map(({ kind }) => kind);
  assert.deepEqual(kinds, [...Array.from({ length: 10 }, () => "decision"), "repeat"]);
  const last = about.at(-1);
  assert.deepEqual([last?.["count"], last?.["argsDigest"]], [290, canonicalDigest({})]);
  assert.match(await yardAudit("tail", "--once"), /290 more denials for cli, mcp__other__flood/);
  const verified = await promisify(execFile)(process.execPath, [main, "audit", "verify"], {
    env,
  }).catch((error: unknown) => error as { code: number; stdout: string }); // of a process that has ended
  assert.ok("code" in verified);
  assert.deepEqual([verified.code, verified.stdout.split(":")[0]], [8, "intact"]);
});
