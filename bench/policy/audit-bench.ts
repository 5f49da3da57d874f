import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { auditedArguments } from "@switchyard/audit/audited-arguments";
import { createAuditWriter } from "@switchyard/audit/audit-writer";
import { randomBytes } from "node:crypto";
import { recordValues } from "../../services/policy/src/audit/record-values.ts";
import { createValueKeys, sealContext } from "../../services/policy/src/audit/value-keys.ts";
import type { Bench } from "../lib/bench.ts";
import { compared, type Figure, type Report } from "../lib/figure.ts";

const RECORDS_A_SAMPLE = 2_000;
const DIGEST = `sha256:${"0".repeat(64)}`;
const ARGS = { path: "docs/index.md", limit: 7 };

/**
 * Measures the cost of a record in the process that writes it: digest of the arguments, hash and JSON; everything but the way to
 * NATS.
 */
export async function benchAudit({ windowMs }: Bench): Promise<Report> {
  const plain = await costOf("processor time of a decision's record", decision, windowMs);
  const beside = async (name: string, fact: () => AuditFact): Promise<Figure> =>
    compared({ ...(await costOf(name, fact, windowMs)), baseline: plain.value });
  return {
    name: "audit",
    figures: [
      plain,
      await beside("with digests of two arguments", digested),
      await beside("with digests, and the arguments encrypted", encrypted),
      ...sizes(),
      await costOf("processor time of a call's record", execution, windowMs),
    ],
  };
}

async function costOf(name: string, fact: () => AuditFact, windowMs: number): Promise<Figure> {
  const writer = createAuditWriter({
    service: "bench",
    giveUpAfterMs: 60_000,
    publish: () => Promise.resolve(),
    onTrouble: (error) => {
      throw error;
    },
    onRecovered: () => undefined,
  });
  const samples: number[] = [];
  for (const until = performance.now() + windowMs; performance.now() < until;) {
    const before = process.cpuUsage();
    let seq = 0;
    for (let n = 0; n < RECORDS_A_SAMPLE; n += 1) seq = writer.append(fact).seq;
    await writer.stored({ seq });
    const { user, system } = process.cpuUsage(before);
    samples.push((user + system) / RECORDS_A_SAMPLE);
  }
  await writer.close(10_000);
  const value = samples.toSorted((one, other) => one - other)[Math.floor(samples.length / 2)];
  return { name, value: value ?? Number.NaN, unit: "µs" };
}

const call = {
  caller: "runner",
  principal: { user: "team-a", agent: "researcher", runId: "run-1" },
  tool: { name: "mcp__files__read_file", server: "files", tool: "read_file" },
  correlationId: "run-1",
} as const;

function decision(): AuditFact {
  return {
    kind: "decision",
    provider: "broker",
    ...call,
    access: "tool",
    layers: [["mcp__files__*"]],
    ...auditedArguments(ARGS),
    decision: {
      effect: "allow",
      rule: "reads",
      reason: "rule reads allows mcp__files__read_file",
      policyDigest: DIGEST,
      tier: "auto",
    },
  };
}

const KEYS = createValueKeys([randomBytes(32)]);

function digested(): AuditFact {
  return Object.assign(decision(), values());
}

function encrypted(): AuditFact {
  const sealed = KEYS.cipher?.seal(JSON.stringify(ARGS), sealContext("team-a", DIGEST));
  return Object.assign(decision(), { values: { ...values().values, sealed } });
}

function values() {
  if (KEYS.newest === null) throw new Error("there is a key");
  return { values: recordValues(ARGS, KEYS.newest, "team-a") };
}

function bytes(fact: AuditFact): number {
  return Buffer.byteLength(JSON.stringify(fact));
}

function sizes(): Figure[] {
  const [unit, baseline] = ["bytes", bytes(decision())];
  return [
    { name: "size of a decision's record", value: baseline, unit },
    compared({ name: "size with digests", value: bytes(digested()), unit, baseline }),
    compared({ name: "size with digests, encrypted", value: bytes(encrypted()), unit, baseline }),
  ];
}

function execution(): AuditFact {
  return {
    kind: "execution",
    ...call,
    argsDigest: auditedArguments(ARGS).argsDigest,
    effect: "allow",
    rule: "reads",
    policyDigest: DIGEST,
    decision: "policy-0123456789abcdef:17",
    outcome: "result",
    durationMs: 1.2,
  };
}
