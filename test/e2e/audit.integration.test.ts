import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { auditBounds, readAudit } from "@switchyard/bus/audit-log";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { approveCall, listApprovals } from "@switchyard/contracts/policy/approvals";
import { recordsOf, type ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import {
  completeArgument,
  getPrompt,
  readResource,
  setLogLevel,
  subscribeResource,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import { auditStream } from "@switchyard/topology/streams";
import { readAuditBlock, type AuditReport } from "@switchyard/audit/verify-audit";
import { until } from "@switchyard/local-servers/until";
import { yard as yardCommand, yardEnvironment } from "../../apps/cli/test-fixtures/yard-process.ts";
import { startYardDev } from "../lib/yard-dev.ts";
import { forgedExport } from "./fixtures/forged-export.ts";
import { plainClient } from "./plain-client.ts";

// The whole of Switchyard, and its audit through the command line.
const root = fileURLToPath(new URL("../../", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "yard-e2e-"));
const project = join(directory, "project");
await cp(join(root, "test/e2e/project"), project, { recursive: true });

/** None of these may be in a record, an event or a log. */
const canary = {
  argument: "canary-argument-4711",
  environment: "canary-environment-4712",
  token: "canary-token-4713",
};
const server = {
  command: "${TEST_NODE}",
  args: ["${YARD_HOME}/test/e2e/fixtures/counting-server.ts"],
  env: { CALLS_FILE: "${CALLS_FILE}", SECRET: "${AUDIT_CANARY}" },
};
const everything = {
  command: "${TEST_NODE}",
  args: [
    "${YARD_HOME}/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    "stdio",
  ],
};
await writeFile(
  join(project, "mcp-servers.json"),
  JSON.stringify({ mcpServers: { counting: server, everything } }),
);
const RULES = `version: 1
rules:
  - { id: lines, effect: allow, approval: auto, what: { tools: ["counting.append"] } }
  - { id: no-secrets, effect: deny, what: { tools: ["counting.append"] }, when: [{ arg: /line, op: prefix, value: secret }] }
  - { id: asked, effect: allow, what: { tools: ["counting.big"] }, approval: always }
  - { id: looks, effect: allow, what: { resources: ["everything.*"], prompts: ["everything.*"], logging: [everything] } }
  - { id: not-that, effect: deny, what: { prompts: ["everything.simple-prompt"] } }
  - { id: starts, effect: allow, who: { agents: [boss] }, what: { tools: ["agent"] } }
  - { id: asked-starts, effect: allow, who: { agents: [careful] }, what: { tools: ["agent"] }, approval: always }
`;
await writeFile(join(project, "policies", "tests.yaml"), RULES);
const agentOf = (name: string, plan: object) =>
  writeFile(
    join(project, "agents", `${name}.yaml`),
    JSON.stringify({ name, description: `Agent ${name}.`, model: "scripted/plan", plan }),
  );
const delegated = { tool: "agent", with: { agent: "helper", task: "help" }, as: "it" };
await agentOf("helper", { steps: [], answer: "helped" });
for (const name of ["boss", "careful"])
  await agentOf(name, { steps: [{ calls: [delegated] }], answer: "{{/results/it/text}}" });

const stateDir = join(directory, "state");
const dev = await startYardDev({
  project: relative(root, project),
  stateDir,
  apart: true,
  env: { CALLS_FILE: join(directory, "calls"), AUDIT_CANARY: canary.environment },
});
const client = await plainClient(dev.natsUrl);
const bus = await connectBus({ servers: dev.natsUrl, user: "me", inboxPrefix: "_INBOX" });
const [auditor, cli] = await Promise.all([connectAs("auditor"), connectAs("cli")]);
after(async () => {
  await client.close();
  await Promise.all([bus.close(), auditor.close(), cli.close()]);
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

function connectAs(user: string, key = join("keys", `${user}.nk`)): Promise<Bus> {
  const nkeySeed = async () => (await readFile(join(stateDir, key), "utf8")).trim();
  return connectBus({ servers: dev.natsUrl, user, nkeySeed });
}

const yard = (...args: string[]) => yardCommand(args, yardEnvironment(stateDir));

const append = (line: string, more: object = {}) =>
  call(
    bus,
    callTool,
    { tool: "append", args: { line }, ...more },
    { tokens: { server: "counting" } },
  );

/** The stored records, read as the auditor. */
async function exported(): Promise<ChainedRecord[]> {
  const { first: sequence, last: upTo } = await auditBounds(auditor);
  const records: ChainedRecord[] = [];
  for await (const { subject, payload } of readAudit(auditor, { from: { sequence }, upTo })) {
    const block = readAuditBlock(subject, payload);
    assert.ok(typeof block !== "string");
    records.push(...recordsOf(block));
  }
  return records;
}

async function recordsUntil(fits: (records: ChainedRecord[]) => boolean): Promise<ChainedRecord[]> {
  return until(exported, fits);
}

/** The error of a call; null when it was made. */
function failureOf(made: Promise<unknown>): Promise<ServiceError | null> {
  return made.then(
    () => null,
    (error: unknown) => (error instanceof ServiceError ? error : assert.fail(String(error))),
  );
}

/** Takes all the room that is left in the audit's stream. */
async function fillAudit(): Promise<void> {
  const operator = await connectAs("operator", "operator.nk");
  const ask = async (verb: string, body: unknown) => {
    const subject = `$JS.API.STREAM.${verb}.${auditStream.name}`;
    const request = { subject, body: JSON.stringify(body), timeoutMs: 30_000 };
    const answer = await connectionOf(operator).replies.request(request);
    return JSON.parse(answer.string()) as StreamAnswer;
  };
  const { config, state } = await ask("INFO", {});
  const { error } = await ask("UPDATE", { ...config, max_bytes: state.bytes });
  assert.equal(error, undefined);
  await operator.close();
}

/** The format that nats-server documents. */
interface StreamAnswer {
  readonly config: object;
  readonly state: { readonly bytes: number };
  readonly error?: unknown;
}

const approvalId = (error: unknown): string => {
  assert.ok(isError(error, callTool, "approval_required"), String(error));
  return error.data.approvalId;
};

test("every decision, refusal, approval and call of a run and of clients is in the audit, and proven by it", async () => {
  client.publish("yard.cmd.me.run.start.counter", { runId: "audited", input: { first: "one" } });
  await client.waitForEvent("yard.evt.run.me.audited.finished", () => true);
  await append(canary.argument);
  await assert.rejects(append("secret"), (error) => isError(error, callTool, "denied"));
  await assert.rejects(append("x", { token: canary.token }), (error) =>
    isError(error, callTool, "invalid_token"),
  );
  const big = { tool: "big", args: { bytes: 3 } };
  const to = { tokens: { server: "counting" } };
  let id = "";
  await assert.rejects(call(bus, callTool, big, to), (error) => {
    id = approvalId(error);
    return true;
  });
  await call(cli, approveCall, { id });
  await call(bus, callTool, { ...big, approvalId: id }, to);

  // The policy and the broker write their records independently.
  const records = await recordsUntil(
    (all) =>
      all.some((record) => record.kind === "approval" && record.change === "executed") &&
      all.filter(({ kind }) => kind === "execution").length >= 7,
  );
  const of = <K extends ChainedRecord["kind"]>(kind: K) =>
    records.filter((record): record is Extract<ChainedRecord, { kind: K }> => record.kind === kind);
  const decided = (effect: string) =>
    of("decision").filter(
      ({ decision, access }) => access === "tool" && decision.effect === effect,
    );
  assert.ok(decided("allow").length >= 6);
  assert.equal(decided("deny").length, 1);
  assert.equal(decided("ask").length, 2);
  assert.equal(of("refusal").length, 1);
  assert.equal(of("refusal")[0]?.tool?.name, "mcp__counting__append");
  assert.deepEqual(
    of("approval").map(({ change }) => change),
    ["pending", "approved", "consumed", "executed"],
  );
  assert.equal(of("approval")[1]?.by, "cli");
  const calls = of("execution");
  assert.equal(calls.length, 7);
  assert.ok(calls.some((made) => made.approvalId === id && made.effect === "ask"));
  assert.ok(calls.filter(({ principal }) => principal.runId === "me~audited").length === 5);

  const verified = await yard("audit", "verify");
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  assert.match(verified.stdout, /^intact: \d+ records in \d chains\n7 calls, 7 with the decision/);
});

test("secrets of arguments, environments and tokens are in no record, event or log", async () => {
  const stdout = JSON.stringify(await exported());
  const events = await client.eventsOfRun("audited");
  const reported = { audit: stdout, log: JSON.stringify(dev.log), events: JSON.stringify(events) };
  assert.ok(stdout.includes("mcp__counting__append"));
  for (const [where, text] of Object.entries(reported))
    for (const [what, secret] of Object.entries(canary))
      assert.equal(text.includes(secret), false, `${what} in ${where}`);
});

test("an export is checked without the stream, and a changed line in it is found", async () => {
  const { stdout } = await yard("audit", "export");
  const file = join(directory, "audit.ndjson");
  await writeFile(file, stdout);
  assert.equal((await yard("audit", "verify", "--file", file)).code, 8, "without a key");
  await writeFile(file, stdout.replace('"effect":"deny"', '"effect":"allow"'));
  const forged = await yard("audit", "verify", "--file", file);
  assert.equal(forged.code, 1);
  assert.match(forged.stdout, /^broken: changed in policy-[0-9a-f]{16}: record \d+ is not what/);
  const later = await yard("audit", "export", "--since", "2999-01-01T00:00:00Z");
  assert.deepEqual([later.code, later.stdout], [0, ""]);
});

test("with the auditor's key an export proves itself, and no forgery of it passes", async () => {
  const keys = join(directory, "audit-keys.json");
  const printed = await yard("audit", "keys");
  await writeFile(keys, printed.stdout);
  const seals = (all: ChainedRecord[]) =>
    all.some(({ kind }) => kind === "seal") && all.some(({ kind }) => kind === "execution");
  await recordsUntil(seals);
  const { stdout } = await yard("audit", "export");
  const file = join(directory, "signed.ndjson");
  const checked = async (text: string) => {
    await writeFile(file, text);
    return yard("audit", "verify", "--file", file, "--key", keys);
  };
  const good = await checked(stdout);
  assert.equal(good.code, 0, good.stdout + good.stderr);
  assert.match(good.stdout, /^signed: \d+ of \d+ records by \d+ seals? since /m);
  assert.match(good.stdout, /^export: signed /m);
  const lines = stdout.trimEnd().split("\n");
  const cut = [lines.slice(1), lines.slice(0, -1), lines.toSpliced(-2, 1)];
  for (const text of [forgedExport(stdout), ...cut.map((left) => left.join("\n"))])
    assert.equal((await checked(text)).code, 1);
  // Hashes alone do not show it.
  await writeFile(file, forgedExport(stdout, { withSigned: false }));
  assert.equal((await yard("audit", "verify", "--file", file)).code, 8);
});

test("the audit is shown as it goes", async () => {
  const tail = await yard("audit", "tail", "--once");
  assert.equal(tail.code, 0, tail.stderr);
  assert.match(
    tail.stdout,
    /policy-[0-9a-f]{16}:\d+ deny mcp__counting__append for me: rule no-secrets/,
  );
  // A call that ended while its beginning waited to be stored is one record with it.
  assert.match(tail.stdout, /calls mcp__counting__append for me\S* by policy-\S+/);
  assert.match(tail.stdout, /→ result in [\d.]+ ms/);
});

test("decisions of the past are replayed against other rules, and what cannot be is named", async () => {
  const candidate = join(directory, "candidate.yaml");
  const write = (rules: string) => writeFile(candidate, `version: 1\nrules:\n${rules}`);
  await write('  - { id: never, effect: deny, what: { tools: ["counting.append"] } }\n');
  const other = await yard("policy", "replay", "--bundle", candidate, "--json");
  assert.equal(other.code, 1, other.stderr);
  const { data } = JSON.parse(other.stdout) as {
    data: {
      decisions: number;
      changes: { tool: string; before: string; after: string; count: number }[];
    };
  };
  assert.deepEqual(
    data.changes
      .filter(({ tool }) => tool === "mcp__counting__append")
      .map((change) => [change.before, change.after]),
    [
      ["allow", "deny"],
      ["allow", "deny"],
    ],
  );
  const same = await yard("policy", "replay", "--bundle", join(project, "policies"));
  assert.equal(same.code, 0, same.stdout + same.stderr);
  assert.match(
    same.stderr,
    /cannot be replayed: \d+ × mcp__counting__append: the audit has digests of the values/,
  );
  assert.match(same.stdout, /^\d+ decisions: [1-9]\d* the same, 0 would be others/);
});

test("what is read, got, completed, watched and set beside tools is in the audit as calls are, by the decision that allowed it", async () => {
  const to = { tokens: { server: "everything" } };
  const uri = "demo://resource/static/document/features.md";
  const name = "args-prompt";
  const ref = { type: "prompt", name: "completable-prompt" } as const;
  await call(bus, readResource, { uri }, to);
  await call(bus, getPrompt, { name, args: { city: "Graz" } }, to);
  await call(bus, completeArgument, { ref, argument: { name: "department", value: "S" } }, to);
  await call(bus, subscribeResource, { uri }, to);
  await call(bus, setLogLevel, { level: "error" }, to);
  const missing = await failureOf(call(bus, readResource, { uri: "demo://nothing" }, to));
  const denied = await failureOf(call(bus, getPrompt, { name: "simple-prompt" }, to));
  assert.deepEqual([missing?.code, denied?.code], ["server_failed", "denied"]);

  const made = (all: readonly ChainedRecord[]) =>
    all
      .filter((record) => record.kind === "execution")
      .filter(({ access }) => access !== undefined);
  const records = await recordsUntil((all) => made(all).length >= 6);
  assert.deepEqual(
    made(records).map(({ access, method, tool, rule, caller }) =>
      [access, method, tool.tool, rule, caller].join(" "),
    ),
    [
      `resource resources/read ${uri} looks me`,
      `prompt prompts/get ${name} looks me`,
      `prompt completion/complete completable-prompt looks me`,
      `resource resources/subscribe ${uri} looks me`,
      `logging logging/setLevel logging looks me`,
      `resource resources/read demo://nothing looks me`,
    ],
  );
  const endOf = ({ writer, seq, outcome }: ReturnType<typeof made>[number]) =>
    outcome ??
    records.find(
      (record) => record.kind === "outcome" && record.writer === writer && record.of === seq,
    );
  assert.ok(
    made(records)
      .slice(0, 5)
      .every((record) => JSON.stringify(endOf(record)).includes("result")),
  );
  const verified = await yard("audit", "verify", "--json");
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  const { data } = JSON.parse(verified.stdout) as { data: { calls: Record<string, unknown> } };
  const { executions, proven, findings } = data.calls;
  assert.deepEqual([proven, findings], [executions, []]);
  const tail = await yard("audit", "tail", "--once");
  assert.match(
    tail.stdout,
    /resources\/read resource demo:\/\/resource\S+ of everything for me by policy-/,
  );
});

test("a run that a run starts is in the audit by the runner, proven by its decision or by the person that the policy asked", async () => {
  const startsIn = (all: readonly ChainedRecord[]) =>
    all
      .filter((record) => record.kind === "execution")
      .filter(({ service }) => service === "runner");
  client.publish("yard.cmd.me.run.start.boss", { runId: "bossy", input: "x" });
  client.publish("yard.cmd.me.run.start.careful", { runId: "caring", input: "x" });
  await client.waitForEvent("yard.evt.run.me.bossy.finished", () => true);
  await client.waitForEvent("yard.evt.run.me.caring.waiting", () => true);
  const { approvals } = await call(cli, listApprovals, { runId: "me~caring" });
  const id = approvals[0]?.id ?? "";
  await call(cli, approveCall, { id });
  await client.waitForEvent("yard.evt.run.me.caring.finished", () => true);

  const decisionOf = (all: readonly ChainedRecord[], { decision }: { decision: string | null }) =>
    all.find(({ writer, seq }) => `${writer}:${seq}` === decision);
  // A decision may be stored a moment after the start that it allows.
  const records = await recordsUntil(
    (all) => startsIn(all).filter((made) => decisionOf(all, made) !== undefined).length === 2,
  );
  assert.deepEqual(
    startsIn(records).map((made) => {
      const { caller, principal, tool, callId, rule, effect } = made;
      const { user, agent, runId } = principal;
      const by = decisionOf(records, made);
      const isAbout = by?.kind === "decision" && by.argsDigest === made.argsDigest;
      const facts = [caller, user, agent, runId, tool.name, callId, rule, effect, made.approvalId];
      return `${facts.join(" ")} ${isAbout}`;
    }),
    [
      "runner me boss me~bossy agent me~bossy:1:0 starts allow  true",
      `runner me careful me~caring agent me~caring:1:0 asked-starts ask ${id} true`,
    ],
  );
  const verified = await yard("audit", "verify", "--json");
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  const { data } = JSON.parse(verified.stdout) as { data: { calls: Record<string, unknown> } };
  const { executions, proven, findings } = data.calls;
  assert.deepEqual([proven, findings], [executions, []]);
});

test("while the audit is full nothing is decided, approved or called, the refusals explain what to do, and room alone restores it", async () => {
  const big = { tool: "big", args: { bytes: 4 } };
  const to = { tokens: { server: "counting" } };
  const id = await call(bus, callTool, big, to).then(() => assert.fail(), approvalId);
  const marks = async () => (await readFile(join(directory, "calls"), "utf8")).split("\n").length;
  await fillAudit();
  // Until its first record is refused, the service has no sign of it.
  await until(() => failureOf(append("fills")));
  const made = await marks();
  client.publish("yard.cmd.me.run.start.counter", { runId: "held-up", input: { first: "one" } });
  for (const refused of [
    () => append("x"),
    () => append("y"),
    () => call(bus, callTool, big, to),
    () => call(bus, readResource, { uri: "demo://x" }, { tokens: { server: "everything" } }),
  ]) {
    const failure = await failureOf(refused());
    assert.equal(failure?.code, "policy_unavailable");
    assert.match(failure?.message ?? "", /the stream YARD_AUDIT is full; .*--audit-gib <n>/);
  }
  const refused = await failureOf(call(cli, approveCall, { id }));
  assert.equal(refused?.code, "approvals_unavailable");
  assert.match(refused?.message ?? "", /the stream YARD_AUDIT is full; .*--audit-gib <n>/);
  assert.equal(await marks(), made, "none of them was made");

  const room = await yard("streams", "ensure", "--audit-gib", "5");
  assert.equal(room.code, 0, room.stderr);
  assert.equal(room.stdout, "updated YARD_AUDIT\n");
  await until(async () => (await failureOf(call(cli, approveCall, { id }))) === null);
  const again = { ...big, approvalId: id };
  await until(async () => (await failureOf(call(bus, callTool, again, to))) === null);
  await client.waitForEvent("yard.evt.run.me.held-up.finished", () => true);
  const verified = await yard("audit", "verify");
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
});

test("a policy that is killed leaves a chain that can be verified, and each call that it had allowed is proven", async () => {
  const policy = dev.processes.find(({ name }) => name === "policy");
  assert.ok(policy !== undefined);
  const marks = async () => (await readFile(join(directory, "calls"), "utf8")).split("\n").length;
  const before = await marks();
  let isKilled = false;
  const hammering = Array.from({ length: 16 }, async (_, index) => {
    const failure = await until(
      async () => (isKilled ? "none" : failureOf(append(`line ${index}`))),
      (answer) => answer !== null,
    );
    return failure === "none" || failure?.code === "policy_unavailable" ? "none" : failure;
  });
  await until(marks, (count) => count >= before + 100);
  process.kill(policy.pid, "SIGKILL");
  isKilled = true;
  assert.deepEqual(new Set(await Promise.all(hammering)), new Set(["none"]));
  await until(() =>
    append("afterwards").then(
      () => true,
      () => false,
    ),
  );
  const lines = (await readFile(join(directory, "calls"), "utf8")).trim().split("\n").length;
  const marksIn = (all: readonly ChainedRecord[]): number =>
    all.filter((record) => record.kind === "execution" && record.tool.tool === "append").length;
  // Each call that left a mark has a record, a moment later.
  const records = await recordsUntil(
    (all) =>
      all.filter(({ kind, service }) => kind === "chain" && service === "policy").length === 2 &&
      marksIn(all) >= lines,
  );
  const begin = records.findLast((record) => record.kind === "chain");
  assert.ok(begin?.kind === "chain" && (begin.others?.length ?? 0) >= 1);
  const verified = await yard("audit", "verify");
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  assert.match(verified.stdout, /^intact: /);
  assert.match(verified.stderr, /policy-[0-9a-f]{16}: no end after record \d+/);
  // The policy gathers its records for 50 ms, and those of the last calls are usually lost with it.
  const { stdout } = await yard("audit", "verify", "--json");
  const { data } = JSON.parse(stdout) as { data: AuditReport }; // the format that the command writes
  const { executions, proven, bySignature, lost } = data.calls;
  assert.equal(proven, executions);
  assert.equal(
    bySignature,
    lost.reduce((sum, { executed }) => sum + executed, 0),
  );
});
