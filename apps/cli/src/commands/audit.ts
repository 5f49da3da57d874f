import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { auditBounds, readAudit, type StoredAudit } from "@switchyard/bus/audit-log";
import type { ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import { AuditFact } from "@switchyard/contracts/policy/audit";
import { AuditWriterId } from "@switchyard/contracts/policy/audit-ref";
import { Digest, Timestamp } from "@switchyard/contracts/ids";
import { AuditExportPart } from "@switchyard/contracts/policy/audit-queries";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  createSignatureCheck,
  parsePublicKeys,
  type PublicJwk,
} from "@switchyard/audit/audit-keys";
import type { ExportPart } from "@switchyard/audit/check-export";
import {
  createAuditVerifier,
  type AuditReport,
  type VerifierKeys,
} from "@switchyard/audit/verify-audit";
import { z } from "zod";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { printableLine } from "../printable.ts";
import { writeJson, writeJsonLine, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";
import { recordsIn, recordText, storedMessages, withAudit, type TimeRange } from "./audit-read.ts";
import { timeOf } from "../time-option.ts";
import { keysOfPolicy } from "./audit-export.ts";
import { isGood, printReport } from "./audit-report.ts";

const LOOK_AGAIN_MS = 500;

/** `yard audit tail`: the last records, then each one as it comes. */
export function tail(
  terminal: Terminal,
  options: { since?: string; once?: true; json?: true },
): Promise<ExitCode> {
  return untilStopped(async (stop) => {
    const { signal } = stop;
    await withAudit(terminal, async (bus) => {
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

/**
 * `yard audit verify`: whether nothing was changed or taken out, and every call was allowed. Signatures are checked with the
 * keys of `--key`, else, of the stream, with those that the policy service names.
 */
export async function verify(
  terminal: Terminal,
  options: { since?: string; file?: string; key?: string; sealedSince?: string; json?: true },
): Promise<ExitCode> {
  const { since, file, key } = options;
  const given = key === undefined ? null : await readKeyFile(key);
  const sealedSince = timeOf("--sealed-since", options.sealedSince);
  const report =
    file === undefined
      ? await verifyStream(terminal, since === undefined ? {} : { since }, { given, sealedSince })
      : await verifyFile(file, given === null ? null : keysOf(given, sealedSince));
  if (options.json) writeJson(terminal, report);
  else printReport(terminal, report);
  if (!isGood(report)) return EXIT.failed;
  return report.sealed === null ? EXIT.unsigned : EXIT.ok;
}

function keysOf(jwks: readonly PublicJwk[], sealedSince: Date | null): VerifierKeys {
  return { signatures: createSignatureCheck(jwks), sealedSince };
}

async function readKeyFile(file: string): Promise<readonly PublicJwk[]> {
  const keys = parsePublicKeys(await readFile(file, "utf8"));
  if (keys !== null) return keys;
  throw new CliError("usage", `${file} holds no public Ed25519 key in JWK form`, {
    hint: "give what yard audit keys has printed, or keys/run-token.pub.jwk",
  });
}

async function verifyStream(
  terminal: Terminal,
  range: TimeRange,
  { given, sealedSince }: { given: readonly PublicJwk[] | null; sealedSince: Date | null },
): Promise<AuditReport> {
  return withAudit(terminal, async (bus) => {
    const jwks = given ?? (await keysOfPolicy(bus).catch(noKeys));
    const keys = jwks === null ? null : keysOf(jwks, sealedSince);
    const extent = range.since === undefined ? await auditBounds(bus) : null;
    const verifier = createAuditVerifier(extent, Date.now(), keys);
    for await (const message of storedMessages(bus, range)) {
      // Messages stored after the extent was read belong to the next check.
      if (extent === null || message.sequence <= extent.last) verifier.message(message);
    }
    return verifier.finish();
  });
}

/** Without the policy service the hashes can be checked all the same. */
function noKeys(error: unknown): null {
  if (error instanceof ServiceError) return null;
  throw error;
}

async function verifyFile(file: string, keys: VerifierKeys | null): Promise<AuditReport> {
  const verifier = createAuditVerifier(null, Date.now(), keys);
  let number = 0;
  for await (const line of linesOf(file)) {
    number += 1;
    if (line === "") continue;
    const read = lineOf(line, `${file}:${number}`);
    if (read.kind === "export") verifier.part(read);
    else verifier.record(read);
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
    // A directory can be opened but not read, and that error has no path.
    throw error instanceof Error && !("path" in error)
      ? Object.assign(error, { path: file })
      : error;
  }
}

/** An exported record's position in its chain. */
const ChainFields = z.looseObject({
  v: z.literal(1),
  service: z.string(),
  writer: AuditWriterId,
  seq: z.int().positive(),
  at: Timestamp,
  prev: Digest.nullable(),
  hash: Digest,
});

/** Parses a record or a line about the export; the verifier checks its hash. */
function lineOf(line: string, where: string): ChainedRecord | ExportPart {
  const value = parsedJson(line, where);
  const exported = AuditExportPart.safeParse(value);
  if (exported.success) return exported.data;
  for (const part of [ChainFields, AuditFact]) {
    const { error } = part.safeParse(value);
    const [issue] = error?.issues ?? [];
    if (issue !== undefined)
      throw noRecord(where, [issue.path.join("."), issue.message].filter(Boolean).join(": "));
  }
  // The original record, with members that the schemas do not know: the hash covers them, too.
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
