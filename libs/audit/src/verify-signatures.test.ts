import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { auditHash, type ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import {
  admissionText,
  batchText,
  decisionText,
  exportText,
  leafOf,
  sealText,
  treeOf,
} from "@switchyard/contracts/policy/signed-texts";
import { createRunTokenKey } from "@switchyard/service/run-token";
import { createSignatureCheck, createTextSigner, parsePublicKeys } from "./audit-keys.ts";
import type { ExportPart } from "./check-export.ts";
import { createAuditVerifier, type AuditReport } from "./verify-audit.ts";

const [ours, others] = await Promise.all([createRunTokenKey(), createRunTokenKey()]);
const key = createTextSigner(ours.privateJwk);
const forger = createTextSigner(others.privateJwk);
const signatures = createSignatureCheck(parsePublicKeys(ours.publicJwk) ?? []);

const DIGEST = `sha256:${"0".repeat(64)}`;
const PRINCIPAL = { user: "cli", agent: "demo", runId: "r1" };
const TOOL = { name: "mcp__s__t", server: "s", tool: "t" };
const POLICY = "policy-0000000000000001";
const BROKER = "broker-0000000000000002";
const MINUTE_MS = 60_000;
const BEGIN_MS = Date.parse("2026-11-27T10:00:00.000Z");

type Fact = AuditFact & { readonly atMs?: number };
type Line = ChainedRecord | ExportPart;

/** The chain that a writer makes of facts, each a minute later than the one before unless it has a time. */
function chainOf(writer: string, facts: readonly Fact[]): ChainedRecord[] {
  let prev: string | null = null;
  return facts.map(({ atMs, ...fact }, index) => {
    const at = new Date(atMs ?? BEGIN_MS + index * 1_000).toISOString();
    const service = writer.slice(0, writer.lastIndexOf("-"));
    const record = { v: 1, service, writer, seq: index + 1, at, prev, ...fact } as const;
    const hash = auditHash(record);
    prev = hash;
    return { ...record, hash };
  });
}

const started: Fact = { kind: "chain", change: "started", instance: "i", version: "1" };
const headOf = ({ writer, seq, hash }: ChainedRecord) => ({ writer, seq, hash });

function seal(heads: readonly ReturnType<typeof headOf>[], signedAtMs: number, by = key): Fact {
  const signedAt = new Date(signedAtMs).toISOString();
  const signature = by.sign(sealText(signedAt, heads));
  return { kind: "seal", signedAt, heads: [...heads], kid: by.kid, signature, atMs: signedAtMs };
}

interface Made {
  readonly ref: string;
  readonly effect?: "allow" | "ask";
  readonly keptForMs?: number;
  readonly args?: string;
  readonly by?: typeof key;
}

const decisionOf = ({ effect = "allow", keptForMs, args = DIGEST }: Omit<Made, "ref">): Fact => ({
  kind: "decision",
  provider: "broker",
  caller: "runner",
  principal: PRINCIPAL,
  access: "tool",
  tool: TOOL,
  argsDigest: args,
  argKeys: [],
  decision: { effect, rule: "r", reason: "because", policyDigest: DIGEST },
  ...(keptForMs === undefined ? {} : { keptForMs }),
  correlationId: "c",
});

/** A call as the broker records it, with the policy's signature of the decision. */
function callOf(made: Made, more: object = {}): Fact {
  const { ref, effect = "allow", keptForMs, args = DIGEST, by = key } = made;
  const at = BEGIN_MS;
  const common = {
    caller: "runner",
    principal: PRINCIPAL,
    tool: TOOL,
    rule: "r",
    policyDigest: DIGEST,
  };
  const text = decisionText({
    ...common,
    record: ref,
    at,
    provider: "broker",
    access: "tool",
    pin: null,
    argsDigest: keptForMs === undefined ? args : null,
    effect,
    keptForMs: keptForMs ?? null,
  });
  const { root, paths } = treeOf([leafOf("another"), leafOf(text), leafOf("a third")]);
  const kept = keptForMs === undefined ? {} : { keptForMs };
  const signature = by.sign(batchText(root));
  const signed = { at, ...kept, path: [...(paths[1] ?? [])], kid: by.kid, signature };
  const call = { kind: "execution", ...common, argsDigest: args, effect, decision: ref, signed };
  const end = { outcome: "result", durationMs: 1, correlationId: "c" };
  return { ...call, ...end, ...more } as Fact; // the parts above make it one of its kind
}

/** An export of these records in parts of so many. */
function exportOf(records: readonly ChainedRecord[], size = 4, by = key): Line[] {
  const lines: Line[] = [];
  for (let begin = 0; begin < records.length; begin += size) {
    const own = records.slice(begin, begin + size);
    const chains = new Map<string, ExportPart["chains"][number]>();
    for (const { writer, seq, prev, hash } of own)
      chains.set(writer, {
        ...(chains.get(writer) ?? { writer, from: { seq, prev } }),
        to: { seq, hash },
      });
    const part = {
      kind: "export" as const,
      export: "0b4a1c53-4a3b-4b8e-9f55-3a1f5d6c7e80",
      part: begin / size + 1,
      isLast: begin + size >= records.length,
      from: begin + 1,
      to: begin + own.length,
      since: null,
      until: null,
      stream: { first: 1, last: records.length },
      records: own.length,
      chains: [...chains.values()],
      signedAt: "2026-11-27T12:00:00.000Z",
    };
    lines.push(...own, { ...part, kid: by.kid, signature: by.sign(exportText(part)) });
  }
  return lines;
}

function verified(lines: readonly Line[], keys = { signatures }): AuditReport {
  const verifier = createAuditVerifier(null, Date.now(), keys);
  for (const line of lines) {
    if (line.kind === "export") verifier.part(line);
    else verifier.record(line);
  }
  return verifier.finish();
}

const isRecord = (line: Line): line is ChainedRecord => line.kind !== "export";
const problems = ({ breaks, calls }: AuditReport): string[] => [
  ...breaks.map(({ kind }) => kind),
  ...calls.findings.map(({ kind }) => kind),
];

/** The change that anyone with the file can make: change records, and recompute all hashes of their chain. */
function rehashed(records: readonly ChainedRecord[]): ChainedRecord[] {
  const lasts = new Map<string, { seq: number; hash: string }>();
  return records.map((record) => {
    const before = lasts.get(record.writer);
    const moved = { ...record, prev: before?.hash ?? null, seq: (before?.seq ?? 0) + 1 };
    const hash = auditHash(moved);
    lasts.set(record.writer, { seq: moved.seq, hash });
    return { ...moved, hash };
  });
}

const brokers = chainOf(BROKER, [
  started,
  callOf({ ref: `${POLICY}:2` }),
  callOf({ ref: `${POLICY}:3`, keptForMs: 500, args: `sha256:${"1".repeat(64)}` }),
]);
const before = chainOf(POLICY, [started, decisionOf({}), decisionOf({ keptForMs: 500 })]);
const policys = chainOf(POLICY, [
  started,
  decisionOf({}),
  decisionOf({ keptForMs: 500 }),
  seal([...before.slice(-1), ...brokers.slice(-1)].map(headOf), BEGIN_MS + MINUTE_MS),
]);
const records = [...policys.slice(0, 3), ...brokers, ...policys.slice(3)];
const whole = exportOf(records);

test("an export with its seals and signatures is intact, and shows what they cover", () => {
  const report = verified(whole);
  assert.deepEqual(problems(report), []);
  assert.deepEqual(report.sealed, { seals: 1, records: 6, since: "2026-11-27T10:01:00.000Z" });
  assert.deepEqual([report.export?.from, report.export?.to], [1, 7]);
  assert.deepEqual([report.calls.proven, report.calls.bySignature], [2, 0]);
  const without = createAuditVerifier(null, Date.now());
  for (const line of whole.filter(isRecord)) without.record(line);
  assert.deepEqual([problems(without.finish()), without.finish().sealed], [[], null]);
});

test("calls by a kept decision are proven by the signature in the first record of them, and no other call is", () => {
  const kept = { ref: `${POLICY}:9`, keptForMs: 500 };
  const { signed: _, ...later } = callOf({ ...kept, args: `sha256:${"2".repeat(64)}` }) as Fact & {
    signed: unknown;
  };
  const another = { ...later, tool: { ...TOOL, name: "mcp__s__u", tool: "u" } } as Fact;
  const calls = chainOf(BROKER, [started, callOf(kept), later, another]);
  const verifier = createAuditVerifier(null, Date.now(), { signatures, sealedSince: null });
  for (const record of [...chainOf(POLICY, [started]), ...calls]) verifier.record(record);
  const { proven, bySignature, findings } = verifier.finish().calls;
  assert.deepEqual([proven, bySignature], [2, 3]);
  assert.deepEqual(
    findings.map(({ kind, ref }) => [kind, ref]),
    [["violation", `${BROKER}:4`]],
  );
});

const changed = (record: ChainedRecord): ChainedRecord =>
  record.kind === "execution" ? { ...record, outcome: "tool_error" } : record;
const lastPart = whole.at(-1);
const forgeries: readonly [what: string, lines: readonly Line[]][] = [
  ["a field that was changed", whole.map((line) => (isRecord(line) ? changed(line) : line))],
  [
    "a field that was changed, with all hashes made anew",
    [...rehashed(records.map(changed)), ...whole.filter((line) => !isRecord(line))],
  ],
  [
    "the same with parts that the forger signed",
    exportOf(rehashed(records.map(changed)), 4, forger),
  ],
  [
    "a record that was taken out, with all hashes made anew",
    exportOf(rehashed(records.toSpliced(4, 1))),
  ],
  [
    "seals that were taken out, with an export of it",
    exportOf(rehashed(records.filter(({ kind }) => kind !== "seal"))),
  ],
  [
    "a seal that the forger made",
    exportOf(
      rehashed([
        ...records.slice(0, -1),
        ...chainOf(POLICY, [
          started,
          started,
          started,
          seal(records.slice(0, 1).map(headOf), BEGIN_MS, forger),
        ]).slice(-1),
      ]),
    ),
  ],
  ["a begin that was cut off", whole.slice(1)],
  ["a first part that was cut off", whole.slice(5)],
  ["an end that was cut off", whole.slice(0, -1)],
  ["a last part that was cut off", whole.slice(0, 5)],
  ["lines that say nothing of the export", whole.filter(isRecord)],
  ["records behind the end", [...whole, ...chainOf("broker-0000000000000003", [started])]],
  ["a part that stands twice", [...whole.slice(0, 5), ...whole.slice(0, 5), ...whole.slice(5)]],
  [
    "an end of another range",
    lastPart === undefined || isRecord(lastPart)
      ? []
      : [...whole.slice(0, -1), { ...lastPart, until: "2026-01-01T00:00:00.000Z" }],
  ],
];
for (const [what, lines] of forgeries)
  test(`with the key, ${what} is found`, () => {
    assert.notDeepEqual(problems(verified(lines)), []);
  });

test("a seal finds a record of the stream that was written anew, whatever else was made to fit", () => {
  const verifier = createAuditVerifier(null, Date.now(), { signatures });
  // The seal keeps its text and its position; only the records that it covers were changed.
  for (const record of rehashed(records.map(changed))) verifier.record(record);
  const kinds = verifier.finish().breaks.map(({ kind }) => kind);
  assert.ok(kinds.includes("contradicted"), kinds.join());
});

test("a chain that continues for minutes without a seal is found, the end of a killed process is not", () => {
  const late = (atMs: number) =>
    [
      ...chainOf(POLICY, [started, seal(brokers.slice(0, 1).map(headOf), BEGIN_MS + MINUTE_MS)]),
    ].concat(chainOf(BROKER, [started, { ...callOf({ ref: `${POLICY}:9` }), atMs }]));
  const kindsOf = (atMs: number) => {
    const verifier = createAuditVerifier(null, Date.now(), { signatures });
    const [begin, sealing, ...rest] = late(atMs);
    for (const record of [begin, rest[0], sealing, ...rest.slice(1)])
      if (record !== undefined) verifier.record(record);
    return verifier
      .finish()
      .breaks.map(({ kind, writer }) => `${kind} ${writer ?? ""}`)
      .filter((text) => text !== "unsigned ");
  };
  assert.deepEqual(kindsOf(BEGIN_MS + 2 * MINUTE_MS), []);
  assert.deepEqual(kindsOf(BEGIN_MS + 30 * MINUTE_MS), [`unsigned ${BROKER}`]);
});

test("a call whose decision was lost with the policy's process is proven by its signature, and the lost records are counted", () => {
  const lost = chainOf(BROKER, [
    started,
    callOf({ ref: `${POLICY}:5` }),
    callOf({ ref: `${POLICY}:9`, keptForMs: 500, args: `sha256:${"2".repeat(64)}` }),
  ]);
  const { calls } = verified([...policys, ...lost]);
  assert.deepEqual([calls.proven, calls.bySignature, calls.findings], [2, 2, []]);
  assert.deepEqual(calls.lost, [{ writer: POLICY, from: 5, to: 9, executed: 2 }]);
});

const passKey = {
  approvalId: `apr-${"a".repeat(32)}`,
  grantId: null,
  argsDigest: DIGEST,
  policyDigest: DIGEST,
};
const admissionLeaf = leafOf(
  admissionText({ at: 5, provider: "broker", caller: "runner", ...passKey }),
);
const admitted = { at: 5, kid: key.kid, signature: key.sign(batchText(admissionLeaf)) };
const asked = { ref: `${POLICY}:5`, effect: "ask" } as const;
const untrue: readonly [what: string, finding: string[], fact: Fact[]][] = [
  [
    "by a decision that a provider made up",
    ["violation"],
    [callOf({ ref: `${POLICY}:5`, by: forger })],
  ],
  [
    "with other arguments than were decided about",
    ["violation"],
    [callOf({ ref: `${POLICY}:5` }, { argsDigest: `sha256:${"3".repeat(64)}` })],
  ],
  [
    "for another run than was decided about",
    ["violation"],
    [callOf({ ref: `${POLICY}:5` }, { principal: { ...PRINCIPAL, runId: "r2" } })],
  ],
  [
    "twice by a decision that was good for one call",
    ["violation"],
    [callOf({ ref: `${POLICY}:5` }), callOf({ ref: `${POLICY}:5` })],
  ],
  [
    "without a signature, by a decision that was lost",
    ["unproven"],
    [callOf({ ref: `${POLICY}:5` }, { signed: undefined })],
  ],
  ["without the approval that it needed", ["violation"], [callOf(asked)]],
  [
    "with an approval that the policy signed and whose record was lost",
    [],
    [callOf(asked, { approvalId: passKey.approvalId, admitted })],
  ],
  [
    "with that approval twice",
    ["unproven"],
    [
      callOf(asked, { approvalId: passKey.approvalId, admitted }),
      callOf({ ...asked, ref: `${POLICY}:6` }, { approvalId: passKey.approvalId, admitted }),
    ],
  ],
  [
    "with an approval of another call",
    ["violation"],
    [callOf(asked, { approvalId: `apr-${"b".repeat(32)}`, admitted })],
  ],
];
for (const [what, kinds, facts] of untrue)
  test(`a call that was made ${what} is ${kinds[0] ?? "proven"}`, () => {
    const lines = [...policys, ...chainOf(BROKER, [started, ...facts])];
    assert.deepEqual(
      verified(lines).calls.findings.map(({ kind }) => kind),
      kinds,
    );
  });

test("signatures of a key that was not given are no proof", () => {
  const none = { signatures: createSignatureCheck(parsePublicKeys(others.publicJwk) ?? []) };
  const report = verified(whole, none);
  assert.deepEqual(
    new Set(report.breaks.map(({ kind }) => kind)),
    new Set(["signature", "unsigned"]),
  );
  assert.deepEqual(report.sealed?.records, 0);
});
