import type { AuditBreak } from "@switchyard/audit/check-chains";
import type { AuditReport } from "@switchyard/audit/verify-audit";
import { printableLine } from "../printable.ts";
import { count } from "../quantities.ts";
import type { Terminal } from "../terminal.ts";

const SHOWN = 20;

/** False when something was changed or taken out, or a call was made that was not allowed. */
export function isGood({ breaks, calls }: AuditReport): boolean {
  return breaks.length === 0 && calls.findings.every(({ kind }) => kind !== "violation");
}

/** Prints what was checked, what is wrong, and what the check cannot detect. */
export function printReport(terminal: Terminal, report: AuditReport): void {
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
  printLost(terminal, report);
  printSignatures(terminal, report);
}

/** Prints what the policy's sequence numbers show about records lost with a process. */
function printLost(terminal: Terminal, { calls }: AuditReport): void {
  if (calls.bySignature > 0)
    terminal.note(
      `${count(calls.bySignature, "call")} of them by the policy's signature: the record of the decision was lost with its process`,
    );
  for (const { writer, from, to, executed } of calls.lost)
    terminal.note(
      `${writer}: records ${from} to ${to} were lost with the process; calls were made by ${executed} of them, the other ${to - from + 1 - executed} are denials or steps of approvals`,
    );
}

/** Prints what the signatures prove, and what they cannot. */
function printSignatures(terminal: Terminal, report: AuditReport): void {
  const { sealed, export: file, records } = report;
  if (sealed === null) {
    terminal.note(
      "hashes only: this finds damage and is no proof against a forger, who can make hashes anew; check signatures with --key (yard audit keys)",
    );
    return;
  }
  const since = sealed.since === null ? "" : ` since ${sealed.since}`;
  terminal.out(
    `signed: ${sealed.records} of ${count(records, "record")} by ${count(sealed.seals, "seal")}${since}`,
  );
  if (file !== null) {
    const { from, to, stream, signedAt } = file;
    terminal.out(
      `export: signed ${signedAt}, messages ${from} to ${to} of a stream that had ${stream.first} to ${stream.last}`,
    );
  }
  if (records > sealed.records)
    terminal.note(
      `${records - sealed.records} records have no seal (those of the last minute, of the end of a killed process, or from before the first seal): ${file === null ? "their hashes" : "the export's signature"} and the signatures of decisions hold them`,
    );
  terminal.note(
    "not proven: that nothing was taken off the end of the stream before it was read, and what the key's holder itself has signed",
  );
}

function breakText({ kind, sequence, writer, message }: AuditBreak): string {
  const where = sequence === null ? "" : ` at message ${sequence}`;
  return `${kind}${where}${writer === null ? "" : ` in ${writer}`}: ${message}`;
}
