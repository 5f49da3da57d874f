import { ServiceError } from "@switchyard/contracts/errors";
import {
  MAX_FILE_BYTES,
  MAX_INPUT_FILES,
  type FilePart,
} from "@switchyard/contracts/agent-runner/content-parts";
import type { ContentBlock } from "@switchyard/contracts/mcp-broker/mcp";
import { StoreError } from "@switchyard/service/store-error";
import { FileRefused, type FileStore } from "./file-store.ts";

/**
 * Stores the images, sounds and binary resources of a tool result, so that models can receive them. Content that cannot be stored
 * is represented only by its type and size in the text of the result. Storing the same result again yields the same files.
 */
export async function storeResultFiles(
  content: readonly ContentBlock[],
  { files, owner }: { readonly files: Pick<FileStore, "put">; readonly owner: string },
): Promise<FilePart[]> {
  const stored: FilePart[] = [];
  for (const { base64, mediaType } of content.flatMap(bytesIn).slice(0, MAX_INPUT_FILES)) {
    if (base64.length > (MAX_FILE_BYTES * 4) / 3) continue;
    // The file name that a server gives is not repeated to the model as the runner's own words.
    const name = `result-${stored.length + 1}`;
    const given = { name, mediaType, bytes: Buffer.from(base64, "base64") };
    try {
      stored.push((await files.put(owner, given)).file);
    } catch (error) {
      const isAboutStorage = error instanceof ServiceError || error instanceof StoreError;
      if (!(error instanceof FileRefused) && !isAboutStorage) throw error;
    }
  }
  return stored;
}

/** https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result */
function bytesIn(block: ContentBlock): { base64: string; mediaType: string | undefined }[] {
  const { type, data, resource } = block;
  if (type === "image" || type === "audio") return found(data, block["mimeType"]);
  if (type !== "resource" || typeof resource !== "object" || resource === null) return [];
  const { blob, mimeType } = resource as { readonly blob?: unknown; readonly mimeType?: unknown };
  return found(blob, mimeType);
}

function found(base64: unknown, mimeType: unknown) {
  if (typeof base64 !== "string") return [];
  return [{ base64, mediaType: typeof mimeType === "string" ? mimeType : undefined }];
}
