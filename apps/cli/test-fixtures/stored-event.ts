import type { StoredEvent } from "@switchyard/bus/stored-event";
import type { Event } from "@switchyard/contracts/define";

const RUN_ID = "01ARYZ6S410000000000000000";
const DIGEST = `sha256:${"0".repeat(64)}`;

/** Values for all fields that run events have; each contract takes those it knows. */
const FIELDS = {
  runId: RUN_ID,
  seq: 1,
  at: "2026-01-02T03:04:05.000Z",
  agent: "demo",
  agentDigest: DIGEST,
  requester: "cli",
  model: "scripted/plan",
  labels: {},
  attempt: 2,
  journalEntries: 3,
  servers: [{ server: "files", reason: "it does not start" }],
  skill: "summarise-files",
  digest: DIGEST,
  step: 1,
  text: "hello",
  toolCalls: 1,
  usage: { inputTokens: 1, outputTokens: 1 },
  durationMs: 1,
  callId: `${RUN_ID}:1:0`,
  tool: "mcp__x__y",
  argsPreview: "{}",
  argsDigest: DIGEST,
  isError: false,
  preview: "result",
  textBytes: 6,
  replayed: false,
  decision: { effect: "allow", rule: "reads", reason: "rule reads allows it" },
  code: "tool_failed",
  message: "it failed",
  output: "answer",
  steps: 1,
  failure: { code: "internal", message: "it broke" },
  subject: "yard.cmd.cli.run.start.demo",
  caller: "cli",
  problems: [],
  streamSequence: 1,
  messageId: null,
  by: "cli",
  reason: "no longer wanted",
  limits: { maxSteps: 20, maxToolCalls: null, timeoutMs: 60_000 },
  waits: [{ reason: "question", callId: `${RUN_ID}:1:0`, tool: "ask_user", until: null }],
  until: "2026-01-02T04:04:05.000Z",
  question: "Which one?",
  options: ["this", "that"],
  childRunId: "01ARYZ6S410000000000000001",
  status: "succeeded",
  sessionId: `ses-${"0".repeat(26)}-1`,
  sessionKey: "support",
  position: 1,
  into: "01ARYZ6S410000000000000002",
};

/** An event as the bus hands it over, with valid fields except for those given. */
export function storedEvent(contract: Event, fields: Record<string, unknown> = {}): StoredEvent {
  const merged: Record<string, unknown> = { ...FIELDS, ...fields };
  if (typeof merged["decision"] === "object" && merged["decision"] !== null) {
    merged["decision"] = { policyDigest: DIGEST, ...merged["decision"] };
  }
  return {
    subject: contract.subject.replace("{runId}", RUN_ID),
    contract,
    payload: merged,
    sequence: 1,
    time: new Date(FIELDS.at),
    correlationId: RUN_ID,
  };
}
