import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { auditBounds, readAudit, type StoredAudit } from "@switchyard/bus/audit-log";
import type { ChainedRecord } from "@switchyard/contracts/audit-chain";
import { AuditFact } from "@switchyard/contracts/audit";
import { AuditWriterId } from "@switchyard/contracts/audit-ref";
import { Digest, Timestamp } from "@switchyard/contracts/ids";
import type { AuditBreak } from "@switchyard/service/audit/check-chains";
import { createAuditVerifier, type AuditReport } from "@switchyard/service/audit/verify-audit";
import { z } from "zod";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import { writeJson, writeJsonLine, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";
import {
  recordsIn,
  recordText,
  storedMessages,
  storedRecords,
  withAudit,
  type TimeRange,
} from "./audit-read.ts";

const LOOK_AGAIN_MS = 500;
const SHOWN = 20;

/** `yard audit tail`: the last records, then each one as it comes. */
export function tail(
  terminal: Terminal,
  options: { since?: string; once?: true; json?: true },
): Promise<ExitCode> {
  return untilStopped(async (stop) => {
    const { signal } = stop;
    await withAudit(async (bus) => {
      const { last } = await auditBounds(bus);
      let seen = last;
      for await (const message of storedMessages(bus, { since: options.since ?? "10m" })) {
        if (signal.aborted) return;
        seen = Math.max(seen, message.sequence);
        printRecords(terminal, message, options);
      }
      while (options.once !== true && !signal.aborted) {
        const { last: upTo } = await auditBounds(bus);
        for await (const message of readAudit(bus, { from: { sequence: seen + 1 }, upTo })) {
          if (signal.aborted) return;
          seen = message.sequence;
          printRecords(terminal, message, options);
        }
        await delay(LOOK_AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    });
    return exitOfStop(stop.reason);
  });
}

function printRecords(terminal: Terminal, message: StoredAudit, { json }: { json?: true }): void {
  for (const record of recordsIn(message)) {
    const { at, writer, seq } = record;
    if (json) writeJsonLine(terminal, record);
    else terminal.out(printableLine(`${at} ${writer}:${seq} ${recordText(record)}`));
  }
}

/** `yard audit verify`: whether nothing was changed or taken out, and every call was allowed. */
export async function verify(
  terminal: Terminal,
  options: { since?: string; file?: string; json?: true },
): Promise<ExitCode> {
  const { since, file } = options;
  const report =
    file === undefined
      ? await verifyStream(since === undefined ? {} : { since })
      : await verifyFile(file);
  if (options.json) writeJson(terminal, report);
  else tell(terminal, report);
  return isGood(report) ? EXIT.ok : EXIT.failed;
}

/** `yard audit export`: one record a line, each with what it takes to check it. */
export function exportRecords(terminal: Terminal, range: TimeRange): Promise<ExitCode> {
  return untilStopped(async (stop) => {
    await withAudit(async (bus) => {
      for await (const record of storedRecords(bus, range)) {
        if (stop.signal.aborted) return;
        writeJsonLine(terminal, record);
      }
    });
    return exitOfStop(stop.reason);
  });
}

async function verifyStream(range: TimeRange): Promise<AuditReport> {
  return withAudit(async (bus) => {
    const extent = range.since === undefined ? await auditBounds(bus) : null;
    const verifier = createAuditVerifier(extent, Date.now());
    for await (const message of storedMessages(bus, range)) {
      // What came after the look at the stream is for the next time.
      if (extent === null || message.sequence <= extent.last) verifier.message(message);
    }
    return verifier.finish();
  });
}

async function verifyFile(file: string): Promise<AuditReport> {
  const verifier = createAuditVerifier(null, Date.now());
  let number = 0;
  for await (const line of linesOf(file)) {
    number += 1;
    if (line === "") continue;
    verifier.record(recordOf(line, `${file}:${number}`));
  }
  const report = verifier.finish();
  // Nothing would be wrong with a file that everything was taken out of.
  if (report.records > 0) return report;
  throw new CliError("usage", `${file} has no audit record, so there is nothing to check`, {
    hint: "give a file that yard audit export has written",
  });
}

async function* linesOf(file: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(file), crlfDelay: Infinity });
  } catch (error) {
    // A directory can be opened and not be read, and that error does not say what it is about.
    throw error instanceof Error && !("path" in error)
      ? Object.assign(error, { path: file })
      : error;
  }
}

/** Where an exported record stands in its chain, beside what it tells. */
const ChainFields = z.looseObject({
  v: z.literal(1),
  service: z.string(),
  writer: AuditWriterId,
  seq: z.int().positive(),
  at: Timestamp,
  prev: Digest.nullable(),
  hash: Digest,
});

/** Whether its hash is right is the verifier's business; here only that it is a record. */
function recordOf(line: string, where: string): ChainedRecord {
  const value = parsedJson(line, where);
  for (const part of [ChainFields, AuditFact]) {
    const { error } = part.safeParse(value);
    const [issue] = error?.issues ?? [];
    if (issue !== undefined)
      throw noRecord(where, [issue.path.join("."), issue.message].filter(Boolean).join(": "));
  }
  // As it was written, with members that the schemas do not know: they count in the hash, too.
  return value as ChainedRecord;
}

function parsedJson(line: string, where: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw noRecord(where, "it is not valid JSON");
  }
}

function noRecord(where: string, problem: string): CliError {
  return new CliError("usage", `${where} is not an audit record: ${problem}`, {
    hint: "give a file that yard audit export has written",
  });
}

function isGood({ breaks, calls }: AuditReport): boolean {
  return breaks.length === 0 && calls.findings.every(({ kind }) => kind !== "violation");
}

function tell(terminal: Terminal, report: AuditReport): void {
  const { records, chains, breaks, calls, repeated, strays } = report;
  const [first] = breaks;
  if (first === undefined)
    terminal.out(`intact: ${count(records, "record")} in ${count(chains.length, "chain")}`);
  else terminal.out(printableLine(`broken: ${breakText(first)}`));
  for (const other of breaks.slice(1, SHOWN)) terminal.note(printableLine(breakText(other)));
  if (breaks.length > SHOWN) terminal.note(`… and ${breaks.length - SHOWN} more`);
  for (const { writer, from, firstAt } of chains)
    if (from > 1)
      terminal.note(
        `${writer}: begins with record ${from} of ${firstAt} (what stands before it was not read)`,
      );
  for (const { writer, to, hasEnded, lastAt } of chains)
    if (!hasEnded)
      terminal.note(`${writer}: no end after record ${to} of ${lastAt} (it runs, or was killed)`);
  if (repeated > 0)
    terminal.note(`${count(repeated, "record")} stored twice by its writer, which got no answer`);
  if (strays.first !== null)
    terminal.note(
      `${count(strays.count, "message")} of the stream, the first at ${strays.first}, ${strays.count === 1 ? "is not a record" : "are not records"}: answers that a client had sent there; nothing is missing for them`,
    );
  terminal.out(
    `${count(calls.executions, "call")}, ${calls.proven} with the decision that allowed it`,
  );
  for (const { kind, ref, tool, message } of calls.findings.slice(0, SHOWN))
    terminal.note(printableLine(`${kind}: ${ref} ${tool} ${message}`));
  if (calls.findings.length > SHOWN) terminal.note(`… and ${calls.findings.length - SHOWN} more`);
}

function breakText({ kind, sequence, writer, message }: AuditBreak): string {
  const where = sequence === null ? "" : ` at message ${sequence}`;
  return `${kind}${where}${writer === null ? "" : ` in ${writer}`}: ${message}`;
}
