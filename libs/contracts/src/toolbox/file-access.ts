import type { ToolRef } from "../tool-names.ts";

/**
 * The names under which the rules of a policy decide about files: giving a file to an agent with the input of a run, and attaching one to
 * a message or to the task of another session. They look like tools without a server, and no agent can call them.
 */
export const FILE_ACCESSES = ["input_file", "attach_file"] as const;
export type FileAccess = (typeof FILE_ACCESSES)[number];

/** The arguments of such a request for a decision, as conditions of rules see them. */
export interface FileFacts {
  readonly name: string;
  /** The type that the bytes show, whatever the sender declared; `application/octet-stream` for bytes of no known type. */
  readonly mediaType: string;
  readonly sizeBytes: number;
}

/** The JSON pointers of conditions on a file. */
export const FILE_POINTERS: readonly string[] = ["/name", "/mediaType", "/sizeBytes"];

/** The file access that a tool reference stands for; null for a tool. */
export function fileAccessOf({
  server,
  tool,
}: Pick<ToolRef, "server" | "tool">): FileAccess | null {
  return server === null ? (FILE_ACCESSES.find((access) => access === tool) ?? null) : null;
}

/** Describes a file in messages: `chart.png (image/png, 12345 bytes)`. */
export function fileText({ name, mediaType, sizeBytes }: FileFacts): string {
  return `${name} (${mediaType}, ${sizeBytes} bytes)`;
}
