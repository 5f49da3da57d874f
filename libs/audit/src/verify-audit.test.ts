import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AUDIT_EVENT_OF, type AuditFact } from "@switchyard/contracts/policy/audit";
import { auditHash, recordsOf, type AuditBlock } from "@switchyard/contracts/policy/audit-chain";
import { createAuditWriter } from "./audit-writer.ts";
import { createAuditVerifier, type AuditMessage, type AuditReport } from "./verify-audit.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const PRINCIPAL = { user: "cli", agent: "demo", runId: "r1" };
const TOOL = { name: "mcp__s__t", server: "s", tool: "t" };

const started: AuditFact = { kind: "chain", change: "started", instance: "i", version: "1" };
const ended: AuditFact = { kind: "chain", change: "ended", instance: "i", version: "1" };

function decision(
  effect: "allow" | "deny" | "ask",
  more: { args?: string; keptForMs?: number } = {},
): AuditFact {
  const { args = DIGEST, keptForMs } = more;
  return {
    kind: "decision",
    provider: "broker",
    caller: "runner",
    principal: PRINCIPAL,
    access: "tool",
    tool: TOOL,
    argsDigest: args,
    argKeys: ["a"],
    decision: { effect, rule: "r", reason: "because", policyDigest: DIGEST },
    ...(keptForMs === undefined ? {} : { keptForMs }),
    correlationId: "c",
  };
}

function execution(ref: string | null, more: Partial<AuditFact> = {}): AuditFact {
  return {
    kind: "execution",
    caller: "runner",
    principal: PRINCIPAL,
    tool: TOOL,
    argsDigest: DIGEST,
    effect: "allow",
    rule: "r",
    policyDigest: DIGEST,
    decision: ref,
    outcome: "result",
    durationMs: 1,
    correlationId: "c",
    ...more,
  } as AuditFact; // the parts above make it one of its kind
}

/** The messages that a writer stores, a message for each group of facts. */
async function written(
  service: string,
  groups: (id: string) => AuditFact[][],
): Promise<AuditMessage[]> {
  const messages: AuditMessage[] = [];
  const writer = createAuditWriter({
    service,
    giveUpAfterMs: 60_000,
    async publish(json, { kind }) {
      const event = AUDIT_EVENT_OF[kind];
      const subject = event.subject.replace("{service}", service);
      const payload = event.payload.parse(JSON.parse(json));
      messages.push({ subject, payload, sequence: messages.length + 1 });
    },
    onTrouble: (error) => assert.fail(String(error)),
    onRecovered: () => undefined,
  });
  for (const facts of groups(writer.id)) {
    let last = 0;
    for (const fact of facts) last = writer.append(() => fact).seq;
    await writer.stored({ seq: last });
  }
  assert.equal(await writer.close(60_000), 0);
  return messages;
}

/** As one stream, the first writer's messages before those of the others. */
function streamOf(...writers: AuditMessage[][]): AuditMessage[] {
  return writers
    .flat()
    .map(({ subject, payload }, index) => ({ subject, payload, sequence: index + 1 }));
}

function verified(messages: readonly AuditMessage[], last = messages.length): AuditReport {
  const extent = { first: 1, last, firstTime: new Date(), maxAgeMs: 1e9 };
  const verifier = createAuditVerifier(extent, Date.now());
  for (const message of messages) verifier.message(message);
  return verifier.finish();
}

const policyChain = await written("policy", () => [
  [started],
  [decision("allow"), decision("deny"), decision("allow", { keptForMs: 500 })],
  [decision("allow"), decision("deny")],
  [ended],
]);
const policyId = recordsOf(policyChain[0]?.payload as AuditBlock)[0]?.writer ?? "";
const brokerChain = await written("broker", () => [
  [started],
  [execution(`${policyId}:2`), execution(`${policyId}:4`), execution(`${policyId}:4`)],
]);
const stream = streamOf(policyChain, brokerChain);

