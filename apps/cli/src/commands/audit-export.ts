import { randomUUID } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { exportAudit } from "@switchyard/contracts/policy/audit-queries";
import { ServiceError } from "@switchyard/contracts/errors";
import { listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { auditKeyId, type PublicJwk } from "@switchyard/audit/audit-keys";
import { CliError } from "../cli-error.ts";
import type { ExitCode } from "../exit-codes.ts";
import { writeJson, writeJsonLine, type Terminal } from "../terminal.ts";
import { exitOfStop, untilStopped } from "../until-stopped.ts";
import { timeOf } from "../time-option.ts";
import { storedRecords, withAudit, type TimeRange } from "./audit-read.ts";

/**
 * `yard audit export`: one record a line, each with what it takes to check it, and behind each part of them a line that the
 * policy service has signed. With `unsigned` the records alone, which needs no policy service.
 */
export function exportRecords(
  terminal: Terminal,
  { unsigned, ...range }: TimeRange & { unsigned?: true },
): Promise<ExitCode> {
  return untilStopped(async (stop) => {
    const { signal } = stop;
    await withAudit(terminal, async (bus) => {
      if (unsigned !== true) return exportSigned(bus, range, { terminal, signal });
      for await (const record of storedRecords(bus, range)) {
        if (signal.aborted) return;
        writeJsonLine(terminal, record);
      }
    });
    return exitOfStop(stop.reason);
  });
}

async function exportSigned(
  bus: Bus,
  range: TimeRange,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<void> {
  const [since, until] = [timeOf("--since", range.since), timeOf("--until", range.until)];
  const limits = {
    export: randomUUID(),
    ...(since === null ? {} : { since: since.toISOString() }),
    ...(until === null ? {} : { until: until.toISOString() }),
  };
  let from: number | undefined;
  let upTo: number | undefined;
  for (let part = 1; !signal.aborted; part += 1) {
    const place = {
      part,
      ...(from === undefined ? {} : { from }),
      ...(upTo !== undefined && { upTo }),
    };
    const reply = await call(bus, exportAudit, { ...limits, ...place }).catch(withoutPolicy);
    const isEmpty = reply.next === null && part === 1 && reply.records.length === 0;
    for (const record of reply.records) writeJsonLine(terminal, record);
    if (!isEmpty) writeJsonLine(terminal, reply.part);
    if (reply.next === null) return;
    from = reply.next;
    upTo = reply.upTo;
  }
}

function withoutPolicy(error: unknown): never {
  if (!(error instanceof ServiceError) || error.code !== "no_responders") throw error;
  throw new CliError(error.code, "the policy service does not answer, so nothing can be signed", {
    hint: "start it, or export without signatures: yard audit export --unsigned",
    cause: error,
  });
}

/** `yard audit keys`: the public keys of the policy service as a JWK set, for `yard audit verify --key`. */
export async function keys(terminal: Terminal, { json }: { json?: true }): Promise<void> {
  const jwks = await withAudit(terminal, keysOfPolicy);
  const set = { keys: jwks.map((jwk) => Object.assign({ kid: auditKeyId(jwk) }, jwk)) };
  if (json) writeJson(terminal, set);
  else terminal.out(JSON.stringify(set, null, 2));
}

/** The public halves of the keys that sign or have signed the audit, as the policy service that answers names them. */
export async function keysOfPolicy(bus: Bus): Promise<PublicJwk[]> {
  const { publicKeys = [] } = await call(bus, listTokenKeys, {});
  return publicKeys.map(({ x }) => ({ kty: "OKP", crv: "Ed25519", x }));
}
