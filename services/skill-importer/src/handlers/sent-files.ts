import type { CallContext } from "@switchyard/bus/handler";
import type {
  SentFile,
  sentArchive,
  unpackErrors,
  uploadErrors,
} from "@switchyard/contracts/skill-importer/definition-store";
import type { Fail } from "@switchyard/contracts/errors";
import type { z } from "zod";
import { ArchiveError, unpackArchive } from "@switchyard/skills/source/archive";
import type { Package } from "@switchyard/skills/source/package";

/** The upload steps shared by all imports of clients, of skills and of agents. */

/** Bytes of the files in one upload. */
export const MAX_UPLOAD_BYTES = 32 * 1024 * 1024;

/** Throws the contract's own error when the files are more than one call may bring. */
export function requireSize(files: readonly SentFile[], fail: Fail<typeof uploadErrors>): void {
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

/** Returns the files of the archive in a request, or the contract's own error when the archive is unusable. */
export async function unpackSent(
  { base64, format, label }: z.output<z.ZodObject<typeof sentArchive>> & { readonly label: string },
  context: Pick<CallContext, "attachment"> & { readonly fail: Fail<typeof unpackErrors> },
): Promise<Pick<Package, "files" | "findings">> {
  const { fail } = context;
  const attached = await context.attachment();
  if (attached === null && base64 === undefined)
    throw fail.archive_refused(`${label}: the request has no archive: attach it`, {
      reason: "missing",
      entry: null,
    });
  try {
    return await unpackArchive(attached ?? Buffer.from(base64 ?? "", "base64"), format);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    const { message, reason, entry } = error;
    throw fail.archive_refused(`${label}: ${message}`, { reason, entry });
  }
}