test("an audit as it was written is intact, and shows the decision of each call", () => {
  const { breaks, chains, calls, records } = verified(stream);
  assert.deepEqual(breaks, []);
  assert.equal(records, 11);
  assert.deepEqual(
    chains.map(({ service, from, to, hasEnded }) => [service, from, to, hasEnded]),
    [
      ["policy", 1, 7, true],
      ["broker", 1, 4, false],
    ],
  );
  assert.deepEqual([calls.executions, calls.proven, calls.findings], [3, 3, []]);
});

const approvalId = `apr-${"a".repeat(32)}`;
const consumed: AuditFact = {
  kind: "approval",
  change: "consumed",
  approvalId,
  principal: PRINCIPAL,
  tool: TOOL,
  argsDigest: DIGEST,
  rule: "r",
  policyDigest: DIGEST,
};

test("a start that a person approved is one, also when the runner that took the run over tried it again", async () => {
  const policy = await written("policy", () => [
    [started],
    [decision("ask"), decision("ask")],
    [consumed],
  ]);
  const id = recordsOf(policy[0]?.payload as AuditBlock)[0]?.writer ?? ""; // as it was just written
  const by = { effect: "ask", approvalId, outcome: "started" } as const;
  const tries = (first: string, second: string): AuditFact[][] => [
    [started],
    [
      execution(`${id}:2`, { ...by, callId: first }),
      execution(`${id}:3`, { ...by, callId: second }),
    ],
  ];
  const findings = async (service: string, facts: AuditFact[][]) =>
    verified(streamOf(policy, await written(service, () => facts))).calls.findings.length;
  assert.equal(await findings("runner", tries("r1:1:0", "r1:1:0")), 0);
  assert.equal(await findings("runner", tries("r1:1:0", "r1:2:0")), 1, "two starts");
  assert.equal(await findings("broker", tries("r1:1:0", "r1:1:0")), 1, "two calls");
});

test("answers of NATS and of services that a client had sent here are reported, and break nothing", () => {
  const subject = "yard.evt.audit.policy.decision";
  const answers = [
    { type: "io.nats.jetstream.api.v1.stream_msg_get_response", message: { data: "e30=" } },
    { stream: "YARD_COMMANDS", seq: 1 },
    { ok: true, value: { kind: "decision" } },
    null,
  ].map((payload) => ({ subject, payload, sequence: 0 }));
  const { breaks, strays, records, calls } = verified(streamOf(policyChain, answers, brokerChain));
  assert.deepEqual(breaks, []);
  assert.deepEqual(strays, { count: 4, first: policyChain.length + 1 });
  assert.deepEqual([records, calls.proven], [11, 3]);
  const posing = {
    v: 1,
    service: "policy",
    writer: policyId,
    prev: null,
    records: [{ kind: "x" }],
  };
  const forged = verified(streamOf(policyChain, [{ subject, payload: posing, sequence: 0 }]));
  assert.deepEqual(
    [forged.strays.count, forged.breaks.map(({ kind }) => kind)],
    [0, ["unreadable"]],
  );
});

/** The path of a leaf of a JSON value. */
function leavesOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([key, member]) => leavesOf(member, [...path, key]));
}

function changed(value: unknown, [key, ...rest]: (string | number)[]): unknown {
  if (key === undefined) return typeof value === "number" ? value + 1 : `${String(value)}x`;
  const copy = structuredClone(value) as Record<string | number, unknown>; // an object has the path
  copy[key] = changed(copy[key], rest);
  return copy;
}

test("any change of any value in any record is found", () => {
  const places = stream.flatMap(({ payload }, index) =>
    leavesOf(payload).map((path) => ({ index, path })),
  );
  assert.ok(places.length > 100);
  for (const { index, path } of places) {
    const forged = stream.map((message, at) =>
      at === index ? { ...message, payload: changed(message.payload, path) } : message,
    );
    assert.notEqual(verified(forged).breaks.length, 0, `${index} ${path.join(".")}`);
  }
});

test("members that are put into a record, or into a message, are found", () => {
  for (const add of [
    (block: AuditBlock) => ({ ...block, extra: 1 }),
    (block: AuditBlock) => ({
      ...block,
      records: block.records.map((record) => ({ ...record, extra: 1 })),
    }),
  ]) {
    const forged = stream.map((message, at) =>
      at === 1 ? { ...message, payload: add(message.payload as AuditBlock) } : message,
    );
    assert.notEqual(verified(forged).breaks.length, 0);
  }
});

