import {
  MAX_INPUT_FILE_BYTES,
  isTextType,
  type FilePart,
} from "@switchyard/contracts/agent-runner/content-parts";
import { fileLabel } from "@switchyard/contracts/agent-runner/input-text";
import type { ModelMessage, UserContent } from "ai";
import { cutWithNote } from "../core/cut-with-note.ts";
import { fileIn, optionsBesideFile } from "../core/file-content.ts";
import type { FileStore } from "../context/file-store.ts";

type UserPart = Exclude<UserContent, string>[number];

/** The limit for the part of a text file that a request contains. */
const MAX_TEXT_BYTES = 256 * 1_024;

/**
 * Returns the messages with the bytes of their files, for one model. A text file becomes text. A file that the model does not
 * accept, that is no longer stored, or for which the request has no room, becomes a text that states the reason. Rejects with a
 * ServiceError while files cannot be read.
 */
export async function fillFiles(
  messages: readonly ModelMessage[],
  {
    accepts,
    files,
  }: {
    /** Media types that the model accepts; `image/*` stands for all images. */
    readonly accepts: readonly string[];
    readonly files: Pick<FileStore, "read">;
  },
): Promise<ModelMessage[]> {
  let room = MAX_INPUT_FILE_BYTES;
  const partFor = async (file: FilePart): Promise<UserPart> => {
    const { name, mediaType, sizeBytes } = file;
    const isReadAsText = isTextType(mediaType);
    if (!isReadAsText && !isAccepted(mediaType, accepts))
      return note(file, `this model does not accept ${mediaType}`);
    if (sizeBytes > room)
      return note(file, "it is left out, because the request has too many bytes of files");
    room -= sizeBytes;
    const bytes = await files.read(file);
    if (bytes === null) return note(file, "it is no longer stored");
    if (isReadAsText) {
      const text = cutWithNote(bytes.toString("utf8"), MAX_TEXT_BYTES);
      return { type: "text", text: `${fileLabel(file)}\n${text}\n[end of file ${name}]` };
    }
    return { type: "file", data: bytes, mediaType, filename: name };
  };

  const filled: ModelMessage[] = [];
  // Begins with the last message, since the latest files matter most.
  for (const message of messages.toReversed()) {
    if (message.role !== "user" || typeof message.content === "string") {
      filled.push(message);
      continue;
    }
    const content: UserPart[] = [];
    for (const part of message.content) {
      const file = fileIn(part);
      content.push(file === null ? part : { ...(await partFor(file)), ...optionsBesideFile(part) });
    }
    filled.push({ ...message, content });
  }
  return filled.toReversed();
}

function isAccepted(mediaType: string, accepts: readonly string[]): boolean {
  return accepts.some((one) =>
    one.endsWith("/*") ? mediaType.startsWith(one.slice(0, -1)) : mediaType === one,
  );
}

function note(file: FilePart, why: string): UserPart {
  return { type: "text", text: `${fileLabel(file)}: ${why}. Mention this where the file matters.` };
}
