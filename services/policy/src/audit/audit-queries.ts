import { setImmediate as nextTurn } from "node:timers/promises";
import { auditBounds, readAudit, type StoredAudit } from "@switchyard/bus/audit-log";
import type { Bus } from "@switchyard/bus/bus";
import type { Service } from "@switchyard/bus/serve";
import type { AuditedRecord } from "@switchyard/contracts/policy/audit-queries";
import { exportAudit, listAudit, verifyAudit } from "@switchyard/contracts/policy/audit-queries";
import { recordsOf } from "@switchyard/contracts/policy/audit-chain";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { AUDITOR_USER } from "@switchyard/contracts/user-names";
import { createSignatureCheck } from "@switchyard/audit/audit-keys";
import { createAuditVerifier, readAuditBlock } from "@switchyard/audit/verify-audit";
import type { z } from "zod";
import { checkAdmin } from "../check-admin.ts";
import type { KeyRing } from "../tokens/key-ring.ts";
import { exportPart } from "./export-part.ts";

type Query = z.output<typeof listAudit.request>;
type Shown = z.infer<typeof AuditedRecord>;

const fail = failuresOf({ ...listAudit.errors, ...verifyAudit.errors });

/** The number of messages that one request reads, and of each batch when the newest come first. */
const LOOKED_AT = 2_000;
const WINDOW = 200;
/** The most that one answer holds, as JSON. */
const ANSWER_BYTES = 400_000;
const VERIFY_MS = 50_000;
const PROBLEMS = 100;

/** The audit for admins over HTTP. Over NATS the user `auditor` reads it by itself. */
export function serveAuditQueries(
  service: Service,
  parts: {
    readonly bus: Bus;
    readonly admins: readonly string[];
    readonly keyRing: Pick<KeyRing, "publicKeys" | "signText">;
    readonly now: () => number;
  },
): void {
  const { bus, admins, keyRing, now } = parts;
  let isVerifying = false;
  service.handle(listAudit, (query, context) => {
    checkAdmin(admins, context);
    return orUnavailable(() => list(bus, query));
  });
  service.handle(verifyAudit, async ({ since }, context) => {
    checkAdmin(admins, context);
    if (isVerifying) throw fail.audit_busy("another check is under way", { records: 0 });
    isVerifying = true;
    try {
      return await orUnavailable(() => verify(parts, since));
    } finally {
      isVerifying = false;
    }
  });
  service.handle(exportAudit, async (request, context) => {
    if (context.caller !== AUDITOR_USER) checkAdmin(admins, context);
    return orUnavailable(() => exportPart({ bus, signText: keyRing.signText, now }, request));
  });
}

/** The position of a record: its message in the stream, and its index in the message. */
interface Position {
  readonly sequence: number;
  readonly index: number;
}

async function list(bus: Bus, query: Query) {
  const { order, limit } = query;
  const records: Shown[] = [];
  let bytes = 0;
  let next: Position | null = null;
  let looked = 0;
  for await (const message of messages(bus, query)) {
    looked += 1;
    for (const { record, position } of inOrder(message, query)) {
      const size = JSON.stringify(record).length;
      if (records.length >= limit || (records.length > 0 && bytes + size > ANSWER_BYTES)) {
        next = position;
        break;
      }
      records.push(record);
      bytes += size;
    }
    if (next !== null) break;
    if (looked >= LOOKED_AT) {
      const sequence = message.sequence + (order === "oldest" ? 1 : -1);
      next = sequence < 1 ? null : { sequence, index: order === "oldest" ? 0 : 999_999 };
      break;
    }
  }
  return { records, cursor: next === null ? null : `${next.sequence}:${next.index}` };
}

async function* messages(bus: Bus, query: Query): AsyncGenerator<StoredAudit> {
  const { order, cursor, since, until } = query;
  const { first, last } = await auditBounds(bus);
  const begin = cursor === undefined ? null : positionOf(cursor).sequence;
  const [from, to] = [since, until].map((time) => (time === undefined ? null : new Date(time)));
  const isEarly = ({ time }: StoredAudit): boolean =>
    from !== null && from !== undefined && time < from;
  const isLate = ({ time }: StoredAudit): boolean => to !== null && to !== undefined && time > to;
  if (order === "oldest") {
    const start =
      begin !== null || from === null || from === undefined
        ? { sequence: Math.max(first, begin ?? 0) }
        : { time: from };
    for await (const message of readAudit(bus, { from: start, upTo: last })) {
      if (isLate(message)) return;
      if (!isEarly(message)) yield message;
    }
    return;
  }
  let end = Math.min(last, begin ?? last);
  while (end >= first) {
    const start = Math.max(first, end - WINDOW + 1);
    const window: StoredAudit[] = [];
    for await (const message of readAudit(bus, { from: { sequence: start }, upTo: end }))
      window.push(message);
    for (const message of window.toReversed()) {
      if (isEarly(message)) return;
      if (!isLate(message)) yield message;
    }
    end = start - 1;
  }
}

