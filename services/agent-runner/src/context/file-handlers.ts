import type { Service } from "@switchyard/bus/serve";
import { type Fail, ServiceError } from "@switchyard/contracts/errors";
import { deliverFile, getFile, putFile } from "@switchyard/contracts/agent-runner/files";
import { inputFiles } from "@switchyard/topology/payload-stores";
import { StorageFull } from "@switchyard/contracts/store-errors";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import { FileRefused, type FileStore } from "./file-store.ts";

/** Stores files for inputs, and returns the facts about them to their owners. */
export function handleFiles(
  service: Service,
  { files, storage }: { readonly files: FileStore; readonly storage: Pick<OwnerStorage, "admit"> },
): void {
  const store = async (owner: string, given: GivenFile, fail: PutFail) => {
    // The facts are in Redis.
    await storage.admit(owner);
    try {
      const { file, endsAt } = await files.put(owner, given);
      return { file, endsAt };
    } catch (error) {
      throw refusalOf(error, given, fail);
    }
  };

  service.handle(putFile, async ({ name, mediaType, base64 = "" }, context) => {
    const bytes = (await context.attachment()) ?? Buffer.from(base64, "base64");
    return store(context.caller, { name, mediaType, bytes }, context.fail);
  });

  service.handle(deliverFile, async ({ owner, name, mediaType }, context) => {
    const bytes = (await context.attachment()) ?? new Uint8Array();
    return store(owner, { name, mediaType, bytes }, context.fail);
  });

  service.handle(getFile, async ({ ref }, { caller, fail }) => {
    const [found = null] = await files.find([ref]);
    if (found === null || found.owner !== caller)
      throw fail.unknown_file(`${caller} has no file ${ref}; POST /files stores one`, { ref });
    const { file, endsAt } = found;
    return { file, endsAt };
  });
}

type GivenFile = Parameters<FileStore["put"]>[1];
type PutFail = Fail<typeof putFile.errors>;

/** The contract's error when the file or its owner is the reason. */
function refusalOf(error: unknown, { name, mediaType }: GivenFile, fail: PutFail): unknown {
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