test("records that are taken out, moved or put in are found, also when the stream's numbers are made to fit", () => {
  const records = stream.flatMap(({ subject, payload }) =>
    recordsOf(payload as AuditBlock).map(({ v, service, writer, prev, ...record }) => ({
      subject,
      payload: { v, service, writer, prev, records: [record] },
    })),
  );
  const asStream = (list: readonly { subject: string; payload: unknown }[]) =>
    streamOf(list.map((message) => ({ ...message, sequence: 0 })));
  assert.deepEqual(verified(asStream(records)).breaks, [], "single records are as good as blocks");
  const at = fc.nat(records.length - 1);
  fc.assert(
    fc.property(at, at, fc.constantFrom("remove", "swap", "insert"), (one, other, how) => {
      const [a, b] = [records[one], records[other]];
      assert.ok(a !== undefined && b !== undefined);
      const forged = [...records];
      const [writerA, writerB] = [a, b].map(({ payload }) => payload.writer);
      if (how === "remove") {
        forged.splice(one, 1);
        const isTail = records.slice(one + 1).every(({ payload }) => payload.writer !== writerA);
        // Nothing behind the last record of a chain shows that it was there: the stream's own numbers do.
        if (isTail) return verified(asStream(forged), records.length).breaks.length > 0;
      } else if (how === "swap") {
        if (one === other || writerA !== writerB) return true;
        [forged[one], forged[other]] = [b, a];
      } else {
        const copy = structuredClone(a);
        const record = copy.payload.records[0] as unknown as Record<string, unknown>;
        record["at"] = "2020-01-01T00:00:00.000Z";
        const { records: _, ...head } = copy.payload;
        record["hash"] = auditHash({ ...head, ...record } as unknown as Parameters<
          typeof auditHash
        >[0]);
        forged.splice(other, 0, copy);
      }
      return verified(asStream(forged)).breaks.length > 0;
    }),
    { numRuns: 400 },
  );
});

test("a message that is gone from the stream, and a stream that was cut, are found", () => {
  const gap = stream.filter(({ sequence }) => sequence !== 6);
  assert.match(
    verified(gap, stream.length).breaks[0]?.message ?? "",
    /messages 6 to 6 .* are gone/,
  );
  const cut = stream.slice(0, -1);
  assert.equal(verified(cut, stream.length).breaks[0]?.kind, "cut");
  const verifier = createAuditVerifier(
    { first: 3, last: 3, firstTime: new Date(), maxAgeMs: 1e9 },
    Date.now(),
  );
  assert.match(verifier.finish().breaks[0]?.message ?? "", /before 3 .* before their time/);
});

test("a chain that is shorter than another process knew is found", async () => {
  const head = { writer: policyId, seq: 9, hash: DIGEST };
  const next = await written("policy", () => [[{ ...started, others: [head] }]]);
  const { breaks } = verified(streamOf(policyChain, next));
  assert.deepEqual([breaks[0]?.kind, breaks[0]?.writer], ["cut", policyId]);
});

test("the last message that a writer sent twice is not a break", () => {
  const last = brokerChain.at(-1);
  assert.ok(last !== undefined);
  const report = verified(streamOf(policyChain, brokerChain, [last]));
  assert.deepEqual([report.breaks, report.repeated], [[], 3]);
});

test("what a writer sent twice happened once", async () => {
  const policy = await written("policy", () => [
    [started],
    [decision("ask"), decision("ask"), consumed],
  ]);
  const id = recordsOf(policy[0]?.payload as AuditBlock)[0]?.writer ?? "";
  const calls = async (ref: string) =>
    written("broker", () => [
      [started],
      [execution(`${id}:${ref}`, { effect: "ask", approvalId })],
    ]);
  const [first, second] = [await calls("2"), await calls("3")];
  const once = verified(streamOf(policy, policy.slice(1), first, first.slice(1))).calls;
  assert.deepEqual([once.executions, once.proven, once.findings], [1, 1, []]);
  const twice = verified(streamOf(policy, policy.slice(1), first, second)).calls;
  assert.equal(twice.findings.length, 1, "one approval was used, however often that is stored");
});

