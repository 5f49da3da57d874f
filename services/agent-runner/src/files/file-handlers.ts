import type { CallContext } from "@switchyard/bus/handler";
import type { Service } from "@switchyard/bus/serve";
import { ServiceError } from "@switchyard/contracts/errors";
import { getFile, putFile } from "@switchyard/contracts/files";
import { inputFiles } from "@switchyard/contracts/payload-stores";
import { StorageFull } from "@switchyard/contracts/store-errors";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { z } from "zod";
import { FileRefused, type FileStore } from "./file-store.ts";

/** Stores files for inputs, and returns the facts about them to their owners. */
export function handleFiles(
  service: Service,
  { files, storage }: { readonly files: FileStore; readonly storage: Pick<OwnerStorage, "admit"> },
): void {
  service.handle(putFile, async (request, context) => {
    const { caller: owner } = context;
    const { name, mediaType } = request;
    const bytes = await bytesOf(request, context);
    // The facts are in Redis.
    await storage.admit(owner);
    try {
      const { file, endsAt } = await files.put(owner, { name, mediaType, bytes });
      return { file, endsAt };
    } catch (error) {
      throw refusalOf(error, request, context);
    }
  });

  service.handle(getFile, async ({ ref }, { caller, fail }) => {
    const [found = null] = await files.find([ref]);
    if (found === null || found.owner !== caller)
      throw fail.unknown_file(`${caller} has no file ${ref}; POST /files stores one`, { ref });
    const { file, endsAt } = found;
    return { file, endsAt };
  });
}

type Put = z.output<typeof putFile.request>;

async function bytesOf({ base64 }: Put, context: CallContext<typeof putFile>): Promise<Uint8Array> {
  return (await context.attachment()) ?? Buffer.from(base64 ?? "", "base64");
}

/** The contract's error when the file or its owner is the reason. */
function refusalOf(
  error: unknown,
  { name, mediaType }: Put,
  { fail }: CallContext<typeof putFile>,
): unknown {
  if (error instanceof FileRefused)
    return fail.unsupported_file(error.message, { name, declared: mediaType ?? null });
  if (!(error instanceof ServiceError)) return error;
  if (error.code === "storage_full") {
    const { usedBytes, limitBytes } = StorageFull.parse(error.data);
    return fail.files_full(
      `there is no room for ${name}: ${usedBytes} of ${limitBytes} bytes of files are used, which are deleted 60 days after they were stored; the operator raises YARD_FILES_MIB`,
      { usedBytes, limitBytes },
    );
  }
  if (error.code !== "payload_too_large") return error;
  const { bucket, maxBytes: limitBytes } = inputFiles;
  return fail.files_full(`there is no room for ${name}: the bucket ${bucket} is full or missing`, {
    usedBytes: limitBytes,
    limitBytes,
  });
}