/** Returns the matching records of a message after the cursor, in the requested order. */
function inOrder(message: StoredAudit, query: Query): { record: Shown; position: Position }[] {
  const block = readAuditBlock(message.subject, message.payload);
  if (typeof block === "string") return [];
  const { sequence } = message;
  const at = query.cursor === undefined ? null : positionOf(query.cursor);
  const found = recordsOf(block)
    .map((record, index) => ({ record: record as Shown, position: { sequence, index } }))
    .filter(({ record }) => isWanted(record, query))
    .filter(
      ({ position: { index } }) =>
        at?.sequence !== sequence ||
        (query.order === "oldest" ? index >= at.index : index <= at.index),
    );
  return query.order === "oldest" ? found : found.toReversed();
}

function isWanted(record: Shown, { kind, user, runId, tool, reads }: Query): boolean {
  if (!reads && isQuietRead(record)) return false;
  if (!reads && record.kind === "seal" && kind !== "seal") return false;
  if (kind !== undefined && record.kind !== kind) return false;
  const principal = partOf(record, "principal");
  const users = [record["caller"], record["user"], record["by"], principal["user"]];
  if (user !== undefined && !users.includes(user)) return false;
  if (runId !== undefined && principal["runId"] !== runId) return false;
  const { name } = partOf(record, "tool");
  return tool === undefined || (typeof name === "string" && name.includes(tool));
}

/** A refused or failed read is not quiet: it may be an attack. */
function isQuietRead(record: Shown): boolean {
  return record.kind === "access" && record["isRead"] === true && record["status"] === undefined;
}

function partOf(record: Shown, name: string): Readonly<Record<string, unknown>> {
  const part = record[name];
  return typeof part === "object" && part !== null ? Object.fromEntries(Object.entries(part)) : {};
}

function positionOf(cursor: string): Position {
  const [sequence = 0, index = 0] = cursor.split(":").map(Number);
  return { sequence, index };
}

/** Between two messages others have their turn: this process decides about calls, too. */
async function verify(
  {
    bus,
    keyRing,
    now,
  }: {
    readonly bus: Bus;
    readonly keyRing: Pick<KeyRing, "publicKeys">;
    readonly now: () => number;
  },
  since: string | undefined,
) {
  const bounds = await auditBounds(bus);
  const extent = since === undefined ? bounds : null;
  const signatures = createSignatureCheck(keyRing.publicKeys);
  const verifier = createAuditVerifier(extent, now(), { signatures });
  const from = since === undefined ? { sequence: bounds.first } : { time: new Date(since) };
  const end = now() + VERIFY_MS;
  let looked = 0;
  for await (const message of readAudit(bus, { from, upTo: bounds.last })) {
    verifier.message(message);
    looked += 1;
    await nextTurn();
    if (now() > end)
      throw fail.audit_busy(
        `the audit is too long to be checked in one request: name a later time, or use yard audit verify`,
        { records: looked },
      );
  }
  const { records, chains, breaks, calls, sealed } = verifier.finish();
  const violations = calls.findings.filter(({ kind }) => kind === "violation");
  const problems = [
    ...breaks.map(({ kind, sequence, writer, message }) =>
      [kind, sequence === null ? "" : `at message ${sequence}`, writer ?? "", message]
        .filter((part) => part !== "")
        .join(" "),
    ),
    ...violations.map(({ kind, ref, tool, message }) => `${kind}: ${ref} ${tool} ${message}`),
  ];
  return {
    isIntact: problems.length === 0,
    records,
    chains: chains.length,
    executions: calls.executions,
    proven: calls.proven,
    ...(sealed === null ? {} : { sealed: sealed.records }),
    problems: problems.slice(0, PROBLEMS),
  };
}

/** Errors that are passed on unchanged. */
const OWN: ReadonlySet<string> = new Set(["audit_busy", "no_key"]);

async function orUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isOwn = error instanceof ServiceError && OWN.has(error.code);
    if (!(error instanceof ServiceError) || isOwn) throw error;
    throw fail.audit_unavailable(`the audit cannot be read now: ${error.message}`, {
      cause: error.code,
    });
  }
}