const cases: [string, (id: string) => AuditFact[], AuditFact, string | null][] = [
  ["by a decision that denies", () => [decision("deny")], execution("?:2"), "violation"],
  [
    "although it was denied",
    () => [decision("allow")],
    execution("?:2", { effect: "deny" }),
    "violation",
  ],
  [
    "with other arguments",
    () => [decision("allow")],
    execution("?:2", { argsDigest: `sha256:${"1".repeat(64)}` }),
    "violation",
  ],
  [
    "with other arguments of a kept decision",
    () => [decision("allow", { keptForMs: 500 })],
    execution("?:2", { argsDigest: `sha256:${"1".repeat(64)}` }),
    null,
  ],
  [
    "by another principal",
    () => [decision("allow")],
    execution("?:2", { principal: { ...PRINCIPAL, runId: "r2" } }),
    "violation",
  ],
  [
    "of another tool",
    () => [decision("allow")],
    execution("?:2", { tool: { ...TOOL, name: "mcp__s__u", tool: "u" } }),
    "violation",
  ],
  ["by a record that is no decision", () => [decision("allow")], execution("?:1"), "violation"],
  ["by a record that was lost with its process", () => [], execution("?:2"), "unproven"],
  ["without a record", () => [], execution(null), "unproven"],
  [
    "that needed a person, without one",
    () => [decision("ask")],
    execution("?:2", { effect: "ask" }),
    "violation",
  ],
];
for (const [how, facts, call, kind] of cases) {
  test(`a call that was made ${how} is ${kind ?? "proven"}`, async () => {
    const policy = await written("policy", (id) => [[started, ...facts(id)]]);
    const id = recordsOf(policy[0]?.payload as AuditBlock)[0]?.writer ?? "";
    const ref = call.kind === "execution" ? (call.decision?.replace("?", id) ?? null) : null;
    const broker = await written("broker", () => [
      [started, { ...call, decision: ref } as AuditFact],
    ]);
    const { calls } = verified(streamOf(policy, broker));
    assert.deepEqual(
      calls.findings.map((finding) => finding.kind),
      kind === null ? [] : [kind],
    );
  });
}

test("a request for a resource is proven by a decision about that resource alone, and by none about a tool", async () => {
  const read = { access: "resource", method: "resources/read" } as const;
  for (const [access, kind] of [
    ["resource", "proven"],
    ["prompt", "violation"],
    ["tool", "violation"],
  ] as const) {
    const asked = { ...decision("allow"), access };
    const decisions = await written("policy", () => [[started], [asked]]);
    const id = recordsOf(decisions[0]?.payload as AuditBlock)[0]?.writer ?? "";
    const made = await written("broker", () => [[started], [{ ...execution(`${id}:2`), ...read }]]);
    const { calls, breaks } = verified(streamOf(decisions, made));
    assert.deepEqual(breaks, []);
    assert.equal(calls.findings[0]?.kind ?? "proven", kind, access);
  }
});

test("an approval lets one call pass for each time that it was used, and a decision that is not kept as well", async () => {
  const policy = await written("policy", () => [
    [started, decision("ask"), consumed, decision("ask"), decision("allow")],
  ]);
  const id = recordsOf(policy[0]?.payload as AuditBlock)[0]?.writer ?? "";
  const broker = await written("broker", () => [
    [
      started,
      execution(`${id}:2`, { effect: "ask", approvalId }),
      execution(`${id}:4`, { effect: "ask", approvalId }),
      execution(`${id}:5`),
      execution(`${id}:5`),
    ],
  ]);
  const { calls } = verified(streamOf(policy, broker));
  assert.deepEqual(
    calls.findings.map(({ kind, ref }) => [kind, ref.split(":")[1]]),
    [
      ["unproven", "3"],
      ["violation", "5"],
    ],
  );
});
