import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import type { ModelMessage, UserContent } from "ai";

/** The name of the provider options in which a message part carries its file. */
const FILE_OPTIONS = "switchyard";

type UserPart = Exclude<UserContent, string>[number];
type FileMessagePart = Extract<UserPart, { type: "file" }>;

/** Builds a user message with files. Their bytes are added when the request is sent, in the form of its provider. */
export function userContent(text: string, files: readonly FilePart[]): UserContent {
  return files.length === 0 ? text : [{ type: "text", text }, ...files.map(placeholderOf)];
}

/** The digest replaces the bytes, so that a recorded request and a repeated one have the same digest. */
function placeholderOf(file: FilePart): FileMessagePart {
  return {
    type: "file",
    data: `sha256:${file.sha256}`,
    filename: file.name,
    mediaType: file.mediaType,
    providerOptions: { [FILE_OPTIONS]: { file } },
  };
}

/** Returns the file that a part refers to; null for any other part. */
export function fileIn(part: UserPart): FilePart | null {
  if (part.type !== "file") return null;
  const file = part.providerOptions?.[FILE_OPTIONS]?.["file"];
  // Only `placeholderOf` writes this option.
  return file === undefined ? null : (file as unknown as FilePart);
}

/** Returns the options of a part beside its file, such as the mark of a cache. */
export function optionsBesideFile({
  providerOptions = {},
}: UserPart): Pick<UserPart, "providerOptions"> {
  const { [FILE_OPTIONS]: _, ...others } = providerOptions;
  return Object.keys(others).length === 0 ? {} : { providerOptions: others };
}

/** The files of a conversation, in order. */
export function filesIn(messages: readonly ModelMessage[]): FilePart[] {
  return messages.flatMap(({ role, content }) =>
    role !== "user" || typeof content === "string"
      ? []
      : content.flatMap((part) => fileIn(part) ?? []),
  );
}
