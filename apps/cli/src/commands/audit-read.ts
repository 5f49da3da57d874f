import { auditBounds, readAudit, type StoredAudit } from "@switchyard/bus/audit-log";
import type { Bus } from "@switchyard/bus/bus";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { recordsOf, type ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import { cutForReader } from "@switchyard/contracts/cut-text";
import type { AccessKind } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { AUDITOR_USER } from "@switchyard/contracts/user-names";
import { readAuditBlock } from "@switchyard/audit/verify-audit";
import { findBus, withBus } from "../bus-session.ts";
import { timeOf } from "../time-option.ts";
import { count } from "../quantities.ts";
import type { Terminal } from "../terminal.ts";

/** A part of the audit in time. */
export interface TimeRange {
  readonly since?: string;
  readonly until?: string;
}

/** Works with the audit as the user that may read it. */
export async function withAudit<T>({ env }: Terminal, use: (bus: Bus) => Promise<T>): Promise<T> {
  return withBus(await findBus(env, AUDITOR_USER), use);
}

/** The messages that are stored at this moment; a range looks at when they were stored. */
export async function* storedMessages(
  bus: Bus,
  { since, until }: TimeRange,
): AsyncGenerator<StoredAudit> {
  const { first, last } = await auditBounds(bus);
  const [begin, end] = [timeOf("--since", since), timeOf("--until", until)];
  const from = begin === null ? { sequence: first } : { time: begin };
  for await (const message of readAudit(bus, { from, upTo: last })) {
    if (end !== null && message.time > end) return;
    // The server reads times that are too far away as others.
    if (begin === null || message.time >= begin) yield message;
  }
}

/** The records of those messages; other messages are skipped, and `yard audit verify` reports them. */
export async function* storedRecords(bus: Bus, range: TimeRange): AsyncGenerator<ChainedRecord> {
  for await (const message of storedMessages(bus, range)) yield* recordsIn(message);
}

export function recordsIn({ subject, payload }: StoredAudit): ChainedRecord[] {
  const block = readAuditBlock(subject, payload);
  return typeof block === "string" ? [] : recordsOf(block);
}

/** One record in words, without its place. */
export function recordText(fact: AuditFact): string {
  switch (fact.kind) {
    case "decision": {
      const { decision, access, principal, argsDigest } = fact;
      return `${decision.effect} ${whatText(fact, access)} for ${whoText(principal)}: ${decision.reason} (${argsDigest.slice(7, 19)})${valuesText(fact.args)}`;
    }
    case "refusal": {
      const about = fact.tool === undefined ? "" : ` for ${fact.tool.name}`;
      return `refused a run token of ${fact.caller}${about}: ${fact.reason}`;
    }
    case "repeat": {
      const what = fact.what === "refusal" ? "refused run tokens of" : "denials for";
      const tool = fact.tool === undefined ? "" : `, ${fact.tool.name}`;
      return `${fact.count} more ${what} ${fact.user}${tool}, like ${fact.like}, until ${fact.last}`;
    }
    case "approval": {
      const by = fact.by === undefined ? "" : ` by ${fact.by}`;
      const why = fact.reason === undefined ? "" : `: ${fact.reason}`;
      return `${fact.change} ${fact.grantId ?? fact.approvalId}${by}: ${fact.tool.name} for ${whoText(fact.principal)}${why}`;
    }
    case "execution": {
      const end = fact.outcome === undefined ? "" : ` → ${fact.outcome} in ${fact.durationMs} ms`;
      const what = whatText(fact, fact.access ?? "tool");
      return `${fact.method ?? "calls"} ${what} for ${whoText(fact.principal)} by ${fact.decision ?? "no record"}${end}`;
    }
    case "outcome":
      return `record ${fact.of} → ${fact.outcome} in ${fact.durationMs} ms`;
    case "access": {
      const who = fact.caller ?? "somebody";
      const about = fact.about === undefined ? "" : ` of ${fact.about}`;
      const outcome = fact.code ?? fact.status;
      const end = outcome === undefined ? "" : ` → ${outcome}`;
      return `${fact.change.replace("_", " ")}: ${who} from ${fact.address}, ${fact.operation}${about}${end}`;
    }
    case "seal":
      return `seal over ${count(fact.heads.length, "chain")} by key ${fact.kid}`;
    case "chain":
      return `chain ${fact.change} by ${fact.instance}`;
    default:
      return fact satisfies never;
  }
}

/** Arguments, where the policy records them. */
function valuesText(args: Readonly<Record<string, unknown>> | undefined): string {
  if (args === undefined) return "";
  const text = JSON.stringify(args);
  return ` ${cutForReader(text, SHOWN_VALUES + 1)}`;
}

const SHOWN_VALUES = 200;

/** A resource or a prompt by its own name: its name as a tool is shortened and hard to read. */
function whatText({ tool }: { readonly tool: ToolRef }, access: AccessKind): string {
  return access === "tool" ? tool.name : `${access} ${tool.tool} of ${tool.server}`;
}

function whoText({
  user,
  agent,
  runId,
}: {
  user: string;
  agent: string | null;
  runId: string | null;
}) {
  return agent === null ? user : `${user}/${agent}/${runId}`;
}
