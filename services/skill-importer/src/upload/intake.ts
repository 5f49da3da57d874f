import type { SentFile, sentArchive } from "@switchyard/contracts/definition-store";
import type { ServiceError } from "@switchyard/contracts/errors";
import type { z } from "zod";
import type { Finding } from "../finding.ts";
import { ArchiveError, unpackArchive } from "../source/archive.ts";

/** What every import of a client goes through, whether it brings skills or agents. */

/** Bytes of the files in one upload. */
export const MAX_UPLOAD_BYTES = 32 * 1024 * 1024;

type Refuse<D> = (message: string, data: D) => ServiceError;

/** Throws the contract's own error, unless the caller may change what is imported. */
export function requireAdmin(
  {
    caller,
    fail,
  }: {
    caller: string;
    fail: { forbidden_admin: Refuse<{ caller: string; setting: string }> };
  },
  admins: readonly string[],
): void {
  if (admins.includes(caller)) return;
  const setting = "YARD_IMPORT_ADMINS";
  throw fail.forbidden_admin(
    `NATS user ${caller} may not change what is imported. Who may is in the importer's setting ${setting}.`,
    { caller, setting },
  );
}

/** Throws the contract's own error when the files are more than one call may bring. */
export function requireSize(
  files: readonly SentFile[],
  fail: { upload_too_large: Refuse<{ sizeBytes: number; maxBytes: number }> },
): void {
  const sizeBytes = files.reduce(
    (sum, { text, base64 }) =>
      sum + Buffer.byteLength(text ?? "") + Math.ceil(((base64?.length ?? 0) * 3) / 4),
    0,
  );
  if (sizeBytes <= MAX_UPLOAD_BYTES) return;
  throw fail.upload_too_large(
    `the files have ${sizeBytes} bytes, at most ${MAX_UPLOAD_BYTES} may come at once; send them in several calls`,
    { sizeBytes, maxBytes: MAX_UPLOAD_BYTES },
  );
}

export function bytesOfSent({ text, base64 }: SentFile): Uint8Array {
  return text === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(text);
}

/** The files of an archive, or the contract's own error when nothing of it can be used. */
export async function unpackSent(
  sent: z.output<z.ZodObject<typeof sentArchive>> & { readonly label: string },
  fail: { archive_refused: Refuse<{ reason: string; entry: string | null }> },
): Promise<{ files: ReadonlyMap<string, Uint8Array>; findings: readonly Finding[] }> {
  try {
    return await unpackArchive(Buffer.from(sent.base64, "base64"), sent.format);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    const { message, reason, entry } = error;
    throw fail.archive_refused(`${sent.label}: ${message}`, { reason, entry });
  }
}

const MAX_KNOWN = 50;

/** As many names as an error tells. */
export function knownNames(entries: readonly { summary: { name: string } }[]): string[] {
  return entries.slice(0, MAX_KNOWN).map(({ summary }) => summary.name);
}

/** The messages of what cannot be found or changed; `kind` is what people call it. */
export function refusals(kind: "skill" | "agent") {
  const yard = `yard ${kind}s`;
  const trust = (name: string) =>
    `yard skills trust ${name}${kind === "agent" ? " --agent" : ""} --reason "…"`;
  return {
    unknown: (name: string) =>
      `${kind} '${name}' not found; see the available ones with: ${yard} list`,
    noVersion: (name: string, version: string) =>
      version === ""
        ? `${name} has no other version; see: ${yard} versions ${name}`
        : `${name} has no version ${version}; see: ${yard} versions ${name}`,
    managedByFiles: (name: string, file: string) =>
      `${name} is what ${file} on the importer's roots says; change or delete that file`,
    blocked: (name: string, version: string) =>
      `the scanner blocks version ${version} of ${name}; import it again and see: ${trust(name)}`,
    needsReason: (name: string, version: string) =>
      `the scanner blocks version ${version} of ${name}; say why it may be used all the same: ${trust(name)}`,
  } as const;
}

/** The two versions that a comparison is about, the newest and the one before it when nobody names them. */
export function pairOf<V>(
  all: readonly V[],
  { from, to }: { from: string | undefined; to: string | undefined },
  idOf: (version: V) => string,
): { readonly older: V; readonly newer: V } | { readonly missing: string } {
  const newer = to === undefined ? all[0] : all.find((one) => idOf(one) === to);
  if (newer === undefined) return { missing: to ?? "" };
  const before = all[all.indexOf(newer) + 1];
  const older = from === undefined ? before : all.find((one) => idOf(one) === from);
  return older === undefined ? { missing: from ?? "" } : { older, newer };
}
